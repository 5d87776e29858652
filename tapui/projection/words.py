"""Orders, alarms and offered tools in words; nothing here is made safe yet."""

from msgspec.structs import replace

from tapui.projection.requests.kind import session_name
from tapui.projection.state import State, is_open
from tapui.projection.summary import one_line
from tapui.wire.events import OrderChanged
from tapui.wire.steering import Order, OrderKind, OrderState, Way
from tapui.wire.subjects import Alarm, Session

WAYS: dict[Way, str] = {
    "after": "after this turn",
    "now": "now",
    "stopFirst": "stop, then send",
}
_WANTED: dict[OrderKind, str] = {
    "tell": "tell",
    "stop": "stop the turn",
    "compact": "compact the context",
    "model": "model",
    "effort": "reasoning effort",
    "label": "rename to",
    "close": "end the session",
}
_BECAME: dict[OrderState, str] = {
    "given": "sent",
    "queued": "waits for the turn's end",
    "stopping": "stopping",
    "working": "under way",
    "done": "done",
    "failed": "failed",
}


def changed(order: Order, change: OrderChanged) -> Order:
    return replace(
        order,
        state=change.state,
        error=change.error,
        running=change.running,
        dropped=change.dropped,
    )


def is_stopping(state: State, session_id: str) -> bool:
    """Return whether a session was told to stop its turn and has not come to rest."""
    return any(
        order.session_id == session_id
        and (order.state == "stopping" or (order.kind == "stop" and order.state == "given"))
        for order in state.orders.values()
    )


def can_stop(session: Session) -> bool:
    return is_open(session) and session.state == "busy" and "stop" in session.can


def order_words(order: Order) -> str:
    if order.kind == "tell":
        way = f" ({WAYS[order.way]})" if order.way is not None else ""
        return f"tell{way}: {one_line(order.text)}"
    return f"{_WANTED[order.kind]} {one_line(order.text)}".rstrip()


def became(order: Order) -> str:
    return "; ".join([_state(order), *consequences(order)])


def _state(order: Order) -> str:
    if order.state == "failed":
        head = "not delivered" if order.kind == "tell" else "failed"
        return f"{head}: {order.error}" if order.error else head
    if order.state == "done":
        return {"tell": "delivered", "stop": "stopped", "close": "ended"}.get(order.kind, "done")
    if order.state == "queued" and order.way == "now":
        return "waits until the turn can take it"
    return _BECAME[order.state]


def consequences(order: Order) -> list[str]:
    """Return what else the person must know: commands that go on, texts that were lost."""
    parts = []
    if order.running:
        parts.append(f"still running in the background: {', '.join(order.running)}")
    if order.dropped:
        parts.append(f"dropped with the turn: {', '.join(order.dropped)}")
    return parts


def alarm_words(alarm: Alarm) -> str:
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


def alarm_session(state: State, alarm: Alarm) -> str:
    """Return the name of the session that it is about; "" where it is about none."""
    return session_name(state, alarm.session_id)


def alarms_of(state: State, session_id: str) -> list[Alarm]:
    return [one for one in state.alarms.values() if one.session_id == session_id]


def tools_that_wait(state: State, session: Session) -> str | None:
    """As `tools_of`, but None where the session's agent has its tools."""
    return tools_of(state, session) if session.tools_taken is False else None


def tools_of(state: State, session: Session) -> str | None:
    """Return how many tools providers offer to a session, and whether its agent has them yet.

    None where there is nothing to say.
    """
    known = [state.providers[id_] for id_ in session.providers if id_ in state.providers]
    count = len({tool for provider in known for tool in provider.tools})
    if session.state == "ended" or (not count and session.tools_taken is not False):
        return None
    words = "1 tool" if count == 1 else f"{count} tools"
    return f"{words} (not yet taken)" if session.tools_taken is False else words
