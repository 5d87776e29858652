"""What the end of a turn shows, by stories of what happened."""

import pytest

from tapui.core.proof import history
from tapui.core.proof.check_commands import named_fault
from tapui.core.proof.deciding import ShellReading, read
from tapui.core.proof.facts import CommandBegan, CommandEnded, FolderSeen, TurnBegan, WatchBegan
from tapui.core.proof.folder_states import TOO_LARGE, FolderState
from tapui.core.proof.summaries import Summary
from tapui.core.proof.turn_proofs import turn_proof
from tests.core.proof.story import ROOT, Story


def told(story: Story, *named: str) -> str | None:
    found = turn_proof(story.history, ROOT, named)
    return None if found is None else f"{found.state}: {found.text}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("./check.sh", "checked: ./check.sh, after the last change"),
        ("cd web && ./check.sh", "checked: cd web && ./check.sh, after the last change"),
        ("./a.sh && ./b.sh", None),
        ("./check.sh | tail", None),
        ("! ./check.sh", "unchecked: 1 file changed; ! ./check.sh: ! turns its exit code round"),
        ("cd web", None),
    ],
)
def test_settings_name_the_commands_that_cannot_check_a_turn(text: str, line: str | None) -> None:
    story = Story()
    story.edit("web/cart.py")
    story.run(text)
    assert told(story, text) == line
    assert (named_fault(text) is None) == (line is not None and line.startswith("checked"))


def test_in_one_package_a_check_counts_for_all_of_its_code() -> None:
    story = Story("api")
    story.edit("main.go")
    story.run("pytest")
    assert told(story) == "checked: pytest, after the last change"
    assert told(story, "go test ./...") == "unchecked: 1 file changed; go test: never run"
    story.run("go test ./...")
    assert told(story) == "checked: go test, pytest, after the last change"
    story.edit("main.go", "newer")
    story.run("pytest")
    assert told(story) == "unchecked: 1 file changed since go test passed"


def test_of_another_package_it_counts_for_its_own_language_alone() -> None:
    story = Story("api")
    story.edit("api/main.go")
    story.run("pytest")
    assert told(story) == "unchecked: 1 file changed; pytest: not run in api"
    story.edit("api/tool.py")
    story.run("pytest")
    line = "unchecked: 2 files changed; pytest: not run in api"
    assert told(story) == line, "a second file makes no check of the first"
    story.run("go test ./...")
    assert told(story) == "checked: go test, pytest, after the last change"


def test_checked_after_the_last_change() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("pytest -q", 0, Summary(program="pytest", passed=1212))
    assert told(story) == "checked: pytest, 1,212 tests, after the last change"


def test_a_check_that_failed() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("pytest", 1)
    assert told(story) == "failed: pytest, exit 1"
    story.edit("shop/till.py")
    assert told(story) == "unchecked: 1 file changed since pytest failed"
    story.run("ruff check .")
    assert told(story) == "unchecked: 1 file changed since pytest failed"
    story.run("pytest")
    assert told(story) == "checked: pytest, after the last change"


def test_a_failure_before_the_last_change_is_no_failure_now() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("ruff check .", 1)
    story.edit("shop/cart.py", "formatted")
    story.run("pytest")
    assert told(story) == "unchecked: 1 file changed since ruff check failed"
    story.run("mypy .", 1)
    assert told(story) == "failed: mypy, exit 1", "a newer one goes before"
    story.run("mypy .")
    story.run("ruff check .")
    assert told(story) == "checked: pytest, after the last change"


def test_what_a_failed_check_wrote_itself_is_no_change_since() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("pytest", 1, meanwhile=lambda: story.files.update({"shop/cart.py": "snapshot"}))
    assert told(story) == "failed: pytest, exit 1"


def test_a_folder_that_is_too_large_is_not_known() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("pytest")
    story.add(FolderSeen(at="t", states=[FolderState(ROOT, "", {}, is_whole=False, why=TOO_LARGE)]))
    assert told(story) == (
        "unchecked: 1 file changed; not known: the folder is too large to look at in time"
    )


def test_a_check_that_did_not_run_fails_nothing() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.end(story.begin("ruff check ."), 127, unrun="its program is not there")
    assert told(story) == "unchecked: 1 file changed; ruff check: its program is not there"
    story.run("pytest")
    assert told(story) == "checked: pytest, after the last change"


def test_the_files_that_changed_since_are_pointed_to() -> None:
    story = Story()
    story.run("pytest")
    for name in "abcdefgh":
        story.edit(f"shop/{name}.py")
    proof = turn_proof(story.history, ROOT)
    assert proof is not None
    assert proof.text == "8 files changed since pytest passed"
    files = [one.uri for one in proof.pointers if one.kind == "file"]
    assert files == [f"{ROOT}/shop/{name}.py" for name in "abcde"]


def test_a_linter_does_not_stand_for_known_tests() -> None:
    story = Story()
    story.run("pytest")
    story.edit("shop/cart.py")
    story.run("ruff check .")
    assert told(story) == "unchecked: 1 file changed since pytest passed"
    proof = turn_proof(story.history, ROOT)
    assert proof is not None
    assert proof.pointers[0].uri == "call:c1", "of the run that the line is about"


def test_a_linter_that_failed_beside_tests_that_passed() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("ruff check .", 1)
    story.run("pytest")
    assert told(story) == "failed: ruff check, exit 1"


def test_a_linter_does_not_stand_for_tests_of_which_a_part_ran() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("pytest tests/test_cart.py")
    story.run("ruff check .")
    assert told(story) == "unchecked: 1 file changed; it ran tests/test_cart.py: a subset"


STALE = "unchecked: 1 file changed since"


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("npm test", "npm run test:unit"),
        ("make test", "make test-fast"),
        ("pytest", "make test-unit"),
        ("npm run test:ci", "npm run test:smoke"),
        ("gradle test", "gradle testDebugUnitTest"),
    ],
)
def test_a_part_of_known_tests_by_its_name_is_not_all(wide: str, narrow: str) -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run(narrow)
    assert told(story) == f"checked: {narrow}, after the last change", "no others are known"
    story.run(wide)
    story.edit("shop/cart.py", "newer")
    story.run(narrow)
    assert told(story) == f"{STALE} {wide} passed"


def test_a_part_of_them_does_not_take_a_failure_back() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("npm test", 1, Summary(program="jest", passed=79, failed=1))
    story.edit("shop/cart.py", "mended")
    story.run("npm run test:unit", 0, Summary(program="jest", passed=80))
    assert told(story) == "unchecked: 1 file changed since npm test failed"


def test_fewer_tests_are_all_where_tests_were_removed() -> None:
    story = Story()
    story.run("pytest", 0, Summary(program="pytest", passed=80))
    story.edit("shop/cart.py")
    story.edit("tests/test_till.py", "")
    story.run("pytest tests/", 0, Summary(program="pytest", passed=78))
    assert (told(story) or "").startswith("checked: pytest tests/, 78 tests")


@pytest.mark.parametrize("vague", ["make check", "npm run verify", "just ci"])
def test_a_name_that_leaves_it_open_does_not_stand_for_known_tests(vague: str) -> None:
    story = Story()
    story.run("pytest")
    story.edit("shop/cart.py")
    story.run(vague)
    assert told(story) == f"{STALE} pytest passed"
    story.run(vague, 0, Summary(program="pytest", passed=12))
    assert told(story) == f"checked: {vague}, 12 tests, after the last change"


def test_tests_without_a_browser_do_not_stand_for_those_in_one() -> None:
    story = Story()
    story.run("npx playwright test")
    story.edit("shop/cart.py")
    story.run("npx jest")
    assert told(story) == f"{STALE} playwright test passed"


def test_a_look_at_the_moment_never_sees_what_came_later() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("pytest")
    lines = []
    replayed = type(story.history)()
    for fact in story.facts:
        replayed.add(fact)
        found = turn_proof(replayed, ROOT)
        lines.append(None if found is None else found.state)
    assert lines[-1] == "checked"
    assert "checked" not in lines[:-1]


UNBUILT = "nothing was built for it after the last change"
CTEST = Summary(program="ctest", passed=9)


@pytest.mark.parametrize(
    ("build", "tests"),
    [
        ("cmake --build build -j4", "ctest --test-dir build --output-on-failure"),
        ("make -C build -j4", "cd build && ctest"),
        ("ninja -C build", "ninja -C build test"),
        ("make -C build", "make -C build test"),
        ("cd build && cmake .. && make", "cd build && make test"),
        ("meson compile -C build", "cd build && meson test --no-rebuild"),
        ("dotnet build", "dotnet test --no-build"),
        ("swift build", "swift test --skip-build"),
    ],
)
def test_what_was_built_before_the_last_change_is_not_tested(build: str, tests: str) -> None:
    story = Story()
    story.run(build)
    story.edit("shop/cart.cs")
    story.run(tests)
    assert (told(story) or "").endswith(UNBUILT)
    story.run(build)
    assert (told(story) or "").endswith(UNBUILT), "built behind the tests"
    story.run(tests)
    assert (told(story) or "").startswith("checked")
    story.edit("shop/cart.cs", "newer")
    story.run(
        f"{build} && {tests}" if "cd build && cmake" not in build else f"{build} && make test"
    )
    assert (told(story) or "").startswith("checked")


@pytest.mark.parametrize(
    "text",
    [
        "cmake --build other && ctest --test-dir build",
        "cmake --build build --target docs && ctest --test-dir build",
        "cmake --build build & ctest --test-dir build",
        "ctest --test-dir build && cmake --build build",
        "cmake --build build || true; ctest --test-dir build",
        "make -C api && make -C build test",
        "dotnet build -c Release && dotnet test --no-build",
    ],
)
def test_another_build_is_none(text: str) -> None:
    story = Story()
    story.edit("shop/cart.c")
    story.run(text)
    assert (told(story) or "").startswith("unchecked")


def test_a_target_that_runs_ctest_builds_nothing() -> None:
    story = Story()
    story.edit("shop/cart.c")
    story.run("make test", 0, CTEST)
    assert (told(story) or "").endswith(UNBUILT)
    story.run("make && make test", 0, CTEST)
    assert told(story) == "checked: make test, 9 tests, after the last change"
    story.run("make test")
    assert told(story) == "checked: make test, after the last change", "another Makefile"


@pytest.mark.parametrize(
    ("text", "code", "tests"),
    [
        ("make test", 2, Summary(program="make", found_none=True)),
        ("npm test", 1, Summary(program="npm", found_none=True)),
        ("npm test", 127, None),
        ("just test", 127, None),
    ],
)
def test_other_tests_stand_for_a_script_that_is_not_there(
    text: str, code: int, tests: Summary | None
) -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run(text, code, tests)
    story.run("ruff check .")
    assert (told(story) or "").startswith("failed")
    story.run("pytest")
    assert told(story) == "checked: pytest, after the last change"


def test_no_other_tests_stand_for_a_script_that_failed() -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("make test", 2)
    story.run("pytest")
    assert told(story) == "failed: make test, exit 2"


def test_commands_are_read_only_once_a_look_finds_a_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def noted(text: str, shell: str) -> ShellReading:
        asked.append(text)
        return read(text, shell)

    monkeypatch.setattr(history, "read", noted)
    found = history.FactHistory()

    def run(text: str, content: str) -> None:
        states = [FolderState(ROOT, "tree", {"cart.py": content}, True)]
        is_same = found.states == tuple(states)
        found.add(CommandBegan(at="t", call_id=text, text=text, cwd=ROOT))
        found.add(CommandEnded(at="t", call_id=text, code=0))
        found.add(FolderSeen(at="t", call_id=text, states=[] if is_same else states,
                             is_same=is_same))  # fmt: skip

    found.add(WatchBegan(at="t", run="r"))
    found.add(TurnBegan(at="t", turn=1))
    found.add(FolderSeen(at="t", states=[FolderState(ROOT, "tree", {"cart.py": "old"}, True)]))
    for number in range(30):
        run(f"ls {number}", "old")
    assert asked == []
    run("make", "new")
    assert asked[0] == "make"
    asked.clear()
    for number in range(30, 40):
        run(f"ls {number}", "new")
    assert asked == []
    assert found.turn_states is not None
    assert found.turn_states[0].files == {"cart.py": "old"}
