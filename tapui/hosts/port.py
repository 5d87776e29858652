"""A host's end of the gateway: the messages of the host conversation, without their bytes.

A port is in the gateway's process, or on a socket (`socket_port`).
"""

from collections.abc import Callable
from typing import Literal, Protocol

from tapui.wire.message import Message


class HostPort(Protocol):
    """The connection of a host. All of it happens on the event loop's thread."""

    def send(self, message: Message) -> None:
        """Queue a message to the gateway; its answers come later, never from within this call."""

    def close(self) -> None:
        """End the connection; the host's sessions close, reason "host disconnected"."""


ReportLevel = Literal["info", "warning", "error"]
Report = Callable[[str, ReportLevel], None]
"""Tells the person something that is no event; the text is not yet safe for a screen."""
Receive = Callable[[Message], None]
"""Takes each message of the gateway, in order; the first is `sessions`."""
Closed = Callable[[], None]
"""Called once, when the gateway has ended the connection."""
OpenPort = Callable[[Receive, Closed], HostPort]
"""Opens a port with the trust of an internal host."""
