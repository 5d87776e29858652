"""`tapui deny`: say no to what waits."""

import argparse
import asyncio

from tapui.cli import output
from tapui.cli.approvals import decide, waiting
from tapui.cli.context import gateway
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway


def run(args: argparse.Namespace) -> int:
    """Deny, and print what was denied."""
    asyncio.run(_deny(gateway(args), args.id))
    return 0


async def _deny(chosen: FoundGateway, wanted: str) -> None:
    async with await GatewayConnection.open(
        chosen, name="tapui deny", on_waits=output.note
    ) as connection:
        approval = waiting(connection.snapshot.state.approvals, wanted)
        await decide(connection, approval, "deny")
