"""A link over a WebSocket: `websockets`' protocol without its I/O, on the loop's own transport.

Messages of one turn of the loop go out with one write, and what one read brings is decoded at once.
"""

import asyncio
from collections import deque
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tapui.home import local_socket
from tapui.provider.link import LinkLost
from tapui.text import safe_text
from tapui.wire import codec
from tapui.wire.limits import MAX_EXPLANATION, MAX_RESULT_BYTES
from tapui.wire.message import Message
from tapui.wire.provider import ToProvider

if TYPE_CHECKING:
    from websockets.client import ClientProtocol

OPEN_SECONDS = 5.0
REACH_SECONDS = 1.0
"""For the Unix socket, before the port is tried."""
CLOSE_SECONDS = 2.0
_TRY_LATER = 1013
MAX_FRAME = 2 * MAX_RESULT_BYTES
"""Bytes of a message of the gateway's."""


async def dial_socket(
    url: str, end: Path | None = None, *, within: float = OPEN_SECONDS
) -> "SocketLink":
    """Open a link to the gateway at `url`, such as `ws://localhost:9400`. Raises `LinkLost`.

    `end` is its Unix socket, which is used where it can be; `within` seconds it must be open.
    """
    from websockets.client import ClientProtocol
    from websockets.exceptions import InvalidURI
    from websockets.uri import parse_uri

    try:
        place = parse_uri(url)
    except (InvalidURI, ValueError) as error:  # ValueError: of the port
        raise LinkLost(f"'{url}' is no address of a gateway: {error}") from None
    loop = asyncio.get_running_loop()
    link = SocketLink(ClientProtocol(place, max_size=MAX_FRAME))
    try:
        async with asyncio.timeout(within):
            line = None if end is None else await local_socket.reach(end, REACH_SECONDS)
            if line is not None:
                await loop.create_unix_connection(lambda: link, sock=line)
            else:
                ssl = True if place.secure else None
                await loop.create_connection(lambda: link, place.host, place.port, ssl=ssl)
            await link.opened
    except TimeoutError:
        link.abort()
        raise LinkLost(f"the gateway at {url} does not answer") from None
    except (OSError, UnicodeError):  # UnicodeError: of the host's name
        raise LinkLost(f"no gateway answers at {url}") from None
    except BaseException:
        link.abort()
        raise
    return link


@cache
def _reader() -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(ToProvider)


class SocketLink(asyncio.Protocol):
    """A `Link` on a socket; made by `dial_socket`."""

    def __init__(self, protocol: "ClientProtocol") -> None:
        from websockets.frames import Frame, Opcode
        from websockets.protocol import State

        self._protocol = protocol
        self._open = State.OPEN
        self._frame_type = Frame
        self._text, self._continued = Opcode.TEXT, Opcode.CONT
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.opened: asyncio.Future[None] = self._loop.create_future()
        self._parts: list[bytes] = []
        self._came: deque[Message] = deque()
        self._wanted: asyncio.Future[None] | None = None
        self._lost: LinkLost | None = None
        self._gone = self._loop.create_future()
        self._writable: asyncio.Future[None] | None = None
        self._will_write = False

    # The loop's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._protocol.send_request(self._protocol.connect())
        self._write()

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        self._read()

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._read()

    def connection_lost(self, error: Exception | None) -> None:
        self._lose(self._why(error))
        if not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def _read(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, self._frame_type):
                if event.opcode is self._text and event.fin and not self._parts:
                    self._take(event.data)
                elif event.opcode in (self._text, self._continued):
                    self._parts.append(bytes(event.data))
                    if event.fin:
                        whole, self._parts = b"".join(self._parts), []
                        self._take(whole)
            elif not self.opened.done():
                self._answered()
        self._write()
        if self._protocol.close_expected() and self._transport is not None:
            self._loop.call_later(CLOSE_SECONDS, self._transport.abort)

    def _answered(self) -> None:
        fault = self._protocol.handshake_exc
        if fault is None:
            self.opened.set_result(None)
            return
        status = getattr(getattr(fault, "response", None), "status_code", None)
        if status == 503:
            body = getattr(getattr(fault, "response", None), "body", None) or b""
            why = safe_text(body.decode(errors="replace").strip(), limit=MAX_EXPLANATION)
            self._lose(
                "the gateway takes no further connection"
                + (f": {why}" if why else "")
                + "; disconnect a provider first"
            )
        else:
            code = "" if status is None else f" (HTTP {status})"
            self._lose(f"what answers there is no tapui gateway{code}")

    def _take(self, data: "bytes | bytearray | memoryview") -> None:
        try:
            message = _reader().decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # of a newer gateway: unknown messages are ignored
        self._came.append(message)
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    def _write(self) -> None:
        self._will_write = False
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        out = self._protocol.data_to_send()
        if out and not out[-1]:  # the protocol's sign for the end
            transport.write(b"".join(out))
            if transport.can_write_eof():
                transport.write_eof()
        elif out:
            transport.write(out[0] if len(out) == 1 else b"".join(out))

    def _why(self, error: Exception | None) -> str:
        reason = self._protocol.close_reason
        if reason and self._protocol.close_code == _TRY_LATER:
            return f"the gateway has no place: {reason}"
        return "the gateway is gone" + (f": {reason or error}" if reason or error else "")

    def _lose(self, reason: str) -> None:
        if self._lost is None:
            self._lost = LinkLost(reason)
        if not self.opened.done():
            self.opened.set_exception(self._lost)
        for waiting in (self._wanted, self._writable):
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

    # The provider's side: `Link`

    async def send(self, message: Message) -> None:
        if self.offer(message):
            return
        if self._lost is not None:
            raise self._lost
        if self._protocol.state is not self._open:
            raise LinkLost(self._why(None))
        self._queue(message)
        if self._writable is not None:
            await self._writable

    def offer(self, message: Message) -> bool:
        if self._writable or self._lost is not None or self._protocol.state is not self._open:
            return False
        self._queue(message)
        return True

    def _queue(self, message: Message) -> None:
        self._protocol.send_text(codec.encode(message))
        if not self._will_write:
            self._will_write = True
            self._loop.call_soon(self._write)

    async def receive(self) -> Message:
        while not self._came:
            if self._lost is not None:
                raise self._lost
            self._wanted = self._loop.create_future()
            await self._wanted
        return self._came.popleft()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        if self._lost is None and self._transport is not None and not self._transport.is_closing():
            if self._protocol.state is self._open:
                self._protocol.send_close(1000)
                self._write()
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await asyncio.shield(self._gone)
            except TimeoutError:
                self._transport.abort()
        if self._transport is not None:
            self._transport.close()
        self._lose("it was closed here")
