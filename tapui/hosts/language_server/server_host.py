"""The `language-server` host: one server, one conversation, and the gateway's messages for it.

It speaks the host conversation over a port, in a process of its own (`__main__`): what the server
has run here descends from it, and counts as an agent's.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tapui.hosts.language_server.conversation import KIND, ServerConversation
from tapui.hosts.language_server.registration import QUIET
from tapui.hosts.language_server.server import LanguageServer, ServerError, ServerTiming
from tapui.hosts.port import HostPort, OpenPort, Report
from tapui.wire.host import (
    HostAck,
    HostHello,
    HostSessionClosed,
    HostSessionOpened,
    ModeResult,
    ModeSet,
    SessionAbort,
    SessionClose,
    SessionLog,
    SessionOpen,
    SessionSend,
    ToolsChanged,
)
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Error, Message
from tapui.wire.provider import Sessions
from tapui.wire.steering import (
    ModelsRead,
    OrderResult,
    SessionCompact,
    SessionEnd,
    SessionSet,
    SessionStop,
    SessionTell,
)

_NO_MODES = "the language server has no modes"
_NO_WAY = "the language server has no way"
_LOST = "the gateway is gone"
_OPEN_SECONDS = 30.0
"""For the gateway to open the session."""


class HostEndedError(Exception):
    """Why the host ended before it was asked to; the text is for the person."""


class LanguageServerHost:
    """The host of one conversation: `start` it, then `run` it at a gateway.

    `on_open` is called with the session's id when it is open, `report` gets what the person should
    know.
    """

    def __init__(
        self,
        *,
        program: str,
        folder: Path,
        environ: Mapping[str, str],
        report: Report,
        on_open: Callable[[str], None] = lambda _: None,
        model: str = "",
        unattended: bool = False,
        timing: ServerTiming | None = None,
        quiet: float = QUIET,
    ) -> None:
        self._on_open = on_open
        self._report = report
        self._port: HostPort | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why it ends; "" where that was wanted."""
        self.conversation = ServerConversation(
            f"ls-{secrets.token_hex(8)}",
            folder,
            model=model,
            unattended=unattended,
            environ=environ,
            report=report,
            timing=timing,
            quiet=quiet,
        )
        self._server = LanguageServer(
            program,
            folder,
            environ=environ,
            requests=self.conversation.requests,
            notifications=self.conversation.notifications,
            report=report,
            timing=timing,
        )

    async def start(self) -> bool:
        """Start the server; return False where `stop()` was called meanwhile.

        Raises `HostEndedError`.
        """
        starting = asyncio.create_task(self._start_server(), name="start the language server")
        waits: set[asyncio.Future[Any]] = {starting, self._ended}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            # It is not wanted any more.
            await asyncio.gather(starting, return_exceptions=True)
            await self._server.stop()
            return False
        try:
            starting.result()
        except ServerError as error:
            await self._server.stop()
            raise HostEndedError(str(error)) from None
        return True

    async def _start_server(self) -> None:
        await self._server.start()
        await self.conversation.begin(self._server)

    async def run(self, open_port: OpenPort) -> None:
        """Hold the conversation until `stop()`; the server has been started.

        Raises `HostEndedError` where something else ends it.
        """
        why = ""
        try:
            why = await self._live(open_port)
        finally:
            await self._leave(why)
        if why:
            raise HostEndedError(why)

    async def _live(self, open_port: OpenPort) -> str:
        """Return why it ends; "" where that was wanted."""
        self._port = open_port(self._receive, lambda: self._end(_LOST))
        self.conversation.uplink.send = self._port.send
        waits: set[asyncio.Future[str]] = {
            self._ended,
            asyncio.create_task(self._server.wait(), name="the server's end"),
            asyncio.create_task(self._converse(), name="the conversation"),
        }
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return next((why for one in done if (why := _reason(one))), "")
        finally:
            for one in waits:
                one.cancel()
            # Their errors were read above.
            await asyncio.gather(*waits, return_exceptions=True)

    async def _converse(self) -> str:
        try:
            async with asyncio.timeout(_OPEN_SECONDS):
                await asyncio.shield(self._opened)
        except TimeoutError:
            return "the gateway does not open the session"
        self._on_open(self.conversation.id)
        try:
            await self.conversation.run()
        except ServerError as error:
            return str(error)
        return ""

    def stop(self) -> None:
        """Have `run()` end the session and the server."""
        self._end("")

    def _end(self, why: str) -> None:
        if not self._ended.done():
            self._ended.set_result(why)

    async def _leave(self, why: str) -> None:
        await self.conversation.leave(why or "the session is ending")
        if self._port is not None:
            reason = why or "the language server's host was ended"
            self._port.send(SessionClose(self.conversation.id, reason))
            self._port.close()
        await self._server.stop()

    async def end_server(self) -> None:
        """End the server, where it still runs."""
        await self._server.stop()

    # What the gateway says

    def _send(self, message: Message) -> None:
        if self._port is not None:
            self._port.send(message)

    def _receive(self, message: Message) -> None:
        """Take a message of the gateway; called on the event loop's thread."""
        conversation = self.conversation
        if conversation.uplink.take(message):
            return
        match message:
            case Sessions() if self._port is not None and not self._opened.done():
                hello = HostHello(KIND, KIND, PROTOCOL_VERSION, hooks=True, sections=False)
                self._send(hello)
            case HostAck():
                self._send(SessionOpen(conversation.opening()))
            case HostSessionOpened(tools=tools, revision=revision):
                if not self._opened.done():
                    self._opened.set_result(None)
                conversation.offer(tools, revision)
            case ToolsChanged(tools=tools, revision=revision):
                conversation.offer(tools, revision)
            case HostSessionClosed():
                self._end("the gateway has ended the session")
            case SessionTell():
                conversation.tell(message)
            case SessionSend():
                conversation.send(message)
            case SessionStop():
                conversation.stop(message)
            case SessionAbort():
                conversation.stop(None)
            case SessionSet():
                conversation.set(message)
            case ModelsRead():
                conversation.list_models(message)
            case SessionEnd():
                self._send(OrderResult(message.id, "done"))
                self.stop()
            case _:
                self._decline(message)

    def _decline(self, message: Message) -> None:
        """Answer what the server cannot do; what else there is needs no answer."""
        match message:
            case SessionLog():
                text, level = message.message, message.level
                self.conversation.uplink.event("log", message=text, level=level)
            case SessionCompact():
                self._send(OrderResult(message.id, "failed", _NO_WAY))
            case ModeSet():
                self._send(ModeResult(message.id, ok=False, error=_NO_MODES))
            case Error() if message.code.is_fatal or message.reply_to in _OPENING:
                self._end(f"the gateway refused {message.reply_to}: {message.message}")
            case Error():
                text = f"the gateway refused {message.reply_to}: {message.message}"
                self._report(text, "warning")


_OPENING = ("host.hello", "session.open")
"""Without these there is no session."""


def _reason(done: "asyncio.Future[str]") -> str:
    error = None if done.cancelled() else done.exception()
    if error is not None:
        raise error
    return "" if done.cancelled() else done.result()
