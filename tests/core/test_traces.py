"""Traces: W3C ids from the caller to the provider, and a span for each part of a turn."""

import pytest

from tapui.core.traces import TraceParent, parse
from tapui.projection.span_counts import told_spans
from tapui.settings.settings import Records, Settings
from tapui.wire import limits
from tapui.wire.subjects import SpanCounts, SpanExport
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json
from tests.core.sessions.test_starts import opens, start, starter

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


# Calls of the session's own tools, and its subagents

BASH = {"tool": "bash", "args": {"command": "hunter2"}}


def ran(
    scene: Scene, id_: str, seconds: float = 0.25, kind: str = "success", **more: object
) -> None:
    """Let a tool of the session's own run."""
    scene.host.event("s1", "tool.execution_start", toolCallId=id_, **BASH, **more)
    scene.talk.wait(seconds)
    result = {"type": kind, "output": "hunter3"}
    scene.host.event("s1", "tool.execution_complete", toolCallId=id_, tool="bash", result=result)


def begin_agent(scene: Scene, child: str, call: str) -> None:
    told = {"remoteSessionId": child, "toolCallId": call, "agentName": "explore"}
    scene.host.event("s1", "subagent.started", **told)


def test_a_call_of_the_sessions_own_is_a_span_of_its_turn(scene: Scene) -> None:
    scene.host.event("s1", "user.message", content="hi")
    ran(scene, "t1")
    ran(scene, "t2", kind="failure")
    ran(scene, "t3", kind="denied")
    assert spans(scene.talk) == []  # which trace it is, a call of a provider may say
    scene.host.event("s1", "session.idle")
    first, failed, denied, turn = spans(scene.talk)
    assert {one["traceId"] for one in (first, failed, denied)} == {turn["traceId"]}
    assert {one["parentId"] for one in (first, failed, denied)} == {turn["spanId"]}
    assert (first["name"], first["tool"], first["toolCallId"], first["callId"]) == (
        "tool",
        "bash",
        "t1",
        "t1",
    )
    assert (first["duration"], "status" in first, "code" in first) == (250.0, False, False)
    assert (failed["status"], failed["code"]) == ("error", "INTERNAL")
    assert (denied["status"], denied["code"]) == ("denied", "DENIED")
    assert "hunter" not in str(spans(scene.talk))


def test_the_calls_of_a_subagent_are_below_its_span(scene: Scene) -> None:
    scene.host.event("s1", "user.message", content="hi")
    begin_agent(scene, "c1", "t1")
    ran(scene, "t2", agentId="c1")
    scene.host.invoke("s1", agentId="c1")
    scene.provider.result(scene.provider.take_call(), data=1)
    scene.host.event("s1", "subagent.completed", toolCallId="t1")
    scene.host.event("s1", "session.idle")
    (own,), (asked,), (agent,), (turn,) = (
        spans(scene.talk, name) for name in ("tool", "provider", "agent", "turn")
    )
    assert own["parentId"] == asked["parentId"] == agent["spanId"]
    assert ids(agent) == (turn["traceId"], turn["spanId"])
    assert (agent["agent"], agent["agentId"], agent["toolCallId"]) == ("explore", "c1", "t1")
    assert (agent["duration"], "status" in agent) == (250.0, False)


def test_a_subagent_of_a_subagent_is_below_that(scene: Scene) -> None:
    scene.host.event("s1", "user.message", content="hi")
    begin_agent(scene, "c1", "t1")
    scene.host.event("s1", "tool.execution_start", toolCallId="t2", tool="task", agentId="c1")
    begin_agent(scene, "c2", "t2")
    scene.host.event("s1", "subagent.failed", toolCallId="t2", error="hunter2")
    scene.host.event("s1", "session.idle")
    inner, outer = spans(scene.talk, "agent")
    assert (inner["agentId"], inner["status"], inner["parentId"]) == (
        "c2",
        "error",
        outer["spanId"],
    )
    assert "hunter2" not in str(spans(scene.talk))


@pytest.mark.parametrize(
    ("end", "status"), [("idle", None), ("abort", "cancelled"), ("close", "cancelled")]
)
def test_what_a_turn_left_open_has_its_trace(scene: Scene, end: str, status: str | None) -> None:
    scene.host.event("s1", "user.message", content="hi")
    begin_agent(scene, "c1", "t1")
    scene.host.event("s1", "tool.execution_start", toolCallId="t2", agentId="c1", **BASH)
    if end == "close":
        scene.host.say(type="session.close", sessionId="s1")
    else:
        if end == "abort":
            scene.host.event("s1", "abort")
        scene.host.event("s1", "session.idle")
    (own,), (agent,), (turn,) = (spans(scene.talk, one) for one in ("tool", "agent", "turn"))
    assert own["parentId"] == agent["spanId"]
    assert {own["traceId"], agent["traceId"]} == {turn["traceId"]}
    assert agent.get("status") == status
    assert own["status"] in ("cancelled", "error")


def test_a_call_between_turns_has_a_trace_of_its_own(scene: Scene) -> None:
    ran(scene, "t1")
    ran(scene, "t2")
    first, second = spans(scene.talk, "tool")
    assert first["traceId"] != second["traceId"]
    assert "parentId" not in first


def test_spans_of_subagents_are_bounded_in_number(scene: Scene) -> None:
    scene.host.event("s1", "user.message", content="hi")
    for number in range(limits.MAX_SUBAGENTS + 1):
        begin_agent(scene, f"c{number}", f"t{number}")
    scene.host.event("s1", "session.idle")
    found = spans(scene.talk, "agent")
    assert len(found) == limits.MAX_SUBAGENTS + 1
    assert [one["agentId"] for one in found if one.get("status") == "cancelled"] == ["c0"]


def test_a_turn_tells_its_model_and_what_it_used(scene: Scene) -> None:
    scene.host.say(type="session.update", sessionId="s1", model="m-1")
    scene.host.event("s1", "user.message", content="hi")
    used = {"inputTokens": 120, "outputTokens": 30, "model": "m-1"}
    scene.host.event("s1", "assistant.usage", **used)
    scene.host.event("s1", "session.idle")
    (turn,) = spans(scene.talk, "turn")
    assert (turn["model"], turn["usage"]["input"], turn["usage"]["output"]) == ("m-1", 120, 30)


# Counts


def test_spans_are_counted_by_session(scene: Scene) -> None:
    ran(scene, "t1")
    ran(scene, "t2", kind="failure")
    for number in range(limits.MAX_SPANS):
        ran(scene, f"u{number}", seconds=0)
    scene.talk.wait(1)
    ran(scene, "t3")
    recorded = len(spans(scene.talk))
    assert recorded == limits.MAX_SPANS + 1
    assert spans(scene.talk)[-1]["dropped"] == 2
    state = scene.talk.gateway.state
    counts = SpanCounts("s1", recorded, 1, 2)
    assert state.spans == {"s1": counts}
    assert state.snapshot().spans == [counts]
    assert told_spans(state, "s1") == {"spans": recorded, "errors": 1, "dropped": 2}
    assert told_spans(state) == told_spans(state, "s1")
    assert told_spans(state, "other") == {"spans": 0, "errors": 0, "dropped": 0}


def test_how_the_export_goes_is_recorded_and_shown(scene: Scene) -> None:
    export = SpanExport("http://localhost:4318", 3, 2, "it answered 500")
    scene.talk.tell(scene.talk.gateway.traces.exported, export)
    scene.talk.turn()
    (event,) = scene.talk.events("span.exported")
    assert event["export"]["error"] == "it answered 500"
    assert scene.talk.gateway.state.snapshot().span_export == export


# Sessions that are started here


def test_a_prompt_into_a_session_of_ours_has_the_trace_of_its_turn(talk: Conversation) -> None:
    host, tower = talk.host(), talk.tower()
    host.open("s1", headless=True, can=["tell"])
    tower.say(type="session.tell", id="x", sessionId="s1", text="hi", traceparent=GIVEN)
    sent = parse(host.hear_one("session.tell")["traceparent"])
    host.event("s1", "user.message", content="hi")
    tower.say(type="session.tell", id="y", sessionId="s1", text="then")
    assert "traceparent" not in host.hear_one("session.tell")
    host.event("s1", "session.idle")
    (turn,) = spans(talk, "turn")
    assert sent is not None
    assert sent == TraceParent(turn["traceId"], turn["spanId"], is_sampled=True)
    assert sent.trace_id != TRACE


def test_a_persons_own_session_gets_no_trace_of_ours(talk: Conversation) -> None:
    host, tower = talk.host(), talk.tower()
    host.open("s1", can=["tell"])
    tower.say(type="session.tell", id="x", sessionId="s1", text="hi")
    assert "traceparent" not in host.hear_one("session.tell")


def test_a_providers_prompt_into_a_session_of_ours_has_it_too(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1", headless=True)
    provider = talk.provider("s1")
    host.hear()
    provider.push(level="inject", event="look")
    sent = parse(host.hear_one("session.send")["traceparent"])
    host.event("s1", "user.message", content="look")
    host.event("s1", "assistant.turn_start")
    host.event("s1", "session.idle")
    (turn,) = spans(talk, "turn")
    assert sent == TraceParent(turn["traceId"], turn["spanId"], is_sampled=True)


def test_a_session_of_ours_begins_within_the_trace_of_its_first_turn(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    start(tower, prompt="build it")
    told = host.hear_one("session.start")
    opens(host, told)
    order = host.hear_one("session.tell")
    assert order["traceparent"] == told["traceparent"]
    host.event("s9", "user.message", content="build it")
    host.event("s9", "session.idle")
    (turn,) = spans(talk, "turn")
    assert parse(told["traceparent"]) == TraceParent(turn["traceId"], turn["spanId"], True)


def test_without_traces_none_is_sent_along() -> None:
    talk = Conversation(Settings(records=Records(traces=False)))
    host, tower = starter(talk), talk.tower()
    start(tower, prompt="build it")
    told = host.hear_one("session.start")
    opens(host, told)
    assert "traceparent" not in told
    assert "traceparent" not in host.hear_one("session.tell")


# Read back


def test_spans_are_read_back_from_the_records_of_their_session(scene: Scene) -> None:
    for number in (1, 2):
        ran(scene, f"t{number}")
    first, second = spans(scene.talk)
    read = {"type": "spans.read", "id": "x", "sessionId": "s1", "since": "2026-01-01T00:00:00Z"}
    (answer,) = scene.tower.ask(read)
    assert answer == {"type": "spans", "id": "x", "spans": [first, second]}
    (of_one,) = scene.tower.ask(read | {"traceId": second["traceId"]})
    assert of_one["spans"] == [second]
    (unknown,) = scene.tower.ask(read | {"sessionId": "nowhere"})
    assert unknown["spans"] == []


def test_an_answer_has_the_newest_spans_and_says_that_it_is_cut(scene: Scene) -> None:
    for number in range(limits.MAX_SPANS_READ + 2):
        ran(scene, f"t{number}", seconds=0.01)
    read = {"type": "spans.read", "id": "x", "sessionId": "s1", "since": "2026-01-01T00:00:00Z"}
    (answer,) = scene.tower.ask(read)
    assert len(answer["spans"]) == limits.MAX_SPANS_READ
    assert answer["isCut"] is True
    assert answer["spans"][-1]["toolCallId"] == f"t{limits.MAX_SPANS_READ + 1}"
