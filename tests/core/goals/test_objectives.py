"""A session's own objective is shown as a goal: it follows its host, nothing else changes it."""

from typing import Any

import pytest

from tapui.wire import limits
from tapui.wire.goals import Goal
from tests.core.goals.played import RAN, GoalScene
from tests.core.harness import Json


def aims(played: GoalScene, text: str = "mend the cart", **more: Any) -> None:
    """Let the host tell the session's objective."""
    played.tell("session.objective", **{"id": "1", "text": text, "status": "active", **more})


def aims_at_nothing(played: GoalScene) -> None:
    played.tell("session.objective")


def shown(played: GoalScene, session: str = "s2") -> list[tuple[str, str]]:
    """Return the goals of a session: title and status."""
    return [(one.title, one.status) for one in played.talk.gateway.state.goals_of(session)]


def the_one(played: GoalScene) -> Goal:
    (goal,) = played.talk.gateway.state.goals_of("s2")
    return goal


def test_it_is_a_goal_without_criteria_that_copilot_opened(played: GoalScene) -> None:
    aims(played, "mend the cart\nand the till")
    goal = the_one(played)
    assert (goal.title, goal.status, goal.opened_by) == (
        "mend the cart ⏎ and the till",
        "active",
        "copilot",
    )
    assert (goal.criteria, goal.unproven) == ([], "tell")
    lines = played.talk.events("stream.posted")
    assert [one["line"]["event"] for one in lines] == ["opened: mend the cart ⏎ and the till"]
    assert [one["event"] for one in played.talk.events("session.event")] == []


def test_it_follows_the_objectives_status_and_text(played: GoalScene) -> None:
    aims(played)
    aims(played)
    assert the_one(played).revision == 1
    aims(played, status="paused", reason="autopilot_off")
    assert (the_one(played).status, the_one(played).note) == ("paused", "autopilot_off")
    aims(played, "mend the till")
    assert (the_one(played).status, the_one(played).note) == ("active", "")
    aims(played, "mend the till", status="completed", reason="it is mended")
    goal = the_one(played)
    assert (goal.title, goal.status, goal.closed_by) == ("mend the till", "achieved", "copilot")
    assert (goal.note, goal.note_by, goal.verified_at) == ("it is mended", "copilot", None)
    aims(played, "mend the till", status="completed", reason="it is mended")
    assert shown(played) == [("mend the till", "achieved")]


def test_another_one_takes_its_place(played: GoalScene) -> None:
    aims(played)
    aims(played, "something else", id="2")
    assert shown(played) == [("mend the cart", "abandoned"), ("something else", "active")]
    aims_at_nothing(played)
    assert shown(played) == [("mend the cart", "abandoned"), ("something else", "abandoned")]
    assert {one["goal"]["closedBy"] for one in played.talk.events("goal.closed")} == {"copilot"}


def test_one_that_goes_on_after_its_end_is_another_goal(played: GoalScene) -> None:
    aims(played)
    aims(played, status="completed")
    aims(played)
    assert shown(played) == [("mend the cart", "achieved"), ("mend the cart", "active")]


def test_one_that_was_over_before_is_not_shown(played: GoalScene) -> None:
    aims(played, status="completed")
    aims_at_nothing(played)
    assert shown(played) == []


@pytest.mark.parametrize(
    "change", [{"status": "abandoned"}, {"note": "half"}, {"addCriteria": [{"text": "x"}]}]
)
def test_an_agent_reads_it_and_changes_nothing(played: GoalScene, change: Json) -> None:
    aims(played)
    goal = the_one(played)
    (listed,) = played.call("tap_list_goals")["goals"]
    assert (listed["title"], listed["openedBy"]) == ("mend the cart", "copilot")
    refused = played.call("tap_update_goal", goalId=goal.id, **change)
    assert "the session's own objective" in refused
    assert "a goal with criteria" in played.call("tap_verify_goal_output", goalId=goal.id)
    assert the_one(played).revision == 1


@pytest.mark.parametrize(
    "change", [{"status": "achieved"}, {"unproven": "send back"}, {"addCriteria": [{"check": RAN}]}]
)
def test_the_person_changes_it_in_copilot_alone(played: GoalScene, change: Json) -> None:
    aims(played)
    goal = the_one(played)
    assert played.say("goal.change", goalId=goal.id, **change)["code"] == "UNAUTHORIZED"
    assert played.say("goal.drop", goalId=goal.id)["code"] == "UNAUTHORIZED"
    assert the_one(played).revision == 1


def test_its_agent_is_never_sent_back(played: GoalScene) -> None:
    aims(played)
    played.changes()
    assert played.end_turn()["decision"] == "end"


def test_it_ends_with_its_session_and_is_in_no_ledger(played: GoalScene) -> None:
    aims(played)
    goal = played.goal()
    played.host.say(type="session.close", sessionId="s2")
    played.talk.wait(20)
    played.open()
    played.begin()
    assert [one.id for one in played.talk.gateway.state.goals_of("s2")] == [goal["id"]]
    assert b"mend the cart" not in played.shell.ledgers["s2"]


def test_clear_ends_it(played: GoalScene) -> None:
    aims(played)
    played.host.open("s4", shellTools=["bash"], cwd="/code", replaces="s2")
    assert shown(played, "s4") == [("mend the cart", "abandoned")]
    played.session = "s4"
    aims(played, "another", id="1")
    assert shown(played, "s4") == [("mend the cart", "abandoned"), ("another", "active")]


def test_a_session_that_took_its_place_late_keeps_its_own(played: GoalScene) -> None:
    aims(played)
    played.host.open("s4", shellTools=["bash"], cwd="/code")
    played.session = "s4"
    aims(played, "another", id="1")
    played.host.say(type="session.close", sessionId="s2", replacedBy="s4")
    assert sorted(shown(played, "s4")) == [("another", "active"), ("mend the cart", "abandoned")]
    aims(played, "another", status="completed")
    assert sorted(shown(played, "s4")) == [("another", "achieved"), ("mend the cart", "abandoned")]


@pytest.mark.parametrize(
    "data",
    [
        {"id": "1", "status": "failed"},
        {"id": 1, "text": "x"},
        {"id": "1", "text": ["x"]},
        {"id": "1", "text": "x" * (limits.MAX_CRITERION + 1)},
        {"id": "1", "text": "  "},
    ],
)
def test_what_is_no_objective_is_refused(played: GoalScene, data: Json) -> None:
    error = played.host.error(
        type="session.event", sessionId="s2", event="session.objective", data=data
    )
    assert error["code"] == "INVALID_JSON"
    assert shown(played) == []
