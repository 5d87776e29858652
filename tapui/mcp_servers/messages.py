"""What tapui and the bridge of one MCP server say to each other: a JSON object on each line.

tapui writes to the bridge's standard input, the bridge to its standard output; nothing else is
written there. The first line is `start`. Times are seconds. When its input ends, the bridge stops
the server and ends, as after `stop`.
"""

from typing import Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from tapui.secret import Secret
from tapui.wire.limits import MAX_TOOLS
from tapui.wire.message import OptionalRaw, ToolOutcome
from tapui.wire.surrogates import without_surrogates

M = TypeVar("M")

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A line, without its end."""

Stage = Literal["package", "start", "handshake", "list", "call", "connection"]
"""Where a server was lost: the package `mcp` is not there, its program or address cannot be
reached, it does not get through the handshake or its list of tools, it was lost in a call or at
rest."""


class BridgeMessage(Struct, tag_field="type", rename="camel", omit_defaults=True, frozen=True):
    """A line between tapui and a bridge."""


# tapui → bridge


class ServerStart(BridgeMessage, tag="start", frozen=True):
    """Run this server; the first line, once. The answer is `ready` or `lost`.

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
    patience: float = 60.0
    """How long it may take until the server has answered the handshake."""


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


class LineError(Exception):
    """A line that is too long, or no message. Its text never quotes the line."""


def _encoded(value: object) -> object:
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError(type(value).__name__)


def _decoded(wanted: type, value: object) -> object:
    if wanted is Secret and isinstance(value, str):
        return Secret(value)
    raise NotImplementedError(wanted.__name__)


_encoder = msgspec.json.Encoder(enc_hook=_encoded)
_to_bridge: msgspec.json.Decoder[ToBridge] = msgspec.json.Decoder(ToBridge, dec_hook=_decoded)
_from_bridge: msgspec.json.Decoder[FromBridge] = msgspec.json.Decoder(FromBridge)


def line(message: BridgeMessage) -> bytes:
    """Return a message as a line with its end. Raises `LineError`."""
    try:
        text = _encoder.encode(without_surrogates(message))
    except UnicodeEncodeError:
        raise LineError("a variable or header that is not UTF-8") from None
    if len(text) > MAX_LINE_BYTES:
        raise LineError(f"a line of {len(text)} bytes")
    return text.replace(b"\n", b" ") + b"\n"  # JSON that is passed through may have ends of lines


def read_by_bridge(text: bytes) -> ToBridge:
    """Return the message of a line. Raises `LineError`."""
    return _read(_to_bridge, text)


def read_by_tapui(text: bytes) -> FromBridge:
    """Return the message of a line. Raises `LineError`."""
    return _read(_from_bridge, text)


def _read(decoder: msgspec.json.Decoder[M], text: bytes) -> M:
    if len(text) > MAX_LINE_BYTES:
        raise LineError(f"a line of {len(text)} bytes")
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LineError(f"no message of a bridge: {type(error).__name__}") from None
