"""What every part of the core is given: the time, ids, what the turn brings forth, time-outs, and
tickets for answers of the shell."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Raw

from tapui.core.deadlines import Deadlines
from tapui.core.effects import ConnectionId, Effect, Send
from tapui.projection.cuts import Bounds, cut
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire import limits
from tapui.wire.codec import compact, encode
from tapui.wire.events import Entry, Event, EventLost
from tapui.wire.message import Message
from tapui.wire.subjects import Cut
from tapui.wire.surrogates import without_surrogates


class IdSource(Protocol):
    """Injected source of everything random and of wall-clock time."""

    def id(self, prefix: str) -> str:
        """Return a fresh id, unique over all runs: `prefix`, a dash, and characters."""

    def trace(self) -> str:
        """Return a fresh trace id of W3C Trace Context: 32 hexadecimal digits, not all zero."""

    def span(self) -> str:
        """Return a fresh span id of W3C Trace Context: 16 hexadecimal digits, not all zero."""

    def token(self, prefix: str) -> str:
        """Return a fresh secret of at least 256 bits, beginning with `prefix`."""

    def code(self) -> str:
        """Return six random digits."""

    def timestamp(self, now: float) -> str:
        """Return the moment `now` (seconds of the core's clock) as RFC 3339 UTC, microseconds."""

    def until(self, text: str, now: float) -> float | None:
        """Return the seconds from the moment `now` to an RFC 3339 time, which may be over; None for
        another text, or a time without a zone."""

    def next_time(self, cron: str, now: float) -> str | None:
        """Return the first time of a cron expression after the moment `now`, in the person's time
        zone, as RFC 3339 UTC; None for an expression that is wrong or never comes."""


class Clock:
    """`now` is set by the gateway with each input, in seconds of the shell's steady clock."""

    __slots__ = ("_ids", "_stamp", "_stamped", "now")

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids
        self.now = 0.0
        self._stamped, self._stamp = -1.0, ""

    def timestamp(self, later: float = 0.0) -> str:
        """Return the time `later` seconds from now as RFC 3339."""
        if later:
            return self._ids.timestamp(self.now + later)
        if self.now != self._stamped:
            self._stamped, self._stamp = self.now, self._ids.timestamp(self.now)
        return self._stamp

    def until(self, text: str) -> float | None:
        """Return the seconds until an RFC 3339 time; None for another text."""
        return self._ids.until(text, self.now)

    def next_time(self, cron: str) -> str | None:
        """Return the next time of a cron expression as RFC 3339; None where there is none."""
        return self._ids.next_time(cron, self.now)


class Output:
    """Collects the events and effects of a turn; the live state folds as events are emitted.

    Text and JSON from outside are recorded whole up to `inline_bytes`. Each event is encoded here,
    before anything knows of it: one that cannot be is replaced by the note that it was lost, so
    that the live state, the records and the towers hold the same, and no number is left out.
    """

    def __init__(self, run: str, clock: Clock, inline_bytes: int) -> None:
        self.run = run
        self.seq = 0
        self.state = State()
        self.events: list[Entry] = []
        self.bodies: list[bytes] = []
        """The JSON of each event, in the same order."""
        self.effects: list[Effect] = []
        self._clock = clock
        self._inline = inline_bytes
        self._bounds = Bounds(inline_bytes)
        self._watchers: list[Callable[[Event], None]] = []

    def watch(self, watcher: Callable[[Event], None]) -> None:
        """Let `watcher` know of each event once it is folded; it may emit events of its own."""
        self._watchers.append(watcher)

    def emit(self, event: Event, *, is_watched: bool = True) -> int:
        """Record that something happened, now; return its sequence number. No watcher is let know
        of what is not watched: spans, which tell of what was watched already."""
        self.seq += 1
        ts = self._clock.timestamp()
        try:
            body = encode(event)
            if len(body) > limits.DETAIL_BYTES:
                event = self._bounds.bounded(event)
                body = encode(event)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            event = _lost(event, error)
            body = encode(event)
        fold(self.state, event, ts)
        self.events.append(Entry(self.run, self.seq, ts, event))  # type: ignore[arg-type]
        self.bodies.append(body)
        seq = self.seq
        if is_watched:
            for watcher in self._watchers:
                watcher(event)
        return seq

    def send(self, connection: ConnectionId, message: Message) -> None:
        """Send a message when the turn is recorded."""
        self.effects.append(Send(connection, message))

    def recordable(self, raw: Raw) -> tuple[Raw | None, Cut | None]:
        """Return JSON from outside as its record keeps it: on one line, whole or cut."""
        whole, kept = cut(raw, self._inline)
        return (compact(whole), None) if whole is not None else (None, kept)

    def take(self) -> tuple[list[Entry], list[bytes], list[Effect]]:
        """Hand over what has collected since the last time: events, their JSON, effects."""
        events, bodies, effects = self.events, self.bodies, self.effects
        self.events, self.bodies, self.effects = [], [], []
        return events, bodies, effects


def _lost(event: Event, error: Exception) -> EventLost:
    """Return the note that an event could not be encoded; it names the kind and the reason."""
    session_id = getattr(event, "session_id", None)
    if session_id is not None and session_id != without_surrogates(session_id):
        session_id = None
    reason = without_surrogates(f"{type(error).__name__}: {error}")[: limits.CUT_HEAD]
    return EventLost(str(event.__struct_config__.tag), reason, session_id)


class OfSession(Protocol):
    """A session that may end while an answer is awaited."""

    is_open: bool


class Tickets:
    """The continuations of effects: what takes each answer of the shell.

    A ticket bound to a session is dropped when the session ends. Most tickets are not bound, though
    their effect names a session: their caller, tower or shell still waits.
    """

    def __init__(self) -> None:
        self._count = 0
        self._waiting: dict[int, tuple[Callable[[Any], None], OfSession | None]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, then: Callable[[Any], None], session: OfSession | None = None) -> int:
        """Return a new ticket; `then` takes its answer, unless `session` has ended by then."""
        self._count += 1
        self._waiting[self._count] = then, session
        return self._count

    def answered(self, ticket: int, answer: Any) -> None:
        """Take an answer; of a ticket that was answered already it is ignored."""
        then, session = self._waiting.pop(ticket, (None, None))
        if then is not None and (session is None or session.is_open):
            then(answer)


class CoreContext:
    """The time of the input, what the turn brings forth, ids, time-outs, the shell's answers."""

    __slots__ = ("clock", "deadlines", "ids", "out", "tickets")

    def __init__(self, run: str, ids: IdSource, inline_bytes: int) -> None:
        self.ids = ids
        self.clock = Clock(ids)
        self.out = Output(run, self.clock, inline_bytes)
        self.deadlines = Deadlines()
        self.tickets = Tickets()


@dataclass(eq=False, repr=False)
class CorePart:
    """A part of the gateway: its collaborators are its fields, the context is at hand.

    Without `repr`: each part holds others, and a log that prints one would print them all.
    """

    context: CoreContext

    def __post_init__(self) -> None:
        context = self.context
        self._clock, self._out, self._ids = context.clock, context.out, context.ids
        self._deadlines, self._tickets = context.deadlines, context.tickets
