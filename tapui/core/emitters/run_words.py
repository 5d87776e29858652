"""What a run is said to be, and how it ended: in its stream, in the view, in its span."""

from tapui.core.emitters.given import RunEnd
from tapui.core.emitters.live import LiveEmitter, LiveRun
from tapui.core.emitters.schedules import in_words
from tapui.projection.summary import one_line
from tapui.wire.emitters import RunStatus


def beginning(emitter: LiveEmitter) -> str:
    """Return the line that tells of an emitter's start."""
    plan = emitter.plan
    if plan.kind in ("continuous", "provider"):
        words = " ".join((plan.command or "", *plan.args))
        return f"started with command={one_line(words)}"
    what = "command" if plan.command is not None else "prompt"
    text = plan.command if plan.command is not None else plan.prompt
    return f"queued ({in_words(plan)}) with {what}={one_line(text or '')}"


def status_of(run: LiveRun, end: RunEnd) -> RunStatus:
    """Return how a run ended: one that was stopped has not failed."""
    if run.is_stopping:
        return "stopped"
    if end.is_lost:
        return "lost"
    return "failure" if fault_of(end) is not None else "success"


def fault_of(end: RunEnd) -> str | None:
    """Return in words why a run has failed; None for one that has not."""
    if end.error is not None:
        return end.error
    if end.signal is not None:
        return f"ended by {end.signal}"
    return f"exit code {end.code}" if end.code else None


def fault_with_last_words(end: RunEnd) -> str | None:
    """Return the same with the last line that it said, whatever its filter makes of that."""
    fault = fault_of(end)
    return f"{fault}: {one_line(end.last_words[-1])}" if fault and end.last_words else fault


def how_it_ended(end: RunEnd) -> str:
    """Return how a command ended by itself."""
    return f"by {end.signal}" if end.signal is not None else f"with code {end.code}"


def code_of(end: RunEnd) -> str:
    """Return how a run ended, in a word that says nothing of what it said."""
    if end.is_lost:
        return "LOST"
    if end.signal is not None:
        return end.signal
    if end.code:
        return f"EXIT_{end.code}"
    return "NOT_STARTED" if end.error is not None else ""
