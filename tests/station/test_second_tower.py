"""What the header of a second tower says: whose gateway it shows, and whether it is the second."""

import asyncio
from collections.abc import Callable

from tapui.client.connection import GatewayConnection
from tapui.client.gateways import find
from tapui.client.remote_feed import RemoteFeed
from tapui.home.paths import Home as Folders
from tapui.station.tower import note_of
from tapui.tower.app.view import View
from tests.rig.gateway import Gateway
from tests.rig.waiting import HUNG


async def test_the_note_has_the_gateway_of_now_and_calls_only_a_second_tower_so(
    serve: Callable[..., Gateway],
) -> None:
    first = serve("--no-attach")
    folders = Folders.at(first.home.tapui, first.home.copilot)
    found = find(folders, first.port, is_explicit=True)
    feed, view = RemoteFeed(found, lambda: find(folders, found.port, is_explicit=True)), View()
    items = feed.items()

    async def until(note: str) -> None:
        async with asyncio.timeout(HUNG):
            while view.link.state != "up" or not note_of(feed, view).startswith(note):
                view.apply(await anext(items))

    earlier = await GatewayConnection.open(found, role="tower")
    await until(f"second tower (gateway: pid {first.pid}, serve, no terminal, since ")
    await earlier.close()
    await until(f"gateway: pid {first.pid} (serve, no terminal, since ")
    await asyncio.to_thread(first.stop)
    again = await asyncio.to_thread(serve, "--no-attach", port=found.port)
    assert again.pid != first.pid
    await until(f"gateway: pid {again.pid}")
    await feed.stop(1.0)
