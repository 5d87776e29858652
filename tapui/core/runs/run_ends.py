"""How the ends of runs are named: in an emitter's stream, in the view, in its span."""

from tapui.core.emitters.emitter import LiveRun
from tapui.core.runs.reports import RunEnded
from tapui.projection.summary import one_line
from tapui.secret import without_begun
from tapui.wire import limits
from tapui.wire.emitters import RunStatus


def status_of(run: LiveRun, end: RunEnded) -> RunStatus:
    """Return how a run ended: one that was stopped has not failed."""
    if run.is_stopping:
        return "stopped"
    if end.is_lost:
        return "lost"
    return "failure" if fault_of(end) is not None else "success"


def fault_of(end: RunEnded) -> str | None:
    """Return in words why a run has failed; None for one that has not."""
    if end.error is not None:
        return end.error
    if end.signal is not None:
        return f"ended by {end.signal}"
    return f"exit code {end.code}" if end.code else None


def fault_with_last_words(end: RunEnded) -> str | None:
    """Return the fault with the last line of its output, filtered or not."""
    fault = fault_of(end)
    return f"{fault}: {one_line(end.last_words[-1])}" if fault and end.last_words else fault


def exit_words(end: RunEnded) -> str:
    """Return what follows "exited" for a run with a code or a signal; `fault_of` has errors."""
    return f"by {end.signal}" if end.signal is not None else f"with code {end.code}"


def code_of(end: RunEnded) -> str:
    """Return how a run ended, in a word that says nothing of what it said."""
    if end.is_lost:
        return "LOST"
    if end.signal is not None:
        return end.signal
    if end.code:
        return f"EXIT_{end.code}"
    return "NOT_STARTED" if end.error is not None else ""


def error_of(end: RunEnded, status: RunStatus) -> str | None:
    """Return the code of a run that failed, and the beginning of its last line on stderr.

    A word at the cut is left out: half a secret would not be known as one and masked.
    """
    if status not in ("failure", "lost"):
        return None
    code, line = code_of(end), end.last_error
    if len(line) > limits.MAX_SPAN_ERROR:
        line = without_begun(line[: limits.MAX_SPAN_ERROR])
    return f"{code}: {line}" if line else code
