"""The server, kept running: connected, listed, called, and started again when it is lost."""

import asyncio
import contextlib
import time
from functools import partial
from typing import Literal, Protocol

import mcp_types as types
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError

from tapui.mcp_servers.bridge.connection import ServerConnection, ServerEnded, connected, lost
from tapui.mcp_servers.bridge.naming import ServerTool
from tapui.mcp_servers.bridge.output import ServerOutput
from tapui.mcp_servers.bridge.transports import (
    ServerAddress,
    ServerCommand,
    http_transport,
    stdio_transport,
)
from tapui.mcp_servers.messages import ServerLost, ServerStart, Stage
from tapui.provider import ToolError
from tapui.wire.errors import CallError

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds until a lost server is started again: doubled each time, up to this."""
STEADY_SECONDS = 60.0
"""A server that ran so long begins with the first pause again."""
CALL_WAIT = 10.0
"""How long a call waits for a server that is being started."""
QUIET = 0.3
"""After news of a changed list it is read once so long nothing more has come …"""
QUIET_MOST = 2.0
"""… or after so long anyhow."""
LIST_PAUSE = 1.0
"""Between two readings of the list, however often the server says that it has changed."""
SERVER_LOST = "SERVER_LOST"
"""The code of a call whose server is not there, or went away meanwhile."""


class ServerNews(Protocol):
    """Hears the status of the server."""

    def ready(self, connection: ServerConnection, tools: list[ServerTool], seconds: float) -> None:
        """It is connected; also after it was lost."""

    def listed(self, tools: list[ServerTool]) -> None:
        """Its list of tools was read again."""

    def lost(self, lost: ServerLost) -> None:
        """It is gone, or does not start."""

    def noticed(self, text: str) -> None:
        """Something of it is not right, which it outlives."""

    async def elicit(
        self, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """The server asks the person."""

    def folders(self) -> list[str]:
        """Return the folders of the sessions."""


class BridgedServer:
    """One server. `run` keeps it running until it is cancelled."""

    def __init__(
        self, start: ServerStart, news: ServerNews, output: ServerOutput, version: str
    ) -> None:
        self._start = start
        self._news = news
        self._output = output
        self._version = version
        self._is_legacy = start.legacy
        self._connection: ServerConnection | None = None
        self._up = asyncio.Event()
        self._changed = asyncio.Event()
        self._told_mismatch: set[str] = set()

    async def run(self) -> None:
        """Connect, and again after each loss."""
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            told = await self._run_once()
            if time.monotonic() - began > STEADY_SECONDS:
                pause = FIRST_PAUSE
            self._news.lost(ServerLost(told.stage, told.why, told.hint, pause))
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _run_once(self) -> ServerLost:
        start = self._start
        address = ServerAddress(start.url, start.headers) if start.url is not None else None
        self._output.last_words.clear()
        self._stage: Stage = "start" if address is None else "handshake"
        try:
            await self._connect(address)
        except Exception as error:  # noqa: BLE001 - reported, and it is tried again
            return lost(error, self._stage, start, address, self._output.last_words)
        finally:
            self._up.clear()
            self._connection = None
        return lost(ServerEnded(), "connection", start, address, self._output.last_words)

    async def _connect(self, address: ServerAddress | None) -> None:
        began = time.monotonic()
        ended = asyncio.Event()
        mode: Literal["auto", "legacy"] = "legacy" if self._is_legacy else "auto"
        self._is_legacy = False  # if that fails, the next try is with both
        if address is not None:
            transport = http_transport(address, self._output)
        else:
            transport = stdio_transport(self._command(), self._output, ended)
        async with connected(
            transport,
            elicit=self._news.elicit,
            folders=self._news.folders,
            on_log=partial(self._output.put, "log"),
            on_tools_changed=self._changed.set,
            mode=mode,
            patience=self._start.patience,
            spoke_at=lambda: self._output.spoke_at,
            ended=ended,
            version=self._version,
        ) as connection:
            self._is_legacy = connection.is_legacy
            self._stage = "list"
            tools = await connection.list_tools()
            self._stage = "connection"
            self._connection = connection
            self._changed.clear()  # what changed while it connected is in the list
            self._news.ready(connection, tools, time.monotonic() - began)
            self._up.set()
            listening = asyncio.create_task(connection.listen(self._changed.set))
            watching = asyncio.create_task(self._watch(connection))
            try:
                await ended.wait()
            finally:
                for task in (listening, watching):
                    task.cancel()
                await asyncio.wait([listening, watching])

    def _command(self) -> ServerCommand:
        start = self._start
        variables = {name: value.reveal() for name, value in start.env.items()}
        return ServerCommand(start.command or "", tuple(start.args), variables, start.cwd)

    async def _watch(self, connection: ServerConnection) -> None:
        """Read the list again when it has changed, at a bounded rate."""
        while True:
            await self._changed.wait()
            with contextlib.suppress(TimeoutError):  # it goes on changing
                async with asyncio.timeout(QUIET_MOST):
                    while self._changed.is_set():
                        self._changed.clear()
                        await asyncio.sleep(QUIET)
            self._changed.clear()
            try:
                self._news.listed(await connection.list_tools())
            except (MCPError, TimeoutError, ServerEnded) as error:
                told = lost(error, "list", self._start, None, ())
                self._news.noticed(f"its list of tools could not be read again: {told.why}")
            await asyncio.sleep(LIST_PAUSE)

    # What the bridge wants of it

    async def folders_changed(self) -> None:
        """Other sessions are open now."""
        if self._connection is not None:
            await self._connection.tell_roots()

    async def call(
        self, name: str, arguments: dict[str, object], progress: ProgressFnT
    ) -> types.CallToolResult:
        """Call a tool by the server's own name. Raises `ToolError`."""
        connection = self._connection or await self._reconnected()
        try:
            answer = await connection.call(name, arguments, progress)
        except ServerEnded:
            raise ToolError(
                SERVER_LOST,
                f"the connection to the MCP server {self._start.name} was lost during the call",
                True,
            ) from None
        except MCPError as error:
            raise ToolError(_code(error), error.error.message) from None
        fault = None if answer.is_error else await connection.check(name, answer)
        if fault is not None and name not in self._told_mismatch:
            self._told_mismatch.add(name)
            self._output.put("log", fault)
        return answer

    async def _reconnected(self) -> ServerConnection:
        try:
            async with asyncio.timeout(CALL_WAIT):
                while self._connection is None:
                    await self._up.wait()
        except TimeoutError:
            text = f"the MCP server {self._start.name} does not run; it is being started again"
            raise ToolError(SERVER_LOST, text, True) from None
        return self._connection


def _code(error: MCPError) -> str:
    if error.error.code == types.INVALID_PARAMS:
        return "INVALID_ARGS"
    if error.error.code == types.METHOD_NOT_FOUND:
        return str(CallError.NOT_FOUND)
    return str(CallError.INTERNAL)
