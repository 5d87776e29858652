"""Ports: the ends of connections, in process or on a socket, behind one interface.

A port only carries. Who may do what is decided in the core; when it happens, in `turn.py`.
"""

from typing import Protocol

from tapui.core.effects import ConnectionId
from tapui.core.model import Way
from tapui.home.local_socket import Peer
from tapui.wire.message import Message


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
