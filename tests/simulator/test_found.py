"""What the simulator and the fuzzer found, each as the shortest conversation that shows it."""

import pytest

from tapui.wire import limits
from tests.core.harness import Conversation, Json, Peer, tool


def test_a_provider_that_limited_its_calls_leaves_nothing_behind() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    for _ in range(3):
        provider = talk.provider("s1", concurrency={"max": 1})
        host.invoke("s1")
        provider.result(provider.take_call(), data=1)
        provider.drop()
    assert talk.gateway.parts.calls._lanes.in_use == []


def test_a_provider_that_connects_anew_has_its_places_back_at_once() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    first = talk.provider("s1", concurrency={"max": 1})
    host.invoke("s1", id_="i1")
    first.take_call()
    again = talk.connect("ptk-project")
    token = first.ack["reconnectToken"]
    again.hello(session="s1", reconnectToken=token, concurrency={"max": 1})
    assert again.hear_one("hello.ack")["providerId"] == first.ack["providerId"]
    assert host.hear_one("tool.outcome")["errorCode"] == "DISCONNECTED"
    host.invoke("s1", id_="i2")
    assert again.hear_one("tool.call")["tool"] == "greet"


def test_what_a_provider_of_all_sessions_changes_in_one_stays_there() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    everywhere = talk.provider("all", token="itk-internal", tools=[tool("look")])
    everywhere.say(type="context.update", context="for all")
    everywhere.say(type="context.update", context="for s1 only", sessionId="s1")
    host.open("s2")
    everywhere.say(type="session.ready", sessionId="s2")
    host.hear()
    for session, context in (("s1", "for s1 only"), ("s2", "for all")):
        host.say(type="prompt.submitted", id="q", sessionId=session, prompt="p")
        assert host.hear_one("prompt.prepared")["context"] == [context]


def gated(talk: Conversation, rules: int, **more: object) -> Peer:
    rule = {"action": "gate", "match": {"tool": "bash"}}
    gates = [{**rule, "gateId": f"g{number}"} for number in range(rules)]
    return talk.provider("s1", hooks={"onPreToolUse": gates}, **more)


def test_a_provider_that_is_asked_twice_about_one_call_may_leave() -> None:
    talk = Conversation()
    host = talk.host(hooks=True)
    host.open("s1")
    provider = gated(talk, 2)
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash")
    provider.say(type="goodbye")
    assert host.hear_one("hook.decision")["decision"] == "deny"


def test_a_call_that_waits_for_a_gate_goes_on_in_the_session_that_takes_its_place() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    provider = gated(talk, 0)
    rule = {"action": "gate", "gateId": "g", "match": {"tool": "greet"}}
    provider.say(type="hooks.update", onPreToolUse=[rule])
    host.invoke("s1")
    check = provider.hear_one("gate.check")
    host.open("s2", replaces="s1")
    provider.say(type="gate.result", callId=check["callId"], decision="allow")
    assert provider.hear_one("tool.call")["sessionId"] == "s2"


def test_who_leaves_the_session_that_took_the_place_of_another_is_asked_no_more() -> None:
    talk = Conversation()
    host = talk.host(hooks=True)
    host.open("s1")
    provider = gated(talk, 1)
    transforms = {"tone": {"action": "callback"}}
    provider.say(type="hooks.update", transforms=transforms)
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash")
    host.say(type="prompt.submitted", id="q1", sessionId="s1", prompt="p")
    host.open("s2", replaces="s1")
    provider.drop()
    heard = host.hear_of("hook.decision", "prompt.prepared")
    assert {one["type"]: one.get("decision") for one in heard} == {
        "hook.decision": "deny",
        "prompt.prepared": None,
    }


def test_a_provider_of_all_sessions_does_not_take_an_identity_that_one_of_them_has() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    host.open("s2")
    first = talk.provider("s1", token="itk-internal", tools=[])
    talk.provider("s2", tools=[])
    error = [
        one
        for one in first.ask(
            {"type": "hello", "name": "greeter", "protocolVersion": 2, "session": "all"}
        )
        if one["type"] == "error"
    ]
    assert [one["code"] for one in error] == ["DUPLICATE_INSTANCE"]
    assert "in session s2;" in error[0]["message"]


def test_a_filter_does_not_outlive_its_provider_in_the_session_that_takes_the_place() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1")
    provider.say(type="filter.set", stream="a", rules=[{"match": ".", "outcome": "drop"}])
    host.open("s2", replaces="s1", reservedTools=["greet"])
    other = talk.provider("s2", tools=[])
    other.push(stream="a")
    assert len(talk.events("stream.posted")) == 1


def test_revisions_go_on_where_a_provider_comes_back_after_its_session_was_replaced() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1")
    provider.say(type="context.update", context="a", requestId="q1")
    assert provider.hear_one("ack")["revision"] == 1
    provider.drop()
    host.open("s2", replaces="s1")
    again = talk.connect("ptk-project")
    again.hello(session="s2", reconnectToken=provider.ack["reconnectToken"])
    again.say(type="context.update", context="b", requestId="q2")
    assert again.hear_one("ack")["revision"] == 2


def test_a_broadcast_reaches_all_sessions_or_none() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    host.open("s2")
    everywhere = talk.provider("all", token="itk-internal", tools=[])
    for _ in range(10):
        everywhere.push(level="surface", sessionId="s2")
    error = everywhere.error(type="push", level="surface", event="to all", broadcast=True)
    assert (error["code"], error.get("sessionId")) == ("RATE_LIMITED", None)
    assert [event["sessionId"] for event in talk.events("stream.posted")] == ["s2"] * 10


def test_a_malformed_report_does_not_count_as_activity() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    host.open("s2")
    talk.wait(1)
    host.event("s2", "session.context", tokens="many")
    client = talk.connect()
    client.say(type="auth", token="ptk-project")
    assert [one["id"] for one in client.hear_one("sessions")["active"]] == ["s1", "s2"]


HUGE = b'{"n": 1e999}'


@pytest.mark.parametrize("field", ["metadata", "parameters"])
def test_a_number_that_nobody_can_hold_is_refused_where_the_gateway_must_look(field: str) -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    peer = talk.connect("ptk-project")
    tools = b'[{"name":"greet","description":"d","parameters":%b}]'
    frame = b'{"type":"hello","name":"a","protocolVersion":2,"session":"s1","instance":"i",%b}'
    fields = {"metadata": b'"metadata":' + HUGE, "parameters": b'"tools":' + tools % HUGE}
    error = peer.error(frame % fields[field])
    assert error["code"] == "INVALID_JSON"
    assert field in error["message"]
    talk.wait(10)


@pytest.mark.parametrize("match", [{"args": "rm"}, {"file": "*.py"}])
def test_arguments_that_no_rule_can_look_into_are_refused(match: Json) -> None:
    talk = Conversation()
    host = talk.host(hooks=True)
    host.open("s1")
    deny = {"action": "deny", "match": match, "reason": "not that"}
    talk.provider("s1", hooks={"onPreToolUse": [deny]})
    host.say(b'{"type":"hook.preToolUse","id":"k","sessionId":"s1","tool":"bash","args":%b}' % HUGE)
    assert host.hear_one("hook.decision")["decision"] == "deny"


def test_more_lines_than_there_can_be_are_all_lines() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    talk.provider("s1").push(stream="a")
    tower = talk.tower()
    read = {"type": "stream.read", "id": "x", "stream": "a@greeter", "sessionId": "s1"}
    assert len(tower.ask(read, last=2**64)[0]["lines"]) == 1


def test_what_a_provider_of_all_sessions_changes_before_there_are_any_holds_in_the_first() -> None:
    talk = Conversation()
    host = talk.host(hooks=True)
    peer = talk.connect("itk-internal")
    peer.hello(session="all", tools=[tool("look")])
    deny = {"action": "deny", "match": {"tool": "bash"}, "reason": "no shell"}
    peer.say(type="hooks.update", onPreToolUse=[deny])
    peer.say(type="context.update", context="mind")
    host.open("s1")
    peer.say(type="session.ready", sessionId="s1")
    host.say(type="hook.preToolUse", id="k1", sessionId="s1", tool="bash")
    assert host.hear_one("hook.decision")["reason"] == "no shell"
    host.say(type="prompt.submitted", id="q1", sessionId="s1", prompt="p")
    assert host.hear_one("prompt.prepared")["context"] == ["mind"]


def test_a_provider_that_names_its_session_in_updates_has_them_back_when_it_returns() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1")
    provider.say(type="context.update", context="mind", sessionId="s1")
    provider.drop()
    again = talk.connect("ptk-project")
    token = provider.ack["reconnectToken"]
    again.say(type="hello", name="greeter", protocolVersion=2, reconnectToken=token, session="s1")
    host.say(type="prompt.submitted", id="q1", sessionId="s1", prompt="p")
    assert host.hear_one("prompt.prepared")["context"] == ["mind"]


def test_what_holds_in_one_session_is_not_brought_to_others_by_another_update() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    everywhere = talk.provider("all", token="itk-internal", tools=[])
    everywhere.say(type="context.update", context="for s1 only", sessionId="s1")
    everywhere.say(type="hooks.update", onPreToolUse=[])
    host.open("s2")
    everywhere.say(type="session.ready", sessionId="s2")
    host.say(type="prompt.submitted", id="q", sessionId="s2", prompt="p")
    assert host.hear_one("prompt.prepared")["context"] == []


def test_lines_of_a_forgotten_stream_go_on_counting_in_the_session_that_takes_its_place() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1")
    provider.push("first", stream="log")
    provider.drop()
    talk.wait(limits.DEPARTED_STREAM_TTL + 1)
    host.open("s2", replaces="s1")
    again = talk.provider("s2")
    again.push("second", stream="log")
    assert [one["line"]["seq"] for one in talk.events("stream.posted")] == [1, 2]
