"""The MCP server on standard input and output, over a link to the gateway.

Both protocol eras are served: the handshake up to 2025-11-25, and 2026-07-28. The list of tools is
answered out of what is known, so it never waits for a call, a gateway or anything else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol, TypeAlias, cast

from anyio import AsyncFile
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.message import SessionMessage
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    JSONRPCError,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from tapui import __version__
from tapui.hosts.mcp import shown
from tapui.hosts.mcp.lines import ClientLines
from tapui.text import safe_name
from tapui.wire.message import OfferedTool, ToolOutcome, ToolProgress

_STANDARD_INPUT = 0
QUIET = 0.1
"""Seconds that the tools must stay as they are before the client is told of a change."""

Context: TypeAlias = ServerRequestContext[Any, Any]
_log = logging.getLogger(__name__)


class ToolSource(Protocol):
    """Where the tools are: a gateway, or one provider."""

    @property
    def tools(self) -> Iterable[OfferedTool]:
        """The tools that there are now."""

    def set_label(self, label: str) -> None:
        """Take the client's name."""

    async def call(
        self, tool: str, arguments: dict[str, Any], tell: Callable[[ToolProgress], Awaitable[None]]
    ) -> ToolOutcome:
        """Call a tool; `tell` takes what it says meanwhile."""


class McpDoor:
    """One MCP connection: the server's handlers, and what tells the client of changes."""

    def __init__(
        self,
        link: ToolSource,
        *,
        name: str = "tapui",
        instructions: str = "Tools of the providers that are bound to this session in tapui.",
    ) -> None:
        self._link = link
        self._tools: list[Tool] = shown.listed(link.tools)
        self._bus = InMemorySubscriptionBus()
        self._session: ServerSession | None = None
        """That of a client of the handshake era, once its handshake is done."""
        self._news = asyncio.Event()
        self.server: Server[Any] = Server(
            name,
            version=__version__,
            title=name,
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.server.add_notification_handler(
            "notifications/initialized", NotificationParams, self._initialized
        )

    async def serve(self) -> None:
        """Serve the client until it closes our input."""

        async def refuse(error: JSONRPCError) -> None:
            await write.send(SessionMessage(error))

        lines = cast("AsyncFile[str]", ClientLines(_STANDARD_INPUT, refuse))  # only gone through
        options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
        telling = asyncio.create_task(self._tell_of_changes(), name="tell of the tools")
        try:
            async with stdio_server(stdin=lines) as (read, write):
                await self.server.run(read, write, options)
        finally:
            telling.cancel()
            await asyncio.wait([telling])

    # What the client asks

    async def _initialized(self, context: Context, _params: NotificationParams) -> None:
        self._session = context.session
        self._named(context)

    def _named(self, context: Context) -> None:
        """Call the session by the client's name."""
        client = context.session.client_params
        if client is not None and client.client_info.name:
            self._link.set_label(f"MCP: {safe_name(client.client_info.name)}")

    async def _list(
        self, context: Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        self._named(context)
        return ListToolsResult(tools=self._tools, ttl_ms=0, cache_scope="private")

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        self._named(context)
        last: float | None = None

        async def tell(told: ToolProgress) -> None:
            nonlocal last
            last, total, text = shown.progress_of(told, last)
            await context.session.report_progress(last, total, text)

        try:
            outcome = await self._link.call(params.name, params.arguments or {}, tell)
            return await shown.result_of(outcome)
        except Exception as error:  # noqa: BLE001 - logged, and told as the result that it is
            _log.exception("a call of %s failed", safe_name(params.name))
            text = f"INTERNAL: {type(error).__name__}"
            return CallToolResult(content=[TextContent(text=text)], is_error=True)

    # What the client is told

    def tools_changed(self) -> None:
        """Take the tools that the link has now; the client is told once they rest."""
        tools = shown.listed(self._link.tools)
        if tools != self._tools:
            self._tools = tools
            self._news.set()

    async def _tell_of_changes(self) -> None:
        """Tell the client of other tools, in the way of its era. Never returns."""
        while True:
            await self._news.wait()
            while self._news.is_set():
                self._news.clear()
                await asyncio.sleep(QUIET)
            await self._bus.publish(ToolsListChanged())
            if self._session is not None:
                await self._session.send_tool_list_changed()
