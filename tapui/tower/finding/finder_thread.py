"""The thread that looks for what is typed: the screen never waits, and the newest text wins."""

import heapq
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tapui.tower.app.services import Finder, FinderFault, FoundRecord, RecordText

MOST = 100
"""Records that are shown, the newest; with more, other words find less."""
LOOK_SECONDS = 0.5
"""Between two looks while more can be found soon."""
_TELL_SECONDS = 0.1
_FAILED = "Looking failed; the log says why."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FinderResult:
    """What is found so far for `text`, the newest first. `indexed` is from 0 to 1.
    `damaged` lines of the records cannot be found."""

    text: str
    found: tuple[FoundRecord, ...] = ()
    is_done: bool = False
    indexed: float = 1.0
    problem: str = ""
    damaged: int = 0


class FinderThread:
    """Makes a finder with `make` on a thread of its own, and looks there for what is wanted.

    `on_finding` and `on_record` are called on that thread: they pass it on and return at once.
    No callback comes once `stop` has returned. `on_record` gets the key of a record and the record,
    None for one that is gone.
    """

    def __init__(
        self,
        make: Callable[[], Finder],
        on_finding: Callable[[FinderResult], object],
        on_record: Callable[[str, RecordText | None], object],
    ) -> None:
        self._make = make
        self._on_finding = on_finding
        self._on_record = on_record
        self._lock = threading.Condition()
        self._finder: Finder | None = None
        self._text = ""
        self._version = 0
        self._done = -1
        self._wanted: list[FoundRecord] = []
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="find")

    def start(self) -> None:
        """Begin: how much is indexed comes first."""
        self._thread.start()

    def look_for(self, text: str) -> None:
        with self._lock:
            self._text = text
            self._version += 1
            self._lock.notify()
            if self._finder is not None:
                self._finder.interrupt()

    def read(self, record: FoundRecord) -> None:
        with self._lock:
            self._wanted.append(record)
            self._lock.notify()

    def stop(self) -> None:
        """End it; the thread itself ends a moment later."""
        with self._lock:
            self._is_stopped = True
            self._version += 1
            self._lock.notify()
            if self._finder is not None:
                self._finder.interrupt()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        finder: Finder | None = None
        try:
            finder = self._make()
            with self._lock:
                self._finder = finder
            self._work(finder)
        except Exception:  # noqa: BLE001 - the thread's last line: it is shown and logged
            _log.exception("finding failed")
            self._tell(FinderResult(self._text, is_done=True, problem=_FAILED))
        finally:
            with self._lock:
                self._finder = None
            if finder is not None:
                finder.close()

    def _work(self, finder: Finder) -> None:
        seen, is_settled = _State(), False
        while (order := self._next(None if is_settled else LOOK_SECONDS)) is not None:
            for record in order.wanted:
                self._tell_record(record, finder.read(record))
            now = _state(finder)
            if order.is_new or now != seen:
                now = self._look(finder, order, now)
            seen, is_settled = now, now.is_settled

    def _next(self, seconds: float | None) -> "_Order | None":
        """Wait for what is to be done next, or for so long; None: to end."""
        with self._lock:
            self._lock.wait_for(
                lambda: self._is_stopped or self._wanted or self._version != self._done, seconds
            )
            if self._is_stopped:
                return None
            is_new, self._done = self._done != self._version, self._version
            wanted, self._wanted = self._wanted, []
            return _Order(self._text, self._version, is_new, wanted)

    def _look(self, finder: Finder, order: "_Order", now: "_State") -> "_State":
        """Look for a text, unless another one is wanted meanwhile; return how the index stands."""
        kept: dict[str, FoundRecord] = {}
        told_at = 0.0
        if order.text and not now.problem:
            try:
                for part in finder.find(order.text, MOST):
                    kept |= {one.key: one for one in part}
                    if self._version != order.version:
                        return now
                    if time.monotonic() - told_at > _TELL_SECONDS:
                        self._tell(FinderResult(order.text, _newest(kept), indexed=now.indexed))
                        told_at = time.monotonic()
            except FinderFault as fault:
                is_settled = now.is_settled and not fault.will_pass
                now = _State(now.indexed, is_settled, str(fault), now.damaged)
        if self._version == order.version:
            self._tell(
                FinderResult(order.text, _newest(kept), True, now.indexed, now.problem, now.damaged)
            )
        return now

    def _tell(self, finding: FinderResult) -> None:
        with self._lock:
            if not self._is_stopped:
                self._on_finding(finding)

    def _tell_record(self, record: FoundRecord, text: RecordText | None) -> None:
        with self._lock:
            if not self._is_stopped:
                self._on_record(record.key, text)


class _Order(NamedTuple):
    """What is to be done: a text to look for, anew if `is_new`, and records to read."""

    text: str
    version: int
    is_new: bool
    wanted: list[FoundRecord]


@dataclass(frozen=True, slots=True)
class _State:
    """How the index stands."""

    indexed: float = 0.0
    is_settled: bool = False
    problem: str = ""
    damaged: int = 0


def _state(finder: Finder) -> _State:
    try:
        indexed = finder.indexed()
        is_settled = indexed >= 1 and not finder.is_catching_up()
        return _State(indexed, is_settled, damaged=finder.damaged())
    except FinderFault as fault:
        return _State(problem=str(fault), is_settled=not fault.will_pass)


def _newest(kept: dict[str, FoundRecord]) -> tuple[FoundRecord, ...]:
    return tuple(heapq.nlargest(MOST, kept.values(), key=lambda one: (one.ts, one.key)))
