"""Modes that the agent asks for without a tower: the person is asked in the CLI's own window."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import until

ASKED = "tapui: The agent asks for the mode"
TOOL = "tap_set_session_mode"


@pytest.fixture
def gateway(copilot: Copilot, home: Home) -> Iterator[Gateway]:
    """A gateway without a tower that has found the CLI's session."""
    with Gateway(home) as running:
        wait_for_tools(home, copilot)
        yield running


def wants(prompt: str, mode: str) -> tuple[Rule, Rule]:
    switch = {"mode": mode, "reason": "to think first"}
    return Rule(calls=[(TOOL, switch)], when=prompt, needs=TOOL), Rule(text=f"{prompt}: over")


def events(copilot: Copilot) -> list[dict[str, Any]]:
    """Return what is recorded of the session's modes."""
    path = copilot.workspace / "files" / "tap" / "modes.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_person_is_asked_in_the_cli_and_their_own_mode_stays(
    copilot: Copilot, model: ModelServer, gateway: Gateway, home: Home
) -> None:
    del gateway
    model.script(*wants("first", "plan"))
    copilot.prompt("first")
    copilot.screen.wait_for(ASKED)
    copilot.screen.wait_for("to think first")
    copilot.screen.keys("Enter")  # as it opens, "no" is chosen
    copilot.screen.wait_for("first: over")
    until(lambda: copilot.mode == "Interactive", what="the mode in the footer")
    refused = until(lambda: events(copilot)[-1:], what="the refusal")[0]
    assert (refused["state"], refused["asker"], refused["decidedBy"]) == ("refused", "agent", "cli")

    model.script(*wants("second", "plan"))
    copilot.prompt("second")
    copilot.screen.wait_for(ASKED)
    copilot.screen.keys("Down", "Enter")
    copilot.screen.wait_for("second: over")
    until(lambda: copilot.mode == "Plan", what="the mode in the footer")
    done = until(lambda: [one for one in events(copilot) if one["state"] == "done"], what="it")[0]
    assert (done["policy"], done["decidedBy"], done["source"]) == ("ask", "cli", "interactive")
    assert not copilot.screen.find("Copilot needs information")

    # The person takes another mode; the agent does not get that changed.
    copilot.screen.press("BTab", lambda: copilot.mode == "Autopilot")
    copilot.screen.press("BTab", lambda: copilot.mode == "Interactive")
    theirs = "interactive"
    until(
        lambda: any(one["mode"] == theirs and "asker" not in one for one in events(copilot)),
        what="the person's mode recorded",
    )
    model.script(*wants("third", "plan"))
    copilot.prompt("third")
    told = model.wait_for(lambda one: "userOwned" in one.text)
    assert told.role == "tool"
    copilot.screen.wait_for("third: over")
    until(lambda: copilot.mode.lower() == theirs, what="the mode in the footer")
    (shown,) = [one for one in home.listed("modes") if one["sessionId"] == copilot.session_id]
    assert (shown["ownership"], shown["refused"]["policy"]) == ("userOwned", "lock")
