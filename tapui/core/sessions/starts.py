"""Sessions that are to be started (`tapui/wire/README.md`): a host does that starts sessions; where
there is none, the host that launches one gets it."""

from dataclasses import dataclass, field
from typing import get_args

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import ConnectionId
from tapui.core.goals.goals import Goals
from tapui.core.goals.sending_back import SendingBack
from tapui.core.model import Connection, OpenSession, Standing, TurnTrace
from tapui.core.sessions.orders import Orders
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.traces import Traces, written
from tapui.policies.rules import PolicyRule, RuleKind, pattern_fault
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import ModeChanged
from tapui.wire.steering import (
    AgentsList,
    AgentsRead,
    GivenRule,
    HostWanted,
    NamedAgent,
    SessionEnd,
    SessionStart,
    SessionStarted,
    SessionTell,
)

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
    turn: TurnTrace | None = field(default=None, repr=False)
    """The trace of the turn that its prompt begins."""


@dataclass(eq=False, repr=False)
class Starts(CorePart):
    """Has hosts start sessions. Handlers of messages raise `WireError` to refuse."""

    connections: Connections
    sessions: OpenSessions
    orders: Orders
    goals: Goals
    sending_back: SendingBack
    traces: Traces

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pending: dict[str, PendingStart] = {}

    # What towers want

    def start(self, tower: Connection, message: SessionStart) -> None:
        _check(message)
        if message.until:
            self.sending_back.check_allowed("send back")
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
        if asked.prompt is not None:
            pending.turn = self.traces.first_turn()
        turn = pending.turn
        order = replace(
            asked,
            id=pending.id,
            prompt=None,
            rules=None,
            until=[],
            tries=limits.TRIES,
            attachments=[],
            sender=by,
            traceparent=written(turn.trace_id, turn.span_id) if turn is not None else None,
        )
        self._out.send(host.id, order)

    def agents_read(self, tower: Connection, message: AgentsRead) -> None:
        """Tell the custom agents of the sessions that are open in a folder."""
        named: dict[str, NamedAgent] = {}
        for session in self.sessions.open.values():
            if session.view.cwd == message.folder:
                for name in session.agents:
                    about = session.agent_notes.get(name, "")
                    named[name] = NamedAgent(name, about)
        listed = [named[name] for name in sorted(named)][: limits.MAX_AGENTS]
        self._out.send(tower.id, AgentsList(message.id, listed))

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
        session.trace = pending.turn
        session.view = replace(
            session.view,
            unattended=pending.asked.unattended or session.view.unattended,
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
        if message.error is not None or session is None or session.host != host.id:
            error = message.error or "the host opened no session"
            self._answer(pending, replace(message, error=error, session_id=None, goal_id=None))
            return
        try:
            self._open_goal(session, pending.asked)
        except WireError as fault:
            error = f"its goal could not be opened: {fault}"
            self._answer(pending, SessionStarted(pending.id, problem="failed", error=error))
            self._end(session)
            return
        self._answer(pending, SessionStarted(pending.id, session.id, session.until or None))
        tower, asked = pending.tower, pending.asked
        mode = session.view.mode
        if mode is not None and mode == asked.mode:
            self._out.emit(ModeChanged(session.id, mode, "done", tower.by))
        if session.owner is tower and not tower.is_open:
            self._end(session)
        elif asked.prompt is not None:
            told = SessionTell(asked.id, session.id, asked.prompt, attachments=asked.attachments)
            self.orders.tell(tower, told)

    def _open_goal(self, session: OpenSession, asked: SessionStart) -> None:
        """Open the goal of a start, ahead of its prompt. Raises `WireError`."""
        session.tries = asked.tries
        if asked.until:
            goal = self.goals.open(session, "", asked.until, "person", unproven="send back")
            session.until = goal.id

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
    elif message.attachments and message.prompt is None:
        fault = "attachments: they go along with a prompt, and there is none"
    elif not all(path.startswith("/") for path in message.attachments):
        fault = "attachments: each must be an absolute path"
    elif message.infinite is not None and message.infinite.background > message.infinite.exhaustion:
        fault = "infinite.background: must not be more than exhaustion"
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
