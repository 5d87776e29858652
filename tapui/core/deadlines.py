"""The one heap of time-outs, and windows of time in which so many events are allowed."""

import heapq
from collections import deque
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from msgspec import Struct


class Due(Enum):
    """What a deadline is about."""

    AUTH = auto()
    CALL = auto()
    CANCEL_GRACE = auto()
    SHUTDOWN = auto()
    TOOLS_CHANGED = auto()
    SESSIONS_CHANGED = auto()
    PAIRING_LINE = auto()
    APPROVAL = auto()
    MODE_SET = auto()
    ORDER = auto()
    MODELS = auto()
    LOOK = auto()
    START = auto()
    IDENTITY = auto()
    GATE = auto()
    TRANSFORM = auto()
    TURN = auto()
    STREAMS = auto()
    DROPPED = auto()
    WAITING = auto()
    QUIET = auto()
    TOOL_SESSIONS = auto()
    EMITTER = auto()
    COUNTS = auto()
    PROOF = auto()
    GOAL = auto()


class Deadline(Struct, eq=False):
    """One time-out: `due` and `subject` are handed back when it has come. Times are seconds.

    One that came or was cancelled has no subject: a subject knows its deadline, and without the way
    back it is freed with its last other reference.
    """

    when: float
    due: Due
    subject: Any
    is_live: bool = True


class Deadlines:
    """Time-outs in the order in which they come; cancelling one is cheap.

    Cancelled entries stay in the heap until they reach its top or outnumber the live ones, when
    the heap is rebuilt: the cost of a cancel is constant on average and memory stays bounded.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Deadline]] = []
        """By time, then by number; tuples, because the heap compares them without our help."""
        self._count = 0
        self._cancelled = 0

    def __len__(self) -> int:
        return len(self._heap) - self._cancelled

    def __iter__(self) -> Iterator[Deadline]:
        """Yield those that are set, in no order."""
        return (entry[2] for entry in self._heap if entry[2].is_live)

    def add(self, when: float, due: Due, subject: Any) -> Deadline:
        """Set a time-out for the time `when`."""
        self._count += 1
        deadline = Deadline(when, due, subject)
        heapq.heappush(self._heap, (when, self._count, deadline))
        return deadline

    def cancel(self, deadline: Deadline | None) -> None:
        """Drop a time-out; dropping it again, or after it came, does nothing."""
        if deadline is None or not deadline.is_live:
            return
        deadline.is_live, deadline.subject = False, None
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].is_live]
            heapq.heapify(self._heap)
            self._cancelled = 0

    @property
    def next(self) -> float | None:
        """When the next time-out comes, or None."""
        heap = self._heap
        while heap and not heap[0][2].is_live:
            heapq.heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else None

    def pop(self, now: float) -> tuple[Due, Any] | None:
        """Take the next time-out that has come by `now`: what it is about, and its subject."""
        when = self.next
        if when is None or when > now:
            return None
        deadline = heapq.heappop(self._heap)[2]
        subject, deadline.subject = deadline.subject, None
        deadline.is_live = False
        return deadline.due, subject


class SlidingWindow:
    """At most `most` events in any `seconds`."""

    __slots__ = ("_most", "_seconds", "_times")

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._times: deque[float] = deque()

    def is_full(self, now: float) -> bool:
        """Return whether there is no room for an event at `now`."""
        while self._times and self._times[0] <= now - self._seconds:
            self._times.popleft()
        return len(self._times) >= self._most

    def take(self, now: float) -> bool:
        """Count an event at `now` if there is room; return whether there was."""
        if self.is_full(now):
            return False
        self._times.append(now)
        return True
