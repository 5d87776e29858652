"""The output of a child process: lines, bounded in their length and their rate."""

import asyncio
import logging
from collections.abc import Callable
from typing import Literal, cast

LINE_BYTES = 8 * 1024
"""A line of output is cut at this many bytes."""
LINES_A_SECOND = 200
BYTES_A_SECOND = 1024 * 1024
"""Beyond these rates a child's output is not read until the next second: a child that floods waits
in its own writes, and nothing is lost."""

_log = logging.getLogger(__name__)

Source = Literal["stdout", "stderr"]
OnLine = Callable[[Source, str], None]
"""Takes each line of output, without its end; called on the event loop."""


class ChildOutput(asyncio.Protocol):
    """One output pipe of a child, taken apart into lines.

    With `drops`, what comes beyond the rates is read, dropped and told of in a line: the child
    never waits for its reader.
    """

    def __init__(
        self,
        source: Source,
        on_line: OnLine,
        *,
        drops: bool = False,
        line_bytes: int = LINE_BYTES,
    ) -> None:
        self._source = source
        self._line_bytes = line_bytes
        self._drops = drops
        self._dropped = 0
        self._on_line = on_line
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.ReadTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread = bytearray()
        self._line = bytearray()
        self._is_cut = False
        self._second = 0.0
        self._lines = 0
        self._bytes = 0
        self._is_finishing = False
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._take()

    def _take(self) -> None:
        while self._unread and self._may_take():
            end = self._unread.find(b"\n")
            part = self._unread[:end] if end >= 0 else self._unread[:]
            del self._unread[: len(part) + (end >= 0)]
            self._bytes += len(part)
            room = self._line_bytes - len(self._line)
            self._is_cut = self._is_cut or len(part) > room
            self._line += part[:room]
            if end >= 0:
                self._emit()
        if self._drops and not self._may_take():
            self._dropped += self._unread.count(b"\n")
            self._unread.clear()
        if self._timer is None and not self._may_take():
            if self._transport is not None and not self._drops:
                self._transport.pause_reading()
            self._timer = self._loop.call_at(self._second + 1.0, self._resume)

    def _may_take(self) -> bool:
        now = self._loop.time()
        if now - self._second >= 1.0:
            self._second, self._lines, self._bytes = now, 0, 0
        is_over = self._lines >= LINES_A_SECOND or self._bytes >= BYTES_A_SECOND
        return self._is_finishing or not is_over

    def _emit(self) -> None:
        self._lines += 1
        text = self._line.removesuffix(b"\r").decode("utf-8", "replace")
        if self._is_cut:
            text += "…"
        self._line.clear()
        self._is_cut = False
        try:
            self._on_line(self._source, text)
        except Exception:  # noqa: BLE001 - logged; the rest of the output and the end still come
            _log.exception("a line of a child's %s was not taken", self._source)

    def _resume(self) -> None:
        self._timer = None
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._line[:] = b"... %d more lines" % dropped
            self._emit()
        self._take()
        if self._timer is None and self._transport and not self._transport.is_closing():
            self._transport.resume_reading()

    def finish(self) -> None:
        """The child has ended: read what is left without a pause."""
        self._is_finishing = True
        if self._timer is not None:
            self._timer.cancel()
            self._resume()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        elif not self.closed.done():
            self.closed.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """The pipe is closed; a last line without an end is a line too."""
        self._is_finishing = True
        if self._timer is not None:
            self._timer.cancel()
            self._resume()
        self._take()
        if self._line:
            self._emit()
        self.closed.set_result(None)
