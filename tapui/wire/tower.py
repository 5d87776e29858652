"""The tower's conversation: it watches, and sends the person's decisions (README.md)."""

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from tapui.wire.bounds import Id, Ids, Text
from tapui.wire.changes import (
    ChangeMarks,
    ChangesDone,
    ChangesList,
    ChangesRead,
    DiffRead,
    FileDiff,
    FilePutBack,
    FileSee,
    NoteDrop,
    NoteKeep,
    NotesTell,
)
from tapui.wire.emitters import (
    Emitter,
    EmitterFilter,
    EmitterKeep,
    EmitterKept,
    EmitterPause,
    EmitterResume,
    EmitterRun,
    EmitterStart,
    EmitterStop,
    EmitterTried,
    EmitterTry,
    FolderProblems,
)
from tapui.wire.goals import (
    Goal,
    GoalAnswer,
    GoalChange,
    GoalDrop,
    GoalNote,
    GoalOpen,
    GoalsList,
    GoalsRead,
    GoalVerify,
    SurfaceAllow,
)
from tapui.wire.mcp_servers import McpServer
from tapui.wire.message import (
    Error,
    Json,
    Line,
    Message,
    Mode,
    NowText,
    Number,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
    WireStruct,
)
from tapui.wire.provider import Sessions, SessionsUpdated
from tapui.wire.proving import (
    ProofBegan,
    ProofEnded,
    ProofLines,
    ProofPlan,
    ProofRun,
    ProofSendBack,
    ProofStop,
)
from tapui.wire.reviews import FindingAnswer, FindingDispose, Review
from tapui.wire.steering import (
    AgentsList,
    AgentsRead,
    ModelsList,
    ModelsRead,
    Order,
    SessionCompact,
    SessionEnd,
    SessionOrdered,
    SessionSet,
    SessionStart,
    SessionStarted,
    SessionStop,
    SessionTell,
)
from tapui.wire.subjects import (
    Alarm,
    Approval,
    Call,
    Gate,
    HostLook,
    ModeStanding,
    Provider,
    Session,
    Span,
    SpanCounts,
    SpanExport,
    Stream,
    ToolsOff,
    Unattached,
)
from tapui.wire.turns import SessionTurns, Turn

# Tower → gateway


class TowerHello(Message, tag="tower.hello"):
    """Opens the conversation; the answer is a snapshot, then every event in order.

    `role` is `"client"` for a command that comes and goes and is not counted as a tower, `"prompt"`
    for the terminal of `tapui serve`, in the gateway's own process.
    """

    protocol_version: Number
    name: Id | None = None
    role: Literal["tower", "client", "prompt"] | None = None
    is_inside: bool = False
    """A word of its own: it was started for an agent (`TAPUI_INSIDE`), and is refused."""


class ApprovalReveal(Message, tag="approval.reveal"):
    """Open a pairing: from now on its code exists, good for `sessions`."""

    approval_id: Id
    sessions: Ids | None = None


class ApprovalDecide(Message, tag="approval.decide"):
    """Approve or deny."""

    approval_id: Id
    decision: Literal["approve", "deny"]
    answer: Json = None
    reason: Text | None = None
    keep: bool = False
    """Whether exactly this is allowed until the session, or the gateway, ends (a permission that is
    approved)."""


class CallCancel(Message, tag="call.cancel"):
    """Cancel a call, by the call's id."""

    id: Id


class ProviderDisconnect(Message, tag="provider.disconnect"):
    """Close a provider's connection."""

    provider_id: Id


class ProviderMove(Message, tag="provider.move"):
    """Bind a provider to another session."""

    provider_id: Id
    session_id: Id


class InjectsResume(Message, tag="injects.resume"):
    """Release the loop brake of a provider, or of the emitter whose id it is."""

    provider_id: Id
    session_id: Id


class SessionMode(Message, tag="session.mode"):
    """Set a session's mode."""

    session_id: Id
    mode: Mode


class SessionBudget(Message, tag="session.budget"):
    """Set what a session may use until the person is asked; what is absent is without bounds."""

    session_id: Id
    tokens: Number | None = None
    requests: Number | None = None


class ToolsSwitch(Message, tag="tools.switch"):
    """Switch a tool off for a session, or on again; without a `tool` all of the provider's."""

    session_id: Id
    provider: Id
    on: bool
    tool: Id | None = None


class StreamRead(Message, tag="stream.read"):
    """Read lines of a stream: the `last` ones, those before sequence number `before`, or the first
    ones after number `after`.

    `at` is a time: beside `before` or `after` that of the line with this number, by which older
    lines are found sooner in long records; alone, only lines up to then are read.
    """

    id: Id
    stream: Id
    session_id: Id
    last: int = 100
    before: int | None = None
    after: int | None = None
    at: Id | None = None


class TurnsRead(Message, tag="turns.read"):
    """Read turns of a session whole: the `last` ones, or those before turn number `before`."""

    id: Id
    session_id: Id
    before: int | None = None
    last: int = 1


class SpansRead(Message, tag="spans.read"):
    """Read the spans of a session that were recorded from the time `since` to `until` (None: now);
    with `trace_id` those of a trace alone. The newest, where there are too many."""

    id: Id
    session_id: Id
    since: Id
    until: Id | None = None
    trace_id: Id | None = None


class ToolsRead(Message, tag="tools.read"):
    """Read the tools that a session has now, with their schemas; with `all` also those that the
    person has switched off, and the names of the session's own."""

    id: Id
    session_id: Id
    all: bool = False


class DetailRead(Message, tag="detail.read"):
    """Read all of a call, an approval, a provider or an emitter of which a snapshot has only heads.

    `session_id` is a call's: with it also one is found that the state keeps no longer, in the
    records of this run.
    """

    id: Id
    of: Literal["call", "approval", "provider", "emitter"]
    subject: Id
    """Its id."""
    session_id: Id | None = None


class InspectStart(Message, tag="inspect.start"):
    """Watch the conversation of a provider, or of the host of a session.

    The answer is an `inspect.lines` without lines.
    """

    id: Id
    """Chosen by the tower; everything about this inspection has it."""
    provider_id: Id | None = None
    session_id: Id | None = None


class InspectRead(Message, tag="inspect.read"):
    """Ask for the messages since the last `inspect.lines`, as soon as there are any."""

    id: Id


class InspectStop(Message, tag="inspect.stop"):
    """End an inspection."""

    id: Id


class CommandWaits(Message, tag="command.waits"):
    """What was sent waits until the person allows its sender, in the tower.

    `reply_to` is the type of the message, `approval_id` what the person is asked.
    """

    reply_to: str
    approval_id: str
    text: str


class TokenMint(Message, tag="token.mint"):
    """Make a provider token that is good for one session (`tapui token --session ID`)."""

    id: Id
    session_id: Id


class GatewayStop(Message, tag="gateway.stop"):
    """End the gateway (`tapui stop`)."""


# Gateway → tower


class Snapshot(Struct, rename="camel", frozen=True):
    """The state that all events up to now fold to."""

    sessions: list[Session]
    providers: list[Provider]
    calls: list[Call]
    streams: list[Stream]
    approvals: list[Approval]
    gates: list[Gate] = []
    unattached: list[Unattached] = []
    turns: list[SessionTurns] = []
    orders: list[Order] = []
    alarms: list[Alarm] = []
    emitters: list[Emitter] = []
    mcp_servers: list[McpServer] = []
    folder_problems: list[FolderProblems] = []
    rules_allowed: int | UnsetType = UNSET
    """How many requests rules have allowed in this run, where any."""
    modes: list[ModeStanding] | UnsetType = UNSET
    """Whose the sessions' modes are, where that is known of any."""
    goals: list[Goal] | UnsetType = UNSET
    """The goals of sessions, oldest first, where there are any."""
    reviews: list[Review] | UnsetType = UNSET
    """The newest reviews of sessions, oldest first, where there are any."""
    tools_off: list[ToolsOff] | UnsetType = UNSET
    """What of the sessions' tools the person has switched off, where anything is."""
    marks: list[ChangeMarks] | UnsetType = UNSET
    """What the person has marked in the changes of sessions, where there is anything."""
    looks: list[HostLook] | UnsetType = UNSET
    """How far hosts are with their first look for sessions, where any looks."""
    spans: list[SpanCounts] | UnsetType = UNSET
    """How many spans of sessions were recorded, where any were."""
    span_export: SpanExport | UnsetType = UNSET
    """How the live export of spans goes, once there is something to tell."""


class Holder(Struct, frozen=True):
    """Who holds `count` connections."""

    name: str
    count: int


class PlacesTaken(Struct, rename="camel", frozen=True):
    """How many connections have authenticated, of how many that may; `bridges` of MCP servers are
    counted by themselves. `holders` are those of most connections, first; `refused` counts
    connections with a good token that got no place since the gateway's start."""

    open: int
    most: int
    bridges: int
    holders: list[Holder]
    refused: int


class GatewayStart(Struct, rename="camel", frozen=True, omit_defaults=True):
    """Who started the gateway: `command` is `tapui` or `serve`, `by` the shell in whose terminal,
    with the program that shows it (`zsh in tmux`). `unchecked`: any process of the user may answer
    (`approvals.command-line`)."""

    command: str
    at: str
    terminal: str | None = None
    by: str | None = None
    unchecked: bool = False


class TowerSnapshot(Message, tag="tower.snapshot"):
    """The state after event `seq`. `towers` counts the towers that watch, this one too; `is_first`
    when it has watched longest: that one alone calls the person."""

    seq: int
    state: Snapshot
    run: str = ""
    towers: int = 0
    is_first: bool = False
    places: PlacesTaken | None = None
    started: GatewayStart | None = None


class TowerEvent(Message, tag="tower.event"):
    """One event, as its record has it."""

    seq: int
    ts: str
    event: Raw


class TowersChanged(Message, tag="towers.changed"):
    """How many towers watch, and whether this one has watched longest."""

    towers: int
    is_first: bool = False


class TowerJudged(Message, tag="tower.judged"):
    """Whether a further tower may decide, and why not."""

    may_decide: bool
    why: str | None = None


class RevealedCode(Message, tag="approval.revealed"):
    """The pairing's code, for the person to read; only the tower that opened it gets it."""

    approval_id: str
    code: str
    expires_at: str


class StreamLines(Message, tag="stream.lines"):
    """The answer to `stream.read`, oldest first."""

    id: str
    lines: list[Line]


class TurnsList(Message, tag="turns"):
    """The answer to `turns.read`, oldest first."""

    id: str
    turns: list[Turn]


class SpansList(Message, tag="spans"):
    """The answer to `spans.read`, oldest first; `is_cut`: older ones were too many."""

    id: str
    spans: list[Span]
    is_cut: bool = False


class ToolsList(Message, tag="tools.list"):
    """The answer to `tools.read`, in order of registration. `own` are the session's own tools, by
    name; None where they were not asked for, or its host does not say."""

    id: str
    tools: list[OfferedTool]
    own: list[str] | None = None


class Detail(Message, tag="detail"):
    """The answer to `detail.read`: the one that was asked for, as whole as memory and records
    have it."""

    id: str
    call: Call | None = None
    approval: Approval | None = None
    provider: Provider | None = None
    emitter: Emitter | None = None


class Inspected(WireStruct):
    """A message of an inspected connection. `way` is as the gateway sees it; `size` is in bytes.

    `text` is its JSON, or what came instead, without secrets; `is_cut`: its beginning. `kind` is
    its `type`, where it has one.
    """

    ts: str
    way: Literal["in", "out"]
    size: int
    text: str
    kind: str = ""
    is_cut: bool = False


class InspectLines(Message, tag="inspect.lines"):
    """Messages of an inspected connection, oldest first; `dropped` older ones did not wait.

    Never recorded. The next come when the tower has asked for them (`inspect.read`).
    """

    id: str
    lines: list[Inspected]
    dropped: int = 0


class InspectEnded(Message, tag="inspect.ended"):
    """The inspected connection is gone."""

    id: str


class TokenMinted(Message, tag="token.minted"):
    """The token; it dies with its session."""

    id: str
    token: str


class GatewayStopping(Message, tag="gateway.stopping"):
    """The gateway is ending; `deadline` is milliseconds."""

    deadline: int


class Notice(Message, tag="tower.notice"):
    """Something the person should know (the disk is full, say); not part of the state."""

    message: str
    level: Literal["info", "warning", "error"]


FromTower = (
    TowerHello
    | ApprovalReveal
    | ApprovalDecide
    | CallCancel
    | ProviderDisconnect
    | ProviderMove
    | InjectsResume
    | SessionMode
    | SessionBudget
    | ToolsSwitch
    | SessionTell
    | SessionStop
    | SessionCompact
    | SessionSet
    | SessionEnd
    | SessionStart
    | ModelsRead
    | EmitterStart
    | EmitterStop
    | EmitterPause
    | EmitterResume
    | EmitterRun
    | EmitterFilter
    | EmitterTry
    | EmitterKeep
    | ProofRun
    | ProofStop
    | ProofSendBack
    | GoalOpen
    | GoalChange
    | GoalVerify
    | GoalNote
    | GoalDrop
    | SurfaceAllow
    | GoalsRead
    | FindingDispose
    | ToolInvoke
    | ToolAbort
    | StreamRead
    | TurnsRead
    | SpansRead
    | ChangesRead
    | DiffRead
    | FileSee
    | FilePutBack
    | NoteKeep
    | NoteDrop
    | NotesTell
    | ToolsRead
    | AgentsRead
    | DetailRead
    | InspectStart
    | InspectRead
    | InspectStop
    | TokenMint
    | GatewayStop
)
ToTower = (
    Sessions
    | SessionsUpdated
    | TowerSnapshot
    | TowerEvent
    | TowersChanged
    | TowerJudged
    | NowText
    | RevealedCode
    | ToolProgress
    | ToolOutcome
    | StreamLines
    | TurnsList
    | SpansList
    | ChangesList
    | FileDiff
    | ChangesDone
    | AgentsList
    | ToolsList
    | SessionOrdered
    | SessionStarted
    | ModelsList
    | EmitterTried
    | EmitterKept
    | ProofPlan
    | ProofBegan
    | ProofLines
    | ProofEnded
    | GoalAnswer
    | GoalsList
    | FindingAnswer
    | Detail
    | InspectLines
    | InspectEnded
    | TokenMinted
    | CommandWaits
    | GatewayStopping
    | Notice
    | Error
)
