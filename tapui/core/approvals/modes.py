"""Mode switches: ordered, recorded, set by the host, and only then done."""

from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from tapui.core.approvals.approvals import Decided, WaitingApproval
from tapui.core.context import CoreContext
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import MakeDurable
from tapui.core.model import Connection, OpenSession, Standing
from tapui.wire import limits
from tapui.wire.builtin import ModeAnswer
from tapui.wire.errors import ErrorCode
from tapui.wire.events import ModeChanged
from tapui.wire.host import ModeSet
from tapui.wire.message import Error, Mode


@dataclass(slots=True, eq=False)
class ModeOrder:
    """A switch under way. `asker` hears how it ended: a tower, or a built-in tool's request."""

    session: OpenSession
    mode: Mode
    by: str
    asker: Connection | None
    request_id: str | None = None
    set_id: str = ""
    deadline: Deadline | None = None


class Modes:
    """Switches under way."""

    def __init__(self, context: CoreContext) -> None:
        self._clock, self._out, self._tickets = context.clock, context.out, context.tickets
        self._deadlines, self._ids = context.deadlines, context.ids
        self._setting: dict[str, ModeOrder] = {}

    def order(self, order: ModeOrder) -> None:
        """Record that a switch is wanted; once that is durable it is carried out."""
        session = order.session
        seq = self._out.emit(
            ModeChanged(session.id, order.mode, "ordered", order.by, session.view.mode)
        )
        ticket = self._tickets.keep(partial(self.recorded, order))
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

    def decided(self, decided: Decided) -> None:
        """The person has answered a built-in tool's mode request."""
        waiting = decided.waiting
        order: ModeOrder = waiting.subject
        if decided.verdict == "approve" and order.session.is_open:
            order.by = decided.by
            waiting.asker.modes.pop(order.request_id or "", None)
            self.order(order)
        else:
            self.refuse(waiting, decided.reason or f"denied by {decided.by}", decided.by)

    def refuse(self, waiting: WaitingApproval, text: str, by: str = "nobody") -> None:
        """Tell a built-in tool that its mode request was not granted."""
        order: ModeOrder = waiting.subject
        asker, request_id = waiting.asker, order.request_id or ""
        order.by = by
        asker.modes.pop(request_id, None)
        if asker.standing is Standing.BUILTIN:
            self._out.send(asker.id, ModeAnswer(request_id, by, text))

    def result(self, set_id: str, error: str | None) -> None:
        """The host answered; an answer to nothing is ignored."""
        order = self._setting.pop(set_id, None)
        if order is not None:
            self._deadlines.cancel(order.deadline)
            self._end(order, error)

    def due(self, order: ModeOrder) -> None:
        if self._setting.pop(order.set_id, None) is not None:
            self._end(order, "the session did not answer in time")

    def session_ended(self, session: OpenSession) -> None:
        """The session that was to set the mode is gone."""
        for order in [one for one in self._setting.values() if one.session is session]:
            self.result(order.set_id, "the session has ended")

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
        self._out.emit(
            ModeChanged(
                session.id,
                order.mode,
                "done" if error is None else "failed",
                order.by,
                source,
                error,
            )
        )
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
