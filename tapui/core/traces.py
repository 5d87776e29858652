"""Traces: one span for each turn, gate, wait for a place, call at a provider, and prompt.

A call has the trace of the `traceparent` that came with it (W3C Trace Context, version 00, strictly
read), else that of its session's turn. A turn takes the first trace that comes from outside; until
there is one, or a call without one, its spans wait. Spans name tools, providers and ids; they hold
no argument, result, prompt or error text.
"""

import re
from typing import NamedTuple

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.emitters.emitter import LiveEmitter, LiveRun
from tapui.core.model import HeldInject, Inquiry, OpenSession, PendingCall, TurnTrace
from tapui.projection.turns.turn import LiveTurn
from tapui.wire import limits
from tapui.wire.emitters import RunStatus
from tapui.wire.errors import CallError
from tapui.wire.events import SpanEnded
from tapui.wire.subjects import Call, Span, SpanName, SpanStatus

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
_SAMPLED = 1


class TraceParent(NamedTuple):
    """A span of another program: ids in lower-case hexadecimal, and whether it is recorded."""

    trace_id: str
    span_id: str
    is_sampled: bool


def parse(text: str) -> TraceParent | None:
    """Return what a `traceparent` says; None for anything else than one of version 00."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    trace_id, span_id, flags = match.groups()
    if trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    return TraceParent(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


def written(trace_id: str, span_id: str) -> str:
    """Return the `traceparent` of a span that is recorded."""
    return f"00-{trace_id}-{span_id}-01"


_CODES = frozenset(str(code) for code in CallError)
_OTHER_CODE = "OTHER"
"""Stands for a code that a provider made up: it may say anything."""
_OF_RUN: dict[RunStatus, SpanStatus] = {
    "success": "ok",
    "failure": "error",
    "lost": "error",
    "stopped": "cancelled",
}
_OF_TURN: dict[str, SpanStatus] = {"done": "ok", "failed": "error"}


class Traces:
    """Makes the spans. Without `is_on` there are none: what comes from outside is handed on."""

    def __init__(self, context: CoreContext, *, is_on: bool) -> None:
        self._clock, self._out, self._ids = context.clock, context.out, context.ids
        self._is_on = is_on
        self._room = 0
        self._second_ends = 0.0

    # Calls

    def sent(self, call: PendingCall) -> str | None:
        """Begin the span of a call that goes to its provider; return its `traceparent`."""
        traceparent = call.invoke.traceparent
        parent = parse(traceparent) if traceparent is not None else None
        if not self._is_wanted(call.session, parent):
            return traceparent if parent is not None else None
        self._place_call(call, parent)
        call.span_id = self._ids.span()
        call.sent, call.sent_at = self._clock.now, self._clock.timestamp()
        return written(call.trace_id, call.span_id)

    def left_queue(self, call: PendingCall) -> None:
        """A call goes to its provider, or has ended, after it waited for a place."""
        traceparent = call.invoke.traceparent
        parent = parse(traceparent) if traceparent is not None else None
        if not self._is_wanted(call.session, parent):
            return
        self._place_call(call, parent)
        self._emit(
            call.session,
            _of_call(
                "queue",
                call,
                span_id=self._ids.span(),
                started_at=call.view.started_at,
                duration=self._since(call.started),
            ),
        )

    def ended(self, call: PendingCall) -> None:
        """A call that was sent to its provider has ended, as its view says."""
        if not call.span_id:
            return
        span = _of_call(
            "provider",
            call,
            span_id=call.span_id,
            started_at=call.sent_at,
            duration=self._since(call.sent),
        )
        call.span_id = ""
        self._emit(call.session, span)

    def _place_call(self, call: PendingCall, parent: TraceParent | None) -> None:
        if call.trace_id:
            return
        if parent is None and call.session.trace is None:
            call.trace_id = self._ids.trace()
            return
        if parent is not None:
            call.trace_id, call.parent_id = parent.trace_id, parent.span_id
        turn = call.session.trace
        if turn is None:
            return
        if not turn.trace_id:
            self._settle(call.session, turn, call.trace_id or self._ids.trace())
        if parent is None:
            call.trace_id, call.parent_id = turn.trace_id, turn.span_id

    # Gates and prompts

    def gate_ended(self, inquiry: Inquiry) -> None:
        """The providers that were asked about a call have decided, or their time is over."""
        view = inquiry.view
        traceparent = inquiry.invoke.traceparent if inquiry.invoke is not None else None
        parent = parse(traceparent) if traceparent is not None else None
        if view is None or not self._is_wanted(inquiry.session, parent):
            return
        span = Span(
            trace_id=parent.trace_id if parent is not None else "",
            span_id=self._ids.span(),
            parent_id=parent.span_id if parent is not None else None,
            name="gate",
            started_at=view.started_at,
            duration=self._since(inquiry.began),
            status="denied" if view.state == "deny" else "ok",
            tool=view.tool,
            provider=", ".join(view.providers)[: limits.MAX_NAME],
        )
        self._add(inquiry.session, span)

    def prompt_began(self, session: OpenSession) -> None:
        """A prompt is on its way to a session: spans until its turn begins belong to that."""
        if self._is_on and session.trace is None and session.is_open:
            session.trace = TurnTrace(self._ids.span())

    def prompt_ended(self, session: OpenSession, began: tuple[float, str]) -> None:
        """A prompt was prepared. `began` is the clock's time then, and the same as RFC 3339."""
        if not self._is_wanted(session, None):
            return
        span = Span(
            trace_id="",
            span_id=self._ids.span(),
            name="prompt",
            started_at=began[1],
            duration=self._since(began[0]),
        )
        self._add(session, span)

    def dispatched(self, session: OpenSession, inject: HeldInject, *, is_ok: bool) -> None:
        """An inject has led to a turn, or to none.

        That of an emitter belongs to the trace of its run, and so does the turn.
        """
        if not self._is_wanted(session, None):
            return
        parent, began = inject.parent, session.dispatched
        span = Span(
            trace_id=parent[0] if parent is not None else "",
            span_id=self._ids.span(),
            parent_id=parent[1] if parent is not None else None,
            name="dispatch",
            started_at=began[1],
            duration=self._since(began[0]),
            status="ok" if is_ok else "error",
            provider=inject.source.label if parent is None else None,
            emitter=inject.source.name if parent is not None else None,
        )
        self._add(session, span)

    # Emitters

    def run_ended(self, emitter: LiveEmitter, run: LiveRun, status: RunStatus, code: str) -> None:
        """A run of an emitter has ended; its counts are known."""
        if not self._is_wanted(emitter.session, None):
            return
        is_command = emitter.plan.command is not None
        span = Span(
            trace_id=run.trace_id,
            span_id=run.span_id,
            name="emitter",
            started_at=run.began_at,
            duration=self._since(run.began),
            status=_OF_RUN[status],
            code=code or None,
            emitter=emitter.name,
            run=run.number,
            lines=run.counts.lines if is_command else None,
            kept=run.tally.kept if is_command else None,
            surfaced=run.tally.surfaced if is_command else None,
            injected=run.tally.injected if is_command else None,
        )
        self._emit(emitter.session, span)

    # Turns

    def follow(self, session: OpenSession) -> None:
        """Begin and end the span of a session's turn, as its events say."""
        if not self._is_on:
            return
        turns = self._out.state.turns.get(session.id)
        running = turns.running if turns is not None else None
        known = session.trace
        began = running.started_at if running is not None else ""
        if known is None:
            if running is None:
                return
            known = session.trace = TurnTrace(self._ids.span())
        elif known.started_at == began:
            return
        elif known.started_at:
            self._turn_ended(session, known)
            if running is None:
                return
            known = session.trace = TurnTrace(self._ids.span())
        known.started, known.started_at = self._clock.now, began

    def session_ended(self, session: OpenSession) -> None:
        """The turn of a session ends with it."""
        if session.trace is not None:
            self._turn_ended(session, session.trace)

    def _turn_ended(self, session: OpenSession, trace: TurnTrace) -> None:
        self._settle(session, trace, trace.trace_id or self._ids.trace())
        session.trace = None
        if not trace.started_at:
            return  # the prompt led to none
        turn = self._turn(session, trace)
        span = Span(
            trace_id=trace.trace_id,
            span_id=trace.span_id,
            name="turn",
            started_at=trace.started_at,
            duration=self._since(trace.started),
            status=_OF_TURN.get(turn.state, "cancelled") if turn is not None else "cancelled",
            turn=turn.number if turn is not None else None,
            dropped=trace.dropped,
        )
        self._emit(session, span)

    def _turn(self, session: OpenSession, trace: TurnTrace) -> LiveTurn | None:
        turns = self._out.state.turns.get(session.id)
        known = reversed(turns.turns) if turns is not None else ()
        return next((one for one in known if one.started_at == trace.started_at), None)

    # Spans

    def _add(self, session: OpenSession, span: Span) -> None:
        """Record a span of a session's turn, once it is known which trace that has."""
        turn = session.trace
        if span.trace_id:
            if turn is not None and not turn.trace_id:
                self._settle(session, turn, span.trace_id)
        elif turn is None:
            span = replace(span, trace_id=self._ids.trace())
        elif turn.trace_id:
            span = replace(span, trace_id=turn.trace_id, parent_id=turn.span_id)
        elif len(turn.waiting) < limits.MAX_WAITING_SPANS:
            turn.waiting.append(span)
            return
        else:
            self._settle(session, turn, self._ids.trace())
            span = replace(span, trace_id=turn.trace_id, parent_id=turn.span_id)
        self._emit(session, span)

    def _settle(self, session: OpenSession, turn: TurnTrace, trace_id: str) -> None:
        """A turn's trace is known: so is that of the spans that wait for it."""
        turn.trace_id = trace_id
        waiting, turn.waiting = turn.waiting, []
        for span in waiting:
            self._emit(session, replace(span, trace_id=trace_id, parent_id=turn.span_id))

    def _is_wanted(self, session: OpenSession, parent: TraceParent | None) -> bool:
        """Return whether a span is recorded. Follows the caller's sampled flag."""
        if not self._is_on or (parent is not None and not parent.is_sampled):
            return False
        now = self._clock.now
        if now >= self._second_ends:
            self._second_ends, self._room = now + 1.0, limits.MAX_SPANS
        if self._room > 0:
            self._room -= 1
            return True
        if session.trace is not None:
            session.trace.dropped += 1
        return False

    def _since(self, began: float) -> float:
        """Return the milliseconds since then, to the microsecond."""
        return int((self._clock.now - began) * 1e6 + 0.5) / 1000

    def _emit(self, session: OpenSession, span: Span) -> None:
        self._out.emit(SpanEnded(session_id=session.id, span=span))


def _of_call(
    name: SpanName, call: PendingCall, *, span_id: str, started_at: str, duration: float
) -> Span:
    view = call.view
    return Span(
        trace_id=call.trace_id,
        span_id=span_id,
        parent_id=call.parent_id,
        name=name,
        started_at=started_at,
        duration=duration,
        status=_status(view),
        code=_code(view),
        tool=view.tool,
        provider=call.provider.label,
        call_id=view.id,
        agent_id=view.agent_id,
    )


def _status(view: Call) -> SpanStatus:
    if view.error_code is None:
        return "ok"
    return "cancelled" if view.error_code == CallError.CANCELLED else "error"


def _code(view: Call) -> str | None:
    code = view.error_code
    return code if code is None or code in _CODES else _OTHER_CODE
