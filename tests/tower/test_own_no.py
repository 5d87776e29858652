"""A call to which the person said no is no failure anywhere: one conversation, each place."""

from pathlib import Path

import pytest

from tapui import times
from tapui.cli import overview
from tapui.client.gateways import FoundGateway
from tapui.projection.proof import record_of
from tapui.projection.proof_report import LIVE, ReportSource, as_markdown, report
from tapui.projection.turns.programs import has_failed, outcome
from tapui.tower.textual.reader import Reader
from tapui.tower.wording import marks
from tapui.wire.tower import TowerSnapshot
from tests.core.conftest import Scene
from tests.core.harness import Conversation
from tests.core.proof.test_watching import PASSED, Agent
from tests.tower.running import Running, running

REFUSED = ("pytest -q", "npm publish", "git push")


def asked(agent: Agent, command: str) -> tuple[str, str]:
    """Begin a call that waits for the person; return its id and the request's."""
    call = agent.start(command)
    detail = {"kind": "shell", "fullCommandText": command, "toolCallId": call}
    agent.host.say(
        type="approval.request",
        id=f"ask-{call}",
        sessionId=agent.session,
        kind="permission",
        detail=detail,
    )
    return call, str(agent.talk.events("approval.requested")[-1]["approval"]["id"])


def ended(agent: Agent, call: str, how: str) -> None:
    result = {"type": how, "output": "The user rejected this tool call."}
    agent.tell("tool.execution_complete", tool="bash", toolCallId=call, result=result)


@pytest.fixture
def agent() -> Agent:
    """A turn that is checked, then one in which the person says no three times: to a host that says
    so, to one that calls it a failure, and in the session's own window."""
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    agent = Agent(Scene(talk, host, talk.provider("s1"), talk.tower()))
    agent.begin("Run the tests")
    agent.run("pytest -q", 0, PASSED)
    agent.end()
    agent.begin("Ship it")
    agent.edit()
    for command, how in zip(REFUSED[:2], ("denied", "failure"), strict=True):
        call, approval = asked(agent, command)
        agent.tower.say(type="approval.decide", approvalId=approval, decision="deny")
        ended(agent, call, how)
    call, _ = asked(agent, REFUSED[2])
    agent.host.say(type="approval.withdraw", id=f"ask-{call}", decidedBy="cli", decision="deny")
    ended(agent, call, "failure")
    agent.end()
    return agent


def test_its_steps_and_calls_were_denied(agent: Agent) -> None:
    state = agent.talk.gateway.state
    turn = state.turns["s2"].turns[-1]
    assert (turn.denied, turn.failed, turn.state) == (3, 0, "done")
    codes = [one.error_code for one in state.recent_calls.values() if one.error is not None]
    assert codes == ["DENIED"] * 3


def check(rig: Running, where: str) -> None:
    assert "✗" not in rig.text, f"{where}:\n{rig.text}"


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_no_pane_and_no_detail_has_the_sign_of_a_failure(
    agent: Agent, size: tuple[int, int]
) -> None:
    async with running(size=size) as rig:
        for entry in agent.talk.entries:
            rig.feed.happen(entry.event, ts=entry.ts)
        await rig.settle()
        assert not rig.app.view.unseen_failures
        await rig.press("1")
        rig.app.main.current_pane.table.select("s2")
        await rig.settle()
        check(rig, "Sessions")
        await rig.press("enter")
        check(rig, "the session's detail")
        await rig.press("escape", "2")
        check(rig, "Turns")
        await rig.press("end", "enter")
        for _ in range(6):
            check(rig, "a step's detail")
            await rig.press("left")
        await rig.press("escape", "5")
        check(rig, "Calls")
        assert "denied" in rig.text
        await rig.press("enter")
        check(rig, "a call's detail")
        assert "DENIED" in rig.app.screen.query_one(Reader).text
        await rig.press("escape", "v")
        check(rig, "Calls by tool")


def test_a_call_of_a_session_that_ended_is_no_failure(agent: Agent) -> None:
    """Its program may go on with it."""
    agent.start("make")
    agent.host.say(type="session.close", sessionId=agent.session, reason="Copilot CLI ended")
    *_, ended = agent.talk.gateway.state.recent_calls.values()
    assert ended.error_code == "DISCONNECTED"
    assert (has_failed(ended), outcome(ended)) == (False, "unknown")
    assert marks.of_call(ended) == marks.STEP["unknown"]


def test_status_says_that_it_was_denied(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = TowerSnapshot(1, agent.talk.gateway.state.snapshot(), run="run-1", towers=1)
    monkeypatch.setattr(overview, "glance", lambda *_args, **_fields: snapshot)
    gateway = FoundGateway("ws://localhost:9400", 9400, 1, "1.0", "", Path("/dev/null"))
    overview.show(gateway, None)
    told = capsys.readouterr().out
    assert "denied" in told
    assert "✗" not in told
    assert "failed" not in told


@pytest.mark.parametrize("kind", ["permission", "userInput"])
def test_status_says_of_a_call_and_its_session_that_they_ask(
    agent: Agent, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent.begin("Ask me")
    call = agent.start("pytest -q")
    detail = {"kind": "shell", "fullCommandText": "pytest -q", "question": "Which port?"}
    told = {"id": "r9", "kind": kind, "detail": detail | {"toolCallId": call}}
    state = agent.talk.gateway.state

    def lines() -> list[str]:
        snapshot = TowerSnapshot(1, state.snapshot(), run="run-1", towers=1)
        monkeypatch.setattr(overview, "glance", lambda *_args, **_fields: snapshot)
        gateway = FoundGateway("ws://localhost:9400", 9400, 1, "1.0", "", Path("/dev/null"))
        overview.show(gateway, None)
        shown = capsys.readouterr().out.splitlines()
        return [line for line in shown if line.strip().startswith((agent.session, *state.calls))]

    assert [("busy" in line, "running" in line) for line in lines()] == [
        (True, False), (False, True),
    ]  # fmt: skip
    agent.host.say(type="approval.request", sessionId=agent.session, **told)
    assert len(lines()) == 2
    for line in lines():
        assert "asks you" in line
        assert "busy" not in line
        assert "running" not in line
    agent.host.say(type="approval.withdraw", id="r9", decidedBy="cli", decision="approve")
    assert not [line for line in lines() if "asks you" in line]


def test_the_proof_of_the_session_has_no_check_that_failed(agent: Agent) -> None:
    state = agent.talk.gateway.state
    turns, session = state.turns["s2"], state.sessions["s2"]
    told = report(
        ReportSource("s2", "/code", LIVE),
        [turn.told() for turn in turns.turns],
        record_of(state, session),
        turns.standing,
        times.date_and_time,
    )
    lines = as_markdown(told, times.date_and_time)
    assert [one.command for one in told.checks] == ["pytest -q"]
    assert told.checks[0].exit_code == 0
    assert "**○ unchecked: 1 file changed since pytest passed" in "\n".join(lines)
    assert not [line for line in lines if "✗" in line or "failed" in line]
