"""`tapui next`, `tapui approve` and `tapui deny`: the person decides about what waits."""

import argparse
import asyncio
from typing import Literal

from tapui import times
from tapui.cli import output
from tapui.cli.approvals import decide, described, waiting, ways_to_answer
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, need_terminal, options
from tapui.cli.failure import WRONG_USE, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.projection.requests.kinds import kind_of
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.subjects import Approval
from tapui.wire.tower import ApprovalReveal, RevealedCode


def arguments(following: CommandParser, approve: CommandParser, deny: CommandParser) -> None:
    following.runs(run_next, "For a tmux popup:  bind a display-popup -E 'tapui next'")
    add_port(following, "the gateway's port")
    approve.runs(run_approve, "Approving a pairing prints the code to enter on the web page.")
    deny.runs(run_deny)
    for parser in (approve, deny):
        parser.add_argument(
            "id", metavar="ID", help="the approval's id, or a beginning of it that fits only one"
        )
        add_port(parser, "the gateway's port")


def run_next(args: argparse.Namespace) -> int:
    """Show what waits until nothing is left; without a screen where nothing waits."""
    chosen = gateway(args)
    if not asyncio.run(_is_anything_waiting(chosen)):
        output.note("nothing waits for you")
        return 0
    need_terminal()
    from tapui.station import tower

    return tower.run_next(options(args), chosen)


async def _is_anything_waiting(chosen: FoundGateway) -> bool:
    from tapui.tower.app.view import View
    from tapui.tower.requests.urgency import requests

    async with await GatewayConnection.open(chosen, name="tapui next") as connection:
        view = View()
        view.apply(connection.snapshot)
        return bool(requests(view))


def run_approve(args: argparse.Namespace) -> int:
    """Approve, and print what was approved; for a pairing, its code."""
    asyncio.run(_decide(gateway(args), args.id, "approve"))
    return 0


def run_deny(args: argparse.Namespace) -> int:
    asyncio.run(_decide(gateway(args), args.id, "deny"))
    return 0


async def _decide(chosen: FoundGateway, wanted: str, decision: Literal["approve", "deny"]) -> None:
    async with await GatewayConnection.open(
        chosen, name=f"tapui {decision}", on_waits=output.note
    ) as connection:
        approval = waiting(connection.snapshot.state.approvals, wanted)
        kind = kind_of(approval)
        if decision == "approve" and kind.is_only_for_the_tower(approval):
            ways = ways_to_answer(approval)
            text = f"{approval.id} asks for an answer; give it in the tower, or with {ways}"
            raise Failure(text, WRONG_USE)
        if decision == "approve" and kind.is_revealed:
            await _reveal(connection, approval)
        else:
            await decide(connection, approval, decision)


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
