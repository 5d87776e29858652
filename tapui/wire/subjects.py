"""What events are about and a snapshot shows: sessions, providers, calls, streams, approvals.

Times are RFC 3339 in UTC with microseconds; durations are milliseconds.
"""

from typing import Literal

from tapui.wire.bounds import Id, Note, Path, ShellText, Text
from tapui.wire.message import (
    FileResult,
    Json,
    Line,
    Mode,
    Number,
    OptionalRaw,
    Trust,
    WireStruct,
)
from tapui.wire.turns import FileChange, Usage

SessionActivity = Literal["idle", "busy", "ended"]
SubagentState = Literal["running", "completed", "failed"]
ProviderStanding = Literal["bound", "unbound", "disconnected"]
CallStanding = Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
GateStanding = Literal["waiting", "allow", "deny", "context"]
ApprovalKind = Literal[
    "pairing",
    "mode",
    "bindAll",
    "permission",
    "userInput",
    "elicitation",
    "emitter",
    "mcpServer",
    "terminal",
    "command",
    "goal",
    "fileGoal",
]
YOU = "you"
"""How the person is recorded who decides in the gateway's own tower, or in a terminal that is
theirs."""
UNCHECKED = "the command line, no check"
"""How a command or a tower is recorded where the settings have none looked at."""
AlarmKind = Literal["waiting", "quiet", "failing", "ledger", "context"]
ApprovalStanding = Literal[
    "waiting", "deciding", "revealed", "approved", "denied", "expired", "withdrawn", "failed"
]
"""`deciding`: a decision is being recorded. `failed`: it could not be recorded, so the asker
was denied."""
Decision = Literal["approve", "deny", "reveal"]
SpanName = Literal[
    "turn",
    "gate",
    "queue",
    "provider",
    "prompt",
    "dispatch",
    "emitter",
    "tool",
    "agent",
    "route",
]
SpanStatus = Literal["ok", "error", "denied", "cancelled"]
ModeAsker = Literal["agent", "subagent", "provider", "commandLine"]
"""Who asks for another mode: the session's agent, a subagent, a provider, a command."""
ModePolicy = Literal["allow", "ask", "never", "lock"]
"""What held of a request: a setting `modes.…-to-…`, or that the mode in force is the person's."""
ModeState = Literal["ordered", "done", "failed", "refused"]
RuleEffect = Literal["deny", "ask", "allow"]
RuleSource = Literal["managed", "person", "folder", "session"]
"""`managed`: the administrator's file; `folder`: a file in a repository; `session`: exactly this
was allowed until the session ends."""


def switch_setting(asker: ModeAsker, mode: Mode) -> str:
    """Return the name of the setting for such a request: `modes.command-line-to-plan`."""
    name = "command-line" if asker == "commandLine" else asker
    return f"modes.{name}-to-{mode}"


class Cut(WireStruct):
    """What is kept of JSON too large to keep: its first characters, size in bytes, sha256."""

    head: str
    size: int
    sha256: str


class ContextUse(WireStruct):
    """How full a session's context window is, in tokens. At `compacts_at` it is made smaller.

    `system`, `tools` and `conversation` are what fills it: the system prompt, the descriptions of
    tools, and all messages; None where its host does not tell.
    """

    tokens: int
    limit: int
    compacts_at: int | None = None
    system: int | None = None
    tools: int | None = None
    conversation: int | None = None


class Alarm(WireStruct):
    """Something that the person should look at. `since` is when it began.

    `waiting`: the approval waits for long. `quiet`: nothing happens in the session's turn.
    `failing`: `program` has failed `times` times in the turn, at last with `exit_code`. `ledger`:
    what was proven in the session before is unknown, and `why`. `context`: the session's context is
    nearly full; `why` is its share (`96%`).
    """

    id: str
    kind: AlarmKind
    since: str
    session_id: str | None = None
    approval_id: str | None = None
    program: str = ""
    exit_code: int | None = None
    times: int = 0
    why: str = ""


class Budget(WireStruct):
    """What a session may use until the person is asked; None: as much as it wants of that."""

    tokens: int | None = None
    requests: float | None = None


class Subagent(WireStruct):
    """A subagent of a session. `id` is its child session's, `tool_call_id` the call's behind it."""

    id: str
    agent: str
    state: SubagentState
    started_at: str
    tool_call_id: str | None = None
    context: ContextUse | None = None
    display_name: str | None = None
    """The agent's name for people."""
    error: str | None = None
    """Why it failed."""


class ModelWait(WireStruct):
    """A request to the model failed, and the session's program makes it again: since then, with
    `times` failures in a row, the last with the HTTP `status` or, without one, for the `reason`."""

    since: str
    times: int
    status: int | None = None
    reason: str = ""


class Quota(WireStruct):
    """What the account behind a session may still use of something, as its program knows it.

    `remaining` is a percentage. `entitled` is in the service's own unit, as `used` is; None: as
    much as it wants.
    """

    name: str
    remaining: float
    used: float
    entitled: float | None = None
    resets_at: str | None = None


class Account(WireStruct):
    """The account with which a session's program asks for models, as its host knows it.

    `kind` is the program's word for how it was signed in, `note` its status in words.
    """

    signed_in: bool
    kind: Id | None = None
    login: Id | None = None
    host: Id | None = None
    plan: Id | None = None
    note: Note | None = None


TodoState = Literal["pending", "inProgress", "done", "blocked"]


class Todo(WireStruct):
    """An entry of an agent's own list of what there is to do."""

    title: str
    state: TodoState = "pending"


class TodoCounts(WireStruct):
    """How many entries an agent's list has in all, by state, where it has more than `MAX_TODOS`."""

    done: int = 0
    in_progress: int = 0
    blocked: int = 0
    pending: int = 0

    @property
    def total(self) -> int:
        return self.done + self.in_progress + self.blocked + self.pending


class SessionWarning(WireStruct):
    """A warning of a session's program. `kind` is the program's name for such warnings."""

    at: str
    text: str
    kind: str = ""


class Session(WireStruct):
    """A session. `host` is the host's name, `providers` the ids of the providers bound to it."""

    id: str
    label: str
    cwd: str
    state: SessionActivity
    host: str
    providers: list[str]
    opened_at: str
    foreground: bool = False
    mode: Mode | None = None
    model: str | None = None
    effort: str | None = None
    """The model's reasoning effort, as far as its host knows it; "" is the model's own."""
    workspace: str | None = None
    context: ContextUse | None = None
    budget: Budget | None = None
    subagents: list[Subagent] = []
    """The newest of them, in order of their start."""
    can: list[str] = []
    """The orders that its host takes for it (`steering.Ability`)."""
    cannot: dict[str, str] = {}
    """Why it does not take others."""
    tools_taken: bool | None = None
    """Whether the session's agent can call the tools that are offered; None: its host does not
    say."""
    silent: bool = False
    """Whether its program answers nothing for now: it is stopped, or hangs."""
    headless: bool = False
    """Whether it was started here, without a screen of its own."""
    program: str | None = None
    """What it lives in, and how its host speaks to it, as that says."""
    permissions: str | None = None
    """How its program asks for permissions: "manual", "assisted", "allow-all", or a newer word."""
    unattended: bool = False
    """Whether no person is asked in it: what no rule allows is denied."""
    started_by: str | None = None
    """The tower or command that started it."""
    ended_at: str | None = None
    reason: str | None = None
    by_itself: bool = False
    """Whether it ended because its program was killed, or crashed."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""
    asks_there: str = ""
    """What its program asks in its own terminal, where alone it is answered."""
    model_wait: ModelWait | None = None
    """While its program waits to ask the model again."""
    todos: list[Todo] = []
    """What its agent wants to do, in its order, as its host knows it."""
    warning: SessionWarning | None = None
    """The newest warning."""
    quotas: list[Quota] = []
    """Of the account behind it, as far as its host knows them."""
    todo_counts: TodoCounts | None = None
    """Of all of them, where the list has more than `todos`."""
    account: Account | None = None
    """Who is signed in; None: its host does not say."""
    shells: list[str] = []
    """Commands in the background for which it waits while its agent rests."""


class ModeRefusal(WireStruct):
    """A request for another mode that was refused, and why."""

    to: Mode
    asker: ModeAsker
    policy: ModePolicy
    decided_by: str
    reason: str
    at: str


class ModeStanding(WireStruct):
    """Whose a session's mode is: `userOwned` where the person set it, `modelOwned` where it was
    asked for; None: it was not set since tapui came. `refused` is the last request that was."""

    session_id: str
    ownership: Literal["userOwned", "modelOwned"] | None = None
    by: str = ""
    at: str = ""
    refused: ModeRefusal | None = None


class ToolsOff(WireStruct):
    """What of a session's tools the person has switched off, by provider: names of tools; an empty
    list is all of the provider's."""

    session_id: str
    off: dict[str, list[str]]


class Unattached(WireStruct):
    """A session that a host sees but cannot reach; `hint` is the command that changes this, `why`
    the reason where it is not that nothing was opened there."""

    id: Id
    cwd: Path
    pid: int
    hint: Path
    host: Id | None = None
    why: Text | None = None


LookState = Literal["looking", "looked", "failed", "gone"]


class HostLook(WireStruct):
    """How far a host is with its first look for sessions, since when; `failed`: why, in `error`;
    `gone`: it has left."""

    host: Id
    state: LookState
    since: str
    error: str | None = None


class Provider(WireStruct):
    """A provider. `session_id` is `"all"` for one in every session; `tools` are names."""

    id: str
    name: str
    trust: Trust
    state: ProviderStanding
    tools: list[str]
    connected_at: str
    session_id: str | None = None
    instance: str | None = None
    origin: str | None = None
    last_activity: str | None = None
    reason: str | None = None
    metadata: OptionalRaw = None
    rules: int = 0
    """How many rules it has before tools."""
    sections: dict[str, str] = {}
    """What it does to sections of the system prompt, by section."""
    sections_unapplied: list[str] = []
    """The sessions whose host is not known to apply that."""
    context: str | None = None
    revision: int = 0
    held: int = 0
    """How many of its injects wait for their sessions."""
    paused: list[str] = []
    """The sessions in which the loop brake holds its injects."""
    pattern_faults: int = 0
    """How often one of its patterns could not be tried to its end in time."""
    is_cut: bool = False
    """Whether something was cut to its head; `detail.read` gives all of it. Only in snapshots."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


class AppliedRule(WireStruct):
    """A rule that decided, or asks. `place` is `file:line`, empty for one of the session."""

    effect: RuleEffect
    kind: str
    pattern: str
    source: RuleSource
    place: str = ""


class Gate(WireStruct):
    """A call that providers decide on, or did. `providers` are those that are asked."""

    id: str
    session_id: str
    tool: str
    state: GateStanding
    providers: list[str]
    started_at: str
    decided_by: str | None = None
    reason: str | None = None
    rule: AppliedRule | None = None
    """The person's rule that decided."""
    duration: float | None = None
    """How long providers were asked."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


class Shell(WireStruct):
    """What a session's own shell told of a command, in fields that no command can print.

    `head` and `tail` are the beginning and the end of an output that the call's result has not
    whole; without a `head` the `tail` is all that is known of it.
    """

    id: Id
    cwd: Path | None = None
    """The folder in which the shell began."""
    is_cut: bool = False
    """Whether the agent was given a part of the output."""
    is_behind: bool = False
    """Whether the command went on in the background after its call."""
    head: ShellText = ""
    tail: ShellText = ""


class Call(WireStruct):
    """A tool call. `provider` is the provider's name, or the host's for a session's own tools.

    `args` and `data` are kept whole while they are small, else as `args_cut` and `data_cut`.
    """

    id: str
    session_id: str
    provider: str
    tool: str
    state: CallStanding
    started_at: str
    timeout: Number | None = None
    provider_id: str | None = None
    caller: str | None = None
    progress: str | None = None
    args: OptionalRaw = None
    args_cut: Cut | None = None
    data: OptionalRaw = None
    data_cut: Cut | None = None
    file: FileResult | None = None
    error: str | None = None
    error_code: str | None = None
    duration: float | None = None
    queued: float | None = None
    """How long it waited for a place with its provider; part of the duration."""
    gated: float | None = None
    """How long providers were asked before it began."""
    context: list[str] | None = None
    """What rules and gates added, once it has ended."""
    agent_id: str | None = None
    """The subagent that made it."""
    tool_call_id: str | None = None
    """What its session calls it, in the requests about it, where that is not its id."""
    exit_code: int | None = None
    """Of a shell, once it has ended."""
    shell: Shell | None = None
    """Only of the tools that the session's host named as its shells."""
    changes: list[FileChange] | None = None
    """The files that it changed, once it has ended."""
    answered_by: str | None = None
    """The program that answered it, such as an MCP server of the session's own, where that is
    neither the session's program nor a provider."""
    is_cut: bool = False
    """Whether something was cut to its head; `detail.read` gives all of it. Only in snapshots."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""
    output: str = ""
    """The newest of its output while it runs, at most `limits.MAX_LIVE_OUTPUT` bytes."""


class Span(WireStruct, kw_only=True, gc=False):
    """A part of a trace that has ended. Ids are W3C's; `parent_id` may be another program's span.

    `turn`: a turn of the agent; `gate`: providers were asked about a call; `queue`: a call waited
    for a place; `provider`: a provider had a call; `prompt`: a prompt was prepared; `dispatch`: a
    provider's prompt was sent, until its turn began, and so of an emitter's lines, or its prompt;
    `emitter`: a run of an emitter; `route`: a batch of its lines was taken; `tool`: a call of one
    of the session's own tools; `agent`: a subagent was at work.
    """

    trace_id: str
    span_id: str
    name: SpanName
    started_at: str
    duration: float
    status: SpanStatus = "ok"
    parent_id: str | None = None
    code: str | None = None
    """The error code of a call, `OTHER` for one that a provider made up; or how a run ended."""
    tool: str | None = None
    provider: str | None = None
    call_id: str | None = None
    agent_id: str | None = None
    """The subagent that made a call, or that was at work."""
    turn: int | None = None
    """The number of a turn."""
    dropped: int = 0
    """How many spans were too many to be recorded: of a turn, or outside of one since the session's
    last span."""
    emitter: str | None = None
    run: int | None = None
    """The number of an emitter's run."""
    lines: int | None = None
    """The lines of that run, or of a batch of it, and how many of them were kept, surfaced and
    injected."""
    kept: int | None = None
    surfaced: int | None = None
    injected: int | None = None
    held: int | None = None
    tool_call_id: str | None = None
    """What the session calls a call of its own tools."""
    agent: str | None = None
    """The name of the subagent that was at work."""
    emitter_id: str | None = None
    """The same for an emitter in every run of the gateway: the first digits of its folder's hash, a
    slash and its name; its session in place of the folder, of one that belongs to a session."""
    stream: str | None = None
    """The full name of the stream that has a batch of lines, numbered from `from_seq` to
    `to_seq`."""
    from_seq: int | None = None
    to_seq: int | None = None
    error: str | None = None
    """Why a run failed: its code, and the end of its last line on stderr, masked."""
    model: str | None = None
    """The model of a turn, and what the turn used."""
    usage: Usage | None = None


class SpanCounts(WireStruct):
    """How many spans of a session were recorded since the gateway's start, how many of them tell of
    an error, and how many spans more there were than are recorded."""

    session_id: str
    spans: int = 0
    errors: int = 0
    dropped: int = 0


class SpanExport(WireStruct):
    """How the live export of spans goes: how many were `sent`, and `dropped` because the endpoint
    did not take them; `error` is why it does not now. `endpoint` is its scheme, host and port."""

    endpoint: str
    sent: int = 0
    dropped: int = 0
    error: str | None = None


class Stream(WireStruct):
    """A stream: `name` is `stream@provider`, `count` all lines ever posted, `last` the newest.

    `dropped` counts lines that came too fast, and are nowhere. The newest `waited` so many
    milliseconds at its provider.
    """

    name: str
    provider: str
    session_id: str
    count: int
    last: Line | None = None
    dropped: int = 0
    waited: int = 0


class FileWritten(WireStruct):
    """A file that a redirection writes, as the command names it; `existing`, `outside` (of the
    session's folder) are None where that is not known."""

    path: str
    existing: bool | None = None
    outside: bool | None = None


class RequestPart(WireStruct):
    """A part of what is asked, and the rule that fits it; `why` says why the nearest does not.

    `redirections` are those of a command's part as they were written, `writes` their files.
    """

    text: str
    rule: AppliedRule | None = None
    why: str = ""
    redirections: str = ""
    writes: list[FileWritten] = []


class Judged(WireStruct):
    """What rules say of a request. `why` keeps them from allowing it; `unkeepable` says why not
    even exactly this can be allowed until the session ends."""

    parts: list[RequestPart] = []
    why: str = ""
    unkeepable: str = ""


class Approval(WireStruct):
    """Something that waits for the person, and how it was settled."""

    id: str
    kind: ApprovalKind
    state: ApprovalStanding
    detail: Json
    created_at: str
    expires_at: str
    session_id: str | None = None
    provider: str | None = None
    decided_by: str | None = None
    """`you`, which process it was instead, or the name of a host; `rule`, where `rule` decided."""
    reason: str | None = None
    rule: AppliedRule | None = None
    duration: float | None = None
    """How long it waited, once it is settled."""
    judged: Judged | None = None
    """None where there are no rules about such requests."""
    is_cut: bool = False
    """Whether something was cut to its head; `detail.read` gives all of it. Only in snapshots."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""
    answered: Literal["approved", "denied"] | None = None
    """How it was answered elsewhere, of one that was withdrawn; None: its host did not say."""


class Program(WireStruct):
    """A process by its id and the name of its program."""

    pid: int
    name: str


class Asker(WireStruct):
    """The process at the other end of a connection, its ancestors (parent first), its terminal."""

    pid: int
    name: str
    ancestors: list[Program]
    terminal: str | None = None
