"""Evidence: what the person, calls, streams and records say; what agents say does not count."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tapui.core.proof import ledger
from tapui.core.proof.facts import GoalStood
from tapui.wire.criteria import Ran
from tapui.wire.goals import GoalCriterion
from tests.core.goals.played import RAN, GoalScene
from tests.core.harness import Json

PERSON: Json = {"kind": "person", "text": "The page looks good"}


def test_the_person_is_asked_once_for_a_text(played: GoalScene) -> None:
    goal = played.goal(PERSON)
    for _ in range(2):
        played.call("tap_verify_goal_output", goalId=goal["id"])
    (asked,) = [one["approval"] for one in played.talk.events("approval.requested")]
    assert asked["detail"]["question"] == "The page looks good"
    assert played.states(goal["id"]) == ["unknown: the person has not said so"]
    played.tower.say(
        type="approval.decide", approvalId=asked["id"], decision="approve", answer="yes, it is so"
    )
    assert played.stands(goal["id"])["status"] == "achieved"


@pytest.mark.parametrize(
    ("decision", "answer", "state"),
    [
        ("approve", "no, it is not so", "failed: the person said that it is not so"),
        ("approve", "surely", "unknown: the person has not said so"),
        ("deny", None, "unknown: the person has not said so"),
    ],
)
def test_only_a_yes_is_a_yes(
    played: GoalScene, decision: str, answer: str | None, state: str
) -> None:
    goal = played.goal(PERSON)
    played.verify(goal)
    (asked,) = [one["approval"] for one in played.talk.events("approval.requested")]
    played.tower.say(
        type="approval.decide", approvalId=asked["id"], decision=decision, answer=answer
    )
    played.verify(goal)
    assert played.states(goal["id"]) == [state]
    assert len(played.talk.events("approval.requested")) == 1


def test_three_questions_wait_at_most(played: GoalScene) -> None:
    texts = [{"kind": "person", "text": f"point {n}"} for n in range(5)]
    goal = played.goal(*texts)
    played.verify(goal)
    assert len(played.talk.events("approval.requested")) == 3


def test_a_criterion_without_a_check_is_the_persons(played: GoalScene) -> None:
    made = played.call("tap_create_goal", title="mine", criteria=[{"text": "It is fast"}])
    played.call("tap_verify_goal_output", goalId=made["goalId"])
    (asked,) = [one["approval"] for one in played.talk.events("approval.requested")]
    assert (asked["detail"]["question"], asked["detail"]["by"]) == ("It is fast", "agent")


def test_a_call_counts_since_the_goals_opening(played: GoalScene) -> None:
    played.begin()
    played.edit("before.py")
    goal = played.goal({"kind": "call", "tool": "edit", "where": {"path": "cart.py"}})
    played.verify(goal)
    assert played.states(goal["id"]) == ["unknown: never called"]
    played.edit("other.py")
    played.verify(goal)
    assert played.states(goal["id"]) == ["unknown: never called"]
    played.edit("cart.py")
    played.verify(goal)
    assert played.states(goal["id"]) == ["passed: "]


@pytest.mark.parametrize(
    ("after", "before"),
    [
        ("change", "stale: cart.py changed since"),
        ("goal", "unknown: never run"),
        ("turn", "unknown: never run"),
    ],
)
def test_with_a_clock_that_is_set_back_commands_count_in_their_order(
    played: GoalScene, after: str, before: str
) -> None:
    played.talk.wait(2 * 3600)
    played.begin()
    played.edit("cart.py", "first")
    played.run("pytest", 0, "2 passed in 0.01s")
    goal = played.goal({**RAN, "after": after})
    played.end()
    played.talk.ids.set_back = 3600.0
    played.begin()
    played.edit("cart.py", "second")
    played.verify(goal)
    assert played.states(goal["id"]) == [before]
    played.run("pytest", 0, "2 passed in 0.01s")
    played.verify(goal)
    assert played.states(goal["id"]) == ["passed: "]
    closed = played.stands(goal["id"])
    assert closed["status"] == "achieved"
    assert closed["closedAt"] < closed["openedAt"]


def test_with_a_clock_that_is_set_back_calls_count_in_their_order(played: GoalScene) -> None:
    goal = played.goal({"kind": "call", "tool": "deploy", "after": "goal"})
    played.talk.wait(7200)
    played.talk.ids.set_back = 3600.0 * 24
    told = {"tool": "deploy", "toolCallId": "d1"}
    played.tell("tool.execution_start", **told, args={})
    played.tell("tool.execution_complete", **told, success=True)
    played.verify(goal)
    assert played.states(goal["id"]) == ["passed: "]


@pytest.mark.parametrize("since", ["goal", "turn"])
def test_with_a_clock_that_is_set_back_lines_count_in_their_order(
    played: GoalScene, since: str
) -> None:
    provider = played.talk.provider("s2", name="ci-watch")
    played.talk.wait(7200)
    provider.push("build 1 green", stream="ci")
    played.talk.ids.set_back = 3600.0
    played.begin()
    goal = played.goal(
        {"kind": "stream", "stream": "ci@ci-watch", "contains": "green", "since": since}
    )
    played.verify(goal)
    assert played.states(goal["id"]) == ["failed: 0 lines, 1 are wanted"]
    provider.push("build 2 green", stream="ci")
    played.verify(goal)
    assert played.states(goal["id"]) == ["passed: "]


def test_a_providers_call_is_stated(played: GoalScene) -> None:
    provider = played.talk.provider("s2", name="deployer")
    goal = played.goal({"kind": "call", "tool": "greet"})
    played.host.invoke("s2", "greet", "p1")
    provider.result(provider.take_call(), data="ok")
    played.verify(goal)
    assert played.states(goal["id"]) == ["passed: as deployer says"]
    told = played.stands(goal["id"])["criteria"][0]["verdict"]
    assert told["pointers"][0]["provenance"] == "stated"


def test_a_call_that_another_program_answered_is_stated(played: GoalScene) -> None:
    goal = played.goal({"kind": "call", "tool": "github-create_issue"})
    played.begin()
    call = {"tool": "github-create_issue", "toolCallId": "m1"}
    played.tell("tool.execution_start", **call, args={})
    played.tell("tool.execution_complete", **call, answeredBy="github")
    played.verify(goal)
    assert played.states(goal["id"]) == ["passed: as github says"]
    told = played.stands(goal["id"])["criteria"][0]["verdict"]
    assert told["pointers"][0]["provenance"] == "stated"


def test_no_tool_but_the_shell_makes_a_command(played: GoalScene) -> None:
    provider = played.talk.provider("s2", name="shells", tools=[])
    provider.say(
        type="tools.update",
        tools=[{"name": "pytest", "description": "Say it ran", "parameters": {"type": "object"}}],
    )
    goal = played.goal()
    played.host.invoke("s2", "pytest", "p1", args={"command": "pytest"})
    provider.result(provider.take_call(), data={"exitCode": 0})
    played.verify(goal)
    assert played.states(goal["id"]) == ["unknown: never run"]


def test_lines_of_providers_count_and_posts_of_agents_do_not(played: GoalScene) -> None:
    provider = played.talk.provider("s2", name="ci-watch")
    wanted = {"contains": "green", "matches": "build \\d+", "since": "goal"}
    goal = played.goal(
        {"kind": "stream", "stream": "ci@ci-watch", **wanted},
        {"kind": "stream", "stream": "notes@tap", "contains": "green"},
    )
    provider.push("build 1 green", stream="ci")
    played.talk.wait(1)
    played.call("tap_post", stream="notes", message="build 2 green")
    played.verify(goal)
    assert played.states(goal["id"]) == [
        "passed: ",
        "unknown: what agents and prompts post does not count",
    ]


def test_tapui_s_own_tools_change_no_file(played: GoalScene) -> None:
    def written() -> int:
        return sum(type(one).__name__ == "FilesWritten" for one in played.facts)

    played.begin()
    played.call("tap_list_goals")
    played.call("tap_verify_goal_output", checks=[RAN])
    assert written() == 0
    played.call("tap_stop_emitter", name="watch")  # a program that ends may write
    assert written() == 1


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({"contains": "green"}, "failed: 0 lines, 1 are wanted"),
        ({"minCount": 3}, "failed: 2 lines, 3 are wanted"),
        ({"maxCount": 1}, "failed: 2 lines, at most 1 are wanted"),
        ({"notContains": "two"}, "failed: line 2 has it"),
        ({"notContains": "three", "minCount": 2}, "passed: "),
        ({"since": "2", "contains": "two"}, "passed: "),
        ({"last": 1, "contains": "one"}, "failed: 0 lines, 1 are wanted"),
    ],
)
def test_what_lines_have(played: GoalScene, more: Json, state: str) -> None:
    provider = played.talk.provider("s2", name="ci")
    for text in ("one", "two"):
        provider.push(text, stream="log")
    goal = played.goal({"kind": "stream", "stream": "log@ci", **more})
    played.verify(goal)
    assert played.states(goal["id"]) == [state]


# Since when


def moved(at: str, hours: int, zone: str) -> str:
    """Return the time so many hours after another, with another zone."""
    moment = datetime.fromisoformat(at) + timedelta(hours=hours)
    return moment.astimezone(datetime.fromisoformat(f"2026-01-01T00:00{zone}").tzinfo).isoformat()


@pytest.mark.parametrize(("hours", "zone"), [(3, "-08:00"), (3, "+14:00"), (1, "+00:00")])
def test_times_are_compared_as_instants(played: GoalScene, hours: int, zone: str) -> None:
    provider = played.talk.provider("s2", name="ci")
    played.begin()
    played.edit("cart.py")
    played.run("pytest", 0, "2 passed in 0.01s")
    provider.push("green", stream="log")
    now = played.talk.gateway.proof.of("s2").history.commands[-1].at  # type: ignore[union-attr]
    for by, states in (
        (-hours, ["passed: "] * 3),
        (hours, ["unknown: never run", "unknown: never called", "failed: 0 lines, 1 are wanted"]),
    ):
        when = moved(now, by, zone)
        goal = played.goal(
            {"kind": "ran", "command": "pytest", "after": when},
            {"kind": "call", "tool": "edit", "after": when},
            {"kind": "stream", "stream": "log@ci", "since": when},
        )
        played.edit("cart.py")
        played.run("pytest", 0, "2 passed in 0.01s")
        played.verify(goal)
        assert played.states(goal["id"]) == states


NO_TIMES = ["", "0", "yesterday", "2026-11-20", "2026-11-20T18:00:00", "2026-11-31T18:00:00Z"]


@pytest.mark.parametrize("given", NO_TIMES)
@pytest.mark.parametrize(
    ("check", "field"),
    [
        ({"kind": "ran", "command": "pytest"}, "after"),
        ({"kind": "call", "tool": "edit"}, "after"),
        ({"kind": "file", "path": "a"}, "modifiedSince"),
        ({"kind": "stream", "stream": "log@ci"}, "since"),
    ],
)
def test_what_is_no_time_is_refused_with_the_place_of_its_field(
    played: GoalScene, check: Json, field: str, given: str
) -> None:
    wrong = {**check, field: given}
    if check["kind"] == "stream" and given == "0":  # a line's number
        return
    goal = played.say("goal.open", sessionId="s2", criteria=[{"text": "a"}, {"check": wrong}])
    assert goal["code"] == "INVALID_JSON"
    assert goal["message"].startswith(f"criteria[1].check.{field}: ")
    mine = played.call("tap_create_goal", title="t", criteria=[{"text": "t"}])
    for place, told in (
        ("criteria[0].check", played.call("tap_create_goal", title="t",
                                          criteria=[{"text": "t", "check": wrong}])),
        ("checks[0]", played.call("tap_verify_goal_output", checks=[wrong])),
        ("evidence[0]", played.call("tap_update_goal", goalId=mine["goalId"], evidence=[wrong])),
        ("claims[1].evidence[0]", played.call("tap_audit_claims", claims=[
            {"text": "a"}, {"text": "b", "evidence": [wrong]}])),
    ):  # fmt: skip
        assert told.startswith(f"{place}.{field}: "), told


def test_a_criterion_of_before_whose_time_is_none_is_unknown(played: GoalScene) -> None:
    goal = played.goal({"kind": "ran", "command": "pytest", "after": "turn"})
    (known,) = played.talk.gateway.state.goals_of("s2")
    played.host.say(type="session.close", sessionId="s2")
    played.talk.wait(20)
    check = Ran(command="pytest", after="soon")
    former = replace(known, criteria=[GoalCriterion("c1", "tests", check)])
    stood = ledger.ProofLedger("s2").line(GoalStood(at=goal["openedAt"], goal=former))
    played.shell.ledgers["s2"] = stood
    played.open()
    played.begin()
    played.verify(goal)
    assert played.states(goal["id"]) == ["unknown: it counts since a time that is none"]


# What agents state


def check(played: GoalScene, **fields: Any) -> tuple[str, str]:
    told = played.call(
        "tap_verify_goal_output",
        checks=[{"kind": "command", "command": "pytest", **fields}],
    )
    (one,) = told["checks"]
    return one["status"], one.get("reason", "")


def test_a_stated_command_counts_as_it_is_recorded(played: GoalScene) -> None:
    assert check(played, exitCode=0) == ("unknown", "no such call is recorded")
    assert check(played, exitCode=1)[0] == "fail"
    played.begin()
    played.run("pytest", 1)
    assert check(played, exitCode=0) == ("fail", "the record says exit 1")
    played.run("pytest", 0)
    assert check(played, exitCode=0) == ("pass", "")
    assert check(played, exitCode=0, toolCallId="t1") == ("fail", "the record says exit 1")
    assert check(played, exitCode=0, stdout="12 passed", expect={"contains": "12 passed"}) == (
        "unknown",
        "its output is stated, not recorded",
    )


def test_what_is_stated_counts_where_it_is_allowed_and_for_no_goal(played: GoalScene) -> None:
    goal = played.goal()
    told = played.call(
        "tap_verify_goal_output",
        goalId=goal["id"],
        checks=[{"kind": "command", "command": "pytest", "exitCode": 0}],
        allowStated=True,
    )
    assert (told["verdict"], told["status"]) == ("verified", "active")
    assert told["checks"][0]["evidence"]["provenance"] == "stated"
    assert played.call("tap_verify_goal_output", goalId=goal["id"], allowStated=True)[
        "verdict"
    ] == ("unverifiable")


@pytest.mark.parametrize(
    ("expect", "status", "reason"),
    [
        ({"matches": r"\d+ passed"}, "pass", "stated, not recorded"),
        ({"matches": "failed"}, "fail", "nothing in its output matches"),
        ({"matches": "passed", "in": "stderr"}, "fail", "nothing in its output matches"),
        ({"matches": "passed", "contains": "13"}, "fail", "its output does not have: 13"),
        ({"notContains": "12"}, "fail", "its output has: 12"),
    ],
)
def test_stated_output_is_held_against_what_is_expected(
    played: GoalScene, expect: Json, status: str, reason: str
) -> None:
    stated = {"kind": "command", "command": "pytest", "exitCode": 0, "stdout": "12 passed"}
    asked = {"checks": [{**stated, "expect": expect}]}
    (one,) = played.call("tap_verify_goal_output", **asked, allowStated=True)["checks"]
    assert (one["status"], one["reason"]) == (status, reason)
    (one,) = played.call("tap_verify_goal_output", **asked)["checks"]
    assert (one["status"], one["reason"]) == ("unknown", "no such call is recorded")


def test_a_pattern_of_stated_output_that_takes_too_long_is_unknown(played: GoalScene) -> None:
    played.shell.matches = None
    stated = {"kind": "command", "command": "pytest", "exitCode": 0, "stdout": "12 passed"}
    checks = [{**stated, "expect": {"matches": "(a|aa)+$"}}]
    (one,) = played.call("tap_verify_goal_output", checks=checks, allowStated=True)["checks"]
    assert (one["status"], one["reason"]) == ("unknown", "the pattern is none, or takes too long")


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("records:calls/20261120T100000Z-abc/12", "records prove nothing"),
        ("call:t9", "no command of the session's own shells has this id in the ledger"),
        ("call:t1", "it still runs"),
        ("call:t2", "its exit code is not known"),
        ("log@ci#9", "the stream has no such line, or not in memory any more"),
        ("moon@ci#1", "there is no such stream"),
        ("notes@tap#1", "what agents and prompts post does not count"),
        ("goal:g-1", "it is no pointer"),
    ],
)
def test_why_a_pointer_supports_nothing(played: GoalScene, uri: str, why: str) -> None:
    played.talk.provider("s2", name="ci").push("green", stream="log")
    played.call("tap_post", stream="notes", message="green")
    played.begin()
    played.start("pytest")
    played.ended(played.start("make"), None)
    told = played.call("tap_audit_claims", claims=[{"text": "it works", "evidence": [uri]}])
    (check,) = told["claims"][0]["evidence"]
    assert (told["verdict"], check["status"]) == ("unsupported", "unknown")
    assert check["reason"].startswith(why)


def test_the_words_of_the_earlier_extension_are_served(played: GoalScene) -> None:
    played.begin()
    played.edit("out.txt")
    played.run("npm test", 0)
    played.talk.provider("s2", name="ci").push("green", stream="log")
    told = played.call(
        "tap_verify_goal_output",
        checks=[
            {"type": "file", "path": "out.txt", "nonEmpty": True, "description": "the output"},
            {"type": "stream", "channel": "log@ci", "limit": 5, "contains": "green"},
            {"type": "command_evidence", "label": "npm test", "success": True},
            {"type": "file", "path": "no.txt"},
        ],
    )
    assert told["text"].split("\n")[:4] == [
        "Goal output verification: failed",
        "- PASS the output",
        "- PASS log@ci",
        "- PASS npm test",
    ]
    assert told["counts"] == {"pass": 3, "fail": 1, "error": 0, "unknown": 0}


def test_claims_are_held_against_what_is_recorded(played: GoalScene) -> None:
    played.begin()
    played.run("pytest", 1)
    told = played.call(
        "tap_audit_claims",
        claims=[
            {"claim": "tests pass", "evidence": [{"type": "command_evidence", "label": "pytest"}]},
            {"text": "tests pass", "evidence": ["call:t1"]},
            {"text": "it is lovely", "evidence": [], "material": False},
        ],
    )
    assert [one["verdict"] for one in told["claims"]] == [
        "contradicted",
        "contradicted",
        "unsupported",
    ]
    assert (told["verdict"], told["counts"]["contradicted"]) == ("contradicted", 2)
    (event,) = played.talk.events("claims.audited")
    assert event["audit"]["auditId"] == told["auditId"]


@pytest.mark.parametrize(
    ("tool", "args", "words"),
    [
        ("tap_verify_goal_output", {}, "checks: at least one"),
        ("tap_verify_goal_output", {"checks": []}, "checks: at least one"),
        ("tap_verify_goal_output", {"checks": [{"kind": "moon"}]}, "checks[0].kind: one of"),
        ("tap_verify_goal_output", {"checks": [{"kind": "file"}]}, "checks[0]"),
        ("tap_verify_goal_output", {"checks": [{"kind": "file", "path": 1}]}, "checks[0]"),
        ("tap_verify_goal_output", {"checks": [{"type": "file"}]}, "checks[0].path: missing"),
        ("tap_verify_goal_output", {"checks": [{"kind": "file", "pth": "x"}]}, "checks[0].pth"),
        ("tap_audit_claims", {"claims": []}, "claims: a list of 1"),
        ("tap_audit_claims", {"claims": [{"evidence": []}]}, "claims[0].text: missing"),
        ("tap_create_goal", {"title": "x", "criteria": []}, "criteria: at least one"),
        ("tap_create_goal", {"title": "x", "criteria": [{"check": 3, "text": "t"}]}, "criteria[0]"),
        ("tap_list_goals", {"last": 0}, "last: 1 to"),
        ("tap_list_goals", {"status": "lost"}, "status: one of"),
    ],
)
def test_arguments_that_cannot_be_are_named(
    played: GoalScene, tool: str, args: Json, words: str
) -> None:
    assert words in played.call(tool, **args)
