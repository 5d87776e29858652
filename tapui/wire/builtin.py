"""What the built-in tools ask of the gateway: in process only, beside the provider's messages."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Raw, Struct
from msgspec import field as msgspec_field

from tapui.wire import limits
from tapui.wire.bounds import Id, Name, Path, Text
from tapui.wire.codec import decode_as, given_object
from tapui.wire.emitters import Delivery, Emitter, Injector, Rules, ScheduleKind
from tapui.wire.goals import (
    AuditAsked,
    ClaimsReported,
    GoalAnswer,
    GoalAsked,
    GoalReported,
    GoalsList,
    GoalUpdateAsked,
    SessionGoalsRead,
    VerifyAsked,
)
from tapui.wire.message import (
    Error,
    Json,
    Level,
    Line,
    Message,
    Mode,
    OptionalRaw,
    ToolInvoke,
    ToolProgress,
    WireStruct,
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
from tapui.wire.reviews import ReviewAnswer, ReviewAsked
from tapui.wire.tower import StreamLines, StreamRead

CHANGING_TOOLS = frozenset(
    {
        "tap_set_session_mode",
        "tap_start_emitter",
        "tap_schedule_prompt",
        "tap_stop_emitter",
        "tap_set_event_filter",
        "tap_enable_injector",
        "tap_disable_injector",
        "tap_create_goal",
        "tap_update_goal",
        "tap_record_review",
    }
)
"""Built-in tools that send prompts, or start or change something in a session."""
POST = "tap_post"
"""The built-in tool that puts a line into a stream, which may be a prompt."""
RecordCollection = Literal[
    "calls",
    "streams",
    "approvals",
    "modes",
    "sessions",
    "providers",
    "errors",
    "emitters",
    "traces",
    "goals",
    "reviews",
]
RecordOperator = Literal[
    "eq",
    "ne",
    "lt",
    "lte",
    "gt",
    "gte",
    "in",
    "nin",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "exists",
    "missing",
]
RecordAggregation = Literal[
    "count",
    "countDistinct",
    "sum",
    "min",
    "max",
    "avg",
    "p50",
    "p90",
    "p95",
    "p99",
    "first",
    "last",
]
_HARMLESS_LEVELS = (b'"keep"', b'"surface"')


class _Posted(Struct):
    level: Raw = Raw(b'"keep"')


def changes_session(invoke: ToolInvoke) -> bool:
    """Return whether a call is of a built-in tool that sends prompts, or starts or changes
    something. Raises `WireError` for arguments that are no object."""
    if invoke.tool != POST:
        return invoke.tool in CHANGING_TOOLS
    posted: _Posted = decode_as(given_object(invoke.args, "args"), _Posted, "args")
    return bytes(posted.level) not in _HARMLESS_LEVELS


# Built-in tools → gateway


class StreamPost(Message, tag="stream.post"):
    """Post a line to one of the built-in provider's own streams, outside any budget."""

    id: Id
    session_id: Id
    stream: Name
    event: Text
    level: Level
    metadata: OptionalRaw = None


class StateRead(Message, tag="state.read"):
    """Ask how a session is; with `looks` also what only its host can tell."""

    id: Id
    session_id: Id
    looks: bool = False


class ModeRequest(Message, tag="mode.request"):
    """Ask the person to switch a session's mode."""

    id: Id
    session_id: Id
    mode: Mode
    asker: Id
    reason: Text | None = None


class ModeRequestCancel(Message, tag="mode.request.cancel"):
    """The caller gave up; the approval is withdrawn."""

    id: Id


class EmitterWanted(WireStruct, kw_only=True):
    """An emitter that a session's agent wants. Names are normalised, `every` is seconds, `cron` an
    expression of five fields; `cwd` is absolute or relative to the session's folder."""

    name: Name
    stream: Name
    kind: ScheduleKind
    command: Text | None = None
    prompt: Text | None = None
    shell: Path | None = None
    cwd: Path | None = None
    every: int | None = None
    cron: Id | None = None
    max_runs: int | None = None
    include_stderr: bool = True
    rules: Rules = []
    injector: Injector = "unset"
    delivery: Delivery = "surface"
    description: Id = ""


class EmitterAsked(Message, tag="emitters.start"):
    """Start an emitter of the session: a command is judged as one of `bash`, and asked of the
    person in any case. The answer comes when that is decided."""

    id: Id
    session_id: Id
    emitter: EmitterWanted


class EmitterAskedCancel(Message, tag="emitters.start.cancel"):
    """The caller gave up; the approval is withdrawn."""

    id: Id


class EmitterAskedStop(Message, tag="emitters.stop"):
    """Stop an emitter by its name; the person's own is refused."""

    id: Id
    session_id: Id
    name: Name


class EmitterRulesAsked(Message, tag="emitters.filter"):
    """Change the filter of an emitter that the session's agent started."""

    id: Id
    session_id: Id
    name: Name
    rules: Rules


class InjectorAsked(Message, tag="emitters.injector"):
    """Switch the injector of a stream to which only emitters post that the agent started."""

    id: Id
    session_id: Id
    stream: Name
    enabled: bool
    delivery: Delivery | None = None


class EmittersRead(Message, tag="emitters.read"):
    """Ask for the emitters of a session and of its folder."""

    id: Id
    session_id: Id


class RecordCondition(WireStruct):
    """What a record must be: `field` is a dotted path into it (`call.args.command`, `[n]` for
    lists). Values are compared with those of their own type."""

    field: Path
    op: RecordOperator
    value: Any = None


class RecordAggregate(WireStruct):
    """What is made of the records of a group, under the name `as`."""

    op: RecordAggregation
    field: Path | None = None
    name: Id | None = msgspec_field(name="as", default=None)


Conditions = Annotated[list[RecordCondition], Meta(max_length=limits.MAX_CONDITIONS)]


class RecordQuery(WireStruct, kw_only=True):
    """A question to a session's records of a collection.

    All of `where` hold, and one of `any`. `since` and `until` are RFC 3339, or spans before now
    (`2h`). `every` groups by spans of time. `cursor` is that of an answer.
    """

    collection: RecordCollection
    where: Conditions = []
    any: Conditions = []
    text: Text | None = None
    since: Id | None = None
    until: Id | None = None
    fields: Annotated[list[Path], Meta(max_length=limits.MAX_FIELDS)] = []
    order: Literal["desc", "asc"] = "desc"
    limit: int = 20
    cursor: Path | None = None
    group_by: Annotated[list[Path], Meta(max_length=limits.MAX_GROUPS)] = []
    every: Id | None = None
    aggregate: Annotated[list[RecordAggregate], Meta(max_length=limits.MAX_AGGREGATES)] = []


class RecordsAsked(Message, tag="records.query"):
    """A session's agent asks its records. The answer is `records.answer`."""

    id: Id
    session_id: Id
    query: RecordQuery


# Gateway → built-in tools


class RecordsAnswer(Message, tag="records.answer"):
    """What was found, as plain JSON."""

    id: str
    found: Json


class StreamPostDone(Message, tag="stream.post.done"):
    """The line's sequence number."""

    id: str
    stream: str
    seq: int


class StreamSummary(WireStruct):
    """A stream in a listing: `count` is all lines ever posted.

    Of one to which emitters post: their names, and what of it reaches the session.
    """

    stream: str
    count: int
    last: Line | None = None
    emitters: list[str] = []
    session_injector: Literal["on", "off"] | None = None
    delivery: Delivery | None = None


class StateAnswer(Message, tag="state.answer"):
    """The session's state as plain JSON, and its streams."""

    id: str
    state: Json
    streams: list[StreamSummary]


class ModeAnswer(Message, tag="mode.answer"):
    """What became of a mode request. `error` is set when the mode was not switched."""

    id: str
    decided_by: str
    error: str | None = None


class EmitterAnswer(Message, tag="emitters.answer"):
    """What became of a request. `error` is set when nothing was changed."""

    id: str
    decided_by: str
    emitter: Emitter | None = None
    error: str | None = None


class EmittersAnswer(Message, tag="emitters.list"):
    """The emitters, those of the folder's file first."""

    id: str
    emitters: list[Emitter]


FromBuiltin = (
    ToolResult
    | ToolProgress
    | StreamPost
    | StreamRead
    | StateRead
    | ModeRequest
    | ModeRequestCancel
    | EmitterAsked
    | EmitterAskedCancel
    | EmitterAskedStop
    | EmitterRulesAsked
    | InjectorAsked
    | EmittersRead
    | GoalAsked
    | GoalUpdateAsked
    | SessionGoalsRead
    | VerifyAsked
    | AuditAsked
    | ReviewAsked
    | RecordsAsked
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
    | EmitterAnswer
    | EmittersAnswer
    | GoalAnswer
    | GoalsList
    | GoalReported
    | ClaimsReported
    | ReviewAnswer
    | RecordsAnswer
    | Error
)
