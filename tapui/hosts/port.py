"""A host's end of the gateway, in process: the messages of the host conversation without bytes."""

from collections.abc import Callable
from typing import Protocol

from tapui.wire.message import Message


class HostPort(Protocol):
    """The connection of an in-process host. All of it happens on the event loop's thread."""

    def send(self, message: Message) -> None:
        """Queue a message to the gateway; its answers come later, never from within this call."""

    def close(self) -> None:
        """End the connection; the host's sessions close, reason "host disconnected"."""


Receive = Callable[[Message], None]
"""Takes each message of the gateway, in order; the first is `sessions`."""
Closed = Callable[[], None]
"""Is told once that the gateway ended the connection."""
OpenPort = Callable[[Receive, Closed], HostPort]
"""Opens a port with the trust of an internal host."""
