"""The effects: what the core asks the shell to do, once the turn's events are written.

One with a ticket wants an answer, which the shell gives through
`Gateway.tell(now, gateway.answered, ticket, answer)`.
"""

from typing import Any, Literal

from msgspec import Struct

from tapui.core.emitters.plans import EmitterEntryRead, EmitterPlan, GoalPlan
from tapui.core.proof.facts import AnyFact
from tapui.core.proof.folder_states import StatePair
from tapui.secret import Secret
from tapui.wire.builtin import RecordQuery
from tapui.wire.changes import ChangedFile, ChangeNote, DiffHunk, NoteChange
from tapui.wire.criteria import FileIs
from tapui.wire.emitters import Delivery, Injector
from tapui.wire.errors import CallError
from tapui.wire.events import Entry
from tapui.wire.goals import CheckStatus
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
    """A process; `start` is in seconds since boot."""

    pid: int
    name: str
    start: float
    is_tapui: bool = False
    """Whether it is a command of tapui's, or what launches one, by its command line."""
    is_first: bool = False
    """Whether it is the first process of its pid namespace: orphans there are given to it."""


class AgentProcess(Struct, frozen=True, gc=False):
    """A running process that is known as an agent's, and its name in words."""

    pid: int
    start: float
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
    """The leader of its session, and its parents; empty where the leader has ended."""
    terminal: str | None = None
    """Its controlling terminal: `/dev/pts/7`."""
    foreground: int = 0
    """The foreground process group of the terminal."""
    marked: SeenProcess | None = None
    """The one of the process and those up to its leader whose environment says that an agent
    started it."""


class Identified(Struct, frozen=True):
    """The answer to `Identify`. `sight` is None where the process cannot be found, `now` is in
    seconds since boot."""

    sight: Sight | None
    agents: tuple[AgentProcess, ...] = ()
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


class SpansBetween(Struct, frozen=True, gc=False):
    """The newest `most` spans that were recorded from a time to another ("": now), of all traces or
    of one."""

    since: str
    until: str
    most: int
    trace_id: str | None = None


class EarlierTurns(Struct, frozen=True, gc=False):
    """The turns of earlier runs, as one `session.restored` event."""


class ReadRecords(Struct, frozen=True):
    """Read back events. The answer: `RecordsRead`."""

    ticket: int
    session_id: str | None
    wanted: LinesBefore | LinesAfter | RecordsAbout | SpansBetween | EarlierTurns


class RecordsRead(Struct, frozen=True):
    """The answer to `ReadRecords`: events, oldest first; `fault` says why they cannot be read."""

    entries: list[Entry]
    fault: str | None = None


class AskRecords(Struct, frozen=True):
    """Ask the records of a session; without a query, how the index of all records stands. The
    answer: `RecordsFound`."""

    ticket: int
    session_id: str
    query: RecordQuery | None


class RecordsFound(Struct, frozen=True):
    """The answer to `AskRecords`, as plain JSON; `fault` says why there is none."""

    found: Any = None
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


class KeepGoalConsent(Struct, frozen=True):
    """Keep that the person allowed a goal of a folder's file. The answer: why it could not be kept,
    or None."""

    ticket: int
    folder: str
    plan: GoalPlan


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
    keeps_layout: bool = False
    """Whether blank lines and indents of its output are kept."""
    session: str | None = None
    """The session that a provider is to name, where it is a tool host's: none enters it without."""


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


class OpenLedger(Struct, frozen=True, gc=False):
    """Take the ledger of a session and read it. The answer: `LedgerOpened`."""

    ticket: int
    session_id: str


class LedgerOpened(Struct, frozen=True):
    """The facts of a ledger, and the hash of the last of them.

    `fault`: why what it had does not count, and it begins anew. `closed`: why nothing can be
    written to it.
    """

    facts: list[AnyFact] = []
    last: str = ""
    fault: str = ""
    closed: str = ""


class KeepFacts(Struct, frozen=True, gc=False):
    """Write lines to a ledger, durably; with none it is only looked at. `ledger` is the ticket with
    which it was opened. The answer: `FactsKept`."""

    ticket: int
    ledger: int
    lines: bytes


class FactsKept(Struct, frozen=True, gc=False):
    """Whether lines are on the disk: `fault` says why not.

    `was_changed`: something other than tapui changed the ledger, which is empty now. What it had is
    kept aside.
    """

    fault: str = ""
    was_changed: bool = False


class CloseLedger(Struct, frozen=True, gc=False):
    """Let go of a ledger, once its lines are written."""

    ledger: int


class LookAtFolder(Struct, frozen=True):
    """Look at the repository of a folder and those in it. The answer: a tuple of `FolderState`.

    `bases` are the trees, by root, with which it is compared; it takes `seconds` at most. One that
    `gives_way` is broken off (`TOO_LARGE`) when anything else is asked.
    """

    ticket: int
    folder: str
    bases: dict[str, str]
    seconds: float
    gives_way: bool = False


class FilePlace(Struct, frozen=True):
    """A file of a repository; `old_path` is where it was before it was renamed, else ""."""

    root: str
    path: str
    old_path: str = ""
    as_patch: bool = False
    """Whether its lines are wanted as a patch."""
    old_state_id: str = ""
    """What it was before, as it was shown; "" where that is not known."""


class CompareFolder(Struct, frozen=True):
    """Compare the files of repositories with what they were. The answer: `FolderCompared`.

    With `file` that one alone, and its lines; else all that changed, the first
    `limits.CHANGED_FILES`. `notes` are those of which is to be
    found out what became of their lines.
    """

    ticket: int
    pairs: tuple[StatePair, ...]
    file: FilePlace | None = None
    notes: tuple[ChangeNote, ...] = ()


class FolderCompared(Struct, frozen=True):
    """What changed, without by whom; `fault` says why it is not known.

    `hunks` or `patch` are those of the one file that was asked for.
    """

    files: tuple[ChangedFile, ...] = ()
    more: int = 0
    notes: tuple[str, ...] = ()
    hunks: tuple[DiffHunk, ...] = ()
    patch: str = ""
    fault: str = ""
    note_changes: tuple[NoteChange, ...] = ()
    """What became of the notes that were asked about, in their order; of none where that was not
    found out."""


class PutFileBack(Struct, frozen=True):
    """Put a file, or the `hunk` of it that was shown, back to what it was before. The answer:
    `FileIsBack`.

    `state_id` is the state of the file that was shown: nothing is written where it is another one,
    or was another one before than `file` says.
    """

    ticket: int
    pair: StatePair
    file: FilePlace
    state_id: str
    hunk: DiffHunk | None = None


class FileIsBack(Struct, frozen=True):
    """The paths that were written, relative to the root; `fault` says why none was. `kept` is the
    file that has what was there before; "" where nothing was."""

    paths: tuple[str, ...] = ()
    fault: str = ""
    kept: str = ""


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
    | KeepGoalConsent
    | SaveEmitter
    | StartRun
    | StopRun
    | SetRunFilter
    | TryFilter
)
"""Effects for a shell that has called `EmitterFolders.begin`, and for no other."""


class SurfaceWanted(Struct, frozen=True):
    """The files that say what a check does: globs, to be found in `folder`, which is inside of the
    session's or the same, and in those above it up to the repository's root; `**/` also below."""

    folder: str
    globs: tuple[str, ...]


class TextsTried(Struct, frozen=True):
    """Texts that a pattern from outside is tried on, away from the loop."""

    pattern: str
    texts: tuple[str, ...]


class LinesWanted(Struct, frozen=True):
    """Lines of a file from `first` to `last`, from 1, and those around them."""

    path: str
    first: int
    last: int


class LookAtFiles(Struct, frozen=True):
    """Hold files of a folder against demands, and read what checks do there.

    No link leads out of `folder`. The answer: `FilesSeen`.
    """

    ticket: int
    folder: str
    demands: tuple[FileIs, ...] = ()
    """Those with `modified_since` have a time there."""
    surfaces: tuple[SurfaceWanted, ...] = ()
    texts: tuple[TextsTried, ...] = ()
    lines: tuple[LinesWanted, ...] = ()


class FileSeen(Struct, frozen=True):
    """How a file stands against a demand. `error`: it may not be looked at, or cannot be."""

    status: CheckStatus
    actual: str
    reason: str = ""
    sha256: str | None = None
    size: int | None = None


class SurfaceRead(Struct, frozen=True):
    """The digest of a check's files, and their texts, by path.

    `fault` says why they could not all be read. The digest is then of what was read and of that;
    "" where another look in the same folder may find other files.
    """

    digest: str
    files: dict[str, str] = {}
    fault: str = ""


class LinesRead(Struct, frozen=True):
    """Lines of a file: `quote` are those that were wanted, cut to `limits.MAX_NOTE_QUOTE`
    characters; `around` has them and some others, the first of them at `first` (from 1).
    `fault` says why they could not be read."""

    quote: str = ""
    around: tuple[str, ...] = ()
    first: int = 1
    fault: str = ""


class FilesSeen(Struct, frozen=True):
    """The answer to `LookAtFiles`, in the order of what was wanted."""

    files: tuple[FileSeen, ...] = ()
    surfaces: tuple[SurfaceRead, ...] = ()
    matched: tuple[tuple[bool | None, ...], ...] = ()
    """Whether each text matches; None: that took too long, or the pattern is none."""
    lines: tuple[LinesRead, ...] = ()


ProofEffect = (
    OpenLedger | KeepFacts | CloseLedger | LookAtFolder | LookAtFiles | CompareFolder | PutFileBack
)
"""Effects for a shell that has called `Proof.begin`, and for no other."""

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
    | AskRecords
    | ReadRules
    | EmitterEffect
    | ProofEffect
    | McpSessionsChanged
    | AnswerPart
    | Inspect
    | InspectMore
    | EndInspection
    | StopGateway
)
