"""A goal of the person's that sends back, with the real CLI, its shell and a real check."""

import json
import os
import signal
import threading
from itertools import groupby
from typing import Any

import pytest

from tapui.core.proof.facts import GoalStood
from tapui.core.proof.ledger import read
from tests.live.conftest import Desk
from tests.live.test_end_to_end import records, session_turns
from tests.live.test_proof import CHECK, TEST
from tests.rig.copilot import Copilot
from tests.rig.gateway import ANYBODY, Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.tower import TowerProcess

Stood = tuple[str, str, str]
NEVER_RUN, FAILED = ("active", "unknown", "never run"), ("active", "failed", "exit 1")
ACHIEVED = ("achieved", "passed", "")
RUN = ("bash", {"command": CHECK, "description": "tests"})


@pytest.fixture
def copilot(home: Home, at_desk: Desk) -> Copilot:
    """A CLI that asks about nothing, in a folder with a test that fails."""
    home.settle(ANYBODY)
    copilot = at_desk.take()
    copilot.allow_all()
    (copilot.cwd / "cart.py").write_text("def total(a):\n    return 0\n")
    (copilot.cwd / "test_cart.py").write_text(TEST)
    return copilot


@pytest.fixture
def goal(copilot: Copilot, tower: TowerProcess) -> str:
    """The id of a goal that the person has opened in the CLI's session."""
    where = ("--session", copilot.session_id, "--json")
    opened = tower.home.run("goal", CHECK, "--send-back", *where)
    assert opened.returncode == 0, opened.stderr
    return str(json.loads(opened.stdout)["id"])


def changes(copilot: Copilot, old: str, new: str) -> tuple[str, dict[str, str]]:
    return "edit", {"path": str(copilot.cwd / "cart.py"), "old_str": old, "new_str": new}


def shown(home: Home, goal: str) -> dict[str, Any]:
    """Return the goal as `tapui goal show` and as `tapui status` have it, which is the same."""
    said: dict[str, Any] = json.loads(home.run("goal", "show", goal, "--json").stdout)
    (listed,) = json.loads(home.run("status", "--json").stdout)["state"]["goals"]
    assert {name: said[name] for name in listed} == listed
    return said


def stands(goal: dict[str, Any]) -> Stood:
    """Return a goal's status, and the verdict of its one criterion with the reason."""
    (criterion,) = goal["criteria"]
    verdict = criterion["verdict"]
    return goal["status"], verdict["state"], verdict.get("reason", "")


def judged(home: Home, copilot: Copilot) -> list[Stood]:
    """Return how the goal stood, each time that this changed, as the ledger has it."""
    (file,) = home.tapui.glob("**/ledger.jsonl")
    kept = read(copilot.session_id, file.read_bytes())
    assert kept.fault == ""
    stood = [
        (one.goal.status, verdict.state, verdict.reason)
        for one in kept.facts
        if isinstance(one, GoalStood) and (verdict := one.goal.criteria[0].verdict) is not None
    ]
    return [one for one, _ in groupby(stood)]


def reasons(model: ModelServer) -> list[str]:
    """Return why the agent was sent back, as the model read it."""
    asked = [one.text for one in model.requests if one.role == "user"]
    return [line for text in asked for line in text.splitlines() if line.startswith("- a command")]


def test_an_agent_that_claims_goes_on_until_the_goal_is_achieved(
    copilot: Copilot, model: ModelServer, tower: TowerProcess, goal: str
) -> None:
    home, runs, mends = tower.home, threading.Event(), threading.Event()
    model.script(
        Rule(calls=[changes(copilot, "0", "len(a)")], when="mend it", role="user"),
        Rule(text="All tests pass.", role="tool", when="updated"),
        Rule(calls=[RUN], when="never run", until=runs),
        Rule(text="All tests pass, it is flaky.", role="tool", when="exit code 1"),
        Rule(calls=[changes(copilot, "len", "sum")], when="is failed .*exit 1", until=mends),
        Rule(calls=[RUN], role="tool", when="updated"),
        Rule(text="Now all tests pass.", role="tool", when="Ran 1 test"),
    )
    copilot.prompt("mend it")
    tower.screen.wait_for("sent back 1 of 3")
    first = shown(home, goal)
    assert (first["unproven"], first["openedBy"]) == ("send back", "person")
    assert stands(first) == NEVER_RUN
    assert first["sentBack"] == {"times": 1, "turns": 1}
    runs.set()
    tower.screen.wait_for("sent back 2 of 3")
    second = shown(home, goal)
    assert stands(second) == FAILED
    assert second["sentBack"]["times"] == 2
    mends.set()
    copilot.screen.wait_for("Now all tests pass.")
    tower.screen.wait_for("done ✓")
    third = shown(home, goal)
    assert stands(third) == ACHIEVED
    assert (third["closedBy"], third["sentBack"]["times"]) == ("fold", 2)
    assert third["sentBack"]["turns"] == 1
    assert third["sentBack"]["tokens"] > 0
    assert judged(home, copilot) == [NEVER_RUN, FAILED, ACHIEVED]
    assert reasons(model) == [
        f"- a command is unknown (never run): <criterion>{CHECK}</criterion>",
        f"- a command is failed (exit 1): <criterion>{CHECK}</criterion>",
    ]
    # It is one turn of the person's, and all that was said in it is the agent's.
    (turn,) = session_turns(tower, copilot)
    head = turn["head"]
    assert (head["prompt"], head["source"], head["sentBack"]) == ("mend it", {"kind": "person"}, 2)
    assert (head["says"], head["proof"]["state"]) == ("Now all tests pass.", "checked")
    verified = home.run("goal", "verify", goal)
    assert (verified.returncode, verified.stdout.splitlines()[-1][:8]) == (0, "achieved")


def test_with_tapui_gone_the_turn_just_ends(
    copilot: Copilot, model: ModelServer, tower: TowerProcess, goal: str
) -> None:
    goes_on = threading.Event()
    model.script(
        Rule(calls=[changes(copilot, "0", "len(a)")], when="mend it", role="user"),
        Rule(text="All tests pass.", role="tool", when="updated"),
        Rule(text="Believe me.", when="never run", until=goes_on),
        Rule(text="As you say.", when="so be it"),
    )
    copilot.prompt("mend it")
    tower.screen.wait_for("sent back 1 of 3")
    os.kill(tower.pid, signal.SIGKILL)
    tower.screen.wait_dead()
    goes_on.set()
    copilot.screen.wait_for("Believe me.")
    copilot.prompt("so be it")
    copilot.screen.wait_for("As you say.")
    assert len(reasons(model)) == 1
    assert [one["kind"] for one in records(copilot, "goals")].count("goal.sentBack") == 1
