"""What the simulator and the fuzzer found, each as the shortest conversation that shows it."""

from tests.core.harness import Conversation, tool


def test_a_provider_that_limited_its_calls_leaves_nothing_behind() -> None:
    talk = Conversation()
    host = talk.host()
    host.open("s1")
    for _ in range(3):
        provider = talk.provider("s1", concurrency={"max": 1})
        host.invoke("s1")
        provider.result(provider.take_call(), data=1)
        provider.drop()
    assert talk.gateway._r.calls._lanes == {}


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
