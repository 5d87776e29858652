"""The output of a turn of the core: events for the record, effects for the shell."""

from collections.abc import Callable

from msgspec import Raw

from tapui.core.clock import Clock
from tapui.core.effects import ConnectionId, Effect, Send
from tapui.projection.cuts import Bounds
from tapui.projection.fold import fold
from tapui.projection.heads import cut
from tapui.projection.state import State
from tapui.wire import limits
from tapui.wire.codec import compact, encode
from tapui.wire.events import Entry, Event, EventLost
from tapui.wire.message import Message
from tapui.wire.subjects import Cut
from tapui.wire.surrogates import without_surrogates


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

    def emit(self, event: Event) -> int:
        """Record that something happened, now; return its sequence number."""
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
