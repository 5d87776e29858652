"""Tool calls: one terminal outcome each, whatever anybody does."""

from typing import Any

import pytest

from tapui.core.effects import Copied, NotCopied
from tapui.settings.settings import Settings, Timeouts
from tapui.wire.errors import CallError
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, tool


def outcomes(scene: Scene) -> list[Json]:
    return scene.host.hear_of("tool.outcome")


def test_a_call_from_host_to_provider_and_back(scene: Scene) -> None:
    scene.host.invoke("s1", args={"name": "Alice"})
    assert scene.provider.hear() == [
        {
            "type": "tool.call",
            "id": "call-1",
            "sessionId": "s1",
            "tool": "greet",
            "args": {"name": "Alice"},
            "traceparent": f"00-{1:032x}-{1:016x}-01",
        }
    ]
    scene.talk.wait(0.5)
    scene.provider.say(type="tool.progress", id="call-1", message="60 %")
    assert scene.host.hear() == [{"type": "tool.progress", "id": "i1", "message": "60 %"}]
    scene.provider.result("call-1", data={"text": "Hello"})
    assert scene.host.hear() == [{"type": "tool.outcome", "id": "i1", "data": {"text": "Hello"}}]
    started, progress, finished = scene.talk.events()
    assert started == {
        "kind": "call.started",
        "sessionId": "s1",
        "call": {
            "id": "call-1",
            "sessionId": "s1",
            "provider": "greeter",
            "tool": "greet",
            "state": "running",
            "startedAt": "2026-01-01T00:00:01.000000Z",
            "timeout": 120_000.0,
            "providerId": "p-1",
            "caller": "copilot",
            "args": {"name": "Alice"},
        },
    }
    assert (progress["kind"], progress["call"]["progress"]) == ("call.progress", "60 %")
    assert finished["kind"] == "call.finished"
    assert finished["call"]["state"] == "done"
    assert finished["call"]["data"] == {"text": "Hello"}
    assert finished["call"]["duration"] == 500.0
    assert scene.talk.deadlines == 0


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ({"data": None}, {"data": None}),
        ({"data": False}, {"data": False}),
        ({"data": ""}, {"data": ""}),
        ({"data": None, "error": None, "file": None, "retryable": None}, {"data": None}),
        (
            {"data": None, "error": "no", "errorCode": None, "file": None},
            {"error": "no", "errorCode": "INTERNAL"},
        ),
        ({"data": None, "errorCode": "TIMEOUT"}, {"error": "TIMEOUT", "errorCode": "TIMEOUT"}),
        ({"error": "no", "errorCode": "NOT_FOUND"}, {"error": "no", "errorCode": "NOT_FOUND"}),
        ({"error": "no"}, {"error": "no", "errorCode": "INTERNAL"}),
        ({"errorCode": "CANCELLED"}, {"error": "CANCELLED", "errorCode": "CANCELLED"}),
        ({"error": "", "errorCode": "TIMEOUT"}, {"error": "TIMEOUT", "errorCode": "TIMEOUT"}),
        (
            {"error": "no", "errorCode": "INTERNAL", "retryable": True},
            {"error": "no", "errorCode": "INTERNAL", "retryable": True},
        ),
        (
            {"error": "no", "errorCode": "OWN_CODE", "retryable": False},
            {"error": "no", "errorCode": "OWN_CODE", "retryable": False},
        ),
    ],
)
def test_what_a_result_becomes(scene: Scene, result: Json, outcome: Json) -> None:
    scene.host.invoke("s1")
    scene.provider.result(scene.provider.take_call(), **result)
    assert scene.host.hear() == [{"type": "tool.outcome", "id": "i1", **outcome}]
    assert scene.provider.hear() == []


FILE = {"path": "/x", "mimeType": "image/png", "size": 1}


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"error": ""},
        {"data": 1, "error": "x"},
        {"data": 1, "errorCode": "INTERNAL"},
        {"data": 1, "file": FILE},
        {"error": "x", "file": FILE},
        {"data": 1, "error": "x", "file": FILE},
    ],
)
def test_neither_or_several_of_data_error_file_fails_the_call(scene: Scene, result: Json) -> None:
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    error = scene.provider.error(type="tool.result", id=call, **result)
    text = "a tool.result has exactly one of data, error and file"
    assert (error["code"], error["message"], error["id"]) == ("INVALID_JSON", text, call)
    assert scene.host.hear() == [
        {"type": "tool.outcome", "id": "i1", "error": text, "errorCode": "INTERNAL"}
    ]
    assert scene.provider.ask(type="tool.result", id=call, data=1) == []
    assert scene.host.hear() == []


def test_results_that_answer_nothing_are_ignored(scene: Scene) -> None:
    other = scene.talk.provider("s1", name="other", tools=[])
    scene.host.invoke("s1").hear()
    call = scene.provider.take_call()
    assert scene.provider.ask(type="tool.result", id="call-99", data=1) == []
    assert other.ask(type="tool.result", id=call, data="stolen") == []
    assert other.ask(type="tool.progress", id=call, message="stolen") == []
    assert scene.host.hear() == []
    scene.provider.result(call, data=1).result(call, data=2)
    assert [one["data"] for one in outcomes(scene)] == [1]
    assert scene.provider.hear() == []
    assert scene.provider.ask(type="tool.progress", id=call, message="late") == []
    assert scene.host.hear() == []


def test_several_calls_are_answered_in_any_order(scene: Scene) -> None:
    for i in range(5):
        scene.host.invoke("s1", id_=f"i{i}")
    calls = [one["id"] for one in scene.provider.hear_of("tool.call")]
    for call in reversed(calls):
        scene.provider.result(call, data=call)
    assert [one["id"] for one in outcomes(scene)] == ["i4", "i3", "i2", "i1", "i0"]


@pytest.mark.parametrize(
    ("of_tool", "of_caller", "default", "expected"),
    [
        (None, None, 120, 120),
        (5000, None, 120, 5),
        (None, 5000, 120, 5),
        (5000, 7000, 120, 5),
        (7000, 5000, 120, 5),
        (None, None, 2, 2),
        (500_000, None, 120, 500),
        (None, 500_000, 120, 500),
        (500_000, 400_000, 120, 400),
        (0.5, None, 120, 0.0005),
        (5000, 5000, 2, 5),
        (86_400_001, None, 120, 86_400),
        (1e300, 1e300, 120, 86_400),
    ],
)
def test_the_smallest_timeout_given_holds_up_to_a_day_else_the_default(
    of_tool: float | None, of_caller: float | None, default: float, expected: float
) -> None:
    talk = Conversation(Settings(timeouts=Timeouts(call=default)))
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", tools=[tool("greet", timeout=of_tool)])
    host.invoke("s1", timeout=of_caller)
    provider.hear()
    start = talk.now
    talk.wait(expected * 0.999)
    assert host.hear_of("tool.outcome") == []
    talk.now = start
    talk.wait(expected)
    text = f"Tool 'greet' did not answer within {expected:g} s"
    assert host.hear_of("tool.outcome") == [
        {"type": "tool.outcome", "id": "i1", "error": text, "errorCode": "TIMEOUT"}
    ]
    assert provider.hear() == [
        {"type": "tool.cancel", "id": "call-1", "sessionId": "s1", "reason": "timeout"}
    ]


@pytest.mark.parametrize("timeout", [0, -1, "5", True])
def test_a_timeout_of_a_caller_is_above_zero(scene: Scene, timeout: Any) -> None:
    error = scene.host.error(
        type="tool.invoke", id="i1", sessionId="s1", tool="greet", timeout=timeout
    )
    assert (error["code"], error["id"]) == ("INVALID_JSON", "i1")
    assert scene.provider.hear() == []


def test_a_late_answer_after_a_timeout_is_absorbed(scene: Scene) -> None:
    scene.host.invoke("s1", timeout=1000)
    call = scene.provider.take_call()
    scene.talk.wait(1)
    outcomes(scene)
    state = scene.talk.gateway.state
    assert state.calls[call].state == "cancelling"
    scene.talk.wait(4.9)
    assert scene.provider.ask(type="tool.result", id=call, data="late") == []
    assert outcomes(scene) == []
    assert state.calls == {}
    finished = state.recent_calls[call]
    assert (finished.state, finished.error_code, finished.data) == ("failed", "TIMEOUT", None)
    assert scene.talk.deadlines == 0


def test_a_cancelled_call_is_shown_for_five_seconds(scene: Scene) -> None:
    scene.host.invoke("s1").say(type="tool.abort", id="i1", reason="changed my mind")
    assert scene.host.hear() == [
        {
            "type": "tool.outcome",
            "id": "i1",
            "error": "changed my mind",
            "errorCode": "CANCELLED",
        }
    ]
    call, cancel = scene.provider.hear()
    assert cancel == {
        "type": "tool.cancel",
        "id": call["id"],
        "sessionId": "s1",
        "reason": "changed my mind",
    }
    scene.talk.wait(4.999)
    assert list(scene.talk.gateway.state.calls) == [call["id"]]
    scene.talk.wait(0.001)
    assert scene.talk.gateway.state.calls == {}
    assert scene.talk.gateway.state.recent_calls[call["id"]].state == "cancelled"
    assert scene.provider.ask(type="tool.result", id=call["id"], data=1) == []
    assert scene.host.hear() == []
    assert scene.talk.deadlines == 0


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "Cancelled", "errorCode": "CANCELLED"},
        {"data": "done anyway"},
        {"data": 1, "error": "malformed"},
    ],
)
def test_any_answer_ends_a_cancelled_call(scene: Scene, answer: Json) -> None:
    scene.host.invoke("s1").say(type="tool.abort", id="i1").hear()
    call = scene.provider.hear()[0]["id"]
    scene.provider.result(call, **answer)
    assert scene.host.hear() == []
    assert scene.talk.gateway.state.calls == {}
    assert scene.talk.events("call.finished")[0]["call"]["state"] == "cancelled"


def test_aborting_nothing_is_ignored(scene: Scene) -> None:
    assert scene.host.ask(type="tool.abort", id="i1") == []
    scene.host.invoke("s1")
    scene.provider.result(scene.provider.take_call(), data=1)
    scene.host.hear()
    assert scene.host.ask(type="tool.abort", id="i1") == []


def test_progress_of_a_cancelled_call_is_dropped(scene: Scene) -> None:
    scene.host.invoke("s1").say(type="tool.abort", id="i1").hear()
    call = scene.provider.hear()[0]["id"]
    scene.provider.say(type="tool.progress", id=call, message="still going")
    assert scene.host.hear() == []


def test_a_provider_that_disconnects_fails_its_calls(scene: Scene) -> None:
    scene.host.invoke("s1", id_="i1").invoke("s1", id_="i2")
    scene.host.say(type="tool.abort", id="i1").hear()
    scene.provider.drop()
    assert scene.host.hear() == [
        {
            "type": "tool.outcome",
            "id": "i2",
            "error": "provider 'greeter' disconnected",
            "errorCode": "DISCONNECTED",
        }
    ]
    assert scene.talk.gateway.state.calls == {}


def test_a_session_that_ends_fails_its_calls(scene: Scene) -> None:
    scene.host.invoke("s1").say(type="session.close", sessionId="s1", reason="quit")
    assert scene.host.hear() == [
        {
            "type": "tool.outcome",
            "id": "i1",
            "error": "the session ended: quit",
            "errorCode": "DISCONNECTED",
        }
    ]
    heard = [one["type"] for one in scene.provider.hear()]
    assert heard == ["tool.call", "tool.cancel", "sessions.updated", "session.lifecycle"]


def test_a_caller_that_disconnects_cancels_its_calls(scene: Scene) -> None:
    scene.tower.invoke("s1", id_="t1")
    scene.tower.drop()
    assert [one["type"] for one in scene.provider.hear()] == ["tool.call", "tool.cancel"]
    assert scene.talk.events("call.cancelling")[0]["call"]["errorCode"] == "CANCELLED"
    scene.talk.wait(5)
    assert scene.talk.gateway.state.calls == {}


def test_an_id_that_is_in_flight_is_refused_and_the_first_is_not_touched(scene: Scene) -> None:
    scene.host.invoke("s1")
    error = scene.host.error(type="tool.invoke", id="i1", sessionId="s1", tool="greet")
    assert (error["code"], error["replyTo"], error["id"]) == ("INVALID_JSON", "tool.invoke", "i1")
    scene.tower.invoke("s1", id_="i1").hear()
    mine, theirs = (one["id"] for one in scene.provider.hear_of("tool.call"))
    scene.provider.result(mine, data="mine").result(theirs, data="theirs")
    assert outcomes(scene) == [{"type": "tool.outcome", "id": "i1", "data": "mine"}]
    assert scene.tower.hear_one("tool.outcome")["data"] == "theirs"
    scene.host.invoke("s1")
    assert scene.provider.take_call()


def test_an_id_is_free_once_its_outcome_is_there(scene: Scene) -> None:
    scene.host.invoke("s1").say(type="tool.abort", id="i1").invoke("s1").hear()
    first, _, second = scene.provider.hear()
    scene.provider.result(first["id"], data="late")
    assert scene.host.hear() == []
    scene.provider.result(second["id"], data="second")
    assert [one["data"] for one in outcomes(scene)] == ["second"]


@pytest.mark.parametrize("args", [[], "{}", 7, False])
def test_arguments_are_an_object(scene: Scene, args: Any) -> None:
    error = scene.host.error(type="tool.invoke", id="i", sessionId="s1", tool="greet", args=args)
    assert (error["code"], error["message"]) == ("INVALID_JSON", "args: expected an object")


def test_the_person_calls_and_cancels(scene: Scene) -> None:
    scene.tower.invoke("s1", id_="t1")
    call = scene.provider.take_call()
    assert scene.talk.events()[0]["call"]["caller"] == "you"
    scene.tower.hear()
    assert scene.tower.ask(type="call.cancel", id=call) == [
        {
            "type": "tool.outcome",
            "id": "t1",
            "error": "cancelled by the person",
            "errorCode": "CANCELLED",
        }
    ]
    scene.talk.wait(5)
    error = scene.tower.error(type="call.cancel", id=call)
    assert (error["code"], error["id"]) == ("NOT_FOUND", call)


def test_result_in_a_file_holds_once_the_file_was_copied(scene: Scene) -> None:
    scene.talk.files[FILE["path"]] = Copied("/sessions/s1/files/tap/results/x.png", 42)
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    scene.provider.result(call, file={**FILE, "ttl": 300, "note": "A red dot."})
    (copy,) = scene.talk.copies
    assert (copy.session_id, copy.name, copy.ttl) == ("s1", call, 300)
    kept = {
        "path": "/sessions/s1/files/tap/results/x.png",
        "mimeType": FILE["mimeType"],
        "size": 42,
    }
    kept["note"] = "A red dot."
    assert outcomes(scene)[0]["file"] == kept
    assert scene.talk.events("call.finished")[-1]["call"]["file"] == kept


def test_result_in_a_file_that_is_too_large_fails_the_call_with_that_code(scene: Scene) -> None:
    scene.talk.files[FILE["path"]] = NotCopied(CallError.PAYLOAD_TOO_LARGE, "file: too large")
    scene.host.invoke("s1")
    scene.provider.result(scene.provider.take_call(), file=FILE)
    (outcome,) = outcomes(scene)
    assert (outcome["errorCode"], outcome["error"]) == ("PAYLOAD_TOO_LARGE", "file: too large")


def test_result_in_a_file_that_is_elsewhere_fails_the_call(scene: Scene) -> None:
    scene.host.invoke("s1")
    scene.provider.result(scene.provider.take_call(), file=FILE)
    (outcome,) = outcomes(scene)
    assert (outcome["errorCode"], outcome["error"]) == ("INTERNAL", "file.path: no such file")


def test_large_arguments_and_results_are_whole_on_the_wire_and_cut_in_the_record(
    scene: Scene,
) -> None:
    large = "x" * 70_000
    scene.host.invoke("s1", args={"text": large})
    call = scene.provider.hear_one("tool.call")
    assert call["args"] == {"text": large}
    scene.provider.result(call["id"], data=large)
    assert outcomes(scene)[0]["data"] == large
    started, finished = scene.talk.events()
    cut = started["call"]["argsCut"]
    assert (cut["size"], len(cut["head"]), len(cut["sha256"])) == (70_012, 1024, 64)
    assert "args" not in started["call"]
    assert finished["call"]["dataCut"]["size"] == 70_002
    assert "data" not in finished["call"]


def test_a_record_is_one_line_whatever_the_caller_sends(scene: Scene) -> None:
    data = b'{"type":"tool.invoke","id":"i","sessionId":"s1","tool":"greet","args":{"a":\r\n1}}'
    scene.host.say(data)
    kept = scene.talk.entries[0].event
    assert b"\n" not in bytes(kept.call.args)  # type: ignore[union-attr]
