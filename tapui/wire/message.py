"""What all messages of the three conversations share."""

from typing import TYPE_CHECKING, Any, Literal, dataclass_transform

from msgspec import UNSET, Raw, Struct, UnsetType, field

from tapui.wire.bounds import Id, Name, Note, Path, Text
from tapui.wire.errors import ErrorCode

Mode = Literal["interactive", "plan", "autopilot"]
Trust = Literal["internal", "project", "external"]
Level = Literal["keep", "surface", "inject"]
Activity = Literal["idle", "busy"]
Number = int | float
"""A JSON number: JavaScript does not tell 2 from 2.0."""

if TYPE_CHECKING:
    OptionalRaw = Raw | None
else:
    # msgspec reads a union of `Raw` and `None` as `None` alone and refuses everything else. As
    # `Raw` with the default None, an absent field is None and a `null` is the JSON text `null`.
    OptionalRaw = Raw


UPDATE_MARK = "※ tap"
"""How a prompt begins that tells of background events."""
BUILTIN_PROVIDER = "tap"
"""The name of the provider of the built-in tools; no other provider may take it."""


def label_of(name: str, instance: str | None) -> str:
    """Return what people call a provider: `name`, or `name/instance`."""
    return f"{name}/{instance}" if instance else name


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class WireStruct(Struct, rename="camel", omit_defaults=True, frozen=True):
    """What goes over the wire: fields are camelCase there, and left out at their defaults."""


class Message(WireStruct, tag_field="type"):
    """A message. The tag is its `type`."""


class Tool(WireStruct):
    """A tool definition of a provider (Core Profile, `hello`). `timeout` is milliseconds."""

    name: Name
    description: Text
    parameters: Raw
    timeout: Number | None = None


class InstanceMetadata(WireStruct):
    """An instance of a provider, and how it describes itself."""

    instance: str
    metadata: OptionalRaw = None


class OfferedTool(WireStruct):
    """A tool as a host sees it. `provider` is the name of the provider that offers it."""

    name: str
    description: str
    parameters: Raw
    provider: str
    read_only: bool | None = None
    """Set for built-in tools that change nothing, and need no permission of the host's."""
    metadata: OptionalRaw = None
    """What the provider says about itself, where one alone offers the tool and it is not long."""
    instances: list[InstanceMetadata] | None = None
    """Of the tool that lists a provider's instances: what each of them says about itself."""


class ActiveSession(WireStruct):
    """A session as clients see it in `sessions`; `cwd` only where the client may bind it."""

    id: str
    label: str
    foreground: bool
    state: Activity
    cwd: str | None = None
    mode: Mode | None = None
    model: str | None = None


class FileResult(WireStruct):
    """A result left in a file; `size` is bytes, `ttl` seconds. `note` is text that goes with it.

    In an outcome it is the gateway's copy in the session's folder, without `ttl`.
    """

    path: Path
    mime_type: Id
    size: int
    ttl: Number | None = None
    note: Note | None = None


class Line(WireStruct):
    """One line of a stream. `ts` is RFC 3339 in UTC, `seq` counts from 1 within the stream."""

    seq: int
    ts: str
    level: Level
    event: str
    metadata: OptionalRaw = None


class Error(Message, tag="error"):
    """The answer to a message that was refused."""

    code: ErrorCode
    message: str
    reply_to: str | None = None
    id: str | None = None
    request_id: str | None = None
    provider_id: str | None = None
    session_id: str | None = None
    query_id: str | None = None
    tools: list[str] | None = None
    """Of `TOOL_CONFLICT`: those whose names are taken; the others would be accepted."""


class SessionEvent(Message, tag="session.event"):
    """Something happened in a session, by the event's own name."""

    session_id: Id
    event: Id
    data: Raw = Raw(b"{}")


class NowText(Message, tag="session.now"):
    """What a session's agent writes this moment, from its host to the towers."""

    session_id: Id
    text: Text
    kind: Literal["message", "reasoning"] = "message"


class ToolInvoke(Message, tag="tool.invoke"):
    """A host, or the person at a tower, calls a tool. `timeout` is milliseconds.

    `tool_call_id` is what the session calls the call itself, in the requests about it.
    """

    id: Id
    session_id: Id
    tool: Id
    args: Raw = Raw(b"{}")
    agent_id: Id | None = None
    timeout: Number | None = None
    traceparent: Id | None = None
    tool_call_id: Id | None = None


class ToolProgress(Message, tag="tool.progress"):
    """Status of a call under way, from the provider and on to the caller.

    `done` of `total` are for callers that show them otherwise than in `message`, which has both.
    """

    id: Id
    message: Text
    done: float | None = None
    total: float | None = None


class ToolOutcome(Message, tag="tool.outcome"):
    """How a call ended: exactly one of `data`, `file` and `error`.

    `context` is what rules and gates add to the call, for a caller that does not ask them itself.
    """

    id: str
    data: Raw | UnsetType = UNSET
    file: FileResult | None = None
    error: str | None = None
    error_code: str | None = None
    retryable: bool | None = None
    context: list[str] | None = None


class ToolAbort(Message, tag="tool.abort"):
    """The caller gives its call up."""

    id: Id
    reason: Text | None = None


Json = Any
"""Decoded JSON that tapui itself reads (small: details of approvals, answers)."""
