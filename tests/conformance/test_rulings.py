"""Rulings on what the interface's documents leave open, from a socket."""

import json

from tests.conformance.scene import Scene, heard_until_now
from tests.rig.peers import GREET

DENIED = "Tool '{}' is not supported by this client instance."


async def test_null_is_absent_and_any_integral_number_an_integer(scene: Scene) -> None:
    limit = {"max": 1.0, "scope": None}
    provider = await scene.provider(tools=[GREET | {"timeout": None}], concurrency=limit)
    await provider.send(
        '{"type":"stream.query","queryId":"q","streams":[],"last":2e1,"sessionId":null}'
    )
    await provider.expect("stream.history", queryId="q")
    invoke = {"type": "tool.invoke", "sessionId": scene.session, "tool": "greet", "args": None}
    await scene.host.send({**invoke, "id": "i1"})
    await scene.host.send({**invoke, "id": "i2"})
    call = await provider.expect("tool.call", args={})
    fields = {"data": None, "error": "no", "errorCode": None, "file": None}
    await provider.send({"type": "tool.result", "id": call["id"], **fields})
    assert await scene.host.expect("tool.outcome", id="i1") == {
        "type": "tool.outcome",
        "id": "i1",
        "error": "no",
        "errorCode": "INTERNAL",
    }
    call = await provider.expect("tool.call")
    await provider.send({"type": "tool.result", "id": call["id"], "data": None, "error": None})
    outcome = await scene.host.expect("tool.outcome", id="i2")
    assert outcome == {"type": "tool.outcome", "id": "i2", "data": None}


async def test_a_tower_passes_the_gates_and_gets_their_contexts(scene: Scene) -> None:
    provider = await scene.provider(tools=[GREET])
    rule = {"action": "context", "match": {"tool": "greet"}, "content": "be brief"}
    await provider.send({"type": "hooks.update", "onPreToolUse": [rule], "requestId": "r"})
    await provider.expect("ack")
    tower = await scene.tower()
    await tower.send(
        {"type": "tool.invoke", "id": "i1", "sessionId": scene.session, "tool": "greet"}
    )
    call = await provider.expect("tool.call")
    await provider.send({"type": "tool.result", "id": call["id"], "data": "hi"})
    outcome = await tower.expect("tool.outcome", id="i1")
    assert (outcome["data"], outcome["context"]) == ("hi", ["be brief"])
    finished = await tower.event("call.finished")
    assert finished["call"]["context"] == ["be brief"]


async def test_a_turns_end_ends_native_calls_and_shows_it_to_towers(scene: Scene) -> None:
    tower = await scene.tower()
    about = {"type": "session.event", "sessionId": scene.session}
    data = {"tool": "bash", "toolCallId": f"t-{scene.session}"}
    await scene.host.send({**about, "event": "tool.execution_start", "data": data})
    started = {"remoteSessionId": "c1", "toolCallId": "t1", "agentName": "reviewer"}
    await scene.host.send({**about, "event": "subagent.started", "data": started})
    await scene.host.send({**about, "event": "abort", "data": {"reason": "user"}})
    finished = await tower.event("call.finished")
    assert (finished["call"]["id"], finished["call"]["state"]) == (data["toolCallId"], "cancelled")
    shown = []
    while not shown or shown[0]["state"] == "running":
        shown = (await tower.event("session.updated"))["session"]["subagents"]
    assert [(one["id"], one["agent"], one["state"]) for one in shown] == [
        ("c1", "reviewer", "failed")
    ]


async def test_an_agent_that_nobody_knows_is_refused(scene: Scene) -> None:
    provider = await scene.provider(tools=[GREET])
    agents = [{"name": "reviewer", "tools": ["greet"]}]
    await scene.host.send({"type": "session.update", "sessionId": scene.session, "agents": agents})
    invoke = {"type": "tool.invoke", "id": "i1", "sessionId": scene.session, "tool": "greet"}
    await scene.host.send({**invoke, "agentId": "nobody"})
    outcome = await scene.host.expect("tool.outcome", id="i1")
    assert (outcome["errorCode"], outcome["error"]) == ("NOT_FOUND", DENIED.format("greet"))
    heard, _ = await heard_until_now(provider)
    assert [one for one in heard if one["type"] == "tool.call"] == []


async def test_output_told_to_subscribers_is_text(scene: Scene) -> None:
    provider = await scene.provider(tools=[GREET], subscribe=["tool.execution_complete"])
    await scene.host.send(
        {"type": "tool.invoke", "id": "i1", "sessionId": scene.session, "tool": "greet"}
    )
    call = await provider.expect("tool.call")
    await provider.send({"type": "tool.result", "id": call["id"], "data": {"n": [1, 2]}})
    event = await provider.expect("session.event", event="tool.execution_complete")
    assert json.loads(event["data"]["result"]["output"]) == {"n": [1, 2]}
    assert event["data"]["durationMs"] >= 0


async def test_transforms_that_no_host_applies_are_warned_of(scene: Scene) -> None:
    provider = await scene.provider()
    update = {"type": "hooks.update", "transforms": {"tone": {"action": "append", "content": "c"}}}
    await provider.send({**update, "requestId": "r"})
    (warning,) = (await provider.expect("ack"))["warnings"]
    assert scene.session in warning
    assert "system prompt" in warning
