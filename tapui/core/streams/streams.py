"""Streams: named, bounded event logs, `stream@provider` (Provider Interface v2, `push`)."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from msgspec import Raw

from tapui.core.clock import Clock
from tapui.core.hooks.matching import Matcher, Pattern, compiled, matches
from tapui.core.output import Output
from tapui.wire import limits
from tapui.wire.codec import compact
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import StreamPosted
from tapui.wire.message import Level, Line
from tapui.wire.provider import FilterRule


@dataclass(slots=True, eq=False)
class StreamLog:
    """The newest lines of one stream; `count` is all lines ever posted."""

    count: int = 0
    lines: deque[Line] = field(default_factory=lambda: deque(maxlen=limits.STREAM_LINES))


def full_name(stream: str, provider: str) -> str:
    """Return `stream@provider`."""
    return f"{stream}@{provider}"


def split_name(name: str, own: str) -> str:
    """Return the full name of a stream named in a request; a bare name is one of `own`'s."""
    return name if "@" in name else full_name(name, own)


Outcome = Level | Literal["drop"]
Filter = list[tuple[Pattern, Outcome]]
"""Patterns, each with what becomes of a line that it matches; the first that matches decides."""


class Streams:
    """All streams of all sessions, and their filters."""

    def __init__(self, clock: Clock, out: Output) -> None:
        self._clock = clock
        self._out = out
        self._logs: dict[str, dict[str, StreamLog]] = {}
        self._filters: dict[tuple[str, str], Filter] = {}

    def compile_filter(self, rules: list[FilterRule], matcher: Matcher) -> Filter:
        """Compile a filter's rules.

        Raises `WireError`: `INVALID_JSON` naming the field, `PAYLOAD_TOO_LARGE` for too many.
        """
        if len(rules) > limits.MAX_HOOK_RULES:
            raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, f"rules: at most {limits.MAX_HOOK_RULES}")
        return [
            (compiled(matcher, rule.match, f"rules[{index}].match"), rule.outcome)
            for index, rule in enumerate(rules)
        ]

    def set_filter(self, session_id: str, name: str, rules: Filter) -> None:
        """Put a filter in force; an empty one takes the former away."""
        if rules:
            self._filters[session_id, name] = rules
        else:
            self._filters.pop((session_id, name), None)

    def drop_filters(self, session_id: str, provider: str) -> None:
        """Forget the filters of a provider that left a session."""
        for key in [
            key
            for key in self._filters
            if key[0] == session_id and key[1].rpartition("@")[2] == provider
        ]:
            del self._filters[key]

    def keep_filters(self, session_id: str, providers: set[str]) -> None:
        """Forget the filters in a session of all but these providers, by name."""
        owners = {key[1].rpartition("@")[2] for key in self._filters if key[0] == session_id}
        for owner in owners - providers:
            self.drop_filters(session_id, owner)

    def filtered(
        self, session_id: str, name: str, level: Level, event: str
    ) -> tuple[Outcome, bool]:
        """Return what becomes of a line, and whether a pattern could not be tried to its end.

        That is a level or `drop`; a line that no pattern matches keeps its own level.
        """
        is_undecided = False
        for pattern, outcome in self._filters.get((session_id, name), ()):
            fits = matches(pattern, event)
            if fits:
                return outcome, is_undecided
            is_undecided = is_undecided or fits is None
        return level, is_undecided

    def post(
        self,
        session_id: str,
        stream: str,
        provider: str,
        *,
        level: Level,
        event: str,
        metadata: Raw | None,
        provider_id: str | None = None,
    ) -> Line:
        """Append a line. Raises `PAYLOAD_TOO_LARGE` for a provider's stream number 21."""
        name = full_name(stream, provider)
        self.require_room(session_id, stream, provider)
        logs = self._logs.setdefault(session_id, {})
        log = logs.get(name)
        if log is None:
            log = logs[name] = StreamLog()
        log.count += 1
        line = Line(
            seq=log.count,
            ts=self._clock.timestamp(),
            level=level,
            event=event,
            metadata=None if metadata is None else compact(metadata),
        )
        log.lines.append(line)
        self._out.emit(StreamPosted(session_id, name, line, provider_id))
        return line

    def require_room(self, session_id: str, stream: str, provider: str) -> None:
        """Check that a stream is there, or may be. Raises `WireError` (`PAYLOAD_TOO_LARGE`)."""
        logs = self._logs.get(session_id, {})
        if full_name(stream, provider) in logs:
            return
        own = sum(1 for other in logs if other.rpartition("@")[2] == provider)
        if own >= limits.MAX_STREAMS:
            raise WireError(
                ErrorCode.PAYLOAD_TOO_LARGE,
                f"a provider may have at most {limits.MAX_STREAMS} streams",
                session_id=session_id,
            )

    def read(self, session_id: str, name: str, last: int, before: int | None = None) -> list[Line]:
        """Return up to `last` lines (with a number below `before`), oldest first."""
        log = self._logs.get(session_id, {}).get(name)
        if log is None:
            return []
        newest_first = (line for line in reversed(log.lines) if before is None or line.seq < before)
        return list(islice(newest_first, min(max(last, 0), limits.STREAM_LINES)))[::-1]

    def of(self, session_id: str) -> dict[str, StreamLog]:
        """Return a session's streams by full name."""
        return self._logs.get(session_id, {})

    def replace(self, former: str, current: str) -> None:
        """Give a session's streams to the one that takes its place."""
        for key in [key for key in self._filters if key[0] == former]:
            self._filters[current, key[1]] = self._filters.pop(key)
        logs = self._logs.pop(former, None)
        if logs:
            self._logs.setdefault(current, {}).update(logs)

    def drop(self, session_id: str) -> None:
        """Forget the streams of a session that ended."""
        self._logs.pop(session_id, None)
        for key in [key for key in self._filters if key[0] == session_id]:
            del self._filters[key]
