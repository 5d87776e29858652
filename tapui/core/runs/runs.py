"""The runs of emitters: what is wanted of them, how they begin and end, and what follows.

A run of a command is the runner's; a run of a prompt is an inject, and ends when the session has
taken it. A run never begins before the one before has ended.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.deadlines import Due
from tapui.core.effects import SetRunFilter, StartRun, StopRun
from tapui.core.emitters.emitter import LiveEmitter, LiveRun, added
from tapui.core.emitters.plans import (
    CannotStart,
    EmitterStanding,
    MayStart,
    MustAsk,
    interval_text,
)
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.start_requests import StartRequests
from tapui.core.model import HeldInject, OpenSession, Prompter
from tapui.core.runs.lines import EmitterLines
from tapui.core.runs.reports import (
    RunCounted,
    RunEnded,
    RunFiltered,
    RunLines,
    RunReport,
    RunStarted,
)
from tapui.core.runs.run_ends import (
    code_of,
    error_of,
    exit_words,
    fault_of,
    fault_with_last_words,
    status_of,
)
from tapui.core.runs.schedules import (
    beginning,
    is_used_up,
    pause_after,
    pause_after_exit,
    pause_after_loss,
)
from tapui.core.streams.injects import InjectFate, Injects
from tapui.core.streams.streams import Streams
from tapui.core.traces import Traces
from tapui.wire import limits
from tapui.wire.emitters import RunStatus
from tapui.wire.errors import WireError
from tapui.wire.host import Sender
from tapui.wire.message import BUILTIN_PROVIDER
from tapui.wire.provider import FilterRule

_GOING = frozenset(("running", "waiting", "queued"))
_STILL_ENDING = "the run before is still ending"


@dataclass(eq=False, repr=False)
class Runs(CorePart):
    """Starts, stops and changes the runs of emitters."""

    emitters: Emitters
    lines: EmitterLines
    start_requests: StartRequests
    streams: Streams
    injects: Injects
    traces: Traces

    def __post_init__(self) -> None:
        super().__post_init__()
        self.start_requests.on_checked = self._checked
        self.injects.became, self.injects.changed = self._became, self._brake_changed
        self.others: dict[str, Callable[[RunReport], None]] = {}
        """What takes the reports of runs that are no emitter's, by their ids."""

    # Orders

    def start(self, emitter: LiveEmitter, *, is_due: bool = False) -> None:
        """Start an emitter that is at rest: its runs are counted anew. One with a cron expression
        waits for its time, unless it `is_due`."""
        emitter.is_due = is_due
        emitter.runs = emitter.failures = emitter.ends_soon = 0
        emitter.error = None
        emitter.plan = emitter.entry.plan
        if not emitter.has_own_rules:
            emitter.rules = emitter.plan.rules
        emitter.aim = "go on"
        if emitter.plan.runs == "oneTime" and emitter.plan.every:
            self.emitters.rest(emitter)
            self._wait(emitter, float(emitter.plan.every))
        else:
            self._prepare(emitter)

    def stop(self, emitter: LiveEmitter) -> None:
        self.emitters.rest(emitter)
        self.start_requests.withdraw(emitter, "the emitter was stopped")
        emitter.aim = "stop"
        if emitter.run is None:
            self.emitters.set(emitter, "stopped")
        else:
            self._end_run(emitter)

    def pause(self, emitter: LiveEmitter) -> None:
        """Let no further run begin. What runs all the time, or waits to be sent, ends now."""
        self.emitters.rest(emitter)
        self.start_requests.withdraw(emitter, "the emitter was paused")
        emitter.aim = "pause"
        run = emitter.run
        if run is None:
            self.emitters.set(emitter, "paused")
        elif emitter.plan.runs in ("continuous", "provider") or (
            run.is_prompt and not run.is_started
        ):
            self._end_run(emitter)
        else:
            self.emitters.set(emitter, emitter.state, "it pauses after this run")

    def resume(self, emitter: LiveEmitter) -> None:
        """Go on after a pause, or before it has begun."""
        emitter.aim = "restart" if emitter.state == "stopping" else "go on"
        if emitter.run is None:
            self._prepare(emitter)
        else:
            self.emitters.set(emitter, emitter.state)

    def run_now(self, emitter: LiveEmitter) -> None:
        """Begin the next run of an emitter that waits for it, or is paused."""
        emitter.aim = "go on"
        emitter.is_due = True
        self._prepare(emitter)

    def restart(self, emitter: LiveEmitter) -> None:
        """Start an emitter anew, once the run under way has ended."""
        self.emitters.rest(emitter)
        self.start_requests.withdraw(emitter, "the emitter has changed")
        if emitter.run is None:
            self.start(emitter)
            return
        emitter.aim = "restart"
        self._end_run(emitter)

    def drop(self, emitter: LiveEmitter, reason: str) -> None:
        """Forget an emitter, and end what it runs. The end of its run is not reported."""
        run = emitter.run
        self.start_requests.withdraw(emitter, reason)
        self.injects.forget(emitter.session, emitter)
        emitter.held = None
        if run is not None:
            if not (run.is_prompt or run.is_stopping):
                self._out.effects.append(StopRun(run.id))
            if not run.is_prompt:
                self.emitters.ending[run.id] = emitter.place
            emitter.counts = added(emitter.counts, run)
            self.traces.run_ended(emitter, run, "stopped", "")
        self.emitters.remove(emitter, reason)

    def set_filter(self, emitter: LiveEmitter, rules: tuple[FilterRule, ...]) -> None:
        emitter.rules, emitter.has_own_rules = rules, True
        emitter.filter_version += 1
        if emitter.run is not None and not emitter.run.is_prompt:
            change = SetRunFilter(emitter.run.id, emitter.filter_version, rules)
            self._out.effects.append(change)
        self.emitters.show(emitter)

    # Beginning

    def due(self, emitter: LiveEmitter) -> None:
        """Begin the next run, whose time has come. A time of the calendar may have moved since."""
        if emitter.plan.cron and (self._clock.until(emitter.next_run_at or "") or 0.0) > 0:
            self._wait_for_time(emitter, emitter.plan.cron, emitter.why)
            return
        emitter.deadline = emitter.next_run_at = None
        emitter.is_due = True
        session = emitter.session
        if emitter.is_prompt and (session.is_busy or session.awaits_turn):
            self._defer(emitter)
        else:
            self._prepare(emitter)

    def _checked(self, emitter: LiveEmitter, is_again: bool, standing: EmitterStanding) -> None:
        """Take the shell's answer: whether an emitter may start, or still may."""
        if not is_again:
            self._settle(emitter, standing)
        elif isinstance(standing, MustAsk):
            if emitter.plan.is_folder_tools and emitter.run is not None:
                self.start_requests.ask_beside(emitter, standing)
            else:
                self.restart(emitter)
        elif (
            isinstance(standing, MayStart)
            and self.start_requests.withdraw(emitter, "its files are as you allowed them")
            is not None
        ):
            self.emitters.set(emitter, emitter.state)

    def check_again(self, emitter: LiveEmitter) -> None:
        """Find out whether an emitter may run on: files that its command names may have changed."""
        if emitter.source == "file" and emitter.check is None and emitter.state in _GOING:
            self.start_requests.check(emitter, is_again=True)

    def _prepare(self, emitter: LiveEmitter) -> None:
        """Begin a run, if it may: an entry of a file is checked before each."""
        self.emitters.rest(emitter)
        if emitter.place in self.emitters.ending.values():
            self.emitters.set(emitter, "queued", _STILL_ENDING)
            return
        self.emitters.set(emitter, "queued")
        if emitter.source == "file":
            self.start_requests.check(emitter)
        else:
            self._begin(emitter)

    def _settle(self, emitter: LiveEmitter, standing: EmitterStanding) -> None:
        """Begin the run, ask the person, or say why it cannot begin."""
        match standing:
            case MayStart(plan):
                emitter.plan = plan
                if not emitter.has_own_rules:
                    emitter.rules = plan.rules
                self._begin(emitter)
            case MustAsk():
                self.start_requests.ask(emitter, standing)
            case CannotStart(why):
                self._cannot_start(emitter, why)

    def _cannot_start(self, emitter: LiveEmitter, why: str) -> None:
        """Retry on schedule if it has one and has run before; otherwise set `error`."""
        emitter.error = why
        if emitter.plan.runs == "timed" and emitter.runs:
            emitter.failures += 1
            self.lines.say(emitter, f"cannot run: {why}", is_fault=emitter.failures == 1)
            self._wait_for_next(emitter, why)
        else:
            self.emitters.set(emitter, "error", why)

    def _defer(self, emitter: LiveEmitter) -> None:
        """Leave out a prompt that is due in a busy session, or let it wait until that is idle."""
        if emitter.plan.runs == "timed":
            cron, pause = emitter.plan.cron, float(emitter.plan.every or 1)
            words = f"by cron {cron}" if cron else f"in {interval_text(pause)}"
            self.lines.say(emitter, f"deferred: the session is busy; next {words}")
            if cron:
                self._wait_for_time(emitter, cron)
            else:
                self._wait(emitter, pause)
        else:
            self.emitters.set(emitter, "waiting", "the session is busy")

    def _begin(self, emitter: LiveEmitter) -> None:
        session, plan = emitter.session, emitter.plan
        if plan.cron and not emitter.is_due:
            self._wait_for_time(emitter, plan.cron)
            return
        is_busy = session.is_busy or session.awaits_turn
        if emitter.is_prompt and is_busy and plan.runs in ("timed", "idle"):
            if emitter.runs == 0 and not plan.cron:
                self.emitters.set(emitter, "waiting", "the session is busy")
            else:
                self._defer(emitter)
            return
        try:
            self.streams.require_room(session.id, emitter.stream, BUILTIN_PROVIDER)
        except WireError as error:
            emitter.error = error.text
            self.emitters.set(emitter, "error", error.text)
            return
        emitter.runs += 1
        emitter.is_due = False
        emitter.run = run = LiveRun(
            id=self._ids.id("r"),
            is_prompt=emitter.is_prompt,
            number=emitter.runs,
            began=self._clock.now,
            began_at=self._clock.timestamp(),
            trace_id=self._ids.trace(),
            span_id=self._ids.span(),
        )
        emitter.last_run_at = run.began_at
        emitter.parent = (run.trace_id, run.span_id)
        if run.number == 1:
            self.lines.say(emitter, beginning(emitter), run=run)
        if emitter.is_prompt:
            self._send(emitter)
        else:
            self.emitters.by_run[run.id] = emitter
            apart = emitter.session.id if emitter.session.is_apart else None
            start = StartRun(run.id, plan, emitter.rules, emitter.token, session=apart)
            self._out.effects.append(start)
            self.emitters.show(emitter)

    def _send(self, emitter: LiveEmitter) -> None:
        """Send a prompt, as soon as its session takes one. The brake is for what has no other end:
        a turn that leads to the next."""
        plan = emitter.plan
        is_endless = plan.runs == "idle" and plan.max_runs is None
        inject = HeldInject(
            Sender(BUILTIN_PROVIDER, emitter.stream),
            plan.prompt or "",
            emitter,
            is_braked=is_endless,
            parent=emitter.parent,
        )
        self.emitters.show(emitter)
        self.injects.inject(emitter.session, inject)

    # During a run

    def reported(self, report: RunReport) -> None:
        """Take a runner's report; those of a run that is forgotten are ignored."""
        is_end = isinstance(report, RunEnded)
        other = self.others.pop(report.run, None) if is_end else self.others.get(report.run)
        if other is not None:
            other(report)
            return
        if isinstance(report, RunEnded):
            self._ended(report)
            return
        emitter = self.emitters.by_run.get(report.run)
        if emitter is None or emitter.run is None:
            return
        match report:
            case RunStarted():
                emitter.run.is_started = True
                if not emitter.run.is_stopping:
                    self.emitters.set(emitter, "running", emitter.why)
            case RunLines():
                self.lines.take(emitter, emitter.run, report.lines)
            case RunCounted():
                emitter.run.counts = report.counts
                self.traces.routed(emitter, emitter.run)
                self.emitters.show_counts(emitter)
            case RunFiltered(version=version, error=error):
                if error is not None and version == emitter.filter_version:
                    emitter.error = f"the filter was not changed: {error}"
                    self.emitters.show(emitter)

    def _became(self, inject: HeldInject, fate: InjectFate) -> None:
        """Lines or a prompt were sent; then the session took them, or its host could not hand them
        over."""
        emitter = self.emitters.by_id.get(inject.source.id)
        if emitter is None:
            return
        if inject.lines is not None:
            self.lines.became(emitter, inject, fate)
        elif emitter.run is not None and emitter.run.is_prompt:
            self._prompt_became(emitter, emitter.run, fate)

    def _brake_changed(self, source: Prompter) -> None:
        emitter = self.emitters.by_id.get(source.id)
        if emitter is not None:
            emitter.is_braked = self.injects.is_paused(emitter.session, emitter)
            self.emitters.show(emitter)

    def _prompt_became(self, emitter: LiveEmitter, run: LiveRun, fate: InjectFate) -> None:
        if fate == "sent":
            run.is_started = True
            self.emitters.set(emitter, "running", emitter.why)
        elif fate == "refused":
            error = "the session's host could not send the prompt"
            self._close(emitter, RunEnded(run.id, error=error))
        else:
            self._close(emitter, RunEnded(run.id, code=0))

    # Ending

    def _ended(self, end: RunEnded) -> None:
        former = self.emitters.ending.pop(end.run, None)
        if former is not None:
            self._ended_late(former)
            return
        emitter = self.emitters.by_run.pop(end.run, None)
        if emitter is not None and emitter.run is not None:
            self._close(emitter, end)

    def _ended_late(self, former: tuple[str, str]) -> None:
        """Go on with an emitter that waited for the run of a former one of its name."""
        for emitter in list(self.emitters.by_id.values()):
            if emitter.place == former and emitter.why == _STILL_ENDING:
                self._prepare(emitter)

    def _end_run(self, emitter: LiveEmitter) -> None:
        """End the run under way; `aim` says what follows."""
        run = emitter.run
        assert run is not None, "something runs"
        if not run.is_stopping:
            run.is_stopping = True
            if run.is_prompt:
                # What was sent cannot be taken back; what was not, is not sent.
                self.injects.forget_prompt(emitter.session, emitter)
                self._close(emitter, RunEnded(run.id))
                return
            self._out.effects.append(StopRun(run.id))
        self.emitters.set(emitter, "stopping")

    def _close(self, emitter: LiveEmitter, end: RunEnded) -> None:
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
        self.traces.run_ended(emitter, run, status, code_of(end), error_of(end, status))
        if emitter.aim == "restart":
            self.start(emitter)
        elif emitter.aim == "pause":
            if is_used_up(emitter.plan, emitter.runs):
                self._complete(emitter, run)
            else:
                self.emitters.set(emitter, "paused")
        elif emitter.aim == "stop":
            self.lines.say(emitter, "stopped", run=run)
            self.emitters.set(emitter, "stopped")
        else:
            self._follow(emitter, run, end, status)

    def _follow(self, emitter: LiveEmitter, run: LiveRun, end: RunEnded, status: RunStatus) -> None:
        """Let the schedule decide what follows a run that has ended by itself."""
        plan, fault = emitter.plan, fault_of(end)
        if plan.runs == "provider":
            # It is started again for as long as its session is there.
            pause = pause_after_exit(emitter.ends_soon)
            how = fault or f"exited {exit_words(end)}"
            self.lines.say(emitter, f"{how}; starts again in {interval_text(pause)}", run=run)
            self._wait(emitter, pause, how)
        elif plan.runs == "continuous":
            if end.is_lost:
                pause = pause_after_loss(plan, emitter.failures)
                words = f"lost: {emitter.error}; next in {interval_text(pause)}"
                self.lines.say(emitter, words, is_fault=True, run=run)
                self._wait(emitter, pause, emitter.error)
            elif end.error is not None:
                self.lines.say(emitter, f"failed: {end.error}", is_fault=True, run=run)
                self.emitters.set(emitter, "error", fault)
            else:
                is_fault = status == "failure"
                self.lines.say(emitter, f"exited {exit_words(end)}", is_fault=is_fault, run=run)
                self.emitters.set(emitter, "exited")
        elif plan.runs == "oneTime":
            if fault is not None:
                self.lines.say(emitter, f"failed: {fault}", is_fault=True, run=run)
                self.emitters.set(emitter, "error", fault)
            else:
                self._complete(emitter, run)
        else:
            if fault is not None:
                # The first of several in a row: the others are in the stream, and prompt nothing.
                is_first = emitter.failures == 1
                self.lines.say(emitter, f"run failed: {fault}", is_fault=is_first, run=run)
            if is_used_up(plan, emitter.runs):
                self._complete(emitter, run)
            elif plan.runs == "idle":
                self.emitters.set(emitter, "waiting")
                self.session_idle(emitter.session)
            else:
                self._wait_for_next(emitter, fault)

    def _complete(self, emitter: LiveEmitter, run: LiveRun) -> None:
        if emitter.plan.runs == "oneTime":
            self.lines.say(emitter, "completed one run", run=run)
        else:
            self.lines.say(
                emitter, f"completed {emitter.runs} of {emitter.plan.max_runs} runs", run=run
            )
        self.emitters.set(emitter, "completed")

    def _wait(self, emitter: LiveEmitter, seconds: float, why: str | None = None) -> None:
        """Let an emitter wait so long for its next run."""
        self._deadlines.cancel(emitter.deadline)
        emitter.deadline = self._deadlines.add(self._clock.now + seconds, Due.EMITTER, emitter)
        emitter.next_run_at = self._clock.timestamp(seconds)
        self.emitters.set(emitter, "waiting", why)

    def _wait_for_next(self, emitter: LiveEmitter, why: str | None) -> None:
        """Let an emitter on a schedule wait for its next run, after one that has ended."""
        if emitter.plan.cron:
            self._wait_for_time(emitter, emitter.plan.cron, why)
        else:
            self._wait(emitter, pause_after(emitter.plan, emitter.failures), why)

    def _wait_for_time(self, emitter: LiveEmitter, cron: str, why: str | None = None) -> None:
        """Let an emitter wait for the next time of its cron expression. Deadlines are of the steady
        clock, which stands still while the machine sleeps: so `due` looks again before long."""
        emitter.is_due = False
        at = self._clock.next_time(cron)
        if at is None:
            emitter.error = f"the time of its cron expression never comes: {cron}"
            self.emitters.set(emitter, "error", emitter.error)
            return
        left = min(self._clock.until(at) or 0.0, limits.CRON_LOOK)
        self._deadlines.cancel(emitter.deadline)
        emitter.deadline = self._deadlines.add(self._clock.now + left, Due.EMITTER, emitter)
        emitter.next_run_at = at
        self.emitters.set(emitter, "waiting", why)

    # Sessions

    def no_turn(self, session: OpenSession) -> None:
        """Go on after what was sent into a session has led to no turn in time."""
        self.injects.no_turn(session)
        self.session_idle(session)

    def session_idle(self, session: OpenSession) -> None:
        """Send prompts that wait for a session to be idle, after a short pause."""
        if session.is_busy or session.awaits_turn:
            return
        for emitter in list(self.emitters.by_id.values()):
            is_waiting = emitter.state == "waiting" and emitter.deadline is None
            if emitter.session is session and is_waiting and emitter.check is None:
                self._wait(emitter, limits.IDLE_PAUSE)

    def moved(self, emitter: LiveEmitter, former: OpenSession, current: OpenSession) -> None:
        """Let an emitter belong to another session: the former has ended."""
        run = emitter.run
        self.injects.forget(former, emitter)
        emitter.is_braked = False
        emitter.session = current
        shown = self.start_requests.withdraw(emitter, "the session ended")
        if shown is not None:
            self.start_requests.ask(emitter, shown)
        if run is not None and run.is_prompt:
            if run.is_started:
                self._close(emitter, RunEnded(run.id, code=0))
            else:
                self._send(emitter)
        self.lines.moved(emitter)
        self.emitters.show(emitter)
        self.session_idle(current)

    def replaced(self, emitter: LiveEmitter, current: OpenSession) -> None:
        """Let an emitter belong to a session that replaced its former, with all that waits."""
        emitter.session = current
        shown = self.start_requests.withdraw(emitter, "the session was replaced")
        if shown is not None:
            self.start_requests.ask(emitter, shown)
        self.emitters.show(emitter)
        self.session_idle(current)
