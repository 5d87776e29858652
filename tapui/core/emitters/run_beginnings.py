"""How a run begins: once the emitter may run, and there is room for what it says."""

from tapui.core.context import CoreContext
from tapui.core.effects import StartRun
from tapui.core.emitters.consenting import Consenting
from tapui.core.emitters.given import CannotStart, EmitterStanding, MayStart, MustAsk
from tapui.core.emitters.lines import EmitterLines
from tapui.core.emitters.live import LiveEmitter, LiveRun
from tapui.core.emitters.registry import Emitters
from tapui.core.emitters.run_waits import RunWaits
from tapui.core.emitters.run_words import beginning
from tapui.core.emitters.schedules import pause_after, span_in_words
from tapui.core.model import HeldInject
from tapui.core.streams.injects import Injects
from tapui.core.streams.streams import Streams
from tapui.wire.errors import WireError
from tapui.wire.host import Sender
from tapui.wire.message import BUILTIN_PROVIDER

STILL_ENDING = "the run before is still ending"


class RunBeginnings:
    """Begins runs of emitters."""

    def __init__(
        self,
        context: CoreContext,
        *,
        emitters: Emitters,
        lines: EmitterLines,
        consenting: Consenting,
        streams: Streams,
        injects: Injects,
        waits: RunWaits,
    ) -> None:
        self._clock, self._out, self._mint = context.clock, context.out, context.mint
        self._emitters = emitters
        self._lines = lines
        self._consenting = consenting
        self._streams = streams
        self._injects = injects
        self._waits = waits

    def start(self, emitter: LiveEmitter) -> None:
        """Start an emitter that is at rest: its runs are counted anew."""
        emitter.runs = emitter.failures = emitter.ends_soon = 0
        emitter.error = None
        emitter.plan = emitter.entry.plan
        if not emitter.has_own_rules:
            emitter.rules = emitter.plan.rules
        emitter.aim = "go on"
        if emitter.plan.kind == "oneTime" and emitter.plan.every:
            self._emitters.rest(emitter)
            self._waits.wait(emitter, float(emitter.plan.every))
        else:
            self.prepare(emitter)

    def prepare(self, emitter: LiveEmitter) -> None:
        """Begin a run, if it may: what a file says is checked before each."""
        self._emitters.rest(emitter)
        if emitter.place in self._emitters.ending.values():
            self._emitters.set(emitter, "queued", STILL_ENDING)
            return
        self._emitters.set(emitter, "queued")
        if emitter.source == "file":
            self._consenting.check(emitter)
        else:
            self._begin(emitter)

    def standing(self, emitter: LiveEmitter, standing: EmitterStanding) -> None:
        """It is known whether an emitter may start: it begins, or the person is asked."""
        match standing:
            case MayStart(plan):
                emitter.plan = plan
                if not emitter.has_own_rules:
                    emitter.rules = plan.rules
                self._begin(emitter)
            case MustAsk():
                self._consenting.ask(emitter, standing)
            case CannotStart(why):
                self._cannot_start(emitter, why)

    def _cannot_start(self, emitter: LiveEmitter, why: str) -> None:
        """It cannot be started: what has run before is tried again by its schedule."""
        emitter.error = why
        if emitter.plan.kind == "timed" and emitter.runs:
            emitter.failures += 1
            self._lines.say(emitter, f"cannot run: {why}", is_fault=emitter.failures == 1)
            self._waits.wait(emitter, pause_after(emitter.plan, emitter.failures), why)
        else:
            self._emitters.set(emitter, "error", why)

    def due(self, emitter: LiveEmitter) -> None:
        """The time for the next run has come."""
        emitter.deadline = emitter.next_run_at = None
        session = emitter.session
        if emitter.is_prompt and (session.is_busy or session.awaits_turn):
            self._defer(emitter)
        else:
            self.prepare(emitter)

    def _defer(self, emitter: LiveEmitter) -> None:
        """A prompt is due, and the session is busy: it is left out, or waits for the idle."""
        if emitter.plan.kind == "timed":
            pause = float(emitter.plan.every or 1)
            words = span_in_words(pause)
            self._lines.say(emitter, f"deferred: the session is busy; next in {words}")
            self._waits.wait(emitter, pause)
        else:
            self._emitters.set(emitter, "waiting", "the session is busy")

    def _begin(self, emitter: LiveEmitter) -> None:
        session, plan = emitter.session, emitter.plan
        is_busy = session.is_busy or session.awaits_turn
        if emitter.is_prompt and is_busy and plan.kind in ("timed", "idle"):
            if emitter.runs == 0:
                self._emitters.set(emitter, "waiting", "the session is busy")
            else:
                self._defer(emitter)
            return
        try:
            self._streams.require_room(session.id, plan.stream, BUILTIN_PROVIDER)
        except WireError as error:
            emitter.error = error.text
            self._emitters.set(emitter, "error", error.text)
            return
        emitter.runs += 1
        emitter.run = run = LiveRun(
            id=self._mint.id("r"),
            is_prompt=emitter.is_prompt,
            number=emitter.runs,
            began=self._clock.now,
            began_at=self._clock.timestamp(),
            trace_id=self._mint.trace(),
            span_id=self._mint.span(),
        )
        emitter.last_run_at = run.began_at
        emitter.parent = (run.trace_id, run.span_id)
        if run.number == 1:
            self._lines.say(emitter, beginning(emitter))
        if emitter.is_prompt:
            self.send(emitter)
        else:
            self._emitters.by_run[run.id] = emitter
            self._out.effects.append(StartRun(run.id, plan, emitter.rules, emitter.token))
            self._emitters.show(emitter)

    def send(self, emitter: LiveEmitter) -> None:
        """Send a prompt, as soon as its session takes one. The brake is for what has no other end:
        a turn that leads to the next."""
        plan = emitter.plan
        is_endless = plan.kind == "idle" and plan.max_runs is None
        inject = HeldInject(
            Sender(BUILTIN_PROVIDER, plan.stream),
            plan.prompt or "",
            emitter,
            is_braked=is_endless,
            parent=emitter.parent,
        )
        self._emitters.show(emitter)
        self._injects.inject(emitter.session, inject)
