"""Orders: what the person wants of a session, said by towers and, the same, to its host; and
sessions that are to be started.

Each order has an id. The gateway answers a tower with `session.ordered`, the host answers the
gateway with `order.result`, as often as something changes; the events tell what became of it.
`session.start` goes from a tower to a host that starts sessions; its answer, `session.started`,
goes the same way back.
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from tapui.wire import limits
from tapui.wire.bounds import Id, Path, Text
from tapui.wire.goals import CriteriaGiven
from tapui.wire.message import Message, Mode, WireStruct
from tapui.wire.subjects import Cut, RuleEffect

Ability = Literal["tell", "now", "stop", "compact", "model", "effort", "label", "close", "ask"]
"""What a host can do in a session; `ask`: put a question to the person in its own window. A host
may name others, which are not shown."""
Way = Literal["after", "now", "stopFirst"]
"""When a text is delivered: after this turn, into the turn under way, or once that is stopped."""
OrderKind = Literal["tell", "stop", "compact", "model", "effort", "label", "close"]
OrderState = Literal["given", "queued", "stopping", "working", "done", "failed"]
"""`queued`: it waits for the turn's end. `working`: it takes a while. `done` of a text: the session
has it. The last two end an order."""
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The reasoning efforts of a model that does not name its own."""
Told = Annotated[str, Meta(max_length=limits.MAX_TELL)]
Can = Annotated[list[Id], Meta(max_length=limits.MAX_ABILITIES)]
Attachments = Annotated[list[Path], Meta(max_length=limits.MAX_ATTACHMENTS)]
"""Absolute paths of files and folders that go along with a text: the agent gets their names."""
Cannot = Annotated[dict[Id, Id], Meta(max_length=limits.MAX_ABILITIES)]
Heads = Annotated[
    list[Annotated[str, Meta(max_length=limits.MAX_SUMMARY)]], Meta(max_length=limits.MAX_RUNNING)
]


class Order(WireStruct):
    """Something that the person wants of a session, and what became of it.

    `by` is the tower that gave it. `text` is the text for the agent, or the model, effort or label.
    """

    id: str
    session_id: str
    kind: OrderKind
    state: OrderState
    by: str
    at: str
    text: str = ""
    way: Way | None = None
    error: str | None = None
    running: list[str] = []
    """Commands that keep running in the background."""
    dropped: list[str] = []
    """Texts of others that waited in the session and went with the turn that was stopped."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""
    attachments: list[str] = []
    """Files and folders that go along with the text."""


class ModelChoice(WireStruct):
    """A model that a session can be switched to, and the reasoning efforts that it knows."""

    id: Id
    name: Id | None = None
    efforts: Can | None = None


# Tower → gateway → host


class SessionTell(Message, tag="session.tell"):
    """Deliver a text to the session unchanged: it is never a command. `sender` (`from` on the
    wire) is the gateway's to say, and so is `traceparent`: the turn's, in a session that the host
    has started."""

    id: Id
    session_id: Id
    text: Told
    way: Way = "after"
    sender: Id | None = field(default=None, name="from")
    traceparent: Id | None = None
    attachments: Attachments = []


class SessionStop(Message, tag="session.stop"):
    """Stop the session's turn; it is done when the session rests."""

    id: Id
    session_id: Id


class SessionCompact(Message, tag="session.compact"):
    """Make the session's context smaller."""

    id: Id
    session_id: Id


class SessionSet(Message, tag="session.set"):
    """Set the session's model, reasoning effort or label."""

    id: Id
    session_id: Id
    what: Literal["model", "effort", "label"]
    value: Annotated[str, Meta(max_length=limits.MAX_ID)]


class SessionEnd(Message, tag="session.end"):
    """End a session that its host has started; what it has is stored and can be gone on with.

    `reason` is why it ended, for the records; None: the person wanted it.
    """

    id: Id
    session_id: Id
    reason: Text | None = None


class ModelsRead(Message, tag="models.read"):
    """Ask which models the session can be switched to."""

    id: Id
    session_id: Id


# Host → gateway (→ tower)


class OrderResult(Message, tag="order.result"):
    """What became of an order until now."""

    id: Id
    state: Literal["queued", "stopping", "working", "done", "failed"]
    error: Text | None = None
    running: Heads | None = None
    dropped: Heads | None = None


class ModelsList(Message, tag="models.list"):
    """The answer to `models.read`; with an `error` where the host cannot say."""

    id: Id
    models: Annotated[list[ModelChoice], Meta(max_length=limits.MAX_MODELS)] | None = None
    error: Text | None = None


# Gateway → tower


class SessionOrdered(Message, tag="session.ordered"):
    """The answer to an order: the id by which events tell its outcome."""

    id: str
    order_id: str


StartProblem = Literal["untrusted", "held", "unknown", "missing", "failed"]
"""Why a session was not started: its folder is not trusted, another process holds it, there is none
of this id, there is no CLI, or something else."""
StartedName = Annotated[str, Meta(max_length=limits.MAX_STARTED_NAME)]
Pattern = Annotated[str, Meta(max_length=limits.MAX_MESSAGE_BYTES)]


class GivenRule(WireStruct):
    """A rule for one session. `place` is `file:line`; `targets` are a path's pattern made absolute,
    as written and without links; `folder` is a real path."""

    effect: RuleEffect
    kind: Id
    pattern: Pattern
    place: Path = ""
    folder: Path | None = None
    exact: bool = False
    reason: Pattern | None = None
    targets: Annotated[list[Path], Meta(max_length=2)] | None = None


Share = Annotated[float, Meta(gt=0, le=1)]


class Infinite(WireStruct):
    """When the session's program makes the context smaller, as shares of the model's window: beside
    the turn from `background` on; from `exhaustion` on the turn waits for it."""

    background: Share = 0.80
    exhaustion: Share = 0.95


class SessionStart(Message, tag="session.start"):
    """Start a session in a folder, or go on with a stored one (`resume`).

    `trust_folder`: the person trusts the folder for this session. `unattended`: no person is asked
    in it: what no rule allows is denied at once, and it ends with the connection that started it.
    `rules` are for this session alone, `agent` is a custom agent of the host's program, by name.
    `until` opens a goal of the person's that sends back, up to `tries` times a turn. `effort` is
    the model's reasoning effort. `prompt` and the `attachments` that go along with it come to the
    host as an order; it does not get `rules` and `until`. `sender` (`from` on the wire) is the
    gateway's to say, and so is `traceparent`: that of the first turn.
    """

    id: Id
    folder: Path | None = None
    prompt: Told | None = None
    model: Id | None = None
    mode: Mode | None = None
    name: StartedName | None = None
    trust_folder: bool = False
    resume: Id | None = None
    unattended: bool = False
    rules: Annotated[list[GivenRule], Meta(max_length=limits.MAX_GIVEN_RULES)] | None = None
    agent: Id | None = None
    until: CriteriaGiven = []
    tries: Annotated[int, Meta(ge=1, le=limits.MAX_TRIES)] = limits.TRIES
    sender: Id | None = field(default=None, name="from")
    traceparent: Id | None = None
    effort: Id | None = None
    infinite: Infinite | None = None
    attachments: Attachments = []


class SessionStarted(Message, tag="session.started"):
    """The answer to `session.start`: the session that is open, or why there is none. `goal_id` is
    the gateway's to say: the goal of its `until`."""

    id: Id
    session_id: Id | None = None
    goal_id: Id | None = None
    problem: StartProblem | None = None
    error: Text | None = None


class AgentsRead(Message, tag="agents.read"):
    """Ask for the custom agents that hosts name in the sessions of a folder."""

    id: Id
    folder: Path


class NamedAgent(WireStruct):
    """A custom agent that a session can be started with."""

    name: str
    description: str = ""


class AgentsList(Message, tag="agents.list"):
    """The answer to `agents.read`, by name."""

    id: str
    agents: list[NamedAgent]


class HostWanted(Message, tag="host.wanted"):
    """Sessions are to be started, and no host that does so is there: start one."""
