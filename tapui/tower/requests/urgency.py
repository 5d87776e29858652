"""What waits for the person, the most urgent first, and how long it has waited."""

from typing import NamedTuple

from tapui import times
from tapui.tower.app.view import View
from tapui.tower.wording.words import time_left
from tapui.wire import subjects

SOON = 60.0
"""Seconds. What has less time left goes before everything else."""


class Request(NamedTuple):
    """A request, and whether it stands below another one of the same session."""

    approval: subjects.Approval
    is_below: bool = False


def requests(view: View) -> list[Request]:
    """Return what waits: less than a minute left first, then what has waited longest.

    The requests of one session stand together, at the place of its most urgent one.
    """
    ordered = sorted(view.waiting, key=lambda one: _urgency(one, view.now))
    rows: list[Request] = []
    taken: set[str] = set()
    for approval in ordered:
        if approval.id in taken:
            continue
        rows.append(Request(approval))
        taken.add(approval.id)
        if approval.session_id is None:
            continue
        for other in ordered:
            if other.session_id == approval.session_id and other.id not in taken:
                rows.append(Request(other, is_below=True))
                taken.add(other.id)
    return rows


def standing(approval: subjects.Approval, now: float) -> str:
    """Return `waits 2m 10s`, or `1m 18s left` where it times out; "" once it is settled."""
    left = time_left(approval, now)
    if left:
        return f"{left} left"
    return f"waits {times.lasting(times.since(approval.created_at, now))}"


def _urgency(approval: subjects.Approval, now: float) -> tuple[bool, float]:
    end = times.epoch(approval.expires_at)
    if end is not None and end - now < SOON:
        return False, end
    return True, times.epoch(approval.created_at) or 0.0
