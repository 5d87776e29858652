"""What tapui and the bridge of one MCP server say to each other.

The first message is `start`. Times are seconds. When its channel ends, the bridge stops the server
and ends, as after `stop`.
"""

from typing import Literal

from msgspec import Raw, Struct

from tapui.runtime.children.lines import LineCodec
from tapui.secret import Secret
from tapui.wire.limits import MAX_TOOLS
from tapui.wire.message import OptionalRaw, ToolOutcome

Stage = Literal["package", "start", "handshake", "list", "call", "connection"]
"""Where a server was lost: the package `mcp` is not there, its program or address cannot be
reached, it does not get through the handshake or its list of tools, it was lost in a call or at
rest."""


class BridgeMessage(Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True):
    """A message between tapui and a bridge."""


PATIENCE = 60.0
MOST_PATIENCE = 600.0
"""Some servers fetch all that they need when they first start."""


# tapui → bridge


class ServerStart(BridgeMessage, tag="start", frozen=True):
    """Run this server; the first message, once. The answer is `ready` or `lost`.

    One of `command` (a program with `args`, started in `cwd`) and `url` (streamable HTTP, called
    with `headers`). `env` comes on top of the few variables that every server gets (HOME, PATH,
    LANG …). `name` is the provider's. Tools in `pinned` are offered if their digest is the same,
    all others wait for `allowed`; without `pinned` all are offered. With `legacy` the handshake of
    the older protocol is used at once, as `ready.protocol` of an earlier run may advise.
    """

    name: str
    gateway_url: str
    command: str | None = None
    args: list[str] = []
    env: dict[str, Secret] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, Secret] = {}
    pinned: dict[str, str] | None = None
    legacy: bool = False
    most_tools: int = MAX_TOOLS
    """How many tools are offered at most, as the settings say."""
    patience: float = PATIENCE
    """How long it may take until the server has answered the handshake, from when it last wrote to
    standard error; at most `MOST_PATIENCE` in all."""


class ServerSession(BridgeMessage, tag="session.opened", frozen=True):
    """Offer the tools in this session, with a token for it. `folder` becomes one of the roots.

    The same id again brings a new token.
    """

    session_id: str
    token: Secret
    folder: str | None = None


class ServerSessionEnded(BridgeMessage, tag="session.closed", frozen=True):
    """Leave this session."""

    session_id: str


class ToolsAllowed(BridgeMessage, tag="allowed", frozen=True):
    """The person allowed tools as they are: these digests take the place of all former pins."""

    pins: dict[str, str]


class AnsweredForm(BridgeMessage, tag="answer", frozen=True):
    """The person's answer to `asks`; `content` is an object with the form's fields."""

    id: str
    action: Literal["accept", "decline", "cancel"]
    content: OptionalRaw = None


class TrialCall(BridgeMessage, tag="try", frozen=True):
    """Call a tool by the name that it is offered as, for the person, in no session.

    The answer is `tried`. One at a time.
    """

    tool: str
    arguments: Raw


class ServerStop(BridgeMessage, tag="stop", frozen=True):
    """Leave all sessions, end the server, end."""


# bridge → tapui


class MappedTool(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A tool of the server, and how sessions see it.

    `offered_as` is its name there. It is None for a tool that waits: `is_changed` says that it is
    not as it was pinned (or has no pin), `problem` why it can never be offered. `digest`
    is taken over name, description, schema and annotations.
    """

    name: str
    digest: str
    description: str
    parameters: Raw
    offered_as: str | None = None
    annotations: OptionalRaw = None
    is_changed: bool = False
    problem: str | None = None


class ServerReady(BridgeMessage, tag="ready", frozen=True):
    """The server runs; also after each `lost`. `seconds` is the time to connect and list.

    `protocol` is the version in use. `is_legacy` says that it was agreed in the older handshake:
    the next start is quicker with `legacy`.
    """

    server_name: str
    server_version: str
    protocol: str
    tools: list[MappedTool]
    seconds: float
    is_legacy: bool = False


class ServerTools(BridgeMessage, tag="tools.changed", frozen=True):
    """The tools, or what is offered of them, changed: all of them again."""

    tools: list[MappedTool]


class ServerLost(BridgeMessage, tag="lost", frozen=True):
    """The server is gone or does not start. It is tried again in `again` seconds, and never with
    None: the bridge ends then.

    `why` is one line, `hint` what the person can do about it.
    """

    stage: Stage
    why: str
    hint: str
    again: float | None = None


class ServerAsks(BridgeMessage, tag="asks", frozen=True):
    """The server asks the person for something: a form of the JSON Schema `schema`.

    `session_id` is the session whose call led to it, None where that is not known.
    """

    id: str
    message: str
    schema: Raw
    session_id: str | None = None


class TrialEnded(BridgeMessage, tag="tried", frozen=True):
    """How a call on trial ended, after `seconds`. A file of its result goes with the bridge."""

    seconds: float
    outcome: ToolOutcome


class WithdrawnForm(BridgeMessage, tag="withdrawn", frozen=True):
    """What was asked needs no answer any more."""

    id: str


class ServerTold(BridgeMessage, tag="told", frozen=True):
    """Something for the log; `session_id` where it is about one session."""

    level: Literal["info", "warning", "error"]
    text: str
    session_id: str | None = None


ToBridge = (
    ServerStart
    | ServerSession
    | ServerSessionEnded
    | ToolsAllowed
    | AnsweredForm
    | TrialCall
    | ServerStop
)
FromBridge = (
    ServerReady | ServerTools | ServerLost | ServerAsks | WithdrawnForm | TrialEnded | ServerTold
)


AT_BRIDGE: LineCodec[ToBridge] = LineCodec(ToBridge, mends=True)
AT_TAPUI: LineCodec[FromBridge] = LineCodec(FromBridge, mends=True)
"""The lines as each of them reads them. What a server says may have halves of characters."""
