"""What the built-in tools ask of the gateway: in process only, beside the provider's messages."""

from msgspec import Struct

from tapui.wire.bounds import Id, Name, Text
from tapui.wire.message import (
    Error,
    Json,
    Level,
    Line,
    Message,
    Mode,
    OptionalRaw,
    ToolProgress,
)
from tapui.wire.provider import (
    HelloAck,
    SessionLifecycle,
    Sessions,
    SessionsUpdated,
    ToolCall,
    ToolCancel,
    ToolResult,
)
from tapui.wire.tower import StreamLines, StreamRead

# Built-in tools → gateway


class StreamPost(Message, tag="stream.post", frozen=True):
    """Post a line to one of the built-in provider's own streams, outside any budget."""

    id: Id
    session_id: Id
    stream: Name
    event: Text
    level: Level
    metadata: OptionalRaw = None


class StateRead(Message, tag="state.read", frozen=True):
    """Ask how a session is."""

    id: Id
    session_id: Id


class ModeRequest(Message, tag="mode.request", frozen=True):
    """Ask the person to switch a session's mode."""

    id: Id
    session_id: Id
    mode: Mode
    asker: Id
    reason: Text | None = None


class ModeRequestCancel(Message, tag="mode.request.cancel", frozen=True):
    """The caller gave up; the approval is withdrawn."""

    id: Id


# Gateway → built-in tools


class StreamPostDone(Message, tag="stream.post.done", frozen=True):
    """The line's sequence number."""

    id: str
    stream: str
    seq: int


class StreamSummary(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A stream in a listing: `count` is all lines ever posted."""

    stream: str
    count: int
    last: Line | None = None


class StateAnswer(Message, tag="state.answer", frozen=True):
    """The session's state as plain JSON, and its streams."""

    id: str
    state: Json
    streams: list[StreamSummary]


class ModeAnswer(Message, tag="mode.answer", frozen=True):
    """What became of a mode request. `error` is set when the mode was not switched."""

    id: str
    decided_by: str
    error: str | None = None


FromBuiltin = (
    ToolResult
    | ToolProgress
    | StreamPost
    | StreamRead
    | StateRead
    | ModeRequest
    | ModeRequestCancel
)
ToBuiltin = (
    Sessions
    | SessionsUpdated
    | HelloAck
    | ToolCall
    | ToolCancel
    | SessionLifecycle
    | StreamPostDone
    | StreamLines
    | StateAnswer
    | ModeAnswer
    | Error
)
