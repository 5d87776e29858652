"""Orders of the person for a session (`tapui/wire/README.md`), which its host carries out."""

from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.deadlines import Due
from tapui.core.model import Connection, ModelsAsked, OpenSession, PendingOrder
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.traces import Traces
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import OrderChanged, OrderGiven
from tapui.wire.message import Message
from tapui.wire.steering import (
    Ability,
    ModelsList,
    ModelsRead,
    Order,
    OrderKind,
    OrderResult,
    SessionCompact,
    SessionEnd,
    SessionOrdered,
    SessionSet,
    SessionStop,
    SessionTell,
)

_Wanted = SessionTell | SessionStop | SessionCompact | SessionSet | SessionEnd
_NO_ANSWER = "the session's host did not answer in time; look there what became of it"


@dataclass(eq=False, repr=False)
class Orders(CorePart):
    """Gives orders to hosts. Handlers of messages raise `WireError` to refuse."""

    sessions: OpenSessions
    traces: Traces

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pending: dict[str, PendingOrder] = {}
        self._asked: dict[str, ModelsAsked] = {}

    # What towers want

    def tell(self, tower: Connection, message: SessionTell) -> None:
        self.give_text(tower, message)

    def give_text(self, tower: Connection, message: SessionTell) -> str:
        """Order that a text is delivered; return the order's id."""
        if not message.text.strip():
            raise WireError(ErrorCode.INVALID_JSON, "text: must not be empty", id=message.id)
        if not all(path.startswith("/") for path in message.attachments):
            text = "attachments: each must be an absolute path"
            raise WireError(ErrorCode.INVALID_JSON, text, id=message.id)
        session = self._able(message, "tell")
        if message.way == "now":
            self._able(message, "now")
        elif message.way == "stopFirst":
            self._able(message, "stop")
        id_ = self._give(tower, message, "tell", message.text)
        # What waits for the turn under way begins one that has no trace yet.
        is_busy = session.is_busy or (session.trace is not None and session.trace.started_at != "")
        is_next = is_busy and message.way != "now"
        traceparent = None if is_next else self.traces.sent_along(session)
        self._out.send(
            session.host,
            replace(
                message,
                id=id_,
                session_id=session.id,
                sender=tower.by,
                traceparent=traceparent,
            ),
        )
        return id_

    def stop(self, tower: Connection, message: SessionStop) -> None:
        session = self._able(message, "stop")
        id_ = self._give(tower, message, "stop")
        self._out.send(session.host, SessionStop(id_, session.id))

    def compact(self, tower: Connection, message: SessionCompact) -> None:
        """Make the context smaller."""
        session = self._able(message, "compact")
        id_ = self._give(tower, message, "compact")
        self._out.send(session.host, SessionCompact(id_, session.id))

    def close(self, tower: Connection, message: SessionEnd) -> None:
        """End a session that its host has started."""
        session = self._able(message, "close")
        id_ = self._give(tower, message, "close")
        self._out.send(session.host, SessionEnd(id_, session.id, message.reason))

    def set(self, tower: Connection, message: SessionSet) -> None:
        """Set model, effort or label."""
        if not message.value.strip():
            raise WireError(ErrorCode.INVALID_JSON, "value: must not be empty", id=message.id)
        session = self._able(message, message.what)
        id_ = self._give(tower, message, message.what, message.value)
        self._out.send(session.host, SessionSet(id_, session.id, message.what, message.value))

    def _able(self, message: _Wanted, ability: Ability) -> OpenSession:
        """Return the session of an order. Raises `WireError` where its host does not take it."""
        session = self.sessions.required(message.session_id)
        if ability not in session.view.can:
            reason = session.view.cannot.get(ability) or "its host does not offer that"
            text = f"{ability} is not possible in session {session.id}: {reason}"
            raise WireError(ErrorCode.NOT_FOUND, text, id=message.id, session_id=session.id)
        if len(session.orders) >= limits.MAX_ORDERS:
            text = f"{limits.MAX_ORDERS} orders of session {session.id} are under way"
            raise WireError(ErrorCode.RATE_LIMITED, text, id=message.id, session_id=session.id)
        return session

    def _give(self, tower: Connection, message: _Wanted, kind: OrderKind, text: str = "") -> str:
        """Record an order and answer the tower; return the order's id."""
        session = self.sessions.required(message.session_id)
        told = message if isinstance(message, SessionTell) else None
        id_ = self._ids.id("o")
        at = self._clock.timestamp()
        order = Order(id_, session.id, kind, "given", tower.by, at, text)
        if told is not None:
            order = replace(order, way=told.way, attachments=told.attachments)
        self._out.emit(OrderGiven(session_id=session.id, order=order))
        pending = PendingOrder(id_, session)
        self._pending[id_] = session.orders[id_] = pending
        self._wait(pending, limits.ORDER_TIMEOUT)
        self._out.send(tower.id, SessionOrdered(message.id, id_))
        return id_

    def _wait(self, pending: PendingOrder, seconds: float | None) -> None:
        self._deadlines.cancel(pending.deadline)
        pending.deadline = None
        if seconds is not None:
            due = self._clock.now + seconds
            pending.deadline = self._deadlines.add(due, Due.ORDER, pending)

    # What hosts answer

    def result(self, host: Connection, message: OrderResult) -> None:
        """Something became of an order; of one that is over, or another host's, this is ignored."""
        pending = self._pending.get(message.id)
        if pending is None or pending.session.host != host.id:
            return
        error = message.error
        if message.state == "failed":
            error = error or "the session's host says no more"
        self._change(pending, message, error)
        if message.state in ("done", "failed"):
            self._over(pending)
        else:
            is_queued = message.state == "queued"
            self._wait(pending, None if is_queued else limits.ORDER_WORK_TIMEOUT)

    def _change(self, pending: PendingOrder, result: OrderResult, error: str | None) -> None:
        self._out.emit(
            OrderChanged(
                session_id=pending.session.id,
                order_id=pending.id,
                state=result.state,
                error=error,
                running=result.running or [],
                dropped=result.dropped or [],
            )
        )

    def _over(self, pending: PendingOrder) -> None:
        self._deadlines.cancel(pending.deadline)
        del self._pending[pending.id]
        del pending.session.orders[pending.id]

    def _fail(self, pending: PendingOrder, reason: str) -> None:
        self._change(pending, OrderResult(pending.id, "failed"), reason)
        self._over(pending)

    def due(self, pending: PendingOrder) -> None:
        self._fail(pending, _NO_ANSWER)

    def session_ended(self, session: OpenSession, reason: str) -> None:
        """What was wanted of a session that is gone has failed."""
        for pending in list(session.orders.values()):
            self._fail(pending, reason)
        for asked in [one for one in self._asked.values() if one.session is session]:
            self._answer(asked, ModelsList(asked.request_id, error=reason))

    # Models

    def models_read(self, tower: Connection, message: ModelsRead) -> None:
        """A tower asks for the models of a session: its host knows them."""
        session = self.sessions.required(message.session_id)
        if "model" not in session.view.can:
            reason = session.view.cannot.get("model") or "its host does not offer that"
            raise WireError(ErrorCode.NOT_FOUND, reason, id=message.id, session_id=session.id)
        if len(self._asked) >= limits.MAX_ORDERS:
            text = f"{limits.MAX_ORDERS} questions for models are open"
            raise WireError(ErrorCode.RATE_LIMITED, text, id=message.id)
        asked = ModelsAsked(self._ids.id("mr"), session, tower, message.id)
        due = self._clock.now + limits.ORDER_TIMEOUT
        asked.deadline = self._deadlines.add(due, Due.MODELS, asked)
        self._asked[asked.id] = asked
        self._out.send(session.host, ModelsRead(asked.id, session.id))

    def models_listed(self, host: Connection, message: ModelsList) -> None:
        """A host told its models; an answer to nothing is ignored."""
        asked = self._asked.get(message.id)
        if asked is not None and asked.session.host == host.id:
            self._answer(asked, ModelsList(asked.request_id, message.models, message.error))

    def models_due(self, asked: ModelsAsked) -> None:
        self._answer(asked, ModelsList(asked.request_id, error=_NO_ANSWER))

    def _answer(self, asked: ModelsAsked, answer: Message) -> None:
        self._deadlines.cancel(asked.deadline)
        del self._asked[asked.id]
        if asked.asker.is_open:
            self._out.send(asked.asker.id, answer)
