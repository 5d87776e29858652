"""What the calls of each tool have in common: how many, how many failed, how long they took."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tapui.projection.state import is_in_flight
from tapui.projection.turns.programs import has_failed
from tapui.wire.subjects import Call


@dataclass(slots=True)
class ToolTimes:
    """The calls of one tool. `last` is the newest of them, `took` holds milliseconds, rising."""

    tool: str
    last: Call
    calls: int = 0
    running: int = 0
    failed: int = 0
    took: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float | None:
        """Return the time that this share of the ended calls did not exceed; None for none."""
        return percentile(self.took, share)


def by_tool(calls: Iterable[Call]) -> list[ToolTimes]:
    """Return what is known of each tool, by name. `calls` come oldest first.

    Calls that were cancelled count, but how long they took says nothing of their tool.
    """
    found: dict[str, ToolTimes] = {}
    for call in calls:
        times = found.setdefault(call.tool, ToolTimes(call.tool, call))
        times.last = call
        times.calls += 1
        if is_in_flight(call):
            times.running += 1
            continue
        times.failed += has_failed(call)
        if call.duration is not None and call.state != "cancelled":
            times.took.append(call.duration)
    for times in found.values():
        times.took.sort()
    return sorted(found.values(), key=lambda one: one.tool.casefold())


def percentile(rising: Sequence[float], share: float) -> float | None:
    """Return the smallest of some values that at least `share` of them (0 to 1) do not exceed
    (the nearest rank); None where there are none."""
    if not rising:
        return None
    return rising[max(math.ceil(share * len(rising)) - 1, 0)]
