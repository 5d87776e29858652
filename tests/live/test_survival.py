"""The real CLI stops answering, tapui dies with questions open: the panes tell the truth again."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig.copilot import Copilot
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until

TOUCH = [("bash", {"command": "echo once >> proof", "description": "write"})]
FORM = {
    "message": "Which colour?",
    "requestedSchema": {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["colour"],
    },
}


def done_turn(tower: TowerProcess, copilot: Copilot) -> dict[str, Any]:
    """Return the turn of the CLI's session, once it is done."""

    def done() -> dict[str, Any] | None:
        told = tower.home.state().get("turns", [])
        (turn,) = [one["current"] for one in told if one["sessionId"] == copilot.session_id]
        return dict(turn) if turn["head"]["state"] == "done" else None

    turn = until(done, what=lambda: f"the turn is done: {tower.home.state().get('turns')}")
    assert turn is not None
    return turn


def test_a_cli_that_is_stopped_shows_it_and_goes_on_where_it_was(
    cli: Path,
    start_copilot: Callable[..., Copilot],
    model: ModelServer,
    start_tower: Callable[..., TowerProcess],
) -> None:
    # tmux continues at once what it has started itself, so a shell stands between.
    copilot = start_copilot(argv=("sh", "-c", '"$0" --ui-server; exit', cli))
    tower = start_tower()
    wait_for_tools(tower.home, copilot)
    model.script(Rule(calls=TOUCH, when="write it"), Rule(text="it is written", role="tool"))
    copilot.prompt("write it")
    tower.screen.wait_for("echo once >> proof")
    # A CLI that is stopped while it waits for an answer to an event gives the turn up by itself.
    copilot.screen.wait_for("Do you want to run this command")
    os.kill(copilot.pid, signal.SIGSTOP)
    try:
        tower.screen.wait_for("no answer")
    finally:
        os.kill(copilot.pid, signal.SIGCONT)
    tower.screen.wait_gone("no answer")
    tower.approve("echo once >> proof")
    copilot.screen.wait_for("it is written")
    assert (copilot.cwd / "proof").read_text() == "once\n"
    tower.screen.wait_for("Nothing waits|idle")


def test_a_permission_and_a_question_outlive_a_killed_tapui(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_tower: Callable[..., TowerProcess],
) -> None:
    model.script(
        Rule(calls=TOUCH, when="write it"),
        Rule(calls=[("ask_user", FORM)], role="tool"),
        Rule(text="all done", role="tool"),
    )
    copilot.prompt("write it")
    tower.screen.wait_for("echo once >> proof")
    os.kill(tower.pid, signal.SIGKILL)
    tower.screen.wait_dead()
    second = start_tower()
    wait_for_tools(second.home, copilot)
    second.approve("echo once >> proof")
    second.screen.wait_for("Which colour")
    os.kill(second.pid, signal.SIGKILL)
    second.screen.wait_dead()
    third = start_tower()
    wait_for_tools(third.home, copilot)
    third.screen.wait_for("Which colour")
    copilot.screen.wait_for("Which colour")
    copilot.screen.keys("Enter")
    copilot.screen.wait_for("all done")
    third.screen.wait_for("Nothing waits")
    assert (copilot.cwd / "proof").read_text() == "once\n"
    # It is one turn with one step for each call, though two gateways saw parts of it.
    turn = done_turn(third, copilot)
    assert turn["head"]["prompt"] == "write it"
    assert turn["head"]["number"] == 1
    steps = turn["steps"]
    assert [(one["kind"], one["state"]) for one in steps] == [
        ("call", "done"),
        ("call", "done"),
        ("gate", "done"),  # the question
        ("message", "done"),
    ]


def test_a_permission_that_is_open_when_tapui_is_stopped_is_one_step_that_succeeds(
    copilot: Copilot,
    model: ModelServer,
    tower: TowerProcess,
    start_tower: Callable[..., TowerProcess],
) -> None:
    model.script(Rule(calls=TOUCH, when="write it"), Rule(text="all done", role="tool"))
    copilot.prompt("write it")
    tower.screen.wait_for("echo once >> proof")
    os.kill(tower.pid, signal.SIGTERM)
    tower.screen.wait_dead()
    second = start_tower()
    wait_for_tools(second.home, copilot)
    second.approve("echo once >> proof")
    copilot.screen.wait_for("all done")
    second.screen.wait_for("Nothing waits")
    turn = done_turn(second, copilot)
    head, steps = turn["head"], turn["steps"]
    assert (head["prompt"], head.get("failed", 0)) == ("write it", 0)
    assert [(one["kind"], one["state"]) for one in steps] == [("call", "done"), ("message", "done")]
