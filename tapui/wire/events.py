"""What happened: the domain events, one schema for the core, `tower.event` and the record.

Every event names its subject under its noun, with the fields that a snapshot shows.
Times are RFC 3339 in UTC with microseconds; durations are milliseconds.
"""

from typing import Literal, get_args

from msgspec import Struct

from tapui.wire.emitters import Emitter, EmitterCounts, FileProblem
from tapui.wire.mcp_servers import McpServer
from tapui.wire.message import (
    Line,
    Mode,
    OptionalRaw,
    WireStruct,
)
from tapui.wire.steering import Order, OrderState
from tapui.wire.subjects import (
    Alarm,
    Approval,
    Asker,
    Call,
    Cut,
    Decision,
    Gate,
    Provider,
    Session,
    Span,
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


class UnattachedFound(Event, tag="sessions.unattached"):
    """The complete list of sessions that `host` sees but cannot reach."""

    host: str
    unattached: list[Unattached]


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


class StreamPosted(Event, tag="stream.posted"):
    """A line was added to `stream` (`stream@provider`)."""

    session_id: str
    stream: str
    line: Line
    provider_id: str | None = None


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
    """A session's mode: `ordered` before the host hears of it, then `done` or `failed`."""

    session_id: str
    mode: Mode
    state: Literal["ordered", "done", "failed"]
    by: str
    source: Mode | None = None
    error: str | None = None


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


class SpanEnded(Event, tag="span.ended"):
    """A part of a trace has ended."""

    span: Span
    session_id: str | None = None


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
    | StreamMoved
    | ApprovalRequested
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
    | ErrorSent
    | CommandAsked
    | SpanEnded
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
    "order": "sessions",
    "gate": "calls",
    "inject": "streams",
    "emitter": "emitters",
    "mcp": "mcpServers",
    "error": "errors",
    "span": "traces",
}
"""The collection of records that an event belongs to, by the first word of its kind."""
