"""Goals in words and in short: how they and their criteria stand.

Nothing here is made safe yet.
"""

from collections.abc import Callable
from typing import Any, Literal

from tapui.projection.approvals import by_whom
from tapui.projection.state import State, is_open
from tapui.projection.summary import one_line
from tapui.wire.goals import DEADLINE, FOLD, Goal, GoalCriterion, GoalOpener, GoalReport, GoalStatus

CriterionMark = Literal["passed", "failed", "stale", "unknown", "open"]
"""`open`: it was not judged yet."""

SIGNS: dict[CriterionMark, str] = {
    "passed": "✓",
    "failed": "✗",
    "stale": "○",
    "unknown": "○",
    "open": "○",
}
STATUS_WORDS: dict[GoalStatus, str] = {
    "active": "active",
    "paused": "paused",
    "blocked": "blocked",
    "achieved": "achieved",
    "failed": "failed",
    "abandoned": "dropped",
}
OPENER_WORDS: dict[GoalOpener, str] = {
    "person": "you",
    "agent": "the agent",
    "file": "tap.config.json",
    "copilot": "Copilot",
}
NO_CHECK = "no check"
NOT_POSSIBLE = "sending back is not possible here, told instead"
_CLOSERS = {
    FOLD: "all criteria passed",
    DEADLINE: "its deadline passed",
    "file": "its entry in tap.config.json",
    "copilot": "by Copilot, which checks nothing",
}
_COMPLETED = "completed, as Copilot tells"


def criterion_mark(one: GoalCriterion) -> CriterionMark:
    return one.verdict.state if one.verdict is not None else "open"


def criterion_words(one: GoalCriterion) -> str:
    """Return how a criterion stands, with the reason: `failed: exit 1`."""
    if one.verdict is None:
        return "not judged yet"
    reason = one_line(one.verdict.reason)
    return f"{one.verdict.state}: {reason}" if reason else one.verdict.state


def criteria_words(goal: Goal) -> str:
    """Return how many criteria have passed: `2 of 3`."""
    if not goal.criteria:
        return NO_CHECK
    return f"{_passed(goal)} of {len(goal.criteria)}"


def _passed(goal: Goal) -> int:
    return sum(criterion_mark(one) == "passed" for one in goal.criteria)


def closed_words(goal: Goal, clock: Callable[[str], str]) -> str:
    """Return when a goal was closed, and what changed since: `at 20:05, 3 files changed since`; ""
    while it is open. `clock` shows a time as the person reads it."""
    if goal.is_open or goal.closed_at is None:
        return ""
    at = f"at {clock(goal.closed_at)}"
    if goal.opened_by == "copilot":
        return at
    if goal.status != "achieved" or goal.changed_since == 0:
        return at
    if goal.changed_since is None:
        return f"{at}, what changed since is not known"
    files = "1 file" if goal.changed_since == 1 else f"{goal.changed_since:,} files"
    return f"{at}, {files} changed since"


def closer_words(goal: Goal) -> str:
    """Return what closed a goal; "" while it is open."""
    if goal.is_open:
        return ""
    by = goal.closed_by or ""
    return _CLOSERS.get(by) or f"by {by_whom(by)}"


def report_words(goal: Goal, report: GoalReport) -> str:
    """Return what came of verifying: `2 of 3 criteria passed: the cart works`."""
    if goal.status == "achieved":
        return f"achieved: {goal.title}"
    if not report.checks:
        return f"{NO_CHECK}: {goal.title}"
    return f"{report.counts.passed} of {len(report.checks)} criteria passed: {goal.title}"


def status_words(goal: Goal, clock: Callable[[str], str]) -> str:
    """Return a goal's status and what comes with it: `active, sends back`, `achieved at 20:05, 3
    files changed since`."""
    is_completed = goal.opened_by == "copilot" and goal.status == "achieved"
    word = _COMPLETED if is_completed else STATUS_WORDS[goal.status]
    if not goal.is_open:
        return f"{word} {closed_words(goal, clock)}".rstrip()
    if goal.status != "active" or goal.unproven != "send back":
        return word
    return f"{word}, {NOT_POSSIBLE}" if goal.is_unasked else f"{word}, sends back"


def sent_back_words(goal: Goal) -> str:
    """Return how often the agent was sent back for it in its turn: `1 of 3`; "" for never."""
    back = goal.sent_back
    return f"{back.times} of {back.most}" if back.times else ""


def open_sessions_goals(state: State) -> list[Goal]:
    """Return the goals of the sessions that are open, session by session, oldest first."""
    return [
        goal
        for session in state.sessions.values()
        if is_open(session)
        for goal in state.goals_of(session.id)
    ]


def told_goal(goal: Goal) -> dict[str, Any]:
    """Return a goal in short, as JSON has it."""
    return {
        "goalId": goal.id,
        "title": goal.title,
        "status": goal.status,
        "openedBy": goal.opened_by,
        "passed": _passed(goal),
        "criteria": len(goal.criteria),
    }


def told_goals(state: State) -> dict[str, list[dict[str, Any]]]:
    """Return the goals of the sessions that are open and have any, by their ids, as JSON has
    them."""
    told: dict[str, list[dict[str, Any]]] = {}
    for goal in open_sessions_goals(state):
        told.setdefault(goal.session_id, []).append(told_goal(goal))
    return told
