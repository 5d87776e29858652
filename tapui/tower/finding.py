"""Finding in everything that was recorded: what the tower needs for it. The station has an index.

No text is wrong to look for: what the syntax is, and what it means, is the index's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record in which something was found.

    `marks` are the places in `excerpt` that were looked for. `is_cut`: the record itself holds only
    the beginning of what there was.
    """

    key: str
    kind: str
    ts: str
    session_id: str | None
    session: str
    turn: int | None
    title: str
    excerpt: str
    marks: tuple[tuple[int, int], ...]
    is_cut: bool


class RecordText(NamedTuple):
    """A record: its fields as text to be read, the file it is in, how many secrets were masked."""

    text: str
    path: str
    masked: int


@dataclass(slots=True)
class LastFind:
    """What was looked for last, and the row that was selected: the next sheet begins there."""

    text: str = ""
    key: str = ""


class FinderFault(Exception):  # noqa: N818 - in words, for the person
    """Nothing can be found, and why. `will_pass`: it is worth trying again in a moment."""

    def __init__(self, text: str, *, will_pass: bool = False) -> None:
        super().__init__(text)
        self.will_pass = will_pass


class Finder(Protocol):
    """Looks in the records. It belongs to one thread; `interrupt` alone is for others."""

    def find(self, text: str, most: int) -> Iterator[list[FoundRecord]]:
        """Yield what is found, in parts, each at most `most` and its newest first. A part may hold
        newer records than the ones before it. Raises `FinderFault`."""

    def indexed(self) -> float:
        """Return how much of the records can be found, from 0 to 1. Raises `FinderFault`."""

    def is_catching_up(self) -> bool:
        """Return whether more will be found in a moment, without anything new being recorded."""

    def read(self, found: FoundRecord) -> RecordText | None:
        """Return the record, None if it is no longer there."""

    def interrupt(self) -> None:
        """End what `find` does, soon; it may raise `FinderFault` then."""

    def close(self) -> None:
        """Let everything go."""
