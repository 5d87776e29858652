"""The core profile's messages, as its samples have them."""

import pytest

from tests.conformance.scene import Scene, heard_until_now, state_of
from tests.rig.peers import Json, Provider
from tests.samples.messages import has

GREET: Json = {
    "name": "greet",
    "description": "Say hello",
    "parameters": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
}


async def test_from_the_token_to_the_goodbye(scene: Scene) -> None:
    """Each of the twelve messages, in the order in which a provider sees them."""
    provider = await scene.keep(Provider.connect(scene.gateway.url))
    await provider.send({"type": "auth", "token": scene.gateway.token})
    active = (await provider.expect("sessions"))["active"]
    assert {"id", "label", "cwd"} <= active[0].keys()
    assert scene.session in [one["id"] for one in active]
    await provider.send(
        {
            "type": "hello",
            "name": "my-provider",
            "protocolVersion": 2,
            "session": scene.session,
            "tools": [GREET],
        }
    )
    ack = await provider.expect("hello.ack")
    has(ack, {"protocolVersion": 2, "sessionId": scene.session})
    assert ack["providerId"].startswith("p-")
    about = {"sessionId": scene.session}
    assert await provider.expect("session.lifecycle") == {
        "type": "session.lifecycle",
        **about,
        "state": "started",
    }

    await scene.host.invoke(scene.session, "greet", {"name": "Alice"})
    call = await provider.expect("tool.call")
    has(call, {**about, "tool": "greet", "args": {"name": "Alice"}})
    await provider.send({"type": "tool.result", "id": call["id"], "data": "Hello, Alice!"})
    outcome = await scene.host.expect("tool.outcome")
    assert outcome == {"type": "tool.outcome", "id": "i1", "data": "Hello, Alice!"}

    await scene.host.send({"type": "session.close", **about})
    pending = await provider.expect("session.lifecycle", state="shutdown.pending")
    assert pending == {
        "type": "session.lifecycle",
        **about,
        "state": "shutdown.pending",
        "deadline": 10_000,
    }
    await provider.send({"type": "goodbye", "reason": "shutting down"})
    await scene.host.expect("session.closed", sessionId=scene.session)
    assert await provider.closed() == 1000


@pytest.mark.parametrize(
    ("level", "is_shown", "is_sent"),
    [
        ("keep", False, False),
        ("surface", True, False),
        ("inject", False, True),  # the prompt itself stands in the timeline
    ],
)
async def test_a_page_asks_for_help(
    scene: Scene, level: str, is_shown: bool, is_sent: bool
) -> None:
    provider = await scene.provider(name="my-provider")
    await provider.send(
        {"type": "push", "level": level, "event": "Page asks for help", "stream": "detour"}
    )
    await provider.send({"type": "stream.query", "queryId": "q", "streams": ["detour"]})
    (line,) = (await provider.expect("stream.history"))["streams"]["detour@my-provider"]
    has(line, {"event": "Page asks for help", "level": level})
    await provider.send({"type": "push", "level": "surface", "event": "and that is all"})
    logs, prompts = [""], [""]
    while "and that is all" not in logs[-1]:  # what the first led to came before it
        came = await scene.host.next()
        if came["type"] == "session.log":
            logs.append(came["message"])
        if came["type"] == "session.send":
            prompts.append(came["prompt"])
    found = ["Page asks for help" in " ".join(told) for told in (logs, prompts)]
    assert found == [is_shown, is_sent]


async def test_a_list_of_tools_takes_the_former_ones_place_without_an_answer(scene: Scene) -> None:
    provider = await scene.provider(name="my-provider", tools=[{**GREET, "name": "former"}])
    await scene.host.expect("tools.changed")
    without = {"type": "object", "properties": {"name": {"type": "string"}}}
    await provider.send({"type": "tools.update", "tools": [{**GREET, "parameters": without}]})
    tools = (await scene.host.expect("tools.changed"))["tools"]
    assert {"greet", "former"} & {one["name"] for one in tools} == {"greet"}
    heard, state = await heard_until_now(provider)
    assert ([one for one in heard if one["type"] in ("ack", "error")], state) == ([], "Bound")


CANCELLED: Json = {"error": "Cancelled", "errorCode": "CANCELLED"}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"data": {"user": "alice"}}, {"data": {"user": "alice"}}),
        ({"error": "Element not found: #x", "errorCode": "NOT_FOUND"}, None),
        ({"error": "Cancelled", "errorCode": "CANCELLED"}, None),
        ({"error": "too slow", "errorCode": "TIMEOUT"}, None),
        ({"error": "broken", "errorCode": "INTERNAL"}, None),
    ],
)
async def test_each_kind_of_result(scene: Scene, answer: Json, outcome: Json | None) -> None:
    provider = await scene.provider(name="my-provider", tools=[GREET])
    await scene.host.invoke(scene.session, "greet", {"name": "Ada"})
    await provider.answer(**answer)
    expected = {"type": "tool.outcome", "id": "i1", **(outcome or answer)}
    assert await scene.host.expect("tool.outcome") == expected


async def test_a_call_that_takes_too_long_is_cancelled_and_its_late_answer_is_absorbed(
    scene: Scene,
) -> None:
    provider = await scene.provider(name="my-provider", tools=[{**GREET, "timeout": 50}])
    await scene.host.invoke(scene.session, "greet", {"name": "Ada"})
    call = await provider.expect("tool.call")
    cancel = await provider.expect("tool.cancel")
    has(cancel, {"id": call["id"], "sessionId": scene.session, "reason": "timeout"})
    assert (await scene.host.expect("tool.outcome"))["errorCode"] == "TIMEOUT"
    await provider.send({"type": "tool.result", "id": call["id"], **CANCELLED})
    assert await state_of(provider) == "Bound"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"type": "hello", "name": "p", "protocolVersion": 2, "session": "def456"},
         "INVALID_SESSION"),
        ({"type": "hello", "name": "p", "protocolVersion": 3, "session": "def456"},
         "UNSUPPORTED_VERSION"),
        ({"type": "tool.results"}, "UNKNOWN_TYPE"),
    ],
)  # fmt: skip
async def test_errors_name_what_they_answer(scene: Scene, message: Json, code: str) -> None:
    provider = await scene.keep(Provider.connect(scene.gateway.url, token=scene.gateway.token))
    await provider.send(message)
    error = await provider.expect("error")
    has(error, {"code": code, "replyTo": message["type"]})
    if code == "INVALID_SESSION":
        assert error["message"] == "Session def456 does not exist"
    if code == "UNSUPPORTED_VERSION":
        assert await provider.closed() is not None
