"""What a status bar and `status --watch` tell: what failed, what is unchecked."""

from typing import Literal

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tapui.cli.commands.status import in_short
from tapui.cli.overview import Watched, show_waiting
from tapui.projection.counts import told_counts
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire.criteria import SessionStanding, TurnProof
from tapui.wire.events import (
    CallFinished,
    CallStarted,
    SessionClosed,
    SessionHappened,
    SessionOpened,
    SessionStood,
    SessionUpdated,
    TurnProved,
)
from tapui.wire.subjects import Approval, Call, ContextUse, Session
from tapui.wire.turns import FileChange

TS = "2026-01-01T00:00:00Z"


def ran(state: State, id_: str, command: str, exit_code: int) -> None:
    call = Call(
        id=id_,
        session_id="s1",
        tool="bash",
        provider="copilot",
        state="running",
        started_at=TS,
        args=Raw(b'{"command": "%b"}' % command.encode()),
    )
    fold(state, CallStarted(call=call, session_id="s1"), TS)
    ended = replace(call, state="done", exit_code=exit_code, duration=1.0)
    fold(state, CallFinished(call=ended, session_id="s1"), TS)


@pytest.mark.parametrize(
    ("command", "exit_code", "said"),
    [("make", 0, ""), ("make", 2, "✗1"), ("grep x y", 1, ""), ("grep x y", 2, "✗1")],
)
def test_a_shell_that_exits_non_zero_has_failed_unless_that_is_its_answer(
    command: str, exit_code: int, said: str
) -> None:
    state = State()
    session = Session(
        id="s1", label="", cwd="/", state="busy", host="t", providers=[], opened_at=TS
    )
    fold(state, SessionOpened(session=session, session_id="s1"), TS)
    ran(state, "c1", command, exit_code)
    assert in_short(state) == said
    counted = told_counts(state)
    assert (counted["sessions"], counted["busy"], counted["failed"]) == (1, 1, int(bool(said)))
    ended = replace(session, state="ended")
    fold(state, SessionClosed(session=ended, session_id="s1"), TS)
    assert in_short(state) == "", "an ended session is over"
    assert not any(told_counts(state).values())


def rests() -> State:
    """Return a state with a session whose only turn changed a file, at rest."""
    state = State()
    session = Session(
        id="s1", label="First", cwd="/", state="idle", host="t", providers=[], opened_at=TS
    )
    call = Call("c1", "s1", "copilot", "edit", "running", TS)
    done = replace(call, state="done", changes=[FileChange("a.py", 1, 1)])
    for event in (
        SessionOpened(session=session, session_id="s1"),
        SessionHappened("s1", "user.message"),
        CallStarted(call=call, session_id="s1"),
        CallFinished(call=done, session_id="s1"),
        SessionHappened("s1", "session.idle"),
    ):
        fold(state, event, TS)
    return state


def stood(state: Literal["checked", "failed", "unchecked"], text: str) -> SessionStood:
    return SessionStood("s1", SessionStanding(TurnProof(state, text), TS))


def test_a_status_bar_counts_the_sessions_that_rest_unchecked() -> None:
    state = rests()
    assert in_short(state) == "", "no check is known: nothing to count"
    fold(state, stood("unchecked", "1 file changed"), TS)
    assert in_short(state) == "○1"
    fold(state, stood("failed", "pytest, exit 1"), TS)
    assert in_short(state) == "✗1"
    fold(state, stood("checked", "pytest, 2 tests"), TS)
    assert in_short(state) == ""


def test_what_is_recorded_of_a_turn_is_a_line_as_it_changes() -> None:
    watched = Watched(rests())
    assert list(watched.now()) == ["session First: done"]
    proved = TurnProved("s1", TS, TurnProof("failed", "pytest, exit 1"))
    assert list(watched.take(proved, TS)) == ["session First: ✗ check failed: pytest, exit 1"]
    assert list(watched.take(stood("failed", "pytest, exit 1"), TS)) == [], "it is the same line"
    assert list(watched.now()) == ["session First: done ✗"]
    line = "session First: ✓ checked: pytest, 2 tests"
    assert list(watched.take(stood("checked", "pytest, 2 tests"), TS)) == [line]
    assert list(watched.take(SessionStood("s1"), TS)) == []
    assert list(watched.take(TurnProved("s1", TS, None), TS)) == []


def test_a_status_bar_counts_the_sessions_whose_context_is_nearly_full() -> None:
    state = rests()
    session = state.sessions["s1"]
    for tokens, said in ((94, ""), (95, "▮1")):
        full = replace(session, context=ContextUse(tokens, 200, 100))
        fold(state, SessionUpdated("s1", full), TS)
        assert in_short(state) == said


def test_a_url_that_waits_is_told_with_the_command_that_asks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    detail = {"kind": "url", "url": "https://x.test/f", "toolCallId": "c1"}
    asked = Approval("a1", "permission", "waiting", detail, TS, TS, session_id="s1")
    arguments = Raw(b'{"command": "curl https://x.test/f\\ngit push --force"}')
    call = Call("c1", "s1", "copilot", "bash", "running", TS, args=arguments)
    state = State(approvals={asked.id: asked}, calls={call.id: call})
    show_waiting(state, [asked])
    text = "fetch https://x.test/f  command: curl https://x.test/f ⏎ git push --force\n"
    assert text in capsys.readouterr().out
