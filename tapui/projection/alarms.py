"""Alarms in words; nothing here is made safe yet."""

from tapui.projection.requests.kind import session_name
from tapui.projection.state import State
from tapui.wire.subjects import Alarm


def about(alarm: Alarm) -> str:
    """Return what is wrong: `pnpm test fails: exit 1, 4×`."""
    match alarm.kind:
        case "waiting":
            return "waits for you, and has for long"
        case "quiet":
            return "a turn without an event"
        case "failing":
            return f"{alarm.program} fails: {how_often(alarm)}"


def how_often(alarm: Alarm) -> str:
    """Return how often a program failed, and how at last: `exit 1, 4×`."""
    code = "" if alarm.exit_code is None else f"exit {alarm.exit_code}, "
    return f"{code}{alarm.times}×"


def whose(state: State, alarm: Alarm) -> str:
    """Return the name of the session that it is about; "" where it is about none."""
    return session_name(state, alarm.session_id)


def of_session(state: State, session_id: str) -> list[Alarm]:
    """Return the alarms about a session, oldest first."""
    return [one for one in state.alarms.values() if one.session_id == session_id]
