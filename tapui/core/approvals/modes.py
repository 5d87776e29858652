"""Modes: who may switch one, as the settings have it; and switches, which are ordered, recorded,
set by the host, and only then done.

A request is the agent's, a subagent's, a provider's or a command's; what the person sets in a
tower or in the session itself is no request. It is asked where the person is: in a tower, else in
the session's own window by its host. One that can be asked nowhere is refused at once.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval, said_by
from tapui.core.approvals.policies import BY_NOBODY, UNATTENDED
from tapui.core.calls.calls import Calls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import ConnectionId, MakeDurable
from tapui.core.model import Connection, OpenSession, Standing
from tapui.core.sessions.sessions import OpenSessions, UnknownSessionError
from tapui.projection.approvals import by
from tapui.settings.settings import ModeSwitches
from tapui.wire import limits
from tapui.wire.builtin import ModeAnswer, ModeRequest
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import ModeChanged
from tapui.wire.host import ApprovalAsk, ApprovalAskCancel, ApprovalAskResult, ModeSet
from tapui.wire.message import Error, Mode
from tapui.wire.subjects import (
    UNCHECKED,
    YOU,
    ModeAsker,
    ModePolicy,
    ModeState,
    switch_setting,
)

BY_SETTING = "setting"
"""Who decided, where a setting `modes.…` did."""


@dataclass(slots=True, eq=False)
class ModeOrder:
    """A switch under way. `by` is who decided; `asker` hears how it ended: a tower, or the built-in
    tool whose request `request_id` is."""

    session: OpenSession
    mode: Mode
    by: str
    asker: Connection | None
    request_id: str | None = None
    asked_by: ModeAsker | None = None
    """Who wants it, where it is a request."""
    policy: ModePolicy | None = None
    reason: str | None = None
    set_id: str = ""
    deadline: Deadline | None = None
    approval_id: str | None = None
    window: ConnectionId | None = None
    """The host that asks the person in the session's own window, while it does."""


@dataclass(eq=False, repr=False)
class Modes(CorePart):
    """Requests for other modes, and switches under way."""

    connections: Connections
    sessions: OpenSessions
    calls: Calls
    approvals: Approvals
    setting: ModeSwitches
    patience: float
    """How long the person has to answer, in seconds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._setting: dict[str, ModeOrder] = {}

    # The policy

    def policy(self, asker: ModeAsker, mode: Mode, *, is_checked: bool = True) -> ModePolicy:
        """Return what the settings say; `is_checked` is whether a command is known as the person's.

        No settings give autopilot to an agent unasked: files are checked when read, others here.
        """
        name = "command_line" if asker == "commandLine" else asker
        found: ModePolicy = getattr(self.setting, f"{name}_to_{mode}")
        is_persons = asker == "commandLine" and is_checked
        return "ask" if found == "allow" and mode == "autopilot" and not is_persons else found

    def _is_locked(self, session: OpenSession) -> bool:
        standing = self._out.state.modes.get(session.id)
        return self.setting.lock and standing is not None and standing.ownership == "userOwned"

    def check_command(self, session: OpenSession, mode: Mode) -> None:
        """Check that a command of the person may set a mode. Raises `UNAUTHORIZED`."""
        if self.policy("commandLine", mode) == "never":
            text = _never("commandLine", mode)
            raise WireError(ErrorCode.UNAUTHORIZED, text, session_id=session.id)

    def told(self, session: OpenSession) -> dict[str, Any]:
        """Return what the session's agent may know: whose the mode is, and what a request meets."""
        standing = self._out.state.modes.get(session.id)
        is_locked = self._is_locked(session)
        where = "tapui" if self._has_tower() else session.view.host
        why = self._unaskable(session)
        return {
            "ownership": standing.ownership if standing is not None else None,
            "locked": is_locked,
            "policy": {
                mode: "never" if is_locked else self.policy("agent", mode)
                for mode in get_args(Mode)
            },
            "askedIn": where if why is None else None,
            **({} if why is None else {"unaskable": why}),
        }

    # Requests

    def request(self, connection: Connection, message: ModeRequest, session: OpenSession) -> None:
        """Take the request of a built-in tool."""
        mode = message.mode
        if session.view.mode == mode:
            self._out.send(connection.id, ModeAnswer(message.id, "unchanged"))
            return
        asker, is_checked = self._asker(message.id, session)
        policy = self.policy(asker, mode, is_checked=is_checked)
        order = ModeOrder(
            *(session, mode, "", connection, message.id),
            asked_by=asker,
            policy=policy,
            reason=message.reason,
        )
        if self._is_locked(session) and not (asker == "commandLine" and is_checked):
            order.policy = "lock"
            now = session.view.mode
            text = f"the mode {now} is userOwned (modes.lock): only the person changes it"
            self._refuse(order, text, BY_SETTING)
        elif policy == "never":
            self._refuse(order, _never(asker, mode), BY_SETTING)
        elif policy == "allow":
            order.by = BY_SETTING
            self.order(order)
        else:
            self._ask(order, message)

    def give_up(self, connection: Connection, request_id: str) -> None:
        """A built-in tool does not want the answer any more."""
        waiting = self.approvals.waiting.get(connection.modes.pop(request_id, ""))
        if waiting is not None:
            self._close_window(waiting.subject)
            self.approvals.withdraw(waiting, reason="the caller gave up")

    def _asker(self, call_id: str, session: OpenSession) -> tuple[ModeAsker, bool]:
        """Return who made the call of a built-in tool, and whether it is known as the person."""
        call = self.calls.pending.get(call_id)
        if call is None:
            return "provider", False
        if call.caller.by:
            return "commandLine", call.caller.by != UNCHECKED
        if call.caller.id != session.host:
            return "provider", False
        try:
            agent = self.sessions.resolve(call.invoke.session_id)[1]
        except UnknownSessionError:
            agent = None
        is_subagent = agent is not None or call.invoke.agent_id is not None
        return ("subagent" if is_subagent else "agent"), False

    def _ask(self, order: ModeOrder, message: ModeRequest) -> None:
        """Ask the person: in a tower, else in the session's own window."""
        session, asker = order.session, order.asker
        assert asker is not None, "a request has an asker"
        why = None if session.view.unattended else self._unaskable(session)
        if why is not None:
            self._refuse(order, why, BY_NOBODY)
            return
        detail = {
            "from": session.view.mode,
            "to": order.mode,
            "asker": self.calls.tower_of(message.id) or message.asker,
            "askedBy": order.asked_by,
            "policy": order.policy,
            "reason": order.reason,
        }
        waiting = self.approvals.request(
            "mode",
            asker,
            order,
            detail,
            self.patience,
            on_decided=self.decided,
            on_expired=partial(self.refuse, text="nobody decided in time"),
            on_withdrawn=self.refuse,
            session_id=session.id,
        )
        order.approval_id = waiting.view.id
        asker.modes[message.id] = waiting.view.id
        if session.view.unattended:
            self.approvals.decide(Decided(waiting, "deny", BY_NOBODY, reason=UNATTENDED))
        elif not self._has_tower():
            self._open_window(order)

    # Where the person is asked

    def _has_tower(self) -> bool:
        """Return whether a tower is there in which the person can answer: one that an agent has
        opened is none. While it is found out who opened it, it counts."""
        towers = self.connections.interactive_towers()
        return any(not one.is_counted or one.by in ("", YOU, UNCHECKED) for one in towers)

    def _unaskable(self, session: OpenSession) -> str | None:
        """Return why the person cannot be asked, or None."""
        if self._has_tower():
            return None
        if "ask" not in session.view.can:
            why = session.view.cannot.get("ask") or "its host cannot ask in the session's window"
        elif any(order.window is not None for order in self._waiting(session)):
            why = "another mode is being asked about in the session's window"
        elif session.mode_denials.is_full(self._clock.now):
            minutes = limits.MODEL_DENIALS_SECONDS / 60
            times = limits.MODEL_DENIALS
            why = f"{times} modes were asked for within {minutes:g} minutes and not granted"
        else:
            return None
        return f"the person cannot be asked: no tower is open, and {why}"

    def _waiting(self, session: OpenSession | None = None) -> list[ModeOrder]:
        """Return the requests about which the person is asked."""
        orders: list[ModeOrder] = [one.subject for one in self.approvals.of_kind("mode")]
        return [one for one in orders if session is None or one.session is session]

    def _open_window(self, order: ModeOrder) -> None:
        session = order.session
        assert order.approval_id is not None
        assert order.asked_by is not None
        order.window = session.host
        question = ApprovalAsk(
            order.approval_id,
            session.id,
            "mode",
            order.mode,
            order.asked_by,
            session.view.mode,
            order.reason,
        )
        self._out.send(session.host, question)

    def _close_window(self, order: ModeOrder) -> None:
        """The question is answered elsewhere, or over."""
        if order.window is not None and order.approval_id is not None:
            cancel = ApprovalAskCancel(order.approval_id, order.session.id)
            self._out.send(order.window, cancel)
            order.window = None

    def tower_gone(self) -> None:
        """The last tower may be gone: what waited there is asked in the sessions' windows."""
        if self._has_tower():
            return
        for waiting in self.approvals.of_kind("mode"):
            order: ModeOrder = waiting.subject
            if order.window is not None or waiting.is_deciding:
                continue
            why = self._unaskable(order.session)
            if why is None:
                self._open_window(order)
            else:
                self.approvals.decide(Decided(waiting, "deny", BY_NOBODY, reason=why))

    def asked_in_window(self, connection: Connection, message: ApprovalAskResult) -> None:
        """The person answered in the session's window, or could not be asked there.

        Only the host that was asked answers; what is settled already, or was asked of another one,
        is ignored.
        """
        waiting = self.approvals.waiting.get(message.id)
        if waiting is None or waiting.view.kind != "mode" or waiting.is_deciding:
            return
        order: ModeOrder = waiting.subject
        if order.window != connection.id:
            return
        order.window = None
        if message.outcome == "impossible":
            if not self._has_tower():
                why = message.reason or "its host cannot ask in the session's window"
                text = f"the person cannot be asked: no tower is open, and {why}"
                self.approvals.decide(Decided(waiting, "deny", BY_NOBODY, reason=text))
            return
        decided_by = said_by(connection, message.decided_by) or connection.name
        if message.outcome == "deny":
            order.session.mode_denials.take(self._clock.now)
        self.approvals.decide(Decided(waiting, message.outcome, decided_by, reason=message.reason))

    # How requests end

    def decided(self, decided: Decided) -> None:
        """The person has answered a request."""
        waiting = decided.waiting
        order: ModeOrder = waiting.subject
        if decided.verdict == "approve" and order.session.is_open:
            self._close_window(order)
            order.by = decided.by
            waiting.asker.modes.pop(order.request_id or "", None)
            self.order(order)
        else:
            self.refuse(waiting, decided.reason or f"denied {by(decided.by)}", decided.by)

    def refuse(self, waiting: WaitingApproval, text: str, by: str = BY_NOBODY) -> None:
        """A request about which the person was asked is not granted."""
        order: ModeOrder = waiting.subject
        if order.window is not None:
            order.session.mode_denials.take(self._clock.now)
        self._close_window(order)
        self._refuse(order, text, by)

    def _refuse(self, order: ModeOrder, text: str, by: str) -> None:
        order.by = by
        if order.session.is_open:
            self._emit(order, "refused", order.session.view.mode, text)
        asker, request_id = order.asker, order.request_id or ""
        if asker is None:
            return
        asker.modes.pop(request_id, None)
        if asker.standing is Standing.BUILTIN:
            self._out.send(asker.id, ModeAnswer(request_id, by, text))

    # Switches

    def order(self, order: ModeOrder) -> None:
        """Record that a switch is wanted; once that is durable it is carried out."""
        ticket = self._tickets.keep(partial(self.recorded, order))
        seq = self._emit(order, "ordered", order.session.view.mode)
        self._out.effects.append(MakeDurable(ticket, seq))

    def recorded(self, order: ModeOrder, is_ok: bool) -> None:
        """Tell the host to set the mode, now that the order is on disk."""
        if not is_ok:
            self._end(order, "the mode switch could not be recorded")
        elif not order.session.is_open:
            self._end(order, "the session has ended")
        else:
            order.set_id = self._ids.id("m")
            self._setting[order.set_id] = order
            order.deadline = self._deadlines.add(
                self._clock.now + limits.MODE_SET_TIMEOUT, Due.MODE_SET, order
            )
            self._out.send(order.session.host, ModeSet(order.set_id, order.session.id, order.mode))

    def result(self, set_id: str, error: str | None, host: ConnectionId) -> None:
        """The host answered; an answer to nothing, or of another one, is ignored."""
        order = self._setting.get(set_id)
        if order is not None and order.session.host == host:
            del self._setting[set_id]
            self._deadlines.cancel(order.deadline)
            self._end(order, error)

    def due(self, order: ModeOrder) -> None:
        if self._setting.pop(order.set_id, None) is not None:
            self._end(order, "the session did not answer in time")

    def session_ended(self, session: OpenSession) -> None:
        """The session that was to set the mode is gone."""
        for order in [one for one in self._setting.values() if one.session is session]:
            self.result(order.set_id, "the session has ended", session.host)

    def is_setting(self, session: OpenSession, mode: Mode) -> bool:
        """Return whether the host was told to set this mode and has not answered."""
        return any(
            order.session is session and order.mode == mode for order in self._setting.values()
        )

    def changed_by_host(self, session: OpenSession, mode: Mode, host: str) -> None:
        """The mode was changed where the session lives, by the person at its own screen."""
        if mode == session.view.mode or self.is_setting(session, mode):
            return
        source = session.view.mode
        session.view = replace(session.view, mode=mode)
        self._out.emit(ModeChanged(session.id, mode, "done", host, source))

    def _end(self, order: ModeOrder, error: str | None) -> None:
        session, source = order.session, order.session.view.mode
        if error is None:
            session.view = replace(session.view, mode=order.mode)
        self._emit(order, "done" if error is None else "failed", source, error)
        asker = order.asker
        if asker is None or not asker.is_open:
            return
        if order.request_id is not None:
            self._out.send(asker.id, ModeAnswer(order.request_id, order.by, error))
        elif error is not None:
            self._out.send(
                asker.id,
                Error(ErrorCode.INTERNAL, error, reply_to="session.mode", session_id=session.id),
            )

    def _emit(
        self, order: ModeOrder, state: ModeState, source: Mode | None, error: str | None = None
    ) -> int:
        """Record what became of an order; return the event's number."""
        return self._out.emit(
            ModeChanged(
                order.session.id,
                order.mode,
                state,
                order.by,
                source,
                error,
                asker=order.asked_by,
                policy=order.policy,
                decided_by=order.by if order.asked_by is not None else None,
                approval_id=order.approval_id,
            )
        )


def _never(asker: ModeAsker, mode: Mode) -> str:
    return f"the setting {switch_setting(asker, mode)} is never"
