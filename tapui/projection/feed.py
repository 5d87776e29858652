"""What a feed yields: the items that a tower folds, wherever its gateway runs."""

from dataclasses import dataclass
from typing import Literal

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
