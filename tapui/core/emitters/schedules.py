"""When an emitter runs again: intervals count from the end of a run."""

from tapui.core.emitters.given import EmitterPlan
from tapui.wire import limits

_MOST_DOUBLED = 30


def is_used_up(plan: EmitterPlan, runs: int) -> bool:
    """Return whether an emitter on a schedule has run as often as it may, however that ended."""
    is_counted = plan.kind in ("timed", "idle") and plan.max_runs is not None
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
    """Return a schedule in words."""
    match plan.kind:
        case "timed":
            return f"every {span_in_words(plan.every or 1)}"
        case "idle":
            return "when idle"
        case "oneTime":
            return f"once, in {span_in_words(plan.every)}" if plan.every else "once"
        case "continuous":
            return "all the time"
        case "provider":
            return "while the session is open"


def runs_in_words(plan: EmitterPlan) -> str:
    """Return how often something runs that the person is asked about once."""
    if plan.kind == "oneTime":
        return "runs once"
    return f"runs {in_words(plan)}, without asking again"


def span_in_words(seconds: float) -> str:
    """Return a stretch of time as intervals are written: `30s`, `5m`, `2h`."""
    whole = max(round(seconds), 1)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}s"
