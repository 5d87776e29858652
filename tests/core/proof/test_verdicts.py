"""Verdicts on commands, by stories of what happened."""

import pytest

from tapui.core.proof.deciding import read as reading_of
from tapui.core.proof.facts import CommandEnded, FilesWritten, WatchBegan
from tapui.core.proof.folder_states import ADDED
from tapui.core.proof.history import FactHistory
from tapui.core.proof.ledger import ProofLedger, read
from tapui.core.proof.summaries import Summary
from tapui.core.proof.verdicts import Judge
from tapui.wire.criteria import Ran
from tests.core.proof.story import ROOT, Story


def test_never_run() -> None:
    assert Story().told() == "unknown: never run"


def test_a_command_that_ran_and_nothing_changed_since() -> None:
    story = Story()
    story.run("pytest -q")
    assert story.told() == "passed"
    assert story.verdict().pointers[0].uri == "call:c1"


@pytest.mark.parametrize("wanted", [1, 3])
def test_another_exit_code_can_be_wanted(wanted: int) -> None:
    story = Story()
    story.run("pytest", wanted)
    assert story.told(exit_code=wanted) == "passed"
    assert story.told(exit_code=7) == f"failed: exit {wanted}"
    story.run("pytest", 0)
    assert story.told(exit_code=wanted) == "failed: exit 0"


def test_an_edit_after_it_makes_it_stale() -> None:
    story = Story()
    story.run("pytest")
    story.edit("shop/cart.py")
    assert story.told() == "stale: shop/cart.py changed since"
    story.look()
    assert story.told() == "stale: shop/cart.py changed since"
    story.run("pytest")
    assert story.told() == "passed"


def test_a_reason_names_three_files() -> None:
    story = Story()
    story.run("pytest")
    for name in "abcde":
        story.edit(f"{name}.py")
    assert story.told() == "stale: a.py, b.py, c.py and 2 more changed since"


def test_an_edit_that_is_taken_back_changes_nothing() -> None:
    story = Story()
    story.edit("shop/cart.py", "one")
    story.run("pytest")
    story.edit("shop/cart.py", "two")
    story.edit("shop/cart.py", "one")
    story.look()
    assert story.told() == "passed"


def test_documents_do_not_count() -> None:
    story = Story()
    story.run("pytest")
    story.edit("README.md")
    assert story.told() == "passed"


def test_files_outside_of_the_globs_do_not_count() -> None:
    story = Story()
    story.run("pytest")
    story.edit("web/page.ts")
    assert story.told(globs=["shop/*"]) == "passed"
    assert story.told(globs=["shop/*", "web/*"]) == "stale: web/page.ts changed since"


def test_what_a_check_writes_is_its_output() -> None:
    story = Story()
    story.run("pytest", meanwhile=lambda: story.files.update({"tests/a.snap": "made"}))
    assert story.told() == "passed"
    story.files["tests/a.snap"] = "changed"
    story.look()
    assert story.told() == "stale: tests/a.snap changed outside of this session since"


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("shop/till.py", "edited", "stale: shop/till.py changed since"),
        ("shop/till.py", "", "stale: shop/till.py changed since"),
        ("shop/made.py", "made" + ADDED, "passed"),
        ("coverage.xml", "12 %", "passed"),
        ("uv.lock", "locked", "passed"),
    ],
)
def test_what_the_tree_has_is_no_output_of_a_check(path: str, content: str, told: str) -> None:
    story = Story()
    story.edit("shop/cart.py")
    story.run("pytest", meanwhile=lambda: story.files.update({path: content}))
    assert story.told() == told


def test_a_report_is_written_by_each_run() -> None:
    story = Story()
    for number in range(3):
        report = {"coverage.xml": f"{number}" + ADDED}
        story.run("pytest --cov", meanwhile=lambda report=report: story.files.update(report))
    assert story.told("pytest --cov") == "passed"


@pytest.mark.parametrize(
    "text",
    [
        "pytest; sed 's|x|y|w shop/till.py' a.txt",
        "pytest; sed -nw shop/till.py a.txt",
        "pytest; sed --expression='w shop/till.py' a.txt",
        "pytest; sed -f change.sed a.txt",
        "pytest; awk -f change.awk a.txt",
        "pytest; cat a.txt > /tmp/../code/shop/shop/till.py",
        "pytest; cat a.txt > requirements.txt",
    ],
)
def test_a_writer_that_looks_like_a_reader_is_one(text: str) -> None:
    assert reading_of(text).writes_after(0)


@pytest.mark.parametrize(
    "text",
    [
        "pytest; sed -n '1,20p' a.txt",
        "pytest; sed 's/a/b/g' a.txt",
        "pytest; awk '{print $1}' a.txt",
        "pytest > /tmp/out.txt; cat /tmp/out.txt",
        "pytest; git diff --stat",
    ],
)
def test_a_reader_is_none(text: str) -> None:
    assert not reading_of(text).writes_after(0)


@pytest.mark.parametrize("text", ["pytest && sed -i s/a/b/ shop/cart.py", "pytest; ./fix.sh"])
def test_what_another_writer_of_the_same_command_writes_is_none(text: str) -> None:
    story = Story()
    story.run(text, meanwhile=lambda: story.files.update({"shop/cart.py": "made"}))
    assert story.verdict().state in ("stale", "unknown")


def test_what_is_written_beside_a_check_is_no_output() -> None:
    story = Story()
    check = story.begin("pytest")
    story.edit("shop/cart.py")
    story.end(check)
    assert story.told() == "stale: shop/cart.py changed since"


def test_what_was_changed_only_while_a_check_ran() -> None:
    story = Story()

    def edit_and_take_back() -> None:
        story.edit("tests/conftest.py", "new")
        del story.files["tests/conftest.py"]

    story.run("pytest", meanwhile=edit_and_take_back)
    assert story.told() == "stale: tests/conftest.py changed since"


def test_what_commands_changed_only_while_a_check_ran() -> None:
    story = Story()
    check = story.begin("pytest")
    story.run("cp /tmp/a conftest.py", meanwhile=lambda: story.files.update({"conftest.py": "a"}))
    story.run("git checkout conftest.py", meanwhile=story.files.clear)
    story.end(check)
    assert story.told() == "stale: conftest.py changed since"


def test_what_was_changed_before_beside_a_long_command_does_not_count() -> None:
    story = Story()
    build = story.begin("./build.sh")
    story.edit("shop/cart.py")
    check = story.begin("pytest")
    story.end(build)
    story.end(check)
    assert story.told() == "passed"


def test_what_a_command_may_undo_behind_its_check() -> None:
    story = Story()
    story.run("mv tests/test_cart.py /tmp && pytest && mv /tmp/test_cart.py tests")
    assert story.told() == "unknown: mv may undo what was changed before it"


def test_a_command_that_still_runs_beside_a_check() -> None:
    story = Story()
    story.begin("npm run watch")
    check = story.begin("pytest")
    story.files["dist/app.js"] = "built"
    story.end(check)
    assert story.told() == "stale: dist/app.js changed since"


def test_a_stash_in_the_same_command() -> None:
    story = Story()
    story.run("git stash && pytest && git stash pop")
    assert story.verdict().state == "unknown"
    assert "git stash" in story.verdict().reason


def test_the_last_complete_run_decides() -> None:
    story = Story()
    story.run("pytest")
    story.run("pytest", 130)
    assert story.told() == "passed"
    story.run("pytest", 1)
    assert story.told() == "failed: exit 1"


def test_a_run_whose_outcome_is_hidden_makes_an_earlier_pass_unknown() -> None:
    story = Story()
    story.run("pytest")
    story.run("pytest || true")
    assert story.verdict().state == "unknown"


def test_a_run_in_the_background() -> None:
    story = Story()
    call = story.begin("pytest")
    story.add(CommandEnded(at="t", call_id=call, is_behind=True, shell_id="3"))
    story.look()
    assert story.told() == "unknown: still runs (shell 3)"
    story.end(call)
    assert story.told() == "passed"


def test_only_what_failed_by_itself_makes_flaky() -> None:
    story = Story()
    story.run("cd nodir && pytest", 1)
    story.run("pytest")
    assert story.told() == "passed", "exit 1 may be that of cd"
    story.run("cd /code/shop && pytest", 1, Summary(program="pytest", failed=1))
    story.run("pytest")
    assert story.told() == "passed: flaky: 1 of 3"


def test_what_did_not_run_says_nothing() -> None:
    story = Story()
    story.end(story.begin("pytest"), 127, unrun="its program is not there")
    assert story.told() == "unknown: its program is not there"
    story.run("pytest")
    story.end(story.begin("pytest"), 127, unrun="its program is not there")
    assert story.told() == "passed", "the one before it decides"


def test_a_retry_over_the_same_files_is_flaky() -> None:
    story = Story()
    story.run("pytest", 1)
    story.run("pytest", 1)
    story.run("pytest")
    assert story.told() == "passed: flaky: 2 of 3"


def test_a_retry_after_a_mend_is_not() -> None:
    story = Story()
    story.run("pytest", 1)
    story.edit("shop/cart.py")
    story.run("pytest")
    assert story.told() == "passed"


@pytest.mark.parametrize(
    ("tests", "least", "told"),
    [
        (Summary(program="pytest", passed=12), 10, "passed"),
        (Summary(program="pytest", passed=9), 10, "failed: 9 tests ran, 10 are wanted"),
        (None, 10, "unknown: the number of tests is not known"),
        (None, None, "passed"),
        (Summary(program="pytest", found_none=True), None, "failed: no tests ran"),
        (Summary(program="pytest", skipped=4), None, "failed: all tests were skipped"),
        (
            Summary(program="pytest", passed=1, failed=1),
            None,
            "unknown: its summary and its exit code differ",
        ),
    ],
)
def test_tests_are_counted(tests: Summary | None, least: int | None, told: str) -> None:
    story = Story()
    story.run("pytest", 0, tests)
    assert story.told(min_tests=least) == told


def test_a_pipe_hides_the_code_but_its_summary_is_named() -> None:
    story = Story()
    story.run("pytest 2>&1 | tail -20", 0, Summary(program="pytest", passed=12))
    assert story.told() == "unknown: its summary says 12 passed; the exit code is tail's"


def test_another_package_is_another_place() -> None:
    story = Story("api", "web")
    story.run("npm test", cwd=f"{ROOT}/api")
    assert story.told("npm test", root="api") == "passed"
    assert story.told("npm test", root="api/src") == "passed"
    assert story.told("npm test", root="web") == "unknown: never run"
    story.edit("web/page.ts")
    assert story.told("npm test", root="api") == "passed"
    story.edit("api/cart.ts")
    assert story.told("npm test", root="api") == "stale: api/cart.ts changed since"


def test_a_check_of_the_root_is_about_all_packages() -> None:
    story = Story("api")
    story.run("make test")
    story.edit("api/cart.ts")
    assert story.told("make test") == "stale: api/cart.ts changed since"


def test_a_command_after_the_newest_look_makes_it_unknown() -> None:
    story = Story()
    story.run("pytest")
    call = story.begin("make")
    story.add(CommandEnded(at="t", call_id=call, code=0))
    assert story.told() == "unknown: the folder was not looked at since make"
    story.look()
    assert story.told() == "passed"


def test_a_look_that_is_not_whole() -> None:
    story = Story()
    story.is_whole = False
    story.run("pytest")
    assert story.told() == "unknown: it has too many files"


def test_what_a_gateway_before_watched_is_not_known_to_hold() -> None:
    story = Story()
    story.run("pytest")
    story.add(WatchBegan(at="t", run="r2"))
    assert story.told() == "unknown: the folder was not looked at"
    story.look()
    assert story.told() == "passed"


def test_a_criterion_is_one_command() -> None:
    story = Story()
    story.run("ruff check . && pytest")
    assert story.told("ruff check .") == "passed"
    assert story.told("ruff check . && pytest").startswith("unknown: name one command")


def test_since_a_turn() -> None:
    story = Story()
    story.run("pytest")
    story.turn()
    judge = Judge(story.history, ROOT)
    assert judge.verdict(Ran(command="pytest"), story.history.turn_began).state == "unknown"
    story.run("pytest")
    assert judge.verdict(Ran(command="pytest"), story.history.turn_began).state == "passed"


def _told_story() -> Story:
    story = Story()
    story.run("pytest", 1)
    story.edit("shop/cart.py")
    story.run("pytest", 0, Summary(program="pytest", passed=3))
    story.run("git commit -am wip")
    story.edit("shop/till.py")
    return story


def test_a_ledger_read_back_gives_the_same_verdict() -> None:
    story = _told_story()
    ledger = ProofLedger("s1")
    data = b"".join(map(ledger.line, story.facts))
    found = read("s1", data)
    assert (found.facts, found.last, found.fault) == (story.facts, ledger.last, "")
    history = FactHistory()
    for fact in found.facts:
        history.add(fact)
    assert Judge(history, ROOT).verdict(Ran(command="pytest")) == story.verdict()


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines[:4], lines[4].replace(b"pytest", b"pytesx"), *lines[5:]],
        lambda lines: [*lines[:4], b"garbage\n", *lines[4:]],
        lambda lines: [*lines[:4], b"\n", *lines[4:]],
    ],
)
def test_a_ledger_that_was_changed_is_believed_up_to_there(change: object) -> None:
    story = _told_story()
    ledger = ProofLedger("s1")
    lines = [ledger.line(fact) for fact in story.facts]
    found = read("s1", b"".join(change(lines)))  # type: ignore[operator]
    assert found.fault.endswith("was changed outside of tapui")
    assert found.facts == story.facts[: len(found.facts)]
    assert len(found.facts) < 5


def test_a_ledger_of_another_session_is_not_believed() -> None:
    data = ProofLedger("s1").line(_told_story().facts[0])
    assert read("s2", data).fault == "line 1 was changed outside of tapui"


def test_a_line_that_was_being_written_is_no_fault() -> None:
    story = _told_story()
    ledger = ProofLedger("s1")
    data = b"".join(map(ledger.line, story.facts))
    found = read("s1", data[:-5])
    assert found.fault == ""
    assert found.facts == story.facts[:-1]


@pytest.mark.parametrize(
    "before", ["cp /bin/true .venv/bin/pytest", "ln -sf /bin/true $(which pytest)"]
)
def test_a_program_that_was_written_in_the_session_proves_nothing(before: str) -> None:
    story = Story()
    story.run("pytest")
    story.run(before)
    assert story.told() == "passed"
    story.run("pytest")
    assert story.told() == "unknown: the program pytest was written in this session"


@pytest.mark.parametrize("script", ["npm test", "make test", "tox", "pre-commit run -a"])
@pytest.mark.parametrize(
    "before",
    [
        "printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/jest",
        "cp /bin/true .venv/bin/pytest",
        "ln -sf /bin/true ~/.local/bin/pytest",
        "cp /bin/true $(which pytest)",
        "install -m 755 fake vendor/bin/phpunit",
    ],
)
def test_a_script_may_run_any_installed_program(script: str, before: str) -> None:
    story = Story()
    story.run(before)
    story.run(script)
    assert story.told(script) == "unknown: an installed program was written in this session"


@pytest.mark.parametrize(
    "before",
    [
        "echo x > node_modules/jest/build/index.js",
        "sed -i s/1/0/ .venv/lib/python3.12/site-packages/_pytest/main.py",
        "cp fake.js web/node_modules/vitest/dist/cli.js",
        "npm install --no-save ./fake-jest",
        "pip install -q ./stubs/pytest",
        "npm link ../jest",
    ],
)
def test_a_library_that_was_written_proves_nothing(before: str) -> None:
    story = Story()
    story.run(before)
    story.run("npx jest")
    assert story.told("npx jest") == "unknown: an installed library was written in this session"


def test_a_tool_may_write_them_too() -> None:
    story = Story()
    story.add(FilesWritten(at="t", call_id="e", paths=[f"{ROOT}/node_modules/.bin/jest"]))
    story.look()
    story.run("npm test")
    told = story.told("npm test")
    assert told == "unknown: an installed program was written in this session"


@pytest.mark.parametrize(
    "before",
    [
        "npm install",
        "pip install -e .",
        "npm i jest",
        "rm -rf node_modules",
        "cp a bin/serve",
        "cp -r node_modules /tmp/x",
    ],
)
def test_what_installs_or_writes_elsewhere_is_none(before: str) -> None:
    story = Story()
    story.run(before)
    story.run("npm test")
    assert story.told("npm test") == "passed"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("npm test", "passed"),
        ("bash -c 'npm test'", "passed"),
        ("bash -lc 'npm test'", "unknown: the program .bashrc was written in this session"),
        ("bash -i -c 'npm test'", "unknown"),
    ],
)
def test_a_startup_file_that_was_written(text: str, told: str) -> None:
    story = Story()
    story.run("echo 'npm() { :; }' >> ~/.bashrc")
    story.run(text)
    assert story.told("npm test").startswith(told)


@pytest.mark.parametrize(
    "before",
    ["npm config set script-shell /bin/true", "echo script-shell=/bin/true >> ~/.npmrc"],
)
def test_another_shell_for_scripts(before: str) -> None:
    story = Story()
    story.run(before)
    story.run("npm test")
    assert story.told("npm test") == "unknown: the program npm was written in this session"
