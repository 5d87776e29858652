"""Each code of the error table, from a socket: message, state before, exact answer, state after."""

import asyncio
import json

import pytest

from tapui.core.emitters.introduction import USUAL
from tapui.wire.errors import ErrorCode
from tests.conformance.cases import CASES, GATE, Case, Json, hello, push
from tests.conformance.scene import Scene, heard_until_now, state_of
from tests.rig.peers import GREET, Peer, Provider
from tests.rig.waiting import HUNG

STREAMS = 20
BEFORE = {"client": "AwaitHello", "tower": "Tower", "host": "Host"}
"""The states of those who are no providers."""


def about(session: str, message: Json) -> Json:
    """Put the test's session where `{session}` stands."""
    named: Json = json.loads(json.dumps(message).replace("{session}", session))
    return named


async def enter(scene: Scene, who: str) -> Peer:
    if who == "external":
        return await scene.external()
    if who == "client":
        return await scene.keep(Peer.connect(scene.gateway.url, token=scene.gateway.token))
    if who == "tower":
        return await scene.tower()
    if who == "host":
        return scene.host
    if who == "all":
        return await scene.internal(session="all", name=f"all-{scene.session}")
    if who == "internal":
        return await scene.internal()
    return await scene.provider()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
async def test_a_refusal(scene: Scene, case: Case) -> None:
    peer = await enter(scene, case.who)
    for message in case.before:
        await peer.send(about(scene.session, message))
    assert await state_of(peer) == BEFORE.get(case.who, "Bound")
    await peer.send({**about(scene.session, case.message), "id": "i7", "requestId": "r7"})
    heard, after = await heard_until_now(peer)
    errors = [one for one in heard if one["type"] == "error"]
    assert len(errors) == 1, heard
    answer = errors[0]
    provider_id = answer.pop("providerId", None)
    assert (provider_id is None) == (case.who in BEFORE)
    expected: Json = {
        "type": "error",
        "code": case.code,
        "message": case.text,
        "replyTo": case.message["type"],
        "id": "i7",
        "requestId": "r7",
        **case.echoed,
    }
    if case.tools is not None:
        expected["tools"] = case.tools
    assert answer == about(scene.session, expected)
    assert after == case.after
    if case.closes is not None:
        assert await peer.closed() == case.closes


async def pushed(peer: Peer, stream: str) -> Json | None:
    """Push, as soon as the budget allows it; return the refusal, if it was refused."""
    async with asyncio.timeout(HUNG):
        while True:
            await peer.send(push(stream=stream))
            heard, _ = await heard_until_now(peer)
            refusal = next((one for one in heard if one["type"] == "error"), None)
            if refusal is None or refusal["code"] != "RATE_LIMITED":
                return refusal


async def test_the_twenty_first_stream(scene: Scene) -> None:
    provider = await scene.provider()
    for number in range(STREAMS):
        assert await pushed(provider, f"s{number}") is None
    assert await pushed(provider, "s0") is None
    assert await pushed(provider, "one more") == {
        "type": "error",
        "code": "PAYLOAD_TOO_LARGE",
        "message": "a provider may have at most 20 streams",
        "replyTo": "push",
        "providerId": provider.id,
    }
    assert await state_of(provider) == "Bound"


def test_every_code_has_a_case() -> None:
    elsewhere = {"UNKNOWN_TYPE", "AUTH_FAILED", "DUPLICATE_INSTANCE"}
    for_a_full_disk = {"INTERNAL"}
    assert {case.code for case in CASES} | elsewhere | for_a_full_disk == set(ErrorCode)


async def test_a_wrong_token(scene: Scene) -> None:
    peer = await scene.keep(Peer.connect(scene.gateway.url))
    await peer.send({"type": "auth", "token": "ptk-guess"})
    assert await peer.next() == {
        "type": "error",
        "code": "AUTH_FAILED",
        "message": "unknown token",
        "replyTo": "auth",
    }
    assert await peer.closed() == 1008


async def test_an_identity_that_is_taken(scene: Scene) -> None:
    first = await scene.provider(instance="i1")
    peer = await enter(scene, "client")
    await state_of(peer)
    await peer.send({**about(scene.session, hello(instance="i1")), "requestId": "r7"})
    heard, after = await heard_until_now(peer)
    assert heard == [
        {
            "type": "error",
            "code": "DUPLICATE_INSTANCE",
            "message": (
                f"another connection is 'greeter/i1' in session {scene.session}; choose another "
                "instance or show its reconnectToken"
            ),
            "replyTo": "hello",
            "requestId": "r7",
            "sessionId": scene.session,
        }
    ]
    assert (after, await state_of(first)) == ("AwaitHello", "Bound")


@pytest.mark.parametrize(
    "answer", ["{}", '{"callId":7}', '{"callId":"CALL","decision":"maybe"}', '{"decision":[]}']
)
async def test_nonsense_from_a_gate_denies(scene: Scene, answer: str) -> None:
    provider = await scene.provider()
    await provider.send({"type": "hooks.update", "onPreToolUse": [GATE], "requestId": "r"})
    await provider.expect("ack")
    asked = {"type": "hook.preToolUse", "id": "k", "sessionId": scene.session, "tool": "bash"}
    await scene.host.send(asked)
    check = await provider.expect("gate.check")
    fields = json.loads(answer.replace("CALL", check["callId"]))
    await provider.send({**fields, "type": "gate.result"})
    assert (await provider.expect("error"))["code"] == "INVALID_JSON"
    assert await scene.host.expect("hook.decision", id="k") == {
        "type": "hook.decision",
        "id": "k",
        "decision": "deny",
        "reason": "Gate provider 'greeter' sent a malformed answer.",
    }
    assert await state_of(provider) == "Bound"


async def test_nonsense_from_a_transform_changes_nothing(scene: Scene) -> None:
    provider = await scene.provider()
    transforms = {"tone": {"action": "callback"}}
    await provider.send({"type": "hooks.update", "transforms": transforms, "requestId": "r"})
    await provider.expect("ack")
    prompt = {"type": "prompt.submitted", "id": "q", "sessionId": scene.session, "prompt": "p"}
    await scene.host.send({**prompt, "sections": {"tone": "calm"}})
    request = await provider.expect("transform.request", section="tone", current="calm")
    await provider.send({"type": "transform.result", "callId": request["callId"], "content": 7})
    assert (await provider.expect("error"))["code"] == "INVALID_JSON"
    prepared = await scene.host.expect("prompt.prepared", id="q")
    assert prepared == {
        "type": "prompt.prepared",
        "id": "q",
        "context": [USUAL],
        "sections": {"tone": "calm"},
    }
    assert await state_of(provider) == "Bound"


async def test_answers_to_what_nobody_asked_are_ignored(scene: Scene) -> None:
    provider = await scene.provider()
    await heard_until_now(provider)
    await provider.send({"type": "gate.result", "callId": "none", "decision": "deny"})
    await provider.send({"type": "transform.result", "callId": "none", "content": "c"})
    await provider.send({"type": "tool.result", "id": "none", "data": 1})
    assert await heard_until_now(provider) == ([], "Bound")


async def test_the_eleventh_call_that_waits_for_a_place_is_refused(scene: Scene) -> None:
    provider = await scene.provider(tools=[GREET], concurrency={"max": 1})
    for number in range(12):
        await scene.host.invoke(scene.session, "greet", id_=f"i{number}")
    assert await scene.host.expect("tool.outcome") == {
        "type": "tool.outcome",
        "id": "i11",
        "error": "10 calls wait for provider 'greeter' already",
        "errorCode": "RATE_LIMITED",
    }
    for number in range(11):
        await provider.answer(data=number)
        assert (await scene.host.expect("tool.outcome", id=f"i{number}"))["data"] == number


async def test_an_instance_that_is_not_there(scene: Scene) -> None:
    await scene.provider(tools=[GREET], instance="one")
    await scene.host.invoke(scene.session, "greet", {"target": "two"})
    assert await scene.host.expect("tool.outcome") == {
        "type": "tool.outcome",
        "id": "i1",
        "error": "no instance 'two'; there are: one",
        "errorCode": "NOT_FOUND",
    }


async def test_a_broadcast_reaches_every_session_of_a_provider_of_all(scene: Scene) -> None:
    other = f"{scene.session}-b"
    await scene.host.open(other)
    everywhere: Provider = await scene.internal(session="all", name=f"all-{scene.session}")
    await everywhere.send(push(level="surface", event="to all", broadcast=True))
    for session in (scene.session, other):
        line = await scene.host.expect("session.log", sessionId=session)
        assert line["message"] == f"all-{scene.session}@all-{scene.session}: to all"
