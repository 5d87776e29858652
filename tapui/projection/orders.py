"""Orders in words: what the person wants of a session, and what became of it."""

from msgspec.structs import replace

from tapui.projection.state import State, is_open
from tapui.projection.summary import one_line
from tapui.wire.events import OrderChanged
from tapui.wire.steering import Order, OrderKind, OrderState, Way
from tapui.wire.subjects import Session

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


def wanted(order: Order) -> str:
    if order.kind == "tell":
        way = f" ({WAYS[order.way]})" if order.way is not None else ""
        return f"tell{way}: {one_line(order.text)}"
    return f"{_WANTED[order.kind]} {one_line(order.text)}".rstrip()


def became(order: Order) -> str:
    """Return what became of it until now, with what goes on and what was lost."""
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
    told = []
    if order.running:
        told.append(f"still running in the background: {', '.join(order.running)}")
    if order.dropped:
        told.append(f"dropped with the turn: {', '.join(order.dropped)}")
    return told
