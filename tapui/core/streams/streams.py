"""Streams: named, bounded event logs, `stream@provider` (Provider Interface v2, `push`)."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from msgspec import Raw

from tapui.core.context import CoreContext
from tapui.core.deadlines import Deadline, Due
from tapui.core.hooks.matching import Filter, Matcher, Outcome, compiled, matches
from tapui.wire import limits
from tapui.wire.codec import compact
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import StreamMoved, StreamPosted
from tapui.wire.message import BUILTIN_PROVIDER, Level, Line
from tapui.wire.provider import FilterRule

_LINE_BYTES = 300
"""What a line takes beside its text."""


class LevelRuns:
    """The levels of a stream's lines, as runs of lines with the same one: the newest
    `limits.LEVEL_RUNS` of them."""

    __slots__ = ("_runs", "last")

    def __init__(self, before: int) -> None:
        self._runs: deque[tuple[int, Level]] = deque(maxlen=limits.LEVEL_RUNS)
        """The number of the first line of each run."""
        self.last = before

    def add(self, seq: int, level: Level) -> None:
        if not self._runs or self._runs[-1][1] != level:
            self._runs.append((seq, level))
        self.last = seq

    def counts(self, first: int, last: int) -> dict[str, int]:
        """Return how many of the lines from `first` to `last` have each level; under "" those of
        which it is not known any more."""
        found: dict[str, int] = {}
        end = min(last, self.last)
        for begin, level in reversed(self._runs):
            if begin <= end:
                count = end - max(begin, first) + 1
                found[level] = found.get(level, 0) + count
                end = max(begin, first) - 1
            if end < first:
                break
        if (left := last - first + 1 - sum(found.values())) > 0:
            found[""] = left
        return found


@dataclass(slots=True, eq=False)
class StreamLog:
    """The newest lines of one stream; `count` is all lines ever posted, `size` bytes in memory."""

    count: int = 0
    size: int = 0
    lines: deque[Line] = field(default_factory=lambda: deque(maxlen=limits.STREAM_LINES))
    by_agent: deque[int] = field(default_factory=lambda: deque(maxlen=limits.STREAM_LINES))
    """The numbers of those lines that the session's agent posted."""
    levels: LevelRuns = field(init=False)

    def __post_init__(self) -> None:
        self.levels = LevelRuns(self.count)


def full_name(stream: str, provider: str) -> str:
    """Return `stream@provider`."""
    return f"{stream}@{provider}"


def split_name(name: str, own: str) -> str:
    """Return the full name of a stream named in a request; a bare name is one of `own`'s."""
    return name if "@" in name else full_name(name, own)


def compile_filter(rules: list[FilterRule], matcher: Matcher) -> Filter:
    """Compile a filter's rules.

    Raises `WireError`: `INVALID_JSON` naming the field, `PAYLOAD_TOO_LARGE` for too many.
    """
    if len(rules) > limits.MAX_HOOK_RULES:
        raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, f"rules: at most {limits.MAX_HOOK_RULES}")
    return [
        (compiled(matcher, rule.match, f"rules[{index}].match"), rule.outcome)
        for index, rule in enumerate(rules)
    ]


def filtered(rules: Filter, level: Level, event: str) -> tuple[Outcome, bool]:
    """Return the outcome of a line, and whether a pattern could not be tried to its end.

    That is a level or `drop`; a line that no pattern matches keeps its own level.
    """
    is_undecided = False
    for pattern, outcome in rules:
        fits = matches(pattern, event)
        if fits:
            return outcome, is_undecided
        is_undecided = is_undecided or fits is None
    return level, is_undecided


class Streams:
    """All streams of all sessions."""

    def __init__(self, context: CoreContext) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._logs: dict[str, dict[str, StreamLog]] = {}
        self._sizes: dict[str, int] = {}
        """Bytes of each session's lines in memory."""
        self._total = 0
        self._departed: dict[tuple[str, str], Deadline] = {}
        """When the streams of a provider that left are forgotten, by session and name."""
        self._released: dict[tuple[str, str], int] = {}
        """How many lines a forgotten stream had, by session and full name: its numbers continue."""

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
        dropped: int = 0,
        waited: int = 0,
    ) -> Line:
        """Append a line. Raises `PAYLOAD_TOO_LARGE` for one stream too many."""
        name = full_name(stream, provider)
        self.require_room(session_id, stream, provider)
        logs = self._logs.setdefault(session_id, {})
        log = logs.get(name)
        if log is None:
            log = logs[name] = StreamLog(self._released.pop((session_id, name), 0))
        log.count += 1
        line = Line(
            seq=log.count,
            ts=self._clock.timestamp(),
            level=level,
            event=event,
            metadata=None if metadata is None else compact(metadata),
        )
        log.levels.add(line.seq, level)
        self._keep(session_id, log, line)
        self._out.emit(StreamPosted(session_id, name, line, provider_id, dropped, waited))
        return line

    def _keep(self, session_id: str, log: StreamLog, line: Line) -> None:
        """Append a line; the oldest ones go where there are too many, or too many bytes."""
        if len(log.lines) == limits.STREAM_LINES:
            self._drop_oldest(session_id, log)
        log.lines.append(line)
        size = _size(line)
        log.size += size
        self._hold(session_id, size)
        while self._sizes[session_id] > limits.SESSION_STREAM_BYTES:
            self._drop_oldest(session_id, self._largest(session_id))
        while self._total > limits.STREAM_BYTES:
            heaviest = max(self._sizes, key=self._sizes.__getitem__)
            self._drop_oldest(heaviest, self._largest(heaviest))

    def _largest(self, session_id: str) -> StreamLog:
        return max(self._logs[session_id].values(), key=lambda log: log.size)

    def _drop_oldest(self, session_id: str, log: StreamLog) -> None:
        """Forget a stream's oldest line; it stays in the records."""
        size = _size(log.lines.popleft())
        log.size -= size
        self._hold(session_id, -size)

    def provider_left(self, session_id: str, provider: str) -> None:
        """No provider of this name is in the session any more: its lines stay for a while."""
        if any(_owner(name) == provider for name in self._logs.get(session_id, ())):
            key = (session_id, provider)
            self.provider_joined(session_id, provider)
            when = self._clock.now + limits.DEPARTED_STREAM_TTL
            self._departed[key] = self._deadlines.add(when, Due.STREAMS, key)
            while len(self._departed) > limits.MAX_DEPARTED_STREAMS:
                self.release(*next(iter(self._departed)))

    def provider_joined(self, session_id: str, provider: str) -> None:
        """A provider of this name is in the session: its lines stay."""
        self._deadlines.cancel(self._departed.pop((session_id, provider), None))

    def release(self, session_id: str, provider: str) -> None:
        """Forget the streams of a provider that has been gone for long; the records keep them."""
        self.provider_joined(session_id, provider)
        logs = self._logs.get(session_id, {})
        for name in [name for name in logs if _owner(name) == provider]:
            log = logs.pop(name)
            self._hold(session_id, -log.size)
            self._released[session_id, name] = log.count
        while len(self._released) > limits.RECENT_STREAMS:
            del self._released[next(iter(self._released))]

    def _hold(self, session_id: str, size: int) -> None:
        self._sizes[session_id] = self._sizes.get(session_id, 0) + size
        self._total += size

    def require_room(self, session_id: str, stream: str, provider: str) -> None:
        """Check that a stream is there, or may be. Raises `WireError` (`PAYLOAD_TOO_LARGE`)."""
        logs = self._logs.get(session_id, {})
        if full_name(stream, provider) in logs:
            return
        own = sum(1 for other in logs if _owner(other) == provider)
        is_ours = provider == BUILTIN_PROVIDER
        most = limits.MAX_EMITTER_STREAMS if is_ours else limits.MAX_STREAMS
        if own >= most:
            raise WireError(
                ErrorCode.PAYLOAD_TOO_LARGE,
                f"{'tapui itself' if is_ours else 'a provider'} may have at most {most} streams",
                session_id=session_id,
            )

    def read(
        self, session_id: str, name: str, last: int, before: int | None = None, until: str = ""
    ) -> list[Line]:
        """Return up to `last` lines (with a number below `before`, up to the time `until`), oldest
        first.

        They have at most `limits.MAX_STREAM_READ_BYTES` together, or are one.
        """
        log = self._logs.get(session_id, {}).get(name)
        if log is None:
            return []
        newest_first = (
            line
            for line in reversed(log.lines)
            if (before is None or line.seq < before) and (not until or line.ts <= until)
        )
        return fitting(islice(newest_first, min(max(last, 0), limits.STREAM_LINES)))[::-1]

    def read_after(
        self, session_id: str, name: str, most: int, after: int
    ) -> tuple[list[Line], bool]:
        """Return the first lines with numbers above `after`, oldest first, and whether memory has
        them all; else some before them are in the records alone."""
        log = self._logs.get(session_id, {}).get(name)
        if log is None:
            return [], (session_id, name) not in self._released
        lines = fitting(islice((line for line in log.lines if line.seq > after), most))
        first = log.lines[0].seq if log.lines else log.count + 1
        return lines, first <= after + 1

    def has_older(self, session_id: str, name: str, before: int) -> bool:
        """Return whether lines with numbers below `before` were posted but are not in memory."""
        log = self._logs.get(session_id, {}).get(name)
        if log is None:
            return self._released.get((session_id, name), 0) > 0 and before > 1
        first = log.lines[0].seq if log.lines else log.count + 1
        return min(before, first) > 1

    def of(self, session_id: str) -> dict[str, StreamLog]:
        return self._logs.get(session_id, {})

    def replace(self, former: str, current: str) -> None:
        """Give a session's streams to the one that takes its place; those that it has stay its."""
        logs = self._logs.pop(former, None)
        if logs:
            own = self._logs.get(current, {})
            self._hold(former, -sum(log.size for name, log in logs.items() if name in own))
            self._logs[current] = logs | own
            self._sizes[current] = self._sizes.get(current, 0) + self._sizes.pop(former, 0)
        for key in [key for key in self._released if key[0] == former]:
            self._released.setdefault((current, key[1]), self._released.pop(key))
        for key in [key for key in self._departed if key[0] == former]:
            self._deadlines.cancel(self._departed.pop(key))
            self.provider_left(current, key[1])

    def hand_over(self, former: str, current: str, names: Iterable[str]) -> None:
        """Give some streams of a session to another, by their full names; those that it has of the
        same name go. Towers hear of it."""
        logs, own = self._logs.get(former, {}), self._logs.setdefault(current, {})
        for name in sorted(names):
            if (log := logs.pop(name, None)) is None:
                continue
            self._hold(former, -log.size)
            self._hold(current, log.size - (own[name].size if name in own else 0))
            own[name] = log
            self._out.emit(StreamMoved(current, name, former))

    def drop(self, session_id: str) -> None:
        """Forget the streams of a session that ended."""
        self._logs.pop(session_id, None)
        self._total -= self._sizes.pop(session_id, 0)
        for key in [key for key in self._departed if key[0] == session_id]:
            self._deadlines.cancel(self._departed.pop(key))
        for key in [key for key in self._released if key[0] == session_id]:
            del self._released[key]


def fitting(found: Iterable[Line]) -> list[Line]:
    """Return the first of these lines that fit an answer to `stream.read`, one at least."""
    lines: list[Line] = []
    room = limits.MAX_STREAM_READ_BYTES
    for line in found:
        room -= _size(line)
        if room < 0 and lines:
            break
        lines.append(line)
    return lines


def _owner(name: str) -> str:
    """Return the provider of a stream's full name."""
    return name.rpartition("@")[2]


def _size(line: Line) -> int:
    """Return about how many bytes a line takes in memory."""
    text = len(line.event) if line.event.isascii() else len(line.event.encode())
    return _LINE_BYTES + text + (len(memoryview(line.metadata)) if line.metadata else 0)
