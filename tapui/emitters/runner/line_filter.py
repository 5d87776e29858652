"""The filter of a run's lines: the first rule that matches decides, and no match keeps a line.

The engine is the interface's, with its limit of 1 ms for each match; a match that takes longer is
none. That limit costs six times as much as the search for a common line. So many lines are searched
without it, under one alarm, and count if all of them together took less than 1 ms: then each match
did. Otherwise they are searched again, match by match under the limit.

Signals make this possible: the engine looks for them while it searches. It works in a process's
main thread only, and one filter at a time.
"""

import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from tapui.core.hooks.matching import PatternError
from tapui.core.runs.reports import Outcome
from tapui.runtime.system import RegexMatcher
from tapui.wire.limits import MATCH_TIMEOUT, MAX_HOOK_RULES, MAX_PATTERN, MAX_SUBJECT
from tapui.wire.provider import FilterRule

NO_RULE = -1
_MOST, _FEWEST = 128, 8
"""Lines that are searched together: half as many whenever they took too long."""
_ALARM_SECONDS = 0.002
"""Seconds of the clock between two looks how much time of the processor a search has taken."""

_matcher = RegexMatcher(ignore_case=True)


class _Overrun(Exception):  # noqa: N818 - no error
    """Lines that are searched together take too long."""


class SearchAlarm:
    """Ends a search that takes longer than a match may."""

    def __init__(self) -> None:
        self._is_armed = False
        self._began = 0.0
        signal.signal(signal.SIGALRM, self._look)

    def within(self, search: Callable[[], list[int]]) -> list[int] | None:
        """Return what `search` finds; None if it takes longer than one match may."""
        self._began = time.thread_time()
        self._is_armed = True
        try:
            signal.setitimer(signal.ITIMER_REAL, _ALARM_SECONDS, _ALARM_SECONDS)
            found = search()
            self._is_armed = False
        except _Overrun:
            return None
        finally:
            self._is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        return found if time.thread_time() - self._began < MATCH_TIMEOUT else None

    def _look(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_armed and time.thread_time() - self._began >= MATCH_TIMEOUT:
            self._is_armed = False
            raise _Overrun


class LineFilter:
    """The rules of one run. `timed_out` counts, by rule, the matches that took too long."""

    def __init__(self, rules: Sequence[FilterRule], alarm: SearchAlarm) -> None:
        """Raises `PatternError` naming the rule."""
        if len(rules) > MAX_HOOK_RULES:
            raise PatternError(f"a filter has at most {MAX_HOOK_RULES} rules")
        self.timed_out: dict[int, int] = {}
        self._alarm = alarm
        self._patterns = []
        for index, rule in enumerate(rules):
            if len(rule.match) > MAX_PATTERN:
                raise PatternError(f"rule {index}: a pattern has at most {MAX_PATTERN} characters")
            try:
                self._patterns.append(_matcher.compile(rule.match))
            except PatternError as error:
                raise PatternError(f"rule {index}: {error}") from None
        self._searches: list[tuple[int, Callable[[str], Any]]] = [
            (index, pattern.search) for index, pattern in enumerate(self._patterns)
        ]
        self._outcomes: list[Outcome] = [*(rule.outcome for rule in rules), "keep"]
        self._together = _MOST
        self._apart = 0
        """Lines that are searched under the limit at once, after many that took too long."""

    def outcome(self, rule: int) -> Outcome:
        """Return the outcome of a line that this rule decided, `NO_RULE` for none."""
        return self._outcomes[rule]

    def decide(self, lines: list[str], begin: int) -> list[int]:
        """Return the deciding rules of the next lines from `begin` on: of one at least."""
        if not self._patterns:
            return [NO_RULE] * len(lines[begin : begin + _MOST])
        if not self._apart:
            some = lines[begin : begin + self._together]
            found = self._alarm.within(lambda: self._found(some))
            if found is not None:
                self._together = min(2 * self._together, _MOST)
                return found
            if self._together == _FEWEST:
                self._apart = _MOST
            self._together = max(self._together // 2, _FEWEST)
            # Those that follow are searched together again; there may be no more like this.
            self._apart = max(self._apart, len(some))
        self._apart -= 1
        return [self.decide_one(lines[begin])]

    def decide_one(self, line: str) -> int:
        """Return the rule that decides, each pattern under its limit."""
        for index, pattern in enumerate(self._patterns):
            found = pattern.found_in(line) if len(line) <= MAX_SUBJECT else None
            if found:
                return index
            if found is None:
                self.timed_out[index] = self.timed_out.get(index, 0) + 1
        return NO_RULE

    def _found(self, lines: list[str]) -> list[int]:
        searches = self._searches
        found = []
        for line in lines:
            for index, search in searches:
                if search(line):
                    found.append(index)
                    break
            else:
                found.append(NO_RULE)
        return found
