"""The timeline of recorded sessions: how many events it has, when, and states to go on from.

Its end is there at once, before all of it was read."""

import dataclasses
import errno
import heapq
import sqlite3
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from tapui.index import store
from tapui.index.folder_fold import Checkpoint, checkpoint_before, frozen, thawed
from tapui.index.sources import Placed, ReadingOrder, Source, in_order, record_files
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.wire.events import Entry
from tapui.wire.turns import Turn

FileId = tuple[int, int]
"""Device and inode: a file keeps them when it is rotated."""


class Recorded:
    """The records of one session's folders, up to the sizes that its files had when it was opened.

    Raises `OSError` when a folder cannot be read.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        self._files = {file_id(one): one for folder in self.folders for one in record_files(folder)}

    @property
    def size(self) -> int:
        return sum(one.size for one in self._files.values())

    def read(self, offsets: Mapping[FileId, int]) -> Iterator[Placed]:
        """Yield what follows the offsets (of a file that they lack: all), in order.

        Raises `OSError`, also where the files are gone, or others have their names.
        """
        return self._merged([self._sources(folder) for folder in self.folders], offsets)

    def _merged(
        self, folders: list[list[Source]], offsets: Mapping[FileId, int]
    ) -> Iterator[Placed]:
        places = [{one: offsets.get(file_id(one), 0) for one in files} for files in folders]
        if len(places) == 1:
            return in_order(places[0])
        # One order over all: a session that wrote elsewhere for a while goes on there.
        order = ReadingOrder()
        streams = [_keyed(number, one, order) for number, one in enumerate(places)]
        return (placed for _, placed in heapq.merge(*streams, key=lambda item: item[0]))

    def _sources(self, folder: Path) -> list[Source]:
        now = {file_id(one): one for one in record_files(folder)}
        sources = []
        for id_, one in self._files.items():
            if one.path.parent != folder:
                continue
            there = now.get(id_)
            if there is None or not there.is_of(one.head):
                raise FileNotFoundError(errno.ENOENT, "the records were deleted", str(one.path))
            sources.append(dataclasses.replace(there, size=min(there.size, one.size)))
        # Rotation moves a file to the front of those of its collection, never past an older one.
        return sources


def file_id(source: Source) -> FileId:
    return source.device, source.inode


def _keyed(
    number: int, offsets: Mapping[Source, int], order: ReadingOrder
) -> Iterator[tuple[tuple[str, str, int, int], Placed]]:
    """Yield a folder's lines with what to sort them by; a damaged one goes with the one before."""
    key = ("", "", 0, number)
    for placed in in_order(offsets):
        if placed.record is not None:
            key = (*order.key(placed.record), number)
        yield key, placed


MARK_BYTES = 256 * 1024
"""Bytes of records between two marks at least."""
MARKS = 512
"""About so many marks are kept of a large journal."""
ASK_AFTER = 500
"""Events after which a survey looks whether it is to end."""


class Last(NamedTuple):
    """Which event it was, and when."""

    run: str
    seq: int
    ts: str

    def is_before(self, record: Record | Entry) -> bool:
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

    def __init__(
        self, journal: Recorded, *, mark_bytes: int = MARK_BYTES, ask_after: int = ASK_AFTER
    ) -> None:
        self.journal = journal
        self._ask_after = ask_after
        self.number = 0
        self.damaged = 0
        self.unknown = 0
        self.is_complete = False
        self._read = 0
        self._newest = ""
        self._spacing = max(mark_bytes, journal.size // MARKS)
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
            if point.number % self._ask_after == 0 and stop():
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


NEWEST = 500
"""Records of each collection that are read from the end."""
_FIRST = 20


def opening(journal: Recorded, state_dir: Path, newest: int = NEWEST) -> tuple[State, Entry | None]:
    """Return about the state at the end, and the last event.

    It begins from the index's last checkpoint, else from the first records, and folds the `newest`
    records of each collection. What happened between is missing until the journal was read.
    Raises `OSError`.
    """
    checkpoint = _checkpoint(journal, state_dir)
    state = State() if checkpoint is None else checkpoint.state
    records = [
        record
        for folder in journal.folders
        for collection in reader.ALL_COLLECTIONS
        for record in reader.tail(folder, collection, newest, damage=Damage())
    ]
    if checkpoint is None:  # the first records about the sessions say what these are
        records += [
            record
            for folder in journal.folders
            for record in islice(reader.scan(folder, "sessions"), _FIRST)
        ]
    unique = reader.in_order(list({(one.run, one.seq): one for one in records}.values()))
    if checkpoint is not None:
        known = Last(checkpoint.run, checkpoint.seq, checkpoint.ts)
        unique = [one for one in unique if known.is_before(one)]
    entries = [entry for record in unique if (entry := record.entry()) is not None]
    for entry in entries:
        fold(state, entry.event, entry.ts)
    return state, entries[-1] if entries else None


def _checkpoint(journal: Recorded, state_dir: Path) -> Checkpoint | None:
    if len(journal.folders) != 1:
        return None
    try:
        connection = store.reading(state_dir)
    except (store.IndexUnusable, sqlite3.Error, OSError):
        return None
    try:
        return checkpoint_before(connection, str(journal.folders[0]), None)
    except (sqlite3.Error, zlib.error, msgspec.DecodeError):
        return None
    finally:
        connection.close()
