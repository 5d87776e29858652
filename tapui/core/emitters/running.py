"""The runs of emitters: what is wanted of them, and what becomes of those under way.

A run of a command is the runner's; a run of a prompt is an inject, and ends when the session has
taken it. A run never begins before the one before has ended.
"""

from tapui.core.context import CoreContext
from tapui.core.effects import SetRunFilter, StopRun
from tapui.core.emitters.consenting import Consenting
from tapui.core.emitters.given import EmitterStanding, MustAsk, RunEnd
from tapui.core.emitters.lines import EmitterLines
from tapui.core.emitters.live import CheckWanted, LiveEmitter, LiveRun, added
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.run_beginnings import RunBeginnings
from tapui.core.emitters.run_ends import RunEnds
from tapui.core.emitters.run_waits import RunWaits
from tapui.core.model import HeldInject, OpenSession, Prompter
from tapui.core.streams.injects import InjectFate, Injects
from tapui.core.traces.traces import Traces
from tapui.wire.emitters import EmitterCounts
from tapui.wire.provider import FilterRule

_GOING = frozenset(("running", "waiting", "queued"))


class Running:
    """Starts, stops and changes the runs of emitters."""

    def __init__(
        self,
        context: CoreContext,
        *,
        emitters: Emitters,
        lines: EmitterLines,
        consenting: Consenting,
        injects: Injects,
        traces: Traces,
        waits: RunWaits,
        beginnings: RunBeginnings,
        ends: RunEnds,
    ) -> None:
        self._out = context.out
        self._emitters = emitters
        self._lines = lines
        self._consenting = consenting
        self._injects = injects
        self._traces = traces
        self._waits = waits
        self._beginnings = beginnings
        self._ends = ends
        injects.became, injects.changed = self._became, self._brake_changed

    # What is wanted

    def start(self, emitter: LiveEmitter) -> None:
        """Start an emitter that is at rest."""
        self._beginnings.start(emitter)

    def stop(self, emitter: LiveEmitter) -> None:
        """Stop an emitter, whatever it does."""
        self._emitters.rest(emitter)
        self._consenting.withdraw(emitter, "the emitter was stopped")
        emitter.aim = "stop"
        if emitter.run is None:
            self._emitters.set(emitter, "stopped")
        else:
            self._end_run(emitter)

    def pause(self, emitter: LiveEmitter) -> None:
        """Let no further run begin. What runs all the time, or waits to be sent, ends now."""
        self._emitters.rest(emitter)
        self._consenting.withdraw(emitter, "the emitter was paused")
        emitter.aim = "pause"
        run = emitter.run
        if run is None:
            self._emitters.set(emitter, "paused")
        elif emitter.plan.kind in ("continuous", "provider") or (
            run.is_prompt and not run.is_started
        ):
            self._end_run(emitter)
        else:
            self._emitters.set(emitter, emitter.state, "it pauses after this run")

    def resume(self, emitter: LiveEmitter) -> None:
        """Go on after a pause, or before it has begun."""
        emitter.aim = "restart" if emitter.state == "stopping" else "go on"
        if emitter.run is None:
            self._beginnings.prepare(emitter)
        else:
            self._emitters.set(emitter, emitter.state)

    def run_now(self, emitter: LiveEmitter) -> None:
        """Begin the next run of an emitter that waits for it, or is paused."""
        emitter.aim = "go on"
        self._beginnings.prepare(emitter)

    def restart(self, emitter: LiveEmitter) -> None:
        """Start an emitter anew, once the run under way has ended."""
        self._emitters.rest(emitter)
        self._consenting.withdraw(emitter, "the emitter has changed")
        if emitter.run is None:
            self.start(emitter)
            return
        emitter.aim = "restart"
        self._end_run(emitter)

    def drop(self, emitter: LiveEmitter, reason: str) -> None:
        """Forget an emitter, and end what it runs: nobody hears of it any more."""
        run = emitter.run
        self._consenting.withdraw(emitter, reason)
        self._injects.forget(emitter.session, emitter)
        emitter.held = None
        if run is not None:
            if not (run.is_prompt or run.is_stopping):
                self._out.effects.append(StopRun(run.id))
            if not run.is_prompt:
                self._emitters.ending[run.id] = emitter.place
            emitter.counts = added(emitter.counts, run)
            self._traces.run_ended(emitter, run, "stopped", "")
        self._emitters.remove(emitter, reason)

    def set_filter(self, emitter: LiveEmitter, rules: tuple[FilterRule, ...]) -> None:
        """Filter the lines that follow by other rules."""
        emitter.rules, emitter.has_own_rules = rules, True
        emitter.filter_version += 1
        if emitter.run is not None and not emitter.run.is_prompt:
            change = SetRunFilter(emitter.run.id, emitter.filter_version, rules)
            self._out.effects.append(change)
        self._emitters.show(emitter)

    def filtered(self, run_id: str, version: int, error: str | None) -> None:
        """A run's lines are filtered by other rules from now on, or could not be."""
        emitter = self._emitters.by_run.get(run_id)
        if emitter is not None and error is not None and version == emitter.filter_version:
            emitter.error = f"the filter was not changed: {error}"
            self._emitters.show(emitter)

    # Whether it may run

    def checked(self, wanted: CheckWanted, standing: EmitterStanding) -> None:
        """The shell has found out whether an emitter may start, or still may."""
        emitter = wanted.emitter
        if emitter.check is not wanted:
            return  # it was stopped, or has changed
        emitter.check = None
        if not wanted.is_again:
            self._beginnings.standing(emitter, standing)
        elif isinstance(standing, MustAsk):
            self.restart(emitter)

    def check_again(self, emitter: LiveEmitter) -> None:
        """Files that its command names may have changed: find out whether it may go on."""
        if emitter.source == "file" and emitter.check is None and emitter.state in _GOING:
            self._consenting.check(emitter, is_again=True)

    # During a run

    def started(self, run_id: str) -> None:
        """A run's process is there."""
        emitter = self._emitters.by_run.get(run_id)
        if emitter is None or emitter.run is None:
            return
        emitter.run.is_started = True
        if not emitter.run.is_stopping:
            self._emitters.set(emitter, "running", emitter.why)

    def counted(self, run_id: str, counts: EmitterCounts) -> None:
        """The runner tells how far a run is."""
        emitter = self._emitters.by_run.get(run_id)
        if emitter is not None and emitter.run is not None:
            emitter.run.counts = counts
            self._emitters.show_counts(emitter)

    def _became(self, inject: HeldInject, fate: InjectFate) -> None:
        """Lines or a prompt were sent; then the session took them, or its host could not hand them
        over."""
        emitter = self._emitters.by_id.get(inject.source.id)
        if emitter is None:
            return
        if inject.lines is not None:
            self._lines.became(emitter, inject, fate)
        elif emitter.run is not None and emitter.run.is_prompt:
            self._prompt_became(emitter, emitter.run, fate)

    def _brake_changed(self, source: Prompter) -> None:
        emitter = self._emitters.by_id.get(source.id)
        if emitter is not None:
            emitter.is_braked = self._injects.is_paused(emitter.session, emitter)
            self._emitters.show(emitter)

    def _prompt_became(self, emitter: LiveEmitter, run: LiveRun, fate: InjectFate) -> None:
        if fate == "sent":
            run.is_started = True
            self._emitters.set(emitter, "running", emitter.why)
        elif fate == "refused":
            self._ends.close(emitter, RunEnd(error="the session's host could not send the prompt"))
        else:
            self._ends.close(emitter, RunEnd(code=0))

    def _end_run(self, emitter: LiveEmitter) -> None:
        """End the run under way; what follows is said by `aim`."""
        run = emitter.run
        assert run is not None, "something runs"
        if not run.is_stopping:
            run.is_stopping = True
            if run.is_prompt:
                # What was sent cannot be taken back; what was not, is not sent.
                self._injects.forget_prompt(emitter.session, emitter)
                self._ends.close(emitter, RunEnd())
                return
            self._out.effects.append(StopRun(run.id))
        self._emitters.set(emitter, "stopping")

    # Sessions

    def no_turn(self, session: OpenSession) -> None:
        """What was sent into a session has led to no turn in time."""
        self._injects.no_turn(session)
        self.session_idle(session)

    def session_idle(self, session: OpenSession) -> None:
        """A session is idle: prompts that wait for this are sent soon."""
        self._waits.session_idle(session)

    def moved(self, emitter: LiveEmitter, former: OpenSession, current: OpenSession) -> None:
        """An emitter belongs to another session: the former has ended."""
        run = emitter.run
        self._injects.forget(former, emitter)
        emitter.is_braked = False
        emitter.session = current
        shown = self._consenting.withdraw(emitter, "the session ended")
        if shown is not None:
            self._consenting.ask(emitter, shown)
        if run is not None and run.is_prompt:
            if run.is_started:
                self._ends.close(emitter, RunEnd(code=0))
            else:
                self._beginnings.send(emitter)
        self._lines.moved(emitter)
        self._emitters.show(emitter)
        self.session_idle(current)

    def replaced(self, emitter: LiveEmitter, current: OpenSession) -> None:
        """An emitter's session was replaced by another, with all that waits for it."""
        emitter.session = current
        shown = self._consenting.withdraw(emitter, "the session was replaced")
        if shown is not None:
            self._consenting.ask(emitter, shown)
        self._emitters.show(emitter)
        self.session_idle(current)
