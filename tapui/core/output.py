"""What a turn of the core brings forth: events for the record, effects for the world."""

from msgspec import Raw, Struct

from tapui.core.mint import Mint
from tapui.projection.fold import cut, fold
from tapui.projection.state import State
from tapui.wire.codec import compact
from tapui.wire.events import Cut, Entry, Event
from tapui.wire.message import FileResult, Message

ConnectionId = int


class Send(Struct, frozen=True):
    """Send a message to a connection."""

    connection: ConnectionId
    message: Message


class Close(Struct, frozen=True, gc=False):
    """Close a connection once everything sent to it is flushed."""

    connection: ConnectionId
    code: int
    reason: str


class Authenticated(Struct, frozen=True, gc=False):
    """A connection showed a valid token: the limits of strangers no longer hold."""

    connection: ConnectionId


class Record(Struct, frozen=True, gc=False):
    """Make the event `seq` durable, then call `Gateway.recorded(ticket, ok, now)`."""

    ticket: int
    seq: int


class MakePersistDir(Struct, frozen=True, gc=False):
    """Make the folder for a provider's files, if it is not there."""

    provider: str


class CheckFile(Struct, frozen=True, gc=False):
    """Find out whether a file is inside a provider's folder, then call `Gateway.file_checked`."""

    ticket: int
    path: str
    folder: str


class Stop(Struct, frozen=True, gc=False):
    """Somebody with the right to do so asked the gateway to end."""


Effect = Send | Close | Authenticated | Record | MakePersistDir | CheckFile | Stop


class Output:
    """Collects the events and effects of a turn; the live state folds as events are emitted."""

    def __init__(self, run: str, mint: Mint, inline_bytes: int) -> None:
        self.run = run
        self.seq = 0
        self.state = State()
        self.events: list[Entry] = []
        self.effects: list[Effect] = []
        self._mint = mint
        self._inline = inline_bytes
        self._tickets = 0
        self._recording: dict[int, object] = {}
        self.now = 0.0
        self._stamped, self._stamp = -1.0, ""

    def timestamp(self, later: float = 0.0) -> str:
        """Return the time `later` seconds from now as RFC 3339."""
        if later:
            return self._mint.timestamp(self.now + later)
        if self.now != self._stamped:
            self._stamped, self._stamp = self.now, self._mint.timestamp(self.now)
        return self._stamp

    def emit(self, event: Event) -> int:
        """Record that something happened, now; return its sequence number."""
        self.seq += 1
        ts = self.timestamp()
        fold(self.state, event, ts)
        self.events.append(Entry(self.run, self.seq, ts, event))  # type: ignore[arg-type]
        return self.seq

    def send(self, connection: ConnectionId, message: Message) -> None:
        """Send a message when the turn is recorded."""
        self.effects.append(Send(connection, message))

    def record(self, seq: int, subject: object) -> None:
        """Ask that event `seq` be made durable; `recorded` gives `subject` back."""
        self._tickets += 1
        self._recording[self._tickets] = subject
        self.effects.append(Record(self._tickets, seq))

    def check_file(self, call: object, file: FileResult, folder: str) -> None:
        """Ask where a file really is; `recorded` gives call and file back."""
        self._tickets += 1
        self._recording[self._tickets] = (call, file)
        self.effects.append(CheckFile(self._tickets, file.path, folder))

    def recorded(self, ticket: int) -> object | None:
        """Return what waited for a record, or for a look at a file, once."""
        return self._recording.pop(ticket, None)

    def recordable(self, raw: Raw) -> tuple[Raw | None, Cut | None]:
        """Return JSON from outside as its record keeps it: on one line, whole or cut."""
        whole, kept = cut(raw, self._inline)
        return (compact(whole), None) if whole is not None else (None, kept)

    def take(self) -> tuple[list[Entry], list[Effect]]:
        """Hand over what has collected since the last time."""
        events, effects = self.events, self.effects
        self.events, self.effects = [], []
        return events, effects
