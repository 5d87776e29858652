"""A connection to a gateway on an event loop: texts both ways, by its Unix socket or by TCP.

It is `websockets`' protocol on the loop's own transport, not `websockets.asyncio`: texts of one
turn of the loop go out with one write, none of them waits for a task, and a text that came is
taken without one.
"""

import asyncio
from collections import deque
from pathlib import Path

from websockets.frames import Close

from tapui.client.gateways import GatewayError, NoGateway, gone
from tapui.client.websocket import GatewayWebSocket
from tapui.home import local_socket

OPEN_SECONDS = 5.0
REACH_SECONDS = 1.0
"""For the Unix socket, before the port is tried."""
CLOSE_SECONDS = 2.0
MAX_WAITING = 16
"""Texts that wait to be taken; with more nothing is read, and the gateway sees a slow reader."""


class ClientLine(asyncio.Protocol):
    """One connection; `connect()` opens it. Only one task may wait in `next_text` at a time."""

    def __init__(self, url: str, max_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._websocket = GatewayWebSocket(url, max_bytes)
        self._transport: asyncio.Transport | None = None
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._lost: Exception | None = None
        self.error: Exception | None = None
        """The system's, with which the connection was lost."""
        self._came: deque[bytes] = deque()
        self._wanted: asyncio.Future[None] | None = None
        self._heard: asyncio.Future[None] | None = None
        self._is_paused = False
        self._writable: asyncio.Future[None] | None = None
        self._will_write = False
        self._queued_bytes = 0

    async def connect(self, end: Path | None, seconds: float) -> None:
        """Connect within `seconds`, to the Unix socket `end` where that can be, else by TCP.

        Raises `NoGateway` when nothing, or no gateway, answers there, `NoPlace` when all places
        are taken.
        """
        url, place = self._websocket.url, self._websocket.place
        try:
            async with asyncio.timeout(seconds):
                line = None if end is None else await local_socket.reach(end, REACH_SECONDS)
                if line is not None:
                    await self._loop.create_unix_connection(lambda: self, sock=line)
                else:
                    await self._loop.create_connection(
                        lambda: self, place.host, place.port, ssl=True if place.secure else None
                    )
                await self._opened
        except TimeoutError:
            self.abort()
            raise NoGateway(f"the gateway at {url} does not answer") from None
        except (OSError, UnicodeError):  # UnicodeError: of the host's name
            raise gone(url) from None
        except BaseException:
            self.abort()
            raise

    def lost(self) -> Exception:
        """Return what to raise once the connection is gone: see `end` and `error`."""
        raise NotImplementedError

    @property
    def end(self) -> Close | None:
        """The gateway's close frame, with code and reason, if it has sent one."""
        return self._websocket.end

    # The loop's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._write_out()

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def eof_received(self) -> None:
        self._take(b"")

    def connection_lost(self, error: Exception | None) -> None:
        self.error = error
        self._lose(self.lost())
        if not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        _wake(self._writable)
        self._writable = None

    def _take(self, data: bytes) -> None:
        assert self._transport is not None
        try:
            self._came.extend(self._websocket.received(data))
        except GatewayError as error:  # of the handshake
            self._lose(error)
        if self._came:
            _wake(self._wanted)
        if not self._opened.done() and self._websocket.is_open:
            self._opened.set_result(None)
        _wake(self._heard)
        self._write_out()
        if self._websocket.is_ending():
            self._loop.call_later(CLOSE_SECONDS, self._transport.abort)
        elif len(self._came) > MAX_WAITING and not self._is_paused and self._websocket.is_open:
            self._is_paused = True
            self._transport.pause_reading()

    def _write_out(self) -> None:
        self._will_write = False
        self._queued_bytes = 0
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        data, is_last = self._websocket.unsent()
        if data:
            transport.write(data)
        if is_last and transport.can_write_eof():
            transport.write_eof()

    def _lose(self, error: Exception) -> None:
        if self._lost is None:
            self._lost = error
        if not self._opened.done():
            self._opened.set_exception(self._lost)
            # Retrieved, lest asyncio log it: an opening that was cancelled is awaited no more.
            self._opened.exception()
        for waiting in (self._wanted, self._heard, self._writable):
            _wake(waiting)

    # The user's side

    @property
    def is_open(self) -> bool:
        return self._lost is None and self._websocket.is_open

    @property
    def is_ready(self) -> bool:
        """Whether a text can be sent without waiting."""
        return self._writable is None and self._lost is None and self._websocket.is_open

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the system has not taken yet."""
        transport = self._transport
        written = 0 if transport is None else transport.get_write_buffer_size()
        return written + self._queued_bytes

    def write(self, text: bytes) -> None:
        """Queue a text of an open line; it goes out with the others of this turn of the loop."""
        self._websocket.send(text)
        self._queued_bytes += len(text)
        if not self._will_write:
            self._will_write = True
            self._loop.call_soon(self._write_out)

    async def send_text(self, text: bytes) -> None:
        """Send a text; returns once more can be sent. Raises what `lost` returns."""
        self._check()
        self.write(text)
        if self._writable is not None:
            await self._writable

    async def next_text(self) -> bytes:
        """Return the next text. Raises what `lost` returns when there will be none."""
        while not self._came:
            self._resume()
            if self._lost is not None:
                raise self._lost
            self._wanted = self._loop.create_future()
            await self._wanted
        return self._came.popleft()

    def _resume(self) -> None:
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    async def ping(self) -> None:
        """Return when the gateway has said anything. Raises what `lost` returns."""
        self._check()
        self._websocket.ping()
        self._write_out()
        self._heard = self._loop.create_future()
        await self._heard
        if self._lost is not None:
            raise self._lost

    def _check(self) -> None:
        if self._lost is not None:
            raise self._lost
        if not self._websocket.is_open:  # the gateway has closed it, and not let it go
            raise self.lost()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Leave; what was sent before still goes out. When cancelled meanwhile, cut it off."""
        transport = self._transport
        if transport is None:
            return
        if self._lost is None and not transport.is_closing():
            if self._websocket.is_open:
                self._websocket.close()
                self._write_out()
            self._resume()  # else the gateway's answer is not seen
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await asyncio.shield(self._gone)
            except TimeoutError:
                transport.abort()
            except asyncio.CancelledError:
                transport.abort()
                raise
        transport.close()
        self._lose(self.lost())


def _wake(waiting: "asyncio.Future[None] | None") -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
