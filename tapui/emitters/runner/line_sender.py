"""What of a run's lines goes to the gateway: filtered, in batches, as fast as it takes them.

No line is lost for lack of room: a run that may not send is not read, and its command waits in its
writes.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tapui.core.hooks.matching import PatternError
from tapui.core.runs.reports import (
    Outcome,
    RunCounted,
    RunFiltered,
    RunLine,
    RunLines,
    RunnerMessage,
    Source,
)
from tapui.emitters.runner.line_filter import NO_RULE, LineFilter, SearchAlarm
from tapui.wire.emitters import EmitterCounts
from tapui.wire.provider import FilterRule

WINDOW_LINES = 400
WINDOW_CHARACTERS = 512 * 1024
"""Lines of a run that were sent and not taken by the gateway, at most; 128 lines may be more."""
ALL_CHARACTERS = 8 * 1024 * 1024
"""The same of all runs."""
RUN_RATE, RUN_BURST = 2_000.0, 4_000.0
"""Lines a second that a run sends, and how many at once after a rest."""
ALL_RATE, ALL_BURST = 5_000.0, 10_000.0
"""The same of all runs."""


class Allowance:
    """So many lines a second, and so many at once after a rest."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until the next line may be sent; 0: send now."""
        self._left = min(self._left + (now - self._at) * self._rate, self._burst)
        self._at = now
        return max(1.0 - self._left, 0.0) / self._rate

    def spend(self, lines: int) -> None:
        """Count lines; it may be more than there was left."""
        self._left -= lines


@dataclass(slots=True)
class Window:
    """What was sent and not taken."""

    most_lines: float
    most_characters: int
    lines: int = 0
    characters: int = 0

    @property
    def is_open(self) -> bool:
        return self.lines < self.most_lines and self.characters < self.most_characters

    def sent(self, lines: int, characters: int) -> None:
        self.lines += lines
        self.characters += characters

    def taken(self, lines: int, characters: int) -> None:
        self.lines = max(self.lines - lines, 0)
        self.characters = max(self.characters - characters, 0)


BATCH_SECONDS = 0.025
BATCH_LINES = 100
BATCH_CHARACTERS = 128 * 1024
"""Lines wait for others until there are so many; the first, and one that is injected, do not."""
COUNT_SECONDS = 0.5
_LOOK_SECONDS = 0.05
"""Between two looks whether other runs have left room."""
LAST_LINES, LAST_CHARACTERS = 10, 500


class Sink(Protocol):
    """Where lines go, with what all runs share."""

    alarm: SearchAlarm
    everything: Window
    rate: Allowance
    is_leaving: bool
    """Whether the gateway is gone: lines go nowhere."""

    def tell(self, message: RunnerMessage) -> None:
        """Send a message to the gateway."""


class OnceTimers:
    """Calls that wait at most once each; `guard` makes them."""

    def __init__(self, guard: Callable[[Callable[[], None]], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._guard = guard
        self._waiting: dict[Callable[[], None], asyncio.TimerHandle] = {}

    def once(self, call: Callable[[], None], seconds: float, *, is_sooner: bool = False) -> None:
        """Call in so many seconds, unless it will be called already (with `is_sooner`: by then)."""
        when = self._loop.time() + seconds
        waiting = self._waiting.get(call)
        if waiting is not None:
            if not is_sooner or waiting.when() <= when:
                return
            waiting.cancel()

        def due() -> None:
            del self._waiting[call]
            self._guard(call)

        self._waiting[call] = self._loop.call_at(when, due)

    def cancel(self) -> None:
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()


class LineSending:
    """The lines of one run, from its output to the gateway. `wake` gives the run a turn."""

    def __init__(
        self,
        run: str,
        rules: Sequence[FilterRule],
        sink: Sink,
        timers: OnceTimers,
        wake: Callable[[], None],
    ) -> None:
        """Raises `PatternError`."""
        self._run = run
        self._sink = sink
        self._timers = timers
        self._wake = wake
        self._filter = LineFilter(rules, sink.alarm)
        self._timed_out = 0
        """Matches that took too long for filters that were replaced."""
        self._outcomes: Counter[Outcome] = Counter()
        self._read = self._truncated = 0
        """Lines that were given, and cut."""
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._last_error = ""
        self._lines: list[str] = []
        """Lines that are being filtered, from `_next` on, and where they are from."""
        self._next = 0
        self._source: Source = "stdout"
        self._batch: list[RunLine] = []
        self._batch_characters = 0
        self._has_sent = False
        self._window = Window(WINDOW_LINES, WINDOW_CHARACTERS)
        self._rate = Allowance(RUN_RATE, RUN_BURST)

    @property
    def has_lines(self) -> bool:
        """Whether lines wait to be filtered: no others can be given."""
        return self._next < len(self._lines)

    @property
    def last_words(self) -> list[str]:
        return [text[:LAST_CHARACTERS] for text in self._last]

    @property
    def last_error(self) -> str:
        """The last line on stderr."""
        return self._last_error[:LAST_CHARACTERS]

    def count_truncated(self, count: int) -> None:
        self._truncated += count

    def note(self, source: Source, lines: list[str]) -> None:
        """Take lines as last words alone."""
        self._last.extend(lines[-LAST_LINES:])
        if lines and source == "stderr":
            self._last_error = lines[-1]

    def give(self, source: Source, lines: list[str]) -> None:
        """Take lines, when all earlier ones are filtered."""
        assert not self.has_lines, "lines are left"
        self.note(source, lines)
        self._read += len(lines)
        self._source, self._lines, self._next = source, lines, 0

    def may_send(self, *, is_over: bool) -> bool:
        """Return whether lines can be filtered now; if not, the run is woken when they can.

        A run that `is_over` is not slowed down: what is left is little, and its end waits for it.
        """
        if self._sink.is_leaving:
            return True
        if not self._window.is_open:
            self.flush()  # it may be full of these
            return self._window.is_open
        now = time.monotonic()
        wait = 0.0 if is_over else max(self._rate.wait(now), self._sink.rate.wait(now))
        if not self._sink.everything.is_open:
            self.flush()
            wait = max(wait, _LOOK_SECONDS)
        if wait:
            self._timers.once(self._wake, wait)
        return not wait

    def taken(self, lines: int, characters: int) -> None:
        """The gateway took so much."""
        self._window.taken(lines, characters)
        self._sink.everything.taken(lines, characters)

    def refilter(self, version: int, rules: Sequence[FilterRule]) -> None:
        try:
            changed = LineFilter(rules, self._sink.alarm)
        except PatternError as error:
            self._sink.tell(RunFiltered(self._run, version, str(error)))
            return
        self._timed_out += sum(self._filter.timed_out.values())
        self._filter = changed
        self.flush()
        self._sink.tell(RunFiltered(self._run, version))

    def filter_some(self) -> None:
        """Filter some of the lines, and send what is let through, at once or soon."""
        rules = self._filter.decide(self._lines, self._next)
        before, characters_before = len(self._batch), self._batch_characters
        is_urgent = not self._has_sent
        for number, rule in enumerate(rules, self._next):
            outcome = self._filter.outcome(rule)
            self._outcomes[outcome] += 1
            if outcome == "drop":
                continue
            is_urgent = is_urgent or outcome == "inject"
            text = self._lines[number]
            index = None if rule == NO_RULE else rule
            self._batch.append(RunLine(text, outcome, self._source, index))
            self._batch_characters += len(text)
        self._next += len(rules)
        self._timers.once(self._tell_counts, COUNT_SECONDS)
        if added := len(self._batch) - before:
            self._count_sent(added, self._batch_characters - characters_before)
            self._send(is_urgent=is_urgent)

    def _count_sent(self, lines: int, characters: int) -> None:
        for window in (self._window, self._sink.everything):
            window.sent(lines, characters)
        for rate in (self._rate, self._sink.rate):
            rate.spend(lines)

    def _send(self, *, is_urgent: bool) -> None:
        if (
            is_urgent
            or len(self._batch) >= BATCH_LINES
            or self._batch_characters >= BATCH_CHARACTERS
        ):
            self.flush()
        else:
            self._timers.once(self.flush, BATCH_SECONDS)

    def flush(self) -> None:
        if not self._batch:
            return
        self._has_sent = True
        lines, self._batch = self._batch, []
        self._batch_characters = 0
        self._sink.tell(RunLines(self._run, lines))

    def _tell_counts(self) -> None:
        self._sink.tell(RunCounted(self._run, self.counts()))

    def counts(self) -> EmitterCounts:
        """Return what was counted; what a disabled injector holds is not known here."""
        outcomes = self._outcomes
        return EmitterCounts(
            lines=self._read,
            dropped=outcomes["drop"],
            kept=outcomes["keep"],
            surfaced=outcomes["surface"],
            injected=outcomes["inject"],
            truncated=self._truncated,
            undecided=self._timed_out + sum(self._filter.timed_out.values()),
        )

    def close(self) -> None:
        """Send what is left, and leave room to the others."""
        self.flush()
        self._sink.everything.taken(self._window.lines, self._window.characters)
