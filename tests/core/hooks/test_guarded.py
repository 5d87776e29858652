"""Whether anything is in force that may forbid a tool: what the session's host is told of it."""

import json
from typing import Any

import pytest

from tapui.core.effects import Send
from tapui.wire.host import SessionGuarded
from tapui.wire.provider import HelloAck
from tests.core.harness import PROVIDER_TOKEN, Conversation, Json, Peer
from tests.policies.judged import allow, ask, deny

GATE = {"match": {"tool": "bash"}, "action": "gate", "gateId": "ci"}
DENY = {"match": {"tool": "bash"}, "action": "deny"}
CONTEXT = {"match": {"tool": "bash"}, "action": "context", "content": "mind the gap"}


def told(host: Peer) -> list[bool]:
    """Return what the host was told of session `s1` since the last time."""
    heard = host.hear_of("session.guarded")
    assert {one["sessionId"] for one in heard} <= {"s1"}
    return [one["guarded"] for one in heard]


def opened(talk: Conversation, **session: Any) -> Peer:
    """Return a host that asks before tools, with session `s1` just opened."""
    host = talk.host(hooks=True)
    fields = {"id": "s1", "label": "s1", "cwd": "/s1", **session}
    host.say(type="session.open", session=fields)
    return host


def test_a_session_without_rules_and_gates_is_told_as_that_once_its_files_were_read(
    talk: Conversation,
) -> None:
    talk.holds_rules = True
    talk.rules(*allow("npm ci"))
    host = opened(talk)
    assert told(host) == []
    talk.rules_found()
    assert told(host) == [False]
    talk.rules(*allow("npm test"))
    talk.provider("s1", hooks={"onPreToolUse": [CONTEXT]})
    assert told(host) == []


def test_nothing_is_told_before_the_person_s_rules_were_read(talk: Conversation) -> None:
    assert told(opened(talk)) == []


def test_a_host_that_asks_nothing_is_told_nothing(talk: Conversation) -> None:
    talk.rules()
    host = talk.host()
    host.say(type="session.open", session={"id": "s1", "label": "s1", "cwd": "/s1"})
    assert told(host) == []


@pytest.mark.parametrize("rules", [ask("npm publish"), deny("rm")])
def test_the_person_s_rules_are_in_force_while_they_are_there(
    talk: Conversation, rules: Any
) -> None:
    talk.rules(*rules)
    host = opened(talk)
    assert told(host) == []
    talk.rules()
    assert told(host) == [False]
    talk.rules(*rules)
    assert told(host) == [True]


def test_a_folder_s_rules_are_in_force_while_the_session_works_there(talk: Conversation) -> None:
    talk.folder_rules["/guarded"] = ("/guarded", [*deny("rm")])
    talk.rules()
    host = opened(talk)
    assert told(host) == [False]
    host.say(type="session.update", sessionId="s1", cwd="/guarded")
    assert told(host) == [True]
    host.say(type="session.update", sessionId="s1", cwd="/s1")
    assert told(host) == [False]


def test_a_folder_is_in_question_while_it_is_read(talk: Conversation) -> None:
    talk.rules()
    host = opened(talk)
    assert told(host) == [False]
    talk.holds_rules = True
    host.say(type="session.update", sessionId="s1", cwd="/other")
    assert told(host) == [True]
    talk.rules_found()
    assert told(host) == [False]


@pytest.mark.parametrize("rule", [GATE, {**GATE, "failOpen": True}, DENY])
def test_a_provider_s_rule_is_in_force_from_its_hello_to_its_end(
    talk: Conversation, rule: Json
) -> None:
    talk.rules()
    host = opened(talk)
    assert told(host) == [False]
    provider = talk.provider("s1", hooks={"onPreToolUse": [rule]})
    assert told(host) == [True]
    provider.say(type="hooks.update", onPreToolUse=[CONTEXT])
    assert told(host) == [False]
    provider.say(type="hooks.update", onPreToolUse=[rule])
    assert told(host) == [True]
    provider.drop()
    assert told(host) == [False]


def test_a_gate_is_in_force_for_the_host_before_its_provider_relies_on_it(
    talk: Conversation,
) -> None:
    talk.rules()
    host = opened(talk)
    peer = talk.connect(PROVIDER_TOKEN)
    hello = {"type": "hello", "name": "guard", "protocolVersion": 2, "session": "s1", "tools": []}
    data = json.dumps({**hello, "hooks": {"onPreToolUse": [GATE]}}).encode()
    talk.gateway.received(peer.number, data, talk.now)
    _, _, effects = talk.gateway.take()
    sent = [one for one in effects if isinstance(one, Send)]
    # The shell writes to connections in the order of the first message to each.
    assert (sent[0].connection, sent[0].message) == (host.number, SessionGuarded("s1", True))
    assert any(isinstance(one.message, HelloAck) for one in sent[1:])


def test_a_session_that_ends_frees_nothing(talk: Conversation) -> None:
    talk.rules()
    host = opened(talk)
    provider = talk.provider("s1", hooks={"onPreToolUse": [GATE]})
    assert told(host) == [False, True]
    host.say(type="session.close", sessionId="s1")
    provider.drop()
    assert told(host) == []


def test_a_session_that_takes_another_s_place_is_told_of_anew(talk: Conversation) -> None:
    talk.rules()
    host = opened(talk)
    talk.provider("s1", hooks={"onPreToolUse": [GATE]})
    host.hear()
    host.open("s2", replaces="s1")
    assert host.hear_of("session.guarded") == []
    talk.rules()
    assert host.hear_of("session.guarded") == []
