"""MCP servers, as a part: those that are configured run while a session wants them."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from tapui.core.effects import McpSessionsChanged
from tapui.station.parts.part import GatewayAccess

if TYPE_CHECKING:
    from tapui.mcp_servers.shell.servers import Servers


class McpServersPart:
    """Loads what runs servers with the first session, so that the start does not wait for it."""

    name = "the MCP servers"

    def __init__(self) -> None:
        self._servers: Servers | None = None
        self._is_loading = False
        self._is_stopping = False
        self._sessions = McpSessionsChanged(())

    def start(self, access: GatewayAccess) -> None:
        self._access = access
        access.turn.mcp_sessions = self._take
        access.turn.tell(access.turn.gateway.mcp_servers.begin)

    async def stop(self) -> None:
        """End all servers."""
        self._is_stopping = True
        if self._servers is not None:
            await self._servers.stop()

    def _take(self, changed: McpSessionsChanged) -> None:
        self._sessions = changed
        if self._servers is not None:
            self._servers.set_sessions(changed.sessions)
        elif changed.sessions and not self._is_loading:
            self._is_loading = True
            self._access.spawn(self._run())

    async def _run(self) -> None:
        servers = await asyncio.to_thread(self._load)
        if self._is_stopping:
            return
        self._servers = servers()
        self._servers.set_sessions(self._sessions.sessions)
        await self._servers.run()

    def _load(self) -> "Callable[[], Servers]":
        from tapui.consents.mcp_servers import ServerConsents
        from tapui.mcp_servers.shell.context import ServerContext
        from tapui.mcp_servers.shell.servers import Servers

        access = self._access
        around = ServerContext(
            turn=access.turn,
            gateway_url=access.announced.url,
            state=access.home.state,
            environ=dict(os.environ),
            consents=ServerConsents(access.home.state),
            report=access.report,
            most_tools=access.options.settings.provider_tools,
        )
        return lambda: Servers(access.home, around, access.spawn)
