"""Orders of the person (`tapui/wire/README.md`): for a session, which its host carries out, and to
start one, which a host does that starts sessions; where there is none, the host that launches one
gets it."""

from dataclasses import dataclass, field
from typing import get_args

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import ConnectionId
from tapui.core.model import Connection, ModelsAsked, OpenSession, PendingOrder, Standing
from tapui.core.sessions.sessions import OpenSessions
from tapui.policies.rules import PolicyRule, RuleKind, pattern_fault
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import OrderChanged, OrderGiven
from tapui.wire.message import Message
from tapui.wire.steering import (
    Ability,
    GivenRule,
    HostWanted,
    ModelsList,
    ModelsRead,
    Order,
    OrderKind,
    OrderResult,
    SessionCompact,
    SessionEnd,
    SessionOrdered,
    SessionSet,
    SessionStart,
    SessionStarted,
    SessionStop,
    SessionTell,
)

_Wanted = SessionTell | SessionStop | SessionCompact | SessionSet | SessionEnd
_NO_ANSWER = "the session's host did not answer in time; look there what became of it"


@dataclass(eq=False, repr=False)
class Orders(CorePart):
    """Gives orders to hosts. Handlers of messages raise `WireError` to refuse."""

    sessions: OpenSessions

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pending: dict[str, PendingOrder] = {}
        self._asked: dict[str, ModelsAsked] = {}

    # What towers want

    def tell(self, tower: Connection, message: SessionTell) -> None:
        if not message.text.strip():
            raise WireError(ErrorCode.INVALID_JSON, "text: must not be empty", id=message.id)
        session = self._able(message, "tell")
        if message.way == "now":
            self._able(message, "now")
        elif message.way == "stopFirst":
            self._able(message, "stop")
        id_ = self._give(tower, message, "tell", message.text)
        order = SessionTell(id_, session.id, message.text, message.way, tower.by)
        self._out.send(session.host, order)

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
        self._out.send(session.host, SessionEnd(id_, session.id))

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
        way = message.way if isinstance(message, SessionTell) else None
        id_ = self._ids.id("o")
        at = self._clock.timestamp()
        order = Order(id_, session.id, kind, "given", tower.by, at, text, way)
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


_NOBODY = "no host here starts sessions: this gateway runs without Copilot"
_LATE = f"no session was there after {limits.START_TIMEOUT:g} s; look into `tapui doctor`"
_LOST = "the process that starts sessions has ended; start it again"
_KINDS: frozenset[str] = frozenset(get_args(RuleKind))


@dataclass(slots=True, eq=False)
class PendingStart:
    """A start that no host has answered. `host` is None until one is there."""

    id: str
    asked: SessionStart
    tower: Connection
    rules: tuple[PolicyRule, ...]
    host: ConnectionId | None = None
    deadline: Deadline | None = field(default=None, repr=False)


@dataclass(eq=False, repr=False)
class Starts(CorePart):
    """Has hosts start sessions. Handlers of messages raise `WireError` to refuse."""

    connections: Connections
    sessions: OpenSessions
    orders: Orders

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pending: dict[str, PendingStart] = {}

    # What towers want

    def start(self, tower: Connection, message: SessionStart) -> None:
        _check(message)
        if len(self._pending) >= limits.MAX_STARTS:
            text = f"{limits.MAX_STARTS} sessions are being started"
            raise WireError(ErrorCode.RATE_LIMITED, text, id=message.id)
        host = self._host(launches=False)
        launcher = self._host(launches=True)
        if host is None and launcher is None:
            raise WireError(ErrorCode.NOT_FOUND, _NOBODY, id=message.id)
        rules = tuple(_rule(one, message.id) for one in message.rules or ())
        pending = PendingStart(self._ids.id("st"), message, tower, rules)
        due = self._clock.now + limits.START_TIMEOUT
        pending.deadline = self._deadlines.add(due, Due.START, pending)
        self._pending[pending.id] = pending
        if host is not None:
            self._send(pending, host)
        elif launcher is not None:
            self._out.send(launcher.id, HostWanted())

    def _host(self, *, launches: bool) -> Connection | None:
        hosts = self.connections.of_standing(Standing.HOST)
        fits = (one.host_launches if launches else one.host_starts for one in hosts)
        return next((one for one, does in zip(hosts, fits, strict=True) if does), None)

    def _send(self, pending: PendingStart, host: Connection) -> None:
        pending.host = host.id
        asked, by = pending.asked, pending.tower.by
        order = replace(asked, id=pending.id, prompt=None, rules=None, sender=by)
        self._out.send(host.id, order)

    # What hosts answer

    def host_came(self, host: Connection) -> None:
        """A host is there: what waited for one that starts sessions goes to it."""
        if host.host_starts:
            for pending in self._pending.values():
                if pending.host is None:
                    self._send(pending, host)

    def opened(self, session: OpenSession, start_id: str | None) -> None:
        """A host opens a session: what the start said of it holds from now on."""
        pending = self._pending.get(start_id or "")
        if pending is None or pending.host != session.host:
            return
        session.given_rules = pending.rules
        session.view = replace(
            session.view,
            unattended=pending.asked.unattended,
            started_by=pending.tower.by,
        )
        if pending.asked.unattended:
            session.owner = pending.tower

    def started(self, host: Connection, message: SessionStarted) -> None:
        """A session was started, or could not be."""
        pending = self._pending.get(message.id)
        if pending is None or pending.host != host.id:
            return
        session = self.sessions.get(message.session_id or "")
        if message.error is not None or session is None:
            error = message.error or "the host opened no session"
            self._answer(pending, replace(message, error=error, session_id=None))
            return
        self._answer(pending, SessionStarted(pending.id, session.id))
        tower, asked = pending.tower, pending.asked
        if session.owner is tower and not tower.is_open:
            self._end(session)
        elif asked.prompt is not None:
            self.orders.tell(tower, SessionTell(asked.id, session.id, asked.prompt))

    def _answer(self, pending: PendingStart, answer: SessionStarted) -> None:
        self._deadlines.cancel(pending.deadline)
        del self._pending[pending.id]
        if pending.tower.is_open:
            self._out.send(pending.tower.id, replace(answer, id=pending.asked.id))

    def due(self, pending: PendingStart) -> None:
        self._answer(pending, SessionStarted(pending.id, problem="failed", error=_LATE))

    # Ends

    def host_gone(self, host: Connection) -> None:
        """A host is gone: what it was to start will not come."""
        for pending in [one for one in self._pending.values() if one.host == host.id]:
            self._answer(pending, SessionStarted(pending.id, problem="failed", error=_LOST))

    def tower_gone(self, tower: Connection) -> None:
        """A tower or command is gone, and the sessions that it alone wanted end."""
        for session in list(self.sessions.open.values()):
            if session.owner is tower:
                self._end(session)

    def _end(self, session: OpenSession) -> None:
        self._out.send(session.host, SessionEnd(self._ids.id("o"), session.id))


def _check(message: SessionStart) -> None:
    """Check what the fields' types do not say. Raises `WireError`."""
    fault = ""
    if message.folder is None and message.resume is None:
        fault = "folder: a session needs one"
    elif message.folder is not None and not message.folder.startswith("/"):
        fault = "folder: must be an absolute path"
    elif message.prompt is not None and not message.prompt.strip():
        fault = "prompt: must not be empty"
    if fault:
        raise WireError(ErrorCode.INVALID_JSON, fault, id=message.id)


def _rule(given: GivenRule, id_: str) -> PolicyRule:
    """Return a rule as the verdict takes it; it counts as the person's. Raises `WireError`."""
    fault = f"there is no kind {given.kind}" if given.kind not in _KINDS else ""
    fault = fault or pattern_fault(given.effect, given.kind, given.pattern, given.folder)  # type: ignore[arg-type]
    if fault:
        text = f"rules: {given.place or given.pattern}: {fault}"
        raise WireError(ErrorCode.INVALID_JSON, text[: limits.MAX_EXPLANATION], id=id_)
    return PolicyRule(
        given.effect,
        given.kind,  # type: ignore[arg-type]
        given.pattern,
        "person",
        given.place,
        given.folder,
        given.exact,
        given.reason,
        tuple(given.targets or ()),
    )
