"""What waits in a turn and how it was decided; changes of a session's mode, model and end."""

from collections.abc import Mapping
from typing import Any

from tapui.projection.requests.kinds import KINDS, kind_name, kind_of
from tapui.projection.requests.permissions import MODE_ASKERS, by_rule, rule_name
from tapui.projection.summary import one_line
from tapui.projection.turns.session import LiveTurns
from tapui.wire import limits
from tapui.wire.events import ModeChanged, TurnSentBack
from tapui.wire.steering import Order
from tapui.wire.subjects import Approval, Gate, switch_setting
from tapui.wire.turns import StepState

_DECIDED: dict[str, StepState] = {
    "approved": "done",
    "denied": "denied",
    "expired": "timedOut",
    "failed": "denied",
    "withdrawn": "cancelled",
}
_SWITCHED: dict[str, StepState] = {"done": "done", "failed": "failed", "refused": "denied"}
_GATED: dict[str, StepState] = {"allow": "done", "context": "done", "deny": "denied"}


def approval_changed(session: LiveTurns, approval: Approval, about: str, at: str) -> None:
    """An approval waits, or was settled. `about` is what is asked.

    The step is the call's, where the host said which one waits for it.
    """
    if approval.state == "deciding":
        return  # it waits until its decision is recorded
    if approval.state in ("waiting", "revealed"):
        _asked(session, approval, about, at)
    else:
        _settled(session, approval, at)
    if session.latest is not None:
        waiting = session.asked.values()
        for_person = any(one.kind != "gate" or one.tool in KINDS for one in waiting)
        session.latest.count_wait(at, is_waiting=for_person)


def _settled(session: LiveTurns, approval: Approval, at: str) -> None:
    step = session.asked.pop(approval.id, None)
    if step is None:
        return
    step.decided_by = approval.decided_by
    step.rule = rule_name(approval.rule) if by_rule(approval) else ""
    if approval.duration is not None:  # a command that fetches is asked about twice
        step.asked = (step.asked or 0.0) + approval.duration
    state = _DECIDED[approval.state]
    if approval.state == "withdrawn" and approval.decided_by is not None:
        state = "denied" if approval.answered == "denied" else "done"
    if step.kind in ("call", "subagent") and state == "done":
        step.state = "running"
        return
    session.end(step, state, at, approval.reason)


def _asked(session: LiveTurns, approval: Approval, about: str, at: str) -> None:
    if approval.id in session.asked:
        return
    detail: Any = approval.detail
    kind = kind_of(approval).step(detail if isinstance(detail, Mapping) else {})
    if kind is None:
        return
    call_id, agent = _id(detail, "toolCallId"), _id(detail, "agentId")
    if approval.kind != "permission":
        call_id = None  # a question has a step of its own, with its answer
    step = None
    if call_id is not None:
        step = session.open.get(call_id) or session.reopened(call_id)
    if step is not None and step.state == "running":
        step.state = "waiting"
    elif step is None and call_id is not None:  # its call will begin when it is allowed
        step = session.add("call", "waiting", at, about, agent)
        step.call_id = call_id
        session.open[call_id] = step
    else:
        step = session.add(kind, "waiting", at, about, agent)
        step.tool = kind_name(approval)
        step.provider = (approval.provider or "")[: limits.MAX_NAME]
    step.approval_id = approval.id
    session.asked[approval.id] = step


def _id(detail: Any, name: str) -> str | None:
    value = detail.get(name) if isinstance(detail, Mapping) else None
    return value if isinstance(value, str) and len(value) <= limits.MAX_ID else None


def gate_checked(session: LiveTurns, gate: Gate, at: str) -> None:
    """Providers are asked whether a call may run, or rules and providers have decided."""
    step = session.asked.pop(gate.id, None)
    if step is None:
        step = session.add("gate", "waiting", at)
        step.tool = gate.tool[: limits.MAX_NAME]
        step.provider = ", ".join(gate.providers)[: limits.MAX_NAME]
    step.summary = one_line(gate.reason or "")
    if gate.state == "waiting":
        step.approval_id = gate.id
        session.asked[gate.id] = step
        return
    step.decided_by = gate.decided_by
    step.rule = rule_name(gate.rule)
    step.duration = step.gated = gate.duration
    session.end(step, _GATED[gate.state], at)


def mode_changed(session: LiveTurns, event: ModeChanged, at: str) -> None:
    """A mode was set, could not be, or was asked for in vain; before the first turn this is no
    step."""
    turn = session.latest
    if event.state == "ordered" or turn is None:
        return
    about = f"{event.source} → {event.mode}" if event.source else event.mode
    if event.asker is not None:
        about = f"{about}, asked by {MODE_ASKERS[event.asker]}"
    asked = None
    if event.approval_id is not None:
        mine = (one for one in reversed(turn.steps) if one.approval_id == event.approval_id)
        asked = next(mine, None)
    elif turn.steps and turn.steps[-1].kind == "mode" and turn.steps[-1].approval_id:
        asked = turn.steps[-1]  # of records in which no event names its approval
    if asked is not None and event.state != "failed":
        asked.summary = about  # the person has decided just now
        return
    step = session.add("mode", _SWITCHED[event.state], at, about)
    step.decided_by = event.by
    step.rule = _policy_words(event)
    step.error = one_line(event.error or "")


def _policy_words(event: ModeChanged) -> str:
    """Return the setting that decided, "" where none did."""
    if event.asker is None or event.policy not in ("allow", "never"):
        return "setting modes.lock" if event.policy == "lock" else ""
    return f"setting {switch_setting(event.asker, event.mode)} = {event.policy}"


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


def sent_back(session: LiveTurns, event: TurnSentBack, at: str) -> None:
    """The agent wanted to end the turn and goes on; what that uses is counted from here."""
    turn = session.latest
    if turn is None:
        return
    turn.sent_back += 1
    turn.tries = event.most
    step = session.add("event", "done", at, f"{event.number} of {event.most}", event.agent_id)
    step.tool = "sent back"


def session_closed(session: LiveTurns, at: str) -> None:
    """The session ended: so does all that was under way in it."""
    turn = session.latest
    if turn is None:
        return
    for step in list(turn.all_steps()):
        if step.is_open:
            session.end(step, "cancelled", at)
    turn.end("stopped", at)
