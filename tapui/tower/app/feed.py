"""Where the tower's data comes from and where its decisions go: embedded or remote, one protocol.

The station gives the tower a feed. The tower folds what the feed yields into its own `State` and
sends tower messages back; it never learns whether the gateway lives in its own process.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from tapui.projection.feed import FeedItem, Position
from tapui.wire.message import Message


class Feed(Protocol):
    """A running gateway as the tower sees it."""

    @property
    def address(self) -> str:
        """The gateway's URL, such as `ws://localhost:9400`."""

    @property
    def is_embedded(self) -> bool:
        """Whether the gateway ends with this app."""

    def items(self) -> AsyncIterator[FeedItem]:
        """Yield what comes, snapshot first. Batches are bounded; a tower that falls behind gets a
        new snapshot instead of a backlog."""

    def send(self, message: Message) -> None:
        """Send a tower message. Never blocks; a link that is down drops it and answers with a
        `tower.notice`."""

    async def stop(self, deadline: float) -> None:
        """End the gateway if it is embedded (at most `deadline` seconds), else only leave it."""


class ReplayedFeed(Feed, Protocol):
    """Records instead of a gateway: the orders move through them, and take effect one by one."""

    @property
    def position(self) -> Position:
        """Where it is."""

    def now(self) -> float:
        """When that was, in seconds since the epoch."""

    def step(self, events: int) -> None:
        """Go on by so many events, or back."""

    def step_turn(self, direction: int) -> None:
        """Go to where the next turn begins (1), or to where this one or the one before did (-1)."""

    def go_to(self, seconds: float) -> None:
        """Go to a time, in seconds since the epoch."""

    def play(self) -> None:
        """Begin to play, or stop."""

    def change_speed(self, direction: int) -> None:
        """Play faster (1) or slower (-1)."""
