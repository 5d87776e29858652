"""Concurrency limits, filters, queries, prompts, broadcasts, subscriptions, scoped tokens."""

import json

import pytest

from tests.core.conftest import Scene
from tests.core.harness import PROVIDER_TOKEN, Conversation, Json, Peer, tool


@pytest.fixture
def host(talk: Conversation) -> Peer:
    peer = talk.host()
    peer.open("s1")
    return peer


@pytest.mark.parametrize("scope", ["instance", "provider", "tool"])
def test_calls_beyond_the_limit_wait_in_order(talk: Conversation, host: Peer, scope: str) -> None:
    provider = talk.provider("s1", concurrency={"max": 1, "scope": scope})
    talk.wait(1)
    host.hear()
    for id_ in ("i1", "i2", "i3"):
        host.invoke("s1", id_=id_)
    states = [event["call"]["state"] for event in talk.events("call.started")]
    assert states == ["running", "queued", "queued"]
    for id_ in ("i1", "i2", "i3"):
        provider.result(provider.take_call(), data=id_)
        assert host.hear_one("tool.outcome") == {"type": "tool.outcome", "id": id_, "data": id_}
    assert talk.deadlines == 0


def test_scope_tool_counts_each_tool(talk: Conversation, host: Peer) -> None:
    provider = talk.provider(
        "s1", tools=[tool("a"), tool("b")], concurrency={"max": 1, "scope": "tool"}
    )
    host.invoke("s1", "a")
    host.invoke("s1", "b", id_="i2")
    assert len(provider.hear_of("tool.call")) == 2


def test_more_than_ten_waiting_calls_are_refused(talk: Conversation, host: Peer) -> None:
    talk.provider("s1", concurrency={"max": 1})
    host.hear()
    for number in range(12):
        host.invoke("s1", id_=f"i{number}")
    (outcome,) = host.hear_of("tool.outcome")
    assert (outcome["id"], outcome["errorCode"]) == ("i11", "RATE_LIMITED")
    assert outcome["error"] == "10 calls wait for provider 'greeter' already"


def test_waiting_call_is_aborted_without_a_word_to_the_provider(
    talk: Conversation, host: Peer
) -> None:
    provider = talk.provider("s1", concurrency={"max": 1})
    host.hear()
    host.invoke("s1", id_="i1")
    host.invoke("s1", id_="i2")
    host.say(type="tool.abort", id="i2")
    assert host.hear_one("tool.outcome")["errorCode"] == "CANCELLED"
    assert [message["type"] for message in provider.hear()] == ["tool.call"]


def test_timed_out_call_keeps_its_place_until_it_answers(talk: Conversation, host: Peer) -> None:
    provider = talk.provider("s1", concurrency={"max": 1}, tools=[tool("greet", timeout=1000)])
    host.hear()
    host.invoke("s1", id_="i1")
    host.invoke("s1", id_="i2")
    first = provider.take_call()
    talk.wait(1.1)
    assert host.hear_one("tool.outcome")["errorCode"] == "TIMEOUT"
    assert not provider.hear_of("tool.call")
    provider.result(first, error="Cancelled", errorCode="CANCELLED")
    assert provider.take_call()


def test_all_waiting_calls_fail_with_their_provider(talk: Conversation, host: Peer) -> None:
    provider = talk.provider("s1", concurrency={"max": 1})
    host.hear()
    for id_ in ("i1", "i2"):
        host.invoke("s1", id_=id_)
    provider.drop()
    codes = [message["errorCode"] for message in host.hear_of("tool.outcome")]
    assert codes == ["DISCONNECTED", "DISCONNECTED"]


@pytest.mark.parametrize(
    ("text", "level", "stored"),
    [
        ("behind=0", None, None),
        ("conflicts=3", "inject", "inject"),
        ("anything", "keep", "keep"),
    ],
)
def test_filter_decides_by_its_first_match(
    scene: Scene, text: str, level: str | None, stored: str | None
) -> None:
    rules = [
        {"match": "behind=0", "outcome": "drop"},
        {"match": "conflicts=[1-9]", "outcome": "inject"},
        {"match": "anything|behind", "outcome": "keep"},
    ]
    scene.provider.say(type="filter.set", stream="git", rules=rules, requestId="r")
    assert scene.provider.hear_one("ack")["revision"] == 1
    scene.provider.push(text, "surface", stream="git")
    posted = scene.talk.events("stream.posted")
    assert [event["line"]["level"] for event in posted] == ([level] if level else [])
    assert bool(scene.host.hear_of("session.send")) == (stored == "inject")


def test_line_that_no_rule_matches_keeps_its_level(scene: Scene) -> None:
    scene.provider.say(type="filter.set", stream="git", rules=[{"match": "x", "outcome": "drop"}])
    scene.provider.push("y", "surface", stream="git")
    assert scene.host.hear_of("session.log")


def test_filter_of_anothers_stream_is_unauthorized(scene: Scene) -> None:
    error = scene.provider.error(type="filter.set", stream="git@other", rules=[])
    assert error["code"] == "UNAUTHORIZED"


def test_query_answers_newest_first_under_full_names(scene: Scene) -> None:
    scene.provider.push("one", stream="log")
    scene.provider.push("two", stream="log", metadata={"n": 2})
    scene.provider.hear()
    scene.provider.say(type="stream.query", queryId="q", streams=["log", "none@greeter"], last=2)
    assert scene.provider.hear() == [
        {
            "type": "stream.history",
            "queryId": "q",
            "streams": {
                "log@greeter": [
                    {
                        "ts": "2026-01-01T00:00:01.000000Z",
                        "event": "two",
                        "level": "keep",
                        "metadata": {"n": 2},
                    },
                    {"ts": "2026-01-01T00:00:01.000000Z", "event": "one", "level": "keep"},
                ],
                "none@greeter": [],
            },
        }
    ]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"streams": ["x@other"]}, "UNAUTHORIZED"),
        ({"streams": ["x"], "last": 101}, "INVALID_JSON"),
        ({"streams": ["x"], "last": 0}, "INVALID_JSON"),
        ({"streams": ["x"], "sessionId": "s9"}, "INVALID_SESSION"),
        ({"streams": ["x"] * 21}, "PAYLOAD_TOO_LARGE"),
    ],
)
def test_queries_that_are_refused(scene: Scene, query: Json, code: str) -> None:
    assert scene.provider.error(type="stream.query", queryId="q", **query)["code"] == code


def test_prompt_push_starts_a_turn_whatever_its_level(scene: Scene) -> None:
    scene.provider.say(type="push", level="keep", prompt="look at CI", stream="ci")
    sent = scene.host.hear_one("session.send")
    assert (sent["prompt"], sent["from"]) == (
        "look at CI",
        {"provider": "greeter", "stream": "ci"},
    )
    (posted,) = scene.talk.events("stream.posted")
    assert (posted["line"]["event"], posted["line"]["level"]) == ("look at CI", "inject")


def test_broadcast_of_a_provider_of_all_sessions(talk: Conversation, host: Peer) -> None:
    host.open("s2")
    tower = talk.tower()
    peer = talk.connect(PROVIDER_TOKEN)
    peer.error(type="hello", name="greeter", protocolVersion=2, session="all")
    approval = talk.events("approval.requested")[-1]["approval"]["id"]
    tower.say(type="approval.decide", approvalId=approval, decision="approve")
    peer.hello(session="all")
    assert peer.hear_one("hello.ack")["sessionId"] == "all"
    assert peer.error(type="push", level="keep", event="e")["code"] == "INVALID_SESSION"
    peer.push("to all", broadcast=True)
    assert [event["sessionId"] for event in talk.events("stream.posted")] == ["s1", "s2"]


def test_subscribers_get_events_in_the_documents_shape(talk: Conversation, host: Peer) -> None:
    names = ["user.message", "tool.execution_complete"]
    listener = talk.provider("s1", name="listener", tools=[], subscribe=names)
    provider = talk.provider("s1")
    listener.hear()
    host.event("s1", "user.message", content="fix it")
    host.event("s1", "assistant.message", content="on it")
    host.event("s1", "tool.execution_start", toolCallId="t1", tool="bash", args={"command": "ls"})
    host.event(
        "s1", "tool.execution_complete", toolCallId="t1", tool="bash", durationMs=12,
        result={"type": "success", "output": "a b"},
    )  # fmt: skip
    host.invoke("s1", args={"name": "Ada"})
    provider.result(provider.take_call(), data="hello")
    message, bash, greet = listener.hear()
    assert message == {
        "type": "session.event",
        "sessionId": "s1",
        "event": "user.message",
        "data": {"content": "fix it"},
    }
    assert bash["data"] == {
        "tool": "bash",
        "args": {"command": "ls"},
        "result": {"type": "success", "output": "a b"},
        "durationMs": 12,
    }
    assert greet["event"] == "tool.execution_complete"
    assert greet["data"]["provider"] == "greeter"
    assert greet["data"]["args"] == {"name": "Ada"}
    assert greet["data"]["result"] == {"type": "success", "output": "hello"}
    host.invoke("s1", id_="i2")
    provider.result(provider.take_call(), data={"n": [1, 2]})
    output = listener.hear_one("session.event")["data"]["result"]["output"]
    assert json.loads(output) == {"n": [1, 2]}


def test_scoped_token_is_good_for_its_session_alone(talk: Conversation, host: Peer) -> None:
    host.open("s2")
    tower = talk.tower()
    tower.say(type="token.mint", id="x", sessionId="s2")
    minted = tower.hear_one("token.minted")
    peer = talk.connect(minted["token"])
    assert peer.error(type="hello", name="p", protocolVersion=2, session="s1")["code"] == (
        "INVALID_SESSION"
    )
    peer.hello(name="p", session="s2")
    assert peer.hear_one("hello.ack")["sessionId"] == "s2"
    host.say(type="session.close", sessionId="s2")
    again = talk.connect()
    again.say(type="auth", token=minted["token"])
    assert again.hear_one("error")["code"] == "AUTH_FAILED"


def test_agents_are_told_the_definitions_of_their_tools(talk: Conversation) -> None:
    host = talk.host()
    agents = [{"name": "reviewer", "tools": ["greet"]}, {"name": "free", "tools": None}]
    assert "agents" not in host.open("s0")
    host.open("s1", agents=agents)
    talk.provider("s1")
    talk.wait(0.3)
    (told,) = host.hear_one("tools.changed")["agents"]
    assert told["name"] == "reviewer"
    assert [one["name"] for one in told["toolDefinitions"]] == ["greet"]


def test_reconnect_restores_what_the_hello_leaves_out(talk: Conversation, host: Peer) -> None:
    provider = talk.provider(
        "s1", context="c", hooks={"onPreToolUse": [{"action": "deny", "reason": "no"}]}
    )
    token = provider.ack["reconnectToken"]
    provider.drop()
    back = talk.connect(PROVIDER_TOKEN)
    back.say(type="hello", name="greeter", protocolVersion=2, reconnectToken=token)
    ack = back.hear_one("hello.ack")
    assert (ack["providerId"], ack["sessionId"]) == (provider.ack["providerId"], "s1")
    host.hear()
    host.say(type="hook.preToolUse", id="k", sessionId="s1", tool="bash", args={})
    assert host.hear_one("hook.decision")["reason"] == "no"
    host.say(type="prompt.submitted", id="q", sessionId="s1", prompt="p")
    assert host.hear_one("prompt.prepared")["context"] == ["c"]


def test_held_and_paused_injects_are_shown(scene: Scene) -> None:
    def shown() -> tuple[int, list[str]]:
        provider = scene.talk.gateway.state.providers["p-1"]
        return provider.held, provider.paused

    for _ in range(3):
        scene.provider.push("wake up", "inject")
        scene.host.event("s1", "session.busy")
        scene.host.event("s1", "session.idle")
        scene.talk.wait(1)
    assert shown() == (0, [])
    scene.provider.push("once more", "inject")
    assert shown() == (1, ["s1"])
    scene.tower.say(type="injects.resume", providerId="p-1", sessionId="s1")
    assert shown() == (0, [])
    assert scene.host.hear_of("session.send")[-1]["prompt"] == "once more"


@pytest.mark.parametrize("concurrency", [{}, {"max": None}, {"scope": "provider"}])
def test_without_a_number_any_number_of_calls_runs(
    talk: Conversation, host: Peer, concurrency: Json
) -> None:
    provider = talk.provider("s1", concurrency=concurrency)
    for number in range(20):
        host.invoke("s1", id_=f"i{number}")
    assert len(provider.hear_of("tool.call")) == 20


def test_one_point_zero_is_one_call(talk: Conversation, host: Peer) -> None:
    provider = talk.connect(PROVIDER_TOKEN)
    provider.say(
        b'{"type":"hello","name":"p","protocolVersion":2.0,"session":"s1","concurrency":{"max":1.0},'
        b'"tools":[{"name":"greet","description":"d","parameters":{}}]}'
    )
    assert provider.hear_one("hello.ack")
    host.invoke("s1", id_="i1").invoke("s1", id_="i2")
    assert len(provider.hear_of("tool.call")) == 1


@pytest.mark.parametrize("most", [0, -1, 0.0, 1.5, "1"])
def test_a_limit_is_an_integer_of_at_least_one(
    talk: Conversation, host: Peer, most: object
) -> None:
    peer = talk.connect(PROVIDER_TOKEN)
    error = peer.error(
        type="hello", name="p", protocolVersion=2, session="s1", concurrency={"max": most}
    )
    assert error["code"] == "INVALID_JSON"
    assert "concurrency.max: " in error["message"]


@pytest.mark.parametrize("scope", ["provider", "tool"])
def test_a_limit_of_all_instances_counts_each_session(
    talk: Conversation, host: Peer, scope: str
) -> None:
    host.open("s2")
    limit = {"max": 1, "scope": scope}
    here = [talk.provider("s1", instance=name, concurrency=limit) for name in ("a", "b")]
    there = talk.provider("s2", instance="a", concurrency=limit)
    host.invoke("s1", id_="i1", args={"target": "a"}).invoke("s1", id_="i2", args={"target": "b"})
    assert [len(one.hear_of("tool.call")) for one in here] == [1, 0]
    host.invoke("s2", id_="i3")
    assert len(there.hear_of("tool.call")) == 1


@pytest.mark.parametrize("scope", ["instance", "provider", "tool"])
def test_a_limit_counts_on_when_its_session_is_replaced(
    talk: Conversation, host: Peer, scope: str
) -> None:
    provider = talk.provider("s1", concurrency={"max": 1, "scope": scope})
    host.invoke("s1", id_="i1").invoke("s1", id_="i2")
    first = provider.take_call()
    host.open("s2", replaces="s1")
    host.invoke("s2", id_="i3")
    assert provider.hear_of("tool.call") == []
    provider.result(first, data=1)
    provider.result(provider.take_call(), data=2)
    provider.result(provider.take_call(), data=3)
    assert [one["id"] for one in host.hear_of("tool.outcome")] == ["i1", "i2", "i3"]
    assert talk.gateway.parts.calls._lanes.in_use == []


def test_objects_that_are_null_are_empty(scene: Scene) -> None:
    scene.host.invoke("s1", args=None)
    assert scene.provider.hear_one("tool.call")["args"] == {}
    scene.host.say(type="hook.preToolUse", id="k", sessionId="s1", tool="bash", args=None)
    assert scene.host.hear_one("hook.decision")["decision"] == "allow"
    scene.host.say(type="session.event", sessionId="s1", event="session.busy", data=None)
    assert scene.host.hear() == []
    assert scene.talk.events("session.event")[-1]["data"] == {}
    scene.host.event("s1", "tool.execution_start", tool="bash", toolCallId="t", args=None)
    assert scene.talk.events("call.started")[-1]["call"]["args"] == {}
    scene.host.say(
        type="approval.request",
        id="r",
        sessionId="s1",
        kind="permission",
        detail=None,
        timeout=None,
    )
    assert scene.talk.events("approval.requested")[-1]["approval"]["detail"] == {}
