"""By dice: whatever an agent calls, the person's goal has the criteria and the switch it had."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.conftest import Scene
from tests.core.goals.played import RAN, GoalScene
from tests.core.harness import Conversation

texts = st.sampled_from(["", "it is done", "x" * 2_001, "achieved", "<criterion>", "\u202e"])
checks = st.none() | st.sampled_from(
    [RAN, {"kind": "file", "path": "../../etc/passwd"}, {"kind": "person", "text": "yes"}, 3, "a"]
)
criteria = st.lists(
    st.fixed_dictionaries({"text": texts}, optional={"id": st.just("c1"), "check": checks}),
    max_size=2,
)
arguments = st.fixed_dictionaries(
    {},
    optional={
        "title": texts,
        "criteria": criteria,
        "addCriteria": criteria,
        "dropCriteria": st.just(["c1"]),
        "status": st.sampled_from(["achieved", "abandoned", "paused", "active", "failed", 1]),
        "unproven": st.sampled_from(["tell", "send back"]),
        "note": texts,
        "allowStated": st.booleans(),
        "checks": st.lists(
            st.just({"kind": "command", "command": "pytest", "exitCode": 0}), max_size=1
        ),
        "claims": st.just([{"text": "done", "evidence": ["call:x", "goals@tap#1"]}]),
        "evidence": st.just([{"kind": "command", "command": "pytest", "exitCode": 0}]),
        "goalId": st.just("g-1"),
        "last": st.integers(-1, 60),
    },
)
tools = st.sampled_from(
    [
        "tap_create_goal",
        "tap_update_goal",
        "tap_list_goals",
        "tap_verify_goal_output",
        "tap_audit_claims",
    ]
)


@settings(max_examples=80, database=None, deadline=None)
@given(st.lists(st.tuples(tools, arguments), max_size=12))
def test_no_call_of_an_agent_changes_the_persons_goal(calls: list[tuple[str, Any]]) -> None:
    talk = Conversation()
    played = GoalScene(Scene(talk, talk.host(), talk.connect(), talk.tower()))
    goal = played.goal(RAN, {"kind": "person", "text": "ok"}, unproven="send back")
    assert goal["id"] == "g-1"
    for tool, args in calls:
        played.call(tool, **args)
    now = played.stands("g-1")
    assert (now["status"], now["unproven"], now["title"]) == (
        "active",
        "send back",
        goal["title"],
    )
    assert [one["check"] for one in now["criteria"]] == [one["check"] for one in goal["criteria"]]
    assert all(one.status != "achieved" for one in talk.gateway.state.goals.values())
