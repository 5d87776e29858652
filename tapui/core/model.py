"""What the gateway knows: connections, sessions, providers, tools, calls, hooks. Data only.

The rules that change it are in the rooms beside this file. Times are seconds of the core's clock.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Raw, Struct
from msgspec.structs import replace

from tapui.core.deadlines import Deadline, SlidingWindow
from tapui.core.effects import ConnectionId
from tapui.core.hooks.matching import ActiveRule, HookSet
from tapui.core.trust.grants import Grant
from tapui.policies.rules import PolicyRule
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.host import Sender
from tapui.wire.message import Tool, ToolInvoke, label_of
from tapui.wire.provider import Concurrency
from tapui.wire.subjects import Call, Gate, Provider, Session, Span
from tapui.wire.turns import Turn

# Connections


class Standing(StrEnum):
    """The states of a connection."""

    AWAIT_AUTH = "AwaitAuth"
    AWAIT_PAIRING = "AwaitPairing"
    AWAIT_HELLO = "AwaitHello"
    BOUND = "Bound"
    UNBOUND = "Unbound"
    BUILTIN = "Builtin"
    HOST = "Host"
    TOOL_HOST = "ToolHost"
    TOWER = "Tower"
    CLOSED = "Closed"


class Way(StrEnum):
    """How a connection came."""

    SOCKET = "over the Unix socket"
    OWN = "over TCP, from this user"
    OTHER = "over TCP, from another user or an unknown one"
    INSIDE = "in process"


@dataclass(slots=True, eq=False)
class Connection:
    """One end of a conversation.

    `grant` is what its token is good for, and where the person moved it; None before it has shown
    a token.
    """

    id: ConnectionId
    origin: str | None
    way: Way = Way.INSIDE
    pid: int | None = None
    """Its process, where the system names it at once: over the Unix socket."""
    is_builtin: bool = False
    standing: Standing = Standing.AWAIT_AUTH
    grant: Grant | None = None
    name: str = ""
    """The name that it gave itself."""
    by: str = ""
    """How what a tower decides, sends and calls is recorded: `you`, or which process it is; empty
    while that is not known."""
    deadline: Deadline | None = None
    is_counted: bool = True
    """Whether it counts among the connections (in-process ones do not)."""
    hellos: list[float] = field(default_factory=list)
    may_bind_all: str | None = None
    """The provider name under which the person allowed it all sessions."""
    provider: "ConnectedProvider | None" = None
    host_kind: str = ""
    host_asks_hooks: bool = False
    host_applies_sections: bool | None = None
    host_session_looks: bool = False
    """Whether this host answers `session.look`."""
    host_starts: bool = False
    """Whether this host starts sessions."""
    host_launches: bool = False
    """Whether it starts a host that does."""
    host_looks: bool = False
    """Whether this host looks for sessions and has not told yet that its first look is over."""
    is_interactive: bool = False
    """Whether a person uses this tower."""
    asks: bool = False
    """Whether the person can be asked there."""
    is_inside: bool = False
    """Whether it says of itself that an agent started it."""
    invokes: "dict[str, PendingCall]" = field(default_factory=dict)
    """Calls that this connection made, by the id that it chose."""
    calls: int = 0
    """How many calls it made that are under way, those being cancelled too."""
    call_bytes: int = 0
    """The bytes of their arguments."""
    inquiries: "dict[str, Inquiry]" = field(default_factory=dict)
    """Gates that it waits for, by the id of its `hook.preToolUse` or `tool.invoke`."""
    requests: dict[str, str] = field(default_factory=dict)
    """Approvals that this host asked for: its request id → the approval's id."""
    emitter_requests: dict[str, str] = field(default_factory=dict)
    """Emitters that a built-in tool wants started: its request id → the approval's id."""
    modes: dict[str, str] = field(default_factory=dict)
    """Mode requests of a built-in tool: its request id → the approval's id."""

    def grant_as(self, name: str | None) -> Grant | None:
        """Return what it may do as the provider `name`."""
        if self.grant is None or name is None or name != self.may_bind_all:
            return self.grant
        return self.grant.widened(None)

    @property
    def bound_provider(self) -> "ConnectedProvider":
        """The provider behind a connection that is bound."""
        assert self.provider is not None, "bound connections have a provider"
        return self.provider

    @property
    def is_open(self) -> bool:
        """Whether messages are still taken from it."""
        return self.standing is not Standing.CLOSED


# Sessions


@dataclass(slots=True, eq=False)
class OpenSession:
    """A session and everything that belongs to it."""

    view: Session
    host: ConnectionId
    is_local: bool
    agents: dict[str, list[str] | None]
    agent_notes: dict[str, str]
    """What its custom agents are for, by name, as far as its host says."""
    reserved_tools: frozenset[str] | None
    """Its own tools; None: its host does not say."""
    shell_tools: frozenset[str]
    """Its own tools that run commands: rules call them `shell`."""
    named_shells: frozenset[str]
    """Those of them that its host named: of these alone it is taken what a shell told."""
    pid: int | None
    """Its own process, of which no descendant answers for the person."""
    own_mcp_servers: frozenset[str] | None
    """The MCP servers that its program runs itself, by name; None: its host does not say."""
    applies_sections: bool | None
    """Whether its host applies changed sections of the system prompt; None: it does not say."""
    asks_sections_apart: bool
    """Whether its host asks about sections without a prompt."""
    last_activity: float
    is_apart: bool = False
    """Whether a tool host has it: only those are in it who name it, whom the person moves there, or
    who are in every session. It takes no prompts, and has none of the built-in tools."""
    is_open: bool = True
    is_gone: bool = False
    """Every provider has left after its end, and the host was told."""
    tools: "dict[str, RegisteredTool]" = field(default_factory=dict)
    tools_off: dict[str, list[str]] = field(default_factory=dict)
    """What the person has switched off, by provider: names of tools; an empty list is all."""
    tool_names: dict[str, list[str]] = field(default_factory=dict)
    """The names of each provider's tools, by provider id."""
    providers: "dict[str, ConnectedProvider]" = field(default_factory=dict)
    revision: int = 1
    tools_changed: Deadline | None = None
    tools_changed_since: float = 0.0
    rules: "RuleIndex | None" = None
    """What providers want before tools, by tool; None without any."""
    subscribers: "dict[str, list[ConnectedProvider]]" = field(default_factory=dict)
    """The providers that want to hear of an event, by its name."""
    children: dict[str, str] = field(default_factory=dict)
    """Child session id → name of its agent."""
    native_calls: "dict[str, NativeCall]" = field(default_factory=dict)
    """Calls of the session's own tools under way, by the host's id."""
    behind: dict[str, Call] = field(default_factory=dict)
    """Calls of its own shells whose commands went on in the background, by the host's id."""
    prompt_runs: int = 0
    """Runs of prompts of its agent's, of emitters that were started anew since."""
    agent_denials: SlidingWindow = field(
        default_factory=lambda: SlidingWindow(limits.MODEL_DENIALS, limits.MODEL_DENIALS_SECONDS)
    )
    """Commands that its agent wanted to run as emitters, and the person denied."""
    injects: "list[HeldInject]" = field(default_factory=list)
    awaits_turn: bool = False
    """An inject was delivered, and the idle that follows its turn has not come."""
    turn_due: Deadline | None = None
    """Until when the turn of a delivered inject must have begun."""
    turn_of: "list[HeldInject]" = field(default_factory=list)
    """What was delivered, until its turn begins."""
    dispatched: tuple[float, str] = (0.0, "")
    """When it was: the clock's time, and the same as RFC 3339."""
    former_ids: tuple[str, ...] = ()
    """The sessions whose place it took, the last one first: their records have its older lines."""
    ports: frozenset[int] = frozenset()
    """Ports of the program that it lives in."""
    has_tools: bool | None = None
    """Whether its agent has any list of its tools, perhaps not the newest; None while its host has
    not told."""
    folder: str | None = None
    """Its folder without links; None while that is not known."""
    awaits_rules: bool = False
    """The rules of its folder are being read."""
    is_told_guarded: bool = True
    """Whether its host takes it that rules or gates are in force in it, as it does until told."""
    rules_awaited: list[Callable[[], None]] = field(default_factory=list)
    """What continues once they are there."""
    folder_rules: tuple[PolicyRule, ...] = ()
    kept_rules: tuple[PolicyRule, ...] = ()
    """What the person allowed exactly so until the session ends."""
    given_rules: tuple[PolicyRule, ...] = ()
    """Rules with which the session was started."""
    until: str = ""
    """The goal that it was started with: each of its turns is about that, which ends with it."""
    tries: int = limits.TRIES
    """How often its agent is sent back in one turn."""
    owner: Connection | None = None
    """The connection with which the session ends."""
    awaits_history: bool = False
    """Its turns of earlier runs are being read back."""
    told_history: "list[Turn] | None" = None
    """What its host told of earlier turns meanwhile."""
    told_now: float | None = None
    """When the towers were last told what its agent writes."""
    orders: "dict[str, PendingOrder]" = field(default_factory=dict)
    """Orders of the person that are under way, by id."""
    mode_denials: SlidingWindow = field(
        default_factory=lambda: SlidingWindow(limits.MODEL_DENIALS, limits.MODEL_DENIALS_SECONDS)
    )
    """Modes that were asked for in its own window, and were not granted."""
    trace: "TurnTrace | None" = None
    """The trace of its turn, or of the turn that a prompt is to begin."""
    agents_traced: "dict[str, AgentTrace]" = field(default_factory=dict)
    """The spans of its subagents at work, by the ids of their child sessions."""
    spans_dropped: int = 0
    """Spans between turns that were too many, since the last one that was recorded."""
    leaving: "dict[ConnectedProvider, None]" = field(default_factory=dict)
    """Providers that were told `shutdown.pending` and have not answered."""
    shutdown: Deadline | None = None

    @property
    def id(self) -> str:
        return self.view.id

    def reserves(self, tool: str) -> bool:
        """Return whether a tool is the session's own, as far as its host says."""
        return self.reserved_tools is not None and tool in self.reserved_tools

    def has_off(self, entry: "RegisteredTool") -> bool:
        """Return whether the person has switched a tool off."""
        names = self.tools_off.get(entry.owner)
        return names is not None and (not names or entry.tool.name in names)

    def tools_on(self) -> "list[RegisteredTool]":
        """Return the tools that are offered, in order of registration."""
        return [one for one in self.tools.values() if not self.has_off(one)]

    @property
    def is_main(self) -> bool:
        """Whether a provider that names no session may come to it."""
        return not (self.is_local or self.is_apart)

    @property
    def is_busy(self) -> bool:
        return self.view.state == "busy"


# Providers and their tools


@dataclass(slots=True, eq=False)
class ConnectedProvider:
    """A provider behind a connection. `tools` are its definitions by session id."""

    view: Provider
    connection: Connection
    sessions: dict[str, OpenSession] = field(default_factory=dict)
    is_everywhere: bool = False
    former_ids: list[str] = field(default_factory=list)
    """Ids of sessions that it was moved from: in its messages they name the one it is in."""
    tools: dict[str, list[Tool]] = field(default_factory=dict)
    calls: "dict[str, PendingCall]" = field(default_factory=dict)
    """Calls that it has not answered, by id; those being cancelled too."""
    running: int = 0
    """How many of them are not yet settled."""
    reconnect: Secret | None = None
    revisions: dict[str, int] = field(default_factory=dict)
    hooks: dict[str, HookSet] = field(default_factory=dict)
    """What it wants before tools and of prompts, by session id."""
    declared: HookSet = field(default_factory=HookSet)
    """What it wants in sessions that it has yet to enter."""
    gates: set[str] = field(default_factory=set)
    """Questions about calls that it has not answered."""
    transforming: set[str] = field(default_factory=set)
    """Questions about sections that it has not answered."""
    last_active: float = 0.0
    """When it was last called, answered or pushed."""
    limit: Concurrency | None = None
    subscribed: frozenset[str] = frozenset()
    had_no_choice: bool = False
    """It sits on the local session because there was no other when it came."""
    offered: list[Tool] = field(default_factory=list)
    """The tools with which it enters a further session, or comes back."""

    @property
    def id(self) -> str:
        return self.view.id

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def label(self) -> str:
        """Name and instance, for people."""
        return label_of(self.view.name, self.view.instance)

    @property
    def grant(self) -> Grant:
        """What its connection may do."""
        grant = self.connection.grant_as(self.name)
        assert grant is not None, "providers have shown a token"
        return grant

    def described(self) -> Provider:
        """Return the view, with what it offers and wants now."""
        hooks = next(iter(self.hooks.values()), self.declared)
        return replace(
            self.view,
            tools=self.tool_names(),
            rules=len(hooks.rules),
            sections={name: one.action for name, one in hooks.transforms.items()},
            sections_unapplied=[one.id for one in self.sessions_without_sections()],
            context=hooks.context,
            revision=max(self.revisions.values(), default=0),
        )

    def sessions_without_sections(self) -> "list[OpenSession]":
        """Return its sessions in which its transforms of sections are not known to be applied."""
        return [
            session
            for id_, session in self.sessions.items()
            if not session.applies_sections
            and (hooks := self.hooks.get(id_)) is not None
            and hooks.transforms
        ]

    def revise(self, session_id: str) -> int:
        """Count a change in one session; return its revision there."""
        revision = self.revisions[session_id] = self.revisions.get(session_id, 0) + 1
        if len(self.revisions) > limits.MAX_FORMER_IDS + len(self.sessions):
            left = next(id_ for id_ in self.revisions if id_ not in self.sessions)
            del self.revisions[left]
        return revision

    def moved(self, former: str, current: str) -> None:
        """Let messages that name the `former` session mean the `current` one from now on."""
        ids = [id_ for id_ in self.former_ids if id_ not in (former, current)]
        self.former_ids = [*ids, former][-limits.MAX_FORMER_IDS :]

    def is_in(self, session: OpenSession) -> bool:
        """Return whether it is in this session, not in an ended one of the same id."""
        return self.sessions.get(session.id) is session

    def tool_names(self) -> list[str]:
        """Return the names of its tools in any session, each once."""
        return list(dict.fromkeys(tool.name for tools in self.tools.values() for tool in tools))


@dataclass(slots=True, eq=False)
class RegisteredTool:
    """A tool in a session's table, and who offers it: one provider, or instances of one.

    `lists` is set for the tool that lists a provider's instances; it has no provider.
    """

    tool: Tool
    owner: str
    """The name of the provider, or of all the instances, that offer it."""
    offers: dict[str, tuple[ConnectedProvider, Tool]] = field(default_factory=dict)
    is_read_only: bool = False
    target: str | None = None
    """The injected argument by which calls name an instance; None where there are none."""
    lists: bool = False


# Calls


class PendingCall(Struct, eq=False):
    """A call under way. Once settled it is only absorbed: the caller has its outcome."""

    view: Call
    session: OpenSession
    provider: ConnectedProvider
    caller: Connection
    invoke: ToolInvoke
    args: Raw
    started: float
    trace_id: str = ""
    """The trace that it belongs to, once a span of it is recorded."""
    parent_id: str | None = None
    span_id: str = ""
    """The span of the provider that has it; empty where none is recorded."""
    sent: float = 0.0
    sent_at: str = ""
    is_settled: bool = False
    is_queued: bool = False
    is_retry: bool = False
    has_target: bool = False
    asked: float | None = None
    """When a call that is tried again began for its caller."""
    context: list[str] | None = None
    """What rules and gates added to it."""
    awaits_file: bool = False
    lane: "Lane | None" = None
    deadline: Deadline | None = None

    @property
    def invoke_id(self) -> str:
        return self.invoke.id


@dataclass(slots=True, eq=False)
class TurnTrace:
    """The span of a session's turn; one without `started_at` is that of the turn to come."""

    span_id: str
    trace_id: str = ""
    """Empty until a call says which it is."""
    started: float = 0.0
    started_at: str = ""
    dropped: int = 0
    waiting: list[Span] = field(default_factory=list)
    """Spans that wait for the trace to be known."""


@dataclass(slots=True, eq=False)
class AgentTrace:
    """The span of a subagent at work. `trace` is that of the turn in which it began."""

    agent: str
    tool_call_id: str | None
    span_id: str
    parent_id: str | None
    """The span of the subagent that launched it; None for the turn."""
    trace: TurnTrace | None
    started: float
    started_at: str


class NativeCall(Struct, frozen=True):
    """A call of a session's own tool under way: the id that is shown, and when it began."""

    call_id: str
    started: float
    agent_id: str | None = None
    """The subagent that made it, by the id of its child session."""
    printed: float | None = None
    """When its output was shown last."""
    trace: TurnTrace | None = None
    """The turn's, when it began."""
    parent_id: str | None = None
    """The span of that subagent; None for the turn."""


@dataclass(slots=True, eq=False)
class Lane:
    """The places that calls share which a provider wants limited; the rest wait in order."""

    key: tuple[object, ...]
    most: int
    running: int = 0
    queue: deque[PendingCall] = field(default_factory=deque)


# Rules and gates of a session

RuleEntry = tuple[int, ConnectedProvider, ActiveRule]
"""A rule of a session: its number in the order of registration, and its provider."""


@dataclass(slots=True, eq=False)
class RuleIndex:
    """The rules of a session by tool, in order of registration: a call looks up, never scans."""

    of_tool: dict[str, list[RuleEntry]] = field(default_factory=dict)
    of_any: list[RuleEntry] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Inquiry:
    """A call that waits for providers. `request_id` is the asking host's, or the caller's.

    With `invoke`, the call itself goes ahead when it is allowed; `then` takes how the inquiry
    ended.
    """

    session: OpenSession
    tool: str
    asker: Connection
    request_id: str
    began: float = 0.0
    """When providers were asked."""
    contexts: list[tuple[int, str]] = field(default_factory=list)
    view: Gate | None = None
    invoke: ToolInvoke | None = None
    then: Callable[[Any], None] | None = None
    open: dict[str, RuleEntry] = field(default_factory=dict)
    deadline: Deadline | None = None
    question: str = ""
    """Why the person is to be asked, where a rule of theirs demands it."""


# Orders


@dataclass(slots=True, eq=False)
class PendingOrder:
    """An order that its session's host has not ended."""

    id: str
    session: OpenSession
    deadline: Deadline | None = None


@dataclass(slots=True, eq=False)
class ModelsAsked:
    """A tower that waits for the list of models; `request_id` is its own."""

    id: str
    session: OpenSession
    asker: Connection
    request_id: str
    deadline: Deadline | None = None


# Injects


class Prompter(Protocol):
    """Whose injects they are: a provider's, or an emitter's."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def label(self) -> str:
        """Its name for people."""


class HeldLine(Struct, frozen=True):
    """A line of an emitter that waits; `number` counts the lines of all emitters."""

    number: int
    stream: str
    emitter: str
    source: str
    text: str


@dataclass(slots=True, eq=False)
class HeldInject:
    """An inject that waits for the session."""

    sender: Sender
    prompt: str
    source: Prompter
    is_braked: bool
    """Whether the loop brake counts it, and may hold it."""
    lines: deque[HeldLine] | None = None
    """Lines of an emitter: those of all emitters that wait are made one prompt."""
    left_out: int = 0
    """How many older lines there were."""
    parent: tuple[str, str] | None = None
    """The trace and the span of the emitter's run that it belongs to."""


@dataclass(slots=True, eq=False)
class Brake:
    """How the injects of one source stand in one session."""

    source: Prompter
    cycles: int = 0
    is_on: bool = False
