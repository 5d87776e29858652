"""Messages that only the person may send: each waits until the process behind its connection is
known, and is then taken, refused, or asked about in the tower (`core/trust/person.py` decides)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import SlidingWindow
from tapui.core.effects import ConnectionId, Identified, Identify, Sight
from tapui.core.model import Connection, Standing
from tapui.core.trust.person import (
    ALWAYS,
    Case,
    PersonVerdict,
    SessionShell,
    asker,
    judge,
    shell_of,
    short,
    shown_in,
    warning,
)
from tapui.projection.approvals import request, verb
from tapui.projection.summary import one_line
from tapui.settings.settings import Answering
from tapui.wire import limits
from tapui.wire.builtin import changes_session
from tapui.wire.codec import envelope_of
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import CommandAsked
from tapui.wire.message import Message, ToolAbort, ToolInvoke, ToolOutcome
from tapui.wire.subjects import UNCHECKED, YOU, Approval, ApprovalKind
from tapui.wire.tower import CommandWaits, TowerHello, TowerJudged

Handler = Callable[[Connection, Any], None]
Need = Literal["person", "no agent", "name"]
"""What a message waits for: that its sender is the person, that it is no agent, or only to be
recorded with its name."""
_MAX_LET_IN = 1_000
"""Shells of a gateway's life that are remembered, the newest ones."""
_ADVICE = (
    "answer in the tower, or in a shell that you let in there "
    f'(settings: approvals.new-terminals = "take", approvals.command-line = "{ALWAYS}")'
)


@dataclass(frozen=True, slots=True)
class Held:
    """A message that waits until its sender's process is known."""

    connection: Connection
    message: Message
    handler: Handler
    need: Need = "person"


@dataclass(slots=True, eq=False)
class AskedByCommand:
    """The subject of an approval that lets a shell in, or one message through."""

    held: list[Held]
    sight: Sight
    shell: SessionShell | None
    """None where the person is asked about one message."""
    waiting: WaitingApproval | None = None


@dataclass(frozen=True, slots=True)
class _JudgedTower:
    """A further tower, and why it may decide nothing; None for one that may."""

    sight: Sight | None
    why: str | None


@dataclass(slots=True)
class _Denials:
    """What the person denied: shells, and how often of late."""

    shells: dict[SessionShell, None] = field(default_factory=dict)
    lately: SlidingWindow = field(
        default_factory=lambda: SlidingWindow(limits.MODEL_DENIALS, limits.MODEL_DENIALS_SECONDS)
    )


@dataclass(eq=False, repr=False)
class PersonGuard(CorePart):
    """Holds what connections of this user want until it is known who they are."""

    connections: Connections
    approvals: Approvals
    setting: Answering
    shell: SessionShell | None
    """The one in which the gateway was started."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._is_open = self.setting.command_line == ALWAYS
        self._takes_new_terminals = self.setting.new_terminals == "take"
        self._towers: dict[ConnectionId, _JudgedTower] = {}
        """Further towers: each is judged once."""
        self._held: dict[ConnectionId, list[Held]] = {}
        """What waits for the one look at the process behind each connection."""
        self._asked: list[AskedByCommand] = []
        """What the person is being asked."""
        self._let_in: dict[SessionShell, None] = {} if self.shell is None else {self.shell: None}
        self._denied = _Denials()
        self._asker = Connection(0, None, standing=Standing.BUILTIN)
        """Stands for tapui, which asks."""

    # What is guarded

    def guards(self, handler: Handler) -> Handler:
        """Return a handler that takes a message of the person's alone."""
        return self._guarded(handler, "person")

    def refuses_agents(self, handler: Handler) -> Handler:
        """Return a handler that takes a message of every process that is not known as an agent's,
        with a terminal or without one."""
        return self._guarded(handler, "no agent")

    def _guarded(self, handler: Handler, need: Need) -> Handler:
        def guarded(connection: Connection, message: Message) -> None:
            if not connection.is_counted:
                handler(connection, message)
            elif self._is_open:
                connection.by = UNCHECKED
                handler(connection, message)
            else:
                self._hold(Held(connection, message, handler, need))

        return guarded

    def names(self, handler: Handler) -> Handler:
        """Return a handler that takes a message of any process once it is known who sends it; a
        call that changes a session is the person's alone."""
        guarded = self.guards(handler)

        def named(connection: Connection, message: Message) -> None:
            if not connection.is_counted:
                handler(connection, message)
            elif isinstance(message, ToolInvoke) and changes_session(message):
                guarded(connection, message)
            elif isinstance(message, ToolAbort) and self._give_up(connection, message):
                outcome = ToolOutcome(message.id, error="Cancelled", error_code=CallError.CANCELLED)
                self._out.send(connection.id, outcome)
            elif connection.by and connection.id not in self._held:
                handler(connection, message)
            elif self._is_open:
                connection.by = UNCHECKED
                handler(connection, message)
            else:
                self._hold(Held(connection, message, handler, "name"))

        return named

    def look_at(self, connection: Connection, hello: TowerHello) -> None:
        """Find out whether a further tower may decide; the person is asked as for a command."""
        if connection.is_counted and not self._is_open:
            self._hold(Held(connection, hello, _nothing))

    def _judge_tower(self, connection: Connection, sight: Sight | None, why: str | None) -> None:
        self._towers[connection.id] = _JudgedTower(sight, why)
        self._out.send(connection.id, TowerJudged(why is None, why))

    def _settle_tower(self, held: list[Held], found: Sight | None) -> None:
        """Take or refuse what a judged tower sends, by `found`, its process as of now: another one
        may hold the connection of one that has ended."""
        for one in held:
            judged = self._towers[one.connection.id]
            before, why = judged.sight, judged.why
            if why is None and (found is None or before is None or found.line[0] != before.line[0]):
                why = "the process of this tower has ended"
            if why is None:
                self._take([one], found)
            else:
                self._refuse([one], found, why)

    def is_persons(self, tower: Connection) -> bool:
        """Return whether what a tower decides counts."""
        judged = self._towers.get(tower.id)
        return not tower.is_counted or self._is_open or (judged is not None and judged.why is None)

    def _hold(self, held: Held) -> None:
        connection = held.connection
        waiting = self._held.setdefault(connection.id, [])
        asked = sum(one.connection is connection for asked in self._asked for one in asked.held)
        if len(waiting) + asked >= limits.MAX_HELD_ANSWERS:
            text = f"{limits.MAX_HELD_ANSWERS} messages wait until it is known who asks"
            raise WireError(ErrorCode.RATE_LIMITED, text)
        waiting.append(held)
        if len(waiting) == 1:
            self._identify(connection.id)

    def gone(self, connection: Connection) -> None:
        """A connection has ended: the person is not asked on its behalf any more."""
        self._held.pop(connection.id, None)
        self._towers.pop(connection.id, None)
        self._drop(lambda one: one.connection is connection, "who asked is gone")

    def _give_up(self, connection: Connection, abort: ToolAbort) -> bool:
        """Forget a call that waits; return whether there was one."""

        def is_it(one: Held) -> bool:
            message = one.message
            is_call = isinstance(message, ToolInvoke) and message.id == abort.id
            return is_call and one.need == "person" and one.connection is connection

        held = self._held.get(connection.id, [])
        kept = [one for one in held if not is_it(one)]
        is_held = len(kept) < len(held)
        held[:] = kept
        return self._drop(is_it, "the caller gave up") or is_held

    def _drop(self, is_dropped: Callable[[Held], bool], reason: str) -> bool:
        """Ask no more about some messages; return whether there were any."""
        has_dropped = False
        for asked in list(self._asked):
            kept = [one for one in asked.held if not is_dropped(one)]
            if len(kept) == len(asked.held):
                continue
            has_dropped, asked.held = True, kept
            if not kept and asked.waiting is not None and not asked.waiting.is_deciding:
                self._asked.remove(asked)
                self.approvals.withdraw(asked.waiting, reason=reason)
        return has_dropped

    # What is found out

    def _identify(self, number: ConnectionId) -> None:
        ticket = self._tickets.keep(partial(self._identified, number))
        self._out.effects.append(Identify(ticket, number))

    def _identified(self, number: ConnectionId, found: Identified) -> None:
        """Take what waited for a look, refuse it, or ask the person."""
        connection = self.connections.by_number.get(number)
        held = self._held.pop(number, [])
        if connection is None or not connection.is_open:
            return
        judged = judge(found, self._let_in)
        if connection.is_inside and not judged.is_inside:
            judged = PersonVerdict(Case.REFUSED, "it was started for an agent", is_inside=True)
        case, why, sight = judged.case, judged.why, found.sight
        if case is Case.SHELL and self._takes_new_terminals and sight is not None:
            judged = judge(found, (shell_of(sight),))
            case, why, words = judged.case, judged.why, f"{_words(sight)}, not let in"
        else:
            words = YOU if case is Case.TAKEN else _words(sight)
        hello = [one for one in held if isinstance(one.message, TowerHello)]
        if hello or judged.is_inside or connection.id not in self._towers:
            connection.by = words
        self._pass([one for one in held if one.need == "name"])
        if sight is not None and not judged.is_inside:
            self._take([one for one in held if one.need == "no agent"], sight)
            held = [one for one in held if one.need == "person"]
        held = [one for one in held if one.need != "name"]
        if hello:
            held, sent = hello, [one for one in held if one not in hello]
            self._answer(held, found, case, why)
            self._settle_tower(sent, sight)
        elif connection.id in self._towers:
            if judged.is_inside and self._towers[connection.id].why is None:
                self._judge_tower(connection, sight, why)
            self._settle_tower(held, sight)
        else:
            self._answer(held, found, case, why)

    def _answer(self, held: list[Held], found: Identified, case: Case, why: str) -> None:
        sight = found.sight
        if case in (Case.SHELL, Case.COMMAND):
            assert sight is not None, "a process that was not found is refused"
            no = self._unaskable(case, sight)
            if no is None:
                self._ask(held, found, sight, why, case)
                return
            case, why = Case.REFUSED, f"{why}, and {no}"
        if case is Case.REFUSED:
            self._refuse(held, sight, why)
        else:
            self._take(held, sight)

    def _take(self, held: list[Held], sight: Sight | None) -> None:
        for one in held:
            if isinstance(one.message, TowerHello):  # it has decided nothing yet
                self._judge_tower(one.connection, sight, None)
            else:
                self._tell(one, sight, None)
        self._pass(held)

    def _pass(self, held: list[Held]) -> None:
        """Hand messages to what takes them."""
        for one in held:
            try:
                one.handler(one.connection, one.message)
            except WireError as error:
                self.connections.refuse_message(one.connection, error, envelope_of(one.message))

    def _refuse(self, held: list[Held], sight: Sight | None, why: str) -> None:
        for one in held:
            if isinstance(one.message, TowerHello):
                self._judge_tower(one.connection, sight, why)
                continue
            self._tell(one, sight, why)
            error = WireError(ErrorCode.UNAUTHORIZED, f"{why}; {_ADVICE}")
            self.connections.refuse_message(one.connection, error, envelope_of(one.message))

    def _tell(self, held: Held, sight: Sight | None, why: str | None) -> None:
        message, connection = held.message, held.connection
        about = getattr(message, "approval_id", "")
        approval = self._out.state.approvals.get(about)
        self._out.emit(
            CommandAsked(
                command=connection.name,
                wanted=_wanted(message),
                asker=asker(sight) if sight is not None else None,
                refused=why,
                by=connection.by if why is None else None,
                approval_id=about or None,
                session_id=(
                    approval.session_id
                    if approval is not None
                    else getattr(message, "session_id", None)
                ),
            )
        )

    # What the person is asked

    def _unaskable(self, case: Case, sight: Sight) -> str | None:
        """Return why the person cannot be asked, or None."""
        if not any(map(self.is_persons, self.connections.asking())):
            return "no tower is there in which you could allow it: stop the gateway, start `tapui`"
        if case is Case.SHELL and shell_of(sight) in self._denied.shells:
            return "you refused this shell"
        if self._denied.lately.is_full(self._clock.now):
            minutes = limits.MODEL_DENIALS_SECONDS / 60
            return f"you denied {limits.MODEL_DENIALS} such requests within {minutes:g} minutes"
        if len(self._asked) >= limits.MAX_ASKED_BY_COMMANDS:
            return f"{limits.MAX_ASKED_BY_COMMANDS} such requests wait already"
        return None

    def _ask(self, held: list[Held], found: Identified, sight: Sight, why: str, case: Case) -> None:
        if not held:
            return
        if case is Case.SHELL:
            shell = shell_of(sight)
            asked = next((one for one in self._asked if one.shell == shell), None)
            if asked is None:
                asked = AskedByCommand([], sight, shell)
                self._request(asked, "terminal", self._shell(held[0], found, sight))
            self._wait(asked, held, why)
            return
        for one in held:
            asked = AskedByCommand([], sight, None)
            self._request(asked, "command", self._command(one, sight, why))
            self._wait(asked, [one], why)

    def _request(self, asked: AskedByCommand, kind: ApprovalKind, detail: dict[str, Any]) -> None:
        asked.waiting = self.approvals.request(
            kind,
            self._asker,
            asked,
            detail,
            limits.BIND_ALL_TIMEOUT,
            on_decided=self._decided,
            on_expired=self._expired,
        )
        self._asked.append(asked)

    def _wait(self, asked: AskedByCommand, held: list[Held], why: str) -> None:
        assert asked.waiting is not None
        asked.held += held
        for one in held:
            text = f"{why}: waits until you allow it in the tower ({asked.waiting.view.id})"
            if isinstance(one.message, TowerHello):
                self._judge_tower(one.connection, asked.sight, text)
                continue
            self._out.send(
                one.connection.id,
                CommandWaits(_wanted(one.message), asked.waiting.view.id, text),
            )

    def _shell(self, held: Held, found: Identified, sight: Sight) -> dict[str, Any]:
        leader, shown = sight.leader_line[0], shown_in(sight)

        def began(start: float) -> str:
            return self._clock.timestamp(start - found.now)

        detail = {
            "device": short(sight.terminal or ""),
            "program": leader.name,
            "since": began(leader.start),
            "line": [f"{one.name} {one.pid}" for one in sight.line],
            "above": [
                {"name": one.name, "pid": one.pid, "since": began(one.start)}
                for one in sight.leader_line[1:]
            ],
            **_asked_for(held, self._out.state.approvals),
        }
        if shown is not None:
            detail["holder"] = shown.name
        if (odd := warning(sight, found.now)) is not None:
            detail["warning"] = odd
        return detail

    def _command(self, held: Held, sight: Sight, why: str) -> dict[str, Any]:
        return {
            "device": short(sight.terminal or ""),
            "line": [f"{one.name} {one.pid}" for one in sight.line],
            "why": why,
            **_asked_for(held, self._out.state.approvals),
        }

    # What the person says

    def _decided(self, decided: Decided) -> None:
        asked: AskedByCommand = decided.waiting.subject
        if decided.verdict != "approve":
            if decided.waiting.view.state == "denied":  # else it could not be recorded
                self._denied.lately.take(self._clock.now)
                if asked.shell is not None:
                    _remember(self._denied.shells, asked.shell)
            self._settle(asked, decided.reason or "you denied it in the tower")
            return
        if asked.shell is not None:
            _remember(self._let_in, asked.shell)
        self._settle(asked, None)

    def _expired(self, waiting: WaitingApproval) -> None:
        self._settle(waiting.subject, "it was not allowed in the tower in time")

    def _settle(self, asked: AskedByCommand, why: str | None) -> None:
        if asked in self._asked:
            self._asked.remove(asked)
        held = [one for one in asked.held if one.connection.is_open]
        if why is not None:
            self._refuse(held, asked.sight, why)
        elif asked.shell is None:
            self._take(held, asked.sight)
        else:  # its shell may have ended, and another program may stand between
            for one in held:
                self._hold(one)


def _asked_for(held: Held, approvals: Mapping[str, Approval]) -> dict[str, Any]:
    """Return what a message wants, as the person is shown it: an answer to a request with what
    that asks."""
    message = held.message
    ids = (
        getattr(message, name, None) for name in ("approval_id", "goal_id", "finding", "session_id")
    )
    fields = {"about": next(filter(None, ids), None)}
    fields |= {name: getattr(message, name, None) for name in ("decision", "tool", "mode")}
    text = getattr(message, "text", None) or getattr(message, "prompt", None)
    fields |= {"text": one_line(text) if isinstance(text, str) else None}
    fields |= {"keep": True if getattr(message, "keep", False) else None}
    if (approval := approvals.get(getattr(message, "approval_id", ""))) is not None:
        fields["request"] = one_line(f"{verb(approval)} {request(approval)}")
    return {
        "command": held.connection.name,
        "wanted": _wanted(message),
        **{name: value for name, value in fields.items() if value is not None},
    }


def _wanted(message: Message) -> str:
    return str(message.__struct_config__.tag)


def _nothing(_connection: Connection, _message: Message) -> None:
    """A further tower was let in: what it sends is taken from now on."""


def _remember(keys: dict[SessionShell, None], key: SessionShell) -> None:
    keys[key] = None
    if len(keys) > _MAX_LET_IN:
        del keys[next(iter(keys))]


def _words(sight: Sight | None) -> str:
    """Return how a connection that is not the person's own is recorded."""
    if sight is None:
        return "an unknown process"
    first, shown = sight.line[0], shown_in(sight)
    process = f"process {first.pid} ({first.name})"
    if sight.terminal is None:
        return process
    return f"{process} from {short(sight.terminal)}{f' ({shown.name})' if shown else ''}"
