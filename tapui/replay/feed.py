"""A feed out of records: the tower's screens at any moment of a journal, read-only."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from tapui import times
from tapui.core.conversations.reading import (
    DETAIL_KINDS,
    detail_asked,
    spans_asked,
    spans_between,
    turns_asked,
)
from tapui.core.effects import ReadRecords, RecordsAbout
from tapui.core.streams.streams import fitting
from tapui.projection.feed import FeedItem, Link, Position
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.projection.turns.turn import LiveTurn
from tapui.records import lookup
from tapui.records.reader import Damage, backward
from tapui.replay.timeline import Last, Point, Recorded, Timeline, opening
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.errors import ErrorCode
from tapui.wire.events import Entry, Event, GoalEvent, StreamPosted
from tapui.wire.goals import Goal, GoalsList, GoalsRead
from tapui.wire.message import Error, Line, Message
from tapui.wire.tower import (
    Detail,
    DetailRead,
    Notice,
    SpansList,
    SpansRead,
    StreamLines,
    StreamRead,
    TowerSnapshot,
    TurnsList,
    TurnsRead,
)
from tapui.wire.turns import Turn

MAX_PASSED = 200_000
"""Records that one look backwards passes at most."""


def stream_lines(timeline: Timeline, point: Point, wanted_: StreamRead) -> StreamLines:
    """Return the lines of a stream up to the moment. Raises `OSError`."""
    wanted = min(max(wanted_.last, 0), limits.STREAM_LINES)
    before = limits.MAX_SEQ if wanted_.before is None else wanted_.before
    after = wanted_.after
    until = wanted_.at if wanted_.before is None and after is None else None
    # Of lines after a number the first are wanted, which are met last.
    lines: deque[Line] = deque(maxlen=None if after is None else wanted)
    for event in _told(timeline, point.last, "streams"):
        if after is None and len(lines) == wanted:
            break
        if not isinstance(event, StreamPosted):
            continue
        if event.stream != wanted_.stream or event.session_id != wanted_.session_id:
            continue
        line = event.line
        if line.seq >= before:
            continue
        if after is not None and line.seq <= after:
            break
        before = line.seq  # a stream that began anew has its lines to itself
        if until is None or line.ts <= until:
            lines.append(line)
    if after is not None:
        return StreamLines(wanted_.id, fitting(reversed(lines)))
    return StreamLines(wanted_.id, fitting(lines)[::-1])


def _told(timeline: Timeline, last: Last | None, collection: str) -> Iterator[Event]:
    """Yield the events of a collection up to a moment, newest first."""
    if last is None:
        return
    passed = 0
    for folder in reversed(timeline.journal.folders):
        with contextlib.closing(backward(folder, collection, Damage())) as newest:
            for record in newest:
                passed += 1
                if passed > MAX_PASSED:
                    return
                if not last.is_before(record) and record.event is not None:
                    yield record.event


def turns(timeline: Timeline, point: Point, read: TurnsRead) -> TurnsList:
    """Return turns of a session, whole, as they were at the moment. Raises `OSError`."""

    def whole(turn: LiveTurn) -> Turn:
        if turn.is_whole:
            return turn.told()
        return timeline.turn(turn.session_id, turn.number) or turn.told()

    return turns_asked(point.state, read, whole)


def detail(timeline: Timeline, point: Point, read: DetailRead) -> Detail | Error:
    """Return all of a call, an approval or a provider as it was. Raises `OSError`."""
    state = point.state
    if read.of == "provider" and (known := state.providers.get(read.subject)) is not None:
        return Detail(read.id, provider=known)
    entries: list[Entry] = []
    if read.of in DETAIL_KINDS and point.last is not None:
        about = ReadRecords(0, None, RecordsAbout(read.subject, DETAIL_KINDS[read.of]))
        for folder in timeline.journal.folders:
            entries += lookup.find(folder, point.last.run, about)
        last = point.last
        entries = [one for one in entries if not last.is_before(one)]
    return detail_asked(state, read, entries)


def spans(timeline: Timeline, point: Point, read: SpansRead) -> SpansList:
    """Return spans of a session as far as they had ended at the moment. Raises `OSError`."""
    entries: list[Entry] = []
    last = point.last
    if last is not None:
        wanted = spans_between(read)
        for folder in timeline.journal.folders:
            entries += lookup.spans_between(folder, read.session_id, wanted)
        entries = [one for one in entries if not last.is_before(one)]
    return spans_asked(read, entries)


def goals(timeline: Timeline, point: Point, read: GoalsRead) -> GoalsList:
    """Return goals, whole, as they were at the moment. Raises `OSError`."""
    state = point.state
    found = state.goals_of(read.session_id) if read.session_id else list(state.goals.values())
    found = [one for one in found if read.status in (None, one.status)][-read.last :]
    wanted = {(one.id, one.revision) for one in found if one.is_cut}
    whole: dict[str, Goal] = {}
    for event in _told(timeline, point.last, "goals") if wanted else ():
        if isinstance(event, GoalEvent) and (event.goal.id, event.goal.revision) in wanted:
            whole.setdefault(event.goal.id, event.goal)
            wanted.discard((event.goal.id, event.goal.revision))
            if not wanted:
                break
    return GoalsList(
        read.id, [replace(whole.get(one.id, one), session_id=one.session_id) for one in found]
    )


_log = logging.getLogger(__name__)

READ_ONLY = "This is a replay: nothing can be changed."
SPEEDS = (1, 2, 5, 10, 60)
LONGEST_PAUSE = 2.0
"""Seconds. When nothing happened for longer, playing waits only so long."""
_AT_ONCE = 0.05
"""Seconds of a journal that are shown in one piece while it plays."""
_AHEAD = 200
_PROGRESS_SECONDS = 0.25


class ReplayFeed:
    """Goes through the records of some folders. Begins at their end at once, also of large ones.

    All of them are read once beside that, in a thread; then any event can be gone to. Orders are
    carried out one by one, the reading in a thread. `name` says whose records they are, `state_dir`
    is where an index may be. Records that cannot be read are shown in a notice; the screen stays.
    """

    is_embedded = False

    def __init__(self, folders: list[Path], state_dir: Path, name: str) -> None:
        self.address = f"records of {name}"
        self._folders = folders
        self._state_dir = state_dir
        self._items: asyncio.Queue[FeedItem | BaseException | None] = asyncio.Queue()
        self._orders: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._timeline: Timeline | None = None
        self._point = Point(0, State(), {})
        self._is_exact = False
        self._jumps = 0
        self._reader: Generator[Entry] | None = None
        self._ahead: deque[Entry] = deque()
        self._fault = ""
        self._speed = 0
        self._is_playing = False
        self._now = 0.0

    # The tower's side

    async def items(self) -> AsyncIterator[FeedItem]:
        """Yield the moment at the end, then what the orders make of it."""
        self._tasks = [asyncio.create_task(one) for one in (self._begin(), self._obey())]
        for task in self._tasks:
            task.add_done_callback(self._done)
        while (item := await self._items.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._items.put_nowait(fault)

    async def stop(self, deadline: float) -> None:
        self._is_stopping = True
        self._items.put_nowait(None)
        tasks, self._tasks = self._tasks, []
        if not tasks:
            return
        tasks[1].cancel()
        await asyncio.wait(tasks, timeout=deadline)

    def send(self, message: Message) -> None:
        """Answer what can be read; refuse everything else."""
        if isinstance(message, (StreamRead, TurnsRead, SpansRead, DetailRead, GoalsRead)):
            self._orders.put_nowait(partial(self._answer, message))
            return
        tag = str(message.__struct_config__.tag)
        id_ = getattr(message, "id", None)
        self._items.put_nowait(Error(ErrorCode.UNAUTHORIZED, READ_ONLY, tag, id=id_))

    @property
    def position(self) -> Position:
        timeline, last = self._timeline, self._point.last
        number = self._point.number if self._is_exact else None
        return Position(
            number=number,
            total=timeline.number if timeline else 0,
            share=timeline.share if timeline else 0.0,
            ts=last.ts if last else "",
            turn=timeline.turn_at(number) if timeline and number is not None else 0,
            turns=timeline.turns if timeline else 0,
            speed=SPEEDS[self._speed],
            is_playing=self._is_playing,
            damaged=timeline.damaged if timeline else 0,
            unknown=timeline.unknown if timeline else 0,
        )

    def now(self) -> float:
        return self._now

    def step(self, events: int) -> None:
        self._orders.put_nowait(partial(self._step, events))

    def step_turn(self, direction: int) -> None:
        """Go to the beginning of the next turn (1), or of this one or the one before (-1)."""
        self._orders.put_nowait(partial(self._step_turn, direction))

    def go_to(self, seconds: float) -> None:
        self._orders.put_nowait(partial(self._go_to_time, seconds))

    def play(self) -> None:
        self._orders.put_nowait(self._toggle)

    def change_speed(self, direction: int) -> None:
        """Play faster (1) or slower (-1)."""
        self._speed = max(0, min(self._speed + direction, len(SPEEDS) - 1))
        self._show_bar()

    # Reading all of it

    async def _begin(self) -> None:
        """Show the end; then read everything, and tell how far that is."""
        self._items.put_nowait(Link("up"))
        try:
            journal = await asyncio.to_thread(Recorded, self._folders)
            state, entry = await asyncio.to_thread(opening, journal, self._state_dir)
            last = None if entry is None else Last(entry.run, entry.seq, entry.ts)
            self._show(Point(0, state, {}, last), is_exact=False)
            self._timeline = timeline = Timeline(journal)
            survey = asyncio.ensure_future(
                asyncio.to_thread(timeline.survey, lambda: self._is_stopping)
            )
            while not (await asyncio.wait([survey], timeout=_PROGRESS_SECONDS))[0]:
                self._show_bar()
            await survey
        except OSError as error:
            self._fault = self._unreadable(error)
            return
        self._orders.put_nowait(self._settle)

    async def _settle(self) -> None:
        """All was read: the end is known exactly, unless the person is elsewhere by now."""
        assert self._timeline is not None
        if not self._is_exact:
            await self._go(self._timeline.number)
        self._show_bar()
        if self._timeline.damaged:
            self._tell(f"Damaged lines that were passed over: {self._timeline.damaged}.")
        if self._timeline.unknown:
            self._tell(f"Events of a newer tapui that are not shown: {self._timeline.unknown}.")

    # Orders

    async def _obey(self) -> None:
        while True:
            order = await self._next_order()
            try:
                await order()
            except OSError as error:
                self._is_playing = False
                self._forget_ahead()
                self._unreadable(error)

    async def _next_order(self) -> Callable[[], Awaitable[None]]:
        """Wait for an order, while it plays no longer than until the next event is due."""
        if not self._is_playing:
            return await self._orders.get()
        pause = self._pause_before(self._ahead[0]) if self._ahead else 0.0
        try:
            return await asyncio.wait_for(self._orders.get(), pause / SPEEDS[self._speed])
        except TimeoutError:
            return self._play_on

    async def _step(self, events: int) -> None:
        self._is_playing = False
        if self._is_ready():
            await self._go(self._point.number + events)

    async def _step_turn(self, direction: int) -> None:
        self._is_playing = False
        timeline = self._timeline
        if timeline is not None and self._is_ready():
            find = timeline.turn_after if direction > 0 else timeline.turn_before
            await self._go(find(self._point.number))

    async def _go_to_time(self, seconds: float) -> None:
        self._is_playing = False
        timeline = self._timeline
        ts = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")
        ts = ts.replace("+00:00", "Z")
        if timeline is None or not timeline.has_reached(ts):
            self._still_reading()
            return
        await self._go(await asyncio.to_thread(timeline.number_at, ts))

    async def _toggle(self) -> None:
        if self._is_ready():
            self._is_playing = not self._is_playing
            self._show_bar()

    async def _play_on(self) -> None:
        """Show what is due: the next event and what happened within a moment after it."""
        await self._look_ahead()
        due: list[Entry] = []
        length = 0.0
        while self._ahead and (not due or length < _AT_ONCE * SPEEDS[self._speed]):
            due.append(self._take(self._ahead.popleft()))
            length += self._pause_before(self._ahead[0]) if self._ahead else 0.0
        await self._look_ahead()
        self._is_playing = bool(self._ahead)
        if due:
            self._items.put_nowait(due)
        self._show_bar()

    async def _go(self, number: int) -> None:
        """Go to after `number` events: a few events onward, else a new beginning."""
        timeline = self._timeline
        assert timeline is not None
        number = max(0, min(number, timeline.number))
        count = number - self._point.number
        if self._is_exact and 0 <= count <= _AHEAD:
            if count > len(self._ahead):
                await self._look_ahead()
            entries = list(islice(self._taken(), count))
            if entries:
                self._items.put_nowait(entries)
            self._show_bar()
            return
        self._show(await asyncio.to_thread(timeline.at, number), is_exact=True)

    def _taken(self) -> Iterator[Entry]:
        while self._ahead:
            yield self._take(self._ahead.popleft())

    def _take(self, entry: Entry) -> Entry:
        point = self._point
        fold(point.state, entry.event, entry.ts)
        point.number += 1
        point.last = Last(entry.run, entry.seq, entry.ts)
        self._moved()
        return Entry(entry.run, point.number, entry.ts, entry.event)

    async def _look_ahead(self) -> None:
        timeline, point = self._timeline, self._point
        assert timeline is not None
        if self._reader is None:
            here = await asyncio.to_thread(timeline.at, point.number)
            self._reader = timeline.onward(here)
        reader = self._reader
        room = min(_AHEAD, timeline.number - point.number) - len(self._ahead)
        if room > 0:
            self._ahead += await asyncio.to_thread(lambda: list(islice(reader, room)))

    def _forget_ahead(self) -> None:
        self._ahead.clear()
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _pause_before(self, entry: Entry) -> float:
        then = times.epoch(entry.ts)
        return 0.0 if then is None else max(0.0, min(then - self._now, LONGEST_PAUSE))

    async def _answer(
        self, message: StreamRead | TurnsRead | SpansRead | DetailRead | GoalsRead
    ) -> None:
        timeline = self._timeline
        if timeline is None:
            return
        answers: dict[type[Message], Callable[..., Message]] = {
            StreamRead: stream_lines,
            TurnsRead: turns,
            SpansRead: spans,
            DetailRead: detail,
            GoalsRead: goals,
        }
        answer = answers[type(message)]
        self._items.put_nowait(await asyncio.to_thread(answer, timeline, self._point, message))

    # Telling

    def _show(self, point: Point, *, is_exact: bool) -> None:
        """Begin anew at a moment: nothing of the moment before is kept."""
        self._forget_ahead()
        self._point = point
        self._is_exact = is_exact
        self._jumps += 1
        self._moved()
        self._items.put_nowait(
            TowerSnapshot(
                seq=point.number, state=point.state.snapshot(), run=str(self._jumps), towers=1
            )
        )

    def _moved(self) -> None:
        last = self._point.last
        self._now = (times.epoch(last.ts) if last else None) or self._now

    def _show_bar(self) -> None:
        self._items.put_nowait(Link("up"))

    def _tell(self, text: str) -> None:
        self._items.put_nowait(Notice(text, "warning"))

    def _is_ready(self) -> bool:
        """Return whether any event can be gone to; else say how far the reading is."""
        if self._is_exact:
            return True
        self._still_reading()
        return False

    def _still_reading(self) -> None:
        share = self._timeline.share if self._timeline else 0.0
        self._tell(self._fault or f"The records are still being read ({share:.0%}).")

    def _unreadable(self, error: OSError) -> str:
        _log.warning("the records cannot be replayed: %s", safe_text(str(error)))
        fault = f"The records cannot be read: {error.strerror or error}"
        self._tell(fault)
        return fault
