"""The command that runs a known check again, and what of its files changed."""

import pytest

from tapui.core.proof.check_commands import CheckCommand, digest_of, known_check, surface_of
from tests.core.proof.story import ROOT, Story


@pytest.mark.parametrize(
    ("ran", "again"),
    [
        ("pytest -q", "pytest -q"),
        ("cd web && npm test", "cd web && npm test"),
        ("uv run pytest -q 2>&1 | tail -20", "uv run pytest -q"),
        ("cd api && CI=1 poetry run pytest | tee out.txt", "cd api && CI=1 poetry run pytest"),
        ("npm ci && npm test -- --silent", "npm test -- --silent"),
        ("pytest 'tests/a b.py' || true", "pytest 'tests/a b.py'"),
        (". .venv/bin/activate && pytest; echo done", ". .venv/bin/activate && pytest"),
        ("timeout 60 make test; git status", "timeout 60 make test"),
        ("bash -c 'go test ./... | head'", "go test ./..."),
    ],
)
def test_a_check_is_run_again_in_its_own_words(ran: str, again: str) -> None:
    story = Story()
    story.run(ran)
    assert known_check(story.history, ROOT) == CheckCommand(again, ROOT)


def test_tests_go_before_lint_and_the_whole_before_a_part() -> None:
    story = Story()
    story.run("pytest")
    story.run("pytest tests/test_one.py")
    story.run("ruff check .")
    assert known_check(story.history, ROOT) == CheckCommand("pytest", ROOT)


def test_a_subset_is_better_than_none() -> None:
    story = Story()
    story.run("pytest tests/test_one.py")
    assert known_check(story.history, ROOT) == CheckCommand("pytest tests/test_one.py", ROOT)


@pytest.mark.parametrize("ran", ["ls", "pytest $(cat list)", "$RUNNER test", "pytest --co"])
def test_what_is_no_check_or_cannot_be_read_is_not_run(ran: str) -> None:
    story = Story()
    story.run(ran)
    assert known_check(story.history, ROOT) is None
    assert known_check(story.history, ROOT, ["./check.sh"]) == CheckCommand("./check.sh", ROOT)


def surface(story: Story, text: str, cwd: str = ROOT) -> tuple[tuple[str, ...], str]:
    found = surface_of(
        CheckCommand(text, cwd), tuple(story.history.first.values()), story.history.states
    )
    return found.changed, found.doubt


def test_the_files_of_a_check_that_changed_are_named() -> None:
    story = Story("web")
    for path in ("conftest.py", "web/package.json", "api/tests/conftest.py", "cart.py", "ci.md"):
        story.files[path] = "new"
    story.look()
    assert surface(story, "pytest -q") == (("api/tests/conftest.py", "conftest.py"), "")
    assert surface(story, "cd web && npm test")[0] == ("web/package.json",)
    assert surface(story, "pytest", f"{ROOT}/web") == (("conftest.py",), "")


def test_a_script_is_its_own_surface() -> None:
    story = Story()
    story.files["check.sh"] = "new"
    story.look()
    assert surface(story, "./check.sh") == (("check.sh",), "")


def test_what_was_changed_before_the_session_is_not_the_agents() -> None:
    story = Story()
    story.files["conftest.py"] = "mine"
    story.history.first.clear()
    story.look()
    assert surface(story, "pytest") == ((), "")


def test_the_digest_changes_with_the_files_and_with_nothing_else() -> None:
    story = Story()
    command = CheckCommand("pytest", ROOT)

    def digest() -> str:
        history = story.history
        return digest_of(
            command, surface_of(command, tuple(history.first.values()), history.states)
        )

    first = digest()
    story.edit("cart.py")
    story.look()
    assert digest() == first
    story.edit("conftest.py")
    story.look()
    assert digest() != first
    assert digest() != digest_of(
        CheckCommand("pytest -q", ROOT),
        surface_of(command, tuple(story.history.first.values()), story.history.states),
    )


def test_without_a_repository_it_is_not_known() -> None:
    story = Story()
    assert "not in a repository" in surface(story, "pytest", "/elsewhere")[1]
    story.is_whole = False
    story.look()
    assert surface(story, "pytest")[1] == "it has too many files"
