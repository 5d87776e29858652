"""Lines of emitters, which the runner has filtered: stored, shown in the timeline, or injected."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as copied
from itertools import count
from typing import Literal

from msgspec import Raw
from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.emitters.emitter import LineBatch, LineTally, LiveEmitter, LiveRun
from tapui.core.emitters.registry import Emitters
from tapui.core.model import HeldInject, HeldLine
from tapui.core.runs.reports import RunLine
from tapui.core.streams.injects import InjectFate, Injects
from tapui.core.streams.streams import Streams, full_name
from tapui.core.traces import Traces
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import Sender, SessionLog
from tapui.wire.message import BUILTIN_PROVIDER, Level

SYSTEM = "system"
"""The source of lines that tell of an emitter's life."""
Fate = Literal["kept", "surfaced", "injected", "held"]
_FATES: dict[Level, Fate] = {"keep": "kept", "surface": "surfaced", "inject": "injected"}
_LEVELS: dict[Fate, Level] = {
    "kept": "keep",
    "surfaced": "surface",
    "injected": "inject",
    "held": "surface",
}


@dataclass(eq=False, repr=False)
class EmitterLines(CorePart):
    """Takes lines to where they go."""

    emitters: Emitters
    streams: Streams
    injects: Injects
    traces: Traces

    def __post_init__(self) -> None:
        super().__post_init__()
        self._numbers = count(1)

    def take(self, emitter: LiveEmitter, run: LiveRun, lines: Sequence[RunLine]) -> None:
        """Take lines of a run, and count the outcome of each."""
        injected, tally = [], run.tally
        for line in lines:
            fate = _fate(emitter, line.outcome)
            before = copied(tally) if run.batch is None else None
            seq = self._post(emitter, line.text, fate, line.source, run)
            self._route(emitter, run, seq, before)
            setattr(tally, fate, getattr(tally, fate) + 1)
            if fate == "injected":
                injected.append((line.source, line.text))
        self._inject(emitter, injected)
        self.emitters.show_counts(emitter)

    def _route(
        self, emitter: LiveEmitter, run: LiveRun, seq: int, before: LineTally | None
    ) -> None:
        """Add a line to the run's batch, which ends where the stream's numbers begin anew."""
        now, batch = self._clock.now, run.batch
        if batch is not None and seq <= batch.last:
            self.traces.routed(emitter, run, is_last=True)
            batch = None
        if batch is None:
            run.batch = LineBatch(
                seq, seq, now, self._clock.timestamp(), now, before or copied(run.tally)
            )
        else:
            batch.last, batch.ended = seq, now

    def say(
        self,
        emitter: LiveEmitter,
        text: str,
        *,
        is_fault: bool = False,
        run: LiveRun | None = None,
    ) -> None:
        """Report an emitter's status in its stream, or that of a run of it.

        Faults are surfaced, and injected where the stream's injector is enabled.
        """
        is_injected = is_fault and emitter.plan.injector == "enabled"
        fate: Fate = "injected" if is_injected else "surfaced" if is_fault else "kept"
        self._post(emitter, text, fate, SYSTEM, run)
        if is_injected:
            self._inject(emitter, [(SYSTEM, text)])

    def tell(self, emitter: LiveEmitter, text: str) -> None:
        """Say in an emitter's stream, and in the timeline, who changed it."""
        self._post(emitter, text, "surfaced", SYSTEM)

    def _post(
        self,
        emitter: LiveEmitter,
        text: str,
        fate: Fate,
        source: str,
        run: LiveRun | None = None,
    ) -> int:
        """Post a line, and show it where that is due; return its number in the stream."""
        stream, session = emitter.stream, emitter.session
        seq = self.streams.post(
            session.id,
            stream,
            BUILTIN_PROVIDER,
            level=_LEVELS[fate],
            event=text,
            metadata=_metadata(emitter, source, run),
        ).seq
        if fate not in ("surfaced", "held"):
            return seq
        if not emitter.shown.take(self._clock.now):
            emitter.unshown += 1
            return seq
        name = full_name(stream, BUILTIN_PROVIDER)
        if emitter.unshown:
            more = f"{name}: {emitter.unshown:,} lines were too many to be shown here"
            self._out.send(session.host, SessionLog(session.id, more, "info"))
            emitter.unshown = 0
        self._out.send(session.host, SessionLog(session.id, f"{name}: {text}", "info"))
        return seq

    def _inject(self, emitter: LiveEmitter, lines: Sequence[tuple[str, str]]) -> None:
        """Have lines sent into the session, with others that wait: as soon as it takes them."""
        if not lines:
            return
        held, is_new = emitter.held, emitter.held is None
        if held is None:
            sender = Sender(BUILTIN_PROVIDER, emitter.stream)
            held = emitter.held = HeldInject(
                sender, "", emitter, is_braked=True, lines=deque(), parent=emitter.parent
            )
        waiting = held.lines if held.lines is not None else deque()
        for source, text in lines:
            if len(waiting) == limits.MAX_HELD_LINES:
                waiting.popleft()
                held.left_out += 1
                known = emitter.counts
                emitter.counts = replace(known, left_out=known.left_out + 1)
            whole = " ".join(text.splitlines())
            cut = whole if len(whole) <= limits.MAX_HELD_LINE else _head(whole)
            stream, name = emitter.stream, emitter.name
            waiting.append(HeldLine(next(self._numbers), stream, name, source, cut))
        if is_new:
            self.injects.inject(emitter.session, held)

    def became(self, emitter: LiveEmitter, inject: HeldInject, fate: InjectFate) -> None:
        """After a send, start a new batch."""
        if fate == "sent" and emitter.held is inject:
            emitter.held, known = None, emitter.counts
            emitter.counts = replace(known, sent=known.sent + len(inject.lines or ()))
            self.emitters.show(emitter)

    def moved(self, emitter: LiveEmitter) -> None:
        """An emitter belongs to another session now: what waited for the former waits for it."""
        if emitter.held is not None:
            self.injects.inject(emitter.session, emitter.held)


def _metadata(emitter: LiveEmitter, source: str, run: LiveRun | None) -> Raw:
    """Return where a line is from: of one of a run also which run, by number and by trace."""
    if run is None:
        return raw({"emitter": emitter.name, "source": source})
    known = run.metadata.get(source)
    if known is None:
        found = {"emitter": emitter.name, "source": source}
        known = raw(found | {"run": run.number, "traceId": run.trace_id})
        run.metadata[source] = known
    return known


def _head(text: str) -> str:
    return text[: limits.MAX_HELD_LINE - 1] + "…"


def _fate(emitter: LiveEmitter, outcome: Level) -> Fate:
    """Return the outcome of a line: the stream's injector has the last word."""
    plan = emitter.plan
    if plan.injector == "disabled":
        return "held" if outcome == "inject" else _FATES[outcome]
    return "injected" if plan.delivery == "all" else _FATES[outcome]
