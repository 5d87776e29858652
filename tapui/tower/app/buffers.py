"""What a tower keeps besides the fold: lines of streams, large values, inspected messages, and
emitters' runs. Each is bounded."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from msgspec import Raw

from tapui.times import after, epoch
from tapui.wire import limits, subjects
from tapui.wire.emitters import Emitter
from tapui.wire.message import Line
from tapui.wire.tower import Inspected, InspectEnded, InspectLines

PAYLOAD_BYTES = 16 * 1024 * 1024
"""Bytes of arguments and results, of all calls together, beyond what the state keeps."""


@dataclass(slots=True)
class Payload:
    """Arguments and result of a call, whole as its events carried them."""

    args: Raw | None = None
    data: Raw | None = None

    @property
    def size(self) -> int:
        return length(self.args) + length(self.data)


class Payloads:
    """The newest of them, by call id, within `PAYLOAD_BYTES`."""

    def __init__(self) -> None:
        self._of: dict[str, Payload] = {}
        self._bytes = 0

    def of(self, call_id: str) -> Payload | None:
        return self._of.get(call_id)

    def keep(self, call_id: str, *, args: Raw | None = None, data: Raw | None = None) -> None:
        """Keep a call's arguments or its result; the oldest calls make room."""
        payload = self._of.setdefault(call_id, Payload())
        self._bytes -= payload.size
        payload.args = args or payload.args
        payload.data = data or payload.data
        self._bytes += payload.size
        while self._bytes > PAYLOAD_BYTES and self._of:
            oldest = self._of.pop(next(iter(self._of)))
            self._bytes -= oldest.size

    def clear(self) -> None:
        self._of.clear()
        self._bytes = 0


def length(raw: Raw | None) -> int:
    """Return the bytes of a JSON text, 0 without one."""
    return 0 if raw is None else memoryview(raw).nbytes


RING_LINES = 2000
"""Lines of one stream that the tower keeps."""
RING_BYTES = 4 * 1024 * 1024
"""Bytes of one stream's lines that the tower keeps."""


@dataclass(slots=True)
class Ring:
    """The newest lines of one stream, oldest first, by rising `seq`.

    `unread` counts the lines since the person last looked, `levels` the same by level. `epoch`
    rises when the stream begins anew, `merges` when lines were put in before the newest: what
    follows a ring sees by them that more happened than lines at its ends. `head` is the number of
    a line of which a snapshot brought the beginning only. `is_muted`: its lines are not counted.
    """

    lines: deque[Line] = field(default_factory=deque)
    size: int = 0
    unread: int = 0
    levels: dict[str, int] = field(default_factory=dict)
    epoch: int = 0
    merges: int = 0
    head: int | None = None
    is_muted: bool = False

    def append(self, line: Line) -> None:
        """Add the newest line. A `seq` that does not rise means that the stream began anew."""
        lines = self.lines
        if lines and line.seq <= lines[-1].seq:
            self.clear()
        lines.append(line)
        self.size += weight(line)
        while len(lines) > RING_LINES or (self.size > RING_BYTES and len(lines) > 1):
            self.size -= weight(lines.popleft())
        if not self.is_muted:
            self.unread += 1
            self.levels[line.level] = self.levels.get(line.level, 0) + 1

    def merge(self, lines: Iterable[Line]) -> None:
        """Put lines that were read from the gateway in their places; they are not unread."""
        self.merges += 1
        known = {line.seq: line for line in lines}
        if self.head in known:
            self.lines = deque(line for line in self.lines if line.seq != self.head)
            self.head = None
        known.update((line.seq, line) for line in self.lines)
        self.lines = deque(known[seq] for seq in sorted(known))
        self.size = sum(map(weight, self.lines))
        while len(self.lines) > RING_LINES or (self.size > RING_BYTES and len(self.lines) > 1):
            self.size -= weight(self.lines.popleft())

    def line(self, seq: int) -> Line | None:
        return next((line for line in self.lines if line.seq == seq), None)

    def mark_read(self) -> None:
        self.unread = 0
        self.levels.clear()

    def clear(self) -> None:
        self.epoch += 1
        self.lines.clear()
        self.size = 0
        self.mark_read()


def weight(line: Line) -> int:
    """Return about how many bytes of a line the tower holds."""
    return len(line.event) + length(line.metadata)


KEPT_SPANS = 2_000
"""Spans that ended while the tower watches."""
KEPT_RUNS = 50
"""Runs of one emitter."""
_FRESH = 3 * limits.COUNTED_INTERVAL
"""Seconds after which a rate is out of date: counts come with lines."""


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
        at = epoch(ts) or 0.0
        pace = self._paces.get(emitter_id)
        if pace is None:
            self._paces[emitter_id] = _Pace(at, lines)
        elif at > pace.at:
            pace.rate = max(lines - pace.lines, 0) / (at - pace.at)
            pace.at, pace.lines = at, lines

    def rate(self, emitter_id: str, now: float) -> float:
        pace = self._paces.get(emitter_id)
        return pace.rate if pace is not None and now - pace.at <= _FRESH else 0.0

    def ran(self, emitter: Emitter, span: subjects.Span) -> None:
        self._runs.setdefault(emitter.id, deque(maxlen=KEPT_RUNS)).append(span)

    def runs(self, emitter_id: str) -> list[subjects.Span]:
        """Return the runs that ended while this tower watched, the newest first."""
        return list(reversed(self._runs.get(emitter_id, ())))

    def last(self, emitter_id: str) -> subjects.Span | None:
        runs = self._runs.get(emitter_id)
        return runs[-1] if runs else None

    def recent(self, most: int) -> list[tuple[str, subjects.Span]]:
        """Return the newest runs of all emitters with the emitters' ids, the newest first."""
        runs = [(id_, run) for id_, runs in self._runs.items() for run in runs]
        runs.sort(key=lambda one: after(one[1].started_at, one[1].duration / 1000), reverse=True)
        return runs[:most]

    def gone(self, emitter_id: str) -> None:
        self._paces.pop(emitter_id, None)
        self._runs.pop(emitter_id, None)

    def clear(self) -> None:
        """Another gateway: nothing of it is known."""
        self._paces.clear()
        self._runs.clear()


KEPT_LINES = 1_000
"""Messages of one inspection that the tower keeps; the oldest goes first."""
KEPT_BYTES = 2 * 1024 * 1024
"""Characters of their texts together."""


class Numbered(NamedTuple):
    """A message, and how many came before it."""

    number: int
    line: Inspected


class InspectedLog:
    """One inspection. `dropped` counts what the gateway and the tower let go of."""

    def __init__(self) -> None:
        self.lines: deque[Numbered] = deque()
        self.dropped = 0
        self.count = 0
        self.is_on = False
        """Whether the gateway has begun, and has not ended it."""
        self.is_answered = False
        """Whether the gateway answered, and may be asked for more."""
        self.ended = ""
        """Why nothing more comes."""
        self.is_lost = False
        """Whether it ended with the link to the gateway."""
        self.reopened_at: set[int] = set()
        """Numbers of the messages before which the link was lost."""
        self._bytes = 0

    def take(self, message: InspectLines | InspectEnded) -> None:
        if isinstance(message, InspectEnded):
            self.end("the connection is gone")
            return
        self.is_on = self.is_answered = True
        self.dropped += message.dropped
        for line in message.lines:
            self.count += 1
            self.lines.append(Numbered(self.count, line))
            self._bytes += len(line.text)
        while len(self.lines) > KEPT_LINES or self._bytes > KEPT_BYTES:
            gone = self.lines.popleft()
            self._bytes -= len(gone.line.text)
            self.reopened_at.discard(gone.number)
            self.dropped += 1

    def end(self, why: str) -> None:
        self.is_on = self.is_answered = False
        self.ended = self.ended or why

    def lose(self) -> None:
        if not self.ended:
            self.end("the link to the gateway was lost")
            self.is_lost = True

    def reopen(self) -> None:
        """The gateway was asked again: what comes now is not what followed."""
        self.ended, self.is_lost = "", False
        self.reopened_at.add(self.count + 1)


Reply = TypeVar("Reply")


class Replies(Generic[Reply]):
    """What the gateway answers, by the id of what was sent; of very many questions the newest.

    The link forgets questions (`clear`): one that is awaited no longer has to be asked again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: dict[str, Reply | None] = {}

    def expect(self, id_: str) -> None:
        self._of[id_] = None
        while len(self._of) > self._most:
            del self._of[next(iter(self._of))]

    def awaits(self, id_: str) -> bool:
        return id_ in self._of

    def put(self, id_: str | None, reply: Reply) -> bool:
        """Keep a reply until it is taken; return whether it was asked for."""
        if id_ not in self._of:
            return False
        self._of[id_] = reply
        return True

    def take(self, id_: str) -> Reply | None:
        """Return the reply, once; None while it has not come."""
        return self._of.pop(id_) if self._of.get(id_) is not None else None

    def clear(self) -> None:
        self._of.clear()
