"""What happened while the person was away. Nothing here renders."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tapui import times
from tapui.projection.asking import by_whom
from tapui.projection.now import failed_since
from tapui.projection.requests.permissions import by_rule
from tapui.projection.state import State, is_unsettled, is_waiting
from tapui.projection.turns.turn import LiveTurn, together
from tapui.projection.turns.usage import added, less
from tapui.wire.turns import FileChange, Usage

AWAY = 600.0
"""Seconds without a key after which the next key shows what happened meanwhile."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What happened from `since` until `until`, in seconds since the epoch.

    `ended` are the turns that ended, oldest first; `running` counts those that go on. `usage` is
    what all these turns used meanwhile, `files` what they changed from their beginning, and
    `more_files` how many more. `waited` is for how many seconds something waited for the person,
    `waiting` counts what still does.
    `answers` counts what was settled, by who did it.
    """

    since: float
    until: float
    ended: list[LiveTurn] = field(default_factory=list)
    running: int = 0
    failed_steps: int = 0
    files: list[FileChange] = field(default_factory=list)
    more_files: int = 0
    usage: Usage = field(default_factory=Usage)
    waited: float = 0.0
    waiting: int = 0
    timed_out: int = 0
    answers: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened that is worth telling."""
        return not (self.ended or self.failed_steps or self.waited or self.answers)


UsedBefore = Mapping[tuple[str, int], Usage]
"""What turns had used at a time, by session and number."""


def used_now(state: State) -> UsedBefore:
    return {
        (turn.session_id, turn.number): turn.usage
        for turns in state.turns.values()
        if (turn := turns.running) is not None
    }


def digest(
    state: State,
    decided_at: Mapping[str, str],
    since: float,
    until: float,
    used: UsedBefore | None = None,
) -> Digest:
    """Return what happened between two times; `decided_at` is when approvals were settled, `used`
    what turns had used before."""
    used = used or {}
    start = _stamp(since)
    turns = [turn for turns in state.turns.values() for turn in turns.turns if not turn.is_outside]
    ended = [turn for turn in turns if turn.ended_at is not None and turn.ended_at >= start]
    running = [turn for turn in turns if turn.told_state()[1] is None and turn.state == "running"]
    usage, files, more = Usage(), dict[tuple[str, str], FileChange](), 0
    for turn in (*ended, *running):
        before = used.get((turn.session_id, turn.number))
        usage = added(usage, turn.usage if before is None else less(turn.usage, before))
        more += turn.more_files.files
        for change in turn.files.values():
            key = (turn.session_id, change.path)
            files[key] = together(change.path, files.get(key), change)
    settled = [
        one
        for one in state.approvals.values()
        if not is_unsettled(one) and decided_at.get(one.id, "") >= start
    ]
    answers = Counter(
        "rules" if by_rule(one) else by_whom(one.decided_by) for one in settled if one.decided_by
    )
    spans = [
        (times.epoch(one.created_at), times.epoch(decided_at.get(one.id, ""))) for one in settled
    ]
    waiting = [one for one in state.approvals.values() if is_waiting(one)]
    spans += [(times.epoch(one.created_at), until) for one in waiting]
    return Digest(
        since=since,
        until=until,
        ended=sorted(ended, key=lambda turn: turn.ended_at or ""),
        running=len(running),
        failed_steps=failed_since(state, start),
        files=list(files.values()),
        more_files=more,
        usage=usage,
        waited=_covered(spans, since, until),
        waiting=len(waiting),
        timed_out=sum(one.state == "expired" for one in settled),
        answers=dict(answers),
    )


def _stamp(seconds: float) -> str:
    """Return a time as events have it; they are compared as texts."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _covered(
    spans: Iterable[tuple[float | None, float | None]], since: float, until: float
) -> float:
    """Return the seconds within the two times that at least one of the spans covers."""
    known = sorted(
        (max(begin, since), min(end, until))
        for begin, end in spans
        if begin is not None and end is not None
    )
    total, reached = 0.0, since
    for begin, end in known:
        total += max(end - max(begin, reached), 0.0)
        reached = max(reached, end)
    return total
