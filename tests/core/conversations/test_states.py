"""Every message in every state: the table, cell by cell."""

from collections.abc import Callable
from typing import Any

import pytest

from tapui.core.conversations.legal import LEGAL
from tapui.core.model import Standing
from tapui.wire import host, message
from tests.conformance.table import example, types
from tests.core.harness import INTERNAL_TOKEN, PROVIDER_TOKEN, Conversation, InProcessEnd, Peer

EXAMPLES: list[dict[str, Any]] = [
    *(example(type_, "s1", "s1") for type_ in types()),
    {"type": "prompt.submitted", "id": "q", "sessionId": "s1", "prompt": "", "onlySections": True},
    {"type": "stream.read", "id": "x", "stream": "s", "sessionId": "s1", "after": 3, "at": "2026"},
    {"type": "sessions", "active": []},
    {"type": "tool.outcome", "id": "x"},
    {"type": "nonsense"},
    {"type": ""},
    {"type": "Hello"},
    {"type": "\u202ehello\n" * 100},
]


def bound(talk: Conversation) -> Peer:
    talk.host().open("s1")
    return talk.provider("s1")


def unbound(talk: Conversation) -> Peer:
    host = talk.host()
    host.open("s1")
    peer = talk.provider("s1")
    host.say(type="session.close", sessionId="s1")
    peer.say(type="shutdown.ready", sessionId="s1")
    return peer


def pairing(talk: Conversation) -> Peer:
    talk.tower()
    return talk.connect().say(type="auth", mode="pair")


STATES: dict[Standing, Callable[[Conversation], Peer]] = {
    Standing.AWAIT_AUTH: lambda talk: talk.connect(),
    Standing.AWAIT_PAIRING: pairing,
    Standing.AWAIT_HELLO: lambda talk: talk.connect(PROVIDER_TOKEN),
    Standing.BOUND: bound,
    Standing.UNBOUND: unbound,
    Standing.HOST: lambda talk: talk.host(),
    Standing.TOOL_HOST: lambda talk: talk.tool_host(),
    Standing.TOWER: lambda talk: talk.tower(),
}


def test_every_state_is_walked() -> None:
    assert set(STATES) | {Standing.BUILTIN, Standing.CLOSED} == set(Standing)


@pytest.mark.parametrize("state", STATES)
def test_a_message_is_refused_where_it_is_not_legal(state: Standing) -> None:
    """The state is checked before the fields, and one that refuses stays as it is."""
    unmoved = STATES[state](Conversation())
    for given in EXAMPLES:
        is_legal = given["type"] in LEGAL[state]
        peer = STATES[state](Conversation()) if is_legal else unmoved
        assert peer.state == state
        heard = peer.ask({**given, "id": "i7", "requestId": "r7"})
        unknown = [one for one in heard if one.get("code") == "UNKNOWN_TYPE"]
        if is_legal:
            assert unknown == [], given
            continue
        assert len(heard) == len(unknown) == 1, heard
        assert unknown[0]["replyTo"] == given["type"]
        assert (unknown[0]["id"], unknown[0]["requestId"]) == ("i7", "r7")
        assert peer.error(type=given["type"], id=7)["code"] == "UNKNOWN_TYPE"
        assert peer.state == state
        assert peer.closed is None


def test_a_closed_connection_says_nothing_more(talk: Conversation) -> None:
    peer = talk.connect(INTERNAL_TOKEN)
    talk.host().open("s1")
    peer.hello(session="s1")
    peer.say(type="goodbye")
    assert peer.closed == (1000, "goodbye")
    peer.hear()
    for given in EXAMPLES:
        assert peer.ask(given) == []
    assert peer.ask("garbage") == []
    assert peer.state == "Closed"


def test_in_process_ends_are_held_to_the_same_table(talk: Conversation) -> None:
    heard: list[message.Message] = []
    end = InProcessEnd(talk, heard.append, is_builtin=False)
    end.send(message.ToolInvoke("i1", "s1", "greet"))
    talk.turn()
    error = heard[-1]
    assert isinstance(error, message.Error)
    assert (error.code, error.reply_to, error.id) == ("UNKNOWN_TYPE", "tool.invoke", "i1")
    end.send(host.HostHello("local", "local", 2))
    talk.turn()
    assert isinstance(heard[-1], host.HostAck)
