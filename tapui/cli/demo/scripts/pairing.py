"""A flaky test: a subagent, a diff and commands that wait for the person."""

from tapui.cli.demo.script import (
    LATER,
    Ask,
    Delegate,
    Intend,
    Meet,
    OneOf,
    Pause,
    Replace,
    Say,
    Scene,
    Script,
    Step,
    Use,
    run,
)

_FILE = "tests/test_pair.py"
_TEXT = '''\
"""Pairing: a code is good for one try."""

import time


def test_a_code_is_good_for_one_try(gateway):
    page = gateway.open_page()
    time.sleep(0.2)
    code = gateway.reveal()
    assert page.confirm(code).ok
    assert not page.confirm(code).ok
'''
_OLD = "    page = gateway.open_page()\n    time.sleep(0.2)\n"
_NEW = "    page = gateway.open_page()\n    page.wait_for('asks to pair', within=5)\n"

_REVIEWER = Delegate(
    "reviewer",
    "Look for more sleeps",
    (
        Use("grep", {"pattern": "sleep(", "path": "tests"}, 1.5, "tests/test_pair.py:8"),
        Use("view", {"path": "tests/rig.py"}, 2.0, "84 lines"),
        Ask(
            run("pytest --collect-only -q tests", 2.0, "41 tests collected"),
            "Count the tests that could flake",
            otherwise=(Say("I go by the files that I have read."),),
        ),
        Say("The other 40 tests wait for events."),
    ),
)
_CHECK: tuple[Step, ...] = (
    Intend("Running the test ten times"),
    OneOf(
        (
            (run("pytest -q --count 10 tests/test_pair.py", 5.0, "10 passed"),),
            (
                run("pytest -q --count 10 tests/test_pair.py", 3.0, "1 failed, 9 passed", 1),
                run("pytest -q --count 10 tests/test_pair.py", 5.0, "10 passed"),
            ),
        )
    ),
)

SCRIPT = Script(
    session="demo-pairing",
    label="Fix the flaky pairing test (demo)",
    folder="pairing",
    foreground=True,
    turns=(
        Scene(
            (
                "Why does the pairing test flake?",
                "The pairing test failed again. Find out why and fix it.",
            ),
            (
                Intend("Looking for what the test waits for"),
                Use("grep", {"pattern": "sleep(", "path": "tests"}, 0.4, "tests/test_pair.py:8"),
                Use("view", {"path": _FILE}, 0.3, _TEXT),
                _REVIEWER,
                Say("It sleeps for 0.2 s and hopes that the page has asked by then."),
                Use("view", {"path": "tests/rig.py"}, 3.0, "84 lines"),
                Intend("Reading how other tests wait"),
                Use("grep", {"pattern": "wait_for", "path": "tests"}, 2.0, "31 lines"),
                run("git log --oneline -- tests/test_pair.py", 1.0, "6 commits"),
                Pause(LATER - 7.0),
                Replace(
                    _FILE,
                    _TEXT,
                    _OLD,
                    _NEW,
                    "Wait for the request instead of sleeping",
                    then=_CHECK,
                    otherwise=(
                        Say("The file stays unchanged. I measure how often the test fails."),
                        run("pytest -q --count 20 tests/test_pair.py", 4.0, "2 failed", 1),
                    ),
                ),
                Meet(),
                Say("The reviewer is done, too: no other test sleeps."),
            ),
        ),
        Scene(
            ("Do a clean install and run everything.", "Now from scratch, please."),
            (
                Intend("Making the environment anew"),
                Ask(
                    run("rm -rf build .venv && make install", 4.0, "installed 31 packages"),
                    "Start from nothing",
                    otherwise=(
                        Say("Then I keep the environment and only bring it up to date."),
                        run("make install", 2.0, "31 packages are up to date"),
                    ),
                ),
                run("pytest -q", 6.0, "41 passed"),
                Say("41 tests pass."),
            ),
            rest=8.0,
        ),
        Scene(
            ("Push the branch.",),
            (
                run("git status --short", 0.3, f" M {_FILE}"),
                Ask(
                    run("git push --force-with-lease origin fix/pairing", 2.0, "pushed"),
                    "Publish the fix",
                    then=(Say("The branch is pushed."),),
                    otherwise=(Say("The branch stays here. Push it when you like."),),
                ),
                Pause(1.0),
            ),
            rest=10.0,
        ),
    ),
)
