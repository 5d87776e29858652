"""Streams: named, bounded event logs, `stream@provider` (Provider Interface v2, `push`)."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from msgspec import Raw

from tapui.core.output import Output
from tapui.wire import limits
from tapui.wire.codec import compact
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import StreamPosted
from tapui.wire.message import Level, Line


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


class Streams:
    """All streams of all sessions."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._logs: dict[str, dict[str, StreamLog]] = {}

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
        logs = self._logs.setdefault(session_id, {})
        log = logs.get(name)
        if log is None:
            own = sum(1 for other in logs if other.rpartition("@")[2] == provider)
            if own >= limits.MAX_STREAMS:
                raise WireError(
                    ErrorCode.PAYLOAD_TOO_LARGE,
                    f"a provider may have at most {limits.MAX_STREAMS} streams",
                    session_id=session_id,
                )
            log = logs[name] = StreamLog()
        log.count += 1
        line = Line(
            seq=log.count,
            ts=self._out.timestamp(),
            level=level,
            event=event,
            metadata=None if metadata is None else compact(metadata),
        )
        log.lines.append(line)
        self._out.emit(StreamPosted(session_id, name, line, provider_id))
        return line

    def read(self, session_id: str, name: str, last: int, before: int | None = None) -> list[Line]:
        """Return up to `last` lines (with a number below `before`), oldest first."""
        log = self._logs.get(session_id, {}).get(name)
        if log is None:
            return []
        newest_first = (line for line in reversed(log.lines) if before is None or line.seq < before)
        return list(islice(newest_first, max(last, 0)))[::-1]

    def of(self, session_id: str) -> dict[str, StreamLog]:
        """Return a session's streams by full name."""
        return self._logs.get(session_id, {})

    def replace(self, former: str, current: str) -> None:
        """Give a session's streams to the one that takes its place."""
        logs = self._logs.pop(former, None)
        if logs:
            self._logs.setdefault(current, {}).update(logs)

    def drop(self, session_id: str) -> None:
        """Forget the streams of a session that ended."""
        self._logs.pop(session_id, None)
