"""At its deadline a goal is judged once more, and has failed where that does not achieve it."""

from collections.abc import Iterator

import pytest

from tapui.core.deadlines import Due
from tapui.core.effects import LookAtFiles, LookAtFolder
from tests.core.goals.played import RAN, GoalScene
from tests.core.harness import Json

THERE: Json = {"kind": "file", "path": "a.txt"}
IN_AN_HOUR = "2026-01-01T01:00:00Z"
HOUR = 3600.0


def closed(played: GoalScene) -> list[tuple[str, str]]:
    """Return how goals were closed, each by what."""
    told = [one["goal"] for one in played.talk.events("goal.closed")]
    return [(one["status"], one["closedBy"]) for one in told]


def lines(played: GoalScene) -> list[str]:
    return [one["line"]["event"] for one in played.talk.events("stream.posted")]


def count(played: GoalScene) -> int:
    """Return how many deadlines of goals are set."""
    return sum(one.due is Due.GOAL for one in played.talk.gateway.parts.context.deadlines)


def at(played: GoalScene, seconds: float) -> None:
    """Turn the clock to a moment of the day."""
    played.talk.wait(seconds - played.talk.now)


def test_what_is_not_achieved_by_then_has_failed(played: GoalScene) -> None:
    goal = played.goal(deadline=IN_AN_HOUR)
    at(played, HOUR - 1)
    assert played.stands(goal["id"])["status"] == "active"
    at(played, HOUR)
    assert closed(played) == [("failed", "deadline")]
    failed = played.stands(goal["id"])
    assert (failed["status"], failed["closedAt"]) == ("failed", "2026-01-01T01:00:00.000000Z")
    assert played.states(goal["id"]) == ["unknown: never run"]
    assert lines(played)[-2:] == [
        "0 of 1 criteria passed: pytest ends with exit 0",
        "its deadline passed: pytest ends with exit 0",
    ]
    assert count(played) == 0


def test_what_is_so_at_that_moment_is_achieved(played: GoalScene) -> None:
    goal = played.goal(THERE, deadline=IN_AN_HOUR)
    played.shell.files["a.txt"] = "there"
    at(played, HOUR)
    assert closed(played) == [("achieved", "fold")]
    assert played.stands(goal["id"])["status"] == "achieved"


def test_a_goal_without_criteria_fails_without_a_look(played: GoalScene) -> None:
    played.say("goal.open", sessionId="s2", title="by hand", deadline=IN_AN_HOUR)
    at(played, HOUR)
    assert closed(played) == [("failed", "deadline")]
    assert played.talk.events("goal.verified") == []


@pytest.mark.parametrize("status", ["paused", "blocked"])
def test_one_that_rests_fails_all_the_same(played: GoalScene, status: str) -> None:
    goal = played.goal(deadline=IN_AN_HOUR)
    played.say("goal.change", goalId=goal["id"], status=status)
    at(played, HOUR)
    assert closed(played) == [("failed", "deadline")]


@pytest.mark.parametrize("closing", ["achieved", "failed"])
def test_one_that_is_closed_before_stays_as_it_is(played: GoalScene, closing: str) -> None:
    goal = played.goal(deadline=IN_AN_HOUR)
    played.say("goal.change", goalId=goal["id"], status=closing)
    assert count(played) == 0
    played.talk.wait(2 * HOUR)
    assert closed(played) == [(closing, "you")]


def test_its_agent_is_not_sent_back_any_more(played: GoalScene) -> None:
    played.goal(unproven="send back", deadline=IN_AN_HOUR)
    played.changes()
    assert played.end_turn()["decision"] == "again"
    at(played, HOUR)
    assert played.end_turn()["decision"] == "end"


def test_while_it_is_judged_at_its_deadline_its_agent_is_not_sent_back(played: GoalScene) -> None:
    played.goal(unproven="send back", deadline=IN_AN_HOUR)
    played.changes()
    played.shell.holds = (LookAtFolder, LookAtFiles)
    at(played, HOUR)
    assert closed(played) == []
    assert played.end_turn()["decision"] == "end"
    played.shell.release()
    assert closed(played) == [("failed", "deadline")]


def test_the_person_gives_more_time(played: GoalScene) -> None:
    goal = played.goal(deadline=IN_AN_HOUR)
    later = "2026-01-01T03:00:00+01:00"
    changed = played.say("goal.change", goalId=goal["id"], deadline=later)["goal"]
    assert changed["deadline"] == later
    at(played, HOUR)
    assert closed(played) == []
    at(played, 2 * HOUR)
    assert closed(played) == [("failed", "deadline")]


def test_more_time_that_comes_while_it_is_judged_counts(played: GoalScene) -> None:
    goal = played.goal(deadline=IN_AN_HOUR)
    played.shell.holds = (LookAtFiles,)
    at(played, HOUR)
    played.say("goal.change", goalId=goal["id"], deadline="2026-01-01T02:00:00Z")
    played.shell.release()
    assert closed(played) == []
    at(played, 2 * HOUR)
    assert closed(played) == [("failed", "deadline")]


NO_TIMES = [
    "",
    "tomorrow",
    "2026-01-02",
    "20260102T000000Z",
    "2026-01-02T00:00",
    "2026-01-02T00:00:00",
    "2026-02-30T00:00:00Z",
    "2026-01-02T00:00:60Z",
    "2026-01-02T00:00:00+1",
    "\u0662\u0660\u0662\u0666-01-02T00:00:00Z",
    "10000-01-01T00:00:00Z",
]


@pytest.fixture
def tries(played: GoalScene) -> Iterator[GoalScene]:
    """A deadline that is refused leaves no goal and no time-out."""
    yield played
    assert played.talk.gateway.state.goals == {}
    assert count(played) == 0


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_of_rfc_3339_is_refused(tries: GoalScene, text: str) -> None:
    refused = tries.say("goal.open", sessionId="s2", title="t", deadline=text)
    assert refused["code"] == "INVALID_JSON"
    assert refused["message"].startswith("deadline: a time of RFC 3339 with its zone")


@pytest.mark.parametrize("text", ["2025-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_a_time_that_has_passed_is_refused(tries: GoalScene, text: str) -> None:
    tries.talk.wait(1)
    refused = tries.say("goal.open", sessionId="s2", title="t", deadline=text)
    assert (refused["code"], refused["message"]) == (
        "INVALID_JSON",
        "deadline: that time has passed",
    )


def test_a_goal_keeps_its_deadline_where_another_is_refused(played: GoalScene) -> None:
    goal = played.goal(deadline=IN_AN_HOUR)
    for text in ("soon", "2020-01-01T00:00:00Z"):
        assert played.say("goal.change", goalId=goal["id"], deadline=text)["code"] == "INVALID_JSON"
    assert played.stands(goal["id"])["deadline"] == IN_AN_HOUR


def test_an_agents_own_goal_has_its_deadline_too(played: GoalScene) -> None:
    given = {"title": "mine", "criteria": [{"text": "tests", "check": RAN}]}
    refused = played.call("tap_create_goal", **given, deadline="soon")
    assert refused.startswith("deadline: a time of RFC 3339")
    played.call("tap_create_goal", **given, deadline=IN_AN_HOUR)
    at(played, HOUR)
    assert closed(played) == [("failed", "deadline")]


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"])
def test_the_last_year_that_there_is_never_comes(played: GoalScene, text: str) -> None:
    played.goal(deadline=text)
    played.talk.wait(50 * HOUR)
    assert (closed(played), count(played)) == ([], 1)


def test_a_clock_that_is_set_back_puts_it_off(played: GoalScene) -> None:
    played.goal(deadline=IN_AN_HOUR)
    at(played, HOUR - 10)
    played.talk.ids.set_back = 600.0
    played.talk.wait(600)
    assert closed(played) == []
    played.talk.wait(10)
    assert closed(played) == [("failed", "deadline")]


def test_a_clock_that_is_set_on_brings_it_within_a_minute(played: GoalScene) -> None:
    played.goal(deadline="2026-01-03T00:00:00Z")
    at(played, HOUR)
    played.talk.ids.set_back = -72 * HOUR
    played.talk.wait(60)
    assert closed(played) == [("failed", "deadline")]


def test_a_restored_goal_whose_deadline_has_passed_is_judged_and_fails(played: GoalScene) -> None:
    goal = played.goal(THERE, deadline=IN_AN_HOUR)
    other = played.goal({**THERE, "path": "b.txt"}, deadline=IN_AN_HOUR)
    played.host.say(type="session.close", sessionId="s2")
    assert count(played) == 0
    played.talk.wait(2 * HOUR)
    played.shell.files["a.txt"] = "there"
    played.open()
    played.begin()
    played.talk.wait(0)
    assert played.stands(goal["id"])["status"] == "achieved"
    assert played.stands(other["id"])["status"] == "failed"
    assert closed(played) == [("achieved", "fold"), ("failed", "deadline")]


def test_a_deadline_goes_along_with_clear(played: GoalScene) -> None:
    played.goal(deadline=IN_AN_HOUR)
    played.host.open("s4", shellTools=["bash"], cwd="/code", replaces="s2")
    at(played, HOUR)
    (told,) = played.talk.events("goal.closed")
    assert (told["sessionId"], told["goal"]["closedBy"]) == ("s4", "deadline")
