"""The door's link to the gateway: one session, its tools, and calls of them.

It looks for a gateway until it finds one, and again when it has lost it. What is known of the tools
is at hand at any time.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tapui.client import gateways
from tapui.client.gateways import FoundGateway, GatewayError, GatewayLost, NoGateway, Refused
from tapui.client.socket import GatewaySocket
from tapui.home.paths import Home
from tapui.home.tokens import ToolsTokenFile
from tapui.hosts.socket_port import HostSocket
from tapui.invocation import command
from tapui.wire.codec import raw
from tapui.wire.host import (
    HostAck,
    HostHello,
    HostSession,
    HostSessionClosed,
    HostSessionOpened,
    SessionOpen,
    SessionUpdate,
    ToHost,
    ToolsChanged,
)
from tapui.wire.limits import MAX_FRAME_BYTES, PROTOCOL_VERSION
from tapui.wire.message import (
    Error,
    Message,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)

FIRST_RETRY = 0.2
LONGEST_RETRY = 2.0
"""Seconds between two looks for a gateway; only files of the person are read."""
LONGEST_REFUSED = 60.0
"""Seconds between two tries of the same token with a gateway that refuses it: it records each."""
PING_SECONDS = 4.0
"""Seconds between two pings, and until a gateway that does not answer one is given up."""
_NOT_OPEN = "DISCONNECTED"
_ELSEWHERE = "the gateway keeps the session closed: this program has tapui's tools otherwise"

Tell = Callable[[ToolProgress], Awaitable[None]]
_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class DoorCall:
    """A call under way: the newest progress that was not told, and the outcome."""

    progress: ToolProgress | None = None
    outcome: ToolOutcome | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)


class GatewayLink:
    """The link; `run` keeps it until it is cancelled. `on_change` is called for other tools."""

    def __init__(
        self,
        home: Home,
        port: int,
        *,
        is_explicit: bool,
        label: str,
        folder: Path,
        on_change: Callable[[], None],
    ) -> None:
        self._home = home
        self._port = port
        self._is_explicit = is_explicit
        self._label = label
        self._folder = folder
        self._on_change = on_change
        self._socket: HostSocket | None = None
        self._lost = asyncio.Event()
        self._session = ""
        self._is_open = False
        self._tools: list[OfferedTool] = []
        self._calls: dict[str, DoorCall] = {}
        self._count = 0
        self._why = "no gateway was looked for yet"
        self._refusal: Refused | None = None
        """Why the gateway that was lost did not want the door."""
        self._has_opened = False
        self.settled = asyncio.Event()
        """Set once it is known whether there is a session, or why not."""

    @property
    def tools(self) -> list[OfferedTool]:
        return self._tools

    def set_label(self, label: str) -> None:
        if label != self._label:
            self._label = label
            if self._socket is not None and self._session:
                self._socket.send(SessionUpdate(self._session, label))

    # The connection

    async def run(self) -> None:
        """Look for a gateway, stay with it, and look again, until cancelled."""
        delay = FIRST_RETRY
        refused: tuple[FoundGateway, str] | None = None
        again_at, pause = 0.0, LONGEST_RETRY
        clock = asyncio.get_running_loop().time
        while True:
            try:
                found = await asyncio.to_thread(self._find)
                if found != refused or clock() >= again_at:
                    await self._stay(*found)
            except Refused as error:
                other = gateways.warning_of(found[0])
                hint = "" if other is None else f"; {other}"
                self._is_without(f"the gateway does not take this door: {error}{hint}")
                pause = min(pause * 2, LONGEST_REFUSED) if found == refused else LONGEST_RETRY
                refused, again_at = found, clock() + pause
            except (GatewayError, OSError) as error:
                self._is_without(str(error))
            if self._has_opened:
                self._has_opened, delay = False, FIRST_RETRY
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_RETRY)

    def _find(self) -> tuple[FoundGateway, str]:
        """Return a gateway and the token for it; raises `NoGateway` and `OSError`."""
        token = ToolsTokenFile(self._home.state).read()
        if token is None:
            raise NoGateway(f"there is no token for tools; make one: {command('install mcp')}")
        found = gateways.find(self._home, self._port, is_explicit=self._is_explicit)
        return found, token.reveal()

    def _is_without(self, why: str) -> None:
        if why != self._why:
            _log.warning("%s", why)
        self._why = why
        self.settled.set()

    async def _stay(self, found: FoundGateway, token: str) -> None:
        """Open the session at a gateway and keep it until the gateway is lost.

        Raises `GatewayError`; `Refused` where the gateway does not take the token or the session.
        """
        socket = await GatewaySocket.open(found.url, token, ToHost, max_bytes=MAX_FRAME_BYTES)
        self._lost.clear()
        self._refusal = None
        self._socket = port = HostSocket(socket, self._receive, self._lost.set)
        port.send(HostHello("mcp", "mcp", PROTOCOL_VERSION))
        pinging = asyncio.create_task(self._ping(socket), name="ping the gateway")
        try:
            await self._lost.wait()
        finally:
            pinging.cancel()
            await asyncio.wait([pinging])
            await self._leave()
        raise self._refusal or GatewayLost("the gateway is gone")

    async def _ping(self, socket: GatewaySocket) -> None:
        """Give up a gateway that answers nothing: it was stopped, or hangs."""
        try:
            while True:
                await asyncio.sleep(PING_SECONDS)
                async with asyncio.timeout(PING_SECONDS):
                    await socket.ping()
        except (TimeoutError, GatewayLost):
            self._lost.set()

    async def _leave(self) -> None:
        """Let the connection go: what is under way has failed, and there are no tools."""
        port, self._socket = self._socket, None
        self._session = ""
        self._closed("the gateway went away during the call")
        if port is not None:
            port.close()
            await port.wait_closed()

    def _closed(self, why: str) -> None:
        self._is_open = False
        for call_id in list(self._calls):
            self._finished(ToolOutcome(call_id, error=why, error_code=_NOT_OPEN))
        self._take([])

    # What the gateway says

    def _receive(self, message: Message) -> None:
        match message:
            case HostAck():
                self._session = f"mcp-{secrets.token_hex(8)}"
                self._why = _ELSEWHERE
                session = HostSession(self._session, self._label, str(self._folder))
                if self._socket is not None:
                    self._socket.send(SessionOpen(session))
            case HostSessionOpened(session_id=self._session, tools=tools):
                self._is_open = self._has_opened = True
                self._why = ""
                self._take(tools)
                self.settled.set()
            case ToolsChanged(session_id=self._session, tools=tools):
                self._take(tools)
            case HostSessionClosed(session_id=self._session):
                self._closed("the session was closed")
                self._why = _ELSEWHERE
            case ToolOutcome():
                self._finished(message)
            case ToolProgress():
                call = self._calls.get(message.id)
                if call is not None:
                    call.progress = message
                    call.news.set()
            case Error():
                self._refused(message)
            case _:
                pass  # a line for a timeline, which a client of tools does not have

    def _refused(self, error: Error) -> None:
        if error.id is not None and error.id in self._calls:
            text = error.message
            self._finished(ToolOutcome(error.id, error=text, error_code=str(error.code)))
        elif error.code.is_fatal or error.reply_to in ("host.hello", "session.open"):
            self._refusal = Refused(error.code, error.message)
            self._lost.set()
        else:
            _log.warning("the gateway refused %s: %s", error.reply_to, error.message)

    def _take(self, tools: list[OfferedTool]) -> None:
        if tools != self._tools:
            self._tools = tools
            self._on_change()

    # Calls

    async def call(self, tool: str, arguments: dict[str, Any], tell: Tell) -> ToolOutcome:
        """Call a tool and return its outcome; `tell` gets each progress.

        When cancelled, the call is given up at the gateway, too.
        """
        self._count += 1
        call_id = f"c-{self._count}"
        if self._socket is None or not self._is_open:
            return ToolOutcome(call_id, error=self._why, error_code=_NOT_OPEN)
        call = self._calls[call_id] = DoorCall()
        self._socket.send(ToolInvoke(call_id, self._session, tool, raw(arguments)))
        try:
            while call.outcome is None:
                await call.news.wait()
                call.news.clear()
                if call.progress is not None:
                    told, call.progress = call.progress, None
                    await tell(told)
            return call.outcome
        finally:
            del self._calls[call_id]
            if call.outcome is None and self._socket is not None:
                self._socket.send(ToolAbort(call_id, "the client gave the call up"))

    def _finished(self, outcome: ToolOutcome) -> None:
        call = self._calls.get(outcome.id)
        if call is not None and call.outcome is None:
            call.outcome = outcome
            call.news.set()
