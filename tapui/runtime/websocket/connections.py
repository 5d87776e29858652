"""What the connections of one server share, and which of them are there."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from tapui.core.model import Way
from tapui.runtime.ports import Door, Flusher
from tapui.wire.limits import MAX_FRAME_BYTES, MAX_RESULT_BYTES

MAX_TRANSIENT = 100
"""Sockets that came one way and are in their handshake or past their close; above it the oldest of
those past their close is cut off, or else the oldest of all: those who are refused and linger cut
off none whose handshake is on its way."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Time-outs of a connection, in seconds."""

    handshake: float = 10.0
    """From the TCP connection to the end of the opening handshake."""
    ping: float = 20.0
    """Between a pong and the next ping."""
    pong: float = 20.0
    """For the answer to a ping; after it the connection is closed (1011)."""
    close: float = 5.0
    """For the other side's part of a close; after it the socket is cut off."""


class Socket(Protocol):
    """A connection, as the others of its server know it."""

    @property
    def way(self) -> Way:
        """How it came."""

    def close(self, code: int, reason: str) -> None:
        """Close in order."""

    def abort(self) -> None:
        """Cut off."""


@dataclass(slots=True, eq=False)
class ServerConnections:
    """What the connections of one server share."""

    door: Door
    timing: Timing
    loop: asyncio.AbstractEventLoop
    port: int
    flusher: Flusher
    max_whole: int = MAX_RESULT_BYTES
    """The largest message of an authenticated client that is kept whole, in bytes."""
    max_frame: int = MAX_FRAME_BYTES
    """The largest message of an authenticated client that is read to its end, in bytes."""
    max_transient: int = MAX_TRANSIENT
    refusal: str | None = None
    """Why the server itself takes no further connection, or None."""
    sockets: dict[Socket, None] = field(default_factory=dict)
    """All sockets that exist."""
    transient: dict[Way, dict[Socket, bool]] = field(
        default_factory=lambda: {way: {} for way in Way}
    )
    """Those before the end of their handshake and after the begin of their close, oldest first, and
    whether they are leaving."""
    empty: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while there is none."""

    def to_transient(self, connection: Socket, *, is_leaving: bool = False) -> None:
        """Count a socket that is not an open connection; cut one off if there are many."""
        transient = self.transient[connection.way]
        if len(transient) >= self.max_transient and connection not in transient:
            left = next((one for one, leaves in transient.items() if leaves), None)
            oldest = left or next(iter(transient))
            del transient[oldest]
            oldest.abort()
        transient[connection] = is_leaving

    def to_open(self, connection: Socket) -> None:
        self.transient[connection.way].pop(connection, None)

    def arrived(self, connection: Socket) -> None:
        self.sockets[connection] = None
        self.empty.clear()
        self.to_transient(connection)

    def gone(self, connection: Socket) -> None:
        self.sockets.pop(connection, None)
        self.transient[connection.way].pop(connection, None)
        if not self.sockets:
            self.empty.set()

    def __post_init__(self) -> None:
        self.empty.set()
