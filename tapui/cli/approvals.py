"""What `approve` and `deny` share: which approval is meant, and seeing the decision through."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from tapui import invocation
from tapui.cli import output
from tapui.cli.failure import Failure
from tapui.projection import approvals
from tapui.projection.requests.kinds import kind_of
from tapui.projection.state import State, is_waiting
from tapui.text import revealed
from tapui.wire.events import ApprovalDecided, ApprovalExpired, ApprovalWithdrawn, Entry
from tapui.wire.message import Message
from tapui.wire.subjects import Approval
from tapui.wire.tower import ApprovalDecide, Detail, DetailRead

if TYPE_CHECKING:
    from tapui.client.connection import GatewayConnection

_SETTLED = ApprovalDecided | ApprovalExpired | ApprovalWithdrawn
_SHOWN = 8 * 1024
"""Characters of a request that are printed."""


def waiting(known: Sequence[Approval], wanted: str) -> Approval:
    """Return the waiting approval with this id, or whose id alone begins so; raises `Failure`."""
    exact = [one for one in known if one.id == wanted]
    if exact and not is_waiting(exact[0]):
        raise Failure(f"{exact[0].id} no longer waits: {approvals.outcome(exact[0])}")
    found = exact or [one for one in known if is_waiting(one) and one.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Failure(f"{wanted} fits several: {', '.join(one.id for one in found)}")
    ids = [one.id for one in known if is_waiting(one)]
    there = f"waiting are: {', '.join(ids)}" if ids else "nothing waits for you"
    raise Failure(f"there is no approval {wanted}; {there}")


async def whole(connection: "GatewayConnection", approval: Approval) -> Approval:
    """Return all of an approval, of which a snapshot may hold the beginning only."""
    if not approval.is_cut:
        return approval
    wanted = DetailRead(id=approval.id, of="approval", subject=approval.id)
    return (await connection.answer(wanted, Detail)).approval or approval


def request(approval: Approval) -> str:
    """Return what is asked, to the letter: `run rm -rf build && npm ci`."""
    text = f"{approvals.verb(approval)} {revealed(approvals.request(approval))}"
    over = len(text) - _SHOWN
    if over > 0:
        return f"{text[:_SHOWN]} … {over:,} more characters, which the tower shows"
    return f"{text} … the rest was not kept" if approval.is_cut else text


def ways_to_answer(approval: Approval) -> str:
    """Return the commands that answer a request: `` `tapui approve ID` or `tapui deny ID` ``."""
    *others, last = (
        f"`{invocation.command(words)}`" + (f" ({answer})" if answer else "")
        for words, answer in kind_of(approval).commands(approval)
    )
    return f"{', '.join(others)} or {last}"


def described(connection: "GatewayConnection", approval: Approval) -> str:
    """Return what an approval asks and who asks it, as the tower and `tapui status` show it."""
    state = State.of(connection.snapshot.state)
    is_named = not kind_of(approval).is_revealed
    asker = f", asked by {approvals.asker(state, approval)}" if is_named else ""
    return f"{approval.id}: {request(approval)}{asker}"


async def decide(
    connection: "GatewayConnection",
    approval: Approval,
    decision: Literal["approve", "deny"],
    answer: Any = None,
    *,
    is_said: bool = True,
) -> None:
    """Send the decision; unless it is not to be said, print it once the gateway has it.

    Raises `Failure` if it came late.
    """

    def is_answer(came: Message | Entry) -> bool:
        return (
            isinstance(came, Entry)
            and isinstance(came.event, _SETTLED)
            and came.event.approval.id == approval.id
        )

    told = described(connection, await whole(connection, approval))
    came = await connection.ask(
        ApprovalDecide(approval_id=approval.id, decision=decision, answer=answer), is_answer
    )
    assert isinstance(came, Entry)
    assert isinstance(came.event, _SETTLED)
    settled = came.event.approval
    if settled.state != ("approved" if decision == "approve" else "denied"):
        raise Failure(f"{approval.id} was settled otherwise: {approvals.outcome(settled)}")
    if is_said:
        output.say(f"{settled.state} {told}")
