"""The second tower's feed at a real gateway: what it folds is what the gateway has."""

import asyncio

from tapui.client.connection import GatewayConnection
from tapui.client.gateways import find
from tapui.client.remote_feed import RemoteFeed
from tapui.home.paths import Home as Folders
from tapui.projection.feed import Link
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire.message import ToolInvoke, ToolOutcome
from tapui.wire.tower import TowersChanged, TowerSnapshot
from tests.rig.gateway import Gateway
from tests.rig.peers import Provider
from tests.rig.waiting import HUNG


async def test_the_folded_state_is_the_gateways_own(gateway: Gateway) -> None:
    folders = Folders.at(gateway.home.tapui, gateway.home.copilot)
    found = find(folders, gateway.port, is_explicit=True)
    feed = RemoteFeed(found, lambda: found)
    state = State()
    settled = 0
    async with asyncio.timeout(HUNG):
        async for item in feed.items():
            if isinstance(item, TowerSnapshot):
                state = State.of(item.state)
                assert item.towers == 1
            elif item == Link("up"):
                one = await Provider.bind(gateway.url, gateway.token)
                for number in range(20):
                    call = ToolInvoke(id=f"i{number}", session_id="local", tool="greet")
                    feed.send(call)
                    await one.answer(data=number)
                    await one.send({"type": "push", "level": "keep", "event": f"e{number}"})
                await one.close()
            elif isinstance(item, list):
                for entry in item:
                    fold(state, entry.event, entry.ts)
            elif isinstance(item, ToolOutcome):
                settled += 1
            if settled == 20 and [one.state for one in state.providers.values()] == [
                "disconnected"
            ]:
                break
    async with await GatewayConnection.open(found) as connection:
        assert State.of(connection.snapshot.state) == state
    await feed.stop(1.0)


async def test_a_second_tower_is_told_of_the_first_and_of_its_leaving(gateway: Gateway) -> None:
    folders = Folders.at(gateway.home.tapui, gateway.home.copilot)
    found = find(folders, gateway.port, is_explicit=True)
    feed = RemoteFeed(found, lambda: found)
    told = []
    async with asyncio.timeout(HUNG):
        async for item in feed.items():
            if item == Link("up"):
                other = await GatewayConnection.open(found, role="tower")
                assert other.snapshot.towers == 2
                await other.close()
            elif isinstance(item, TowersChanged):
                told.append(item.towers)
                if told == [2, 1]:
                    break
    await feed.stop(1.0)
