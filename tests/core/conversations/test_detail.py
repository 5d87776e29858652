"""Snapshots carry heads; all of a call, an approval or a provider is read on demand."""

import json

import pytest

from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Json

LONG = "x" * 60_000
SMALL_SNAPSHOT = 64 * 1024


def detail(scene: Scene, of: str, subject: str) -> Json:
    scene.tower.hear()
    return scene.tower.say(type="detail.read", id="d", of=of, subject=subject).hear_one("detail")


def snapshot(scene: Scene) -> Json:
    state: Json = scene.talk.tower().ack["state"]
    return state


def size(value: Json) -> int:
    return len(json.dumps(value))


def test_a_call_with_large_arguments_and_a_large_result(scene: Scene) -> None:
    scene.host.invoke("s1", args={"text": LONG})
    call = scene.provider.take_call()
    assert detail(scene, "call", call)["call"]["args"] == {"text": LONG}
    scene.provider.result(call, data=LONG)
    state = snapshot(scene)
    assert size(state) < SMALL_SNAPSHOT
    assert state["calls"][0]["isCut"] is True
    assert scene.talk.reads == []
    whole = detail(scene, "call", call)["call"]
    assert (whole["args"], whole["data"], whole.get("isCut")) == ({"text": LONG}, LONG, None)
    assert len(scene.talk.reads) == 1


def test_a_call_that_failed_with_a_long_error(scene: Scene) -> None:
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    scene.provider.result(call, error=LONG)
    assert size(snapshot(scene)) < SMALL_SNAPSHOT
    assert detail(scene, "call", call)["call"]["error"] == LONG


def test_a_call_with_long_contexts(scene: Scene) -> None:
    rules = [{"action": "context", "content": LONG}] * 3
    scene.provider.say(type="hooks.update", onPreToolUse=rules)
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    scene.provider.result(call, data=1)
    assert scene.host.hear_one("tool.outcome")["context"] == [LONG] * 3
    assert size(snapshot(scene)) < SMALL_SNAPSHOT
    assert detail(scene, "call", call)["call"]["context"] == [LONG] * 3


def test_a_small_call_is_answered_from_memory(scene: Scene) -> None:
    scene.host.invoke("s1", args={"a": 1})
    call = scene.provider.take_call()
    scene.provider.result(call, data=2)
    found = detail(scene, "call", call)["call"]
    assert (found["args"], found["data"]) == ({"a": 1}, 2)
    assert scene.talk.reads == []


def test_a_call_that_the_state_keeps_no_longer_is_read_with_its_session(scene: Scene) -> None:
    first = ""
    for number in range(limits.RECENT_CALLS + 1):
        scene.host.invoke("s1", args={"a": number})
        call = scene.provider.take_call()
        first = first or call
        scene.provider.result(call, data=number)
    assert first not in {one["id"] for one in snapshot(scene)["calls"]}
    asked = {"type": "detail.read", "id": "d", "of": "call", "subject": first}
    assert scene.tower.error(**asked)["code"] == "NOT_FOUND"
    assert scene.tower.error(**asked, sessionId="elsewhere")["code"] == "NOT_FOUND"
    scene.tower.hear()
    found = scene.tower.say(**asked, sessionId="s1").hear_one("detail")["call"]
    assert (found["args"], found["data"], found["state"]) == ({"a": 0}, 0, "done")
    other = {**asked, "subject": "nobody", "sessionId": "s1"}
    assert scene.tower.error(**other)["code"] == "NOT_FOUND"


def test_an_approval_with_a_large_detail(scene: Scene) -> None:
    asked = {"fullCommandText": "rm " + LONG, "files": [LONG] * 5, "kind": "shell"}
    scene.host.say(type="approval.request", id="r", sessionId="s1", kind="permission", detail=asked)
    state = snapshot(scene)
    assert size(state) < SMALL_SNAPSHOT
    head = state["approvals"][0]
    assert head["isCut"] is True
    assert head["detail"]["fullCommandText"].startswith("rm xxx")
    assert head["detail"]["fullCommandText"].endswith("…")
    assert detail(scene, "approval", head["id"])["approval"]["detail"] == asked
    assert scene.talk.reads == []
    scene.host.say(type="approval.withdraw", id="r")
    # The records keep fields up to `records.inline`; of this one its size and a part.
    found = detail(scene, "approval", head["id"])["approval"]
    assert len(scene.talk.reads) == 1
    assert (found["state"], found["isCut"]) == ("withdrawn", True)
    assert found["detail"]["kind"] == "shell"
    assert found["cuts"]["detail"]["size"] == len(json.dumps(asked, separators=(",", ":")))


def test_an_approval_with_a_detail_that_the_records_keep_whole(scene: Scene) -> None:
    asked = {"fullCommandText": LONG, "kind": "shell"}
    scene.host.say(type="approval.request", id="r", sessionId="s1", kind="permission", detail=asked)
    (head,) = snapshot(scene)["approvals"]
    scene.host.say(type="approval.withdraw", id="r")
    assert detail(scene, "approval", head["id"])["approval"]["detail"] == asked
    assert len(scene.talk.reads) == 1


def test_a_provider_with_large_metadata_and_context(scene: Scene) -> None:
    scene.talk.provider("s1", name="big", tools=[], metadata={"page": LONG}, context=LONG)
    state = snapshot(scene)
    assert size(state) < SMALL_SNAPSHOT
    head = next(one for one in state["providers"] if one["name"] == "big")
    assert (head["isCut"], len(head["context"])) == (True, limits.HEAD_BYTES + 1)
    whole = detail(scene, "provider", head["id"])["provider"]
    assert (whole["metadata"], whole["context"]) == ({"page": LONG}, LONG)


def test_a_stream_with_a_long_line(scene: Scene) -> None:
    scene.provider.push(LONG)
    assert size(snapshot(scene)) < SMALL_SNAPSHOT


def test_a_session_with_a_long_label(scene: Scene) -> None:
    scene.host.say(type="session.update", sessionId="s1", label=LONG, model=LONG)
    assert size(snapshot(scene)) < SMALL_SNAPSHOT


def test_a_session_with_long_names_of_subagents(scene: Scene) -> None:
    name = "x" * limits.MAX_ID
    started = {"remoteSessionId": name, "toolCallId": name, "agentName": name}
    scene.host.event("s1", "subagent.started", **started)
    assert size(snapshot(scene)) < SMALL_SNAPSHOT
    scene.host.event("s1", "subagent.completed", toolCallId=name, agentName=name)
    (shown,) = snapshot(scene)["sessions"][0]["subagents"]
    assert (shown["state"], shown["agent"]) == ("completed", "x" * limits.MAX_NAME)


@pytest.mark.parametrize("field", ["remoteSessionId", "toolCallId", "agentName"])
def test_a_subagents_id_that_is_too_long_is_refused(scene: Scene, field: str) -> None:
    started = {"remoteSessionId": "c", "toolCallId": "t", "agentName": "a", field: LONG}
    error = scene.host.error(
        type="session.event", sessionId="s1", event="subagent.started", data=started
    )
    assert (error["code"], field in error["message"]) == ("INVALID_JSON", True)
    assert scene.talk.events() == [scene.talk.events("error.sent")[0]]


def test_what_is_not_known(scene: Scene) -> None:
    for of in ("call", "approval", "provider"):
        error = scene.tower.error(type="detail.read", id="d", of=of, subject="nobody")
        assert (error["code"], error["id"], error["replyTo"]) == ("NOT_FOUND", "d", "detail.read")


def test_a_tower_that_left_meanwhile_is_told_nothing(scene: Scene) -> None:
    scene.host.invoke("s1", args={"text": LONG})
    call = scene.provider.take_call()
    scene.provider.result(call, data=1)
    reading = scene.talk.gateway
    reading.received(
        scene.tower.number,
        json.dumps({"type": "detail.read", "id": "d", "of": "call", "subject": call}).encode(),
        scene.talk.now,
    )
    reading.tell(scene.talk.now, reading.closed, scene.tower.number)
    scene.talk.turn()
    assert not scene.talk.gateway.parts.context.tickets
