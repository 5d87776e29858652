"""Ports: the ends of connections, in process or on a socket, behind one interface.

A port only carries. Who may do what is decided in the core; when it happens, in `turn.py`. An end
in this process gets the same messages, without bytes. `Flusher` collects the writes of one turn of
the event loop; `SlowReaders` bounds what waits for a reader that is slow.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import Protocol

from tapui.core.effects import ConnectionId
from tapui.core.gateway import Gateway
from tapui.core.model import Standing, Way
from tapui.home.local_socket import Peer
from tapui.wire import limits
from tapui.wire.codec import encodable
from tapui.wire.errors import WireError
from tapui.wire.events import Entry
from tapui.wire.message import Message

_log = logging.getLogger(__name__)
_HOST_HIGH = limits.OUTBOX_BYTES // 8


class Port(Protocol):
    """One end of a conversation, as the turn sees it."""

    number: ConnectionId
    """The connection's number in the core, set by the turn; 0 before it is open."""

    @property
    def is_in_process(self) -> bool:
        """Whether this end is in this process, and not on a socket."""

    @property
    def client_end(self) -> tuple[tuple[str, int], tuple[str, int]] | None:
        """The client's address and ours over TCP, as (IP, port); None for all other ends."""

    @property
    def peer(self) -> Peer:
        """The process at the other end, as the system names it; over TCP its user alone."""

    @property
    def outbox_bytes(self) -> int:
        """Bytes that were sent to this end and have not left the process."""

    @property
    def sent_bytes(self) -> int:
        """Bytes of all messages that this end was ever sent."""

    def deliver(self, message: Message) -> None:
        """Hand over a message of the gateway. May raise; the connection is then closed."""

    def authenticated(self) -> None:
        """Lift the frame limit of unauthenticated clients."""

    def close(self, code: int, reason: str) -> None:
        """Close after everything queued was written (1000, 1001, 1008, 1009, 1011 …)."""

    def pause_reading(self) -> None:
        """Read nothing more from this end until `resume_reading()`."""

    def resume_reading(self) -> None:
        """Read on."""


class SocketPort(Port, Protocol):
    """A client on a socket. The server implements it."""

    @property
    def way(self) -> Way:
        """How it came."""

    @property
    def origin(self) -> str | None:
        """The Origin header of the handshake, or None for a native client."""

    def send(self, data: bytes) -> None:
        """Queue one text frame (UTF-8 JSON). Frames of one loop turn leave in one write."""


class Door(Protocol):
    """The gateway as the server sees it. All methods are called on the event loop's thread."""

    def refusal(self, origin: str | None) -> str | None:
        """Return why no further connection is taken (HTTP 503), from a page of an Origin or from a
        program; or None."""

    def opened(self, port: SocketPort) -> None:
        """A handshake was completed."""

    def received(self, port: SocketPort, data: bytes) -> None:
        """A complete text message arrived. Its UTF-8 is not checked yet."""

    def received_oversized(self, port: SocketPort, start: bytes) -> None:
        """A text message arrived that is too large to be kept; `start` is its beginning."""

    def received_binary(self, port: SocketPort, size: int) -> None:
        """A binary message arrived (it is refused)."""

    def drained(self, port: SocketPort) -> None:
        """The outbox fell below the transport's low-water mark."""

    def closed(self, port: SocketPort) -> None:
        """The connection is gone. Called exactly once for every `opened`."""


class Inputs(Protocol):
    """What an in-process end hands its messages to: the turn."""

    def given(self, connection: ConnectionId, message: Message) -> None:
        """Take a message."""

    def unfit(self, connection: ConnectionId, error: WireError) -> None:
        """A message could not be JSON; the end gets the error with the next turn."""

    def snapshot_wanted(self, connection: ConnectionId) -> None:
        """A tower wants a new snapshot."""

    def left(self, connection: ConnectionId) -> None:
        """The end was closed from its own side."""


class InProcessPort:
    """The gateway's side: hands messages and batches of events to functions. Implements `Port`.

    `receive` gets each message of the gateway, `closed` is called once when the gateway ends the
    connection, `watch` gets batches of events and their bytes as JSON (towers only). They are
    called while effects are carried out, never from within `InProcessEnd.send`. One that raises
    loses its connection.
    """

    is_in_process = True
    client_end = None
    outbox_bytes = 0
    sent_bytes = 0

    def __init__(
        self,
        receive: Callable[[Message], None],
        closed: Callable[[], None],
        watch: Callable[[list[Entry], int], None] | None = None,
    ) -> None:
        self._receive = receive
        self._closed = closed
        self._watch = watch
        self.peer = Peer(os.getpid(), os.geteuid())
        self.number: ConnectionId = 0
        self.is_open = True

    def deliver(self, message: Message) -> None:
        if self.is_open:
            self._receive(message)

    def deliver_events(self, entries: list[Entry], size: int) -> None:
        """Hand over a batch of events, of `size` bytes as JSON; the list is the receiver's."""
        if self.is_open and self._watch is not None:
            self._watch(entries, size)

    def close(self, code: int, reason: str) -> None:  # noqa: ARG002 - only sockets carry them
        if self.is_open:
            self.is_open = False
            self._closed()

    def authenticated(self) -> None:
        """Messages of this process have no frame limit."""

    def pause_reading(self) -> None:
        """Nothing is read here: messages are handed over by their sender."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""


class InProcessEnd:
    """The other side: a host, a tower or the built-in tools, inside the gateway's own process."""

    def __init__(self, inputs: Inputs, port: InProcessPort) -> None:
        self._inputs = inputs
        self._port = port

    def send(self, message: Message) -> None:
        """Send a message to the gateway; what it causes comes with the next turn.

        Text that no JSON can carry is mended first (see `tapui.wire.surrogates`); a message that
        cannot be JSON at all is answered with `INVALID_JSON`, like one from a socket.
        """
        port = self._port
        if not port.is_open:
            return
        try:
            message = encodable(message)
        except WireError as error:
            self._inputs.unfit(port.number, error)
        else:
            self._inputs.given(port.number, message)

    def ask_for_snapshot(self) -> None:
        """Start from a new snapshot: for a tower that let go of events."""
        if self._port.is_open:
            self._inputs.snapshot_wanted(self._port.number)

    def close(self) -> None:
        if self._port.is_open:
            self._port.is_open = False
            self._inputs.left(self._port.number)


class SlowReaders:
    """The bounds of what was sent to `ports` and not read."""

    def __init__(self, gateway: Gateway, ports: Mapping[ConnectionId, Port]) -> None:
        self._gateway = gateway
        self._ports = ports
        self._full_hosts: dict[ConnectionId, list[ConnectionId]] = {}
        """The providers that are not read for the sake of each full host."""
        self._snapshots: dict[ConnectionId, int] = {}
        """How many bytes each tower had been sent with the end of its last snapshot."""
        self.behind: set[ConnectionId] = set()
        """Towers that get no events until they have read what they were sent."""

    def snapshot_sent(self, tower: ConnectionId, port: Port) -> None:
        """A tower was sent a snapshot, as the last of what it was sent."""
        self._snapshots[tower] = port.sent_bytes

    def is_too_slow(self, number: ConnectionId) -> bool:
        """Bound what waits for a connection; return whether it must be dropped."""
        port = self._ports.get(number)
        if port is None:
            return False
        waiting = port.outbox_bytes
        if waiting < _HOST_HIGH:
            return False
        standing = self._gateway.standing(number)
        if standing is Standing.HOST:
            self._pause_feeders(number)
            return False
        most = limits.OUTBOX_BYTES
        if standing is Standing.TOWER:
            waiting = min(waiting, port.sent_bytes - self._snapshots.get(number, 0))
            if waiting > most:
                self.behind.add(number)
            most *= 2  # answers to its own questions still come, but not without end
        return waiting > most

    def _pause_feeders(self, host: ConnectionId) -> None:
        fed = self._full_hosts.setdefault(host, [])
        for feeder in self._gateway.feeders(host):
            if feeder in self._ports and feeder not in fed:
                fed.append(feeder)
                self._ports[feeder].pause_reading()

    def drained(self, number: ConnectionId) -> bool:
        """A connection has read what it was sent; return whether it is a tower that was behind."""
        self._read_feeders_of(number)
        was_behind = number in self.behind
        self.behind.discard(number)
        return was_behind

    def forget(self, number: ConnectionId) -> None:
        """A connection is gone; nothing waits for it."""
        self.behind.discard(number)
        self._snapshots.pop(number, None)
        self._read_feeders_of(number)

    def _read_feeders_of(self, host: ConnectionId) -> None:
        """Read on from the providers that were paused for the sake of a host."""
        for feeder in self._full_hosts.pop(host, ()):
            if not self._is_feeding_a_full_host(feeder) and (port := self._ports.get(feeder)):
                port.resume_reading()

    def _is_feeding_a_full_host(self, feeder: ConnectionId) -> bool:
        return any(feeder in feeders for feeders in self._full_hosts.values())


class Writer(Protocol):
    """Something with output to write."""

    def flush(self) -> None:
        """Write what was collected."""

    def abort(self) -> None:
        """Give up: what was collected cannot be written."""


class Flusher:
    """Flushes every writer that has something to write, at the end of the loop's turn."""

    __slots__ = ("_due", "_loop", "_scheduled")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: list[Writer] = []
        self._scheduled = False

    def add(self, writer: Writer) -> None:
        """Flush `writer` once in this turn. It must not be added again before it was flushed."""
        self._due.append(writer)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._end_of_turn)

    def flush(self) -> None:
        """Flush now, so that nothing waits for the loop's next turn."""
        while self._due:
            due, self._due = self._due, []
            for writer in due:
                try:
                    writer.flush()
                except Exception:  # noqa: BLE001 - logged; the others' output is still written
                    _log.exception("output could not be written; its connection is cut off")
                    writer.abort()

    def _end_of_turn(self) -> None:
        self._scheduled = False
        self.flush()
