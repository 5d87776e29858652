"""When an emitter runs again: intervals count from the end of a run. With its schedule in words."""

from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.plans import EmitterPlan
from tapui.projection.summary import one_line
from tapui.wire import limits

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
