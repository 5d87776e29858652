"""The effects: what the core asks the shell to do, once the turn's events are written."""

from msgspec import Struct

from tapui.wire.message import Message

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


class MakeDurable(Struct, frozen=True, gc=False):
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


class LinesBefore(Struct, frozen=True, gc=False):
    """The `last` lines of a stream with numbers below `before`."""

    stream: str
    last: int
    before: int


class RecordsAbout(Struct, frozen=True, gc=False):
    """The newest records of each of the `kinds` whose subject has the id `subject`."""

    subject: str
    kinds: tuple[str, ...]


class ReadRecords(Struct, frozen=True):
    """Read back events of this run, then call `Gateway.records_read(ticket, …)`, oldest first."""

    ticket: int
    session_id: str | None
    wanted: LinesBefore | RecordsAbout


class StopGateway(Struct, frozen=True, gc=False):
    """Somebody with the right to do so asked the gateway to end."""


Effect = (
    Send
    | Close
    | Authenticated
    | MakeDurable
    | MakePersistDir
    | CheckFile
    | ReadRecords
    | StopGateway
)
