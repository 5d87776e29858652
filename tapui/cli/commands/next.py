"""`tapui next`: answer what waits, and nothing else."""

import argparse
import asyncio

from tapui.cli import output
from tapui.cli.context import gateway, need_terminal, options
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.tower.app.view import View
from tapui.tower.requests.urgency import requests


def run(args: argparse.Namespace) -> int:
    """Show what waits until nothing is left; without a screen where nothing waits."""
    chosen = gateway(args)
    if not asyncio.run(_waits(chosen)):
        output.note("nothing waits for you")
        return 0
    need_terminal()
    from tapui.station import tower

    return tower.run_next(options(args), chosen)


async def _waits(chosen: FoundGateway) -> bool:
    async with await GatewayConnection.open(chosen, name="tapui next") as connection:
        view = View()
        view.apply(connection.snapshot)
        return bool(requests(view))
