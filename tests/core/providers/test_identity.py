"""Who a provider is: names, instances, reconnect tokens, hello while bound, all sessions."""

from typing import Any

import pytest

from tests.core.conftest import Scene
from tests.core.conversations.test_opening import paired
from tests.core.harness import INTERNAL_TOKEN, ORIGIN, PROVIDER_TOKEN, Conversation, Peer, tool


def claim(scene: Scene, **hello: Any) -> Peer:
    """Return a second connection that says hello as `greeter`; the first's news are dropped."""
    scene.provider.hear()
    peer = scene.talk.connect(PROVIDER_TOKEN)
    return peer.hello(**{"session": "s1", **hello})


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("a", True),
        ("a" * 64, True),
        ("名前 with spaces", True),
        ("tapper", True),
        ("", False),
        ("a" * 65, False),
        ("a@b", False),
        ("tap", False),
    ],
)
def test_a_name_has_1_to_64_characters_and_no_at(
    talk: Conversation, name: str, is_taken: bool
) -> None:
    talk.host().open("s1")
    peer = talk.connect(PROVIDER_TOKEN).hello(session="s1", name=name)
    heard = peer.hear()[0]
    assert heard["type"] == ("hello.ack" if is_taken else "error")
    if not is_taken:
        assert heard["code"] == "INVALID_JSON"
        assert heard["message"].startswith("name: ")
        assert peer.state == "AwaitHello"


@pytest.mark.parametrize("instance", ["", "i" * 65])
def test_an_instance_has_1_to_64_characters(scene: Scene, instance: str) -> None:
    error = claim(scene, instance=instance).hear_one("error")
    assert error["message"] == "instance: 1 to 64 characters"


def test_a_second_claim_is_refused_and_the_first_is_not_disturbed(scene: Scene) -> None:
    peer = claim(scene, tools=[])
    error = peer.hear_one("error")
    assert (error["code"], error["replyTo"]) == ("DUPLICATE_INSTANCE", "hello")
    assert peer.state == "AwaitHello"
    assert scene.provider.hear() == []
    scene.host.invoke("s1")
    assert scene.provider.take_call()
    peer.hello(session="s1", name="another", tools=[])
    assert peer.hear()[0]["type"] == "hello.ack"


def test_another_instance_is_another_identity(scene: Scene) -> None:
    peer = claim(scene, instance="tab-2", tools=[tool("greet_2")])
    assert peer.hear_one("hello.ack")["providerId"] == "p-2"
    assert scene.talk.gateway.state.providers["p-2"].instance == "tab-2"


def test_another_session_is_another_identity(scene: Scene) -> None:
    scene.host.open("s2")
    assert claim(scene, session="s2").hear_one("hello.ack")["providerId"] == "p-2"


def test_an_all_binding_is_in_every_session(scene: Scene) -> None:
    everywhere = scene.talk.connect(INTERNAL_TOKEN).hello(session="all", name="e", tools=[])
    assert everywhere.hear_one("hello.ack")["sessionId"] == "all"
    assert claim(scene, name="e", tools=[]).hear_one("error")["code"] == "DUPLICATE_INSTANCE"
    again = scene.talk.connect(INTERNAL_TOKEN).hello(session="all", tools=[])
    assert again.hear_one("error")["code"] == "DUPLICATE_INSTANCE"


def test_the_reconnect_token_takes_over_a_living_connection(scene: Scene) -> None:
    scene.host.invoke("s1").hear()
    peer = claim(scene, reconnectToken="tok-1", tools=[tool("other")])
    ack = peer.hear_one("hello.ack")
    assert (ack["providerId"], ack["reconnectToken"]) == ("p-1", "tok-2")
    assert scene.provider.closed == (1000, "connected anew")
    assert scene.host.hear_of("tool.outcome")[0]["errorCode"] == "DISCONNECTED"
    scene.talk.wait(10)
    assert [one["name"] for one in scene.host.hear_of("tools.changed")[-1]["tools"]] == ["other"]
    assert scene.talk.gateway.state.providers["p-1"].state == "bound"
    assert scene.talk.deadlines == 0


def test_a_take_over_that_clashes_disturbs_nobody(scene: Scene) -> None:
    scene.talk.provider("s1", name="owner", tools=[tool("mine")])
    peer = claim(scene, reconnectToken="tok-1", tools=[tool("mine")])
    assert peer.hear_one("error")["code"] == "TOOL_CONFLICT"
    assert scene.provider.closed is None
    scene.host.invoke("s1")
    assert scene.provider.take_call()


def test_a_token_for_another_identity_is_ignored(scene: Scene) -> None:
    peer = claim(scene, reconnectToken="tok-1", name="someone", tools=[])
    assert peer.hear_one("hello.ack")["providerId"] == "p-2"
    assert scene.provider.closed is None


def test_an_identity_is_free_as_soon_as_its_connection_drops(scene: Scene) -> None:
    scene.provider.drop()
    assert claim(scene).hear_one("hello.ack")["providerId"] == "p-2"


def test_who_comes_back_in_time_gets_everything_it_does_not_name(scene: Scene) -> None:
    scene.provider.say(type="tools.update", tools=[tool("a"), tool("b")])
    scene.provider.drop()
    scene.talk.wait(29.9)
    peer = scene.talk.connect(PROVIDER_TOKEN)
    peer.say(type="hello", name="greeter", protocolVersion=2, reconnectToken="tok-1")
    ack = peer.hear_one("hello.ack")
    assert (ack["providerId"], ack["sessionId"]) == ("p-1", "s1")
    provider = scene.talk.gateway.state.providers["p-1"]
    assert (provider.tools, provider.state) == (["a", "b"], "bound")
    update = {"type": "tools.update", "tools": [], "requestId": "r"}
    assert peer.ask(update)[0]["revision"] == 2
    scene.talk.wait(10)
    assert scene.talk.deadlines == 0


def test_what_is_named_is_not_restored(scene: Scene) -> None:
    scene.host.open("s2")
    scene.provider.drop()
    peer = scene.talk.connect(PROVIDER_TOKEN)
    peer.hello(session="s2", tools=[], reconnectToken="tok-1")
    assert peer.hear_one("hello.ack")["sessionId"] == "s2"
    assert scene.talk.gateway.state.providers["p-1"].tools == []


def test_after_thirty_seconds_a_token_is_as_good_as_none(scene: Scene) -> None:
    scene.provider.drop()
    scene.talk.wait(30)
    peer = claim(scene, reconnectToken="tok-1")
    assert peer.hear_one("hello.ack")["providerId"] == "p-2"
    peer = scene.talk.connect(PROVIDER_TOKEN)
    error = peer.error(type="hello", name="x", protocolVersion=2, reconnectToken="tok-1")
    assert (error["code"], error["message"]) == ("INVALID_JSON", "session: missing")


def test_a_token_is_good_once(scene: Scene) -> None:
    first = claim(scene, reconnectToken="tok-1")
    first.hear()
    second = claim(scene, reconnectToken="tok-1")
    assert second.hear_one("error")["code"] == "DUPLICATE_INSTANCE"
    assert first.closed is None


def test_an_unknown_token_is_ignored(scene: Scene) -> None:
    peer = claim(scene, name="fresh", tools=[], reconnectToken="tok-99")
    assert peer.hear_one("hello.ack")["providerId"] == "p-2"


def test_a_session_that_ended_takes_no_identity_away(scene: Scene) -> None:
    scene.host.say(type="session.close", sessionId="s1")
    scene.provider.say(type="shutdown.ready", sessionId="s1")
    scene.provider.drop()
    scene.host.open("s2")
    peer = scene.talk.connect(PROVIDER_TOKEN)
    peer.say(type="hello", name="greeter", protocolVersion=2, session="s2", reconnectToken="tok-1")
    assert peer.hear_one("hello.ack")["providerId"] == "p-1"
    assert scene.talk.gateway.state.providers["p-1"].tools == ["greet"]


def test_who_comes_back_is_shown_with_the_trust_it_has_now(scene: Scene) -> None:
    client, _ = paired(scene.talk)
    client.hello(session="s1", reconnectToken="tok-1")
    assert client.hear_one("hello.ack")["providerId"] == "p-1"
    provider = scene.talk.gateway.state.providers["p-1"]
    assert (provider.trust, provider.origin) == ("external", ORIGIN)


def test_goodbye_gives_the_identity_up(scene: Scene) -> None:
    scene.provider.say(type="goodbye")
    assert claim(scene, reconnectToken="tok-1").hear_one("hello.ack")["providerId"] == "p-2"


# hello while bound


def test_hello_while_bound_binds_anew_and_cancels_calls(scene: Scene) -> None:
    scene.host.open("s2")
    scene.host.invoke("s1").hear()
    call = scene.provider.take_call()
    scene.provider.hello(session="s2", tools=[tool("a")])
    heard = scene.provider.hear()
    assert [one["type"] for one in heard] == [
        "tool.cancel",
        "hello.ack",
        "session.lifecycle",
        "session.lifecycle",
    ]
    assert heard[1]["providerId"] == "p-1"
    assert heard[1]["reconnectToken"] == "tok-2"
    assert scene.host.hear_of("tool.outcome")[0]["errorCode"] == "CANCELLED"
    scene.provider.result(call, error="Cancelled", errorCode="CANCELLED")
    assert scene.provider.hear() == []
    assert scene.talk.gateway.state.calls == {}
    assert scene.host.ask(type="tool.invoke", id="i2", sessionId="s1", tool="greet")[0]["error"]


def test_hello_while_bound_with_its_own_token_restores_its_tools(scene: Scene) -> None:
    hello = {"type": "hello", "name": "greeter", "protocolVersion": 2}
    scene.provider.say({**hello, "reconnectToken": "tok-1"})
    ack = scene.provider.hear_one("hello.ack")
    assert (ack["providerId"], ack["sessionId"]) == ("p-1", "s1")
    assert scene.talk.gateway.state.providers["p-1"].tools == ["greet"]


def test_hello_under_another_name_is_another_provider(scene: Scene) -> None:
    scene.provider.hello(session="s1", name="renamed")
    assert scene.provider.hear_one("hello.ack")["providerId"] == "p-2"
    states = {id_: one.state for id_, one in scene.talk.gateway.state.providers.items()}
    assert states == {"p-1": "disconnected", "p-2": "bound"}
    assert claim(scene, tools=[]).hear_one("hello.ack")["providerId"] == "p-3"


@pytest.mark.parametrize(
    ("hello", "code", "state"),
    [
        ({"name": ""}, "INVALID_JSON", "Bound"),
        ({"tools": [{"name": "x"}]}, "INVALID_JSON", "Bound"),
        ({"tools": [tool("")]}, "INVALID_JSON", "Bound"),
        ({"tools": [tool(f"t{i}") for i in range(101)]}, "PAYLOAD_TOO_LARGE", "Bound"),
        ({"session": "s9"}, "INVALID_SESSION", "Unbound"),
        ({"session": "all"}, "UNAUTHORIZED", "Unbound"),
        ({"name": "other"}, "DUPLICATE_INSTANCE", "Unbound"),
        ({"tools": [tool("theirs")]}, "TOOL_CONFLICT", "Unbound"),
        ({"protocolVersion": 3}, "UNSUPPORTED_VERSION", "Closed"),
    ],
)
def test_what_a_refused_hello_leaves(
    scene: Scene, hello: dict[str, Any], code: str, state: str
) -> None:
    scene.talk.provider("s1", name="other", tools=[tool("theirs")])
    scene.provider.hear()
    scene.provider.hello(**{"session": "s1", **hello})
    errors = scene.provider.hear_of("error")
    assert [(one["code"], one["replyTo"]) for one in errors] == [(code, "hello")]
    assert scene.provider.state == state
    known = scene.talk.gateway.state.providers["p-1"]
    assert known.tools == (["greet"] if state == "Bound" else [])
    assert known.session_id == ("s1" if state == "Bound" else None)
    if state == "Unbound":
        scene.provider.hello(session="s1")
        assert scene.provider.hear_one("hello.ack")["providerId"] == "p-1"


def test_ten_hellos_a_minute_after_the_first(scene: Scene) -> None:
    for _ in range(10):
        scene.provider.hello(session="s1")
        assert scene.provider.hear()[0]["type"] == "hello.ack"
    scene.provider.hello(session="s1")
    error = scene.provider.hear_one("error")
    assert (error["code"], error["replyTo"]) == ("RATE_LIMITED", "hello")
    assert scene.provider.state == "Bound"
    scene.talk.wait(60)
    scene.provider.hello(session="s1")
    assert scene.provider.hear()[0]["type"] == "hello.ack"


def test_refused_first_hellos_are_not_counted(talk: Conversation) -> None:
    talk.host().open("s1")
    peer = talk.connect(PROVIDER_TOKEN)
    for _ in range(20):
        peer.hello(session="s9")
        assert peer.hear_one("error")["code"] == "INVALID_SESSION"
        assert peer.state == "AwaitHello"
    peer.hello(session="s1")
    assert peer.hear()[0]["type"] == "hello.ack"


# All sessions


def test_all_needs_the_persons_approval(scene: Scene) -> None:
    peer = claim(scene, session="all", name="wide", tools=[tool("w")])
    assert peer.hear_one("error")["code"] == "UNAUTHORIZED"
    approval = scene.talk.events("approval.requested")[0]["approval"]
    assert (approval["kind"], approval["provider"]) == ("bindAll", "wide")
    assert approval["detail"] == {"name": "wide", "origin": None}
    peer.hello(session="all", name="wide")
    assert peer.hear_one("error")["code"] == "UNAUTHORIZED"
    assert len(scene.talk.events("approval.requested")) == 1
    decide = {"type": "approval.decide", "decision": "approve", "approvalId": approval["id"]}
    assert scene.tower.ask(decide) == []
    assert [one["id"] for one in peer.hear_one("sessions.updated")["active"]] == ["s1"]
    peer.hello(session="all", name="narrow", tools=[])
    assert peer.hear_one("error")["code"] == "UNAUTHORIZED"
    peer.hello(session="all", name="wide", tools=[tool("w")])
    assert peer.hear_one("hello.ack")["sessionId"] == "all"
    other = claim(scene, session="all", name="wide", tools=[])
    assert other.hear_one("error")["code"] == "UNAUTHORIZED"


def allowed_all(scene: Scene, token: str) -> Peer:
    """Return a connection which the person allowed all sessions under the name `wide`."""
    peer = scene.talk.connect(token).hello(session="all", name="wide", tools=[])
    approval = scene.talk.events("approval.requested")[-1]["approval"]["id"]
    scene.tower.say(type="approval.decide", approvalId=approval, decision="approve")
    return peer


def scoped(scene: Scene) -> str:
    """Return a token that is good for `s1`; there is a session `s2`, too."""
    scene.host.open("s2")
    scene.tower.hear()
    scene.tower.say(type="token.mint", id="t", sessionId="s1")
    return str(scene.tower.hear_one("token.minted")["token"])


def test_what_was_allowed_under_one_name_is_not_allowed_under_another(scene: Scene) -> None:
    peer = allowed_all(scene, scoped(scene))
    assert {one["id"] for one in peer.hear_one("sessions.updated")["active"]} == {"s1", "s2"}
    peer.hello(session="s2", name="other", tools=[])
    assert peer.hear_one("error")["code"] == "INVALID_SESSION"
    peer.hello(session="s2", name="wide", tools=[]).hear_one("hello.ack")
    peer.hello(session="s2", name="other", tools=[])
    assert peer.hear_one("error")["code"] == "INVALID_SESSION"
    peer.hello(session="s1", name="other", tools=[]).hear_one("hello.ack")
    peer.hello(session="all", name="wide", tools=[])
    assert peer.hear_one("hello.ack")["sessionId"] == "all"


def test_what_was_allowed_under_one_name_comes_back_under_it_alone(scene: Scene) -> None:
    token = scoped(scene)
    peer = allowed_all(scene, token)
    peer.hello(session="s2", name="wide", tools=[])
    reconnect = peer.hear_one("hello.ack")["reconnectToken"]
    peer.drop()
    again = scene.talk.connect(token)
    again.hello(session="s2", name="wide", tools=[], reconnectToken=reconnect)
    again.hear_one("hello.ack")
    again.hello(session="s2", name="other", tools=[])
    assert again.hear_one("error")["code"] == "INVALID_SESSION"
    again.hello(session="all", name="wide", tools=[]).hear_one("hello.ack")


def test_asking_for_all_under_many_names_leaves_one_question(scene: Scene) -> None:
    peer = scene.talk.connect(PROVIDER_TOKEN)
    for i in range(50):
        peer.hello(session="all", name=f"n{i}")
    waiting = [a for a in scene.talk.gateway.state.approvals.values() if a.state == "waiting"]
    assert [one.provider for one in waiting] == ["n49"]


def everywhere(talk: Conversation, **hello: Any) -> Peer:
    peer = talk.connect(INTERNAL_TOKEN).hello(**{"session": "all", "name": "e", **hello})
    peer.ack = peer.hear()[0]
    assert peer.ack["type"] == "hello.ack"
    return peer


def test_a_provider_of_all_enters_a_new_session_when_it_is_ready(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    peer = everywhere(talk)
    assert host.open("s2")["tools"] == []
    assert peer.hear_one("sessions.updated")
    assert host.ask(type="tool.invoke", id="i", sessionId="s2", tool="greet")[0]["error"]
    assert peer.ask(type="session.ready", sessionId="s2") == [
        {"type": "session.lifecycle", "sessionId": "s2", "state": "started"},
        {"type": "session.lifecycle", "sessionId": "s2", "state": "idle"},
    ]
    assert peer.ask(type="session.ready", sessionId="s2") == []
    talk.wait(0.2)
    changed = host.hear_of("tools.changed")
    assert [one["sessionId"] for one in changed] == ["s1", "s2"]
    host.invoke("s2")
    assert peer.hear_one("tool.call")["sessionId"] == "s2"


def test_a_provider_of_all_keeps_its_tools_while_there_is_no_session(talk: Conversation) -> None:
    peer = everywhere(talk)
    update = {"type": "tools.update", "tools": [tool("late")], "remove": []}
    assert peer.ask(update) == []
    host = talk.host()
    host.open("s1")
    peer.say(type="session.ready", sessionId="s1")
    host.say(type="session.close", sessionId="s1")
    peer.say(type="shutdown.ready", sessionId="s1")
    assert peer.state == "Bound"
    host.open("s2")
    peer.say(type="session.ready", sessionId="s2")
    talk.wait(0.2)
    names = [one["name"] for one in host.hear_of("tools.changed")[-1]["tools"]]
    assert names == ["greet", "late"]


def test_one_name_twice_is_a_conflict_even_without_sessions(talk: Conversation) -> None:
    peer = talk.connect(INTERNAL_TOKEN).hello(session="all", tools=[tool("a"), tool("a")])
    assert peer.hear_one("error")["code"] == "TOOL_CONFLICT"


def test_session_ready_is_refused_on_a_clash_and_may_be_sent_again(talk: Conversation) -> None:
    host = talk.host()
    peer = everywhere(talk)
    host.open("s1")
    first = talk.provider("s1", name="first")
    peer.hear()
    error = peer.error(type="session.ready", sessionId="s1")
    assert (error["code"], error["sessionId"]) == ("TOOL_CONFLICT", "s1")
    assert "'first'" in error["message"]
    first.drop()
    assert peer.ask(type="session.ready", sessionId="s1")[0]["state"] == "started"


@pytest.mark.parametrize("session", ["s9", "all", ""])
def test_session_ready_of_no_session_is_refused(talk: Conversation, session: str) -> None:
    peer = everywhere(talk)
    assert peer.error(type="session.ready", sessionId=session)["code"] == "INVALID_SESSION"


def test_session_ready_is_for_providers_of_all(scene: Scene) -> None:
    scene.host.open("s2")
    scene.provider.hear()
    assert scene.provider.error(type="session.ready", sessionId="s2")["code"] == "INVALID_SESSION"


def test_a_provider_of_all_loses_an_ended_session_only(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    host.open("s2")
    peer = everywhere(talk)
    host.say(type="session.close", sessionId="s1")
    assert [one["type"] for one in peer.hear()] == ["sessions.updated", "session.lifecycle"]
    talk.wait(10)
    assert peer.state == "Bound"
    assert host.hear_of("session.closed")
    host.invoke("s2")
    assert peer.take_call()


def test_a_session_of_the_same_id_is_another_session(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    peer = everywhere(talk)
    host.say(type="session.close", sessionId="s1")
    assert host.open("s1")["tools"] == []
    peer.hear()
    assert peer.push(sessionId="s1").hear_one("error")["code"] == "INVALID_SESSION"
    assert peer.ask(type="session.ready", sessionId="s1")[0]["state"] == "started"
    assert host.hear_of("session.closed") == [{"type": "session.closed", "sessionId": "s1"}]
    talk.wait(60)
    host.invoke("s1")
    assert peer.take_call()
    assert talk.deadlines == 1


def test_a_session_may_take_the_id_of_one_that_is_ending(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    host.open("s2")
    peer = everywhere(talk)
    host.say(type="session.close", sessionId="s1")
    host.open("s1", replaces="s2")
    assert peer.hear_of("session.lifecycle")[-1]["state"] == "shutdown.pending"
    talk.wait(60)
    host.invoke("s1").hear()
    assert peer.take_call()
    assert talk.deadlines == 1


def test_a_provider_of_all_names_a_session_in_each_push(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    peer = everywhere(talk)
    peer.hear()
    assert peer.push().hear_one("error")["code"] == "INVALID_SESSION"
    assert peer.push(sessionId="s1").hear() == []


def test_an_update_without_a_session_is_for_all_with_an_ack_each(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    host.open("s2")
    peer = everywhere(talk)
    acks = peer.ask(type="tools.update", tools=[tool("x")], requestId="r1")
    assert {one["type"] for one in acks} == {"ack"}
    assert {(one["sessionId"], one["revision"]) for one in acks} == {("s1", 1), ("s2", 1)}
    acks = peer.ask(type="tools.update", tools=[], requestId="r2", sessionId="s1")
    assert acks == [{"type": "ack", "requestId": "r2", "sessionId": "s1", "revision": 2}]
    assert talk.gateway.state.providers["p-1"].tools == ["x"]


def test_who_was_allowed_all_may_come_back_to_all(scene: Scene) -> None:
    peer = scene.talk.connect(PROVIDER_TOKEN).hello(session="all", name="wide", tools=[])
    approval = scene.talk.events("approval.requested")[0]["approval"]["id"]
    scene.tower.say(type="approval.decide", approvalId=approval, decision="approve")
    peer.hello(session="all", name="wide", tools=[])
    token = peer.hear_one("hello.ack")["reconnectToken"]
    peer.drop()
    again = scene.talk.connect(PROVIDER_TOKEN)
    again.say(type="hello", name="wide", protocolVersion=2, reconnectToken=token)
    assert again.hear_one("hello.ack")["sessionId"] == "all"


# A hello that names no session


def unnamed(peer: Peer, **hello: Any) -> Peer:
    """Say hello without a session."""
    return peer.say(type="hello", name="one", protocolVersion=2, **hello)


def test_a_token_for_one_session_stamps_it(scene: Scene) -> None:
    scene.host.open("s2")
    scene.tower.say(type="token.mint", id="t", sessionId="s2")
    peer = scene.talk.connect(scene.tower.hear_one("token.minted")["token"])
    assert unnamed(peer).hear_one("hello.ack")["sessionId"] == "s2"


def test_a_paired_token_for_one_session_stamps_it(scene: Scene) -> None:
    client, _ = paired(scene.talk)
    assert unnamed(client).hear_one("hello.ack")["sessionId"] == "s1"


def test_an_internal_hello_gets_the_only_session_or_the_foreground_one(scene: Scene) -> None:
    scene.talk.local()
    peer = scene.talk.connect(INTERNAL_TOKEN)
    assert unnamed(peer).hear_one("hello.ack")["sessionId"] == "s1"
    scene.host.open("s2", foreground=True)
    scene.talk.wait(1)
    scene.host.event("s1", "assistant.message")
    assert unnamed(peer).hear_one("hello.ack")["sessionId"] == "s2"


def test_an_internal_hello_without_any_session_is_refused(talk: Conversation) -> None:
    error = unnamed(talk.connect(INTERNAL_TOKEN)).hear_one("error")
    assert (error["code"], error["message"]) == ("INVALID_JSON", "session: missing")


def test_the_gateways_token_stamps_nothing(scene: Scene) -> None:
    error = unnamed(scene.talk.connect(PROVIDER_TOKEN)).hear_one("error")
    assert (error["code"], error["message"]) == ("INVALID_JSON", "session: missing")


# Metadata


def test_a_hello_without_metadata_drops_it_unless_the_token_restores_it(scene: Scene) -> None:
    def known() -> Any:
        return scene.talk.events("provider.bound")[-1]["provider"].get("metadata")

    scene.provider.hello(session="s1", metadata={"title": "Dashboard"})
    token = scene.provider.hear_one("hello.ack")["reconnectToken"]
    assert known() == {"title": "Dashboard"}
    scene.provider.drop()
    peer = scene.talk.connect(PROVIDER_TOKEN)
    peer.hello(session="s1", reconnectToken=token)
    assert known() == {"title": "Dashboard"}
    peer.hello(session="s1")
    assert known() is None


# Unbound


def test_answers_to_what_was_asked_before_are_absorbed_while_unbound(scene: Scene) -> None:
    scene.provider.hello(
        session="s1",
        hooks={
            "onPreToolUse": [{"action": "gate", "gateId": "g", "match": {"tool": "bash"}}],
            "transforms": {"custom_instructions": {"action": "callback"}},
        },
    )
    scene.host.invoke("s1")
    hook = {"type": "hook.preToolUse", "id": "k", "sessionId": "s1", "tool": "bash", "args": {}}
    scene.host.say(hook)
    scene.host.say(type="prompt.submitted", id="q", sessionId="s1", prompt="p")
    asked = {one["type"]: one for one in scene.provider.hear()}
    scene.provider.hello(session="s9")
    assert scene.provider.state == "Unbound"
    scene.provider.hear()
    call, gate = asked["tool.call"]["id"], asked["gate.check"]["callId"]
    section = asked["transform.request"]["callId"]
    for answer in (
        {"type": "tool.progress", "id": call, "message": "60 %"},
        {"type": "gate.result", "callId": gate, "gateId": "g", "decision": "allow"},
        {"type": "transform.result", "callId": section, "content": "c"},
        {"type": "tool.result", "id": call, "data": 1},
        {"type": "tool.result", "id": call, "data": 1},
        {"type": "tool.result", "id": "call-99", "data": 1, "error": "both"},
    ):
        assert scene.provider.ask(answer) == []
    assert scene.provider.state == "Unbound"
    assert scene.talk.gateway.state.calls == {}
    scene.talk.wait(10)
    assert scene.talk.deadlines == 0


def test_a_late_answer_of_the_wrong_shape_is_absorbed_while_unbound(scene: Scene) -> None:
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    scene.provider.hello(session="s9")
    scene.provider.hear()
    assert scene.provider.result(call, data=1, error="both").hear() == []
    assert scene.talk.gateway.state.calls == {}


def test_what_is_no_answer_is_refused_while_unbound(scene: Scene) -> None:
    scene.provider.hello(session="s9")
    error = scene.provider.error(type="push", level="keep", event="e")
    assert (error["code"], error["replyTo"]) == ("UNKNOWN_TYPE", "push")


# Updates of a provider of all sessions that is in none


def test_updates_are_acknowledged_while_no_session_is_open(talk: Conversation) -> None:
    peer = everywhere(talk)
    updates: list[dict[str, Any]] = [
        {"type": "tools.update", "tools": [tool("late")]},
        {"type": "hooks.update", "onPreToolUse": []},
        {"type": "context.update", "context": "c"},
        {"type": "filter.set", "stream": "s", "rules": []},
    ]
    for revision, update in enumerate(updates, 1):
        assert peer.ask(update, requestId="r") == [
            {"type": "ack", "requestId": "r", "sessionId": "all", "revision": revision}
        ]
    assert talk.gateway.state.providers["p-1"].revision == 4
    talk.host().open("s1")
    peer.say(type="session.ready", sessionId="s1")
    assert peer.ask(type="context.update", context="d", requestId="r") == [
        {"type": "ack", "requestId": "r", "sessionId": "s1", "revision": 1}
    ]


# Which session an error names


def test_an_error_carries_the_session_that_the_message_named(scene: Scene) -> None:
    """Without one in the message there is none in the error."""
    scene.host.open("s2")
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({"type": "push", "level": "keep", "event": ""}, None),
        ({"type": "push", "level": "keep", "event": "", "sessionId": "s1"}, "s1"),
        ({"type": "push", "level": "keep", "event": 7, "sessionId": "s1"}, "s1"),
        ({"type": "push", "level": "keep", "event": "e", "sessionId": "s2"}, "s2"),
        ({"type": "push", "level": "keep", "event": "", "sessionId": None}, None),
        ({"type": "tools.update", "tools": [tool("")]}, None),
        ({"type": "tools.update", "tools": [tool("")], "sessionId": "s1"}, "s1"),
        ({"type": "nonsense"}, None),
        ({"type": "nonsense", "sessionId": "s1"}, "s1"),
        ({"type": "tool.result", "id": "c", "data": 1, "error": 7}, None),
        ({"type": "hello", "name": "", "protocolVersion": 2, "session": "s1"}, "s1"),
        ({"type": "hello", "name": "", "protocolVersion": 2, "session": "all"}, None),
        ({"type": "hello", "name": "", "protocolVersion": 2}, None),
    ]
    for message, session in cases:
        error = scene.provider.error(message)
        assert error.get("sessionId") == session, message
        assert error["providerId"] == "p-1"
    assert "sessionId" not in scene.provider.error(b"[1]")


def test_a_refused_result_names_no_session(scene: Scene) -> None:
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    error = scene.provider.result(call, data=1, error="both").hear_one("error")
    assert (error["code"], error["id"], "sessionId" in error) == ("INVALID_JSON", call, False)


@pytest.mark.parametrize(
    "wrong",
    [{"last": 0}, {"last": "x"}, {"streams": ["x@other"]}, {"sessionId": "s9"}, {"streams": 7}],
)
def test_a_refused_query_echoes_its_id(scene: Scene, wrong: dict[str, Any]) -> None:
    query = {"type": "stream.query", "queryId": "q-7", "streams": []}
    error = scene.provider.error({**query, **wrong})
    assert (error["replyTo"], error["queryId"]) == ("stream.query", "q-7")
