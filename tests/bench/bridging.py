"""A call of an MCP server's tool: by the package's own client, and by a session over the bridge.

Both use the same server, a process on standard streams, in turns. What the gateway and this host
cost without any bridge is measured beside them, with a provider written by hand.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tapui.mcp_servers.messages import ServerReady, ServerSession, ServerStart
from tapui.secret import Secret
from tests.bench.roundtrip import provider
from tests.rig.bridge_process import BridgeProcess
from tests.rig.gateway import Gateway
from tests.rig.peers import Host

SERVER = Path(__file__).parents[1] / "mcp_servers" / "bridge" / "own_server.py"
SESSION = "bench"
TURNS = 5


async def _timed(call: Callable[[], Awaitable[object]], seconds: float) -> list[float]:
    spent = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        await call()
        spent.append((time.perf_counter() - began) * 1000)
    return spent


async def _compared(gateway: Gateway, seconds: float) -> dict[str, list[float]]:
    parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER), "stdio"])
    start = ServerStart("own", gateway.url, command=sys.executable, args=[str(SERVER), "stdio"])
    with ExitStack() as stack:
        return await _measured(gateway, seconds, start, parameters, stack)


async def _measured(
    gateway: Gateway,
    seconds: float,
    start: ServerStart,
    parameters: StdioServerParameters,
    stack: ExitStack,
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"client": [], "bridge": [], "by-hand": []}
    async with (
        Client(parameters) as client,
        await Host.hello(gateway.url, gateway.internal_token) as host,
        BridgeProcess(gateway.home, start) as bridge,
    ):
        await host.open(SESSION)
        await bridge.heard(ServerReady)
        await bridge.say(ServerSession(SESSION, Secret(gateway.token)))
        stack.enter_context(provider(gateway.url, gateway.token, 100, session=SESSION))
        names: set[str] = set()
        while not {"echo", "bench"} <= names:
            changed = await host.expect("tools.changed", within=10)
            names = {tool["name"] for tool in changed["tools"]}

        async def official() -> None:
            await client.call_tool("echo", {"a": 1})

        async def bridged() -> None:
            await host.invoke(SESSION, "echo", {"a": 1})
            await host.expect("tool.outcome", id="i1")

        async def by_hand() -> None:
            await host.invoke(SESSION, "bench", {"a": 1})
            await host.expect("tool.outcome", id="i1")

        for _ in range(TURNS):
            found["client"] += await _timed(official, seconds / TURNS)
            found["bridge"] += await _timed(bridged, seconds / TURNS)
            found["by-hand"] += await _timed(by_hand, seconds / TURNS)
    return found


def p50s(gateway: Gateway, seconds: float) -> dict[str, float]:
    """Return the medians in milliseconds: `client`, `bridge`, and `by-hand` without a server."""
    found = asyncio.run(_compared(gateway, seconds))
    return {way: median(spent) for way, spent in found.items()}
