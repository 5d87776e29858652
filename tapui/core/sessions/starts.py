"""Starting sessions: a tower asks, a host that starts sessions does it (`tapui/wire/README.md`).

Where no such host is there, the one that launches it is told, and the start waits for it.
"""

from dataclasses import dataclass, field
from typing import get_args

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import ConnectionId
from tapui.core.model import Connection, OpenSession, Standing
from tapui.core.sessions.orders import Orders
from tapui.core.sessions.sessions import OpenSessions
from tapui.policies.rules import PolicyRule, RuleKind, pattern_fault
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.starting import GivenRule, HostWanted, SessionStart, SessionStarted
from tapui.wire.steering import SessionEnd, SessionTell

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


class Starts:
    """Has hosts start sessions. Handlers of messages raise `WireError` to refuse."""

    def __init__(
        self,
        context: CoreContext,
        *,
        connections: Connections,
        sessions: OpenSessions,
        orders: Orders,
    ) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._mint = context.mint
        self._connections = connections
        self._sessions = sessions
        self._orders = orders
        self._pending: dict[str, PendingStart] = {}

    # What towers want

    def start(self, tower: Connection, message: SessionStart) -> None:
        """Start a session."""
        _check(message)
        if len(self._pending) >= limits.MAX_STARTS:
            text = f"{limits.MAX_STARTS} sessions are being started"
            raise WireError(ErrorCode.RATE_LIMITED, text, id=message.id)
        host = self._host(launches=False)
        launcher = self._host(launches=True)
        if host is None and launcher is None:
            raise WireError(ErrorCode.NOT_FOUND, _NOBODY, id=message.id)
        rules = tuple(_rule(one, message.id) for one in message.rules or ())
        pending = PendingStart(self._mint.id("st"), message, tower, rules)
        due = self._clock.now + limits.START_TIMEOUT
        pending.deadline = self._deadlines.add(due, Due.START, pending)
        self._pending[pending.id] = pending
        if host is not None:
            self._send(pending, host)
        elif launcher is not None:
            self._out.send(launcher.id, HostWanted())

    def _host(self, *, launches: bool) -> Connection | None:
        hosts = self._connections.of_standing(Standing.HOST)
        fits = (one.host_launches if launches else one.host_starts for one in hosts)
        return next((one for one, does in zip(hosts, fits, strict=True) if does), None)

    def _send(self, pending: PendingStart, host: Connection) -> None:
        pending.host = host.id
        asked, by = pending.asked, pending.tower.by
        told = replace(asked, id=pending.id, prompt=None, rules=None, sender=by)
        self._out.send(host.id, told)

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
        session = self._sessions.get(message.session_id or "")
        if message.error is not None or session is None:
            said = message.error or "the host opened no session"
            self._answer(pending, replace(message, error=said, session_id=None))
            return
        self._answer(pending, SessionStarted(pending.id, session.id))
        tower, asked = pending.tower, pending.asked
        if session.owner is tower and not tower.is_open:
            self._end(session)
        elif asked.prompt is not None:
            self._orders.tell(tower, SessionTell(asked.id, session.id, asked.prompt))

    def _answer(self, pending: PendingStart, answer: SessionStarted) -> None:
        self._deadlines.cancel(pending.deadline)
        del self._pending[pending.id]
        if pending.tower.is_open:
            self._out.send(pending.tower.id, replace(answer, id=pending.asked.id))

    def due(self, pending: PendingStart) -> None:
        """No host answered in time."""
        self._answer(pending, SessionStarted(pending.id, problem="failed", error=_LATE))

    # Ends

    def host_gone(self, host: Connection) -> None:
        """A host is gone: what it was to start will not come."""
        for pending in [one for one in self._pending.values() if one.host == host.id]:
            self._answer(pending, SessionStarted(pending.id, problem="failed", error=_LOST))

    def tower_gone(self, tower: Connection) -> None:
        """A tower or command is gone, and the sessions that it alone wanted end."""
        for session in list(self._sessions.open.values()):
            if session.owner is tower:
                self._end(session)

    def _end(self, session: OpenSession) -> None:
        self._out.send(session.host, SessionEnd(self._mint.id("o"), session.id))


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
