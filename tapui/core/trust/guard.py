"""Messages that only the person may send: each waits until the process behind its connection is
known, and is then taken, refused, or asked about in the tower (`core/trust/person.py` decides)."""

from collections.abc import Callable
from dataclasses import dataclass
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
from tapui.wire.subjects import UNCHECKED, YOU
from tapui.wire.tower import CommandWaits, TowerHello, TowerJudged

Handler = Callable[[Connection, Any], None]
Need = Literal["person", "no agent", "name"]
"""What a message waits for: that its sender is the person, that it is no agent, or only to be
recorded with its name."""
_ADVICE = (
    "answer in the tower, or in a shell that you let in there "
    f'(settings: approvals.new-terminals = "take", approvals.command-line = "{ALWAYS}")'
)


@dataclass(slots=True, eq=False)
class Held:
    """A message that waits until its sender's process is known."""

    connection: Connection
    message: Message
    handler: Handler
    """Takes it then; not called for a tower's hello."""
    need: Need
    sight: Sight | None = None
    """The process, once it was found."""


@dataclass(frozen=True, slots=True)
class AskedByCommand:
    """The subject of an approval that lets a shell in, or one message through."""

    held: list[Held]
    shell: SessionShell | None
    """None where the person is asked about one message."""


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
        self._held: dict[ConnectionId, list[Held]] = {}
        """What waits for the one look at the process behind each connection."""
        self._towers: dict[ConnectionId, Sight | str] = {}
        """Further towers, each judged once: its process as of then, or why it decides nothing."""
        self._let_in = {self.shell}
        self._refused: set[SessionShell] = set()
        self._denials = SlidingWindow(limits.MODEL_DENIALS, limits.MODEL_DENIALS_SECONDS)
        self._asker = Connection(0, None, standing=Standing.BUILTIN)
        """Stands for tapui, which asks."""

    # What is guarded

    def guarded(self, handler: Handler, need: Need) -> Handler:
        """Return a handler that takes a message once its sender is what it needs, and refuses it
        otherwise. A call that changes a session is the person's alone."""

        def take(connection: Connection, message: Message) -> None:
            if not connection.is_counted:
                handler(connection, message)
            elif self._is_open:
                connection.by = UNCHECKED
                handler(connection, message)
            elif isinstance(message, ToolInvoke) and changes_session(message):
                self._hold(Held(connection, message, handler, "person"))
            elif isinstance(message, ToolAbort) and self._give_up(connection, message):
                outcome = ToolOutcome(message.id, error="Cancelled", error_code=CallError.CANCELLED)
                self._out.send(connection.id, outcome)
            elif need == "name" and connection.by and connection.id not in self._held:
                handler(connection, message)
            else:
                self._hold(Held(connection, message, handler, need))

        return take

    def look_at(self, connection: Connection, hello: TowerHello) -> None:
        """Find out whether a further tower may decide; the person is asked as for a command."""
        if connection.is_counted and not self._is_open:
            self._hold(Held(connection, hello, lambda *_: None, "person"))

    def is_persons(self, tower: Connection) -> bool:
        """Return whether what a tower decides counts."""
        is_judged = isinstance(self._towers.get(tower.id), Sight)
        return not tower.is_counted or self._is_open or is_judged

    def _judge_tower(self, tower: Connection, judged: Sight | str) -> None:
        self._towers[tower.id] = judged
        why = judged if isinstance(judged, str) else None
        self._out.send(tower.id, TowerJudged(why is None, why))

    def _hold(self, held: Held) -> None:
        connection = held.connection
        waiting = self._held.setdefault(connection.id, [])
        asked = [one for question in self._questions() for one in question.subject.held]
        count = len(waiting) + sum(one.connection is connection for one in asked)
        if count >= limits.MAX_HELD_ANSWERS:
            text = f"{limits.MAX_HELD_ANSWERS} messages wait until it is known who asks"
            raise WireError(ErrorCode.RATE_LIMITED, text)
        waiting.append(held)
        if len(waiting) == 1:
            ticket = self._tickets.keep(partial(self._identified, connection.id))
            self._out.effects.append(Identify(ticket, connection.id))

    def gone(self, connection: Connection) -> None:
        """A connection has ended: the person is not asked on its behalf any more."""
        self._held.pop(connection.id, None)
        self._towers.pop(connection.id, None)
        self._drop(lambda held: held.connection is connection, "who asked is gone")

    def _give_up(self, connection: Connection, abort: ToolAbort) -> bool:
        """Forget a call that waits; return whether there was one."""

        def is_it(held: Held) -> bool:
            message = held.message
            is_call = isinstance(message, ToolInvoke) and message.id == abort.id
            return is_call and held.need == "person" and held.connection is connection

        waiting = self._held.get(connection.id, [])
        count = len(waiting)
        waiting[:] = [one for one in waiting if not is_it(one)]
        return self._drop(is_it, "the caller gave up") or len(waiting) < count

    def _drop(self, is_dropped: Callable[[Held], bool], reason: str) -> bool:
        """Ask no more about some messages; return whether there were any."""
        has_dropped = False
        for question in self._questions():
            held: list[Held] = question.subject.held
            kept = [one for one in held if not is_dropped(one)]
            if len(kept) < len(held):
                has_dropped, held[:] = True, kept
                if not kept:
                    self.approvals.withdraw(question, reason=reason)
        return has_dropped

    # What is found out

    def _identified(self, number: ConnectionId, found: Identified) -> None:
        """Take what waited for a look, refuse it, or ask the person."""
        waiting = self._held.pop(number, ())
        connection = self.connections.by_number.get(number)
        if connection is None:
            return  # it left meanwhile
        verdict = judge(found, self._let_in)
        if connection.is_inside and not verdict.is_inside:
            verdict = PersonVerdict(Case.REFUSED, "it was started for an agent", is_inside=True)
        by = YOU if verdict.case is Case.TAKEN else _words(found.sight)
        if verdict.shell is not None and self._takes_new_terminals:
            verdict, by = judge(found, {verdict.shell}), f"{by}, not let in"
        if verdict.is_inside or number not in self._towers:
            connection.by = by
        if verdict.is_inside and self.is_persons(connection):
            self._judge_tower(connection, verdict.why)
        for held in waiting:
            held.sight = found.sight
            self._answer(held, found, verdict)

    def _answer(self, held: Held, found: Identified, verdict: PersonVerdict) -> None:
        sight, tower = found.sight, self._towers.get(held.connection.id)
        if held.need == "name":
            self._pass(held)
        elif sight is None or verdict.is_inside:
            self._refuse(held, verdict.why)
        elif held.need == "no agent":
            self._take(held)
        elif isinstance(tower, str):
            self._refuse(held, tower)
        elif tower is not None and tower.line[0] != sight.line[0]:
            self._refuse(held, "the process of this tower has ended")  # another has its connection
        elif tower is not None or verdict.case is Case.TAKEN:
            self._take(held)
        elif verdict.case is Case.REFUSED:
            self._refuse(held, verdict.why)
        else:
            self._ask(held, sight, verdict, found.now)

    def _take(self, held: Held) -> None:
        if isinstance(held.message, TowerHello):  # it has decided nothing yet
            assert held.sight is not None, "a process that was not found is refused"
            self._judge_tower(held.connection, held.sight)
        else:
            self._tell(held, None)
            self._pass(held)

    def _pass(self, held: Held) -> None:
        """Hand a message to what takes it."""
        try:
            held.handler(held.connection, held.message)
        except WireError as error:
            self.connections.refuse_message(held.connection, error, envelope_of(held.message))

    def _refuse(self, held: Held, why: str) -> None:
        if isinstance(held.message, TowerHello):
            self._judge_tower(held.connection, why)
        else:
            self._tell(held, why)
            error = WireError(ErrorCode.UNAUTHORIZED, f"{why}; {_ADVICE}")
            self.connections.refuse_message(held.connection, error, envelope_of(held.message))

    def _tell(self, held: Held, why: str | None) -> None:
        message, connection = held.message, held.connection
        about = getattr(message, "approval_id", "")
        approval = self._out.state.approvals.get(about)
        self._out.emit(
            CommandAsked(
                command=connection.name,
                wanted=_wanted(message),
                asker=asker(held.sight) if held.sight is not None else None,
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

    def _questions(self) -> list[WaitingApproval]:
        """Return what the person is being asked, also while the answer is being recorded."""
        asked = (*self.approvals.waiting.values(), *self.approvals.deciding.values())
        return [one for one in asked if one.asker is self._asker]

    def _ask(self, held: Held, sight: Sight, verdict: PersonVerdict, now: float) -> None:
        """Ask about a shell, once for all that comes from it, or about this one message."""
        shell, questions = verdict.shell, self._questions()
        question = next((one for one in questions if shell and one.subject.shell == shell), None)
        why_not = self._unaskable(shell, len(questions) if question is None else 0)
        if why_not is not None:
            self._refuse(held, f"{verdict.why}, and {why_not}")
            return
        if question is None:
            question = self.approvals.request(
                "command" if shell is None else "terminal",
                self._asker,
                AskedByCommand([], shell),
                self._detail(held, sight, verdict, now),
                limits.BIND_ALL_TIMEOUT,
                on_decided=self._decided,
                on_expired=self._expired,
            )
        question.subject.held.append(held)
        text = f"{verdict.why}: waits until you allow it in the tower ({question.view.id})"
        if isinstance(held.message, TowerHello):
            self._judge_tower(held.connection, text)
        else:
            waits = CommandWaits(_wanted(held.message), question.view.id, text)
            self._out.send(held.connection.id, waits)

    def _unaskable(self, shell: SessionShell | None, others: int) -> str | None:
        """Return why the person cannot be asked, or None; `others` is how many questions wait
        beside a new one."""
        if not any(map(self.is_persons, self.connections.asking())):
            return "no tower is there in which you could allow it: stop the gateway, start `tapui`"
        if shell in self._refused:
            return "you refused this shell"
        if self._denials.is_full(self._clock.now):
            minutes = limits.MODEL_DENIALS_SECONDS / 60
            return f"you denied {limits.MODEL_DENIALS} such requests within {minutes:g} minutes"
        if others >= limits.MAX_ASKED_BY_COMMANDS:
            return f"{limits.MAX_ASKED_BY_COMMANDS} such requests wait already"
        return None

    def _detail(
        self, held: Held, sight: Sight, verdict: PersonVerdict, now: float
    ) -> dict[str, Any]:
        """Return who asks for what, as the person is shown it: an answer to a request with what
        that asks."""

        def field(name: str) -> Any:
            return getattr(held.message, name, None)

        ids = map(field, ("approval_id", "goal_id", "finding", "session_id"))
        text = field("text") or field("prompt")
        approval = self._out.state.approvals.get(field("approval_id"))
        detail: dict[str, Any] = {
            "device": short(sight.terminal or ""),
            "line": [f"{one.name} {one.pid}" for one in sight.line],
            "command": held.connection.name,
            "wanted": _wanted(held.message),
            "about": next(filter(None, ids), None),
            **{name: field(name) for name in ("decision", "tool", "mode")},
            "text": one_line(text) if isinstance(text, str) else None,
            "keep": True if field("keep") else None,
            "request": approval and one_line(f"{verb(approval)} {request(approval)}"),
        }
        if verdict.shell is None:
            detail["why"] = verdict.why
        else:
            leader, *above = [
                {"name": one.name, "pid": one.pid, "since": self._clock.timestamp(one.start - now)}
                for one in sight.leader_line
            ]
            shown = shown_in(sight)
            detail |= {
                "program": leader["name"],
                "since": leader["since"],
                "above": above,
                "holder": shown and shown.name,
                "warning": warning(sight, now),
            }
        return {name: value for name, value in detail.items() if value is not None}

    # What the person says

    def _decided(self, decided: Decided) -> None:
        asked: AskedByCommand = decided.waiting.subject
        if decided.verdict == "approve":
            if asked.shell is not None:
                self._let_in.add(asked.shell)
            self._settle(asked, None)
            return
        if decided.waiting.view.state == "denied":  # else it could not be recorded
            self._denials.take(self._clock.now)
            if asked.shell is not None:
                self._refused.add(asked.shell)
        self._settle(asked, decided.reason or "you denied it in the tower")

    def _expired(self, question: WaitingApproval) -> None:
        self._settle(question.subject, "it was not allowed in the tower in time")

    def _settle(self, asked: AskedByCommand, why: str | None) -> None:
        for held in asked.held:
            if why is not None:
                self._refuse(held, why)
            elif asked.shell is None:
                self._take(held)
            else:  # its shell may have ended, and another program may stand between
                self._towers.pop(held.connection.id, None)  # this hello is judged anew
                self._hold(held)


def _wanted(message: Message) -> str:
    return str(message.__struct_config__.tag)


def _words(sight: Sight | None) -> str:
    """Return how a connection that is not the person's own is recorded."""
    if sight is None:
        return "an unknown process"
    first, shown = sight.line[0], shown_in(sight)
    process = f"process {first.pid} ({first.name})"
    if sight.terminal is None:
        return process
    return f"{process} from {short(sight.terminal)}{f' ({shown.name})' if shown else ''}"
