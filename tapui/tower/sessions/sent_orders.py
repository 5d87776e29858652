"""Orders sent by this tower: what became of each, and drafts of texts."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from tapui.projection.feed import FeedItem, Link
from tapui.projection.words import consequences
from tapui.wire.message import Error, Message, Mode
from tapui.wire.steering import (
    ModelsList,
    ModelsRead,
    Order,
    SessionCompact,
    SessionEnd,
    SessionOrdered,
    SessionSet,
    SessionStop,
    SessionTell,
    Way,
)

KEPT_DRAFTS = 100
"""Sessions whose drafts are kept."""
_KEPT_ORDERS = 500

OnModels = Callable[[ModelsList], None]


class SentOrders:
    """Gives orders over the tower's link, and knows which of them are its own."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._ids = count(1)
        self._pending: dict[str, tuple[str, str]] = {}
        """Orders that the gateway has not taken: session and text, by the request's id."""
        self._own: dict[str, tuple[str, str]] = {}
        """Those that it has: session and text, by the order's id."""
        self._models: dict[str, OnModels] = {}
        self._drafts: dict[str, str] = {}
        self.ways: dict[str, Way] = {}
        """How the person last wanted a text delivered, by session."""

    # Drafts

    def draft(self, session_id: str) -> str:
        return self._drafts.get(session_id, "")

    def keep_draft(self, session_id: str, text: str) -> None:
        self._drafts.pop(session_id, None)
        if text:
            self._drafts[session_id] = text
            while len(self._drafts) > KEPT_DRAFTS:
                del self._drafts[next(iter(self._drafts))]

    def _give_back(self, session_id: str, text: str) -> None:
        """A text was not delivered: it is a draft again, before what was begun since."""
        if text:
            self.keep_draft(session_id, " ".join(filter(None, (text, self.draft(session_id)))))

    # Orders

    def tell(self, session_id: str, text: str, way: Way) -> None:
        id_ = self._next(session_id, text)
        self.keep_draft(session_id, "")
        self._send(SessionTell(id_, session_id, text, way))

    def stop(self, session_id: str) -> None:
        self._send(SessionStop(self._next(session_id), session_id))

    def compact(self, session_id: str) -> None:
        self._send(SessionCompact(self._next(session_id), session_id))

    def end(self, session_id: str) -> None:
        self._send(SessionEnd(self._next(session_id), session_id))

    def set(self, session_id: str, what: Literal["model", "effort", "label"], value: str) -> None:
        self._send(SessionSet(self._next(session_id), session_id, what, value))

    def read_models(self, session_id: str, then: OnModels) -> None:
        """Ask which models a session can be switched to; `then` is given the answer."""
        id_ = f"models-{next(self._ids)}"
        self._models[id_] = then
        self._send(ModelsRead(id_, session_id))

    def _next(self, session_id: str, text: str = "") -> str:
        id_ = f"order-{next(self._ids)}"
        self._pending[id_] = session_id, text
        return id_

    # What comes

    def take(self, item: FeedItem) -> None:
        match item:
            case SessionOrdered(id=id_, order_id=order_id):
                pending = self._pending.pop(id_, None)
                if pending is not None:
                    self._own[order_id] = pending
                    while len(self._own) > _KEPT_ORDERS:
                        del self._own[next(iter(self._own))]
            case Error(id=str(id_), message=message):
                if id_ in self._pending:
                    self._give_back(*self._pending.pop(id_))
                elif id_ in self._models:
                    self._models.pop(id_)(ModelsList(id_, error=message))
            case ModelsList(id=id_):
                if id_ in self._models:
                    self._models.pop(id_)(item)
            case Link(state=state) if state != "up":
                for lost in self._pending.values():
                    self._give_back(*lost)
                self._pending.clear()
                self._models.clear()
            case _:
                pass

    def is_news(self, order: Order) -> bool:
        """Return whether the outcome of an order is shown: of the person's own always, of
        others' when a text was not delivered. What was not delivered is a draft again."""
        own = self._own.get(order.id)
        if own is not None and order.state == "failed":
            self._give_back(*own)
        if order.state in ("done", "failed"):
            self._own.pop(order.id, None)
        if own is None:
            return order.kind == "tell" and order.state == "failed"
        is_quiet = order.kind == "stop" and order.state == "done" and not consequences(order)
        return order.state in ("queued", "done", "failed") and not is_quiet


@dataclass(frozen=True, slots=True)
class StartDraft:
    """What the person wrote of a session to be started."""

    folder: str = ""
    prompt: str = ""
    model: str = ""
    mode: Mode | None = None
