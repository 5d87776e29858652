"""The provider's conversation: Core Profile, pairing, progress (Provider Interface v2)."""

from typing import Literal

from msgspec import UNSET, Raw, UnsetType

from tapui.wire.message import (
    ActiveSession,
    Error,
    FileResult,
    Level,
    Message,
    Number,
    OptionalRaw,
    Tool,
    ToolProgress,
)

# Provider → gateway


class Auth(Message, tag="auth", frozen=True):
    """The first message: a token, or `mode: "pair"`."""

    token: str | None = None
    mode: str | None = None


class AuthConfirm(Message, tag="auth.confirm", frozen=True):
    """The code that the person read on the tower and typed at the provider."""

    code: str


class Hello(Message, tag="hello", frozen=True):
    """Register tools and bind to a session; `session` is an id or `"all"`."""

    name: str
    protocol_version: Number
    session: str | None = None
    instance: str | None = None
    reconnect_token: str | None = None
    metadata: OptionalRaw = None
    tools: list[Tool] | None = None


class ToolResult(Message, tag="tool.result", frozen=True):
    """The provider's answer to `tool.call`: exactly one of `data`, `error` and `file`."""

    id: str
    data: Raw | UnsetType = UNSET
    error: str | None = None
    error_code: str | None = None
    retryable: bool | None = None
    file: FileResult | None = None


class Push(Message, tag="push", frozen=True):
    """An event for a stream, the timeline or the session itself."""

    level: Level
    event: str
    stream: str | None = None
    session_id: str | None = None
    metadata: OptionalRaw = None


class ToolsUpdate(Message, tag="tools.update", frozen=True):
    """Replace the provider's tools; with `remove`, add `tools` and delete those named."""

    tools: list[Tool] | None = None
    remove: list[str] | None = None
    session_id: str | None = None
    request_id: str | None = None


class SessionReady(Message, tag="session.ready", frozen=True):
    """An `"all"` provider is ready to serve a session that began after its hello."""

    session_id: str


class ShutdownReady(Message, tag="shutdown.ready", frozen=True):
    """Clean-up after `shutdown.pending` is done; the connection stays."""

    session_id: str


class Goodbye(Message, tag="goodbye", frozen=True):
    """The provider leaves."""

    reason: str | None = None


# Gateway → provider


class AuthPairing(Message, tag="auth.pairing", frozen=True):
    """The pairing request was taken; the code travels through the person."""

    prompt: str


class Sessions(Message, tag="sessions", frozen=True):
    """The sessions that the client may bind. `token` only after a pairing."""

    active: list[ActiveSession]
    token: str | None = None


class SessionsUpdated(Message, tag="sessions.updated", frozen=True):
    """The list of sessions changed."""

    active: list[ActiveSession]


class HelloAck(Message, tag="hello.ack", frozen=True):
    """The provider is bound."""

    protocol_version: int
    provider_id: str
    session_id: str
    reconnect_token: str | None = None
    persist_dir: str | None = None


class Ack(Message, tag="ack", frozen=True):
    """An update with a `requestId` is in force."""

    request_id: str
    session_id: str
    revision: int


class ToolCall(Message, tag="tool.call", frozen=True):
    """Run a tool; answer with exactly one `tool.result`."""

    id: str
    session_id: str
    tool: str
    args: Raw


class ToolCancel(Message, tag="tool.cancel", frozen=True):
    """Stop a call; answer `tool.result` with `CANCELLED`."""

    id: str
    session_id: str
    reason: str


class SessionLifecycle(Message, tag="session.lifecycle", frozen=True):
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
    | SessionLifecycle
    | Error
)
