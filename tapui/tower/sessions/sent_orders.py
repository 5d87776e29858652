"""Orders sent by this tower: what became of each, and drafts of texts."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from tapui.projection.feed import FeedItem, Link
from tapui.projection.words import became, changed, consequences
from tapui.wire import events as ev
from tapui.wire.changes import NotesTell
from tapui.wire.message import Error, Message, Mode
from tapui.wire.proving import ProofSendBack
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
from tapui.wire.tower import TowerSnapshot

KEPT_DRAFTS = 100
"""Sessions whose drafts are kept."""
_KEPT_ORDERS = 500
_KEPT_TOLD = 2_000
AT_ONCE = 50
"""Texts to several sessions that have no answer yet: a link queues no more than 256 messages."""

OnModels = Callable[[ModelsList], None]


DeliveryState = Literal["done", "waits", "failed"]


@dataclass(slots=True)
class Delivery:
    """A text on its way to one of several sessions; `order` is None until the gateway has it."""

    order: Order | None = None
    refused: str = ""

    @property
    def state(self) -> DeliveryState:
        if self.refused:
            return "failed"
        if self.order is not None and self.order.state in ("done", "failed"):
            return "done" if self.order.state == "done" else "failed"
        return "waits"

    @property
    def words(self) -> str:
        if self.refused:
            return f"refused: {self.refused}"
        return "not sent yet" if self.order is None else became(self.order)


@dataclass(frozen=True, slots=True)
class ToldSeveral:
    """A text that was sent to several sessions, and what became of it in each, by their ids."""

    text: str
    way: Way
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)


class SentOrders:
    """Gives orders over the tower's link, and knows which of them are its own."""

    def __init__(self, send: Callable[[Message], None], on_delivery: Callable[[], None]) -> None:
        self._send = send
        self._on_delivery = on_delivery
        self._ids = count(1)
        self._pending: dict[str, tuple[str, str]] = {}
        """Orders that the gateway has not taken: session and text, by the request's id."""
        self._own: dict[str, tuple[str, str]] = {}
        """Those that it has: session and text, by the order's id."""
        self._models: dict[str, OnModels] = {}
        self._drafts: dict[str, str] = {}
        self.ways: dict[str, Way] = {}
        """How the person last wanted a text delivered, by session."""
        self.told: ToldSeveral | None = None
        """The last text to several sessions."""
        self._unsent: deque[str] = deque()
        """Sessions that it was not sent to yet."""
        self._awaited: dict[str, Delivery] = {}
        """Those that the gateway has not answered, by the request's id."""
        self._told: dict[str, Delivery] = {}
        """Those that it has, of earlier texts too, by the order's id."""
        self._refusal: Error | None = None
        """The last refusal of such a text."""

    # Drafts

    def draft(self, session_id: str) -> str:
        return self._drafts.get(session_id, "")

    def keep_draft(self, session_id: str, text: str) -> None:
        self._drafts.pop(session_id, None)
        if text:
            self._drafts[session_id] = text
            _keep_newest(self._drafts, KEPT_DRAFTS)

    def give_back(self, session_id: str, text: str) -> None:
        """A text did not arrive: it is a draft again, before what was begun since."""
        if text:
            self.keep_draft(session_id, "\n".join(filter(None, (text, self.draft(session_id)))))

    # Orders

    def tell(self, session_id: str, text: str, way: Way, *, keeps_draft: bool = False) -> None:
        """Send a text; it was the draft, unless that is kept."""
        id_ = self._next(session_id, text)
        if not keeps_draft:
            self.keep_draft(session_id, "")
        self._send(SessionTell(id_, session_id, text, way))

    def tell_several(self, text: str, way: Way, refused: Mapping[str, str]) -> None:
        """Send a text to several sessions. `refused` has all their ids, each with the reason why it
        cannot be told, "" where it can."""
        self._give_up()
        deliveries = {id_: Delivery(refused=reason) for id_, reason in refused.items()}
        self.told = ToldSeveral(text, way, deliveries)
        self._unsent.extend(id_ for id_, reason in refused.items() if not reason)
        self._send_more()

    def _send_more(self) -> None:
        told = self.told
        while told is not None and self._unsent and len(self._awaited) < AT_ONCE:
            session_id = self._unsent.popleft()
            id_ = self._next(session_id, told.text)
            self._awaited[id_] = told.deliveries[session_id]
            self._send(SessionTell(id_, session_id, told.text, told.way))
        self._on_delivery()

    def _give_up(self) -> None:
        """What has not been sent to several sessions will not be."""
        while self.told is not None and self._unsent:
            session_id = self._unsent.popleft()
            self.told.deliveries[session_id].refused = "it was not sent"
            self.give_back(session_id, self.told.text)

    def shows(self, error: Error) -> bool:
        """Return whether a refusal is of a text to several sessions, which tell it themselves."""
        return error is self._refusal

    def tell_notes(self, session_id: str, text: str, way: Way) -> None:
        """Tell all notes that were kept, after a text."""
        id_ = self._next(session_id, text)
        self._send(NotesTell(id_, session_id, text, way))

    def stop(self, session_id: str) -> None:
        self._send(SessionStop(self._next(session_id), session_id))

    def compact(self, session_id: str) -> None:
        self._send(SessionCompact(self._next(session_id), session_id))

    def send_back(self, session_id: str) -> None:
        """Have the agent told what is missing of its last turn."""
        self._send(ProofSendBack(self._next(session_id), session_id))

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
            case list():
                if self._told:
                    for entry in item:
                        if isinstance(entry.event, ev.OrderChanged):
                            self._told_changed(entry.event)
            case SessionOrdered(id=id_, order_id=order_id):
                self._taken(id_, order_id)
            case Error(id=str(id_), message=message):
                if id_ in self._pending:
                    self.give_back(*self._pending.pop(id_))
                elif id_ in self._models:
                    self._models.pop(id_)(ModelsList(id_, error=message))
                if (delivery := self._awaited.pop(id_, None)) is not None:
                    delivery.refused = message
                    self._refusal = item
                    self._send_more()
            case ModelsList(id=id_):
                if id_ in self._models:
                    self._models.pop(id_)(item)
            case TowerSnapshot(state=state):
                for order in state.orders:
                    if (delivery := self._told.get(order.id)) is not None:
                        delivery.order = order
            case Link(state=state) if state != "up":
                self._lost()
            case _:
                pass

    def _taken(self, id_: str, order_id: str) -> None:
        """The gateway has an order, under this id."""
        pending = self._pending.pop(id_, None)
        if pending is None:
            return
        delivery = self._awaited.pop(id_, None)
        if delivery is None:
            self._own[order_id] = pending
            _keep_newest(self._own, _KEPT_ORDERS)
            return
        session_id, text = pending
        way = self.told.way if self.told is not None else None
        delivery.order = Order(order_id, session_id, "tell", "given", "", "", text, way)
        self._told[order_id] = delivery
        _keep_newest(self._told, _KEPT_TOLD)
        self._send_more()

    def _told_changed(self, event: ev.OrderChanged) -> None:
        delivery = self._told.get(event.order_id)
        if delivery is not None and delivery.order is not None:
            delivery.order = changed(delivery.order, event)
            if event.state == "failed":
                self.give_back(event.session_id, delivery.order.text)

    def _lost(self) -> None:
        """The link is lost, and with it what had no answer."""
        for lost in self._pending.values():
            self.give_back(*lost)
        for delivery in self._awaited.values():
            delivery.refused = "the link to the gateway was lost"
        self._pending.clear()
        self._awaited.clear()
        self._models.clear()
        self._give_up()
        self._on_delivery()

    def is_news(self, order: Order) -> bool:
        """Return whether the outcome of an order is shown: of the person's own always, of
        others' when a text was not delivered. What was not delivered is a draft again. A text to
        several sessions has one place for all its outcomes (`told`)."""
        if order.id in self._told:
            return False
        own = self._own.get(order.id)
        if own is not None and order.state == "failed":
            self.give_back(*own)
        if order.state in ("done", "failed"):
            self._own.pop(order.id, None)
        if own is None:
            return order.kind == "tell" and order.state == "failed"
        is_quiet = order.kind == "stop" and order.state == "done" and not consequences(order)
        return order.state in ("queued", "done", "failed") and not is_quiet


def _keep_newest(kept: dict[str, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]


@dataclass(frozen=True, slots=True)
class StartDraft:
    """What the person wrote of a session to be started; with a `branch` in a new work tree."""

    folder: str = ""
    branch: str = ""
    prompt: str = ""
    model: str = ""
    agent: str = ""
    mode: Mode | None = None
