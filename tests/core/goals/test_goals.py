"""Goals: who may open, change and close them, and what makes one achieved."""

import pytest

from tapui.core.effects import FilesSeen, LookAtFiles, LookAtFolder, SurfaceRead
from tests.core.conftest import Scene
from tests.core.goals.played import RAN, GoalScene
from tests.core.harness import Json

PERSON: Json = {"kind": "person", "text": "The page looks good"}


def test_a_goal_of_the_persons_has_the_words_of_its_check(played: GoalScene) -> None:
    goal = played.goal()
    assert goal["title"] == "pytest ends with exit 0"
    assert (goal["status"], goal["openedBy"], goal["revision"]) == ("active", "person", 1)
    assert [one["id"] for one in goal["criteria"]] == ["c1"]
    assert played.talk.gateway.state.goals_of("s2")[0].id == goal["id"]


def test_a_goal_is_achieved_when_all_criteria_have_passed_at_one_moment(
    played: GoalScene,
) -> None:
    goal = played.goal(RAN, {"kind": "file", "path": "cart.py"})
    played.begin()
    played.edit("cart.py")
    assert played.verify(goal)["report"]["verdict"] == "unverifiable"
    assert played.states(goal["id"])[0] == "unknown: never run"
    played.run("pytest", 0, "2 passed in 0.01s")
    answer = played.verify(goal)
    assert answer["report"]["verdict"] == "verified"
    assert (answer["goal"]["status"], answer["goal"]["closedBy"]) == ("achieved", "fold")
    assert [one["kind"] for one in played.talk.events("goal.closed")] == ["goal.closed"]


def test_a_goal_on_a_session_that_is_green_is_judged_at_once(played: GoalScene) -> None:
    played.checks()
    played.end()
    calls = len(played.talk.events("call.started"))
    goal = played.goal()
    assert [one.split(":")[0] for one in played.states(goal["id"])] == ["passed"]
    assert played.stands(goal["id"])["status"] == "active", "what is asked for is still to come"
    assert len(played.talk.events("call.started")) == calls, "nothing was run"
    (told,) = played.talk.events("goal.updated")
    assert (told["by"], told["what"]) == ("tapui", "judged")
    played.begin()
    played.edit("cart.py", "newer")
    played.end()
    assert played.verify(goal)["goal"]["status"] == "active", "it was changed since"
    played.run("pytest", 0, "2 passed in 0.01s")
    assert played.verify(goal)["goal"]["status"] == "achieved"


def test_a_goal_is_judged_by_a_check_that_failed_and_by_one_that_is_stale(
    played: GoalScene,
) -> None:
    played.changes()
    played.run("pytest", 1, "1 failed in 0.01s")
    played.end()
    failed = played.goal()
    assert played.states(failed["id"])[0].startswith("failed: ")
    played.begin()
    played.run("pytest", 0, "2 passed in 0.01s")
    played.edit("cart.py", "newer")
    played.end()
    stale = played.goal()
    assert played.states(stale["id"])[0].startswith("stale: ")


def test_where_nothing_is_recorded_a_goal_is_not_judged(played: GoalScene) -> None:
    goal = played.goal()
    assert played.states(goal["id"]) == ["open"]
    assert played.talk.events("goal.updated") == []


def test_a_criterion_that_is_added_is_judged_at_once(played: GoalScene) -> None:
    played.checks()
    played.end()
    goal = played.goal({"kind": "ran", "command": "ruff check ."})
    assert played.states(goal["id"]) == ["open"]
    played.say("goal.change", goalId=goal["id"], addCriteria=[{"check": RAN}])
    states = [one.split(":")[0] for one in played.states(goal["id"])]
    assert states == ["unknown", "passed"]


def test_an_achieved_goal_stays_so_and_counts_what_changed_since(played: GoalScene) -> None:
    goal = played.goal()
    played.checks()
    played.verify(goal)
    played.edit("cart.py", "newer")
    played.end()
    assert played.stands(goal["id"])["changedSince"] == 1
    assert played.verify(goal)["goal"]["status"] == "achieved"
    refused = played.say("goal.change", goalId=goal["id"], status="active")
    assert refused["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "change",
    [
        {"status": "abandoned"},
        {"status": "paused"},
        {"status": "active"},
        {"addCriteria": [{"text": "and the moon"}]},
    ],
)
def test_an_agent_cannot_change_what_the_person_opened(played: GoalScene, change: Json) -> None:
    goal = played.goal()
    refused = played.call("tap_update_goal", goalId=goal["id"], **change)
    assert refused == "the person opened this goal: you can note and verify it, not change it"
    assert played.stands(goal["id"])["status"] == "active"
    assert played.stands(goal["id"])["revision"] == 1


def test_an_agent_notes_and_verifies_what_the_person_opened(played: GoalScene) -> None:
    goal = played.goal()
    told = played.call("tap_update_goal", goalId=goal["id"], note="half done")
    assert told == {"goalId": goal["id"], "status": "active", "revision": 2}
    assert played.stands(goal["id"])["noteBy"] == "agent"
    told = played.call("tap_verify_goal_output", goalId=goal["id"])
    assert told["verdict"] == "unverifiable"
    assert told["counts"] == {"pass": 0, "fail": 0, "error": 0, "unknown": 1}


def test_no_status_makes_a_goal_achieved(played: GoalScene) -> None:
    made = played.call("tap_create_goal", title="mine", criteria=[{"text": "tests", "check": RAN}])
    assert made["stream"] == "goals@tap"
    for status in ("achieved", "failed", "done"):
        assert "status:" in played.call("tap_update_goal", goalId=made["goalId"], status=status)
    assert played.call("tap_verify_goal_output", goalId=made["goalId"])["status"] == "active"


def test_an_agents_own_goal_does_not_replace_the_persons(played: GoalScene) -> None:
    goal = played.goal()
    played.call("tap_create_goal", title=goal["title"], criteria=[{"text": "it is done"}])
    listed = played.call("tap_list_goals")["goals"]
    assert [one["openedBy"] for one in listed] == ["person", "agent"]
    assert listed[0]["criteria"] == [
        {"id": "c1", "text": "pytest ends with exit 0", "state": "open"}
    ]


def test_an_agent_closes_its_own(played: GoalScene) -> None:
    made = played.call("tap_create_goal", title="mine", criteria=[{"text": "tests", "check": RAN}])
    told = played.call("tap_update_goal", goalId=made["goalId"], status="abandoned")
    assert told["status"] == "abandoned"
    assert "it stays so" in played.call("tap_update_goal", goalId=made["goalId"], status="active")


def test_an_agent_sees_goals_of_its_own_session_alone(played: GoalScene) -> None:
    played.host.open("s3", shellTools=["bash"], cwd="/other")
    other = played.say("goal.open", sessionId="s3", title="theirs")["goal"]
    assert played.call("tap_list_goals") == {"goals": []}
    for tool in ("tap_update_goal", "tap_verify_goal_output"):
        assert "no goal" in played.call(tool, goalId=other["id"])


def test_a_subagent_sees_goals_of_its_parent_and_of_no_other(
    played: GoalScene, scene: Scene
) -> None:
    goal = played.goal({"kind": "call", "tool": "deploy"})
    for session, child in (("s2", "c1"), ("s1", "c2")):
        told = {"remoteSessionId": child, "toolCallId": f"{child}-call", "agentName": "reviewer"}
        scene.host.event(session, "subagent.started", **told)
    played.session = "c1"
    assert [one["goalId"] for one in played.call("tap_list_goals")["goals"]] == [goal["id"]]
    assert played.call("tap_get_session_state")["goals"][0]["goalId"] == goal["id"]
    report = played.call("tap_verify_goal_output", goalId=goal["id"])
    assert report["verdict"] == "unverifiable"
    assert played.call("tap_update_goal", goalId=goal["id"], note="seen")["goalId"] == goal["id"]
    evidence = [{"kind": "file", "path": "a.txt"}]
    for stranger in ("c2", "s1"):
        played.session = stranger
        assert played.call("tap_list_goals")["goals"] == []
        assert played.call("tap_get_session_state")["goals"] == []
        unknown = f"goalId: no goal {goal['id']} is there"
        assert played.call("tap_verify_goal_output", goalId=goal["id"]) == unknown
        assert played.call("tap_update_goal", goalId=goal["id"], note="mine") == unknown
        claim = {"text": "done", "evidence": evidence}
        assert played.call("tap_audit_claims", goalId=goal["id"], claims=[claim]) == unknown
    assert played.stands(goal["id"])["note"] == "seen"


def test_the_persons_word_makes_a_goal_achieved(played: GoalScene) -> None:
    goal = played.goal()
    answer = played.say("goal.change", goalId=goal["id"], status="achieved")
    assert (answer["goal"]["status"], answer["goal"]["closedBy"]) == ("achieved", "you")


def by_word(played: GoalScene, goal: Json) -> Json:
    """Call a goal achieved as the person; return it as the answer has it."""
    answer = played.say("goal.change", goalId=goal["id"], status="achieved")
    achieved: Json = answer["goal"]
    return achieved


def test_what_changed_is_known_from_the_moment_the_person_calls_it_achieved(
    played: GoalScene,
) -> None:
    goal = played.goal()
    played.changes()
    played.end()
    played.shell.files["by_hand.py"] = "the person's"  # before, and not looked at yet
    looks = len(played.shell.looks)
    assert by_word(played, goal)["changedSince"] == 0
    assert played.stands(goal["id"])["changedSince"] == 0
    assert len(played.shell.looks) == looks + 1
    played.begin()
    played.edit("cart.py", "newer")
    played.end()
    assert played.stands(goal["id"])["changedSince"] == 1


def test_what_changed_is_counted_again_after_the_session_was_resumed(played: GoalScene) -> None:
    goal = played.goal()
    played.changes()
    played.end()
    played.shell.files["by_hand.py"] = "the person's"
    by_word(played, goal)
    played.host.say(type="session.close", sessionId="s2")
    played.open()
    played.begin()
    played.edit("cart.py", "newer")
    played.end()
    assert played.stands(goal["id"])["changedSince"] == 1


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_changed_is_not_known_where_the_folder_could_not_be_looked_at(
    played: GoalScene, is_whole: bool
) -> None:
    goal = played.goal()
    played.changes()
    played.end()
    if is_whole:  # something happens before the look is done
        played.changes()
        played.start("make")
        played.shell.holds = (LookAtFolder,)
        by_word(played, goal)
        played.edit("cart.py", "newer")
        played.shell.release()
    else:
        played.shell.is_whole = False
        by_word(played, goal)
    assert "changedSince" not in played.stands(goal["id"])


def test_a_goal_of_a_session_without_shells_of_its_own_does_not_know_what_changed(
    played: GoalScene,
) -> None:
    played.host.open("s3", cwd="/code")
    goal = played.goal(sessionId="s3")
    assert "changedSince" not in by_word(played, goal)


def test_a_goal_is_dropped_noted_and_switched_by_the_person(played: GoalScene) -> None:
    goal = played.goal()
    switched = played.say("goal.change", goalId=goal["id"], unproven="send back")["goal"]
    assert switched["unproven"] == "send back"
    noted = played.say("goal.note", goalId=goal["id"], text="look here")["goal"]
    assert (noted["note"], noted["noteBy"], noted["revision"]) == ("look here", "person", 3)
    dropped = played.say("goal.drop", goalId=goal["id"], reason="no use")["goal"]
    assert (dropped["status"], dropped["note"]) == ("abandoned", "no use")
    assert played.say("goals.read", sessionId="s2", status="active")["goals"] == []
    assert len(played.say("goals.read", last=5)["goals"]) == 1


def test_each_change_is_a_line_of_the_goals_stream_that_agents_cannot_post_to(
    played: GoalScene,
) -> None:
    goal = played.goal()
    played.say("goal.drop", goalId=goal["id"])
    lines = played.talk.events("stream.posted")
    assert [one["stream"] for one in lines] == ["goals@tap", "goals@tap"]
    assert [one["line"]["metadata"]["kind"] for one in lines] == ["goal.opened", "goal.updated"]
    refused = played.call("tap_post", stream="goals", message="achieved: all")
    assert refused == "stream: goals@tap has lines of goals alone"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"criteria": []}, "INVALID_JSON"),
        ({"criteria": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, "INVALID_JSON"),
        ({"criteria": [{"text": "  "}]}, "INVALID_JSON"),
        ({"criteria": [{"check": {"kind": "ran", "command": " "}}]}, "INVALID_JSON"),
        ({"criteria": [{"text": "x"}] * 51}, "PAYLOAD_TOO_LARGE"),
        ({"criteria": [{"text": "x" * 2000}] * 50}, "PAYLOAD_TOO_LARGE"),
        ({"criteria": [{"text": "x", "check": {"kind": "deploy"}}]}, "INVALID_JSON"),
    ],
)
def test_what_is_no_goal_is_refused(played: GoalScene, fields: Json, code: str) -> None:
    assert played.say("goal.open", sessionId="s2", **fields)["code"] == code
    assert played.talk.gateway.state.goals == {}


def test_fifty_goals_are_as_many_as_there_may_be(played: GoalScene) -> None:
    for _ in range(50):
        goal = played.goal()
    assert played.say("goal.open", sessionId="s2", title="more")["code"] == "RATE_LIMITED"
    played.say("goal.drop", goalId=goal["id"])
    played.goal()
    assert len(played.talk.gateway.state.goals_of("s2")) == 50


def test_goals_outlive_clear(played: GoalScene) -> None:
    goal = played.goal(RAN, PERSON)
    played.host.open("s4", shellTools=["bash"], cwd="/code", replaces="s2")
    played.session = "s4"
    assert [one.id for one in played.talk.gateway.state.goals_of("s4")] == [goal["id"]]
    assert played.talk.gateway.state.goals_of("s2") == []
    played.checks()
    played.verify(goal)
    assert played.states(goal["id"])[0] == "passed: "


def test_goals_are_there_again_when_the_session_is_resumed(played: GoalScene) -> None:
    goal = played.goal()
    played.host.say(type="session.close", sessionId="s2")
    played.talk.wait(20)
    assert [one.id for one in played.talk.gateway.state.goals_of("s2")] == [goal["id"]]
    assert played.say("goals.read")["goals"] == []
    played.open()
    played.begin()
    (again,) = played.talk.gateway.state.goals_of("s2")
    assert (again.id, again.title, again.opened_by) == (goal["id"], goal["title"], "person")
    assert played.verify(goal)["goal"]["criteria"][0]["verdict"]["reason"] == "never run"


def test_goals_outlive_a_change_of_the_ledger_with_nothing_proven(played: GoalScene) -> None:
    goal = played.goal(RAN, PERSON)
    played.checks()
    played.shell.is_changed = True
    played.edit("till.py")
    played.end()
    played.host.say(type="session.close", sessionId="s2")
    played.talk.wait(20)
    played.open()
    played.begin()
    assert [one.id for one in played.talk.gateway.state.goals_of("s2")] == [goal["id"]]
    played.verify(goal)
    assert played.states(goal["id"])[0] == "unknown: the ledger was changed outside of tapui"
    played.edit()
    played.run("pytest", 0, "2 passed in 0.01s")
    played.verify(goal)  # whether its check is what it was is not known any more
    assert played.states(goal["id"])[0] == "unknown: the ledger was changed outside of tapui"


def test_criteria_that_contradict_never_pass_together(played: GoalScene) -> None:
    there = {"kind": "file", "path": "a.txt"}
    goal = played.goal(there, {**there, "exists": False})
    played.begin()
    for _ in range(2):
        assert played.verify(goal)["report"]["verdict"] == "failed"
        played.edit("a.txt")
    assert played.stands(goal["id"])["status"] == "active"


def test_a_changed_check_is_unknown_until_the_person_allows_it(played: GoalScene) -> None:
    goal = played.goal({"kind": "ran", "command": "npm test"})
    played.changes()
    played.shell.surface = SurfaceRead("b" * 64, {"package.json": "true"})
    played.run("npm test", 0)
    answer = played.verify(goal)
    (criterion,) = answer["goal"]["criteria"]
    assert criterion["verdict"]["reason"] == "what its check does was changed: package.json"
    assert criterion["changed"][0]["diff"].endswith("-test\n+true")
    wrong = played.say("goal.allow", goalId=goal["id"], criterionId="c1", surface="c" * 64)
    assert wrong["code"] == "NOT_FOUND"
    allowed = played.say(
        "goal.allow", goalId=goal["id"], criterionId="c1", surface=criterion["surface"]
    )
    assert allowed["goal"]["status"] == "achieved"


ODD: Json = {"kind": "ran", "command": "npm test"}


@pytest.mark.parametrize("digest", ["", "e" * 64])
def test_a_check_that_could_not_be_read_at_the_opening_is_unknown_until_the_person_allows_it(
    played: GoalScene, digest: str
) -> None:
    fault = "conftest.py: not read: it has more than 1 MiB"
    played.shell.surface = SurfaceRead(digest, {"conftest.py": "not read"}, fault)
    goal = played.goal(ODD, unproven="send back")
    played.changes()
    played.shell.surface = SurfaceRead("b" * 64, {"conftest.py": "collect_ignore = ['tests']"})
    played.run("npm test", 0)
    assert played.end_turn()["decision"] == "end"  # the agent cannot mend that
    (criterion,) = played.stands(goal["id"])["criteria"]
    why = f"what its check does could not be read when the goal was opened: {fault}"
    assert (criterion["verdict"]["state"], criterion["verdict"]["reason"]) == ("unknown", why)
    assert criterion["changed"][0]["diff"].endswith("+collect_ignore = ['tests']")
    allowed = played.say("goal.allow", goalId=goal["id"], criterionId="c1", surface="b" * 64)
    assert allowed["goal"]["status"] == "achieved"


def test_the_person_can_allow_exactly_what_cannot_be_read(played: GoalScene) -> None:
    played.shell.surface = SurfaceRead("a" * 64, {"a.py": "1"}, "b/conftest.py: not read: a link")
    goal = played.goal(ODD)
    played.changes()
    played.run("npm test", 0)
    played.verify(goal)
    played.shell.surface = SurfaceRead("b" * 64, {"a.py": "2"}, "b/conftest.py: not read: a link")
    asked = {"goalId": goal["id"], "criterionId": "c1", "surface": "a" * 64}
    assert played.say("goal.allow", **asked)["goal"]["status"] == "active"
    played.shell.surface = SurfaceRead("a" * 64, {"a.py": "1"}, "b/conftest.py: not read: a link")
    played.verify(goal)
    assert played.say("goal.allow", **asked)["goal"]["status"] == "achieved"


@pytest.mark.parametrize("kind", ["lost", "restart"])
def test_a_check_of_which_nothing_was_noted_is_unknown(played: GoalScene, kind: str) -> None:
    played.shell.holds = (LookAtFiles,)
    goal = played.goal(ODD)
    (look,) = played.shell.held
    assert isinstance(look, LookAtFiles)
    played.shell.held.clear()
    played.shell.holds = ()
    if kind == "lost":  # the thread that reads has failed
        played.talk.tell(played.talk.gateway.answered, look.ticket, FilesSeen())
        why = "what its check does could not be read when the goal was opened: tapui failed at it"
    else:
        played.host.say(type="session.close", sessionId="s2")
        played.talk.wait(20)
        played.open()
        why = "what its check does was not noted when the goal was opened"
    played.changes()
    played.run("npm test", 0)
    played.verify(goal)
    assert played.states(goal["id"]) == [f"unknown: {why}"]
    allowed = played.say("goal.allow", goalId=goal["id"], criterionId="c1", surface="a" * 64)
    assert allowed["goal"]["status"] == "achieved"


def test_a_check_that_is_no_criterion_has_no_opening(played: GoalScene) -> None:
    made = played.call("tap_create_goal", title="x", criteria=[{"id": "0", "text": "it is fast"}])
    played.changes()
    played.run("npm test", 0)
    told = played.call("tap_verify_goal_output", goalId=made["goalId"], checks=[ODD])
    assert told["verdict"] == "verified"


def test_how_many_files_of_its_check_were_changed_is_told(played: GoalScene) -> None:
    goal = played.goal({"kind": "ran", "command": "npm test"})
    played.changes()
    files = {f"a{at}.py": "" for at in range(30)}
    played.shell.surface = SurfaceRead("b" * 64, files)
    played.run("npm test", 0)
    played.verify(goal)
    (told,) = played.states(goal["id"])
    assert told == "unknown: what its check does was changed: a0.py, a1.py, a10.py and 28 more"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_criterion_does_not_inherit_from_one_that_was_taken_out(
    played: GoalScene, *, at_once: bool
) -> None:
    goal = played.goal({"kind": "ran", "command": "npm test"}, PERSON)
    added = {"addCriteria": [{"check": {"kind": "ran", "command": "gh pr checks"}}]}
    first, second = (added, {}) if at_once else ({}, added)
    played.say("goal.change", goalId=goal["id"], dropCriteria=["c1"], **first)
    if second:
        played.say("goal.change", goalId=goal["id"], **second)
    played.changes()
    played.run("gh pr checks", 0)
    played.verify(goal)
    assert "passed: " in played.states(goal["id"])


def test_a_change_that_is_too_long_to_be_shown_says_so() -> None:
    from tapui.core.goals.judging import surface_changes

    before = {f"test_{n}.py": "a\n" for n in range(30)}
    after = {path: "".join(f"line {n}\n" for n in range(900)) for path in before}
    found = surface_changes(before, after)
    assert len(found) == 20
    assert all(one.diff.endswith("…") and 1_900 < len(one.diff) <= 2_000 for one in found[:3])
    assert [one.diff for one in found[3:]] == [""] * 17
