"""The lines of a tail: what is taken from streams' rings, held while the person reads, filtered.

No widget is involved: a tail paints `rows`.
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from heapq import merge
from operator import attrgetter
from time import perf_counter
from typing import NamedTuple

from tapui.projection.state import StreamKey
from tapui.tower.app.buffers import RING_BYTES, RING_LINES, Ring, weight
from tapui.tower.streams.sources import Place, TailRow, TailSource, place
from tapui.tower.table.filter import Filter, FilterError, Undecided
from tapui.wire.limits import STREAM_LINES
from tapui.wire.message import Level, Line

HELD_LINES = 2 * RING_LINES
"""Lines kept while the person has scrolled up; beyond them new ones are only counted, and pages of
older ones push the newest out."""
HELD_BYTES = RING_BYTES
"""Bytes of lines that are taken in at most while the person has scrolled up."""
WORK_SECONDS = 0.004
"""Time that filtering takes at most of one turn of the event loop."""
SLOW_LINES = 3
"""A pattern that times out on so many of the newest lines is refused."""
PROBED_LINES = 20
ALL_LEVELS: frozenset[Level] = frozenset(("keep", "surface", "inject"))


class WantedPage(NamedTuple):
    """Lines that the gateway is to be asked for: those before a number or after it. `at` is the
    time of that line."""

    key: StreamKey
    at: str
    before: int | None = None
    after: int | None = None


class Lines:
    """What a tail shows of one or more streams, by time.

    While it follows, `rows` is the filter over the rings. Scrolled up (`stop`), lines that leave
    a ring are held, so that nothing moves under the reader; past `HELD_LINES` or `HELD_BYTES` no
    more are taken in. Paused, nothing is taken in at all. Either way `unseen` tells what the
    person misses, and `follow` or `resume` catches up.

    Scrolled up, it is a window on the streams that moves: `older_wanted` and `newer_wanted` tell
    which lines to ask for, `add_page` takes them. Of several streams only the time is shown for
    which all have their lines. What was read like this is dropped when it follows again.
    """

    def __init__(
        self,
        timer: Callable[[], float] = perf_counter,
        *,
        held_lines: int = HELD_LINES,
        held_bytes: int = HELD_BYTES,
        page_lines: int = STREAM_LINES,
    ) -> None:
        self._most_lines, self._most_bytes, self._page_lines = held_lines, held_bytes, page_lines
        self.rows: list[TailRow] = []
        self.filter: Filter | None = None
        self.levels = ALL_LEVELS
        self.hidden_to: Place | None = None
        """The place up to which the person hid all lines."""
        self.undecided = 0
        self.is_following = True
        self.is_paused = False
        self._timer = timer
        self._sources: dict[StreamKey, TailSource] = {}
        self._lines: list[TailRow] = []
        self._tried = (0, 0)
        """The lines between have been tried."""
        self._is_behind = False
        """Whether the person misses something since they stopped."""
        self._mark: Place | None = None
        self._held_bytes = 0
        self._is_window = False
        """Whether lines were read beyond the rings."""

    @property
    def count(self) -> int:
        return len(self._lines)

    @property
    def keys(self) -> list[StreamKey]:
        return list(self._sources)

    @property
    def is_sieved(self) -> bool:
        is_filtered = self.filter is not None or self.levels != ALL_LEVELS
        return is_filtered or self.hidden_to is not None

    @property
    def is_working(self) -> bool:
        return self._tried[0] > 0 or self._tried[1] < len(self._lines)

    @property
    def is_frozen(self) -> bool:
        return self.is_paused or (not self.is_following and self._is_full(len(self._lines)))

    def _is_full(self, lines: int) -> bool:
        return lines >= self._most_lines or self._held_bytes >= self._most_bytes

    def open(self, rings: Mapping[StreamKey, Ring]) -> None:
        """Show these streams from now on, following; the filter stays."""
        self.is_following = True
        self.is_paused = False
        self.hidden_to = None
        self._sources = {
            key: TailSource(key, order, ring) for order, (key, ring) in enumerate(rings.items())
        }
        self._restart()

    def rename(self, old: StreamKey, new: StreamKey) -> None:
        source = self._sources.pop(old)
        source.key = new
        self._sources[new] = source

    def take(self, rings: Mapping[StreamKey, Ring]) -> None:
        """Take in what happened to the rings. Call `work` afterwards."""
        sources = self._sources.values()
        for source in sources:
            source.ring = rings.get(source.key, source.ring)
        is_live = self.is_following and not self.is_paused
        if is_live and not all(_goes_on(source) for source in sources):
            self._restart()
            return
        merged = [one.merge() for one in sources if not one.is_anew and one.has_merged]
        if any(merged):
            self._rebuild()
        if not self.is_frozen:
            self._take_newest()
        if is_live:
            self._evict()

    def work(self, seconds: float = WORK_SECONDS) -> bool:
        """Filter lines that wait for it, newest first where they are new; return whether some
        still do when time is up."""
        lines, (first, last) = self._lines, self._tried
        if not self.is_sieved:
            self.rows[:0] = lines[:first]
            self.rows.extend(lines[last:])
            self._tried = (0, len(lines))
            return False
        until = self._timer() + seconds
        older: list[TailRow] = []
        while last < len(lines) or first > 0:
            if last < len(lines):
                row, into, last = lines[last], self.rows, last + 1
            else:
                row, into, first = lines[first - 1], older, first - 1
            if self._passes(row):
                into.append(row)
            if self._timer() >= until:
                break
        self.rows[:0] = reversed(older)
        self._tried = (first, last)
        return self.is_working

    def _passes(self, row: TailRow) -> bool:
        is_hidden = self.hidden_to is not None and place(row) <= self.hidden_to
        if is_hidden or row.line.level not in self.levels:
            return False
        try:
            return self.filter is None or self.filter.matches(row.line)
        except Undecided:
            self.undecided += 1
            return False

    def set_filter(self, new: Filter | None) -> None:
        """Show what `new` lets through. Raises FilterError, and keeps the old one, if it is slow
        on the newest lines."""
        if new is not None:
            slow = 0
            for row in self._lines[-PROBED_LINES:]:
                try:
                    new.matches(row.line)
                except Undecided as undecided:
                    slow += undecided.is_slow
                    if slow >= SLOW_LINES:
                        raise FilterError("too slow on these lines: simplify it") from undecided
        self.filter = new
        self._refilter()

    def set_levels(self, levels: frozenset[Level]) -> None:
        self.levels = levels
        self._refilter()

    def hide_above(self, row: TailRow | None) -> None:
        """Hide what is above a row, all that is here without one; or show it again."""
        if self.hidden_to is not None:
            self.hidden_to = None
        elif row is not None:
            self.hidden_to = (row.ts, row.order, row.seq - 1)
        elif self._lines:
            self.hidden_to = place(self._lines[-1])
        self._refilter()

    def stop(self) -> None:
        """The person scrolled up: hold what they read."""
        if self.is_following:
            self.is_following = False
            self._held_bytes = 0
            if self._lines:
                self._know(place(self._lines[-1]))
            if not self.is_paused:
                self._set_mark()

    def follow(self) -> None:
        """Go on with the newest lines. Paused, they are the newest of those that were taken in."""
        self.is_following = True
        if not self.is_paused:
            self._catch_up()

    def pause(self) -> None:
        if not self.is_paused:
            self.is_paused = True
            if self.is_following:
                self._set_mark()

    def resume(self) -> None:
        """Take in what came since `pause`."""
        self.is_paused = False
        if self.is_following:
            self._catch_up()
        else:
            self.take({})

    def unseen(self) -> int:
        """Return how many lines came since the person stopped following or paused.

        With a filter it counts those that pass it, but all of them while `is_frozen`.
        """
        if not self._is_behind:
            return 0
        if (
            self.is_sieved
            and not self.is_frozen
            and not any(map(attrgetter("is_anew"), self._sources.values()))
        ):
            mark = self._mark
            start = 0 if mark is None else bisect_right(self.rows, mark, key=place)
            return len(self.rows) - start
        return sum(map(_missed, self._sources.values()))

    def row_of(self, row: TailRow) -> int:
        """Return the index of this row among `rows`, or of the next one."""
        return bisect_left(self.rows, place(row), key=place)

    def row_at(self, ts: str) -> int:
        return bisect_right(self.rows, ts, key=attrgetter("ts"))

    def covers(self, ts: str) -> bool:
        if not self._lines:
            return True
        has_begin = not any(one.has_older for one in self._sources.values())
        return (has_begin or self._lines[0].ts < ts) and (
            not self.has_newer or self._lines[-1].ts > ts
        )

    # The window

    @property
    def has_newer(self) -> bool:
        """Whether there are lines below that a page brings; never while it follows or paused."""
        if self.is_following or self.is_paused:
            return False
        return any(one.lags for one in self._sources.values())

    @property
    def has_first(self) -> bool:
        return all(not one.rows or one.rows[0].seq <= 1 for one in self._sources.values())

    def older_wanted(self) -> WantedPage | None:
        """Return which lines come before those that are here; None where there are none."""
        limit = _limiting(self._sources.values())
        if limit is None or self.hidden_to is not None:
            return None
        first = limit.rows[0]
        return WantedPage(limit.key, first.line.ts, before=first.seq)

    def newer_wanted(self) -> WantedPage | None:
        """Return which lines come after those that are here, while the rings do not have them;
        what rings have is taken over."""
        if not self.has_newer:
            return None
        behind = min((one for one in self._sources.values() if one.lags), key=attrgetter("last"))
        if not behind.is_near:
            return WantedPage(
                behind.key,
                behind.rows[-1].line.ts if behind.rows else behind.since,
                after=behind.newest,
            )
        behind.rows += behind.in_ring(self._page_lines)
        self._is_window = True
        self._rebuild()
        self._keep_within(is_older=False)
        return None

    def add_page(self, wanted: WantedPage, lines: list[Line]) -> None:
        """Put lines that the gateway sent in their places. Call `work` afterwards."""
        source = self._sources.get(wanted.key)
        if source is None or source.is_anew or self.is_following:
            return
        self._is_window = True
        if wanted.before is not None:
            if source.rows and source.rows[0].seq != wanted.before:
                return  # it moved on meanwhile
            source.add_older(lines)
            source.is_exhausted = not lines
        elif wanted.after is not None and source.newest == wanted.after:
            newer = [line for line in lines if line.seq > wanted.after]
            if newer:
                source.rows += source.following(newer)
            else:  # they are lost: go on with what the ring has
                source.rows += source.in_ring(self._page_lines)
        self._rebuild()
        self._keep_within(is_older=wanted.before is not None)

    def jump(self, pages: Mapping[StreamKey, list[Line]], until: str) -> None:
        """Show another part of the streams: for each its last lines up to a time."""
        self.stop()
        self._is_window = True
        newest = max(
            (one.ring.lines[-1].ts for one in self._sources.values() if one.ring.lines), default=""
        )
        # Lines of the newest time that is known, and later ones, may still be under way.
        known_to = (until, sys.maxsize, 0) if until < newest else (newest, 0, 0)
        for key, source in self._sources.items():
            source.set_rows(pages.get(key, []), until, known_to)
        self._rebuild()
        self._refilter()

    # Within

    def _set_mark(self) -> None:
        self._is_behind = True
        self._mark = place(self._lines[-1]) if self._lines else None
        for source in self._sources.values():
            source.mark = source.newest

    def _know(self, edge: Place) -> None:
        for source in self._sources.values():
            source.known_to = max(source.known_to, edge)

    def _catch_up(self) -> None:
        self._is_behind = False
        if self._is_window:
            self._restart()
        else:
            self.take({})

    def _restart(self) -> None:
        for source in self._sources.values():
            source.begin()
        self._is_behind = self._is_window = False
        self._rebuild()
        self._refilter()

    def _refilter(self) -> None:
        self.rows = []
        self._tried = (len(self._lines), len(self._lines))
        self.undecided = 0

    def _rebuild(self) -> None:
        """Put the sources' rows together, as far as none of them lacks lines between. Rows that
        were filtered already stay."""
        sources = self._sources.values()
        lines = list(merge(*(one.rows for one in sources), key=place))
        limit = _limiting(sources)
        start = 0 if limit is None else bisect_left(lines, limit.first, key=place)
        end = len(lines)
        for one in sources:
            if not self.is_following and one.lags:
                end = min(end, _end_of(lines, one))
        lines = lines[start : max(end, start)]
        if lines:
            self._know(place(lines[-1]))
        before, self._lines = self._lines, lines
        first, last = self._tried
        if not before or not lines or first == last:
            self._refilter()
            return
        low, high = place(before[first]), place(before[last - 1])
        at = bisect_left(lines, low, key=place)
        to = bisect_right(lines, high, key=place)
        kept = before[first:last]
        if lines[at:to] != kept and [row.seq for row in lines[at:to]] != [
            row.seq for row in kept if place(lines[0]) <= place(row) <= place(lines[-1])
        ]:
            self._refilter()
            return
        self._tried = (at, to)
        begin = bisect_left(self.rows, place(lines[0]), key=place)
        stop = bisect_right(self.rows, place(lines[-1]), key=place)
        self.rows = self.rows[begin:stop]

    def _take_newest(self) -> None:
        lagging = [one.in_ring() for one in self._sources.values() if one.lags]
        if not self.is_following and not all(map(_is_within_reach, self._sources.values())):
            return
        if not lagging:
            return
        fresh = lagging[0] if len(lagging) == 1 else list(merge(*lagging, key=place))
        if not self.is_following:
            fresh = self._held(fresh)
        for row in fresh:
            row.source.rows.append(row)
        if not fresh:
            return
        if not self.is_following:
            self._know(place(fresh[-1]))
        # In a window, rows behind those that are shown may be here already.
        if self._is_window or (self._lines and place(fresh[0]) < place(self._lines[-1])):
            self._rebuild()
        else:
            self._lines.extend(fresh)

    def _held(self, fresh: list[TailRow]) -> list[TailRow]:
        for number, row in enumerate(fresh):
            if self._is_full(len(self._lines) + number):
                return fresh[:number]
            self._held_bytes += weight(row.line)
        return fresh

    def _evict(self) -> None:
        for source in self._sources.values():
            if source.ring.lines:
                source.drop_before(source.ring.lines[0].seq)
        limit = _limiting(self._sources.values())
        oldest = limit.first if limit is not None else None
        if not self._lines or oldest is None or place(self._lines[0]) >= oldest:
            return
        gone = bisect_left(self._lines, oldest, key=place)
        del self._lines[:gone]
        self._tried = (max(self._tried[0] - gone, 0), max(self._tried[1] - gone, 0))
        del self.rows[: bisect_left(self.rows, oldest, key=place)]

    def _keep_within(self, *, is_older: bool) -> None:
        lines = self._lines
        size, most = 0, 0
        for row in lines if is_older else reversed(lines):
            size += weight(row.line)
            if most >= self._most_lines or (size > 2 * self._most_bytes and most):
                break
            most += 1
        if most >= len(lines):
            return
        if is_older:
            edge = place(lines[most - 1])
            for source in self._sources.values():
                source.drop_below(edge)
        else:
            edge = place(lines[-most])
            for source in self._sources.values():
                source.drop_above(edge)
        self._rebuild()


def _goes_on(source: TailSource) -> bool:
    """Return whether the ring still has what comes after the rows."""
    return not source.is_anew and _is_within_reach(source)


def _is_within_reach(source: TailSource) -> bool:
    return source.is_near or not source.lags


def _missed(source: TailSource) -> int:
    if source.is_anew:
        return len(source.ring.lines)
    return max(source.ring.lines[-1].seq - source.mark, 0) if source.ring.lines else 0


def _limiting(sources: Iterable[TailSource]) -> TailSource | None:
    limited = [one for one in sources if one.has_older]
    return max(limited, key=attrgetter("first")) if limited else None


def _end_of(lines: list[TailRow], source: TailSource) -> int:
    """Return how many of the lines are sure to have none of this stream's missing between them."""
    if not source.is_near:
        return bisect_right(lines, source.last, key=place)
    (following,) = source.in_ring(1)
    return bisect_left(lines, place(following), key=place)
