"""What a turn of the core brings forth: events for the record, effects for the shell."""

from msgspec import Raw

from tapui.core.clock import Clock
from tapui.core.effects import ConnectionId, Effect, Send
from tapui.projection.fold import fold
from tapui.projection.heads import cut
from tapui.projection.state import State
from tapui.wire.codec import compact
from tapui.wire.events import Cut, Entry, Event
from tapui.wire.message import Message


class Output:
    """Collects the events and effects of a turn; the live state folds as events are emitted.

    JSON from outside is recorded whole up to `inline_bytes`.
    """

    def __init__(self, run: str, clock: Clock, inline_bytes: int) -> None:
        self.run = run
        self.seq = 0
        self.state = State()
        self.events: list[Entry] = []
        self.effects: list[Effect] = []
        self._clock = clock
        self._inline = inline_bytes

    def emit(self, event: Event) -> int:
        """Record that something happened, now; return its sequence number."""
        self.seq += 1
        ts = self._clock.timestamp()
        fold(self.state, event, ts)
        self.events.append(Entry(self.run, self.seq, ts, event))  # type: ignore[arg-type]
        return self.seq

    def send(self, connection: ConnectionId, message: Message) -> None:
        """Send a message when the turn is recorded."""
        self.effects.append(Send(connection, message))

    def recordable(self, raw: Raw) -> tuple[Raw | None, Cut | None]:
        """Return JSON from outside as its record keeps it: on one line, whole or cut."""
        whole, kept = cut(raw, self._inline)
        return (compact(whole), None) if whole is not None else (None, kept)

    def take(self) -> tuple[list[Entry], list[Effect]]:
        """Hand over what has collected since the last time."""
        events, effects = self.events, self.effects
        self.events, self.effects = [], []
        return events, effects
