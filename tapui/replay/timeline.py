"""The timeline of a journal: how many events it has, when, and states to go on from.

One pass over the journal makes it, beside the screen. What the pass has reached can be replayed.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import NamedTuple

from tapui.index.folder_state import frozen, thawed
from tapui.index.sources import Placed
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.records.reader import Record
from tapui.replay.recorded import FileId, Recorded, file_id
from tapui.wire.events import Entry
from tapui.wire.turns import Turn

MARK_BYTES = 256 * 1024
"""Bytes of records between two marks at least."""
MARKS = 512
"""About so many marks are kept of a large journal."""
_ASK_AFTER = 500


class Last(NamedTuple):
    """Which event it was, and when."""

    run: str
    seq: int
    ts: str

    def is_before(self, record: Record | Entry) -> bool:
        """Return whether a record was written after this event."""
        return record.seq > self.seq if record.run == self.run else record.ts > self.ts


@dataclass(frozen=True, slots=True)
class Milestone:
    """The state after the event `number`, frozen, and how far each file was read until there.

    `newest` is the newest time until there.
    """

    number: int
    newest: str
    last: Last | None
    offsets: dict[FileId, int]
    state: bytes


@dataclass(slots=True)
class Point:
    """A moment of the journal: the state after `number` events, the last of which was `last`."""

    number: int
    state: State
    offsets: dict[FileId, int]
    last: Last | None = None


class Timeline:
    """What is known of a journal's events so far.

    `survey` runs in a thread; the rest may be called from others meanwhile. `number` events were
    seen; `damaged` lines are no records, `unknown` ones are records of a kind that this version
    does not know.
    """

    def __init__(self, journal: Recorded) -> None:
        self.journal = journal
        self.number = 0
        self.damaged = 0
        self.unknown = 0
        self.is_complete = False
        self._read = 0
        self._newest = ""
        self._spacing = max(MARK_BYTES, journal.size // MARKS)
        self._marks = [Milestone(0, "", None, {}, frozen(State()))]
        self._turn_numbers = array("q")
        self._starts: dict[tuple[str, int], int] = {}

    @property
    def share(self) -> float:
        """How much of the journal was seen, from 0 to 1."""
        return 1.0 if self.is_complete else min(self._read / (self.journal.size or 1), 1.0)

    # Making it

    def survey(self, stop: Callable[[], bool]) -> None:
        """Read the whole journal once. Ends early once `stop` returns true.

        Raises `OSError` when the journal cannot be read (any more).
        """
        point = Point(0, State(), {})
        since = 0
        for placed in self.journal.read({}):
            length = placed.end - placed.begin
            self._read += length
            since += length
            entry = self._entry(placed)
            point.offsets[file_id(placed.source)] = placed.end
            if entry is None:
                continue
            point.number += 1
            point.last = Last(entry.run, entry.seq, entry.ts)
            self._newest = max(self._newest, entry.ts)
            begun = _begun_turn(point.state, entry)
            if begun is not None:
                self._starts[begun] = point.number
                self._turn_numbers.append(point.number)
            if since >= self._spacing:
                since = 0
                state = frozen(point.state)
                offsets = dict(point.offsets)
                self._marks.append(
                    Milestone(point.number, self._newest, point.last, offsets, state)
                )
            self.number = point.number
            if point.number % _ASK_AFTER == 0 and stop():
                return
        self.is_complete = True

    def _entry(self, placed: Placed) -> Entry | None:
        if placed.record is None:
            self.damaged += 1
            return None
        entry = placed.record.entry()
        if entry is None:
            self.unknown += 1
        return entry

    # Going to a moment

    def at(self, number: int) -> Point:
        """Return the moment after `number` events, at most what the survey has seen.

        Reads from the mark before: bounded work. Raises `OSError`.
        """
        number = max(0, min(number, self.number))
        mark = self._marks[bisect_right(self._marks, number, key=lambda one: one.number) - 1]
        point = Point(mark.number, thawed(mark.state), dict(mark.offsets), mark.last)
        if point.number < number:
            for entry in self.onward(point):
                fold(point.state, entry.event, entry.ts)
                if point.number == number:
                    break
        return point

    def onward(self, point: Point) -> Generator[Entry]:
        """Yield the events after a moment and move it along; its state stays unchanged."""
        for placed in self.journal.read(point.offsets):
            point.offsets[file_id(placed.source)] = placed.end
            entry = None if placed.record is None else placed.record.entry()
            if entry is None:
                continue
            point.number += 1
            point.last = Last(entry.run, entry.seq, entry.ts)
            yield entry

    def has_reached(self, ts: str) -> bool:
        """Return whether what happened until a time was seen."""
        return self.is_complete or ts <= self._newest

    def number_at(self, ts: str) -> int:
        """Return how many events had happened by a time (RFC 3339); raises `OSError`."""
        at = max(bisect_right(self._marks, ts, key=lambda one: one.newest) - 1, 0)
        point = Point(self._marks[at].number, State(), dict(self._marks[at].offsets))
        for entry in self.onward(point):
            if entry.ts > ts:
                return point.number - 1
            if point.number >= self.number:
                break
        return point.number

    # Turns

    @property
    def turns(self) -> int:
        return len(self._turn_numbers)

    def turn_at(self, number: int) -> int:
        """Return how many turns had begun after `number` events."""
        return bisect_right(self._turn_numbers, number)

    def turn_after(self, number: int) -> int:
        """Return the event with which the next turn begins; the last event where none does."""
        at = bisect_right(self._turn_numbers, number)
        return self._turn_numbers[at] if at < len(self._turn_numbers) else self.number

    def turn_before(self, number: int) -> int:
        """Return the event with which this turn, or the one before, began; 0 where none did."""
        at = bisect_left(self._turn_numbers, number)
        return self._turn_numbers[at - 1] if at else 0

    def turn(self, session_id: str, number: int) -> Turn | None:
        """Return a turn whole, as it was when the next one of its session began.

        None while that was not reached. Raises `OSError`.
        """
        end = self._starts.get((session_id, number + 1))
        if end is None:
            return None
        turns = self.at(end - 1).state.turns.get(session_id)
        return None if turns is None else turns.turn(number)


def _begun_turn(state: State, entry: Entry) -> tuple[str, int] | None:
    """Fold an event; return the session and the number of the turn that it began, if it did."""
    session_id: str = getattr(entry.event, "session_id", None) or ""
    turns = state.turns.get(session_id)
    before = turns.latest if turns is not None else None
    fold(state, entry.event, entry.ts)
    turns = state.turns.get(session_id)
    latest = turns.latest if turns is not None else None
    if latest is None or latest is before:
        return None
    return session_id, latest.number
