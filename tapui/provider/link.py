"""A link between a provider and a gateway: whole messages both ways, over any transport."""

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from tapui.wire.message import Message


class LinkLost(Exception):  # noqa: N818 - a state of the world
    """The link is gone: nothing will come or go over it any more. `reason` says why, in words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Link(Protocol):
    """One connection to a gateway. Only one task may wait in `receive` at a time."""

    async def send(self, message: Message) -> None:
        """Send a message; returns once the link takes more. Raises `LinkLost`."""

    async def receive(self) -> Message:
        """Return the gateway's next message, one of `tapui.wire.provider.ToProvider`.

        Raises `LinkLost` when there will be none, after all that had come was returned.
        """

    async def close(self) -> None:
        """Leave. What was sent before still goes out; calling it again does nothing."""


@runtime_checkable
class ReadyLink(Link, Protocol):
    """A link that can take a message without waiting, which saves a turn of the loop."""

    def offer(self, message: Message) -> bool:
        """Send a message if the link takes it now; return whether it did."""


Dial = Callable[[], Awaitable[Link]]
"""Opens a new link; each reconnect calls it again. Raises `LinkLost` where none can be opened."""
