"""An MCP client of the official package, with the door as its server, in either era."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, Tool, ToolListChangedNotification

from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Json, Tower
from tests.rig.waiting import HUNG

MODES = ("legacy", "2026-07-28")


class McpClient:
    """A connected client. It looks at the tools again only when it was told that they changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._news = asyncio.Event()
        self.changes = 0
        """How often it was told."""

    def told(self) -> None:
        """The door says that the tools have changed."""
        self.changes += 1
        self._news.set()

    async def tools(self) -> list[Tool]:
        """Ask for the tools."""
        return (await self._client.list_tools(cache_mode="bypass")).tools

    async def names(self) -> list[str]:
        """Ask for the tools' names."""
        return [tool.name for tool in await self.tools()]

    async def has(self, *names: str, within: float = HUNG) -> None:
        """Wait until it was told of these tools."""
        async with asyncio.timeout(within):
            while await self.names() != list(names):
                await self._news.wait()
                self._news.clear()

    async def call(self, tool: str, arguments: Any = None, **options: Any) -> CallToolResult:
        """Call a tool."""
        return await self._client.call_tool(tool, arguments or {}, **options)


@asynccontextmanager
async def connected(
    home: Home,
    mode: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> AsyncIterator[McpClient]:
    """Start the door, in `folder`, and connect to it; its standard error goes to
    `serve-door.err`."""
    home.root.mkdir(parents=True, exist_ok=True)
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tapui", "mcp-door", *args],
        env=dict(env or home.env()),
        cwd=folder or str(home.root),
    )
    with (home.root / "serve-door.err").open("a") as errors:
        told: list[McpClient] = []

        async def heard(message: Any) -> None:
            if isinstance(message, ToolListChangedNotification):
                told[0].told()

        client = Client(stdio_client(parameters, errlog=errors), mode=mode, message_handler=heard)
        async with client as opened, anyio.create_task_group() as tasks:
            told.append(McpClient(opened))
            if mode != "legacy":
                ready = anyio.Event()
                tasks.start_soon(_listen, opened, told[0], ready)
                await ready.wait()
            yield told[0]
            tasks.cancel_scope.cancel()


async def _listen(client: Client, told: McpClient, ready: Any) -> None:
    async with client.listen(tools_list_changed=True) as changes:
        ready.set()
        async for _ in changes:
            told.told()


def mcp_sessions(tower: Tower) -> list[Json]:
    """Return the sessions of doors that were open as a tower came."""
    sessions = tower.snapshot["state"]["sessions"]
    return [one for one in sessions if one["host"] == "mcp" and one["state"] != "ended"]


async def session_of(gateway: Gateway) -> str:
    """Wait for the session of the one door at a gateway; return its id."""
    async with await Tower.hello(gateway.url, gateway.internal_token) as tower:
        for session in mcp_sessions(tower):
            return str(session["id"])
        while True:
            event = await tower.event("session.opened")
            if event["session"]["host"] == "mcp":
                return str(event["session"]["id"])
