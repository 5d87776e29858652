"""When an emitter runs again (intervals count from the end of a run), and how runs and their ends
are named: in its stream, in the view, in its span."""

from tapui.core.emitters.emitter import LiveEmitter, LiveRun
from tapui.core.emitters.plans import EmitterPlan
from tapui.core.runs.reports import RunEnded
from tapui.projection.summary import one_line
from tapui.wire import limits
from tapui.wire.emitters import RunStatus

_MOST_DOUBLED = 30


def is_used_up(plan: EmitterPlan, runs: int) -> bool:
    """Return whether an emitter on a schedule has run as often as it may, however that ended."""
    is_counted = plan.runs in ("timed", "idle") and plan.max_runs is not None
    return is_counted and runs >= (plan.max_runs or 0)


def pause_after(plan: EmitterPlan, failures: int) -> float:
    """Return the seconds from the end of a run of a timed emitter to the next.

    The interval doubles with each failure in a row after the first.
    """
    every = float(plan.every or 1)
    return _doubled(every, failures)


def pause_after_loss(plan: EmitterPlan, failures: int) -> float:
    """Return the seconds until something runs again that was lost with the runner."""
    return _doubled(float(plan.every or limits.LOST_PAUSE), failures)


def pause_after_exit(ends_soon: int) -> float:
    """Return the seconds until a provider of the project is started again."""
    return _doubled(limits.PROVIDER_PAUSE, ends_soon, limits.PROVIDER_PAUSE_MOST)


def _doubled(seconds: float, failures: int, most: float = limits.FAILURE_PAUSE) -> float:
    most = max(seconds, most)
    return min(seconds * 2.0 ** min(max(failures - 1, 0), _MOST_DOUBLED), most)


def in_words(plan: EmitterPlan) -> str:
    return "while the session is open" if plan.schedule is None else str(plan.schedule)


def runs_in_words(plan: EmitterPlan) -> str:
    """Return how often something runs that the person is asked about once."""
    if plan.runs == "oneTime":
        return "runs once"
    return f"runs {in_words(plan)}, without asking again"


def beginning(emitter: LiveEmitter) -> str:
    plan = emitter.plan
    if plan.runs in ("continuous", "provider"):
        words = " ".join((plan.command or "", *plan.args))
        return f"started with command={one_line(words)}"
    what = "command" if plan.command is not None else "prompt"
    text = plan.command if plan.command is not None else plan.prompt
    return f"queued ({in_words(plan)}) with {what}={one_line(text or '')}"


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
    """Return the same with the last line of its output, filtered or not."""
    fault = fault_of(end)
    return f"{fault}: {one_line(end.last_words[-1])}" if fault and end.last_words else fault


def how_it_ended(end: RunEnded) -> str:
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
