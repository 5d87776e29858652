"""The lines of a tail: what is taken from a stream's ring, held while the person reads, filtered.

No widget is involved: a tail paints `rows`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import attrgetter
from time import perf_counter

from tapui.tower.filter import Filter, FilterError, Undecided
from tapui.tower.rings import RING_BYTES, RING_LINES, Ring
from tapui.wire.message import Line

HELD_LINES = 2 * RING_LINES
"""Lines kept while the person has scrolled up; beyond them new ones are only counted."""
HELD_BYTES = RING_BYTES
"""Bytes of lines that are taken in at most while the person has scrolled up."""
WORK_SECONDS = 0.004
"""Time that filtering takes at most of one turn of the event loop."""
SLOW_LINES = 3
"""A pattern that times out on so many of the newest lines is refused."""
PROBED_LINES = 20

_seq = attrgetter("seq")


class Lines:
    """What a tail shows of one ring.

    While it follows, `rows` is the filter over the ring. Scrolled up (`stop`), lines that leave
    the ring are held, so that nothing moves under the reader; past `HELD_LINES` or `HELD_BYTES`
    no more are taken in. Paused, nothing is taken in at all. Either way `unseen` tells what the
    person misses, and `follow` or `resume` catches up.
    """

    def __init__(self, timer: Callable[[], float] = perf_counter) -> None:
        self.rows: list[Line] = []
        self.filter: Filter | None = None
        self.undecided = 0
        self.is_following = True
        self.is_paused = False
        self._timer = timer
        self._ring = self._taken_from = Ring()
        self._epoch = 0
        self._merges = 0
        self._lines: list[Line] = []
        self._tried = 0
        self._mark: int | None = None
        self._held_bytes = 0

    @property
    def count(self) -> int:
        """How many lines there are before the filter."""
        return len(self._lines)

    @property
    def first_seq(self) -> int | None:
        """The number of the oldest line, before the filter; None without lines."""
        return self._lines[0].seq if self._lines else None

    @property
    def is_working(self) -> bool:
        """Whether lines still wait for the filter."""
        return self._tried < len(self._lines)

    @property
    def is_frozen(self) -> bool:
        """Whether new lines are only counted."""
        is_full = len(self._lines) >= HELD_LINES or self._held_bytes >= HELD_BYTES
        return self.is_paused or (not self.is_following and is_full)

    def open(self, ring: Ring) -> None:
        """Show this ring from now on, following; the filter stays."""
        self.is_following = True
        self.is_paused = False
        self._restart(ring)

    def take(self, ring: Ring) -> None:
        """Take in what happened to the ring. Call `work` afterwards."""
        self._ring = ring
        if self._is_anew:
            if self.is_following and not self.is_paused:
                self._restart(ring)
            return
        if ring.merges != self._merges:
            self._take_merged()
        if not self.is_frozen:
            self._take_newest()
        if self.is_following and not self.is_paused:
            self._evict()

    def work(self, seconds: float = WORK_SECONDS) -> bool:
        """Filter lines that wait for it; return whether some still do when time is up."""
        lines = self._lines
        if self.filter is None:
            self.rows.extend(lines[self._tried :])
            self._tried = len(lines)
            return False
        until = self._timer() + seconds
        matches = self.filter.matches
        while self._tried < len(lines):
            line = lines[self._tried]
            self._tried += 1
            try:
                if matches(line):
                    self.rows.append(line)
            except Undecided:
                self.undecided += 1
            if self._timer() >= until:
                break
        return self._tried < len(lines)

    def set_filter(self, new: Filter | None) -> None:
        """Show what `new` lets through. Raises FilterError, and keeps the old one, if it is slow
        on the newest lines."""
        if new is not None:
            slow = 0
            for line in self._lines[-PROBED_LINES:]:
                try:
                    new.matches(line)
                except Undecided as undecided:
                    slow += undecided.is_slow
                    if slow >= SLOW_LINES:
                        raise FilterError("too slow on these lines: simplify it") from undecided
        self.filter = new
        self._refilter()

    def stop(self) -> None:
        """The person scrolled up: hold what they read."""
        if self.is_following:
            self.is_following = False
            self._held_bytes = 0
            if not self.is_paused:
                self._mark = self._newest()

    def follow(self) -> None:
        """Go on with the newest lines. Paused, they are the newest of those that were taken in."""
        self.is_following = True
        if not self.is_paused:
            self._catch_up()

    def pause(self) -> None:
        """Take nothing in until `resume`."""
        if not self.is_paused:
            self.is_paused = True
            if self.is_following:
                self._mark = self._newest()

    def resume(self) -> None:
        """Take in what came since `pause`."""
        self.is_paused = False
        if self.is_following:
            self._catch_up()
        else:
            self.take(self._ring)

    def unseen(self) -> int:
        """Return how many lines came since the person stopped following or paused.

        With a filter it counts those that pass it, but all of them while `is_frozen`.
        """
        if self._mark is None or not self._ring.lines:
            return 0
        if self._is_anew:
            return len(self._ring.lines)
        newest = self._ring.lines[-1].seq
        if self.filter is not None and not self.is_frozen:
            return len(self.rows) - bisect_right(self.rows, self._mark, key=_seq)
        return max(newest - self._mark, 0)

    def row_of(self, seq: int) -> int:
        """Return the index of the row with this number, or of the next one."""
        return bisect_left(self.rows, seq, key=_seq)

    def _newest(self) -> int:
        return self._lines[-1].seq if self._lines else 0

    def _catch_up(self) -> None:
        self._mark = None
        self.take(self._ring)

    @property
    def _is_anew(self) -> bool:
        """Whether the stream began anew since lines were taken from it."""
        return self._ring is not self._taken_from or self._ring.epoch != self._epoch

    def _restart(self, ring: Ring) -> None:
        self._ring = self._taken_from = ring
        self._epoch, self._merges = ring.epoch, ring.merges
        self._lines = list(ring.lines)
        self._mark = None
        self._refilter()

    def _refilter(self) -> None:
        self.rows = []
        self._tried = 0
        self.undecided = 0

    def _take_newest(self) -> None:
        last = self._lines[-1].seq if self._lines else -1
        fresh: list[Line] = []
        for line in reversed(self._ring.lines):
            if line.seq <= last:
                break
            fresh.append(line)
        fresh.reverse()
        if self.is_following:
            self._lines.extend(fresh)
            return
        for line in fresh:
            if self.is_frozen:
                return
            self._lines.append(line)
            self._held_bytes += len(line.event) + memoryview(line.metadata or b"").nbytes

    def _take_merged(self) -> None:
        """Lines were read from the gateway: put those in that fall before our newest."""
        self._merges = self._ring.merges
        if not self._lines:
            return
        newest = self._lines[-1].seq
        mine = {line.seq for line in self._lines}
        found = [line for line in self._ring.lines if line.seq < newest and line.seq not in mine]
        if found:
            self._lines = sorted([*found, *self._lines], key=_seq)
            self._refilter()

    def _evict(self) -> None:
        if not self._ring.lines:
            return
        oldest = self._ring.lines[0].seq
        gone = bisect_left(self._lines, oldest, key=_seq)
        if gone:
            del self._lines[:gone]
            self._tried = max(self._tried - gone, 0)
            del self.rows[: bisect_left(self.rows, oldest, key=_seq)]
