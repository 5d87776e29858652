"""Every message in every state: the table, cell by cell."""

from collections.abc import Callable
from typing import Any, get_args

import pytest

from tapui.core.conversations.legal import LEGAL
from tapui.core.model import Standing
from tapui.wire import builtin, host, message, provider, tower
from tests.core.harness import INTERNAL_TOKEN, PROVIDER_TOKEN, Conversation, InProcessEnd, Peer

EXAMPLES: list[dict[str, Any]] = [
    {"type": "auth", "token": "wrong"},
    {"type": "auth.confirm", "code": "1"},
    {"type": "hello", "name": "p", "protocolVersion": 2, "session": "nowhere"},
    {"type": "tool.result", "id": "x", "data": 1},
    {"type": "tool.progress", "id": "x", "message": "m"},
    {"type": "push", "level": "keep", "event": "e"},
    {"type": "tools.update", "tools": []},
    {"type": "session.ready", "sessionId": "s1"},
    {"type": "shutdown.ready", "sessionId": "s1"},
    {"type": "goodbye"},
    {"type": "host.hello", "name": "h", "kind": "k", "protocolVersion": 2},
    {"type": "tower.hello", "protocolVersion": 2},
    {"type": "session.open", "session": {"id": "s9", "label": "", "cwd": "/"}},
    {"type": "session.update", "sessionId": "s1", "toolsRevision": 1},
    {"type": "session.history", "sessionId": "s1", "turns": []},
    {"type": "session.close", "sessionId": "s1"},
    {"type": "session.event", "sessionId": "s1", "event": "e"},
    {"type": "session.now", "sessionId": "s1", "text": "t"},
    {"type": "hook.preToolUse", "id": "k", "sessionId": "s1", "tool": "t"},
    {"type": "prompt.submitted", "id": "q", "sessionId": "s1", "prompt": "p"},
    {"type": "prompt.submitted", "id": "q", "sessionId": "s1", "prompt": "", "onlySections": True},
    {"type": "turn.ending", "id": "e", "sessionId": "s1"},
    {"type": "mode.result", "id": "m", "ok": True},
    {"type": "approval.request", "id": "r", "sessionId": "s1", "kind": "permission"},
    {"type": "approval.ask.result", "id": "a-0", "outcome": "deny"},
    {"type": "approval.withdraw", "id": "r"},
    {"type": "sessions.unattached", "unattached": []},
    {"type": "host.looked"},
    {"type": "session.sent", "sessionId": "s1", "ok": True},
    {"type": "host.notice", "message": "m"},
    {"type": "tool.invoke", "id": "i", "sessionId": "s1", "tool": "t"},
    {"type": "tool.abort", "id": "i"},
    {"type": "approval.reveal", "approvalId": "a"},
    {"type": "approval.decide", "approvalId": "a", "decision": "deny"},
    {"type": "call.cancel", "id": "c"},
    {"type": "provider.disconnect", "providerId": "p"},
    {"type": "provider.move", "providerId": "p", "sessionId": "s1"},
    {"type": "injects.resume", "providerId": "p", "sessionId": "s1"},
    {"type": "session.mode", "sessionId": "s1", "mode": "plan"},
    {"type": "session.budget", "sessionId": "s1", "tokens": 9},
    {"type": "tools.switch", "sessionId": "s1", "provider": "p", "on": True},
    {"type": "session.tell", "id": "x", "sessionId": "s1", "text": "t"},
    {"type": "session.stop", "id": "x", "sessionId": "s1"},
    {"type": "session.compact", "id": "x", "sessionId": "s1"},
    {"type": "session.end", "id": "x", "sessionId": "s1"},
    {"type": "session.start", "id": "x", "folder": "/"},
    {"type": "session.started", "id": "x"},
    {"type": "session.set", "id": "x", "sessionId": "s1", "what": "label", "value": "l"},
    {"type": "models.read", "id": "x", "sessionId": "s1"},
    {"type": "agents.read", "id": "x", "folder": "/"},
    {"type": "emitter.start", "emitterId": "e"},
    {"type": "emitter.stop", "emitterId": "e"},
    {"type": "emitter.pause", "emitterId": "e"},
    {"type": "emitter.resume", "emitterId": "e"},
    {"type": "emitter.run", "emitterId": "e"},
    {"type": "emitter.filter", "emitterId": "e", "rules": []},
    {"type": "emitter.try", "id": "x", "emitterId": "e", "rules": []},
    {"type": "emitter.keep", "id": "x", "emitterId": "e"},
    {"type": "proof.run", "id": "x", "sessionId": "s1"},
    {"type": "proof.stop", "sessionId": "s1"},
    {"type": "proof.sendBack", "id": "x", "sessionId": "s1"},
    {"type": "order.result", "id": "x", "state": "done"},
    {"type": "models.list", "id": "x"},
    {"type": "stream.read", "id": "x", "stream": "s", "sessionId": "s1"},
    {"type": "stream.read", "id": "x", "stream": "s", "sessionId": "s1", "after": 3, "at": "2026"},
    {"type": "detail.read", "id": "x", "of": "call", "subject": "call-1", "sessionId": "s1"},
    {"type": "gateway.stop"},
    {"type": "tools.read", "id": "x", "sessionId": "s1"},
    {"type": "turns.read", "id": "x", "sessionId": "s1"},
    {"type": "spans.read", "id": "x", "sessionId": "s1", "since": "2026-01-01T00:00:00Z"},
    {"type": "changes.read", "id": "x", "sessionId": "s1"},
    {"type": "diff.read", "id": "x", "sessionId": "s1", "root": "/r", "path": "a"},
    {"type": "inspect.start", "id": "x", "providerId": "p"},
    {"type": "inspect.read", "id": "x"},
    {"type": "inspect.stop", "id": "x"},
    {"type": "token.mint", "id": "x", "sessionId": "s1"},
    {"type": "hooks.update", "onPreToolUse": []},
    {"type": "context.update", "context": "c"},
    {"type": "filter.set", "stream": "s", "rules": []},
    {"type": "stream.query", "queryId": "q", "streams": ["s"]},
    {"type": "gate.result", "callId": "c", "decision": "allow"},
    {"type": "transform.result", "callId": "c", "content": "t"},
    {"type": "stream.post", "id": "x", "sessionId": "s1", "stream": "s", "event": "e",
     "level": "keep"},
    {"type": "state.read", "id": "x", "sessionId": "s1"},
    {"type": "emitters.start", "id": "x", "sessionId": "s1",
     "emitter": {"name": "n", "stream": "s", "kind": "oneTime", "prompt": "p"}},
    {"type": "emitters.start.cancel", "id": "x"},
    {"type": "emitters.stop", "id": "x", "sessionId": "s1", "name": "n"},
    {"type": "emitters.filter", "id": "x", "sessionId": "s1", "name": "n", "rules": []},
    {"type": "emitters.injector", "id": "x", "sessionId": "s1", "stream": "s", "enabled": True},
    {"type": "emitters.read", "id": "x", "sessionId": "s1"},
    {"type": "goal.open", "id": "x", "sessionId": "s1", "title": "t"},
    {"type": "goal.change", "id": "x", "goalId": "g", "status": "achieved"},
    {"type": "goal.verify", "id": "x", "goalId": "g"},
    {"type": "goal.note", "id": "x", "goalId": "g", "text": "n"},
    {"type": "goal.drop", "id": "x", "goalId": "g"},
    {"type": "goal.allow", "id": "x", "goalId": "g", "criterionId": "c", "surface": "0" * 64},
    {"type": "goals.read", "id": "x"},
    {"type": "reviews.record", "id": "x", "sessionId": "s1",
     "review": {"monitor": "m", "decision": "note"}},
    {"type": "review.dispose", "id": "x", "sessionId": "s1", "finding": "f",
     "disposition": "rejected"},
    {"type": "session.looked", "id": "x"},
    {"type": "file.see", "id": "x", "sessionId": "s1", "root": "/r", "path": "p", "stateId": "s"},
    {"type": "file.putBack", "id": "x", "sessionId": "s1", "root": "/r", "path": "p",
     "stateId": "s"},
    {"type": "note.keep", "id": "x", "sessionId": "s1", "root": "/r", "path": "p", "body": "b"},
    {"type": "note.drop", "id": "x", "sessionId": "s1", "noteId": "n"},
    {"type": "notes.tell", "id": "x", "sessionId": "s1"},
    {"type": "goals.create", "id": "x", "sessionId": "s1", "title": "t", "criteria": []},
    {"type": "goals.update", "id": "x", "sessionId": "s1", "goalId": "g"},
    {"type": "goals.ofSession", "id": "x", "sessionId": "s1"},
    {"type": "goals.verify", "id": "x", "sessionId": "s1", "goalId": "g"},
    {"type": "claims.audit", "id": "x", "sessionId": "s1", "claims": []},
    {
        "type": "records.query",
        "id": "x",
        "sessionId": "s1",
        "query": {"collection": "calls", "text": "x"},
    },
    {"type": "mode.request", "id": "x", "sessionId": "s1", "mode": "plan", "asker": "a"},
    {"type": "mode.request.cancel", "id": "x"},
    {"type": "sessions", "active": []},
    {"type": "tool.outcome", "id": "x"},
    {"type": "nonsense"},
    {"type": ""},
    {"type": "Hello"},
    {"type": "\u202ehello\n" * 100},
]  # fmt: skip


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
CELLS = [
    pytest.param(state, example, id=f"{state}-{example['type'][:20]!r}")
    for state in STATES
    for example in EXAMPLES
]


def test_the_examples_are_all_messages_that_anybody_may_send() -> None:
    unions = (provider.FromProvider, host.FromHost, tower.FromTower, builtin.FromBuiltin)
    known = {kind.__struct_config__.tag for union in unions for kind in get_args(union)}
    assert known <= {example["type"] for example in EXAMPLES}
    assert {type_ for table in LEGAL.values() for type_ in table} == known


def test_every_state_is_walked() -> None:
    assert set(STATES) | {Standing.BUILTIN, Standing.CLOSED} == set(Standing)


@pytest.mark.parametrize(("state", "example"), CELLS)
def test_a_message_is_refused_where_it_is_not_legal(
    talk: Conversation, state: Standing, example: dict[str, Any]
) -> None:
    peer = STATES[state](talk)
    assert peer.state == state
    heard = peer.ask({**example, "id": "i7", "requestId": "r7"})
    unknown = [one for one in heard if one.get("code") == "UNKNOWN_TYPE"]
    if example["type"] in LEGAL[state]:
        assert unknown == []
        return
    assert len(heard) == len(unknown) == 1, heard
    assert unknown[0]["replyTo"] == example["type"]
    assert (unknown[0]["id"], unknown[0]["requestId"]) == ("i7", "r7")
    assert peer.state == state
    assert peer.closed is None


def test_the_state_is_checked_before_the_fields() -> None:
    for state, enter in STATES.items():
        peer = enter(Conversation())
        for example in EXAMPLES:
            if example["type"] not in LEGAL[state]:
                assert peer.error(type=example["type"], id=7)["code"] == "UNKNOWN_TYPE"


def test_a_closed_connection_says_nothing_more(talk: Conversation) -> None:
    peer = talk.connect(INTERNAL_TOKEN)
    talk.host().open("s1")
    peer.hello(session="s1")
    peer.say(type="goodbye")
    assert peer.closed == (1000, "goodbye")
    peer.hear()
    for example in EXAMPLES:
        assert peer.ask(example) == []
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
