"""Traces: W3C ids from the caller to the provider, and a span for each part of a turn."""

import pytest

from tapui.core.traces import TraceParent, parse
from tapui.settings.settings import Records, Settings
from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = f"00-{TRACE}-{SPAN}-01"
GATE = {"match": {"tool": "greet"}, "action": "gate", "gateId": "ci"}


def spans(talk: Conversation, name: str = "") -> list[Json]:
    """Return the spans that were recorded, oldest first."""
    found = [event["span"] for event in talk.events("span.ended")]
    return [span for span in found if name in ("", span["name"])]


def ids(span: Json) -> tuple[str, str | None]:
    return span["traceId"], span.get("parentId")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00-",
        GIVEN + "\n",
        " " + GIVEN,
        GIVEN.upper(),
        GIVEN.replace("00-", "01-", 1),
        GIVEN.replace("00-", "ff-", 1),
        GIVEN + "-extra",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE[:-1]}\N{FULLWIDTH DIGIT ONE}-{SPAN}-01",
    ],
)
def test_what_is_no_traceparent_is_dropped_and_a_trace_of_ours_begins(
    scene: Scene, text: str
) -> None:
    assert parse(text) is None
    scene.host.invoke("s1", traceparent=text)
    sent = scene.provider.hear_one("tool.call")["traceparent"]
    assert sent == f"00-{1:032x}-{1:016x}-01"


def test_a_traceparent_is_read() -> None:
    assert parse(GIVEN) == TraceParent(TRACE, SPAN, is_sampled=True)
    assert parse(GIVEN[:-2] + "00") == TraceParent(TRACE, SPAN, is_sampled=False)
    assert parse(GIVEN[:-2] + "03") == TraceParent(TRACE, SPAN, is_sampled=True)


def test_the_trace_of_the_caller_reaches_the_provider_and_the_records(scene: Scene) -> None:
    scene.host.invoke("s1", args={"secret": "hunter2"}, traceparent=GIVEN, agentId="c1")
    call = scene.provider.hear_one("tool.call")
    assert call["traceparent"] == f"00-{TRACE}-{1:016x}-01"
    scene.talk.wait(0.25)
    scene.provider.result(call["id"], data={"secret": "hunter3"})
    (event,) = scene.talk.events("span.ended")
    assert event["sessionId"] == "s1"
    assert event["span"] == {
        "traceId": TRACE,
        "spanId": f"{1:016x}",
        "parentId": SPAN,
        "name": "provider",
        "startedAt": "2026-01-01T00:00:01.000000Z",
        "duration": 250.0,
        "tool": "greet",
        "provider": "greeter",
        "callId": call["id"],
        "agentId": "c1",
    }


@pytest.mark.parametrize(
    ("result", "status", "code"),
    [
        ({"error": "hunter2", "errorCode": "INTERNAL"}, "error", "INTERNAL"),
        ({"error": "hunter2", "errorCode": "hunter2"}, "error", "OTHER"),
        ({"error": "hunter2", "errorCode": "CANCELLED"}, "cancelled", "CANCELLED"),
    ],
)
def test_a_span_tells_that_a_call_failed_and_nothing_that_was_said(
    scene: Scene, result: Json, status: str, code: str
) -> None:
    scene.host.invoke("s1")
    scene.provider.result(scene.provider.take_call(), **result)
    (span,) = spans(scene.talk)
    assert (span["status"], span["code"]) == (status, code)
    assert "hunter2" not in str(span)


def test_a_trace_that_is_not_recorded_elsewhere_is_handed_on_and_not_recorded(
    scene: Scene,
) -> None:
    scene.host.invoke("s1", traceparent=GIVEN[:-2] + "00")
    call = scene.provider.hear_one("tool.call")
    assert call["traceparent"] == GIVEN[:-2] + "00"
    scene.provider.result(call["id"], data=1)
    assert spans(scene.talk) == []


def test_with_traces_off_only_the_callers_own_trace_is_handed_on() -> None:
    talk = Conversation(Settings(records=Records(traces=False)))
    host = talk.host(hooks=True)
    host.open("s1")
    provider = talk.provider("s1", hooks={"onPreToolUse": [GATE]})
    host.event("s1", "user.message", content="hi")
    for id_, given in (("i1", None), ("i2", "nonsense"), ("i3", GIVEN)):
        host.invoke("s1", id_=id_, traceparent=given)
        call = provider.hear_one("tool.call")
        assert call.get("traceparent") == (given if given == GIVEN else None)
        provider.result(call["id"], data=1)
    host.event("s1", "session.idle")
    host.say(type="session.close", sessionId="s1")
    assert spans(talk) == []


def test_a_turn_its_prompt_its_gate_and_its_call_are_one_trace(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    provider = talk.provider("s1", hooks={"onPreToolUse": [GATE]})
    host.say(type="prompt.submitted", id="q1", sessionId="s1", prompt="hunter2")
    talk.wait(0.5)
    host.event("s1", "user.message", content="hunter2")
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="greet", args={})
    talk.wait(1)
    check = provider.hear_one("gate.check")
    provider.say(type="gate.result", callId=check["callId"], decision="allow")
    assert spans(talk) == []  # which trace it is, a call will say
    host.invoke("s1", traceparent=GIVEN)
    talk.wait(2)
    provider.result(provider.take_call(), data=1)
    host.event("s1", "session.idle")
    prompt, gate, call, turn = spans(talk)
    assert [one["name"] for one in (prompt, gate, call, turn)] == [
        "prompt",
        "gate",
        "provider",
        "turn",
    ]
    assert [one["duration"] for one in (prompt, gate, call, turn)] == [0, 1000, 2000, 3000]
    assert {one["traceId"] for one in (prompt, gate, call, turn)} == {TRACE}
    assert ids(prompt) == ids(gate) == (TRACE, turn["spanId"])
    assert (ids(call), ids(turn)) == ((TRACE, SPAN), (TRACE, None))
    assert (turn["turn"], gate["tool"], gate["provider"]) == (1, "greet", "greeter")
    assert "hunter2" not in str(spans(talk))


def test_without_a_trace_from_outside_the_turn_has_one_of_ours(scene: Scene) -> None:
    for number in (1, 2):
        scene.host.event("s1", "user.message", content="hi")
        scene.host.invoke("s1", id_=f"i{number}")
        scene.provider.result(scene.provider.take_call(), data=1)
        scene.host.event("s1", "session.idle", aborted=number == 2)
    one, first, other, second = spans(scene.talk)
    assert (first["turn"], second["turn"]) == (1, 2)
    assert (first.get("status"), second["status"]) == (None, "cancelled")
    assert ids(one) == (first["traceId"], first["spanId"])
    assert ids(other) == (second["traceId"], second["spanId"])
    assert first["traceId"] != second["traceId"]


def test_turns_that_follow_each_other_without_rest_are_two_spans(scene: Scene) -> None:
    scene.host.event("s1", "user.message", content="one")
    scene.talk.wait(0.5)
    scene.host.event("s1", "user.message", content="two")
    scene.host.event("s1", "user.message", content="into it", delivery="steering")
    scene.host.event("s1", "session.idle")
    assert [one["turn"] for one in spans(scene.talk)] == [1, 2]


@pytest.mark.parametrize("end", ["close", "replace", "drop"])
def test_the_turn_of_a_session_that_ends_has_ended(scene: Scene, end: str) -> None:
    scene.host.event("s1", "user.message", content="hi")
    if end == "close":
        scene.host.say(type="session.close", sessionId="s1")
    elif end == "replace":
        scene.host.open("s2", replaces="s1")
    else:
        scene.host.drop()
    (span,) = spans(scene.talk)
    assert (span["name"], span["status"]) == ("turn", "cancelled")


def test_a_prompt_that_led_to_no_turn_is_recorded_when_its_session_ends(scene: Scene) -> None:
    scene.host.say(type="prompt.submitted", id="q1", sessionId="s1", prompt="hi")
    scene.host.say(type="session.close", sessionId="s1")
    assert [one["name"] for one in spans(scene.talk)] == ["prompt"]


def test_the_wait_for_a_place_is_a_span_of_its_own(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", concurrency={"max": 1, "scope": "provider"})
    host.invoke("s1", id_="i1", traceparent=GIVEN)
    host.invoke("s1", id_="i2", traceparent=GIVEN)
    host.invoke("s1", id_="i3", traceparent=GIVEN)
    talk.wait(0.5)
    host.say(type="tool.abort", id="i3")
    provider.result(provider.take_call(), data=1)
    talk.wait(0.25)
    provider.result(provider.take_call(), data=1)
    given_up, waited, first, second = spans(talk)
    assert [one["name"] for one in (given_up, waited, first, second)] == [
        "queue",
        "queue",
        "provider",
        "provider",
    ]
    assert (given_up["status"], given_up["code"]) == ("cancelled", "CANCELLED")
    assert (waited["duration"], second["duration"]) == (500, 250)
    assert waited["callId"] == second["callId"] != first["callId"]
    assert {ids(one) for one in spans(talk)} == {(TRACE, SPAN)}
    finished = talk.events("call.finished")[-1]["call"]
    assert (finished["queued"], finished["duration"]) == (500, 750)


def test_a_call_tells_how_long_its_gate_took(talk: Conversation) -> None:
    host = talk.host()  # which does not ask by itself
    host.open("s1")
    provider = talk.provider("s1", hooks={"onPreToolUse": [GATE]})
    host.invoke("s1", traceparent=GIVEN)
    talk.wait(0.5)
    check = provider.hear_one("gate.check")
    provider.say(type="gate.result", callId=check["callId"], decision="allow")
    provider.result(provider.take_call(), data=1)
    assert talk.events("call.finished")[-1]["call"]["gated"] == 500
    assert talk.events("gate.checked")[-1]["gate"]["duration"] == 500
    assert [ids(one) for one in spans(talk)] == [(TRACE, SPAN)] * 2


def test_a_gate_that_denies_is_a_span_that_says_so(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    talk.provider("s1", hooks={"onPreToolUse": [GATE]})
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="greet", args={})
    talk.wait(10)  # nobody answers
    (span,) = spans(talk, "gate")
    assert (span["status"], span["duration"]) == ("denied", 5000)


def test_a_providers_prompt_is_a_span_until_its_turn_begins(scene: Scene) -> None:
    scene.provider.push(level="inject", event="hunter2")
    scene.talk.wait(0.5)
    scene.host.event("s1", "prompt.injected", content="hunter2", **{"from": "greeter"})
    scene.host.event("s1", "assistant.turn_start")
    scene.host.event("s1", "session.idle")
    dispatch, turn = spans(scene.talk)
    assert (dispatch["name"], dispatch["provider"]) == ("dispatch", "greeter")
    assert dispatch["duration"] == 500
    assert ids(dispatch) == (turn["traceId"], turn["spanId"])


def test_a_providers_prompt_that_could_not_be_sent_has_failed(scene: Scene) -> None:
    scene.provider.push(level="inject", event="hunter2")
    scene.host.say(type="session.sent", sessionId="s1", ok=False, error="gone")
    scene.host.say(type="session.close", sessionId="s1")
    (span,) = spans(scene.talk)
    assert (span["name"], span["status"]) == ("dispatch", "error")


def test_spans_are_bounded_in_number(scene: Scene) -> None:
    scene.host.event("s1", "user.message", content="hi")
    for number in range(limits.MAX_SPANS + 5):
        scene.host.invoke("s1", id_=f"i{number}", traceparent=GIVEN)
        call = scene.provider.hear_one("tool.call")
        assert (call["traceparent"] == GIVEN) is (number >= limits.MAX_SPANS)
        scene.provider.result(call["id"], data=1)
    scene.host.invoke("s1", id_="last")
    assert "traceparent" not in scene.provider.hear_one("tool.call")
    assert len(spans(scene.talk)) == limits.MAX_SPANS
    scene.talk.wait(1)
    scene.host.event("s1", "session.idle")
    assert spans(scene.talk)[-1]["dropped"] == 6


def test_many_gates_of_a_turn_do_not_wait_for_ever(talk: Conversation) -> None:
    host = talk.host(hooks=True)
    host.open("s1")
    provider = talk.provider("s1", hooks={"onPreToolUse": [GATE]})
    host.event("s1", "user.message", content="hi")
    for number in range(limits.MAX_WAITING_SPANS + 1):
        asked = {"id": f"k{number}", "sessionId": "s1", "tool": "greet", "args": {}}
        host.say(type="hook.preToolUse", **asked)
        check = provider.hear_one("gate.check")
        provider.say(type="gate.result", callId=check["callId"], decision="allow")
    found = spans(talk)
    assert len(found) == limits.MAX_WAITING_SPANS + 1
    assert len({ids(one) for one in found}) == 1
