"""What a tower keeps of emitters besides their state: how fast their lines come, and their runs."""

from collections import deque
from dataclasses import dataclass

from tapui.times import epoch
from tapui.wire import limits, subjects
from tapui.wire.emitters import Emitter

KEPT_RUNS = 50
"""Runs of one emitter."""
_FRESH = 3 * limits.COUNTED_INTERVAL
"""Seconds after which a rate says nothing any more: counts are told while lines come."""


@dataclass(slots=True)
class _Pace:
    at: float
    lines: int
    rate: float = 0.0


class EmitterLog:
    """By emitter. It takes what events tell; times are seconds since the epoch."""

    def __init__(self) -> None:
        self._paces: dict[str, _Pace] = {}
        self._runs: dict[str, deque[subjects.Span]] = {}

    def counted(self, emitter_id: str, lines: int, ts: str) -> None:
        """So many lines have come until then."""
        at = epoch(ts) or 0.0
        pace = self._paces.get(emitter_id)
        if pace is None:
            self._paces[emitter_id] = _Pace(at, lines)
        elif at > pace.at:
            pace.rate = max(lines - pace.lines, 0) / (at - pace.at)
            pace.at, pace.lines = at, lines

    def rate(self, emitter_id: str, now: float) -> float:
        """Return how many lines a second come."""
        pace = self._paces.get(emitter_id)
        return pace.rate if pace is not None and now - pace.at <= _FRESH else 0.0

    def ran(self, emitter: Emitter, span: subjects.Span) -> None:
        """A run has ended."""
        self._runs.setdefault(emitter.id, deque(maxlen=KEPT_RUNS)).append(span)

    def runs(self, emitter_id: str) -> list[subjects.Span]:
        """Return the runs that ended while this tower watched, the newest first."""
        return list(reversed(self._runs.get(emitter_id, ())))

    def last(self, emitter_id: str) -> subjects.Span | None:
        """Return the newest of them."""
        found = self._runs.get(emitter_id)
        return found[-1] if found else None

    def gone(self, emitter_id: str) -> None:
        """An emitter is there no longer."""
        self._paces.pop(emitter_id, None)
        self._runs.pop(emitter_id, None)

    def clear(self) -> None:
        """Another gateway: nothing of it is known."""
        self._paces.clear()
        self._runs.clear()
