"""The effects: what the core asks the shell to do, once the turn's events are written.

One with a ticket wants an answer, which the shell gives through
`Gateway.tell(now, gateway.answered, ticket, answer)`.
"""

from typing import Any, Literal

from msgspec import Struct

from tapui.core.emitters.plans import EmitterEntryRead, EmitterPlan
from tapui.secret import Secret
from tapui.wire.emitters import Delivery, Injector
from tapui.wire.errors import CallError
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.provider import FilterRule

ConnectionId = int


class Send(Struct, frozen=True):
    """Send a message to a connection."""

    connection: ConnectionId
    message: Message


class SendIfIdle(Struct, frozen=True):
    """Best-effort send: dropped while the connection has 64 KiB or more unsent."""

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
    """Make the event `seq` durable. The answer: whether it is."""

    ticket: int
    seq: int


class NoteAgent(Struct, frozen=True, gc=False):
    """Remember a process as an agent's, by its id or by its connection, from now on.

    `what` says in words which one it is: `session 'notes'`.
    """

    what: str
    pid: int | None = None
    connection: ConnectionId | None = None


class Identify(Struct, frozen=True, gc=False):
    """Find the process behind a connection. The answer: `Identified`."""

    ticket: int
    connection: ConnectionId


class SeenProcess(Struct, frozen=True, gc=False):
    """A process; `start` is in seconds since boot, `uid` the real user id."""

    pid: int
    name: str
    start: float
    uid: int


class AgentProcess(Struct, frozen=True, gc=False):
    """A running process that belongs to an agent, its process group, and its name in words."""

    pid: int
    start: float
    group: int
    what: str
    session: int = 0
    """The id of its session's leader."""


class Sight(Struct, frozen=True):
    """The process at the other end of a connection, and its terminal, as the kernel knows them.

    Lines begin with a process and go on with its parent, up to the first process.
    """

    line: tuple[SeenProcess, ...]
    group: int
    """The process group of the process."""
    session: int
    """The id of the leader of its session, which may have ended."""
    leader_line: tuple[SeenProcess, ...] = ()
    """The leader of its session; empty where that has ended."""
    terminal: str | None = None
    """Its controlling terminal: `/dev/pts/7`."""
    foreground: int = 0
    """The foreground process group of the terminal."""
    holder_line: tuple[SeenProcess, ...] = ()
    """The program that holds the terminal's other end; empty where it cannot be found."""
    marked: SeenProcess | None = None
    """The one of the process and those up to its leader, or the holder, whose environment says that
    an agent started it."""


class Identified(Struct, frozen=True):
    """The answer to `Identify`; times are seconds since boot.

    `sight` is None where the process cannot be found. `earliest` is when the first agent since
    boot began, ended ones included, and `earliest_what` its name in words; None before any was
    seen.
    """

    sight: Sight | None
    agents: tuple[AgentProcess, ...] = ()
    earliest: float | None = None
    earliest_what: str = ""
    now: float = 0.0


class MakePersistDir(Struct, frozen=True, gc=False):
    """Make the folder for a provider's files, if it is not there."""

    provider: str


class CopyFile(Struct, frozen=True, gc=False):
    """Copy a file of a provider's folder to the session's. The answer: `Copied` or `NotCopied`.

    The copy is named after `name`; `ttl` is seconds from now, within which it must be read.
    """

    ticket: int
    path: str
    folder: str
    session_id: str
    name: str
    ttl: float | None


class Copied(Struct, frozen=True, gc=False):
    """A file was copied: where the copy is, and its size in bytes."""

    path: str
    size: int


class NotCopied(Struct, frozen=True, gc=False):
    """A file may not be used, or could not be copied: the error of the call that it answers.

    `is_ours`: it is not the provider's fault, the session's folder cannot be written.
    """

    code: CallError
    text: str
    is_ours: bool = False


class LinesBefore(Struct, frozen=True, gc=False):
    """The `last` lines of a stream with numbers below `before`.

    `at` is the time of the line with that number, where it is known: a hint for long records.
    `until` is a time after which no line is wanted.
    """

    stream: str
    last: int
    before: int
    at: str = ""
    until: str = ""


class LinesAfter(Struct, frozen=True, gc=False):
    """The first `most` lines of a stream with numbers above `after`, whose time is `at`."""

    stream: str
    most: int
    after: int
    at: str = ""


class RecordsAbout(Struct, frozen=True, gc=False):
    """The newest records of each of the `kinds` whose subject has the id `subject`."""

    subject: str
    kinds: tuple[str, ...]


class EarlierTurns(Struct, frozen=True, gc=False):
    """The turns of earlier runs, as one `session.restored` event."""


class ReadRecords(Struct, frozen=True):
    """Read back events. The answer: `RecordsRead`."""

    ticket: int
    session_id: str | None
    wanted: LinesBefore | LinesAfter | RecordsAbout | EarlierTurns


class RecordsRead(Struct, frozen=True):
    """The answer to `ReadRecords`: events, oldest first; `fault` says why they cannot be read."""

    entries: list[Entry]
    fault: str | None = None


class ReadRules(Struct, frozen=True, gc=False):
    """Read the rules that the files of a folder add. The answer: `FolderRules`."""

    ticket: int
    cwd: str


class ReadEmitters(Struct, frozen=True, gc=False):
    """Read the emitters of a folder's file, and watch it. The answer: `FolderEmitters`."""

    ticket: int
    cwd: str


class LeaveEmitters(Struct, frozen=True, gc=False):
    """Watch the file of a folder (without links) no longer."""

    folder: str


class CheckEmitter(Struct, frozen=True, gc=False):
    """Find out whether an emitter of a folder's file may start, or a provider of it.

    It is asked before each run. The answer: `EmitterStanding`.
    """

    ticket: int
    folder: str
    name: str
    is_provider: bool = False


class KeepConsent(Struct, frozen=True, gc=False):
    """Keep that the person allowed what `digest` names.

    With `later_versions` the files that it names may change. The answer: why it could not be kept,
    or None.
    """

    ticket: int
    folder: str
    name: str
    digest: str
    later_versions: bool
    is_provider: bool = False


class SaveEmitter(Struct, frozen=True, kw_only=True):
    """Write an emitter into a folder's file. The answer: `SavedEmitter`.

    Of one that is in the file what is given is changed, and nothing else; with `is_new` it is not
    there yet, and the person has allowed what `entry` says.
    """

    ticket: int
    folder: str
    entry: EmitterEntryRead
    is_new: bool
    rules: tuple[FilterRule, ...] | None = None
    auto_start: bool | None = None
    every: int | None = None
    injector: Injector | None = None
    delivery: Delivery | None = None


class StartRun(Struct, frozen=True):
    """Run a plan's command; `Runs.reported` takes its status, by its id."""

    run: str
    plan: EmitterPlan
    rules: tuple[FilterRule, ...]
    """Those in force, which the person may have changed since."""
    token: Secret | None = None
    """What a provider earns its session with."""


class StopRun(Struct, frozen=True, gc=False):
    """End a run with all of its processes; its last lines and its end still come."""

    run: str


class SetRunFilter(Struct, frozen=True):
    """Filter the lines of a run that follow by other rules."""

    run: str
    version: int
    rules: tuple[FilterRule, ...]


class TryFilter(Struct, frozen=True):
    """Find out what rules make of lines. The answer: `RulesTried`."""

    ticket: int
    rules: tuple[FilterRule, ...]
    lines: tuple[str, ...]


class McpSession(Struct, frozen=True):
    """A session that has MCP servers. `own` are the servers that its program runs itself, by name;
    None: its host does not say. An `unattended` one asks no person."""

    id: str
    cwd: str
    own: frozenset[str] | None = None
    is_unattended: bool = False


class McpSessionsChanged(Struct, frozen=True):
    """These are the sessions in which MCP servers are offered, from now on."""

    sessions: tuple[McpSession, ...]


class AnswerPart(Struct, frozen=True):
    """How a part's question to the person ended, with what they answered."""

    question: str
    outcome: Literal["approved", "denied", "expired", "withdrawn"]
    answer: Any = None
    reason: str | None = None


class Inspect(Struct, frozen=True, gc=False):
    """Begin to send the tower `connection` what goes to and comes from the connection `target`."""

    connection: ConnectionId
    id: str
    target: ConnectionId


class InspectMore(Struct, frozen=True, gc=False):
    """Send the tower what has come since, as soon as there is something."""

    connection: ConnectionId
    id: str


class EndInspection(Struct, frozen=True, gc=False):
    """Send the tower what is left, and nothing more."""

    connection: ConnectionId
    id: str


class StopGateway(Struct, frozen=True, gc=False):
    """End the gateway: a tower has ordered it."""


EmitterEffect = (
    ReadEmitters
    | LeaveEmitters
    | CheckEmitter
    | KeepConsent
    | SaveEmitter
    | StartRun
    | StopRun
    | SetRunFilter
    | TryFilter
)
"""Effects for a shell that has called `EmitterFolders.begin`, and for no other."""

Effect = (
    Send
    | SendIfIdle
    | Close
    | Authenticated
    | MakeDurable
    | NoteAgent
    | Identify
    | MakePersistDir
    | CopyFile
    | ReadRecords
    | ReadRules
    | EmitterEffect
    | McpSessionsChanged
    | AnswerPart
    | Inspect
    | InspectMore
    | EndInspection
    | StopGateway
)
