"""Calls as steps. This runs for each call of the gateway: what is read later is made later."""

from tapui.projection.turns.programs import is_answer
from tapui.projection.turns.session import UNKNOWN, LiveTurns
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.wire import limits
from tapui.wire.errors import CallError
from tapui.wire.subjects import Call


def call_started(session: LiveTurns, call: Call, at: str) -> None:
    """A call is a step from its start; one while the session is idle is outside of its turns."""
    turns = session.turns
    turn = turns[-1] if turns else None
    if turn is None or turn.ended_at is not None:
        turn = session.begin(at, UNKNOWN, is_outside=True)
    call_id = call.id
    if (
        turn.is_history
        or call.agent_id is not None
        or call.tool_call_id is not None
        or call_id in session.open
        or len(call_id) > limits.MAX_ID
    ):
        _started_otherwise(session, turn, call, at)
        return
    turn.made += 1
    step = LiveStep(turn.number, turn.made, "call", "running", at, call)
    session.open[call_id] = step
    steps = turn.steps
    steps.append(step)
    if len(steps) > limits.TURN_STEPS:
        if steps[0].state == "done" and steps[0].steps is None:
            del steps[0]
        else:
            session.make_room(steps)


def call_finished(session: LiveTurns, call: Call, at: str) -> None:
    step = session.open.pop(call.id, None)
    if step is None:
        return
    if (
        call.state == "done"
        and step.state == "running"
        and step.kind == "call"
        and call.exit_code is None
        and call.changes is None
        and call.queued is None
    ):
        step.state = "done"
        step.duration = call.duration
        session.turns[-1].touched_at = at
        return
    _finished_otherwise(session, step, call, at)


def _started_otherwise(session: LiveTurns, turn: LiveTurn, call: Call, at: str) -> None:
    """Start a subagent's call, one whose permission was asked for before it began, or one that
    goes on from before this tapui."""
    if len(call.id) > limits.MAX_ID:
        return
    parent = session.agents.get(call.agent_id) if call.agent_id is not None else None
    if parent is not None:
        parent.calls += 1
    for id_ in (call.id, call.tool_call_id):
        known = session.open.get(id_) if id_ is not None else None
        if known is None and id_ == call.id:
            known = session.reopened(id_)
        if known is not None and (known.is_asked_only or turn.is_history):
            known.call = call
            session.open[call.id] = session.open.pop(id_ or call.id)
            return
        if known is not None and id_ == call.id:
            session.end(known, "unknown", at)
    turn.made += 1
    step = LiveStep(turn.number, turn.made, "call", "running", at, call)
    session.open[call.id] = step
    session.place(step, parent)


def _finished_otherwise(session: LiveTurns, step: LiveStep, call: Call, at: str) -> None:
    """End a step that did not just succeed, or that tells more than that."""
    step.condense()
    if call.changes is not None:
        step.changed(call.changes)
        session.turns[-1].changed(call.changes)
    if step.kind == "subagent" and call.state == "done":
        return  # its own end tells: in the background it works on
    step.duration = call.duration
    step.queued = call.queued
    step.exit_code = call.exit_code
    if call.error_code == CallError.DISCONNECTED and call.provider_id is None:
        session.end(step, "unknown", at, call.error)  # the session's own: it may go on without us
    elif call.state != "done":
        session.end(step, "cancelled" if call.state == "cancelled" else "failed", at, call.error)
    elif call.exit_code and not is_answer(step.summary, call.exit_code):
        session.end(step, "failed", at)
    else:
        session.end(step, "done", at)
