"""Alarms: something waits too long, a program fails again and again, a turn goes quiet.

They are found in the events, as these are emitted; what they were about ends them.
"""

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Deadline, Due
from tapui.projection.now import loop_of
from tapui.projection.state import is_unsettled
from tapui.projection.words import CONTEXT_FULL, CONTEXT_HIGH, context_share
from tapui.settings.settings import Alarming
from tapui.wire import events as ev
from tapui.wire.subjects import Alarm, Session

_MINUTE = 60.0


@dataclass(slots=True, eq=False)
class BusySession:
    """A session with a turn under way: when something happened in it last, and its alarms."""

    id: str
    last: float
    deadline: Deadline | None = None
    quiet: Alarm | None = None
    failing: Alarm | None = None


@dataclass(slots=True, eq=False)
class WaitingRequest:
    """An approval that waits for the person."""

    id: str
    deadline: Deadline | None = None
    alarm: Alarm | None = None


class Alarms:
    """Looks at each event once it is folded. A setting of 0, or false, switches an alarm off."""

    def __init__(self, context: CoreContext, *, setting: Alarming) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._ids = context.ids
        self._waiting_time = setting.waiting * _MINUTE
        self._quiet_time = setting.quiet * _MINUTE
        self._looks_for_loops = setting.failing
        self._busy: dict[str, BusySession] = {}
        self._waiting: dict[str, WaitingRequest] = {}
        self._full: dict[str, Alarm] = {}
        """The alarms about contexts that are nearly full, by session."""
        self._table: dict[type[ev.Event], Any] = {
            ev.SessionOpened: self._session,
            ev.SessionUpdated: self._session,
            ev.SessionReplaced: self._replaced,
            ev.SessionClosed: self._closed,
            ev.CallFinished: self._call_finished,
            ev.ApprovalRequested: self._asked,
            ev.ApprovalDeciding: self._answered,
            ev.ApprovalRevealed: self._answered,
            ev.ApprovalDecided: self._answered,
            ev.ApprovalWithdrawn: self._answered,
            ev.ApprovalExpired: self._answered,
        }
        self._out.watch(self.happened)

    def happened(self, event: ev.Event) -> None:
        """Look at an event. This runs for each event of the gateway."""
        kind = type(event)
        handle = self._table.get(kind)
        if handle is not None:
            handle(event)
        if not self._busy or kind is ev.AlarmRaised or kind is ev.AlarmCleared:
            return
        busy = self._busy.get(getattr(event, "session_id", None) or "")
        if busy is not None:
            busy.last = self._clock.now
            if busy.quiet is not None:
                self._clear(busy.quiet)
                busy.quiet = None
                self._listen(busy)

    # Turns

    def _session(self, event: ev.SessionOpened | ev.SessionUpdated) -> None:
        session: Session = event.session
        self._context(session)
        if session.state != "busy":
            self._rests(session.id)
        elif session.id not in self._busy:
            busy = self._busy[session.id] = BusySession(session.id, self._clock.now)
            self._listen(busy)

    def _replaced(self, event: ev.SessionReplaced) -> None:
        self._rests(event.replaces)
        self._has_room(event.replaces)

    def _closed(self, event: ev.SessionClosed) -> None:
        self._rests(event.session_id)
        self._has_room(event.session_id)

    def _context(self, session: Session) -> None:
        """One alarm while a context is nearly full; it ends once there is room again."""
        share = context_share(session.context)
        if share is None or (share >= CONTEXT_FULL) == (session.id in self._full):
            return
        if share >= CONTEXT_FULL:
            alarm = Alarm(self._ids.id("al"), "context", self._clock.timestamp(), session.id)
            self._full[session.id] = self._raise(replace(alarm, why=f"{share:.0%}"))
        elif share < CONTEXT_HIGH:
            self._has_room(session.id)

    def _has_room(self, session_id: str) -> None:
        if (alarm := self._full.pop(session_id, None)) is not None:
            self._clear(alarm)

    def _rests(self, session_id: str) -> None:
        """No turn of a session is under way."""
        busy = self._busy.pop(session_id, None)
        if busy is None:
            return
        self._deadlines.cancel(busy.deadline)
        for alarm in (busy.quiet, busy.failing):
            if alarm is not None:
                self._clear(alarm)

    def _listen(self, busy: BusySession) -> None:
        if self._quiet_time:
            when = busy.last + self._quiet_time
            busy.deadline = self._deadlines.add(when, Due.QUIET, busy)

    def quiet_due(self, busy: BusySession) -> None:
        """A turn may have been without an event for long; one that waits for the person is not."""
        approvals = self._out.state.approvals.values()
        if any(one.session_id == busy.id and is_unsettled(one) for one in approvals):
            busy.last = self._clock.now
        # Compared as it was set: the difference of the times may be rounded to a little less.
        if self._clock.now < busy.last + self._quiet_time:
            self._listen(busy)
            return
        since = self._clock.timestamp(busy.last - self._clock.now)
        busy.quiet = self._raise(Alarm(self._ids.id("al"), "quiet", since, busy.id))

    # Failures

    def _call_finished(self, event: ev.CallFinished) -> None:
        busy, call = self._busy.get(event.session_id), event.call
        turns = self._out.state.turns.get(event.session_id)
        turn = turns.running if turns is not None else None
        may_have_failed = call.state == "failed" or call.exit_code
        if busy is None or turn is None or not may_have_failed or not self._looks_for_loops:
            return
        loop = loop_of(turn)
        if loop is None:
            return
        known = busy.failing
        if known is not None and (known.program, known.times) == (loop.program, loop.times):
            return
        id_ = known.id if known is not None else self._ids.id("al")
        alarm = Alarm(id_, "failing", turn.started_at, busy.id)
        current = replace(alarm, program=loop.program, exit_code=loop.exit_code, times=loop.times)
        busy.failing = self._raise(current)

    # Requests

    def _asked(self, event: ev.ApprovalRequested) -> None:
        if self._waiting_time:
            waiting = self._waiting[event.approval.id] = WaitingRequest(event.approval.id)
            # One that was asked before its host came has waited already.
            waited = -(self._clock.until(event.approval.created_at) or 0.0)
            when = self._clock.now + max(self._waiting_time - waited, 0.0)
            waiting.deadline = self._deadlines.add(when, Due.WAITING, waiting)

    def _answered(self, event: ev.ApprovalEvent | ev.ApprovalDeciding) -> None:
        waiting = self._waiting.pop(event.approval.id, None)
        if waiting is not None:
            self._deadlines.cancel(waiting.deadline)
            if waiting.alarm is not None:
                self._clear(waiting.alarm)

    def waiting_due(self, waiting: WaitingRequest) -> None:
        """Something has waited for the person for long."""
        approval = self._out.state.approvals.get(waiting.id)
        if approval is not None:
            alarm = Alarm(
                self._ids.id("al"),
                "waiting",
                approval.created_at,
                approval.session_id,
                approval_id=approval.id,
            )
            waiting.alarm = self._raise(alarm)

    # Telling

    def _raise(self, alarm: Alarm) -> Alarm:
        self._out.emit(ev.AlarmRaised(alarm=alarm, session_id=alarm.session_id))
        return alarm

    def _clear(self, alarm: Alarm) -> None:
        self._out.emit(ev.AlarmCleared(alarm=alarm, session_id=alarm.session_id))
