"""What happened: the domain events, one schema for the core, `tower.event` and the record.

Every event names its subject under its noun, with the fields that a snapshot shows.
Times are RFC 3339 in UTC with microseconds; durations are milliseconds.
"""

from typing import Literal

from msgspec import Struct

from tapui.wire.bounds import Id, Path
from tapui.wire.message import (
    FileResult,
    Json,
    Line,
    Mode,
    Number,
    OptionalRaw,
    Trust,
)
from tapui.wire.turns import FileChange, Turn

SessionActivity = Literal["idle", "busy", "ended"]
SubagentState = Literal["running", "completed", "failed"]
ProviderStanding = Literal["bound", "unbound", "disconnected"]
CallStanding = Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
GateStanding = Literal["waiting", "allow", "deny", "context"]
ApprovalKind = Literal["pairing", "mode", "bindAll", "permission", "userInput", "elicitation"]
ApprovalStanding = Literal[
    "waiting", "deciding", "revealed", "approved", "denied", "expired", "withdrawn", "failed"
]
"""`deciding`: a decision is being recorded. `failed`: it could not be recorded, so whoever asked
was denied."""
Decision = Literal["approve", "deny", "reveal"]


class Cut(Struct, rename="camel", omit_defaults=True, frozen=True):
    """What is kept of JSON too large to keep: its first characters, size in bytes, sha256."""

    head: str
    size: int
    sha256: str


class ContextUse(Struct, rename="camel", omit_defaults=True, frozen=True):
    """How full a session's context window is, in tokens."""

    tokens: int
    limit: int


class Subagent(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A subagent of a session. `id` is its child session's, `tool_call_id` the call's behind it."""

    id: str
    agent: str
    state: SubagentState
    started_at: str
    tool_call_id: str | None = None


class Session(Struct, rename="camel", omit_defaults=True, frozen=True):
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
    workspace: str | None = None
    context: ContextUse | None = None
    subagents: list[Subagent] = []
    """The newest of them, in order of their start."""
    tools_taken: bool | None = None
    """Whether the session's agent can call the tools that are offered; None: its host does not
    say."""
    ended_at: str | None = None
    reason: str | None = None
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


class Unattached(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A session that a host sees but cannot reach; `hint` is the command that changes this."""

    id: Id
    cwd: Path
    pid: int
    hint: Path
    host: Id | None = None


class Provider(Struct, rename="camel", omit_defaults=True, frozen=True):
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


class Gate(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A call that waits for providers' word, or had it. `providers` are those that are asked."""

    id: str
    session_id: str
    tool: str
    state: GateStanding
    providers: list[str]
    started_at: str
    decided_by: str | None = None
    reason: str | None = None
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


class Call(Struct, rename="camel", omit_defaults=True, frozen=True):
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
    context: list[str] | None = None
    """What rules and gates added, once it has ended."""
    agent_id: str | None = None
    """The subagent that made it."""
    exit_code: int | None = None
    """Of a shell, once it has ended."""
    changes: list[FileChange] | None = None
    """The files that it changed, once it has ended."""
    is_cut: bool = False
    """Whether something was cut to its head; `detail.read` gives all of it. Only in snapshots."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


class Stream(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A stream: `name` is `stream@provider`, `count` all lines ever posted, `last` the newest."""

    name: str
    provider: str
    session_id: str
    count: int
    last: Line | None = None


class Approval(Struct, rename="camel", omit_defaults=True, frozen=True):
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
    reason: str | None = None
    is_cut: bool = False
    """Whether something was cut to its head; `detail.read` gives all of it. Only in snapshots."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


class Event(
    Struct, tag_field="kind", rename="camel", omit_defaults=True, frozen=True, kw_only=True
):
    """Base of all events; the tag is the event's `kind`."""

    cuts: dict[str, Cut] = {}
    """Its own fields that were too large to record, by name."""


class SessionOpened(Event, tag="session.opened", frozen=True):
    """A session began."""

    session_id: str
    session: Session


class SessionUpdated(Event, tag="session.updated", frozen=True):
    """Something about a session changed; `session` is all of it."""

    session_id: str
    session: Session


class SessionReplaced(Event, tag="session.replaced", frozen=True):
    """`session` took the place of `replaces`, whose providers moved along."""

    session_id: str
    session: Session
    replaces: str


class SessionClosed(Event, tag="session.closed", frozen=True):
    """A session ended."""

    session_id: str
    session: Session


class SessionHappened(Event, tag="session.event", frozen=True):
    """An event of the session's own, by its own name."""

    session_id: str
    event: str
    data: OptionalRaw = None
    data_cut: Cut | None = None


class TurnsRestored(Event, tag="session.restored", frozen=True):
    """Turns of before this run: read back from the records, or told by the session's host."""

    session_id: str
    turns: list[Turn]


class UnattachedFound(Event, tag="sessions.unattached", frozen=True):
    """The complete list of sessions that `host` sees but cannot reach."""

    host: str
    unattached: list[Unattached]


class ProviderConnected(Event, tag="provider.connected", frozen=True):
    """A provider said its first accepted hello."""

    provider: Provider
    session_id: str | None = None


class ProviderBound(Event, tag="provider.bound", frozen=True):
    """A provider is bound to its session."""

    provider: Provider
    session_id: str | None = None


class ProviderUpdated(Event, tag="provider.updated", frozen=True):
    """A provider's tools or standing changed."""

    provider: Provider
    session_id: str | None = None


class ProviderMoved(Event, tag="provider.moved", frozen=True):
    """A provider moved from session `source` to the one it is in now."""

    provider: Provider
    session_id: str
    source: str
    reason: str


class ProviderUnbound(Event, tag="provider.unbound", frozen=True):
    """A provider lost its session and stays connected."""

    provider: Provider
    session_id: str | None = None


class ProviderDisconnected(Event, tag="provider.disconnected", frozen=True):
    """A provider is gone."""

    provider: Provider
    session_id: str | None = None


class CallStarted(Event, tag="call.started", frozen=True):
    """A call was sent to its provider, with its arguments."""

    session_id: str
    call: Call


class CallProgress(Event, tag="call.progress", frozen=True):
    """A call reported its status; `call` carries no arguments."""

    session_id: str
    call: Call


class CallCancelling(Event, tag="call.cancelling", frozen=True):
    """The caller has its outcome; the provider was told to stop."""

    session_id: str
    call: Call


class CallFinished(Event, tag="call.finished", frozen=True):
    """A call ended, with its result or error; `call` carries no arguments."""

    session_id: str
    call: Call


class StreamPosted(Event, tag="stream.posted", frozen=True):
    """A line was added to `stream` (`stream@provider`)."""

    session_id: str
    stream: str
    line: Line
    provider_id: str | None = None


class ApprovalRequested(Event, tag="approval.requested", frozen=True):
    """Something waits for the person."""

    approval: Approval
    session_id: str | None = None


class ApprovalDeciding(Event, tag="approval.deciding", frozen=True):
    """The person decided; how it ends is told once this record is durable, or cannot be made so."""

    approval: Approval
    decision: Decision
    session_id: str | None = None


class ApprovalRevealed(Event, tag="approval.revealed", frozen=True):
    """The person opened a pairing; its code exists from now on (and is never recorded)."""

    approval: Approval
    session_id: str | None = None


class ApprovalDecided(Event, tag="approval.decided", frozen=True):
    """The decision holds, or has failed."""

    approval: Approval
    session_id: str | None = None


class ApprovalWithdrawn(Event, tag="approval.withdrawn", frozen=True):
    """It no longer waits: it was answered elsewhere, or who asked is gone."""

    approval: Approval
    session_id: str | None = None


class ApprovalExpired(Event, tag="approval.expired", frozen=True):
    """Nobody decided in time."""

    approval: Approval
    session_id: str | None = None


class ModeChanged(Event, tag="mode.changed", frozen=True):
    """A session's mode: `ordered` before the host is told, then `done` or `failed`."""

    session_id: str
    mode: Mode
    state: Literal["ordered", "done", "failed"]
    by: str
    source: Mode | None = None
    error: str | None = None


class GateChecked(Event, tag="gate.checked", frozen=True):
    """Rules before a tool matched: first `waiting` if a provider is asked, then how it ended."""

    session_id: str
    gate: Gate


class InjectPaused(Event, tag="inject.paused", frozen=True):
    """A provider's injects into a session are held by the loop brake."""

    session_id: str
    provider_id: str
    provider: str


class InjectResumed(Event, tag="inject.resumed", frozen=True):
    """They flow again."""

    session_id: str
    provider_id: str
    provider: str


class ErrorSent(Event, tag="error.sent", frozen=True):
    """A message was refused."""

    code: str
    message: str
    reply_to: str | None = None
    provider: str | None = None
    provider_id: str | None = None
    session_id: str | None = None
    origin: str | None = None


class EventLost(Event, tag="error.event", frozen=True):
    """An event of the kind `lost` could not be encoded; this stands in its place."""

    lost: str
    error: str
    session_id: str | None = None


AnyEvent = (
    SessionOpened
    | SessionUpdated
    | SessionReplaced
    | SessionClosed
    | SessionHappened
    | TurnsRestored
    | UnattachedFound
    | ProviderConnected
    | ProviderBound
    | ProviderUpdated
    | ProviderMoved
    | ProviderUnbound
    | ProviderDisconnected
    | CallStarted
    | CallProgress
    | CallCancelling
    | CallFinished
    | StreamPosted
    | ApprovalRequested
    | ApprovalDeciding
    | ApprovalRevealed
    | ApprovalDecided
    | ApprovalWithdrawn
    | ApprovalExpired
    | ModeChanged
    | GateChecked
    | InjectPaused
    | InjectResumed
    | ErrorSent
    | EventLost
)


class Entry(Struct, frozen=True):
    """An event in its envelope: (`run`, `seq`) orders all events of a gateway's life."""

    run: str
    seq: int
    ts: str
    event: AnyEvent


COLLECTIONS: dict[str, str] = {
    "session": "sessions",
    "sessions": "sessions",
    "provider": "providers",
    "call": "calls",
    "stream": "streams",
    "approval": "approvals",
    "mode": "modes",
    "gate": "calls",
    "inject": "streams",
    "error": "errors",
}
"""The collection of records that an event belongs to, by the first word of its kind."""
