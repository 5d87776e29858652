"""What a tail has of each stream that it shows: lines in a row, and where more of them are."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, itemgetter
from typing import NamedTuple

from tapui.projection.state import StreamKey
from tapui.tower.app.buffers import Ring
from tapui.wire.message import Line

_seq = attrgetter("seq")
place = itemgetter(0, 1, 2)
"""What rows of a tail are sorted by: the time, then the stream, then the number."""


Place = tuple[str, int, int]
NOWHERE: Place = ("", 0, 0)


class TailRow(NamedTuple):
    """A line in its place in the tail.

    `ts` is the line's time; within a stream it never goes back, even where the clock did.
    `is_gap`: lines before it never came here.
    """

    ts: str
    order: int
    seq: int
    line: Line
    source: "TailSource"
    is_gap: bool = False


@dataclass(slots=True, eq=False)
class TailSource:
    """The rows that a tail has of one stream, oldest first, and the stream's ring.

    `key` changes when the stream moves to another session, `order` never. `is_exhausted`: nothing
    older is to be had. `mark` is the number of the newest line when the person stopped. Without
    rows, `since` is the time from which lines are looked for. Between the places `known_from` and
    `known_to` no line is missing, though there may be rows at neither.
    """

    key: StreamKey
    order: int
    ring: Ring
    mark: int = 0
    since: str = ""
    rows: list[TailRow] = field(init=False)
    taken: Ring = field(init=False)
    epoch: int = field(init=False)
    merges: int = field(init=False)
    is_exhausted: bool = field(init=False)
    known_from: Place | None = field(init=False)
    known_to: Place = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.taken = self.ring
        self.epoch, self.merges = self.ring.epoch, self.ring.merges
        self.is_exhausted = False
        self.known_from, self.known_to = None, NOWHERE
        self.rows = []
        self.rows = self.following(self.ring.lines)

    @property
    def is_anew(self) -> bool:
        """Whether the stream began anew since rows were taken from it."""
        return self.ring is not self.taken or self.ring.epoch != self.epoch

    @property
    def has_merged(self) -> bool:
        """Whether lines were put into the ring before its newest since `merge`."""
        return self.ring.merges != self.merges

    @property
    def newest(self) -> int:
        """The number of the newest row; 0 without rows."""
        return self.rows[-1].seq if self.rows else 0

    @property
    def has_older(self) -> bool:
        return bool(self.rows) and self.rows[0].seq > 1 and not self.is_exhausted

    @property
    def first(self) -> Place:
        return self.known_from or (place(self.rows[0]) if self.rows else NOWHERE)

    @property
    def last(self) -> Place:
        return max(self.known_to, place(self.rows[-1]) if self.rows else NOWHERE)

    @property
    def lags(self) -> bool:
        ring = self.ring.lines
        return bool(ring) and not self.is_anew and ring[-1].seq > self.newest

    @property
    def is_near(self) -> bool:
        return self.ring.lines[0].seq <= self.newest + 1 if self.ring.lines else True

    def following(self, lines: Iterable[Line]) -> list[TailRow]:
        """Return rows for lines that come after those that are here. They are not added."""
        rows: list[TailRow] = []
        last = self.rows[-1] if self.rows else None
        seq, ts = (last.seq, last.ts) if last else (0, "")
        for line in lines:
            ts = max(line.ts, ts)
            rows.append(TailRow(ts, self.order, line.seq, line, self, 0 < seq != line.seq - 1))
            seq = line.seq
        return rows

    def in_ring(self, most: int | None = None) -> list[TailRow]:
        """Return rows for what the ring has after the rows, the oldest `most` of them."""
        newest, fresh = self.newest, list[Line]()
        for line in reversed(self.ring.lines):
            if line.seq <= newest:
                break
            fresh.append(line)
        return self.following(islice(reversed(fresh), most))

    def add_older(self, lines: list[Line]) -> None:
        """Put lines before the rows, as far as they are older."""
        first = self.rows[0] if self.rows else None
        older = [line for line in lines if first is None or line.seq < first.seq]
        rows, self.rows = self.rows, []
        added = self.following(older)
        if first is not None:  # where the clock went back, what is older still stands before
            added = [row._replace(ts=min(row.ts, first.ts)) for row in added]
        self.known_from = None
        if rows and added and rows[0].seq != added[-1].seq + 1:
            rows[0] = rows[0]._replace(is_gap=True)
        self.rows = added + rows

    def merge(self) -> bool:
        """Take lines over that were put into the ring before its newest; say whether any were."""
        self.merges = self.ring.merges
        newest = self.newest
        known = {row.seq: row.line for row in self.rows}
        missed = {one.seq: one for one in self.ring.lines if one.seq < newest}
        missed = {seq: line for seq, line in missed.items() if seq not in known}
        if not missed:
            return False
        known |= missed
        self.rows = []
        self.rows = self.following(known[seq] for seq in sorted(known))
        return True

    def drop_above(self, edge: Place) -> None:
        """Forget rows before this place, but for one."""
        gone = min(bisect_left(self.rows, edge, key=place), len(self.rows) - 1)
        if gone > 0:
            del self.rows[:gone]
            self.known_from = edge
            self.is_exhausted = False

    def drop_below(self, edge: Place) -> None:
        """Forget rows behind this place, but for one."""
        kept = max(bisect_right(self.rows, edge, key=place), 1)
        del self.rows[kept:]
        self.known_to = edge

    def drop_before(self, seq: int) -> None:
        gone = bisect_left(self.rows, seq, key=_seq)
        if gone:
            del self.rows[:gone]
            self.is_exhausted = False

    def set_rows(self, lines: list[Line], until: str, known_to: Place) -> None:
        """Have these lines instead, the last ones up to a time."""
        self.since = until
        self.known_from, self.known_to = None, known_to
        self.rows = []
        self.rows = self.following(lines)
        self.is_exhausted = not lines
