"""One client's socket: handshake, messages, pings, close, backpressure."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from typing import cast

from websockets.exceptions import InvalidMessage
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import CONNECTING, OPEN
from websockets.server import ServerProtocol

from tapui.core.model import Way
from tapui.home.local_socket import UNKNOWN, Peer, peer_of
from tapui.runtime.processes.sights import begun, system
from tapui.runtime.websocket import handshake
from tapui.runtime.websocket.connections import ServerConnections
from tapui.runtime.websocket.frames import (
    Binary,
    Incoming,
    Oversized,
    TooManyFragments,
    has_received_close,
    has_sent_eof,
    release,
    text_header,
)
from tapui.wire.codec import encode
from tapui.wire.limits import MAX_UNAUTHENTICATED_BYTES
from tapui.wire.message import Message

HIGH_WATER = 64 * 1024
"""Output above this is backpressure: the door hears when it has drained."""
LOW_WATER = 16 * 1024
_JOIN = 64 * 1024  # below, one joined write is cheaper than handing over the parts
_PONG = 0x8A

_log = logging.getLogger("tapui.websocket")
# On a lower level the library would log the content of frames, tokens included.
_log.setLevel(logging.WARNING)


class WebSocketPort(asyncio.Protocol):
    """A client's socket from accept to its end. Implements `Port` for the door."""

    is_in_process = False

    def __init__(self, connections: ServerConnections) -> None:
        self._connections = connections
        self._door = connections.door
        self.number = 0
        self._protocol = ServerProtocol(max_size=MAX_UNAUTHENTICATED_BYTES, logger=_log)
        self._incoming = self._new_incoming()
        self._head = bytearray()
        self._transport = cast("asyncio.Transport", None)  # set by connection_made
        self.way = Way.OTHER
        self.peer = UNKNOWN
        self._origin: str | None = None
        self._open = False  # the handshake is done and no close frame was sent or received
        self._greeted = False  # the door knows this connection
        self._trusted = False
        self._wanted = True  # the door lets this client be read
        self._held = False  # what was read waits for the next turn
        self._reading = True
        self._out: list[bytes] = []
        self._queued = 0
        self.sent_bytes = 0
        self._flush_due = False
        self._eof_due = False
        self._backed_up = False  # the transport asked to pause writing
        self._late_pong = b""
        self._ping: bytes | None = None  # the ping that waits for its pong
        self._pings = 0
        self._timer: asyncio.TimerHandle | None = None

    # The transport's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected: it has its time to send a handshake."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        self._meet(transport.get_extra_info("socket"))
        self._arm(self._connections.timing.handshake, self.abort)
        self._connections.arrived(self)

    def _meet(self, end: socket.socket) -> None:
        if end.family == socket.AF_UNIX:
            self.way = Way.SOCKET
            self.peer = begun(peer_of(end))
            if self.peer.uid not in (None, os.geteuid()):
                self.abort()  # the folder is no other user's to enter: root, perhaps
        elif (ends := self.client_end) is not None:
            uid = system.socket_owner(*ends)
            self.peer = Peer(None, uid)
            self.way = Way.OWN if uid == os.geteuid() else Way.OTHER

    def data_received(self, data: bytes) -> None:
        if self._protocol.state is CONNECTING:
            if not has_sent_eof(self._protocol):  # else refused, and the client has not noticed yet
                self._handshake(data)
        else:
            self._receive(data)

    def eof_received(self) -> None:
        """The client sends nothing more; the transport closes once our output is written."""
        self._protocol.receive_eof()
        self._left_open()
        self._collect()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._open = False
        self._out.clear()
        self._queued = 0
        self._incoming = self._new_incoming()  # drops what was half read
        self._connections.gone(self)
        self._farewell()
        release(self._protocol)

    def pause_writing(self) -> None:
        self._backed_up = True

    def resume_writing(self) -> None:
        self._backed_up = False
        if self._late_pong:
            self._enqueue(self._late_pong)
            self._late_pong = b""
        if self._open:
            self._door.drained(self)

    # What the door calls

    @property
    def origin(self) -> str | None:
        """The Origin header of the handshake, or None for a native client."""
        return self._origin

    @property
    def client_end(self) -> tuple[tuple[str, int], tuple[str, int]] | None:
        """The client's address and ours, as (IP, port); None once it is gone."""
        if self.way is Way.SOCKET:
            return None
        client, ours = (self._transport.get_extra_info(name) for name in ("peername", "sockname"))
        return ((client[0], client[1]), (ours[0], ours[1])) if client and ours else None

    @property
    def outbox_bytes(self) -> int:
        """Bytes that were sent to this client and have not left the process."""
        return self._queued + self._transport.get_write_buffer_size()

    def deliver(self, message: Message) -> None:
        """Queue a message. Raises what the encoder raises when it cannot be encoded."""
        self.send(encode(message))

    def send(self, data: bytes) -> None:
        """Queue one text frame (UTF-8 JSON). A connection that is closing drops it."""
        if not self._open:
            return
        size = len(data)
        # Never a fragment, so this header is all that the library would add.
        self._out.append(text_header(size))
        self._out.append(data)
        self._queued += size
        self.sent_bytes += size
        if not self._flush_due:
            self._flush_due = True
            self._connections.flusher.add(self)

    def authenticated(self) -> None:
        """Lift the frame limit of unauthenticated clients."""
        self._trusted = True
        self._incoming.whole = self._connections.max_whole
        self._incoming.limit = self._connections.max_frame

    def close(self, code: int, reason: str) -> None:
        """Close after everything queued was written; a reason is cut at 123 bytes of UTF-8."""
        if not self._open:
            return
        if self._protocol.state is OPEN:  # else the client's close frame was just answered
            short = reason.encode("utf-8", "replace")[:123].decode("utf-8", "ignore")
            self._protocol.send_close(code, short)
        self._collect()
        self._left_open()

    def pause_reading(self) -> None:
        """Read nothing more until `resume_reading()`; what was read already is still handed on."""
        if self._open:
            self._wanted = False
            self._adjust_reading()

    def resume_reading(self) -> None:
        if self._wanted:
            return
        self._wanted = True
        if not self._held and self._incoming.pending:
            self._held = True
            self._connections.loop.call_soon(self._read_on)
        self._adjust_reading()

    def flush(self) -> None:
        """Write what was queued. `Flusher` calls this."""
        out, self._out = self._out, []
        queued, self._queued = self._queued, 0
        self._flush_due = False
        transport = self._transport
        if transport.is_closing():
            return
        if out:
            if queued < _JOIN:
                transport.write(b"".join(out))
            else:
                transport.writelines(out)
        if queued > HIGH_WATER and not self._backed_up:
            # The door may have seen a full outbox; the kernel took all of it at once.
            self._connections.loop.call_soon(self._drained_at_once)
        if self._eof_due and not transport.is_closing():
            self._eof_due = False
            try:
                transport.write_eof()
            except OSError:  # the client has reset the connection
                transport.abort()

    def abort(self) -> None:
        self._transport.abort()

    # Opening

    def _handshake(self, data: bytes) -> None:
        protocol = self._protocol
        seen = max(len(self._head) - 3, 0)
        self._head += data
        end = self._head.find(b"\r\n\r\n", seen)
        rest = b""
        if end >= 0:
            surplus = len(self._head) - (end + 4)
            if surplus:
                data, rest = data[:-surplus], data[-surplus:]
        if len(self._head) - len(rest) > handshake.MAX_HEAD_BYTES:
            self._respond(handshake.oversized(protocol))
            return
        protocol.receive_data(data)
        for request in protocol.events_received():
            assert isinstance(request, Request)
            self._origin = handshake.origin_of(request)
            refusal = self._connections.refusal or self._door.refusal(self._origin)
            is_local = self.way is Way.SOCKET
            answered = handshake.answer(
                protocol, request, self._connections.port, refusal, is_local=is_local
            )
            self._respond(answered)
        if has_sent_eof(protocol) and isinstance(protocol.handshake_exc, InvalidMessage):
            self._enqueue(handshake.malformed(protocol).serialize())
        self._collect()
        if protocol.state is OPEN:
            self._greet()
            if rest:
                self._receive(rest)
        elif has_sent_eof(protocol):
            self._leave()

    def _respond(self, response: Response) -> None:
        self._protocol.send_response(response)
        self._collect()
        if self._protocol.state is not OPEN:
            self._leave()

    def _greet(self) -> None:
        self._head.clear()
        self._open = self._greeted = True
        self._connections.to_open(self)
        self._arm(self._connections.timing.ping, self._send_ping)
        self._door.opened(self)

    # Reading

    def _receive(self, data: bytes) -> None:
        single = self._open and not self._trusted
        events = self._incoming.receive(data, single=single)
        if self._incoming.has_output and self._protocol.state is OPEN:
            self._incoming.has_output = False
            self._collect()  # pongs, ahead of the answers to what came after the pings
        for event in events:
            if not self._open:
                break
            if type(event) is bytes:
                self._door.received(self, event)
            elif type(event) is Oversized:
                self._door.received_oversized(self, event.start)
            elif type(event) is Binary:
                self.binary_received(event)
            elif type(event) is TooManyFragments:
                self._protocol.fail(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
                break
            else:
                self._control(cast("Frame", event))
        if self._protocol.state is not OPEN:
            self._collect()  # a close frame, behind the answers to what came before it
            self._left_open()
        elif single and events and self._incoming.pending and not self._held:
            # What follows a message of an unauthenticated client is looked at after the door had
            # its turn: by then it may be authenticated, and its frames may be larger.
            self._held = True
            self._adjust_reading()
            self._connections.loop.call_soon(self._read_on)

    def binary_received(self, message: Binary) -> None:
        """Report a binary message to the door, which refuses it without looking inside."""
        self._door.received_binary(self, message.size)

    def _new_incoming(self) -> Incoming:
        return Incoming(self._protocol, MAX_UNAUTHENTICATED_BYTES, MAX_UNAUTHENTICATED_BYTES)

    def _control(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PONG and self._ping is not None and frame.data == self._ping:
            self._ping = None
            self._arm(self._connections.timing.ping, self._send_ping)

    def _read_on(self) -> None:
        self._held = False
        if self._wanted and not self._transport.is_closing():
            self._receive(b"")
        self._adjust_reading()

    def _adjust_reading(self) -> None:
        reading = self._wanted and not self._held
        if reading == self._reading or self._transport.is_closing():
            return
        self._reading = reading
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    # Pings

    def _send_ping(self) -> None:
        self._pings += 1
        self._ping = self._pings.to_bytes(4, "big")
        self._protocol.send_ping(self._ping)
        self._collect()
        self._arm(self._connections.timing.pong, self._no_pong)

    def _no_pong(self) -> None:
        if not self._wanted:
            # It may well have answered: this end does not read while it is paused.
            self._send_ping()
            return
        self.close(CloseCode.INTERNAL_ERROR, "no answer to a ping")

    # Closing

    def _left_open(self) -> None:
        """The close handshake has begun, or the client has gone: nothing is sent any more."""
        protocol = self._protocol
        if self._open:
            self._open = False
            self._leave()
            self.resume_reading()  # for the client's close frame
        if has_received_close(protocol) or has_sent_eof(protocol):
            self._farewell()

    def _leave(self) -> None:
        """What was sent last may still be read, for a while."""
        self._connections.to_transient(self, is_leaving=True)
        self._arm(self._connections.timing.close, self.abort)

    def _farewell(self) -> None:
        """Tell the door, once, that nothing reaches this client any more."""
        if self._greeted:
            self._greeted = False
            self._door.closed(self)

    # Output and time

    def _collect(self) -> None:
        for data in self._protocol.data_to_send():
            if not data:
                self._eof_due = True
                self._enqueue(b"")
            elif self._backed_up and data[0] == _PONG:
                # A client that pings and does not read gets the last pong only (RFC 6455, 5.5.3).
                self._late_pong = data
            else:
                self._enqueue(data)

    def _enqueue(self, data: bytes) -> None:
        if data:
            self._out.append(data)
            self._queued += len(data)
        if not self._flush_due:
            self._flush_due = True
            self._connections.flusher.add(self)

    def _drained_at_once(self) -> None:
        if self._open and not self._backed_up:
            self._door.drained(self)

    def _arm(self, delay: float, action: Callable[[], None]) -> None:
        """Set the connection's one timer: handshake, ping, pong or close."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._connections.loop.call_later(delay, action)
