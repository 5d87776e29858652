"""Ports: the ends of connections, in process or on a socket, behind one interface.

A port only carries. Who may do what is decided in the core; when it happens, in `turn.py`.
"""

from typing import Protocol


class SocketPort(Protocol):
    """A client on a socket, as the turn sees it. The server implements it."""

    @property
    def origin(self) -> str | None:
        """The Origin header of the handshake, or None for a native client."""

    @property
    def outbox_bytes(self) -> int:
        """Bytes that were sent to this client and have not left the process."""

    def send(self, data: bytes) -> None:
        """Queue one text frame (UTF-8 JSON). Frames of one loop turn leave in one write."""

    def authenticated(self) -> None:
        """Lift the frame limit of unauthenticated clients."""

    def close(self, code: int, reason: str) -> None:
        """Close after everything queued was written (1000, 1001, 1008, 1009, 1011 …)."""

    def pause_reading(self) -> None:
        """Read nothing more from this client until `resume_reading()`."""

    def resume_reading(self) -> None:
        """Read on."""


class Door(Protocol):
    """The gateway as the server sees it. All methods are called on the event loop's thread."""

    def refusal(self) -> str | None:
        """Return why no further connection is taken (HTTP 503), or None."""

    def opened(self, port: SocketPort) -> None:
        """A handshake was completed."""

    def received(self, port: SocketPort, data: bytes) -> None:
        """A complete text message arrived. Its UTF-8 is not checked yet."""

    def received_binary(self, port: SocketPort, size: int) -> None:
        """A binary message arrived (it is refused)."""

    def drained(self, port: SocketPort) -> None:
        """The outbox fell below the transport's low-water mark."""

    def closed(self, port: SocketPort) -> None:
        """The connection is gone. Called exactly once for every `opened`."""
