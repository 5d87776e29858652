"""The bridge: between a server, the sessions it is offered in, and the lines from tapui."""

import asyncio
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import msgspec

from tapui import __version__
from tapui.mcp_servers.bridge.connection import ServerConnection, calling
from tapui.mcp_servers.bridge.forms import AskedForms
from tapui.mcp_servers.bridge.http import shown_address
from tapui.mcp_servers.bridge.naming import ServerTool, ToolNames
from tapui.mcp_servers.bridge.output import ServerOutput
from tapui.mcp_servers.bridge.results import ResultFiles, result_of
from tapui.mcp_servers.bridge.server import BridgedServer
from tapui.mcp_servers.bridge.sessions import OfferedSessions
from tapui.mcp_servers.messages import (
    AnsweredForm,
    BridgeMessage,
    MappedTool,
    ServerLost,
    ServerReady,
    ServerSession,
    ServerSessionEnded,
    ServerStart,
    ServerTold,
    ServerTools,
    ToBridge,
    ToolsAllowed,
    TrialCall,
    TrialEnded,
)
from tapui.provider import Context, Provider
from tapui.provider.calls import outcome_of
from tapui.provider.tool import ToolFunction
from tapui.text import safe_text

PROGRESS_SECONDS = 0.1
"""Between two texts of a call's progress; what comes between is dropped."""
MAX_PROGRESS = 300
_CLASHING = re.compile(r"Tool '([A-Za-z0-9_-]{1,64})'")


class Bridge:
    """Made of the line `start`; `tell` takes what tapui is told."""

    def __init__(self, start: ServerStart, tell: Callable[[BridgeMessage], None]) -> None:
        self._name = start.name
        self._tell = tell
        self._provider = Provider(start.name)
        self._names = ToolNames(start.name, start.pinned, start.most_tools)
        self._tools: list[ServerTool] = []
        self._mapped: list[MappedTool] = []
        self._sessions = OfferedSessions(self._provider, start.gateway_url, self._refused)
        self._output = ServerOutput(self._sessions.push)
        self._server = BridgedServer(start, self, self._output, __version__)
        self._forms = AskedForms(tell)
        self._folder = tempfile.TemporaryDirectory(prefix="tapui-mcp-")
        self._files = ResultFiles(Path(self._folder.name))
        self._calls: dict[str, int] = {}
        """How many calls of each session are under way."""
        self._trial: asyncio.Task[None] | None = None

    async def run(self, lines: "asyncio.Queue[ToBridge | None]") -> None:
        """Run the server and take lines until there is None, or `stop`."""
        running = asyncio.create_task(self._server.run(), name="the server")
        taking = asyncio.create_task(self._take(lines), name="the lines from tapui")
        try:
            await asyncio.wait({running, taking}, return_when="FIRST_COMPLETED")
        finally:
            taking.cancel()
            if self._trial is not None:
                self._trial.cancel()
                await asyncio.wait([self._trial])
            running.cancel()  # the server ends meanwhile
            await self._sessions.close_all()
            await asyncio.wait({running, taking})
            self._output.close()
            self._folder.cleanup()
        for task in (running, taking):
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _take(self, lines: "asyncio.Queue[ToBridge | None]") -> None:
        while True:
            match await lines.get():
                case ServerSession() as opened:
                    self._sessions.open(opened)
                    await self._server.folders_changed()
                case ServerSessionEnded(session_id):
                    await self._sessions.close(session_id)
                    await self._server.folders_changed()
                case ToolsAllowed(pins):
                    self._names.allow(pins)
                    self._offer()
                    self._tell(ServerTools(self._mapped))
                case AnsweredForm() as answer:
                    self._forms.answered(answer)
                case TrialCall() as trial:
                    self._trial = asyncio.create_task(self._try(trial), name="a call on trial")
                case ServerStart():
                    self.noticed("a second start was ignored: a bridge runs one server")
                case _:
                    return

    # What becomes of the server: `ServerNews`

    def ready(self, connection: ServerConnection, tools: list[ServerTool], seconds: float) -> None:
        """It is connected."""
        self._tools = tools
        self._offer()
        self._tell(
            ServerReady(
                safe_text(connection.server_name, limit=100),
                safe_text(connection.server_version, limit=100),
                connection.protocol,
                self._mapped,
                round(seconds, 3),
                connection.is_legacy,
            )
        )

    def listed(self, tools: list[ServerTool]) -> None:
        """Its list of tools was read again; most servers tell of changes where there are none."""
        if tools != self._tools:
            self._tools = tools
            self._offer()
            self._tell(ServerTools(self._mapped))

    def lost(self, lost: ServerLost) -> None:
        """It is gone, or does not start."""
        self._tell(lost)

    def noticed(self, text: str) -> None:
        """Something is not right."""
        self._tell(ServerTold("warning", safe_text(text, limit=1_000)))

    def folders(self) -> list[str]:
        """Return the folders of the sessions."""
        return self._sessions.folders

    async def elicit(
        self, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """It asks the person: forms are handed on, pages to visit are not."""
        if isinstance(params, types.ElicitRequestURLParams):
            self._output.put(
                "log", f"asked the person to visit {shown_address(params.url)}; that was declined"
            )
            return types.ElicitResult(action="decline")
        return await self._forms.ask(params, self._session_of_call())

    def _session_of_call(self) -> str | None:
        """Return the session whose call leads to a question: the only one with calls under way."""
        known = calling.get()
        if known is None and len(self._calls) == 1:
            return next(iter(self._calls))
        return known

    # Tools

    def _offer(self) -> None:
        self._mapped = self._names.map(self._tools)
        self._provider.replace_tools(
            ToolFunction(
                self._function(tool.name),
                name=tool.offered_as,
                description=tool.description.strip() or tool.name,
                parameters=msgspec.json.decode(tool.parameters),
            )
            for tool in self._mapped
            if tool.offered_as is not None
        )

    def _function(self, name: str) -> Callable[..., Any]:
        async def call(arguments: dict[str, Any], context: Context) -> Any:
            return await self._call(name, arguments, context)

        return call

    async def _call(self, name: str, arguments: dict[str, Any], context: Context) -> Any:
        session_id = context.session.id
        calling.set(session_id)
        self._calls[session_id] = self._calls.get(session_id, 0) + 1
        told_at = 0.0

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            nonlocal told_at
            now = asyncio.get_running_loop().time()
            if now - told_at >= PROGRESS_SECONDS:
                told_at = now
                context.progress(progress, total, safe_text(message or "", limit=MAX_PROGRESS))

        try:
            answer = await self._server.call(name, arguments, tell)
        finally:
            self._calls[session_id] -= 1
            if not self._calls[session_id]:
                del self._calls[session_id]
        return result_of(answer, self._files)

    async def _try(self, trial: TrialCall) -> None:
        began = time.monotonic()
        arguments = msgspec.json.decode(trial.arguments, type=dict[str, Any])
        outcome = await outcome_of(self._provider, trial.tool, arguments)
        self._tell(TrialEnded(round(time.monotonic() - began, 3), outcome))

    def _refused(self, session_id: str, text: str) -> None:
        """The gateway refuses something in a session: a name that is taken gets a longer one."""
        clashing = _CLASHING.search(text)
        if clashing is not None and self._names.clash(clashing[1], self._mapped):
            self._offer()
            self._tell(ServerTools(self._mapped))
            return
        self._tell(ServerTold("warning", safe_text(text, limit=1_000), session_id))
