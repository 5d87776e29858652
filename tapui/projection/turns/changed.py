"""What changes about a session beside its work: mode, model, and its end."""

from tapui.projection.summary import one_line
from tapui.projection.turns.session import LiveTurns
from tapui.wire.events import ModeChanged
from tapui.wire.steering import Order


def mode_changed(session: LiveTurns, event: ModeChanged, at: str) -> None:
    """A mode was set, or could not be; before the first turn this is no step."""
    turn = session.latest
    if event.state == "ordered" or turn is None:
        return
    about = f"{event.source} → {event.mode}" if event.source else event.mode
    last = turn.steps[-1] if turn.steps else None
    if event.state == "done" and last is not None and last.kind == "mode" and last.approval_id:
        last.summary = about  # the person allowed it just now
        return
    step = session.add("mode", "failed" if event.state == "failed" else "done", at, about)
    step.decided_by = event.by
    step.error = one_line(event.error or "")


def model_changed(session: LiveTurns, before: str | None, after: str | None, at: str) -> None:
    """Another model answers; before the first turn this is no step."""
    if session.latest is not None:
        session.add("model", "done", at, f"{before} → {after}" if before else str(after))


def not_delivered(session: LiveTurns, order: Order, at: str) -> None:
    """A text of the person did not reach the session; before the first turn this is no step."""
    if session.latest is not None:
        step = session.add("prompt", "failed", at, order.text)
        step.provider = order.by
        step.error = one_line(order.error or "")


def session_closed(session: LiveTurns, at: str) -> None:
    """The session ended: so does all that was under way in it."""
    turn = session.latest
    if turn is None:
        return
    for step in list(turn.all_steps()):
        if step.is_open:
            session.end(step, "cancelled", at)
    turn.end("stopped", at)
