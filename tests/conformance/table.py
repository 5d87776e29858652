"""The table of states and messages, as the core has it, and an example of each message."""

from typing import Any, get_args

from tapui.core.conversations.legal import LEGAL
from tapui.core.model import Standing
from tapui.wire import builtin, host, provider, tower

Json = dict[str, Any]

SOCKET_STATES = [state for state in Standing if state not in (Standing.BUILTIN, Standing.CLOSED)]
"""The states in which a socket can be. The built-in tools have a state of their own."""


def types() -> list[str]:
    """Return every type that anybody may send, by conversation."""
    unions = (provider.FromProvider, host.FromHost, tower.FromTower, builtin.FromBuiltin)
    found = [kind.__struct_config__.tag for union in unions for kind in get_args(union)]
    return list(dict.fromkeys(map(str, found)))


def example(type_: str, session: str, other: str = "nowhere") -> Json:
    """Return a message of a type that is in order, about a session; it does little.

    What would do more is about the session `other`.
    """
    return {"type": type_, **_fields(session, other).get(type_, {})}


def _fields(session: str, other: str) -> dict[str, Json]:
    about, elsewhere = {"sessionId": session}, {"sessionId": other}
    return {
        "auth": {"token": "wrong"},
        "auth.confirm": {"code": "wrong"},
        "hello": {"name": "p", "protocolVersion": 2, "session": "nowhere"},
        "tool.result": {"id": "none", "data": 1},
        "tool.progress": {"id": "none", "message": "m"},
        "push": {"level": "keep", "event": "e"},
        "tools.update": {"tools": []},
        "hooks.update": {"onPreToolUse": []},
        "context.update": {"context": "c"},
        "filter.set": {"stream": "s", "rules": []},
        "stream.query": {"queryId": "q", "streams": ["s"]},
        "gate.result": {"callId": "none", "decision": "allow"},
        "transform.result": {"callId": "none", "content": "c"},
        "session.ready": about,
        "shutdown.ready": about,
        "host.hello": {"name": "h", "kind": "k", "protocolVersion": 2},
        "session.open": {"session": {"id": f"{session}-2", "label": "", "cwd": "/"}},
        "session.update": {**about, "toolsRevision": 1},
        "session.close": about,
        "session.end": {**about, "id": "x"},
        "session.start": {"id": "x", "folder": "/"},
        "session.started": {"id": "none"},
        "session.event": {**about, "event": "e"},
        "session.history": {**about, "turns": []},
        "session.now": {**about, "text": "t"},
        "tool.invoke": {**about, "id": "i", "tool": "none"},
        "tool.abort": {"id": "none"},
        "hook.preToolUse": {**about, "id": "k", "tool": "bash"},
        "prompt.submitted": {**about, "id": "q", "prompt": "p"},
        "turn.ending": {**about, "id": "e"},
        "mode.result": {"id": "none", "ok": True},
        "session.sent": {**about, "ok": True},
        "host.notice": {"message": "m"},
        "approval.request": {**about, "id": "r", "kind": "permission"},
        "approval.ask.result": {"id": "none", "outcome": "deny"},
        "approval.withdraw": {"id": "none"},
        "sessions.unattached": {"unattached": []},
        "host.looked": {},
        "tower.hello": {"protocolVersion": 2},
        "approval.reveal": {"approvalId": "none"},
        "approval.decide": {"approvalId": "none", "decision": "deny"},
        "call.cancel": {"id": "none"},
        "provider.disconnect": {"providerId": "none"},
        "provider.move": {**about, "providerId": "none"},
        "injects.resume": {**about, "providerId": "none"},
        "session.mode": {**elsewhere, "mode": "plan"},
        "session.budget": {**elsewhere, "tokens": 9},
        "tools.switch": {**elsewhere, "provider": "p", "on": False},
        "session.tell": {**about, "id": "x", "text": "t"},
        "session.stop": {**about, "id": "x"},
        "session.compact": {**about, "id": "x"},
        "session.set": {**about, "id": "x", "what": "label", "value": "l"},
        "models.read": {**about, "id": "x"},
        "emitter.start": {"emitterId": "none"},
        "emitter.stop": {"emitterId": "none"},
        "emitter.pause": {"emitterId": "none"},
        "emitter.resume": {"emitterId": "none"},
        "emitter.run": {"emitterId": "none"},
        "emitter.filter": {"emitterId": "none", "rules": []},
        "emitter.try": {"id": "x", "emitterId": "none", "rules": []},
        "emitter.keep": {"id": "x", "emitterId": "none"},
        "proof.run": {**about, "id": "x"},
        "proof.stop": {**about},
        "proof.sendBack": {**about, "id": "x"},
        "order.result": {"id": "none", "state": "done"},
        "models.list": {"id": "none"},
        "stream.read": {**about, "id": "x", "stream": "s@p"},
        "tools.read": {**about, "id": "x"},
        "turns.read": {**about, "id": "x"},
        "spans.read": {**about, "id": "x", "since": "2026-01-01T00:00:00Z"},
        "changes.read": {**about, "id": "x"},
        "diff.read": {**about, "id": "x", "root": "/r", "path": "a"},
        "agents.read": {"id": "x", "folder": "/"},
        "file.see": {**about, "id": "x", "root": "/r", "path": "a", "stateId": "s"},
        "file.putBack": {**about, "id": "x", "root": "/r", "path": "a", "stateId": "s"},
        "note.keep": {**about, "id": "x", "root": "/r", "path": "a", "body": "b"},
        "note.drop": {**about, "id": "x", "noteId": "n"},
        "notes.tell": {**about, "id": "x"},
        "inspect.start": {**about, "id": "x"},
        "inspect.read": {"id": "x"},
        "inspect.stop": {"id": "x"},
        "token.mint": {**about, "id": "x"},
        "stream.post": {**about, "id": "x", "stream": "s", "event": "e", "level": "keep"},
        "state.read": {**about, "id": "x"},
        "mode.request": {**about, "id": "x", "mode": "plan", "asker": "a"},
        "mode.request.cancel": {"id": "x"},
        "emitters.start": {
            **about,
            "id": "x",
            "emitter": {"name": "n", "stream": "s", "kind": "oneTime", "prompt": "p"},
        },
        "emitters.start.cancel": {"id": "x"},
        "emitters.stop": {**about, "id": "x", "name": "n"},
        "emitters.filter": {**about, "id": "x", "name": "n", "rules": []},
        "emitters.injector": {**about, "id": "x", "stream": "s", "enabled": True},
        "emitters.read": {**about, "id": "x"},
        "detail.read": {**about, "id": "x", "of": "call", "subject": "call-1"},
        "goal.open": {**about, "id": "x", "title": "t"},
        "goal.change": {"id": "x", "goalId": "none", "status": "achieved"},
        "goal.verify": {"id": "x", "goalId": "none"},
        "goal.note": {"id": "x", "goalId": "none", "text": "n"},
        "goal.drop": {"id": "x", "goalId": "none"},
        "goal.allow": {"id": "x", "goalId": "none", "criterionId": "c", "surface": "0" * 64},
        "goals.read": {"id": "x"},
        "goals.create": {**about, "id": "x", "title": "t", "criteria": []},
        "goals.update": {**about, "id": "x", "goalId": "none"},
        "goals.ofSession": {**about, "id": "x"},
        "goals.verify": {**about, "id": "x", "goalId": "none"},
        "claims.audit": {**about, "id": "x", "claims": []},
        "records.query": {**about, "id": "x", "query": {"collection": "calls", "text": "x"}},
        "reviews.record": {**about, "id": "x", "review": {"monitor": "m", "decision": "note"}},
        "review.dispose": {**about, "id": "x", "finding": "f", "disposition": "rejected"},
        "session.looked": {"id": "x"},
    }


def rendered() -> str:
    """Return the table as Markdown."""
    states = [*SOCKET_STATES, Standing.BUILTIN]
    head = [
        "# Which message may come in which state",
        "",
        "Made from `tapui.core.conversations.legal.LEGAL` by `python -m tests.conformance`.",
        "A dot is refused with `UNKNOWN_TYPE` and the connection stays; every cell but those of",
        "Builtin, which no socket reaches, is tried from a socket in `test_table.py`.",
        "",
        "| message | " + " | ".join(states) + " |",
        "|---|" + ":-:|" * len(states),
    ]
    rows = [
        f"| `{type_}` | "
        + " | ".join("yes" if type_ in LEGAL[state] else "·" for state in states)
        + " |"
        for type_ in types()
    ]
    return "\n".join([*head, *rows, ""])
