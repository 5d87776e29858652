"""Where the tower's data comes from and where its decisions go: embedded or remote, one protocol.

The station gives the tower a feed. The tower folds what the feed yields into its own `State` and
sends tower messages back; it never learns whether the gateway lives in its own process.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.tower import TowerSnapshot


@dataclass(frozen=True, slots=True)
class Link:
    """The state of the connection to the gateway.

    `up`: events flow. `down`: it was lost and is being tried again; `detail` says why.
    `ended`: it is gone for good.
    """

    state: Literal["up", "down", "ended"]
    detail: str = ""


FeedItem = TowerSnapshot | list[Entry] | Message | Link
"""A snapshot (throw the state away, start from it), a batch of consecutive events, an answer to
something that the tower sent (`stream.lines`, `tool.outcome`, `error`, `approval.revealed` …) or
news of the link."""


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
        """Send a tower message. Never blocks; a link that is down drops it and says so in a
        `tower.notice`."""

    async def stop(self, deadline: float) -> None:
        """End the gateway if it is embedded (at most `deadline` seconds), else only leave it."""
