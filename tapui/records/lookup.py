"""Looking up what a running gateway asks for: newest first, within bounds.

`find` answers with the newest records about a subject, with the turns of a session's earlier runs,
or with lines of one stream. An agent can write to these files: what they hold becomes turns and
lines, nothing else.

Records are in the order of time. Where the time of a stream's line is known, its place is found by
bisecting the files, and only what lies beside it is read. Whether that was right is seen by the
numbers: a stream's lines are numbered without gaps. Where they do not go on (a clock that went
back, damage), all is looked through from the end.
"""

import contextlib
import os
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tapui.core.effects import (
    EarlierTurns,
    LinesAfter,
    LinesBefore,
    ReadRecords,
    SpansBetween,
)
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.projection.turns.earlier_turns import bounded, interrupted
from tapui.projection.turns.session import LiveTurns
from tapui.records.reader import (
    Damage,
    Record,
    backward,
    collection_files,
    in_order,
    lines_backward,
    lines_forward,
    parse,
)
from tapui.wire import events as ev
from tapui.wire.events import COLLECTIONS, Entry, StreamPosted, TurnsRestored
from tapui.wire.turns import Turn

_COLLECTIONS = ("sessions", "calls", "approvals", "modes")
_MOST_BYTES = 8 * 1024 * 1024
"""Of each file."""
_MOST_RECORDS = 10_000
"""Of each collection."""
_MOST_TIME = 2.0
"""Seconds for all of it; what is older than what was read by then is left out."""
_KINDS = (
    ev.SessionHappened,
    ev.TurnsRestored,
    ev.SessionUpdated,
    ev.CallStarted,
    ev.CallFinished,
    ev.ApprovalRequested,
    ev.ApprovalDecided,
    ev.ApprovalWithdrawn,
    ev.ApprovalExpired,
    ev.ModeChanged,
    ev.GateChecked,
)
MAX_LOOKED_AT = 200_000
"""Records that one look-up passes at most."""
_BLOCK = 64 * 1024
_LONGEST = 4 * 1024 * 1024
"""Bytes that are read at most to find where a line ends."""


def find(folder: Path, run: str, asked: ReadRecords) -> list[Entry]:
    """Return the events that were asked for, oldest first: lines of this run, calls, approvals and
    turns of any.

    Raises `OSError` when a file cannot be read.
    """
    if isinstance(asked.wanted, EarlierTurns):
        turns = earlier_turns(folder, run, asked.session_id or "")
        return [Entry(run, 0, "", TurnsRestored(asked.session_id or "", turns))] if turns else []
    if isinstance(asked.wanted, LinesBefore):
        return lines_before(folder, run, asked.session_id, asked.wanted)
    if isinstance(asked.wanted, LinesAfter):
        return lines_after(folder, run, asked.session_id, asked.wanted)
    if isinstance(asked.wanted, SpansBetween):
        return spans_between(folder, asked.session_id, asked.wanted)
    return _newest_about(folder, asked.wanted.subject, asked.wanted.kinds)


def spans_between(folder: Path, session_id: str | None, wanted: SpansBetween) -> list[Entry]:
    """Return the newest spans between two times, of any run, oldest first.

    What lies after them is passed over, for `_MOST_TIME` seconds at most. Raises `OSError`.
    """
    deadline = time.monotonic() + _MOST_TIME
    found: list[Entry] = []
    trace = None if wanted.trace_id is None else msgspec.json.encode(wanted.trace_id)
    passed = 0
    for fd in collection_files(folder, "traces", newest_first=True):
        for line in lines_backward(fd, Damage()):
            passed += 1
            if passed > MAX_LOOKED_AT or time.monotonic() > deadline:
                return found[::-1]
            stamp = _stamp_of(line)
            if stamp is None or (wanted.until and stamp.ts > wanted.until):
                continue
            if stamp.ts < wanted.since:
                return found[::-1]
            if trace is not None and trace not in line:
                continue
            entry = _span_in(line, session_id, wanted.trace_id)
            if entry is not None:
                found.append(entry)
                if len(found) == wanted.most:
                    return found[::-1]
    return found[::-1]


def _span_in(line: bytes, session_id: str | None, trace_id: str | None) -> Entry | None:
    record = parse(line)
    if record is None or not isinstance(record.event, ev.SpanEnded):
        return None
    if session_id not in (None, record.session_id):
        return None
    if trace_id not in (None, record.event.span.trace_id):
        return None
    return record.entry()


def _newest_about(folder: Path, subject: str, kinds: tuple[str, ...]) -> list[Entry]:
    """Return the newest records about a subject, of the newest run that has any."""
    noun = kinds[0].partition(".")[0]
    collection = COLLECTIONS[noun]
    found: dict[str, Entry] = {}
    run = None
    for record in _newest(folder, collection):
        if record.kind not in kinds or record.kind in found or record.event is None:
            continue
        if getattr(getattr(record.event, noun), "id", None) == subject:
            if run is not None and record.run != run:
                break  # an id that a host used once more
            run = record.run
            found[record.kind] = Entry(record.run, record.seq, record.ts, record.event)
            # What began is older than what ended: nothing is left to look for.
            if len(found) == len(kinds) or record.kind == kinds[0]:
                break
    return sorted(found.values(), key=lambda entry: entry.seq)


def _newest(folder: Path, collection: str) -> Iterator[Record]:
    with contextlib.closing(backward(folder, collection, Damage())) as newest:
        yield from islice(newest, MAX_LOOKED_AT)


def earlier_turns(folder: Path, run: str, session_id: str, most: int = _MOST_BYTES) -> list[Turn]:
    """Return the newest turns of a session before `run`, oldest first.

    What was under way when a run ended is unknown. `most`: bytes of each file. Raises `OSError`
    when a file cannot be read.
    """
    deadline = time.monotonic() + _MOST_TIME
    found = [
        record
        for collection in _COLLECTIONS
        for record in _newest_of_session(
            folder, collection, run, session_id, most=most, deadline=deadline
        )
    ]
    state, latest = State(turns={session_id: LiveTurns(session_id)}), ""
    live, last = state.turns[session_id], ""
    for record in in_order(found):
        if latest and record.run != latest:
            interrupted(live, last)
        latest, last = record.run, record.ts
        event = record.event
        if isinstance(event, ev.TurnsRestored):
            event = replace(event, turns=bounded(event.turns))
        if event is not None:
            fold(state, event, record.ts)
    interrupted(live, last)
    return bounded(turn.told() for turn in live.turns)


def _newest_of_session(
    folder: Path, collection: str, run: str, session_id: str, *, most: int, deadline: float
) -> list[Record]:
    found: list[Record] = []
    with contextlib.closing(backward(folder, collection, Damage(), most=most)) as records:
        for number, record in enumerate(records):
            if number >= _MOST_RECORDS or time.monotonic() > deadline:
                break
            is_wanted = isinstance(record.event, _KINDS) and record.session_id == session_id
            if record.run != run and is_wanted:
                found.append(record)
    return found


class _Stamp(Struct):
    run: str
    ts: str


_stamp_decoder = msgspec.json.Decoder(_Stamp)


def _stamp_of(line: bytes) -> _Stamp | None:
    try:
        return _stamp_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def lines_before(
    folder: Path, run: str, session_id: str | None, wanted: LinesBefore
) -> list[Entry]:
    """Return the last lines before a number, oldest first. Raises `OSError`."""
    hint = wanted.until or wanted.at
    if hint:
        found = _before(folder, run, session_id, wanted, hint)
        goes_on = bool(found) and found[-1].event.line.seq == wanted.before - 1  # type: ignore[union-attr]
        if goes_on or (wanted.until and found):
            return found
    return _before(folder, run, session_id, wanted, "")


def _before(
    folder: Path, run: str, session_id: str | None, wanted: LinesBefore, hint: str
) -> list[Entry]:
    found: list[Entry] = []
    for entry in _newest_first(folder, run, session_id, wanted.stream, hint):
        line = entry.event.line  # type: ignore[union-attr]
        if line.seq >= wanted.before or (wanted.until and line.ts > wanted.until):
            continue
        found.append(entry)
        if len(found) == wanted.last or line.seq == 1:
            break
    return found[::-1]


def lines_after(folder: Path, run: str, session_id: str | None, wanted: LinesAfter) -> list[Entry]:
    """Return the first lines after a number, oldest first. Raises `OSError`."""
    if wanted.at:
        later = (
            entry
            for entry in _oldest_first(folder, run, session_id, wanted.stream, wanted.at)
            if entry.event.line.seq > wanted.after  # type: ignore[union-attr]
        )
        found = list(islice(later, wanted.most))
        if found and found[0].event.line.seq == wanted.after + 1:  # type: ignore[union-attr]
            return found
    kept: deque[Entry] = deque(maxlen=wanted.most)
    for entry in _newest_first(folder, run, session_id, wanted.stream, ""):
        if entry.event.line.seq <= wanted.after:  # type: ignore[union-attr]
            break
        kept.append(entry)
    return list(reversed(kept))


def _newest_first(
    folder: Path, run: str, session_id: str | None, stream: str, until: str
) -> Iterator[Entry]:
    """Yield the stream's lines of this run, newest first, from the time `until` on."""
    name = msgspec.json.encode(stream)
    passed = 0
    for fd in collection_files(folder, "streams", newest_first=True):
        end = _bisected(fd, run, until, is_end=True) if until else None
        if end == 0:
            continue
        until = "" if end is not None else until
        for line in lines_backward(fd, Damage(), end=end):
            passed += 1
            if passed > MAX_LOOKED_AT:
                return
            entry = _posted(line, name, stream, session_id)
            if entry is not None and entry.run != run:
                return
            if entry is not None:
                yield entry


def _oldest_first(
    folder: Path, run: str, session_id: str | None, stream: str, since: str
) -> Iterator[Entry]:
    """Yield the stream's lines of this run, oldest first, from the time `since` on."""
    name = msgspec.json.encode(stream)
    passed = 0
    for fd in collection_files(folder, "streams", newest_first=False):
        start = _bisected(fd, run, since, is_end=False)
        for line in lines_forward(fd, Damage(), start):
            passed += 1
            if passed > MAX_LOOKED_AT:
                return
            entry = _posted(line, name, stream, session_id)
            if entry is not None and entry.run == run:
                yield entry


def _posted(line: bytes, name: bytes, stream: str, session_id: str | None) -> Entry | None:
    """Return the line's event if it belongs to the stream; most lines of others are not decoded."""
    if name not in line:
        return None
    record = parse(line)
    if record is None or not isinstance(record.event, StreamPosted):
        return None
    event = record.event
    if event.stream != stream or event.session_id != session_id:
        return None
    return Entry(record.run, record.seq, record.ts, event)


def _bisected(fd: int, run: str, ts: str, *, is_end: bool) -> int:
    """Return where a line begins, near the time `ts` of a run in a file.

    With `is_end`, all lines from there on are later than `ts`; else all lines before it are
    earlier. Other runs in the file are earlier.
    """
    low, high = 0, os.fstat(fd).st_size
    end = high
    while high - low > _BLOCK:
        middle = (low + high) // 2
        found = _stamp_from(fd, middle, high)
        if found is None:
            high = middle
            continue
        start, stamp = found
        is_later = stamp.run == run and (stamp.ts > ts if is_end else stamp.ts >= ts)
        if is_later:
            high = middle
        else:
            low = start
    if not is_end:
        return low
    if low == 0:  # perhaps all of it is later
        first = _stamp_from(fd, -1, end)
        if first is not None and first[1].run == run and first[1].ts > ts:
            return 0
    return _line_from(fd, high, end)


def _stamp_from(fd: int, offset: int, end: int) -> tuple[int, _Stamp] | None:
    """Return the first line that begins after `offset` and is one: where, and its run and time."""
    start = 0 if offset < 0 else _line_from(fd, offset, end)
    while start < end:
        stop = _line_from(fd, start, end)
        try:
            return start, _stamp_decoder.decode(os.pread(fd, stop - start, start))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            start = stop
    return None


def _line_from(fd: int, offset: int, end: int) -> int:
    at = offset
    while at < min(end, offset + _LONGEST):
        block = os.pread(fd, _BLOCK, at)
        if not block:
            break
        found = block.find(b"\n")
        if found >= 0:
            return min(at + found + 1, end)
        at += len(block)
    return end
