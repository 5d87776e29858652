"""One MCP server beside the gateway: its consent, its bridge, its sessions, while it is wanted."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from tapui.consents.consents import Consented, Proposal
from tapui.consents.mcp_servers import Allowable
from tapui.core.effects import McpSession
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.messages import (
    BridgeMessage,
    FromBridge,
    MappedTool,
    ServerAsks,
    ServerLost,
    ServerReady,
    ServerSession,
    ServerSessionEnded,
    ServerTold,
    ServerTools,
    WithdrawnForm,
)
from tapui.mcp_servers.pins import ToolPins
from tapui.mcp_servers.server_start import CannotStartError, server_start
from tapui.mcp_servers.shell.bridge_process import BridgeProcess
from tapui.mcp_servers.shell.context import ServerContext
from tapui.mcp_servers.shell.requests import Forms, Permission, Pinning, QuestionLimit, Refusal
from tapui.runtime.children.supervisor import Backoff
from tapui.runtime.tasks import BackgroundTasks
from tapui.secret import Secret
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.mcp_servers import McpServer, McpServerState, McpTool

_SHOWN = 300
_NAME = 128
_LOG = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class RunningServer:
    """Make it, `run()` it in a task, and tell it of its sessions; `stop()` ends it."""

    def __init__(
        self, id_: str, entry: ServerEntry, around: ServerContext, questions: QuestionLimit
    ) -> None:
        self.entry = entry
        self._around = around
        self._turn = around.turn
        self._core = around.turn.gateway.mcp_servers
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[str, McpSession] = {}
        self._tokens: dict[str, Secret] = {}
        """Of the sessions that the bridge knows."""
        self._bridge: BridgeProcess | None = None
        self._backoff = Backoff()
        self._news = asyncio.Event()
        """Something is to be looked at again: sessions, consents, files."""
        self._is_stopping = False
        self._is_legacy = False
        self._final: ServerLost | None = None
        """What the bridge said before it gave up."""
        self._told: set[str] = set()
        self._tools: asyncio.Queue[Sequence[MappedTool]] = asyncio.Queue()
        self._background = BackgroundTasks(
            lambda _: self._tell("something of it failed inside tapui", "see the log")
        )
        self._listed: Sequence[MappedTool] | None = None
        self._forms = Forms(entry.name, around.turn.person, self._send, self._background)
        self._permission = Permission(
            entry,
            around,
            questions,
            lambda why: self._show("asking", why or None),
            self._asked,
        )
        self._pinning = Pinning(
            entry.name,
            around.turn.person,
            self._send,
            self._asked,
            self._asked_session,
            on_fault=self._tell,
            background=self._background,
        )
        self._shown = McpServer(
            id=id_,
            name=entry.name,
            source=entry.source,
            state="stopped",
            program="",
            file=safe_text(entry.file),
            line=entry.line,
            folder=None if entry.folder is None else safe_text(entry.folder),
        )

    # What is wanted of it

    @property
    def watched(self) -> tuple[str, ...]:
        """Files of its folder whose contents decide whether it may run."""
        return self._permission.files

    def set_sessions(self, sessions: Sequence[McpSession]) -> None:
        self._sessions = {one.id: one for one in sessions}
        if self._bridge is not None and self._sessions:
            self._enter_sessions()
            if self._listed is not None:
                self._tools.put_nowait(self._listed)  # the person can perhaps be asked now
        self.look()

    def look(self) -> None:
        self._news.set()

    async def run(self) -> None:
        """Have it run while sessions want it, until `stop()`."""
        try:
            while not self._is_stopping:
                self._news.clear()
                if self._sessions:
                    await self._run_once()
                else:
                    self._show("elsewhere", "the program of each session runs it itself")
                    await self._news.wait()
        finally:
            self._pinning.close()
            self._forms.close()
            if self._bridge is not None:
                self._bridge.kill()

    async def stop(self) -> None:
        self._is_stopping = True
        self._news.set()
        if self._bridge is not None:
            await self._bridge.stop()

    # Whether it may run

    async def _run_once(self) -> None:
        standing = await self._permission.standing()
        if isinstance(standing, Proposal):
            self._shown = replace(self._shown, program=_safe(standing.entry.program))
            session = self._asked_session()
            asked = await self._while_same(standing, self._permission.ask(standing, session))
            if isinstance(asked, Refusal):
                await self._rest(asked.state, asked.why)
        elif isinstance(standing, Refusal):
            await self._rest(standing.state, standing.why)
        else:
            self._shown = replace(self._shown, program=_safe(standing.entry.program))
            await self._run_bridge(standing)

    async def _while_same(
        self, standing: Consented[Allowable] | Proposal[Allowable], work: Coroutine[Any, Any, _T]
    ) -> _T | None:
        """Wait for work; None when the standing has changed meanwhile, or no session wants it."""
        task = self._loop.create_task(work)
        try:
            while not task.done():
                self._news.clear()
                news = self._loop.create_task(self._news.wait())
                try:
                    await asyncio.wait((task, news), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
                if not task.done() and not await self._is_as(standing):
                    return None
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):  # that is what was wanted
                    await task

    async def _is_as(self, standing: Consented[Allowable] | Proposal[Allowable]) -> bool:
        if self._is_stopping or not self._sessions:
            return False
        now = await self._permission.standing()
        if isinstance(now, Proposal) and isinstance(standing, Proposal):
            return now.digest == standing.digest
        return isinstance(now, Consented) and isinstance(standing, Consented)

    async def _rest(self, state: McpServerState, why: str, hint: str | None = None) -> None:
        """Show why it does not run, until something changes."""
        self._show(state, why, hint)
        if state == "failed":
            self._tell(why, hint)
        await self._news.wait()

    def _asked_session(self) -> str | None:
        attended = (one.id for one in self._sessions.values() if not one.is_unattended)
        return next(attended, None)

    # Its bridge

    async def _run_bridge(self, standing: Consented[Allowable]) -> None:
        """Run it until its process has ended, and its pause is over."""
        around, entry = self._around, self.entry
        try:
            start = await asyncio.to_thread(
                server_start, entry, standing.entry, around.environ, around.gateway_url
            )
        except CannotStartError as error:
            await self._rest("failed", str(error))
            return
        pins = await self._pinning.begin(ToolPins(around.state, standing.entry, entry.folder))
        self._final = None
        self._show("starting", None)
        try:
            self._bridge = await BridgeProcess.start(around.environ, self._take)
        except OSError as error:
            await self._rest("failed", f"its bridge cannot be started: {error.strerror or error}")
            return
        self._turn.note_agent(self._bridge.pid, f"MCP server '{entry.name}'")
        self._shown = replace(self._shown, starts=self._shown.starts + 1)
        told = replace(start, pinned=pins, legacy=self._is_legacy, most_tools=around.most_tools)
        self._send(told)
        self._enter_sessions()
        pinner = self._background.start(self._pin(), name=f"pin the tools of {entry.name}")
        try:
            ended = await self._while_same(standing, self._bridge.wait())
            if ended is None:
                await self._bridge.stop()
        finally:
            pinner.cancel()
            self._left()
        if ended is None or self._is_stopping:
            return
        if (final := self._last_words()) is not None:
            await self._rest("failed", final.why, final.hint)
            return
        pause = self._backoff.pause(ended.seconds)
        self._show("lost", f"its bridge ended ({ended}); it is started again in {pause:g} s")
        _log.warning("the bridge of %s ended: %s", entry.name, ended)
        with contextlib.suppress(TimeoutError):  # the pause is over
            async with asyncio.timeout(pause):
                while not self._is_stopping and self._sessions:
                    self._news.clear()
                    await self._news.wait()

    def _last_words(self) -> ServerLost | None:
        return self._final  # a method: mypy would keep the None that was set before it ran

    def _enter_sessions(self) -> None:
        for id_ in [id_ for id_ in self._tokens if id_ not in self._sessions]:
            self._send(ServerSessionEnded(id_))
            self._turn.tell(self._core.revoke, self._tokens.pop(id_))
        for id_, session in self._sessions.items():
            if id_ in self._tokens:
                continue
            if (token := self._turn.tell(self._core.token, id_)) is not None:
                self._tokens[id_] = token
                self._send(ServerSession(id_, token, session.cwd))
        self._change(sessions=list(self._tokens))

    def _left(self) -> None:
        if self._bridge is not None:
            self._bridge.kill()
        self._bridge = None
        self._forms.close()
        self._pinning.close()
        for token in self._tokens.values():
            self._turn.tell(self._core.revoke, token)
        self._tokens.clear()
        self._listed = None
        self._tools = asyncio.Queue()  # what it listed last is not pinned for the next one
        self._shown = replace(self._shown, sessions=[], tools=[], tool_count=0)

    def _send(self, message: BridgeMessage) -> None:
        if self._bridge is not None:
            self._bridge.send(message)

    # What the bridge tells

    def _take(self, message: FromBridge) -> None:
        match message:
            case ServerReady():
                self._is_legacy = message.is_legacy
                self._shown = replace(
                    self._shown,
                    server_name=_safe(message.server_name, _NAME),
                    server_version=_safe(message.server_version, _NAME),
                    protocol=_safe(message.protocol, _NAME),
                    seconds=round(message.seconds, 3),
                )
                self._show_tools(message.tools)
            case ServerTools():
                self._show_tools(message.tools)
            case ServerLost():
                self._listed = None
                if message.again is None:
                    self._final = message
                self._shown = replace(self._shown, tools=[], tool_count=0)
                self._show("lost", message.why, message.hint)
                self._tell(message.why, message.hint)
            case ServerAsks():
                self._forms.ask(message)
            case WithdrawnForm(form):
                self._forms.withdraw(form)
            case ServerTold(level, text):
                _log.log(_LOG[level], "%s: %s", self.entry.name, _safe(text))

    def _show_tools(self, tools: Sequence[MappedTool]) -> None:
        listed = [
            McpTool(
                _safe(one.name, _NAME),
                None if one.offered_as is None else _safe(one.offered_as, _NAME),
                waits=one.is_changed,
                problem=None if one.problem is None else _safe(one.problem),
            )
            for one in tools[: limits.MAX_MCP_TOOLS]
        ]
        self._shown = replace(self._shown, tools=listed, tool_count=len(tools))
        self._show("ready", None)
        self._listed = tools
        self._tools.put_nowait(tools)

    async def _pin(self) -> None:
        """Pin tools, and ask about changed ones, one list after the other: only the last counts."""
        while True:
            tools = await self._tools.get()
            while not self._tools.empty():
                tools = self._tools.get_nowait()
            try:
                await self._pinning.take(tools)
            except Exception:  # noqa: BLE001 - logged and told; later lists are still looked at
                _log.exception("the tools of %s could not be pinned", self.entry.name)
                self._tell("its tools could not be looked at", "see the log")

    # What is shown

    def _show(self, state: McpServerState, why: str | None, hint: str | None = None) -> None:
        self._change(
            state=state,
            why=None if why is None else _safe(why),
            hint=None if hint is None else _safe(hint),
        )

    def _change(self, **fields: Any) -> None:
        """Let towers and records know how it is."""
        self._shown = replace(self._shown, **fields)
        self._turn.tell(self._core.changed, self._shown)

    def _asked(self, approval_id: str | None) -> None:
        self._change(approval_id=approval_id)

    def _tell(self, why: str, hint: str | None) -> None:
        said = _safe(f"MCP server {self.entry.name}: {why}" + (f"; {hint}" if hint else ""))
        if said not in self._told and len(self._told) < limits.ASKED_AGAIN:
            self._told.add(said)
            self._around.report(said, "warning")


def _safe(text: str, limit: int = _SHOWN) -> str:
    return safe_text(text, limit=limit)
