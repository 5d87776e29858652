"""What an agent claims beside what was recorded, with the real CLI, its shell and a real check."""

from typing import Any

import pytest

from tests.live.conftest import Desk
from tests.live.test_end_to_end import session_turns
from tests.rig.copilot import Copilot
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until

TEST = """\
import unittest
from cart import total

class TotalTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""
CHECK = "python3 -m unittest"


@pytest.fixture
def copilot(at_desk: Desk) -> Copilot:
    """A CLI that asks about nothing, in a repository."""
    copilot = at_desk.take()
    copilot.allow_all()
    return copilot


def proven(tower: TowerProcess, copilot: Copilot, turns: int) -> list[Any]:
    """Wait until so many turns have a line; return the lines."""

    def lines() -> list[Any] | None:
        heads = [one["head"] for one in session_turns(tower, copilot)]
        told = [one["proof"] for one in heads if one.get("proof")]
        return told if len(told) == turns else None

    return until(lines, what=lambda: str(session_turns(tower, copilot)))


def test_claims_beside_what_was_recorded(
    copilot: Copilot, model: ModelServer, tower: TowerProcess
) -> None:
    wait_for_tools(tower.home, copilot)
    cart, test = str(copilot.cwd / "cart.py"), str(copilot.cwd / "test_cart.py")
    wrong, right = "def total(a):\n    return 0\n", "def total(a):\n    return sum(a)\n"
    check = ("bash", {"command": CHECK, "description": "tests"})
    model.script(
        Rule(calls=[("create", {"path": cart, "file_text": wrong})], when="write it"),
        Rule(calls=[("create", {"path": test, "file_text": TEST})], role="tool", when="cart.py"),
        Rule(calls=[check], role="tool", when="test_cart.py"),
        Rule(text="All tests pass.", role="tool", when="exit code 1"),
    )
    copilot.prompt("write it")
    (first,) = proven(tower, copilot, 1)
    assert (first["state"], first["text"]) == ("failed", "unittest, exit 1")
    edit = {"path": cart, "old_str": "return 0", "new_str": "return sum(a)"}
    model.script(
        Rule(calls=[("edit", edit)], when="mend it"),
        Rule(calls=[check], role="tool", when="updated"),
        Rule(text="Now they do.", role="tool", when="Ran 1 test"),
    )
    copilot.prompt("mend it")
    _, second = proven(tower, copilot, 2)
    assert second["state"] == "checked"
    assert second["text"] == "unittest, 1 test, after the last change"
    model.script(
        Rule(calls=[("edit", {**edit, "old_str": "sum(a)", "new_str": "-sum(a)"})], when="again"),
        Rule(text="Done, all tests pass.", role="tool", when="updated"),
    )
    copilot.prompt("again")
    third = proven(tower, copilot, 3)[-1]
    assert third["state"] == "unchecked"
    assert third["text"] == "1 file changed since unittest passed"
    heads = [one["head"] for one in session_turns(tower, copilot)]
    assert [one["says"] for one in heads] == [
        "All tests pass.",
        "Now they do.",
        "Done, all tests pass.",
    ]
    assert right not in (copilot.cwd / "cart.py").read_text()
