"""The provider's conversation (Provider Interface v2)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from tapui.wire import limits
from tapui.wire.bounds import Context, Id, Ids, Name, Pattern, Text, checked
from tapui.wire.message import (
    ActiveSession,
    Error,
    FileResult,
    Level,
    Message,
    Number,
    OptionalRaw,
    SessionEvent,
    Tool,
    ToolProgress,
    WireStruct,
)

# Provider → gateway


class Auth(Message, tag="auth"):
    """The first message: a token, or `mode: "pair"`."""

    token: Text | None = None
    mode: Text | None = None


class AuthConfirm(Message, tag="auth.confirm"):
    """The code that the person read on the tower and typed at the provider."""

    code: Text


class HookMatch(WireStruct):
    """Which calls a rule is about; what is absent matches every call.

    `tool` and `provider` are exact names, `args` a regex over the arguments as compact JSON,
    `file` a file name pattern over the arguments that name a file.
    """

    tool: Id | None = None
    args: Pattern | None = None
    provider: Id | None = None
    file: Pattern | None = None


class HookRule(WireStruct):
    """What to do before a matching call: refuse it, add context, or ask the provider."""

    action: Literal["deny", "context", "gate"]
    match: HookMatch = HookMatch()
    reason: Text | None = None
    content: Text | None = None
    gate_id: Id | None = None
    fail_open: bool = False


class Transform(WireStruct):
    """What to do with a section of the system prompt."""

    action: Literal["append", "prepend", "replace", "callback"]
    content: Text | None = None


HookRules = Annotated[list[HookRule], checked("MAX_HOOK_RULES")]
Transforms = Annotated[dict[Id, Transform | None], Meta(max_length=limits.MAX_SECTIONS)]
Tools = Annotated[list[Tool], checked("MAX_TOOLS")]


class Hooks(Struct, omit_defaults=True, frozen=True):
    """A provider's rules before tools, and its transforms by section."""

    on_pre_tool_use: HookRules | None = field(default=None, name="onPreToolUse")
    transforms: Transforms | None = None


class Concurrency(WireStruct):
    """How many calls a provider takes at once (absent: any number), and what is counted."""

    max: int | None = None
    scope: Literal["instance", "provider", "tool"] = "instance"


class Hello(Message, tag="hello"):
    """Register tools and bind to a session; `session` is an id or `"all"`.

    `startup_context` goes to the agent once when a session begins, `context` with every prompt.
    """

    name: Name
    protocol_version: Number
    session: Id | None = None
    instance: Name | None = None
    reconnect_token: Text | None = None
    metadata: OptionalRaw = None
    tools: Tools | None = None
    hooks: Hooks | None = None
    subscribe: Annotated[list[Id], Meta(max_length=limits.MAX_SUBSCRIPTIONS)] | None = None
    context: Context | None = None
    startup_context: Context | None = field(default=None, name="startup_context")
    concurrency: Concurrency | None = None


class ToolResult(Message, tag="tool.result"):
    """The provider's answer to `tool.call`: exactly one of `data`, `error` and `file`."""

    id: Id
    data: Raw | UnsetType = UNSET
    error: Text | None = None
    error_code: Id | None = None
    retryable: bool | None = None
    file: FileResult | None = None


class Push(Message, tag="push"):
    """An event for a stream, the timeline or the session itself.

    With `prompt`, that text is sent into the session as a turn of its own, regardless of `level`.
    `dropped` others of the stream before it were not sent: they came too fast. It `waited` so many
    milliseconds at its provider, for those before it.
    """

    level: Level
    event: Text | None = None
    prompt: Text | None = None
    stream: Name | None = None
    session_id: Id | None = None
    broadcast: bool = False
    metadata: OptionalRaw = None
    dropped: Annotated[int, Meta(ge=0, le=limits.MAX_SEQ)] = 0
    waited: Annotated[int, Meta(ge=0, le=limits.MAX_SEQ)] = 0


class ToolsUpdate(Message, tag="tools.update"):
    """Replace the provider's tools; with `remove`, add `tools` and delete those named."""

    tools: Tools | None = None
    remove: Ids | None = None
    session_id: Id | None = None
    request_id: Id | None = None


class HooksUpdate(Message, tag="hooks.update"):
    """Replace the rules (where `onPreToolUse` is given) and change transforms (null removes)."""

    on_pre_tool_use: HookRules | None = field(default=None, name="onPreToolUse")
    transforms: Transforms | None = None
    session_id: Id | None = None
    request_id: Id | None = None


class ContextUpdate(Message, tag="context.update"):
    """Replace the ambient context; null or the empty string takes it away."""

    context: Context | None = None
    session_id: Id | None = None
    request_id: Id | None = None


class FilterRule(Struct, frozen=True):
    """The outcome of a line that matches a regex."""

    match: Pattern
    outcome: Literal["drop", "keep", "surface", "inject"]


class FilterSet(Message, tag="filter.set"):
    """Filter one of the provider's own streams; no rules take the filter away."""

    stream: Id
    rules: Annotated[list[FilterRule], checked("MAX_HOOK_RULES")]
    session_id: Id | None = None
    request_id: Id | None = None


class StreamQuery(Message, tag="stream.query"):
    """Read streams: `stream@provider`, or a bare name for one's own."""

    query_id: Id
    streams: Annotated[list[Id], checked("MAX_STREAMS")]
    session_id: Id | None = None
    last: int = 100


class GateResult(Message, tag="gate.result"):
    """The answer to `gate.check`."""

    call_id: Id
    decision: Literal["allow", "deny", "context"]
    gate_id: Id | None = None
    reason: Text | None = None


class TransformResult(Message, tag="transform.result"):
    """The answer to `transform.request`."""

    call_id: Id
    content: Text


class SessionReady(Message, tag="session.ready"):
    """An `"all"` provider is ready to serve a session that began after its hello."""

    session_id: Id


class ShutdownReady(Message, tag="shutdown.ready"):
    """Clean-up after `shutdown.pending` is done; the connection stays."""

    session_id: Id


class Goodbye(Message, tag="goodbye"):
    """The provider leaves."""

    reason: Text | None = None


# Gateway → provider


class AuthPairing(Message, tag="auth.pairing"):
    """The pairing request was taken; the code travels through the person."""

    prompt: str


class Sessions(Message, tag="sessions"):
    """The sessions that the client may bind. `token` only after a pairing."""

    active: list[ActiveSession]
    token: str | None = None


class SessionsUpdated(Message, tag="sessions.updated"):
    """The list of sessions changed."""

    active: list[ActiveSession]


class HelloAck(Message, tag="hello.ack"):
    """The provider is bound. `warnings` are texts: what it asked for and does not get."""

    protocol_version: int
    provider_id: str
    session_id: str
    reconnect_token: str | None = None
    persist_dir: str | None = None
    warnings: list[str] | None = None


class Ack(Message, tag="ack"):
    """An update with a `requestId` is in force. `warnings` are as in `hello.ack`."""

    request_id: str
    session_id: str
    revision: int
    warnings: list[str] | None = None


class ToolCall(Message, tag="tool.call"):
    """Run a tool; answer with exactly one `tool.result`."""

    id: str
    session_id: str
    tool: str
    args: Raw
    traceparent: str | None = None


class ToolCancel(Message, tag="tool.cancel"):
    """Stop a call; answer `tool.result` with `CANCELLED`."""

    id: str
    session_id: str
    reason: str


class GateCheck(Message, tag="gate.check"):
    """May this call go ahead? Silence for 5 s denies it."""

    gate_id: str
    call_id: str
    session_id: str
    tool: str
    args: Raw


class TransformRequest(Message, tag="transform.request"):
    """Rewrite a section; after 2 s it stays unchanged."""

    call_id: str
    session_id: str
    section: str
    current: str


class HistoryLine(Struct, omit_defaults=True, frozen=True):
    """A line of `stream.history`."""

    ts: str
    event: str
    level: Level
    metadata: OptionalRaw = None


class StreamHistory(Message, tag="stream.history"):
    """The answer to `stream.query`: lines by `stream@provider`, newest first."""

    query_id: str
    streams: dict[str, list[HistoryLine]]


class SessionLifecycle(Message, tag="session.lifecycle"):
    """The session's state; `deadline` is milliseconds, with `shutdown.pending` only."""

    session_id: str
    state: Literal["started", "idle", "shutdown.pending"]
    deadline: int | None = None


FromProvider = (
    Auth
    | AuthConfirm
    | Hello
    | ToolResult
    | ToolProgress
    | Push
    | ToolsUpdate
    | HooksUpdate
    | ContextUpdate
    | FilterSet
    | StreamQuery
    | GateResult
    | TransformResult
    | SessionReady
    | ShutdownReady
    | Goodbye
)
ToProvider = (
    AuthPairing
    | Sessions
    | SessionsUpdated
    | HelloAck
    | Ack
    | ToolCall
    | ToolCancel
    | GateCheck
    | TransformRequest
    | StreamHistory
    | SessionEvent
    | SessionLifecycle
    | Error
)
