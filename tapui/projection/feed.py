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


@dataclass(frozen=True, slots=True)
class Position:
    """Where a replay is: after event `number` of `total`, in turn `turn` of `turns`.

    `number` is None at the end of records that are still being read; `share`, from 0 to 1, is how
    much of them was. `ts` is when the event happened. `speed` is that of playing. `damaged` and
    `unknown` count lines that are no records, and events of a newer version.
    """

    number: int | None
    total: int
    share: float
    ts: str
    turn: int
    turns: int
    speed: int
    is_playing: bool
    damaged: int = 0
    unknown: int = 0
