"""One server offered to sessions: its tools as a provider's, its forms, a connection for each
session."""

import asyncio
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import msgspec
from msgspec import Raw

from tapui import __version__
from tapui.mcp_servers.bridge.connection import ServerConnection, calling
from tapui.mcp_servers.bridge.naming import ServerTool, ToolNames
from tapui.mcp_servers.bridge.output import ServerOutput
from tapui.mcp_servers.bridge.results import ResultFiles, result_of
from tapui.mcp_servers.bridge.server import BridgedServer
from tapui.mcp_servers.bridge.transports import shown_address
from tapui.mcp_servers.messages import (
    AnsweredForm,
    BridgeMessage,
    MappedTool,
    ServerAsks,
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
    WithdrawnForm,
)
from tapui.provider import Context, GatewayRefusal, Provider, Session
from tapui.provider.calls import outcome_of
from tapui.provider.conversation import Listener
from tapui.provider.serving import Serving
from tapui.provider.socket_link import SocketLink, dial_socket
from tapui.provider.tool import ToolFunction
from tapui.runtime.children.lines import LineError
from tapui.secret import Secret
from tapui.text import safe_text
from tapui.wire.message import ActiveSession

MAX_OPEN = 10
"""Questions that wait for the person at a time."""
MAX_SCHEMA_BYTES = 64 * 1024
MAX_MESSAGE = 4_000
Action = Literal["accept", "decline", "cancel"]


class AskedForms:
    """Questions that wait, by id."""

    def __init__(self, tell: Callable[[BridgeMessage], None]) -> None:
        self._tell = tell
        self._asked = 0
        self._open: dict[str, asyncio.Future[AnsweredForm]] = {}

    async def ask(
        self, params: types.ElicitRequestFormParams, session_id: str | None
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the person, and wait for their answer as long as it takes."""
        schema = msgspec.json.encode(params.requested_schema)
        if len(schema) > MAX_SCHEMA_BYTES or len(self._open) >= MAX_OPEN:
            text = "the form is too large" if len(self._open) < MAX_OPEN else "too many questions"
            return types.ErrorData(code=types.INVALID_REQUEST, message=text)
        self._asked += 1
        id_ = f"form-{self._asked}"
        self._open[id_] = answered = asyncio.get_running_loop().create_future()
        self._tell(ServerAsks(id_, params.message[:MAX_MESSAGE], Raw(schema), session_id))
        try:
            answer = await answered
        except asyncio.CancelledError:
            self._tell(WithdrawnForm(id_))
            raise
        finally:
            del self._open[id_]
        return types.ElicitResult(action=answer.action, content=_content(answer))

    def answered(self, answer: AnsweredForm) -> None:
        """The person has answered; what is not open any more is ignored."""
        waiting = self._open.get(answer.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)


def _content(answer: AnsweredForm) -> dict[str, Any] | None:
    if answer.action != "accept":
        return None
    if answer.content is None:
        return {}
    return msgspec.json.decode(answer.content, type=dict[str, Any])


class _Words(Listener):
    """Hands on what the kit has to say of one session."""

    def __init__(self, session_id: str, notice: Callable[[str, str], None]) -> None:
        self._session_id = session_id
        self._notice = notice
        self._last = ""

    def waiting(self, why: str) -> None:
        self._told(why)

    def bound(self, sessions: list[ActiveSession], front: str | None) -> None:  # noqa: ARG002 - it is its own
        self._last = ""

    def noticed(self, text: str) -> None:
        self._told(text)

    def _told(self, text: str) -> None:
        if text != self._last:
            self._last = text
            self._notice(self._session_id, text)


@dataclass
class _Open:
    token: Secret
    folder: str | None
    serving: asyncio.Task[None]


class OfferedSessions:
    """Sessions by id. `notice` gets a session's id and what its gateway refuses, once each."""

    def __init__(self, provider: Provider, url: str, notice: Callable[[str, str], None]) -> None:
        self._provider = provider
        self._url = url
        self._notice = notice
        self._open: dict[str, _Open] = {}
        self._bound: dict[str, Session] = {}
        provider.background(self._beside)

    @property
    def folders(self) -> list[str]:
        """The folders of the sessions, each once, in the order in which they opened."""
        return list(dict.fromkeys(one.folder for one in self._open.values() if one.folder))

    def open(self, opened: ServerSession) -> None:
        """Offer the tools in a session; the same again brings a new token."""
        known = self._open.get(opened.session_id)
        if known is not None and not known.serving.done():
            known.token, known.folder = opened.token, opened.folder
            return
        serving = asyncio.create_task(self._serve(opened.session_id))
        self._open[opened.session_id] = _Open(opened.token, opened.folder, serving)

    async def close(self, session_id: str) -> None:
        left = self._open.pop(session_id, None)
        if left is not None:
            left.serving.cancel()
            await asyncio.wait([left.serving])

    async def close_all(self) -> None:
        await asyncio.gather(*map(self.close, list(self._open)))

    def push(self, stream: str, text: str) -> None:
        """Put a line into the provider's stream of this name, in every session."""
        for session in self._bound.values():
            session.push(text, stream=stream)

    async def _serve(self, session_id: str) -> None:
        async def dial() -> SocketLink:
            return await dial_socket(self._url)

        def token() -> Secret | None:
            one = self._open.get(session_id)
            return None if one is None else one.token

        words = _Words(session_id, self._notice)
        try:
            await Serving(
                self._provider, dial, token=token, session=session_id, listener=words
            ).run()
        except GatewayRefusal as error:
            self._notice(session_id, error.text)

    async def _beside(self, session: Session) -> None:
        self._bound[session.id] = session
        try:
            await asyncio.Event().wait()
        finally:
            self._bound.pop(session.id, None)


PROGRESS_SECONDS = 0.1
"""Between two texts of a call's progress; what comes between is dropped."""
MAX_PROGRESS = 300
_CLASHING = re.compile(r"Tool '([A-Za-z0-9_-]{1,64})'")


class Bridge:
    """Made of the message `start`; `tell` sends a message to tapui."""

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

    async def run(self, received: "asyncio.Queue[ToBridge | LineError | None]") -> None:
        """Run the server and take messages until there is None, or `stop`."""
        running = asyncio.create_task(self._server.run(), name="the server")
        taking = asyncio.create_task(self._take(received), name="the messages of tapui")
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

    async def _take(self, received: "asyncio.Queue[ToBridge | LineError | None]") -> None:
        while True:
            match await received.get():
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
                case LineError() as error:
                    self._tell(ServerTold("error", f"a line was ignored: {error}"))
                case ServerStart():
                    self.noticed("a second start was ignored: a bridge runs one server")
                case _:
                    return

    # The status of the server: `ServerNews`

    def ready(self, connection: ServerConnection, tools: list[ServerTool], seconds: float) -> None:
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
        self._tell(lost)

    def noticed(self, text: str) -> None:
        self._tell(ServerTold("warning", safe_text(text, limit=1_000)))

    def folders(self) -> list[str]:
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
