"""The failures in a status bar: tools that failed, shells that exited non-zero."""

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tapui.cli.commands.status import in_short
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire.events import CallFinished, CallStarted, SessionClosed, SessionOpened
from tapui.wire.subjects import Call, Session

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
    ended = replace(session, state="ended")
    fold(state, SessionClosed(session=ended, session_id="s1"), TS)
    assert in_short(state) == "", "an ended session is over"
