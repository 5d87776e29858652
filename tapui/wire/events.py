"""What happened: the domain events, one schema for the core, `tower.event` and the record.

Every event names its subject under its noun, with the fields that a snapshot shows.
Times are RFC 3339 in UTC with microseconds; durations are milliseconds.
"""

from typing import get_args

from msgspec import Struct

from tapui.wire.changes import ChangeNote
from tapui.wire.criteria import SessionStanding, TurnProof
from tapui.wire.emitters import Emitter, EmitterCounts, FileProblem
from tapui.wire.goals import ClaimAudit, Goal, GoalReport
from tapui.wire.mcp_servers import McpServer
from tapui.wire.message import (
    Line,
    Mode,
    OptionalRaw,
    WireStruct,
)
from tapui.wire.reviews import Finding, Review
from tapui.wire.steering import Order, OrderState
from tapui.wire.subjects import (
    Alarm,
    Approval,
    Asker,
    Call,
    Cut,
    Decision,
    Gate,
    HostLook,
    ModeAsker,
    ModePolicy,
    ModeState,
    Provider,
    Session,
    Span,
    SpanExport,
    Unattached,
)
from tapui.wire.turns import Turn


class Event(WireStruct, tag_field="kind", kw_only=True):
    """Base of all events; the tag is the event's `kind`."""

    cuts: dict[str, Cut] = {}
    """Its own fields that were too large to record, by name."""


class SessionOpened(Event, tag="session.opened"):
    """A session began."""

    session_id: str
    session: Session


class SessionUpdated(Event, tag="session.updated"):
    """Something about a session changed; `session` is all of it."""

    session_id: str
    session: Session


class SessionReplaced(Event, tag="session.replaced"):
    """`session` took the place of `replaces`, whose providers moved along."""

    session_id: str
    session: Session
    replaces: str


class SessionClosed(Event, tag="session.closed"):
    """A session ended."""

    session_id: str
    session: Session


class SessionHappened(Event, tag="session.event"):
    """An event of the session's own, by its own name."""

    session_id: str
    event: str
    data: OptionalRaw = None
    data_cut: Cut | None = None


class TurnsRestored(Event, tag="session.restored"):
    """Turns of before this run: read back from the records, or told by the session's host."""

    session_id: str
    turns: list[Turn]


class TurnProved(Event, tag="session.proof"):
    """What was recorded about the turn that began at `started_at`, as its end or a later check
    shows it; None: nothing is known any more."""

    session_id: str
    started_at: str
    proof: TurnProof | None = None


class SessionStood(Event, tag="session.standing"):
    """How a session stands by its newest checks: at a turn's end, and when a check or a look at the
    folder between turns has changed it. None: no check is known, or it changed no file.

    `has_changed`: it changed files that count for a check.
    """

    session_id: str
    standing: SessionStanding | None = None
    has_changed: bool = False


class ToolsSwitched(Event, tag="tools.switched"):
    """The person has switched tools of a session off, or on again; `off` is all that is off now, as
    in `ToolsOff`. `by` is "tapui" where what was off is off again."""

    session_id: str
    off: dict[str, list[str]]
    by: str


class UnattachedFound(Event, tag="sessions.unattached"):
    """The complete list of sessions that `host` sees but cannot reach."""

    host: str
    unattached: list[Unattached]


class HostLooks(Event, tag="sessions.looks"):
    """A host looks for sessions, has looked, cannot look, or has left."""

    look: HostLook


class ProviderEvent(Event):
    """Something about a provider changed; `provider` is all of it."""

    provider: Provider
    session_id: str | None = None


class ProviderConnected(ProviderEvent, tag="provider.connected"):
    """A provider said its first accepted hello."""


class ProviderBound(ProviderEvent, tag="provider.bound"):
    """A provider is bound to its session."""


class ProviderUpdated(ProviderEvent, tag="provider.updated"):
    """A provider's tools or standing changed."""


class ProviderMoved(Event, tag="provider.moved"):
    """A provider moved from session `source` to the one it is in now."""

    provider: Provider
    session_id: str
    source: str
    reason: str


class ProviderUnbound(ProviderEvent, tag="provider.unbound"):
    """A provider lost its session and stays connected."""


class ProviderDisconnected(ProviderEvent, tag="provider.disconnected"):
    """A provider is gone."""


class CallEvent(Event):
    """What became of a call."""

    session_id: str
    call: Call


class CallStarted(CallEvent, tag="call.started"):
    """A call was sent to its provider, with its arguments."""


class CallProgress(CallEvent, tag="call.progress"):
    """A call reported its status; `call` carries no arguments."""


class CallCancelling(CallEvent, tag="call.cancelling"):
    """The caller has its outcome; the provider was told to stop."""


class CallFinished(CallEvent, tag="call.finished"):
    """A call ended, with its result or error; `call` carries no arguments."""


class CallExited(CallEvent, tag="call.exited"):
    """A command that went on behind its call has ended; `call` has its exit code and `shell`, and
    neither arguments nor result."""


class StreamPosted(Event, tag="stream.posted"):
    """A line was added to `stream` (`stream@provider`). It says that `dropped` others were not,
    and how many milliseconds it `waited` at its provider."""

    session_id: str
    stream: str
    line: Line
    provider_id: str | None = None
    dropped: int = 0
    waited: int = 0


class StreamMoved(Event, tag="stream.moved"):
    """A stream of emitters goes on in another session, with its numbers: that of the session
    `former`, which has ended or left the folder. Its older lines are in the records of that."""

    session_id: str
    stream: str
    former: str


class ApprovalEvent(Event):
    """What became of a request to the person."""

    approval: Approval
    session_id: str | None = None


class ApprovalRequested(ApprovalEvent, tag="approval.requested"):
    """Something waits for the person."""


class ApprovalJudged(ApprovalEvent, tag="approval.judged"):
    """Rules that were read since, or that changed, say something else of a request that waits."""


class ApprovalDeciding(Event, tag="approval.deciding"):
    """The person decided; how it ends follows once this record is durable, or cannot be made so."""

    approval: Approval
    decision: Decision
    session_id: str | None = None


class ApprovalRevealed(ApprovalEvent, tag="approval.revealed"):
    """The person opened a pairing; its code exists from now on (and is never recorded)."""


class ApprovalDecided(ApprovalEvent, tag="approval.decided"):
    """The decision holds, or has failed."""


class ApprovalWithdrawn(ApprovalEvent, tag="approval.withdrawn"):
    """It no longer waits: it was answered elsewhere, or who asked is gone."""


class ApprovalExpired(ApprovalEvent, tag="approval.expired"):
    """The time for a decision is over."""


class AlarmRaised(Event, tag="alarm.raised"):
    """Something should be looked at, or it is worse by now: the `id` is the same then."""

    alarm: Alarm
    session_id: str | None = None


class AlarmCleared(Event, tag="alarm.cleared"):
    """What it was about is over, or goes on."""

    alarm: Alarm
    session_id: str | None = None


class ModeChanged(Event, tag="mode.changed"):
    """A session's mode: `ordered` before the host hears of it, then `done` or `failed`; `refused`
    where a request was.

    Of a request: who asked, the policy that held, who decided, and the approval where the person
    was asked. Without an `asker` the person set the mode, here or where the session lives.
    """

    session_id: str
    mode: Mode
    state: ModeState
    by: str
    source: Mode | None = None
    error: str | None = None
    asker: ModeAsker | None = None
    policy: ModePolicy | None = None
    decided_by: str | None = None
    approval_id: str | None = None


class OrderGiven(Event, tag="order.given"):
    """The person wants something of a session."""

    session_id: str
    order: Order


class OrderChanged(Event, tag="order.changed"):
    """What became of an order until now: what it is about is not said again."""

    session_id: str
    order_id: str
    state: OrderState
    error: str | None = None
    running: list[str] = []
    dropped: list[str] = []


class GateChecked(Event, tag="gate.checked"):
    """Rules before a tool matched: first `waiting` if a provider is asked, then how it ended."""

    session_id: str
    gate: Gate


class InjectPaused(Event, tag="inject.paused"):
    """A provider's injects into a session are held by the loop brake."""

    session_id: str
    provider_id: str
    provider: str


class InjectResumed(Event, tag="inject.resumed"):
    """They flow again."""

    session_id: str
    provider_id: str
    provider: str


class EmitterChanged(Event, tag="emitter.changed"):
    """An emitter is there, or something of it changed; `emitter` is all of it."""

    session_id: str
    emitter: Emitter


class EmitterCounted(Event, tag="emitter.counted"):
    """What the runs of an emitter have put out by now; nothing else of it changed."""

    session_id: str
    emitter_id: str
    counts: EmitterCounts


class EmitterGone(Event, tag="emitter.gone"):
    """An emitter is not there any more, for `reason`."""

    session_id: str
    emitter_id: str
    name: str
    reason: str


class FolderProblemsChanged(Event, tag="emitter.problems"):
    """What is wrong in a folder's file now; nothing, once it is mended or not in use any more."""

    session_id: str
    folder: str
    problems: list[FileProblem] = []


class McpServerChanged(Event, tag="mcp.changed"):
    """An MCP server is there, or something of it changed; `server` is all of it."""

    server: McpServer


class McpServerGone(Event, tag="mcp.gone"):
    """An MCP server is not there any more, for `reason`."""

    server_id: str
    name: str
    reason: str


class GoalEvent(Event):
    """Something about a goal; `goal` is all of it."""

    session_id: str
    goal: Goal


class GoalOpened(GoalEvent, tag="goal.opened"):
    """A goal was opened."""


class GoalUpdated(GoalEvent, tag="goal.updated"):
    """A goal was changed or judged, or is there again after its session was: by `by`, and `what`
    in a word."""

    by: str = ""
    what: str = ""


class GoalVerified(GoalEvent, tag="goal.verified"):
    """All criteria of a goal were judged."""

    report: GoalReport


class GoalClosed(GoalEvent, tag="goal.closed"):
    """A goal is achieved, has failed, or was given up."""


class TurnSentBack(Event, tag="goal.sentBack"):
    """The agent wanted to end its turn and was sent back, for the `number`-th time of `most`."""

    session_id: str
    goals: list[str]
    number: int
    most: int
    reason: str
    agent_id: str | None = None


class ClaimsAudited(Event, tag="claims.audited"):
    """Claims were held against what is recorded."""

    session_id: str
    audit: ClaimAudit


class ReviewRecorded(Event, tag="review.recorded"):
    """An agent has recorded a review; `review` is all of it."""

    session_id: str
    review: Review


class FindingDisposed(Event, tag="review.disposed"):
    """The person decided about a finding, or an agent proposed to. `finding` has by what it is
    known, without body, quote and check, which its review has."""

    session_id: str
    finding: Finding


class FileMarked(Event, tag="changes.seen"):
    """The person has seen a file in the state `state_id`; "": not any more."""

    session_id: str
    root: str
    path: str
    state_id: str = ""


class NoteKept(Event, tag="changes.noted"):
    """A note on a session's changes is there, or something of it changed; `note` is all of it."""

    session_id: str
    note: ChangeNote


class NoteDropped(Event, tag="changes.noteDropped"):
    """A note is not there any more."""

    session_id: str
    note_id: str


class FileRestored(Event, tag="changes.putBack"):
    """The person `by` put a file back, or the hunk of it that began at line `hunk`, to what it was
    at `since`."""

    session_id: str
    root: str
    path: str
    by: str
    since: str
    old_path: str = ""
    hunk: int | None = None


class ErrorSent(Event, tag="error.sent"):
    """A message was refused."""

    code: str
    message: str
    reply_to: str | None = None
    provider: str | None = None
    provider_id: str | None = None
    session_id: str | None = None
    origin: str | None = None


class CommandAsked(Event, tag="command.asked"):
    """A command or a tower wanted to decide, send, start or grant (`wanted` is the message).

    `refused` is why it may not; otherwise `by` is how it is recorded.
    """

    command: str
    wanted: str
    asker: Asker | None = None
    refused: str | None = None
    by: str | None = None
    approval_id: str | None = None
    session_id: str | None = None


class SpanEnded(Event, tag="span.ended", gc=False):
    """A part of a trace has ended."""

    span: Span
    session_id: str | None = None


class SpansExported(Event, tag="span.exported"):
    """The live export of spans has begun to fail, works again, or has dropped more spans."""

    export: SpanExport


class EventLost(Event, tag="error.event"):
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
    | TurnProved
    | SessionStood
    | ToolsSwitched
    | UnattachedFound
    | HostLooks
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
    | CallExited
    | StreamPosted
    | StreamMoved
    | ApprovalRequested
    | ApprovalJudged
    | ApprovalDeciding
    | ApprovalRevealed
    | ApprovalDecided
    | ApprovalWithdrawn
    | ApprovalExpired
    | AlarmRaised
    | AlarmCleared
    | ModeChanged
    | OrderGiven
    | OrderChanged
    | GateChecked
    | InjectPaused
    | InjectResumed
    | EmitterChanged
    | EmitterCounted
    | EmitterGone
    | FolderProblemsChanged
    | McpServerChanged
    | McpServerGone
    | GoalOpened
    | GoalUpdated
    | GoalVerified
    | GoalClosed
    | TurnSentBack
    | ClaimsAudited
    | ReviewRecorded
    | FindingDisposed
    | FileMarked
    | NoteKept
    | NoteDropped
    | FileRestored
    | ErrorSent
    | CommandAsked
    | SpanEnded
    | SpansExported
    | EventLost
)


EVENTS: tuple[type[Event], ...] = get_args(AnyEvent)


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
    "alarm": "sessions",
    "command": "approvals",
    "mode": "modes",
    "tools": "sessions",
    "order": "sessions",
    "gate": "calls",
    "inject": "streams",
    "emitter": "emitters",
    "mcp": "mcpServers",
    "goal": "goals",
    "claims": "goals",
    "review": "reviews",
    "changes": "sessions",
    "error": "errors",
    "span": "traces",
}
"""The collection of records that an event belongs to, by the first word of its kind."""
