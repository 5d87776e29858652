"""Goals in words."""

from typing import Any

import pytest
from msgspec.structs import replace

from tapui.projection.goal_words import (
    closer_words,
    criteria_words,
    criterion_words,
    report_words,
    sent_back_words,
    status_words,
)
from tapui.wire.criteria import Verdict
from tapui.wire.goals import CheckCounts, CheckResult, Goal, GoalCriterion, GoalReport, SentBack

GOAL = Goal("g-1", "s1", "ship", "active", 1, "person", "2026-01-01T08:00:00Z")
CLOSED = {"status": "achieved", "closed_at": "2026-01-01T09:00:00Z"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "active"),
        ({"unproven": "send back"}, "active, sends back"),
        (
            {"unproven": "send back", "is_unasked": True},
            "active, sending back is not possible here, told instead",
        ),
        ({"unproven": "send back", "status": "paused"}, "paused"),
        ({"unproven": "send back", "status": "blocked"}, "blocked"),
        ({**CLOSED, "changed_since": 0}, "achieved at 09:00"),
        ({**CLOSED, "changed_since": 1}, "achieved at 09:00, 1 file changed since"),
        ({**CLOSED, "changed_since": 1234}, "achieved at 09:00, 1,234 files changed since"),
        (CLOSED, "achieved at 09:00, what changed since is not known"),
        ({**CLOSED, "status": "abandoned"}, "dropped at 09:00"),
        ({**CLOSED, "status": "failed", "closed_at": None}, "failed"),
        ({**CLOSED, "opened_by": "copilot"}, "completed, as Copilot tells at 09:00"),
        ({"status": "paused", "opened_by": "copilot"}, "paused"),
    ],
)
def test_the_status_and_what_comes_with_it(changes: dict[str, Any], words: str) -> None:
    assert status_words(replace(GOAL, **changes), lambda ts: ts[11:16]) == words


@pytest.mark.parametrize(
    ("status", "by", "words"),
    [
        ("active", None, ""),
        ("achieved", "fold", "all criteria passed"),
        ("achieved", "you", "by you"),
        ("failed", "deadline", "its deadline passed"),
        ("abandoned", "file", "its entry in tap.config.json"),
        ("achieved", "copilot", "by Copilot, which checks nothing"),
    ],
)
def test_what_closed_it(status: Any, by: str | None, words: str) -> None:
    assert closer_words(replace(GOAL, status=status, closed_by=by)) == words


def test_how_many_criteria_have_passed() -> None:
    assert criteria_words(GOAL) == "no check"
    states: list[Any] = [None, Verdict("passed"), Verdict("failed"), Verdict("stale")]
    criteria = [GoalCriterion(f"c{at}", "x", verdict=one) for at, one in enumerate(states)]
    assert criteria_words(replace(GOAL, criteria=criteria)) == "1 of 4"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (None, "not judged yet"),
        (Verdict("passed"), "passed"),
        (Verdict("failed", "exit 1"), "failed: exit 1"),
        (Verdict("stale", "a\nb"), "stale: a ⏎ b"),
    ],
)
def test_how_a_criterion_stands(verdict: Verdict | None, words: str) -> None:
    assert criterion_words(GoalCriterion("c1", "x", verdict=verdict)) == words


def test_how_often_the_agent_was_sent_back() -> None:
    assert sent_back_words(GOAL) == ""
    assert sent_back_words(replace(GOAL, sent_back=SentBack(2, 4))) == "2 of 3"
    assert sent_back_words(replace(GOAL, sent_back=SentBack(2, 4, most=20))) == "2 of 20"


def test_what_came_of_verifying() -> None:
    results = [CheckResult(str(n), "ran", "pass", "x") for n in range(3)]
    counts = CheckCounts(passed=2, failed=1)
    report = GoalReport("failed", results, counts, "e", "2026-01-01T09:00:00Z")
    assert report_words(GOAL, report) == "2 of 3 criteria passed: ship"
    assert report_words(replace(GOAL, status="achieved"), report) == "achieved: ship"
    assert report_words(GOAL, replace(report, checks=[])) == "no check: ship"
