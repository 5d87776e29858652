"""Native calls: those of a session's own tools, shown beside the providers' until they end."""

from typing import Any

import pytest

from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Json


def execution(scene: Scene, event: str, **data: Any) -> None:
    scene.host.event("s1", f"tool.execution_{event}", **data)


def test_native_calls_stand_beside_the_providers(scene: Scene) -> None:
    execution(scene, "start", tool="bash", toolCallId="t1", args={"command": "ls"})
    scene.talk.wait(2)
    execution(
        scene, "complete", tool="bash", toolCallId="t1", result={"type": "success", "output": "a"}
    )
    started, finished = (one["call"] for one in scene.talk.events())
    assert (started["provider"], started["tool"], started["state"]) == (
        "copilot",
        "bash",
        "running",
    )
    assert (finished["state"], finished["data"], finished["duration"]) == ("done", "a", 2000.0)
    assert scene.talk.gateway.state.calls == {}


def test_a_native_call_may_fail_or_end_without_a_word(scene: Scene) -> None:
    execution(scene, "start", tool="bash", toolCallId="t1")
    execution(scene, "complete", tool="bash", toolCallId="t1", result={"type": "failure"})
    execution(scene, "start", tool="bash", toolCallId="t2")
    execution(scene, "complete", tool="bash", toolCallId="t2", result=None)
    execution(scene, "complete", tool="bash", toolCallId="t2")
    execution(scene, "complete", tool="bash", toolCallId="t9")
    states = {id_: one.state for id_, one in scene.talk.gateway.state.recent_calls.items()}
    assert states == {"t1": "failed", "t2": "done"}


def test_a_malformed_end_of_a_native_call_leaves_it_under_way(scene: Scene) -> None:
    execution(scene, "start", tool="bash", toolCallId="t1")
    complete = {"tool": "bash", "toolCallId": "t1", "result": "oops"}
    error = scene.host.error(
        type="session.event", sessionId="s1", event="tool.execution_complete", data=complete
    )
    assert error["code"] == "INVALID_JSON"
    execution(scene, "complete", tool="bash", toolCallId="t1", result={"type": "success"})
    assert scene.talk.gateway.state.calls == {}


def test_native_calls_of_two_sessions_may_have_the_same_id(scene: Scene) -> None:
    scene.host.open("s2")
    for id_ in ("s1", "s2"):
        scene.host.event(id_, "tool.execution_start", tool="bash", toolCallId="t1")
    calls = scene.talk.gateway.state.calls.values()
    assert {(one.id == "t1", one.session_id) for one in calls} == {(True, "s1"), (False, "s2")}
    scene.host.event("s2", "tool.execution_complete", tool="bash", toolCallId="t1")
    assert [one.session_id for one in scene.talk.gateway.state.calls.values()] == ["s1"]
    scene.host.say(type="session.close", sessionId="s1")
    assert scene.talk.gateway.state.calls == {}


def test_native_calls_end_with_their_session(scene: Scene) -> None:
    execution(scene, "start", tool="bash", toolCallId="t1")
    scene.host.say(type="session.close", sessionId="s1")
    finished = scene.talk.events("call.finished")[0]["call"]
    assert (finished["id"], finished["errorCode"]) == ("t1", "DISCONNECTED")


def test_cancelling_a_native_call_stops_the_turn(scene: Scene) -> None:
    execution(scene, "start", tool="bash", toolCallId="t1")
    scene.tower.hear()
    assert scene.tower.ask(type="call.cancel", id="t1") == []
    assert scene.host.hear() == [{"type": "session.abort", "sessionId": "s1"}]


def under_way(scene: Scene) -> set[str]:
    return set(scene.talk.gateway.state.calls)


def ended(scene: Scene) -> dict[str, Json]:
    return {one["call"]["id"]: one["call"] for one in scene.talk.events("call.finished")}


def test_a_call_that_did_not_fail_by_itself_says_what_became_of_it(scene: Scene) -> None:
    kinds = {"denied": "DENIED", "timeout": "TIMEOUT", "cancelled": "CANCELLED", "odd": "INTERNAL"}
    for kind in kinds:
        execution(scene, "start", tool="bash", toolCallId=kind)
        execution(scene, "complete", tool="bash", toolCallId=kind, result={"type": kind})
    made = ended(scene)
    assert {kind: made[kind]["errorCode"] for kind in kinds} == kinds
    assert [made[kind]["state"] for kind in kinds] == ["failed", "failed", "cancelled", "failed"]


@pytest.mark.parametrize(
    ("event", "code", "why"),
    [
        ("session.idle", "CANCELLED", "the turn ended before the tool's end was reported"),
        ("abort", "STOPPED", "the turn was aborted"),
    ],
)
def test_a_turns_end_ends_the_native_calls_that_it_left_open(
    scene: Scene, event: str, code: str, why: str
) -> None:
    scene.host.open("s2")
    scene.host.event("s2", "tool.execution_start", tool="bash", toolCallId="other")
    for number in range(3):
        execution(scene, "start", tool="bash", toolCallId=f"t{number}", args={"n": number})
    scene.talk.wait(2)
    scene.host.event("s1", event)
    assert under_way(scene) == {"other"}
    call = ended(scene)["t1"]
    assert (call["state"], call["errorCode"], call["error"]) == ("cancelled", code, why)
    assert call["duration"] == 2000.0
    execution(scene, "complete", tool="bash", toolCallId="t1", result={"type": "success"})
    assert scene.talk.gateway.state.recent_calls["t1"].state == "cancelled"
    execution(scene, "start", tool="bash", toolCallId="t1")
    assert under_way(scene) == {"other", "t1"}


def test_a_subagents_abort_ends_its_own_calls_only(scene: Scene) -> None:
    execution(scene, "start", tool="bash", toolCallId="t1")
    execution(scene, "start", tool="bash", toolCallId="t2", agentId="c1")
    scene.host.event("s1", "abort", agentId="c1")
    assert under_way(scene) == {"t1"}
    scene.host.event("s1", "session.idle")
    assert under_way(scene) == set()


def test_a_thousand_native_calls_are_followed_at_once(scene: Scene) -> None:
    for number in range(limits.MAX_NATIVE_CALLS + 2):
        execution(scene, "start", tool="bash", toolCallId=f"t{number}")
    assert len(under_way(scene)) == limits.MAX_NATIVE_CALLS
    assert list(ended(scene)) == ["t0", "t1"]
    assert ended(scene)["t0"]["errorCode"] == "INTERNAL"


def test_the_newest_output_of_a_call_is_shown_while_it_runs(scene: Scene) -> None:
    execution(scene, "start", tool="bash", toolCallId="t1", args={"command": "make"})

    def prints(text: str) -> str:
        execution(scene, "partial_result", tool="bash", toolCallId="t1", partialOutput=text)
        return scene.talk.gateway.state.calls["t1"].output

    assert prints("one\n") == "one\n"
    assert prints("one\ntwo\n") == "one\n", "a few times a second, not with each piece"
    scene.talk.wait(1)
    assert prints("one\ntwo\n") == "one\ntwo\n"
    scene.talk.wait(1)
    shown = prints("ü" * limits.MAX_LIVE_OUTPUT)
    assert len(shown.encode()) == limits.MAX_LIVE_OUTPUT
    told = scene.talk.events("call.progress")
    assert [one["call"]["state"] for one in told] == ["running"] * 3
    assert all("args" not in one["call"] for one in told)
    assert not scene.talk.events("session.event"), "it is recorded once, with its call"
    execution(scene, "complete", tool="bash", toolCallId="t1", result={"type": "success"})
    assert scene.talk.gateway.state.recent_calls["t1"].output == ""
    execution(scene, "partial_result", tool="bash", toolCallId="t1", partialOutput="late")
