"""What the real CLI tells of its shells: code, folder, the end of an output; also behind a call."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tapui.projection.turns.session import LiveTurns
from tapui.projection.turns.session_events import happened
from tapui.wire.events import SessionHappened
from tapui.wire.host import SessionEvent, SessionOpen
from tapui.wire.turns import TurnSource
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.live.conftest import Desk
from tests.records.turns import stamp
from tests.rig.copilot import Copilot
from tests.rig.model_server import ModelServer, Rule

Json = dict[str, Any]


@pytest.fixture
def copilot(at_desk: Desk) -> Copilot:
    """A CLI that asks about nothing."""
    copilot = at_desk.take()
    copilot.allow_all()
    return copilot


@pytest.fixture
def gateway(copilot: Copilot) -> Iterator[GatewayPlayed]:
    played = GatewayPlayed()
    with HostThread(played, copilot.copilot_home):
        opened = played.wait(SessionOpen)
        assert {"bash", "powershell"} <= set(opened.session.shell_tools or ())
        yield played


def told(gateway: GatewayPlayed, event: str, tool: str) -> Json:
    """Wait for an event about a tool; return its data."""

    def about(one: SessionEvent) -> bool:
        return one.event == event and msgspec.json.decode(one.data).get("tool") == tool

    data: Json = msgspec.json.decode(gateway.wait(SessionEvent, about).data)
    return data


def folded(gateway: GatewayPlayed) -> LiveTurns:
    """Return the session's turns, as the fold makes them of what the host told."""
    live = LiveTurns("s")
    for at, one in enumerate(gateway.of(SessionEvent)):
        if not one.event.startswith("tool."):  # these become calls in the gateway
            happened(live, SessionHappened("s", one.event, one.data), stamp(at))
    return live


def test_a_long_output_keeps_its_end(
    copilot: Copilot, gateway: GatewayPlayed, model: ModelServer
) -> None:
    command = {"command": "cd /tmp; seq 1 30000; exit 4", "description": "counts"}
    model.script(Rule(calls=[("bash", command)], when="count"), Rule(text="counted", role="tool"))
    copilot.prompt("count")
    end = told(gateway, "tool.execution_complete", "bash")
    shell = end["shell"]
    assert (end["exitCode"], shell["cwd"], shell["isCut"]) == (4, str(copilot.cwd), True)
    assert shell["head"].startswith("1\n2\n")
    assert shell["tail"].endswith("29999\n30000\n")


def test_the_code_of_a_command_in_the_background_comes_with_its_reading(
    copilot: Copilot, gateway: GatewayPlayed, model: ModelServer
) -> None:
    behind = {"command": "echo 2 failed; exit 5", "description": "c", "mode": "async"}
    model.script(
        Rule(calls=[("bash", {**behind, "shellId": "bg1"})], when="test it"),
        Rule(calls=[("read_bash", {"shellId": "bg1", "delay": 5})], when="started in background"),
        Rule(text="red", role="tool"),
    )
    copilot.prompt("test it")
    begun = told(gateway, "tool.execution_complete", "bash")
    assert (begun["shell"], "exitCode" in begun) == ({"id": "bg1", "isBehind": True}, False)
    ended = told(gateway, "shell.completed", "bash")
    assert (ended["toolCallId"], ended["exitCode"]) == (begun["toolCallId"], 5)
    assert ended["shell"]["tail"] == "2 failed\n"


SETS = """\
alias said='echo aliased'
said_by() { echo function; }
export SAID=variable PATH="/made/up:$PATH"
trap 'echo trapped' EXIT
set -o pipefail; shopt -s expand_aliases; cd /tmp
echo "$SAID"; said_by"""
ASKS = """\
alias said; type said said_by; echo "[$SAID]" "[$PATH]"; trap -p
set -o | grep pipefail; shopt expand_aliases; pwd"""


def test_a_shell_keeps_nothing_for_the_next_call(
    copilot: Copilot, gateway: GatewayPlayed, model: ModelServer
) -> None:
    def calls(command: str) -> list[tuple[str, Json]]:
        return [("bash", {"command": command, "description": "d", "shellId": "mine"})]

    model.script(
        Rule(calls=calls(SETS), when="set it"),
        Rule(calls=calls(ASKS), role="tool", when="variable"),
        Rule(text="asked", role="tool", when="pipefail"),
    )
    copilot.prompt("set it")
    copilot.screen.wait_for("asked")
    first, second = (one.text.splitlines() for one in model.requests if one.role == "tool")
    assert first[:3] == ["variable", "function", "trapped"]
    found = [line.removeprefix("/bin/bash: line 1: ") for line in second[:7]]
    # The CLI reads what is said and what is wrong from two pipes: their lines come in any order.
    wrong = [line for line in found if line.endswith(": not found")]
    assert wrong == ["alias: said: not found", "type: said: not found", "type: said_by: not found"]
    variables, *options, folder = (line for line in found if line not in wrong)
    assert variables.startswith("[] [")
    assert "/made/up" not in variables
    assert [one.split() for one in options] == [["pipefail", "off"], ["expand_aliases", "off"]]
    assert folder == str(copilot.cwd)


def test_the_newest_output_of_a_command_is_told_while_it_runs(
    copilot: Copilot, gateway: GatewayPlayed, model: ModelServer
) -> None:
    waits = f"echo first; until [ -e {copilot.cwd}/go ]; do sleep 0.1; done; echo last"
    command = {"command": waits, "description": "waits"}
    model.script(Rule(calls=[("bash", command)], when="wait"), Rule(text="done", role="tool"))
    copilot.prompt("wait")
    assert told(gateway, "tool.execution_partial_result", "bash")["partialOutput"] == "first\n"
    (copilot.cwd / "go").touch()
    assert told(gateway, "tool.execution_complete", "bash")["exitCode"] == 0


def test_what_the_cli_does_when_a_command_in_the_background_ends_is_one_turn(
    copilot: Copilot, gateway: GatewayPlayed, model: ModelServer
) -> None:
    waits = f"until [ -e {copilot.cwd}/go ]; do sleep 0.1; done; exit 5"
    behind = {"command": waits, "description": "npm test", "mode": "async"}
    model.script(
        Rule(calls=[("bash", {**behind, "shellId": "bg1"})], when="test it"),
        Rule(text="it runs", when="started in background"),
        Rule(text="it is red", when="exit code 5"),
    )
    copilot.prompt("test it")
    gateway.wait(SessionEvent, event="session.idle")
    (copilot.cwd / "go").touch()  # the turn is over: what comes now is another
    copilot.screen.wait_for("it is red")
    gateway.wait(SessionEvent, lambda one: b"it is red" in bytes(one.data))
    told = [one.event for one in gateway.of(SessionEvent)]
    at = told.index("prompt.automatic")
    named = msgspec.json.decode(gateway.of(SessionEvent)[at].data)
    assert named == {
        "content": "shell “npm test” completed",
        "source": "host-Copilot",
        "delivery": "steering",
    }
    live = folded(gateway)
    first, second = live.turns
    assert (first.prompt, first.state) == ("test it", "done")
    assert second.source == TurnSource("host", "Copilot")
    assert second.prompt == "shell “npm test” completed"
    assert [one.summary for one in second.steps if one.kind == "message"] == ["it is red"]
