"""What goes along when a provider is moved, its session is replaced, or it comes back."""

from collections.abc import Callable
from typing import Any

import pytest

from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.conversations.test_opening import paired
from tests.core.harness import INTERNAL_TOKEN, ORIGIN, PROVIDER_TOKEN, Conversation, Peer, tool

DROP = [{"match": "noise", "outcome": "drop"}]


def move(tower: Peer, provider: Peer, session: str) -> None:
    """Let the person move a provider."""
    message = {"type": "provider.move", "providerId": provider.ack["providerId"]}
    assert not [one for one in tower.ask(message, sessionId=session) if one["type"] == "error"]


def minted(scene: Scene, session: str = "s1") -> str:
    """Return a token that is good for one session."""
    scene.tower.say(type="token.mint", id="t", sessionId=session)
    return str(scene.tower.hear_one("token.minted")["token"])


def posted(talk: Conversation) -> list[tuple[str, str]]:
    """Return the session and the text of each line so far."""
    return [(one["sessionId"], one["line"]["event"]) for one in talk.events("stream.posted")]


# A move changes what one connection may do, not its token


def test_a_move_does_not_widen_the_token_for_others(scene: Scene) -> None:
    scene.host.open("s2")
    token = minted(scene)
    one = scene.talk.provider("s1", token=token, name="one", tools=[])
    other = scene.talk.connect(token)
    move(scene.tower, one, "s2")
    assert scene.talk.gateway.state.providers[one.ack["providerId"]].session_id == "s2"
    other.hear()
    other.hello(session="s2", name="other", tools=[])
    assert other.hear_one("error")["code"] == "INVALID_SESSION"
    late = scene.talk.connect()
    heard = late.ask(type="auth", token=token)[0]
    assert [each["id"] for each in heard["active"]] == ["s1"]
    late.hello(session="s2", name="late", tools=[])
    assert late.hear_one("error")["code"] == "INVALID_SESSION"


def test_who_was_moved_is_told_the_session_and_may_bind_it_again(scene: Scene) -> None:
    scene.host.open("s2")
    provider = scene.talk.provider("s1", token=minted(scene), name="one", tools=[])
    provider.hear()
    move(scene.tower, provider, "s2")
    told = provider.hear_one("sessions.updated")["active"]
    assert {one["id"] for one in told} == {"s1", "s2"}
    for session in ("s1", "s2"):
        provider.hello(session=session, name="one", tools=[])
        assert provider.hear_one("hello.ack")["sessionId"] == session


def test_a_session_that_ends_is_taken_from_who_was_moved_there(scene: Scene) -> None:
    scene.host.open("s2")
    provider = scene.talk.provider("s1", token=minted(scene), name="one", tools=[])
    move(scene.tower, provider, "s2")
    scene.host.say(type="session.close", sessionId="s2")
    provider.say(type="shutdown.ready", sessionId="s2")
    scene.host.open("s2")
    provider.hear()
    provider.hello(session="s2", name="one", tools=[])
    assert provider.hear_one("error")["code"] == "INVALID_SESSION"


def test_a_session_that_replaces_another_is_given_to_who_was_moved_there(scene: Scene) -> None:
    scene.host.open("s2")
    provider = scene.talk.provider("s1", token=minted(scene), name="one", tools=[])
    move(scene.tower, provider, "s2")
    scene.host.open("s3", replaces="s2")
    provider.hello(session="s3", name="one", tools=[])
    assert provider.hear_one("hello.ack")["sessionId"] == "s3"


def test_who_was_moved_comes_back_to_where_it_was_with_both_tokens(scene: Scene) -> None:
    scene.host.open("s2")
    token = minted(scene)
    provider = scene.talk.provider("s1", token=token, name="one", tools=[])
    move(scene.tower, provider, "s2")
    provider.drop()
    again = scene.talk.connect(token)
    again.say(
        type="hello",
        name="one",
        protocolVersion=2,
        reconnectToken=provider.ack["reconnectToken"],
    )
    assert again.hear_one("hello.ack")["sessionId"] == "s2"


def test_who_was_moved_to_a_session_that_is_lost_binds_the_one_that_opens_anew(
    scene: Scene,
) -> None:
    talk = scene.talk
    lost = talk.host("lost")
    lost.open("s2")
    provider = talk.provider("s1", name="one", tools=[])
    move(scene.tower, provider, "s2")
    provider.hear()
    lost.drop()
    (ending,) = provider.hear_of("session.lifecycle")
    assert (ending["sessionId"], ending["state"]) == ("s2", "shutdown.pending")
    talk.wait(6)
    talk.host("lost").open("s2")
    provider.say(type="shutdown.ready", sessionId="s2")
    provider.hello(session="s2", name="one", tools=[])
    assert provider.hear_one("hello.ack")["sessionId"] == "s2"
    talk.wait(60)
    assert talk.gateway.state.providers[provider.ack["providerId"]].session_id == "s2"


# The former id stays an alias in the provider's messages


def gathered(talk: Conversation) -> tuple[Peer, str, str]:
    talk.local()
    provider = talk.provider("local")
    talk.host().open("s1")
    return provider, "local", "s1"


def cleared(talk: Conversation) -> tuple[Peer, str, str]:
    host = talk.host()
    host.open("s0")
    provider = talk.provider("s0")
    host.open("s1", replaces="s0")
    return provider, "s0", "s1"


def moved(talk: Conversation) -> tuple[Peer, str, str]:
    host = talk.host()
    host.open("s0")
    host.open("s1")
    provider = talk.provider("s0")
    move(talk.tower(), provider, "s1")
    return provider, "s0", "s1"


@pytest.mark.parametrize("way", [gathered, cleared, moved])
@pytest.mark.parametrize(
    "update",
    [
        {"type": "tools.update", "tools": [tool("a")]},
        {"type": "hooks.update", "onPreToolUse": []},
        {"type": "context.update", "context": "c"},
        {"type": "filter.set", "stream": "s", "rules": []},
    ],
)
def test_an_update_may_name_the_former_session(
    talk: Conversation, way: Callable[[Conversation], tuple[Peer, str, str]], update: dict[str, Any]
) -> None:
    provider, former, current = way(talk)
    for revision, named in enumerate((former, current), 1):
        assert provider.ask(update, requestId=named, sessionId=named) == [
            {"type": "ack", "requestId": named, "sessionId": current, "revision": revision}
        ]


@pytest.mark.parametrize("way", [gathered, cleared, moved])
def test_pushes_and_queries_may_name_the_former_session(
    talk: Conversation, way: Callable[[Conversation], tuple[Peer, str, str]]
) -> None:
    provider, former, current = way(talk)
    provider.hear()
    assert provider.push("a", sessionId=former).hear() == []
    assert provider.push("b", sessionId=current).hear() == []
    assert posted(talk) == [(current, "a"), (current, "b")]
    query = {"type": "stream.query", "queryId": "q", "streams": ["greeter"], "sessionId": former}
    lines = provider.ask(query)[0]["streams"]["greeter@greeter"]
    assert [line["event"] for line in lines] == ["b", "a"]


@pytest.mark.parametrize("way", [gathered, cleared, moved])
def test_shutdown_ready_may_name_the_former_session(
    talk: Conversation, way: Callable[[Conversation], tuple[Peer, str, str]]
) -> None:
    provider, former, current = way(talk)
    host = next(one for one in talk.peers.values() if one.state == "Host")
    host.say(type="session.close", sessionId=current)
    provider.hear()
    assert provider.ask(type="shutdown.ready", sessionId=former) == []
    assert provider.state == "Unbound"


def test_several_moves_and_replacements_leave_every_former_id_valid(talk: Conversation) -> None:
    talk.local()
    provider = talk.provider("local")
    host, tower = talk.host(), talk.tower()
    host.open("s1")
    host.open("s2", replaces="s1")
    host.open("t1")
    move(tower, provider, "t1")
    host.open("t2", replaces="t1")
    host.open("s3", replaces="s2")
    provider.hear()
    for id_ in ("local", "s1", "s2", "t1", "t2"):
        assert provider.push(id_, sessionId=id_).hear() == []
    assert {session for session, _ in posted(talk)} == {"t2"}
    assert provider.push(sessionId="s3").hear_one("error")["code"] == "INVALID_SESSION"
    move(tower, provider, "s3")
    talk.forget()
    for id_ in ("local", "s1", "s2", "s3", "t1", "t2"):
        assert provider.push(id_, sessionId=id_).hear() == []
    assert {session for session, _ in posted(talk)} == {"s3"}


def test_a_session_opened_under_a_former_id_is_another(scene: Scene) -> None:
    scene.host.open("s2")
    move_to_s2 = {"type": "provider.move", "providerId": "p-1", "sessionId": "s2"}
    assert scene.tower.ask(move_to_s2) == []
    scene.host.say(type="session.close", sessionId="s1")
    scene.host.open("s1")
    scene.provider.hear()
    assert scene.provider.push(sessionId="s1").hear_one("error")["code"] == "INVALID_SESSION"


def test_a_new_binding_has_no_former_ids(scene: Scene) -> None:
    scene.host.open("s2")
    scene.tower.say(type="provider.move", providerId="p-1", sessionId="s2")
    scene.provider.hello(session="s2")
    scene.provider.hear()
    assert scene.provider.push(sessionId="s1").hear_one("error")["code"] == "INVALID_SESSION"


def test_former_ids_are_bounded(scene: Scene) -> None:
    former = "s1"
    for number in range(limits.MAX_FORMER_IDS + 50):
        scene.host.open(f"n{number}", replaces=former)
        former = f"n{number}"
    sessions = scene.talk.gateway.parts.sessions
    assert len(sessions.aliases) == limits.MAX_FORMER_IDS
    known = scene.talk.gateway.parts.providers.connected["p-1"]
    assert len(known.former_ids) == limits.MAX_FORMER_IDS
    scene.provider.hear()
    assert scene.provider.push(sessionId="n100").hear() == []
    assert scene.provider.push(sessionId="s1").hear_one("error")["code"] == "INVALID_SESSION"
    scene.host.say(type="session.close", sessionId=former)
    scene.provider.say(type="shutdown.ready", sessionId=former)
    assert not sessions.aliases


# Filters belong to the provider


def test_a_filter_goes_along_with_a_move(scene: Scene) -> None:
    scene.host.open("s2")
    scene.provider.say(type="filter.set", stream="log", rules=DROP)
    scene.tower.say(type="provider.move", providerId="p-1", sessionId="s2")
    scene.provider.push("noise", stream="log").push("news", stream="log")
    assert posted(scene.talk) == [("s2", "news")]
    scene.host.open("s3", replaces="s2")
    scene.provider.push("noise", stream="log")
    assert posted(scene.talk) == [("s2", "news")]


def test_a_filter_goes_into_later_sessions(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    peer = talk.connect(INTERNAL_TOKEN).hello(session="all", name="e", tools=[])
    peer.say(type="filter.set", stream="log", rules=DROP)
    host.open("s2")
    peer.say(type="session.ready", sessionId="s2")
    for session in ("s1", "s2"):
        peer.push("noise", stream="log", sessionId=session)
    assert posted(talk) == []


def test_a_filter_for_one_session_stays_there(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    peer = talk.connect(INTERNAL_TOKEN).hello(session="all", name="e", tools=[])
    peer.say(type="filter.set", stream="log", rules=DROP, sessionId="s1")
    host.open("s2")
    peer.say(type="session.ready", sessionId="s2")
    for session in ("s1", "s2"):
        peer.push("noise", stream="log", sessionId=session)
    assert posted(talk) == [("s2", "noise")]


@pytest.mark.parametrize("drops", [True, False])
def test_filters_come_back_with_the_reconnect_token(scene: Scene, drops: bool) -> None:
    scene.provider.say(type="filter.set", stream="log", rules=DROP)
    if drops:
        scene.provider.drop()
    peer = scene.talk.connect(PROVIDER_TOKEN)
    peer.say(type="hello", name="greeter", protocolVersion=2, reconnectToken="tok-1")
    peer.push("noise", stream="log").push("news", stream="log")
    assert posted(scene.talk) == [("s1", "news")]


def test_filters_go_with_a_new_binding_and_an_empty_list(scene: Scene) -> None:
    scene.provider.say(type="filter.set", stream="log", rules=DROP)
    scene.provider.say(type="filter.set", stream="log", rules=[])
    scene.provider.push("noise", stream="log")
    scene.provider.say(type="filter.set", stream="log", rules=DROP)
    scene.provider.hello(session="s1")
    scene.provider.push("noise", stream="log")
    assert posted(scene.talk) == [("s1", "noise")] * 2


# What a reconnect token restores


def test_updates_of_one_session_come_back_there(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    host.open("s2")
    hello = {"session": "all", "name": "e", "context": "everywhere"}
    peer = talk.connect(INTERNAL_TOKEN).hello(**hello)
    token = peer.hear_one("hello.ack")["reconnectToken"]
    peer.say(type="tools.update", tools=[tool("only")], sessionId="s2")
    peer.say(type="context.update", context="here", sessionId="s2")
    peer.drop()
    again = talk.connect(INTERNAL_TOKEN)
    again.say(type="hello", name="e", protocolVersion=2, reconnectToken=token)
    assert again.hear_one("hello.ack")["sessionId"] == "all"
    talk.wait(0.2)
    changed = host.hear_of("tools.changed")
    latest = {one["sessionId"]: [each["name"] for each in one["tools"]] for one in changed}
    assert latest == {"s1": ["greet"], "s2": ["only"]}
    for session, context in (("s1", "everywhere"), ("s2", "here")):
        prompt = {"type": "prompt.submitted", "id": session, "sessionId": session, "prompt": "p"}
        assert host.ask(prompt)[0]["context"] == [context]


def test_limits_and_subscriptions_come_back(scene: Scene) -> None:
    hello = {"session": "s1", "concurrency": {"max": 1}, "subscribe": ["user.message"]}
    scene.provider.hello(**hello)
    token = scene.provider.hear_one("hello.ack")["reconnectToken"]
    scene.provider.drop()
    peer = scene.talk.connect(PROVIDER_TOKEN)
    peer.say(type="hello", name="greeter", protocolVersion=2, reconnectToken=token)
    peer.hear()
    scene.host.event("s1", "user.message", content="hi")
    assert peer.hear_one("session.event")["event"] == "user.message"
    scene.host.invoke("s1", id_="i1").invoke("s1", id_="i2")
    assert len(peer.hear_of("tool.call")) == 1


def page_of(scene: Scene) -> Peer:
    """Return an external client that may bind `s1`."""
    scene.host.say(type="session.update", sessionId="s1", foreground=True)
    return paired(scene.talk)[0]


@pytest.mark.parametrize(
    "hello",
    [
        {"context": "c"},
        {"startup_context": "c"},
        {"subscribe": ["user.message"]},
        {"hooks": {"onPreToolUse": [{"action": "deny"}]}},
        {"hooks": {"transforms": {"custom_instructions": {"action": "callback"}}}},
    ],
)
def test_what_comes_back_must_be_allowed_to_who_shows_the_token(
    scene: Scene, hello: dict[str, Any]
) -> None:
    scene.provider.hello(session="s1", **hello)
    token = scene.provider.hear_one("hello.ack")["reconnectToken"]
    scene.provider.drop()
    page = page_of(scene)
    back = {"type": "hello", "name": "greeter", "protocolVersion": 2, "reconnectToken": token}
    page.say(back)
    assert page.hear_one("error")["code"] == "UNAUTHORIZED"
    native = scene.talk.connect(PROVIDER_TOKEN)
    native.say(back)
    ack = native.hear_one("hello.ack")
    assert (ack["providerId"], ack["sessionId"]) == ("p-1", "s1")


def test_a_session_that_comes_back_must_be_allowed_to_who_shows_the_token(scene: Scene) -> None:
    scene.host.open("s2")
    provider = scene.talk.provider("s2", name="one", tools=[])
    provider.drop()
    back = {
        "type": "hello",
        "name": "one",
        "protocolVersion": 2,
        "reconnectToken": provider.ack["reconnectToken"],
    }
    page = page_of(scene)
    page.say(back)
    assert page.hear_one("error")["code"] == "INVALID_SESSION"
    native = scene.talk.connect(PROVIDER_TOKEN)
    native.say(back)
    assert native.hear_one("hello.ack")["providerId"] == provider.ack["providerId"]


def test_all_does_not_come_back_to_another_token(talk: Conversation) -> None:
    talk.host().open("s1")
    peer = talk.connect(INTERNAL_TOKEN).hello(session="all", name="e", tools=[])
    token = peer.hear_one("hello.ack")["reconnectToken"]
    back = {"type": "hello", "name": "e", "protocolVersion": 2, "reconnectToken": token}
    for drops in (False, True):
        if drops:
            peer.drop()
        other = talk.connect(PROVIDER_TOKEN)
        assert other.error(back)["code"] == "UNAUTHORIZED"
        assert other.error(back, session="all")["code"] == "UNAUTHORIZED"
    again = talk.connect(INTERNAL_TOKEN)
    again.say(back)
    assert again.hear_one("hello.ack")["sessionId"] == "all"


def test_all_that_the_person_allowed_comes_back_to_the_same_token(scene: Scene) -> None:
    page, token = paired(scene.talk)
    scene.host.open("s2")
    page.hello(session="all", name="page")
    approval = scene.talk.events("approval.requested")[-1]["approval"]["id"]
    page.hear()
    scene.tower.say(type="approval.decide", approvalId=approval, decision="approve")
    told = page.hear_one("sessions.updated")["active"]
    assert {one["id"] for one in told} == {"s1", "s2"}
    page.hello(session="all", name="page", tools=[tool("p")])
    ack = page.hear_one("hello.ack")
    assert ack["sessionId"] == "all"
    scene.host.invoke("s2", "p")
    assert page.take_call()
    page.drop()
    again = scene.talk.connect(token, ORIGIN)
    back = {"type": "hello", "name": "page", "protocolVersion": 2}
    again.say({**back, "reconnectToken": ack["reconnectToken"]})
    assert again.hear_one("hello.ack")["sessionId"] == "all"
    other = scene.talk.connect(token, ORIGIN)
    other.hello(session="s2", name="other", tools=[])
    assert other.hear_one("error")["code"] == "INVALID_SESSION"


def test_who_may_come_back_is_bounded(scene: Scene) -> None:
    tokens = []
    for number in range(limits.MAX_DEPARTED + 1):
        peer = scene.talk.provider("s1", name=f"n{number}", tools=[])
        tokens.append(peer.ack["reconnectToken"])
        peer.drop()
    assert len(scene.talk.gateway.parts.providers._departed) == limits.MAX_DEPARTED
    first = {"type": "hello", "name": "n0", "protocolVersion": 2, "reconnectToken": tokens[0]}
    error = scene.talk.connect(PROVIDER_TOKEN).error(first)
    assert error["message"] == "session: missing"
    scene.talk.wait(30)
    assert scene.talk.deadlines == 0


def test_tokens_for_single_sessions_are_bounded(scene: Scene) -> None:
    first = minted(scene)
    for _ in range(limits.MAX_SESSION_TOKENS):
        minted(scene)
    assert scene.talk.connect().error(type="auth", token=first)["code"] == "AUTH_FAILED"
    for token in (PROVIDER_TOKEN, INTERNAL_TOKEN, minted(scene)):
        assert scene.talk.connect(token).state == "AwaitHello"
