"""Each code of the error table, from a socket: message, state before, exact answer, state after."""

import json

import pytest

from tapui.wire.errors import ErrorCode
from tests.conformance.cases import CASES, Case, Json, hello
from tests.conformance.scene import Scene, heard_until_now, state_of
from tests.rig.peers import Peer

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


async def test_answers_to_what_nobody_asked_are_ignored(scene: Scene) -> None:
    provider = await scene.provider()
    await heard_until_now(provider)
    await provider.send({"type": "gate.result", "callId": "none", "decision": "deny"})
    await provider.send({"type": "transform.result", "callId": "none", "content": "c"})
    await provider.send({"type": "tool.result", "id": "none", "data": 1})
    assert await heard_until_now(provider) == ([], "Bound")
