"""`tapui approve`: say yes to what waits."""

import argparse
import asyncio

from tapui import times
from tapui.cli import output
from tapui.cli.approvals import decide, described, waiting
from tapui.cli.context import gateway
from tapui.cli.failure import WRONG_USE, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.projection.asking import is_budget
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.subjects import Approval
from tapui.wire.tower import ApprovalReveal, RevealedCode


def run(args: argparse.Namespace) -> int:
    """Approve, and print what was approved; for a pairing, its code."""
    asyncio.run(_approve(gateway(args), args.id))
    return 0


async def _approve(chosen: FoundGateway, wanted: str) -> None:
    async with await GatewayConnection.open(
        chosen, name="tapui approve", on_waits=output.note
    ) as connection:
        approval = waiting(connection.snapshot.state.approvals, wanted)
        if approval.kind in ("userInput", "elicitation") and not is_budget(approval):
            raise Failure(f"{approval.id} asks for an answer; give it in the tower", WRONG_USE)
        if approval.kind == "pairing":
            await _reveal(connection, approval)
        else:
            await decide(connection, approval, "approve")


async def _reveal(connection: GatewayConnection, approval: Approval) -> None:
    """Open the pairing and print its code; the code exists from now on."""

    def is_answer(came: Message | Entry) -> bool:
        return isinstance(came, RevealedCode) and came.approval_id == approval.id

    revealed = await connection.ask(ApprovalReveal(approval_id=approval.id), is_answer)
    assert isinstance(revealed, RevealedCode)
    output.note(f"approved {described(connection, approval)}")
    until = times.date_and_time(revealed.expires_at)
    output.note(f"enter this code on the web page before {until}:")
    output.say(revealed.code)
