"""What a tower reads on demand, out of the records of the moment that is replayed."""

import contextlib
from collections import deque
from collections.abc import Iterator

from tapui.core.conversations.reading import DETAIL_KINDS, detail_asked, turns_asked
from tapui.core.effects import ReadRecords, RecordsAbout
from tapui.core.streams.streams import fitting
from tapui.projection.turns.turn import LiveTurn
from tapui.records import lookup
from tapui.records.reader import Damage, backward
from tapui.replay.timeline import Last, Point, Timeline
from tapui.wire import limits
from tapui.wire.events import Entry, StreamPosted
from tapui.wire.message import Error, Line
from tapui.wire.tower import Detail, DetailRead, StreamLines, StreamRead, TurnsList, TurnsRead
from tapui.wire.turns import Turn

MAX_PASSED = 200_000
"""Records that one look backwards passes at most."""


def stream_lines(timeline: Timeline, point: Point, asked: StreamRead) -> StreamLines:
    """Return the lines of a stream up to the moment. Raises `OSError`."""
    wanted = min(max(asked.last, 0), limits.STREAM_LINES)
    before = limits.MAX_SEQ if asked.before is None else asked.before
    after = asked.after
    until = asked.at if asked.before is None and after is None else None
    # Of lines after a number the first are wanted, which are met last.
    found: deque[Line] = deque(maxlen=None if after is None else wanted)
    for event in _posted(timeline, point.last):
        if after is None and len(found) == wanted:
            break
        if event.stream != asked.stream or event.session_id != asked.session_id:
            continue
        line = event.line
        if line.seq >= before:
            continue
        if after is not None and line.seq <= after:
            break
        before = line.seq  # a stream that began anew has its lines to itself
        if until is None or line.ts <= until:
            found.append(line)
    if after is not None:
        return StreamLines(asked.id, fitting(reversed(found)))
    return StreamLines(asked.id, fitting(found)[::-1])


def _posted(timeline: Timeline, last: Last | None) -> Iterator[StreamPosted]:
    """Yield the events of streams up to a moment, newest first."""
    if last is None:
        return
    passed = 0
    for folder in reversed(timeline.journal.folders):
        with contextlib.closing(backward(folder, "streams", Damage())) as newest:
            for record in newest:
                passed += 1
                if passed > MAX_PASSED:
                    return
                if not last.is_before(record) and isinstance(record.event, StreamPosted):
                    yield record.event


def turns(timeline: Timeline, point: Point, asked: TurnsRead) -> TurnsList:
    """Return turns of a session, whole, as they were at the moment. Raises `OSError`."""

    def told(turn: LiveTurn) -> Turn:
        if turn.is_whole:
            return turn.told()
        return timeline.turn(turn.session_id, turn.number) or turn.told()

    return turns_asked(point.state, asked, told)


def detail(timeline: Timeline, point: Point, asked: DetailRead) -> Detail | Error:
    """Return all of a call, an approval or a provider as it was. Raises `OSError`."""
    state = point.state
    if asked.of == "provider" and (known := state.providers.get(asked.subject)) is not None:
        return Detail(asked.id, provider=known)
    entries: list[Entry] = []
    if asked.of in DETAIL_KINDS and point.last is not None:
        about = ReadRecords(0, None, RecordsAbout(asked.subject, DETAIL_KINDS[asked.of]))
        for folder in timeline.journal.folders:
            entries += lookup.find(folder, point.last.run, about)
        last = point.last
        entries = [one for one in entries if not last.is_before(one)]
    return detail_asked(state, asked, entries)
