"""The host's conversation: sessions come from a host as tools from a provider (README.md)."""

from typing import Annotated, Literal

from msgspec import Meta, Raw, field

from tapui.wire import limits
from tapui.wire.bounds import Id, Ids, Note, Path, Text
from tapui.wire.message import (
    Error,
    Json,
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
from tapui.wire.message import SessionEvent as SessionEvent  # noqa: PLC0414 - sent by hosts, too
from tapui.wire.provider import Sessions, SessionsUpdated
from tapui.wire.steering import (
    Can,
    Cannot,
    HostWanted,
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionCompact,
    SessionEnd,
    SessionSet,
    SessionStart,
    SessionStarted,
    SessionStop,
    SessionTell,
)
from tapui.wire.subjects import Account, ModeAsker, Unattached

# What goes on in a session beside its turns


class HostTask(WireStruct):
    """A task of a session's own that runs beside its turn, or did: an agent, or a command."""

    id: Id
    kind: Literal["agent", "shell", "other"]
    status: Id
    name: Id = ""
    agent_type: Id | None = None
    active_ms: Number | None = None


class HostSchedule(WireStruct):
    """A prompt that a session's program sends by itself: each `every` seconds, by a cron
    expression, once, or when its agent has it wait."""

    name: Id
    kind: Literal["timed", "cron", "oneTime", "selfPaced"]
    every: Number | None = None
    cron: Id | None = None
    next_run: Id | None = None


class HostCanvas(WireStruct):
    """A canvas that is open in a session."""

    id: Id
    title: Id = ""


# Host → gateway


class HostHello(Message, tag="host.hello"):
    """Opens the conversation. With `hooks`, the host asks `hook.preToolUse` for every tool.

    `sections` says whether it applies the sections of `prompt.prepared` to the system prompt,
    `starts` whether it starts sessions, `launches` whether it starts a host that does, `looks`
    whether it looks for sessions and tells with `host.looked` when its first look is over.
    """

    name: Id
    kind: Id
    protocol_version: Number
    hooks: bool = False
    sections: bool | None = None
    starts: bool = False
    launches: bool = False
    looks: bool = False
    session_looks: bool = False
    """Whether it answers `session.look`."""


AgentNote = Annotated[str, Meta(max_length=limits.MAX_SUMMARY)]


class Agent(WireStruct):
    """A custom agent of a session: the tools that it may call (null: all, empty: none), and what it
    is for."""

    name: Id
    tools: Ids | None = None
    description: AgentNote | None = None


Agents = Annotated[list[Agent], Meta(max_length=limits.MAX_AGENTS)]
Commands = Annotated[
    list[Annotated[str, Meta(max_length=limits.MAX_SUMMARY)]], Meta(max_length=limits.MAX_SHELLS)
]


class HostSession(WireStruct):
    """A session as its host describes it. `workspace` is the folder for the session's files.

    `can` are the orders that the host takes for it (`steering.Ability`), `cannot` says of others
    why not. `pid` is the process that the session's own commands descend from.
    """

    id: Id
    label: Text
    cwd: Text
    workspace: Path | None = None
    foreground: bool = False
    mode: Mode | None = None
    model: Text | None = None
    effort: Text | None = None
    """The model's reasoning effort; "" is none that the session was told."""
    agents: Agents | None = None
    reserved_tools: Ids | None = None
    """Its own tools; None: they are not known."""
    shell_tools: Ids | None = None
    """Its own tools that run commands, which `match.tool` "shell" means; None: the usual ones."""
    replaces: Id | None = None
    can: Can | None = None
    cannot: Cannot | None = None
    ports: Annotated[list[int], Meta(max_length=limits.MAX_PORTS)] | None = None
    """Ports of the program that the session lives in, by which it can be answered."""
    pid: Number | None = None
    headless: bool = False
    """Whether it lives in a process of the host's, without a screen of its own."""
    program: Text | None = None
    """What the session lives in, with its version and how its host speaks to it."""
    permissions: Id | None = None
    """How its program asks for permissions: "manual", "assisted", "allow-all", or a newer word."""
    start: Id | None = None
    """The `session.start` that it answers."""
    mcp_servers: Ids | None = None
    """The names of the MCP servers that the session's program runs itself; None: that is not known.
    These are not started a second time."""
    sections: bool | None = None
    """Whether changed sections are applied in it, for which the host asks apart from prompts; None:
    as `host.hello` says."""
    unattended: bool = False
    """Whether no person is asked in it: what no rule allows is denied at once."""


class SessionOpen(Message, tag="session.open"):
    """A session begins, or takes another's place (`replaces`)."""

    session: HostSession


class SessionUpdate(Message, tag="session.update"):
    """Something about a session changed; absent fields did not.

    `tools_revision` is the newest list of tools that the session has taken: those that its agent
    can call from now on. 0 is none. `silent` says whether its program answers nothing for now.
    """

    session_id: Id
    label: Text | None = None
    cwd: Text | None = None
    foreground: bool | None = None
    mode: Mode | None = None
    model: Text | None = None
    effort: Text | None = None
    agents: Agents | None = None
    tools_revision: Number | None = None
    can: Can | None = None
    cannot: Cannot | None = None
    mcp_servers: Ids | None = None
    silent: bool | None = None
    asks_there: Note | None = None
    """What its program asks in its own terminal, where alone it is answered; "" is nothing."""
    permissions: Id | None = None
    account: Account | None = None
    shells: Commands | None = None
    """Commands in the background for which it waits while its agent rests."""


class SessionHistory(Message, tag="session.history"):
    """What happened in a session before this host came: `turns` is a list of `Turn`."""

    session_id: Id
    turns: Raw


class SessionClose(Message, tag="session.close"):
    """A session ended; or another that is open took its place meanwhile (`replaced_by`)."""

    session_id: Id
    reason: Text | None = None
    replaced_by: Id | None = None
    by_itself: bool = False
    """Whether its program was killed or crashed: neither the person nor the program ended it."""


class SessionSent(Message, tag="session.sent"):
    """What became of a `session.send`: whether the host could hand the prompt to the session."""

    session_id: Id
    ok: bool
    error: Text | None = None


class HookPreToolUse(Message, tag="hook.preToolUse"):
    """May this tool run?"""

    id: Id
    session_id: Id
    tool: Id
    args: Raw = Raw(b"{}")


class PromptSubmitted(Message, tag="prompt.submitted"):
    """The person sent a prompt; `sections` are the system prompt's, by name.

    With `only_sections` no prompt is meant: no context is given, and other sections stay.
    """

    id: Id
    session_id: Id
    prompt: Text
    sections: Annotated[dict[Id, Text], Meta(max_length=limits.MAX_SECTIONS)] | None = None
    only_sections: bool = False


class TurnEnding(Message, tag="turn.ending"):
    """The agent wants to end its turn; with `agent_id`, a subagent its own.

    `message` is the end of what it wrote last. `active` says that it was sent back in this turn.
    """

    id: Id
    session_id: Id
    agent_id: Id | None = None
    message: Note | None = None
    active: bool = False


class ModeResult(Message, tag="mode.result"):
    """Whether the host could set the mode."""

    id: Id
    ok: bool
    error: Text | None = None


class ApprovalRequest(Message, tag="approval.request"):
    """Something in the session waits for the person. `timeout` is milliseconds, and so is `waited`:
    how long it waits already."""

    id: Id
    session_id: Id
    kind: Literal["permission", "userInput", "elicitation"]
    detail: Raw = Raw(b"{}")
    timeout: Number | None = None
    waited: Number | None = None


class ApprovalAskResult(Message, tag="approval.ask.result"):
    """What the person said to `approval.ask` in the session's own window, or that it cannot be
    shown there (`impossible`, with the reason)."""

    id: Id
    outcome: Literal["approve", "deny", "impossible"]
    reason: Text | None = None
    decided_by: Id | None = None


class ApprovalWithdraw(Message, tag="approval.withdraw"):
    """The request was answered elsewhere: `decision` says how, `reason` what was said with it."""

    id: Id
    decided_by: Id | None = None
    decision: Literal["approve", "deny"] | None = None
    reason: Text | None = None


class SessionsUnattached(Message, tag="sessions.unattached"):
    """The complete list of sessions that the host sees but cannot reach.

    `ports` are those on which the programs that it sees can be told to do things, reached or not:
    no rule allows a command that names one.
    """

    unattached: Annotated[list[Unattached], Meta(max_length=limits.MAX_UNATTACHED)]
    ports: Annotated[list[int], Meta(max_length=limits.MAX_SEEN_PORTS)] | None = None


class HostLooked(Message, tag="host.looked"):
    """The first look for sessions is over: those that it found are open, or are not to be opened.

    `error` is why it cannot look. Two hosts of one name look together: either tells for both.
    """

    error: Text | None = None


class SessionLooked(Message, tag="session.looked"):
    """The answer to `session.look`. What is None is not known: `unknown` says why, by the field's
    name. `ui` says what the session's screen can show, by name: `elicitation`, `canvases`."""

    id: Id
    tasks: Annotated[list[HostTask], Meta(max_length=limits.MAX_LOOKED)] | None = None
    schedules: Annotated[list[HostSchedule], Meta(max_length=limits.MAX_LOOKED)] | None = None
    canvases: Annotated[list[HostCanvas], Meta(max_length=limits.MAX_LOOKED)] | None = None
    ui: Annotated[dict[Id, bool], Meta(max_length=limits.MAX_LOOKED)] | None = None
    unknown: Annotated[dict[Id, Note], Meta(max_length=limits.MAX_LOOKED)] = {}


class HostNotice(Message, tag="host.notice"):
    """Something about the host that the person should know; towers get it as `tower.notice`."""

    message: Text
    level: Literal["info", "warning", "error"] = "info"


# Gateway → host


class HostAck(Message, tag="host.ack"):
    """The host is registered."""

    host_id: str
    protocol_version: int


class AgentTools(WireStruct):
    """The definitions of the tools on a custom agent's allowlist."""

    name: str
    tool_definitions: list[OfferedTool]


class HostSessionOpened(Message, tag="session.opened"):
    """The session is registered; `tools` are those it has now.

    `agents` holds, for each custom agent with an allowlist, the definitions of its tools.
    """

    session_id: str
    tools: list[OfferedTool]
    revision: int
    agents: list[AgentTools] | None = None


class HostSessionClosed(Message, tag="session.closed"):
    """Every provider of the session has cleaned up, or 10 s have passed."""

    session_id: str


class ToolsChanged(Message, tag="tools.changed"):
    """The session's complete tool list, anew."""

    session_id: str
    tools: list[OfferedTool]
    revision: int
    agents: list[AgentTools] | None = None


class SessionGuarded(Message, tag="session.guarded"):
    """Whether anything is in force in a session that may forbid a tool, or have the person asked.

    Until the first of these something is.
    """

    session_id: str
    guarded: bool


class HookDecision(Message, tag="hook.decision"):
    """The answer to `hook.preToolUse`. `ask`: a rule wants the person to be asked, also where the
    session asks about nothing; the `reason` is theirs to read."""

    id: str
    decision: Literal["allow", "deny", "context", "ask"]
    reason: str | None = None
    context: str | None = None


class TurnEnd(Message, tag="turn.end"):
    """The answer to `turn.ending`. With `again` the turn goes on, and the agent reads the
    `reason`."""

    id: str
    decision: Literal["end", "again"]
    reason: str | None = None


class PromptHeld(Message, tag="prompt.held"):
    """The answer to `prompt.submitted` waits for the person, for as long as that takes."""

    id: str


class PromptPrepared(Message, tag="prompt.prepared"):
    """The answer to `prompt.submitted`. With `refused`, the prompt is not sent, and that is why."""

    id: str
    context: list[str]
    sections: dict[str, str]
    refused: str | None = None


class Sender(WireStruct):
    """Who wants a prompt sent."""

    provider: str
    stream: str | None = None


class SessionSend(Message, tag="session.send"):
    """Send this prompt into the session; it starts a turn. `sender` is `from` on the wire.

    `traceparent` is the turn's, in a session that the host has started.
    """

    session_id: str
    prompt: str
    sender: Sender = field(name="from")
    traceparent: str | None = None


SESSION_EVENTS = frozenset(
    {
        "abort",
        "assistant.intent",
        "assistant.message",
        "assistant.reasoning",
        "assistant.turn_end",
        "assistant.turn_start",
        "assistant.usage",
        "capabilities.changed",
        "commands.changed",
        "model.call_failure",
        "permission.completed",
        "prompt.automatic",
        "prompt.injected",
        "session.autopilot_stopped",
        "session.busy",
        "session.compaction_complete",
        "session.compaction_start",
        "session.context",
        "session.error",
        "session.idle",
        "session.permissions_changed",
        "session.quota",
        "session.snapshot_rewind",
        "session.todos",
        "session.usage",
        "session.warning",
        "shell.completed",
        "subagent.completed",
        "subagent.failed",
        "subagent.started",
        "tool.execution_complete",
        "tool.execution_partial_result",
        "tool.execution_progress",
        "tool.execution_start",
        "user.message",
    }
)
"""Names of the events that hosts are known to send. Others are handed on as well."""


class SessionLog(Message, tag="session.log"):
    """Show a line in the session's timeline. One that is `ephemeral` stays out of the session's
    files: it is shown, and kept nowhere."""

    session_id: str
    message: str
    level: Literal["info", "warning", "error"]
    ephemeral: bool = False


class SessionAbort(Message, tag="session.abort"):
    """Stop the session's turn."""

    session_id: str


class SessionLook(Message, tag="session.look"):
    """Say what goes on in a session beside its turns, to a host that `looks`. The answer is
    `session.looked`, within `LOOK_TIMEOUT` seconds."""

    id: str
    session_id: str


class ModeSet(Message, tag="mode.set"):
    """Set the session's mode; answer with `mode.result`."""

    id: str
    session_id: str
    mode: Mode


class ApprovalAsk(Message, tag="approval.ask"):
    """Ask the person in the session's own window whether its mode may be switched; answer with
    `approval.ask.result`. Only sessions that can `ask` get it, while no tower is there."""

    id: str
    session_id: str
    kind: Literal["mode"]
    to: Mode
    asker: ModeAsker
    source: Mode | None = field(default=None, name="from")
    reason: str | None = None


class ApprovalAskCancel(Message, tag="approval.ask.cancel"):
    """Close the question: it was answered elsewhere, or is not asked any more."""

    id: str
    session_id: str


class ApprovalAnswer(Message, tag="approval.answer"):
    """The person's answer to `approval.request`."""

    id: str
    decision: Literal["approve", "deny", "expired"]
    answer: Json = None
    reason: str | None = None


FromHost = (
    HostHello
    | SessionOpen
    | SessionUpdate
    | SessionHistory
    | SessionClose
    | SessionEvent
    | NowText
    | ToolInvoke
    | ToolAbort
    | HookPreToolUse
    | PromptSubmitted
    | TurnEnding
    | ModeResult
    | ApprovalRequest
    | ApprovalAskResult
    | ApprovalWithdraw
    | SessionsUnattached
    | HostLooked
    | SessionSent
    | HostNotice
    | SessionStarted
    | OrderResult
    | ModelsList
    | SessionLooked
)
ToHost = (
    Sessions
    | SessionsUpdated
    | HostAck
    | HostSessionOpened
    | HostSessionClosed
    | ToolsChanged
    | ToolProgress
    | ToolOutcome
    | SessionGuarded
    | HookDecision
    | TurnEnd
    | PromptHeld
    | PromptPrepared
    | SessionSend
    | SessionLog
    | SessionAbort
    | ModeSet
    | SessionTell
    | SessionStop
    | SessionCompact
    | SessionSet
    | SessionEnd
    | SessionStart
    | HostWanted
    | ModelsRead
    | SessionLook
    | ApprovalAsk
    | ApprovalAskCancel
    | ApprovalAnswer
    | Error
)
