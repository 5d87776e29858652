"""What waits in a turn: approvals and gates, and how they were decided."""

from collections.abc import Mapping
from typing import Any

from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.permissions import by_rule, rule_name
from tapui.projection.summary import one_line
from tapui.projection.turns.session import LiveTurns
from tapui.wire import limits
from tapui.wire.subjects import Approval, Gate
from tapui.wire.turns import StepState

_DECIDED: dict[str, StepState] = {
    "approved": "done",
    "denied": "denied",
    "expired": "denied",
    "failed": "denied",
    "withdrawn": "cancelled",
}
_GATED: dict[str, StepState] = {"allow": "done", "context": "done", "deny": "denied"}


def approval_changed(session: LiveTurns, approval: Approval, about: str, at: str) -> None:
    """An approval waits, or was settled. `about` is what is asked.

    The step is the call's, where the host said which one waits for it.
    """
    if approval.state in ("waiting", "revealed"):
        _asked(session, approval, about, at)
        return
    if approval.state == "deciding":
        return  # it waits until its decision is recorded
    step = session.asked.pop(approval.id, None)
    if step is None:
        return
    step.decided_by = approval.decided_by
    step.rule = rule_name(approval.rule) if by_rule(approval) else ""
    step.asked = approval.duration
    state = _DECIDED[approval.state]
    if approval.state == "withdrawn" and approval.decided_by is not None:
        state = "done"  # answered elsewhere; how, the call will show
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
        step.tool = approval.kind
        step.provider = (approval.provider or "")[: limits.MAX_NAME]
    step.approval_id = approval.id
    session.asked[approval.id] = step


def _id(detail: Any, name: str) -> str | None:
    found = detail.get(name) if isinstance(detail, Mapping) else None
    return found if isinstance(found, str) and len(found) <= limits.MAX_ID else None


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
