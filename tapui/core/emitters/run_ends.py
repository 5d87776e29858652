"""How a run ends, and what follows by its schedule, or because the person said so."""

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.emitters.given import RunEnd
from tapui.core.emitters.lines import EmitterLines
from tapui.core.emitters.live import LiveEmitter, added
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.run_beginnings import STILL_ENDING, RunBeginnings
from tapui.core.emitters.run_waits import RunWaits
from tapui.core.emitters.run_words import (
    code_of,
    fault_of,
    fault_with_last_words,
    how_it_ended,
    status_of,
)
from tapui.core.emitters.schedules import (
    is_used_up,
    pause_after,
    pause_after_exit,
    pause_after_loss,
    span_in_words,
)
from tapui.core.traces.traces import Traces
from tapui.wire import limits
from tapui.wire.emitters import RunStatus


class RunEnds:
    """Takes the ends of runs."""

    def __init__(
        self,
        context: CoreContext,
        *,
        emitters: Emitters,
        lines: EmitterLines,
        traces: Traces,
        waits: RunWaits,
        beginnings: RunBeginnings,
    ) -> None:
        self._clock = context.clock
        self._emitters = emitters
        self._lines = lines
        self._traces = traces
        self._waits = waits
        self._beginnings = beginnings

    def ended(self, run_id: str, end: RunEnd) -> None:
        """A run has ended; all of its lines have come."""
        former = self._emitters.ending.pop(run_id, None)
        if former is not None:
            self._ended_late(former)
            return
        emitter = self._emitters.by_run.pop(run_id, None)
        if emitter is not None and emitter.run is not None:
            self.close(emitter, end)

    def _ended_late(self, former: tuple[str, str]) -> None:
        """The run of an emitter that is gone has ended: one of the same name may have waited."""
        for emitter in list(self._emitters.by_id.values()):
            if emitter.place == former and emitter.why == STILL_ENDING:
                self._beginnings.prepare(emitter)

    def close(self, emitter: LiveEmitter, end: RunEnd) -> None:
        """Close the run of an emitter, and let follow what is due."""
        run, emitter.run = emitter.run, None
        assert run is not None, "something ran"
        emitter.check = None  # whether it still may run is found out before the next one
        if not end.is_lost:
            run.counts = end.counts
        run.counts = replace(
            run.counts, lines=max(run.counts.lines, run.counts.dropped + run.tally.total)
        )
        emitter.counts = added(emitter.counts, run)
        status = status_of(run, end)
        emitter.last_status, emitter.exit_code, emitter.signal = status, end.code, end.signal
        is_failure = status in ("failure", "lost")
        emitter.failures = emitter.failures + 1 if is_failure else 0
        is_soon = self._clock.now - run.began < limits.PROVIDER_STEADY
        emitter.ends_soon = emitter.ends_soon + 1 if is_soon else 0
        emitter.error = fault_with_last_words(end) if is_failure else None
        self._traces.run_ended(emitter, run, status, code_of(end))
        if emitter.aim != "go on":
            self._aimed(emitter)
        else:
            self._next(emitter, end, status)

    def _aimed(self, emitter: LiveEmitter) -> None:
        """Do what was wanted after the run."""
        if emitter.aim == "restart":
            self._beginnings.start(emitter)
        elif emitter.aim == "pause":
            if is_used_up(emitter.plan, emitter.runs):
                self._complete(emitter)
            else:
                self._emitters.set(emitter, "paused")
        else:
            self._lines.say(emitter, "stopped")
            self._emitters.set(emitter, "stopped")

    def _next(self, emitter: LiveEmitter, end: RunEnd, status: RunStatus) -> None:
        """Let the schedule say what follows a run that has ended by itself."""
        plan, fault = emitter.plan, fault_of(end)
        if plan.kind == "provider":
            self._again(emitter, end, fault)
        elif plan.kind == "continuous":
            if end.is_lost:
                self._lost(emitter)
            elif end.error is not None:
                self._lines.say(emitter, f"failed: {end.error}", is_fault=True)
                self._emitters.set(emitter, "error", fault)
            else:
                is_fault = status == "failure"
                self._lines.say(emitter, f"exited {how_it_ended(end)}", is_fault=is_fault)
                self._emitters.set(emitter, "exited")
        elif plan.kind == "oneTime":
            if fault is not None:
                self._lines.say(emitter, f"failed: {fault}", is_fault=True)
                self._emitters.set(emitter, "error", fault)
            else:
                self._complete(emitter)
        else:
            if fault is not None:
                # The first of several in a row: the others are in the stream, too, and wake nobody.
                is_first = emitter.failures == 1
                self._lines.say(emitter, f"run failed: {fault}", is_fault=is_first)
            if is_used_up(plan, emitter.runs):
                self._complete(emitter)
            elif plan.kind == "idle":
                self._emitters.set(emitter, "waiting")
                self._waits.session_idle(emitter.session)
            else:
                pause = pause_after(plan, emitter.failures)
                self._waits.wait(emitter, pause, fault)

    def _again(self, emitter: LiveEmitter, end: RunEnd, fault: str | None) -> None:
        """A provider has ended: it is started again for as long as its session is there."""
        pause = pause_after_exit(emitter.ends_soon)
        how = fault or f"exited {how_it_ended(end)}"
        self._lines.say(emitter, f"{how}; starts again in {span_in_words(pause)}")
        self._waits.wait(emitter, pause, how)

    def _lost(self, emitter: LiveEmitter) -> None:
        pause = pause_after_loss(emitter.plan, emitter.failures)
        words = span_in_words(pause)
        self._lines.say(emitter, f"lost: {emitter.error}; next in {words}", is_fault=True)
        self._waits.wait(emitter, pause, emitter.error)

    def _complete(self, emitter: LiveEmitter) -> None:
        if emitter.plan.kind == "oneTime":
            self._lines.say(emitter, "completed one run")
        else:
            self._lines.say(emitter, f"completed {emitter.runs} of {emitter.plan.max_runs} runs")
        self._emitters.set(emitter, "completed")
