"""What waits, failed, and rests unchecked, in numbers: for a status bar, and for scripts."""

from typing import NamedTuple

from tapui.projection.proof import is_at_work, record_of, unchecked_sessions
from tapui.projection.state import State, is_local, is_open, is_waiting
from tapui.projection.words import CONTEXT_FULL, context_share
from tapui.wire.subjects import Session


class StateCounts(NamedTuple):
    """Of the open sessions. `failed` are steps of their newest turns, or their check; what the
    person has seen of it is the tower's alone."""

    sessions: int
    busy: int
    waiting: int
    failed: int
    unchecked: int
    nearly_full: int
    """Sessions whose context is nearly full."""


def counts_of(state: State) -> StateCounts:
    opened = [one for one in state.sessions.values() if is_open(one)]
    hosted = [one for one in opened if not is_local(one)]
    return StateCounts(
        sessions=len(hosted),
        busy=sum(is_at_work(state, one) for one in hosted),
        waiting=sum(is_waiting(one) for one in state.approvals.values()),
        failed=sum(_failed(state, one) for one in opened),
        unchecked=len(unchecked_sessions(state)),
        nearly_full=sum((context_share(one.context) or 0) >= CONTEXT_FULL for one in opened),
    )


def _failed(state: State, session: Session) -> int:
    record, turns = record_of(state, session), state.turns.get(session.id)
    latest = turns.latest if turns is not None else None
    is_failed = record is not None and record.mark == "failed"
    return max(latest.failed if latest is not None else 0, int(is_failed))


def told_counts(state: State) -> dict[str, int]:
    """Return them as JSON has them."""
    told = counts_of(state)._asdict()
    return {"nearlyFull": told.pop("nearly_full"), **told}
