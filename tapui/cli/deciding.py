"""What `approve` and `deny` share: which approval is meant, and seeing the decision through."""

from collections.abc import Sequence
from typing import Literal

from tapui.cli import output
from tapui.cli.failure import Failure
from tapui.client.connection import GatewayConnection
from tapui.projection import asking
from tapui.projection.state import State, is_waiting
from tapui.wire.events import (
    Approval,
    ApprovalDecided,
    ApprovalExpired,
    ApprovalWithdrawn,
    Entry,
)
from tapui.wire.message import Message
from tapui.wire.tower import ApprovalDecide

_SETTLED = ApprovalDecided | ApprovalExpired | ApprovalWithdrawn


def waiting(approvals: Sequence[Approval], wanted: str) -> Approval:
    """Return the waiting approval with this id, or whose id alone begins so; raises `Failure`."""
    exact = [one for one in approvals if one.id == wanted]
    if exact and not is_waiting(exact[0]):
        raise Failure(f"{exact[0].id} no longer waits: {_how(exact[0])}")
    found = exact or [one for one in approvals if is_waiting(one) and one.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Failure(f"{wanted} fits several: {', '.join(one.id for one in found)}")
    ids = [one.id for one in approvals if is_waiting(one)]
    there = f"waiting are: {', '.join(ids)}" if ids else "nothing waits for you"
    raise Failure(f"there is no approval {wanted}; {there}")


def described(connection: GatewayConnection, approval: Approval) -> str:
    """Return what an approval is about, as the tower and `tapui status` show it."""
    state = State.of(connection.snapshot.state)
    asks = f"{approval.kind} {approval.id}: {asking.subject(state, approval)}"
    return asks if approval.session_id is None else f"{asks} ({asking.who(state, approval)})"


async def decide(
    connection: GatewayConnection, approval: Approval, decision: Literal["approve", "deny"]
) -> None:
    """Send the decision and print it once the gateway has it; raises `Failure` if it came late."""

    def is_answer(came: Message | Entry) -> bool:
        return (
            isinstance(came, Entry)
            and isinstance(came.event, _SETTLED)
            and came.event.approval.id == approval.id
        )

    came = await connection.ask(
        ApprovalDecide(approval_id=approval.id, decision=decision), is_answer
    )
    assert isinstance(came, Entry)
    assert isinstance(came.event, _SETTLED)
    settled = came.event.approval
    if settled.state != ("approved" if decision == "approve" else "denied"):
        raise Failure(f"{approval.id} was settled otherwise: {_how(settled)}")
    output.say(f"{settled.state} {described(connection, approval)}")


def _how(approval: Approval) -> str:
    by = f" by {approval.decided_by}" if approval.decided_by else ""
    return f"{approval.state}{by}"
