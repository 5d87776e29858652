"""The process of one bridge, as the gateway sees it: lines to it, lines from it, and its end."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from tapui.mcp_servers.messages import (
    MAX_LINE_BYTES,
    BridgeMessage,
    FromBridge,
    LineError,
    ServerStop,
    line,
    read_by_tapui,
)
from tapui.runtime.children.child import Child, Ended, Source
from tapui.runtime.children.supervisor import ProgramLog, own_program

MODULE = "tapui.mcp_servers.bridge"
LEAVE_SECONDS = 4.0
"""How long a bridge may take to end its server when it is asked to: more than it gives a server
that does not want to (`LEAVE_SECONDS` and `TERM_SECONDS` of `bridge/transports.py`)."""
_MAX_UNREAD = 4 * MAX_LINE_BYTES
"""Bytes that may wait for a bridge: one that does not read them is ended."""

_log = logging.getLogger(__name__)


class BridgeProcess:
    """A running bridge. Make it with `start()`, then hear of its end with `wait()`."""

    def __init__(self, on_message: Callable[[FromBridge], None]) -> None:
        self._on_message = on_message
        self._own_log = ProgramLog()
        self._child: Child | None = None
        self._is_garbled = False

    @classmethod
    async def start(
        cls,
        environ: Mapping[str, str],
        on_message: Callable[[FromBridge], None],
        module: str = MODULE,
    ) -> "BridgeProcess":
        """Start one; its messages are given to `on_message`. Raises `OSError`."""
        bridge = cls(on_message)
        command = own_program(module, environ=environ)
        bridge._child = await Child.start(
            replace(command, takes_input=True, line_bytes=MAX_LINE_BYTES), bridge._take
        )
        return bridge

    @property
    def pid(self) -> int:
        """The bridge's process id."""
        return self._running.pid

    @property
    def _running(self) -> Child:
        assert self._child is not None, "made with start()"
        return self._child

    def send(self, message: BridgeMessage) -> None:
        try:
            unread = self._running.write(line(message))
        except LineError as error:
            _log.error("a message for a bridge is left out: %s", error)
            return
        if unread > _MAX_UNREAD:
            _log.warning("the bridge %d does not read its input: it is ended", self.pid)
            self._running.kill()

    async def wait(self) -> Ended:
        """Wait for its end; all that it said was taken by then."""
        return await self._running.wait()

    async def stop(self) -> None:
        """Let it end its server, and end it."""
        self.send(ServerStop())
        self._running.end_input()
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.wait()
        except TimeoutError:
            await self._running.stop(within=0.5)

    def kill(self) -> None:
        """End it at once: its server sees the end of its own input."""
        self._running.kill()

    def _take(self, source: Source, text: str) -> None:
        if source == "stderr":
            self._own_log.take(source, text)
            return
        if self._is_garbled or not text:
            return
        try:
            message = read_by_tapui(text.encode())
        except LineError as error:
            self._is_garbled = True
            _log.warning(
                "the bridge %d is ended, as it said what is no message: %s", self.pid, error
            )
            self._running.kill()
            return
        self._on_message(message)
