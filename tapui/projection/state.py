"""The live state of a gateway, as its events tell it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import UNSET

from tapui.projection.change_marks import LiveMarks
from tapui.projection.turns.session import LiveTurns
from tapui.wire.emitters import Emitter, FileProblem, FolderProblems
from tapui.wire.goals import Goal
from tapui.wire.mcp_servers import McpServer
from tapui.wire.reviews import Review
from tapui.wire.steering import Order
from tapui.wire.subjects import (
    Alarm,
    Approval,
    Call,
    Gate,
    HostLook,
    ModeStanding,
    Provider,
    Session,
    SpanCounts,
    SpanExport,
    Stream,
    Subagent,
    ToolsOff,
    Unattached,
)
from tapui.wire.tower import Snapshot

StreamKey = tuple[str, str]
"""(session id, `stream@provider`)"""


@dataclass(slots=True)
class State:
    """Everything that a tower shows, by id, in the order in which it appeared.

    Ended sessions, gone providers, finished calls and settled approvals stay for a while: each
    table keeps the newest of them, bounded by `wire.limits`.
    """

    sessions: dict[str, Session] = field(default_factory=dict)
    providers: dict[str, Provider] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    recent_calls: dict[str, Call] = field(default_factory=dict)
    streams: dict[StreamKey, Stream] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    gates: dict[str, Gate] = field(default_factory=dict)
    unattached: dict[str, list[Unattached]] = field(default_factory=dict)
    looks: dict[str, HostLook] = field(default_factory=dict)
    """How far each host is with its first look for sessions, by its name."""
    orders: dict[str, Order] = field(default_factory=dict)
    turns: dict[str, LiveTurns] = field(default_factory=dict)
    """Of each session in `sessions`, by its id."""
    alarms: dict[str, Alarm] = field(default_factory=dict)
    emitters: dict[str, Emitter] = field(default_factory=dict)
    mcp_servers: dict[str, McpServer] = field(default_factory=dict)
    folder_problems: dict[str, list[FileProblem]] = field(default_factory=dict)
    """What is wrong in the files of folders in use, by folder."""
    rules_allowed: int = 0
    """How many requests rules have allowed."""
    modes: dict[str, ModeStanding] = field(default_factory=dict)
    """Whose the mode of each session is, by its id; of none where that is not known."""
    goals: dict[str, Goal] = field(default_factory=dict)
    """Of each session in `sessions`, also of one that has ended."""
    reviews: dict[str, Review] = field(default_factory=dict)
    """The newest reviews of each session in `sessions`, by id."""
    marks: dict[str, LiveMarks] = field(default_factory=dict)
    """What the person has marked in the changes of sessions, by id; of none where there is
    nothing."""

    tools_off: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """What of each session's tools is switched off, by its id, as in `ToolsOff`."""
    spans: dict[str, SpanCounts] = field(default_factory=dict)
    """Of each session in `sessions` that has any, by its id."""
    span_export: SpanExport | None = None

    def snapshot(self) -> Snapshot:
        """Return all of it as `tower.snapshot` carries it: calls in flight before finished ones."""
        return Snapshot(
            sessions=list(self.sessions.values()),
            providers=list(self.providers.values()),
            calls=[*self.calls.values(), *self.recent_calls.values()],
            streams=list(self.streams.values()),
            approvals=list(self.approvals.values()),
            gates=list(self.gates.values()),
            unattached=[one for found in self.unattached.values() for one in found],
            orders=list(self.orders.values()),
            alarms=list(self.alarms.values()),
            emitters=list(self.emitters.values()),
            mcp_servers=list(self.mcp_servers.values()),
            folder_problems=[FolderProblems(*one) for one in self.folder_problems.items()],
            turns=[self.turns[id_].told() for id_ in self.sessions if id_ in self.turns],
            rules_allowed=self.rules_allowed or UNSET,
            modes=list(self.modes.values()) or UNSET,
            goals=list(self.goals.values()) or UNSET,
            reviews=list(self.reviews.values()) or UNSET,
            tools_off=[ToolsOff(*one) for one in self.tools_off.items()] or UNSET,
            marks=[one.told(id_) for id_, one in self.marks.items()] or UNSET,
            looks=list(self.looks.values()) or UNSET,
            spans=list(self.spans.values()) or UNSET,
            span_export=self.span_export or UNSET,
        )

    @classmethod
    def of(cls, snapshot: Snapshot) -> "State":
        calls = {call.id: call for call in snapshot.calls}
        unattached: dict[str, list[Unattached]] = {}
        for found in snapshot.unattached:
            unattached.setdefault(found.host or "", []).append(found)
        turns = {session.id: LiveTurns(session.id) for session in snapshot.sessions}
        for told in snapshot.turns:
            turns[told.session_id] = LiveTurns.of(told)
        return cls(
            sessions={session.id: session for session in snapshot.sessions},
            providers={provider.id: provider for provider in snapshot.providers},
            calls={id_: call for id_, call in calls.items() if is_in_flight(call)},
            recent_calls={id_: call for id_, call in calls.items() if not is_in_flight(call)},
            streams={(stream.session_id, stream.name): stream for stream in snapshot.streams},
            approvals={approval.id: approval for approval in snapshot.approvals},
            gates={gate.id: gate for gate in snapshot.gates},
            unattached=unattached,
            orders={order.id: order for order in snapshot.orders},
            turns=turns,
            alarms={alarm.id: alarm for alarm in snapshot.alarms},
            emitters={emitter.id: emitter for emitter in snapshot.emitters},
            mcp_servers={server.id: server for server in snapshot.mcp_servers},
            folder_problems={one.folder: one.problems for one in snapshot.folder_problems},
            rules_allowed=snapshot.rules_allowed or 0,
            modes={one.session_id: one for one in snapshot.modes or ()},
            goals={one.id: one for one in snapshot.goals or ()},
            reviews={one.id: one for one in snapshot.reviews or ()},
            tools_off={one.session_id: one.off for one in snapshot.tools_off or ()},
            marks={one.session_id: LiveMarks.of(one) for one in snapshot.marks or ()},
            looks={one.host: one for one in snapshot.looks or ()},
            spans={one.session_id: one for one in snapshot.spans or ()},
            span_export=snapshot.span_export or None,
        )

    def spans_of(self, session_id: str) -> SpanCounts:
        """Return how many spans of a session were recorded, and how many were too many."""
        return self.spans.get(session_id) or SpanCounts(session_id)

    def goals_of(self, session_id: str) -> list[Goal]:
        """Return a session's goals, oldest first."""
        return [goal for goal in self.goals.values() if goal.session_id == session_id]

    def reviews_of(self, session_id: str) -> list[Review]:
        """Return the newest reviews of a session, oldest first."""
        return [review for review in self.reviews.values() if review.session_id == session_id]


def is_in_flight(call: Call) -> bool:
    return call.state in ("queued", "running", "cancelling")


def is_waiting(approval: Approval) -> bool:
    return approval.state in ("waiting", "revealed")


def is_unsettled(approval: Approval) -> bool:
    """Return whether it is open how the approval ends: it waits, or its decision is recorded."""
    return is_waiting(approval) or approval.state == "deciding"


def is_pending(gate: Gate) -> bool:
    return gate.state == "waiting"


def is_under_way(order: Order) -> bool:
    """Return whether something may still become of the order."""
    return order.state not in ("done", "failed")


def is_open(session: Session) -> bool:
    return session.state != "ended"


WAITS_FOR_SHELL = "waits for a shell"


def activity(session: Session) -> str:
    if session.silent and is_open(session):
        return "no answer"
    if session.asks_there and is_open(session):
        return "asks there"
    return WAITS_FOR_SHELL if session.shells and session.state == "idle" else session.state


def subagent_name(subagent: Subagent) -> str:
    """Return the name that a person is shown."""
    return (subagent.display_name or "").strip() or subagent.agent


def is_local(session: Session) -> bool:
    """Return whether it is tapui's own: where providers wait until another session opens."""
    return session.host == "local"


def listed(sessions: Iterable[Session]) -> list[Session]:
    """Return the sessions that a person is shown: tapui's own only while a provider is in it."""
    return [one for one in sessions if one.providers or not is_local(one)]


def is_connected(provider: Provider) -> bool:
    return provider.state != "disconnected"


def model_words(session: Session) -> str:
    """Return a session's model with its reasoning effort, as far as they are known."""
    return " · ".join(filter(None, (session.model, session.effort)))
