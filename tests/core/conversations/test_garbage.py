"""What cannot be read: the order of the checks, exact sizes, and calls that must not hang."""

import json
from typing import Any

import pytest

from tapui.wire.limits import MAX_MESSAGE_BYTES, MAX_RESULT_BYTES
from tests.core.conftest import Scene
from tests.core.harness import PROVIDER_TOKEN, Conversation, tool

GARBAGE: list[bytes] = [
    b"",
    b"{",
    b"hello",
    b"[]",
    b"null",
    b"5",
    b'"push"',
    b"{}",
    b'{"type": null}',
    b'{"type": 7}',
    b'{"type": ["push"]}',
    b'{"typ": "push"}',
    b'{"type": "push", "level": NaN}',
    b'{"type": "push", "x": Infinity}',
    b'{"type": "push", "x": -Infinity}',
    b'{"type": "push", "x": 1,}',
    b'{"type": "push"} {}',
    b"{'type': 'push'}",
    b'\xff{"type": "push"}',
    b'{"type": "push", "x": "\xc3\x28"}',
    b'{"type": "push", "x": "\xed\xa0\x80"}',
    rb'{"type": "push", "x": "\ud800"}',
    rb'{"type": "push", "x": "\udc00\ud800"}',
    rb'{"type": "push", "\ud800": 1}',
    b'{"type": "push", "x": "\x00"}',
    b'\xef\xbb\xbf{"type": "push"}',
    b'{"type": "push", "x": ' + b"[" * 100_000,
    b'{"type": "push", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_message_is_invalid_json_and_the_connection_stays(
    scene: Scene, data: bytes
) -> None:
    error = scene.provider.error(data)
    assert error["code"] == "INVALID_JSON"
    assert error["message"]
    assert "replyTo" not in error
    assert error["providerId"] == "p-1"
    assert scene.provider.state == "Bound"
    assert scene.provider.ask(type="push", level="keep", event="still here") == []


def test_a_binary_frame_is_invalid_json(scene: Scene) -> None:
    scene.provider.say_binary()
    assert scene.provider.hear_one("error")["code"] == "INVALID_JSON"
    assert scene.provider.state == "Bound"


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"type": "push", "event": "e"}, "level: missing"),
        ({"type": "push", "level": "keep"}, "event: missing"),
        ({"type": "push", "level": "loud", "event": "e"}, "level: "),
        ({"type": "push", "level": "keep", "event": 7}, "event: "),
        ({"type": "push", "level": "keep", "event": " \n"}, "event: "),
        ({"type": "push", "level": "keep", "event": "e", "stream": "a@b"}, "stream: "),
        ({"type": "push", "level": "keep", "event": "e", "stream": "a" * 65}, "stream: "),
        ({"type": "push", "level": "keep", "event": "e", "metadata": []}, "metadata: "),
        ({"type": "push", "level": "keep", "event": "e", "metadata": "{}"}, "metadata: "),
        ({"type": "tools.update"}, "tools: missing"),
        ({"type": "tools.update", "tools": {}}, "tools: "),
        ({"type": "tools.update", "tools": [{"name": "x"}]}, "tools[0].description: missing"),
        ({"type": "tools.update", "tools": [tool("a"), tool("b c")]}, "tools[1].name: "),
        ({"type": "tools.update", "remove": [7]}, "remove[0]: "),
        ({"type": "tool.result", "data": 1}, "id: missing"),
        ({"type": "tool.progress", "id": "x"}, "message: missing"),
        ({"type": "session.ready"}, "sessionId: missing"),
        ({"type": "hello", "name": "x", "session": "s1"}, "protocolVersion: missing"),
        ({"type": "hello", "protocolVersion": 2, "session": "s1"}, "name: missing"),
    ],
)
def test_a_wrong_field_is_named_by_its_path(
    scene: Scene, message: dict[str, Any], path: str
) -> None:
    error = scene.provider.error({**message, "requestId": "q1"})
    assert error["code"] == "INVALID_JSON"
    assert error["message"].startswith(path), error["message"]
    assert error["replyTo"] == message["type"]
    assert error["requestId"] == "q1"
    assert scene.provider.state == "Bound"


@pytest.mark.parametrize(("id_", "echo"), [("i1", "i1"), ("", ""), (7, None), (None, None)])
def test_only_text_is_echoed(scene: Scene, id_: Any, echo: str | None) -> None:
    error = scene.provider.error(type="nonsense", id=id_, requestId=id_)
    assert error.get("id") == error.get("requestId") == echo


def sized(message: dict[str, Any], size: int) -> bytes:
    """Return the message with a field `pad` that makes it `size` bytes long."""
    bare = len(json.dumps({**message, "pad": ""}).encode())
    data = json.dumps({**message, "pad": "x" * (size - bare)}).encode()
    assert len(data) == size
    return data


def test_a_message_of_exactly_two_mib_is_taken(scene: Scene) -> None:
    push = {"type": "push", "level": "keep", "event": "e"}
    assert scene.provider.ask(sized(push, MAX_MESSAGE_BYTES)) == []
    error = scene.provider.error(sized(push, MAX_MESSAGE_BYTES + 1))
    assert (error["code"], error["replyTo"]) == ("PAYLOAD_TOO_LARGE", "push")
    assert scene.provider.state == "Bound"
    assert len(scene.talk.events("stream.posted")) == 1


def test_a_result_of_exactly_five_mib_is_taken(scene: Scene) -> None:
    call = scene.host.invoke("s1") and scene.provider.take_call()
    scene.provider.say(sized({"type": "tool.result", "id": call, "data": 1}, MAX_RESULT_BYTES))
    assert scene.host.hear() == [{"type": "tool.outcome", "id": "i1", "data": 1}]


def test_a_result_over_five_mib_fails_the_one_call_in_flight(scene: Scene) -> None:
    call = scene.host.invoke("s1") and scene.provider.take_call()
    data = sized({"type": "tool.result", "id": call, "data": 1}, MAX_RESULT_BYTES + 1)
    error = scene.provider.error(data)
    assert (error["code"], error["replyTo"]) == ("PAYLOAD_TOO_LARGE", "tool.result")
    assert error["id"] == call
    outcome = scene.host.hear_one("tool.outcome")
    assert outcome["errorCode"] == "PAYLOAD_TOO_LARGE"
    assert scene.provider.state == "Bound"


def test_an_oversized_result_without_an_id_in_its_beginning_fails_the_one_call(
    scene: Scene,
) -> None:
    """Its members come in an order that puts the id behind the first 64 KiB."""
    call = scene.host.invoke("s1") and scene.provider.take_call()
    result = {"type": "tool.result", "data": "x" * MAX_RESULT_BYTES, "id": call}
    error = scene.provider.error(json.dumps(result).encode())
    assert error["code"] == "PAYLOAD_TOO_LARGE"
    assert "id" not in error
    assert scene.host.hear_one("tool.outcome")["errorCode"] == "PAYLOAD_TOO_LARGE"
    assert scene.provider.state == "Bound"


def test_an_oversized_result_of_an_unknown_call_fails_no_other(scene: Scene) -> None:
    call = scene.host.invoke("s1") and scene.provider.take_call()
    result = {"type": "tool.result", "id": "unknown", "data": "x" * MAX_RESULT_BYTES}
    assert scene.provider.error(json.dumps(result).encode())["id"] == "unknown"
    scene.provider.say({"type": "tool.result", "id": call, "data": 1})
    assert scene.host.hear_one("tool.outcome")["data"] == 1


def test_the_size_is_checked_before_the_state(talk: Conversation) -> None:
    client = talk.connect(PROVIDER_TOKEN)
    error = client.error(sized({"type": "push"}, MAX_MESSAGE_BYTES + 1))
    assert error["code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"type":"tool.result","data":1}', b'{"type":7}'])
def test_garbage_fails_the_one_call_in_flight(scene: Scene, data: bytes) -> None:
    scene.host.invoke("s1")
    error = scene.provider.error(data)
    assert scene.host.hear() == [
        {
            "type": "tool.outcome",
            "id": "i1",
            "error": error["message"],
            "errorCode": "INVALID_JSON",
        }
    ]
    assert scene.provider.state == "Bound"
    scene.host.invoke("s1", id_="i2")
    scene.provider.result(scene.provider.take_call(), data="works again")
    assert scene.host.hear_one("tool.outcome")["data"] == "works again"


def test_garbage_with_several_calls_in_flight_disconnects(scene: Scene) -> None:
    scene.host.invoke("s1", id_="i1").invoke("s1", id_="i2").hear()
    scene.provider.say(b"{")
    assert scene.provider.closed is not None
    outcomes = scene.host.hear_of("tool.outcome")
    assert [(one["id"], one["errorCode"]) for one in outcomes] == [
        ("i1", "DISCONNECTED"),
        ("i2", "DISCONNECTED"),
    ]
    assert "call.cancelling" not in scene.talk.kinds()
    assert scene.talk.gateway.state.calls == {}


def test_a_malformed_result_with_an_id_fails_its_call_alone(scene: Scene) -> None:
    scene.host.invoke("s1", id_="i1").invoke("s1", id_="i2").hear()
    first, second = (one["id"] for one in scene.provider.hear_of("tool.call"))
    scene.provider.result(first, error=7)
    assert scene.provider.hear_one("error")["id"] == first
    outcome = scene.host.hear_one("tool.outcome")
    assert (outcome["id"], outcome["errorCode"]) == ("i1", "INTERNAL")
    scene.provider.result(second, data=2)
    assert scene.host.hear_one("tool.outcome")["id"] == "i2"


@pytest.mark.parametrize(
    "message", [{"type": "push"}, {"type": "nonsense"}, {"type": "tool.progress"}]
)
def test_a_refusal_that_can_be_no_answer_leaves_calls_alone(
    scene: Scene, message: dict[str, Any]
) -> None:
    scene.host.invoke("s1").hear()
    call = scene.provider.take_call()
    scene.provider.error(message)
    assert scene.host.hear() == []
    scene.provider.result(call, data=1)
    assert scene.host.hear_one("tool.outcome")["data"] == 1


def test_a_call_that_is_being_cancelled_does_not_count_as_in_flight(scene: Scene) -> None:
    scene.host.invoke("s1", id_="i1").say(type="tool.abort", id="i1")
    scene.host.invoke("s1", id_="i2").hear()
    scene.provider.say(b"{")
    assert scene.provider.closed is None
    outcome = scene.host.hear_one("tool.outcome")
    assert (outcome["id"], outcome["errorCode"]) == ("i2", "INVALID_JSON")


def test_unknown_fields_are_ignored(scene: Scene) -> None:
    assert scene.provider.ask(type="push", level="keep", event="e", colour="blue", x=[1]) == []
    assert scene.talk.events("stream.posted")[0]["line"]["event"] == "e"
