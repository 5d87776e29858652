"""Orders: what the person wants of a session, said by towers and, the same, to its host.

Each order has an id. The gateway answers a tower with `session.ordered`, the host answers the
gateway with `order.result`, as often as something changes; the events tell what became of it.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from tapui.wire import limits
from tapui.wire.bounds import Id, Text
from tapui.wire.message import Message
from tapui.wire.subjects import Cut

Ability = Literal["tell", "now", "stop", "compact", "model", "effort", "label", "close"]
"""What a host can do in a session. A host may name others, which are shown to nobody."""
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
Cannot = Annotated[dict[Id, Id], Meta(max_length=limits.MAX_ABILITIES)]
Heads = Annotated[
    list[Annotated[str, Meta(max_length=limits.MAX_SUMMARY)]], Meta(max_length=limits.MAX_RUNNING)
]


class Order(Struct, rename="camel", omit_defaults=True, frozen=True):
    """Something that the person wants of a session, and what became of it.

    `by` is the tower that gave it. `text` is the text that is told, or the model, effort or label.
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
    """Commands that go on in the background."""
    dropped: list[str] = []
    """Texts of others that waited in the session and went with the turn that was stopped."""
    cuts: dict[str, Cut] = {}
    """Fields that were too large to record, by name (see `projection.cuts`)."""


class ModelChoice(Struct, rename="camel", omit_defaults=True, frozen=True):
    """A model that a session can be switched to, and the reasoning efforts that it knows."""

    id: Id
    name: Id | None = None
    efforts: Can | None = None


# Tower → gateway → host


class SessionTell(Message, tag="session.tell", frozen=True):
    """Deliver a text to the session, as it is: it is never a command. `sender` (`from` on the
    wire) is the gateway's to say."""

    id: Id
    session_id: Id
    text: Told
    way: Way = "after"
    sender: Id | None = field(default=None, name="from")


class SessionStop(Message, tag="session.stop", frozen=True):
    """Stop the session's turn; it is done when the session rests."""

    id: Id
    session_id: Id


class SessionCompact(Message, tag="session.compact", frozen=True):
    """Make the session's context smaller."""

    id: Id
    session_id: Id


class SessionSet(Message, tag="session.set", frozen=True):
    """Set the session's model, reasoning effort or label."""

    id: Id
    session_id: Id
    what: Literal["model", "effort", "label"]
    value: Annotated[str, Meta(max_length=limits.MAX_ID)]


class SessionEnd(Message, tag="session.end", frozen=True):
    """End a session that its host has started; what it has is stored and can be gone on with."""

    id: Id
    session_id: Id


class ModelsRead(Message, tag="models.read", frozen=True):
    """Ask which models the session can be switched to."""

    id: Id
    session_id: Id


# Host → gateway (→ tower)


class OrderResult(Message, tag="order.result", frozen=True):
    """What became of an order until now."""

    id: Id
    state: Literal["queued", "stopping", "working", "done", "failed"]
    error: Text | None = None
    running: Heads | None = None
    dropped: Heads | None = None


class ModelsList(Message, tag="models.list", frozen=True):
    """The answer to `models.read`; with an `error` where the host cannot say."""

    id: Id
    models: Annotated[list[ModelChoice], Meta(max_length=limits.MAX_MODELS)] | None = None
    error: Text | None = None


# Gateway → tower


class SessionOrdered(Message, tag="session.ordered", frozen=True):
    """The answer to an order: the id by which events tell what becomes of it."""

    id: str
    order_id: str
