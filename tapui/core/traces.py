"""Traces: one span for each turn, subagent, gate, wait for a place, call, prompt, run and batch of
lines.

A call has the trace of the `traceparent` that came with it (W3C Trace Context, version 00, strictly
read), else that of its session's turn. A turn takes the first trace that comes from outside; until
there is one, or a call without one, its spans wait. A turn that a prompt of the gateway begins in a
session that was started here has its trace before: the prompt goes with it. Spans name tools,
providers and ids; they hold no argument, result or prompt, and of errors only the last line on
stderr of a run that failed.
"""

import re
from typing import NamedTuple

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.emitters.emitter import LiveEmitter, LiveRun
from tapui.core.model import (
    AgentTrace,
    HeldInject,
    Inquiry,
    NativeCall,
    OpenSession,
    PendingCall,
    TurnTrace,
)
from tapui.core.streams.streams import full_name
from tapui.projection.turns.turn import LiveTurn
from tapui.wire import limits
from tapui.wire.emitters import RunStatus
from tapui.wire.errors import CallError
from tapui.wire.events import SpanEnded, SpansExported
from tapui.wire.message import BUILTIN_PROVIDER
from tapui.wire.subjects import Call, Span, SpanExport, SpanName, SpanStatus

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


_STATUSES: dict[str | None, SpanStatus] = {
    None: "ok",
    CallError.CANCELLED: "cancelled",
    CallError.STOPPED: "cancelled",
    CallError.DENIED: "denied",
}
"""By the error code of a call; others are errors."""
_CODES: dict[str | None, str | None] = {None: None} | {str(code): str(code) for code in CallError}
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
        self._room = self._route_room = 0
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
                duration=_milliseconds(self._clock.now - call.started),
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
            duration=_milliseconds(self._clock.now - call.sent),
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
            agent = self.agent_span(call.session, call.view.agent_id)
            call.trace_id, call.parent_id = turn.trace_id, agent or turn.span_id

    # Calls of a session's own tools, and its subagents

    def own_ended(
        self, session: OpenSession, tool_call_id: str, native: NativeCall, call: Call
    ) -> None:
        """A call of a session's own tools has ended, or was given up."""
        if not self._is_on or not self._has_room(session):
            return
        turn = native.trace
        trace_id = turn.trace_id if turn is not None else ""
        span = Span(
            trace_id=trace_id,
            span_id=self._ids.span(),
            parent_id=native.parent_id or (turn.span_id if turn is not None else None),
            name="tool",
            started_at=call.started_at,
            duration=_milliseconds(self._clock.now - native.started),
            status=_STATUSES.get(call.error_code, "error"),
            code=_CODES.get(call.error_code, _OTHER_CODE),
            tool=call.tool,
            call_id=call.id,
            agent_id=call.agent_id,
            tool_call_id=tool_call_id,
        )
        if trace_id:
            self._emit(session, span)
        else:
            self._add(session, span, turn)

    def agent_span(self, session: OpenSession, agent_id: str | None) -> str | None:
        """Return the span of a subagent at work; None for the session's own agent."""
        known = session.agents_traced.get(agent_id) if agent_id is not None else None
        return known.span_id if known is not None else None

    def agent_began(
        self, session: OpenSession, child_id: str, agent: str, tool_call_id: str | None
    ) -> None:
        """A subagent is at work; `tool_call_id` is the call that launched it."""
        if not self._is_on:
            return
        if child_id in session.agents_traced:
            self.agents_ended(session, "cancelled", child_id=child_id)
        elif len(session.agents_traced) >= limits.MAX_SUBAGENTS:
            self.agents_ended(session, "cancelled", child_id=next(iter(session.agents_traced)))
        launch = session.native_calls.get(tool_call_id) if tool_call_id is not None else None
        session.agents_traced[child_id] = AgentTrace(
            agent=agent,
            tool_call_id=tool_call_id,
            span_id=self._ids.span(),
            parent_id=launch.parent_id if launch is not None else None,
            trace=session.trace,
            started=self._clock.now,
            started_at=self._clock.timestamp(),
        )

    def agents_ended(
        self,
        session: OpenSession,
        status: SpanStatus,
        *,
        child_id: str | None = None,
        tool_call_id: str | None = None,
    ) -> None:
        """Subagents of a session have ended: that of a child session, those that a call launched,
        or all."""
        for id_, agent in list(session.agents_traced.items()):
            is_one = child_id in (None, id_) and tool_call_id in (None, agent.tool_call_id)
            if not is_one:
                continue
            del session.agents_traced[id_]
            if not self._is_wanted(session, None):
                continue
            turn = agent.trace
            span = Span(
                trace_id="",
                span_id=agent.span_id,
                parent_id=agent.parent_id,
                name="agent",
                started_at=agent.started_at,
                duration=_milliseconds(self._clock.now - agent.started),
                status=status,
                agent_id=id_,
                agent=agent.agent,
                tool_call_id=agent.tool_call_id,
            )
            self._add(session, span, turn)

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
            duration=_milliseconds(self._clock.now - inquiry.began),
            status="denied" if view.state == "deny" else "ok",
            tool=view.tool,
            provider=", ".join(view.providers)[: limits.MAX_NAME],
        )
        self._add(inquiry.session, span, inquiry.session.trace)

    def prompt_began(self, session: OpenSession) -> None:
        """A prompt is on its way to a session: spans until its turn begins belong to that. In the
        session `local` none will begin."""
        is_wanted = self._is_on and session.is_open and not session.is_local
        if is_wanted and session.trace is None:
            session.trace = TurnTrace(self._ids.span())

    def sent_along(self, session: OpenSession, run: tuple[str, str] | None = None) -> str | None:
        """Return the `traceparent` of the turn that a prompt of the gateway begins, or goes into.

        None but for sessions that were started here. `run` is that of the emitter whose prompt it
        is: its trace is the turn's.
        """
        if not session.view.headless:
            return None
        self.prompt_began(session)
        turn = session.trace
        if turn is None:
            return None
        if not turn.trace_id:
            self._settle(session, turn, run[0] if run is not None else self._ids.trace())
        return written(turn.trace_id, turn.span_id)

    def exported(self, export: SpanExport) -> None:
        """Record how the live export of spans goes."""
        self._out.emit(SpansExported(export))

    def first_turn(self) -> TurnTrace | None:
        """Return the trace of the first turn of a session that is to be started with a prompt."""
        return TurnTrace(self._ids.span(), self._ids.trace()) if self._is_on else None

    def prompt_ended(self, session: OpenSession, began: tuple[float, str]) -> None:
        """A prompt was prepared. `began` is the clock's time then, and the same as RFC 3339."""
        if not self._is_wanted(session, None):
            return
        span = Span(
            trace_id="",
            span_id=self._ids.span(),
            name="prompt",
            started_at=began[1],
            duration=_milliseconds(self._clock.now - began[0]),
        )
        self._add(session, span, session.trace)

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
            duration=_milliseconds(self._clock.now - began[0]),
            status="ok" if is_ok else "error",
            provider=inject.source.label if parent is None else None,
            emitter=inject.source.name if parent is not None else None,
        )
        self._add(session, span, session.trace)

    # Emitters

    def routed(self, emitter: LiveEmitter, run: LiveRun, *, is_last: bool = False) -> None:
        """Lines of a run were taken since the last time. Where there are too many spans of such
        batches, the lines join the next one, but for the run's last."""
        batch = run.batch
        if batch is None or not self._has_route_room(is_last=is_last):
            return
        if not self._is_wanted(emitter.session, None):
            return
        run.batch = None
        tally, before = run.tally, batch.before
        lines = max(run.counts.lines, run.counts.dropped + tally.total) - run.routed
        run.routed += lines
        span = Span(
            trace_id=run.trace_id,
            span_id=self._ids.span(),
            parent_id=run.span_id,
            name="route",
            started_at=batch.began_at,
            duration=_milliseconds(batch.ended - batch.began),
            emitter=emitter.name,
            emitter_id=emitter.stable_id,
            run=run.number,
            stream=full_name(emitter.stream, BUILTIN_PROVIDER),
            from_seq=batch.first,
            to_seq=batch.last,
            lines=lines,
            kept=tally.kept - before.kept,
            surfaced=tally.surfaced - before.surfaced,
            injected=tally.injected - before.injected,
            held=tally.held - before.held,
        )
        self._emit(emitter.session, span)

    def _has_route_room(self, *, is_last: bool) -> bool:
        if self._clock.now >= self._second_ends:
            self._begin_second()
        if self._route_room > 0:
            self._route_room -= 1
            return True
        return is_last

    def run_ended(
        self,
        emitter: LiveEmitter,
        run: LiveRun,
        status: RunStatus,
        code: str,
        error: str | None = None,
    ) -> None:
        """A run of an emitter has ended; its counts are known."""
        self.routed(emitter, run, is_last=True)
        if not self._is_wanted(emitter.session, None):
            return
        is_command = emitter.plan.command is not None
        span = Span(
            trace_id=run.trace_id,
            span_id=run.span_id,
            name="emitter",
            started_at=run.began_at,
            duration=_milliseconds(self._clock.now - run.began),
            status=_OF_RUN[status],
            code=code or None,
            emitter=emitter.name,
            emitter_id=emitter.stable_id,
            run=run.number,
            lines=run.counts.lines if is_command else None,
            kept=run.tally.kept if is_command else None,
            surfaced=run.tally.surfaced if is_command else None,
            injected=run.tally.injected if is_command else None,
            held=run.tally.held if is_command else None,
            error=error,
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
        """The turn of a session ends with it, and so do its subagents."""
        self.agents_ended(session, "cancelled")
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
            duration=_milliseconds(self._clock.now - trace.started),
            status=_OF_TURN.get(turn.state, "cancelled") if turn is not None else "cancelled",
            turn=turn.number if turn is not None else None,
            dropped=trace.dropped,
            model=session.view.model,
            usage=turn.usage if turn is not None and turn.usage.calls else None,
        )
        self._emit(session, span)

    def _turn(self, session: OpenSession, trace: TurnTrace) -> LiveTurn | None:
        turns = self._out.state.turns.get(session.id)
        known = reversed(turns.turns) if turns is not None else ()
        return next((one for one in known if one.started_at == trace.started_at), None)

    # Spans

    def _add(self, session: OpenSession, span: Span, turn: TurnTrace | None) -> None:
        """Record a span of a turn, once it is known which trace that has."""
        if span.trace_id:
            if turn is not None and not turn.trace_id:
                self._settle(session, turn, span.trace_id)
        elif turn is None:
            span = replace(span, trace_id=self._ids.trace())
        elif turn.trace_id:
            span = _of_turn(span, turn)
        elif len(turn.waiting) < limits.MAX_WAITING_SPANS:
            turn.waiting.append(span)
            return
        else:
            self._settle(session, turn, self._ids.trace())
            span = _of_turn(span, turn)
        self._emit(session, span)

    def _settle(self, session: OpenSession, turn: TurnTrace, trace_id: str) -> None:
        """A turn's trace is known: so is that of the spans that wait for it."""
        turn.trace_id = trace_id
        waiting, turn.waiting = turn.waiting, []
        for span in waiting:
            self._emit(session, _of_turn(span, turn))

    def _is_wanted(self, session: OpenSession, parent: TraceParent | None) -> bool:
        """Return whether a span is recorded. Follows the caller's sampled flag."""
        if not self._is_on or (parent is not None and not parent.is_sampled):
            return False
        return self._has_room(session)

    def _has_room(self, session: OpenSession) -> bool:
        """Return whether one more span is recorded now; one that is not is counted."""
        if self._clock.now >= self._second_ends:
            self._begin_second()
        if self._room > 0:
            self._room -= 1
            return True
        if session.trace is not None:
            session.trace.dropped += 1
        else:
            session.spans_dropped += 1
        return False

    def _begin_second(self) -> None:
        self._second_ends = self._clock.now + 1.0
        self._room, self._route_room = limits.MAX_SPANS, limits.MAX_ROUTE_SPANS

    def _emit(self, session: OpenSession, span: Span) -> None:
        if session.spans_dropped:
            span = replace(span, dropped=span.dropped + session.spans_dropped)
            session.spans_dropped = 0
        self._out.emit(SpanEnded(span, session.id), is_watched=False)


def _of_turn(span: Span, turn: TurnTrace) -> Span:
    """Return a span with its turn's trace, below the turn where it has no other parent."""
    return replace(span, trace_id=turn.trace_id, parent_id=span.parent_id or turn.span_id)


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
        status=_STATUSES.get(view.error_code, "error"),
        code=_CODES.get(view.error_code, _OTHER_CODE),
        tool=view.tool,
        provider=call.provider.label,
        call_id=view.id,
        agent_id=view.agent_id,
    )


def _milliseconds(seconds: float) -> float:
    """Return seconds as milliseconds, to the microsecond."""
    return int(seconds * 1e6 + 0.5) / 1000
