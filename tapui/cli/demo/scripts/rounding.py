"""Rounded prices: an agent that says that all tests pass, beside what was recorded.

Its files are real, and its check can be run: what the script tells of it is what it does.
"""

from tapui.cli.demo.script import Intend, Provided, Say, Scene, Script, Tell, Use, Write, run

_CHECK = "python3 -m unittest"
_PASSED = "...\n----------\nRan 3 tests in 0.001s\n\nOK\n"
_RIGHT = """\
def total(prices):
    return round(sum(prices), 2)
"""
WRONG_LINE = "    return sum(round(price) for price in prices)"
_WRONG = f"def total(prices):\n{WRONG_LINE}\n"
_TESTS = """\
import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_no_prices(self):
        self.assertEqual(total([]), 0)

    def test_whole_prices(self):
        self.assertEqual(total([1, 2]), 3)

    def test_cents(self):
        self.assertEqual(total([0.1, 0.2]), 0.3)
"""

_GOAL = {
    "title": "Prices are rounded",
    "criteria": [
        {"text": "The tests pass", "check": {"kind": "ran", "command": _CHECK, "exitCode": 0}}
    ],
}
_REPOSITORY = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    ".git/info/exclude": "/files/\n__pycache__/\n",
    ".git/objects/info/alternates": "",
    ".git/refs/heads/.keep": "",
}
"""A repository, as `git init` leaves it. The session's records lie in
`files`."""

SCRIPT = Script(
    session="demo-rounding",
    label="Round the prices (demo)",
    folder="rounding",
    begins=0.9,
    tokens=5_000,
    files={**_REPOSITORY, "prices.py": _RIGHT, "test_prices.py": _TESTS},
    is_recorded=True,
    turns=(
        Scene(
            ("Round the prices.",),
            (
                Provided("tap_create_goal", _GOAL),
                Intend("Looking at how prices are added"),
                run(_CHECK, 1.0, _PASSED),
                Use("view", {"path": "prices.py"}, 0.5, "2 lines"),
                Write("prices.py", _WRONG),
                Say("Done: each price is rounded now, and all tests pass."),
                Tell(
                    "Round the prices (done ○): the agent says that all tests pass, but ran none "
                    "after its last change. Select its row, then . v runs them"
                ),
            ),
            rest=3_600.0,
        ),
    ),
    woken=(
        Intend("Rounding the sum, not each price"),
        Write("prices.py", _RIGHT),
        run(_CHECK, 1.0, _PASSED),
        Say("The sum is rounded again. All 3 tests pass."),
    ),
)
