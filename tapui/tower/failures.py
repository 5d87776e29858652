"""What has failed, newest first: steps of any kind, and calls that belong to no turn."""

from typing import NamedTuple

from tapui.projection.turns.programs import has_failed
from tapui.tower import steps
from tapui.tower.view import View


class FailedItem(NamedTuple):
    """Something that failed: when (RFC 3339), its session, its key in Turns or Calls."""

    at: str
    session_id: str
    key: str
    is_step: bool


def has_failures(view: View) -> bool:
    """Return whether there is a failure to go to."""
    return any(
        turn.failed or turn.state == "failed"
        for turns in view.state.turns.values()
        for turn in turns.turns
    ) or any(has_failed(one) for one in view.state.recent_calls.values())


def failures(view: View) -> list[FailedItem]:
    """Return what has failed. A turn whose steps are not here stands for those of them."""
    found: list[FailedItem] = []
    calls: set[str | None] = set()
    for session_id in view.state.turns:
        for key, turn in steps.keyed_turns(view, session_id):
            if not turn.is_whole:
                if turn.failed:
                    found.append(FailedItem(turn.started_at, session_id, key, True))
                continue
            for step_key, place in steps.keyed_steps(key, turn):
                place.step.condense()
                calls.add(place.step.call_id)
                if place.step.state == "failed":
                    found.append(FailedItem(place.step.at, session_id, step_key, True))
    found += [
        FailedItem(one.started_at, one.session_id, one.id, False)
        for one in view.state.recent_calls.values()
        if one.id not in calls and has_failed(one)
    ]
    return sorted(found, key=lambda one: one.at, reverse=True)
