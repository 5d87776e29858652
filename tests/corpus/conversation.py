"""A conversation in which most things happen once: what is said, answered and recorded.

It is spoken with the core, with ids by number and a clock that stands still between steps, so that
it is the same each time.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tapui.records.journal import Journal
from tapui.settings.settings import Records
from tapui.wire.codec import encode
from tests.core.harness import INTERNAL_TOKEN, ORIGIN, PROVIDER_TOKEN, Conversation, Json, Peer
from tests.core.runner import entry

RUN = "run-1"
_TOOL = {
    "name": "greet",
    "description": "Say hello · größer 😀",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
}
_HOOKS = {
    "onPreToolUse": [
        {"match": {"tool": "bash", "args": "rm -rf"}, "action": "deny", "reason": "never"},
        {"match": {"tool": "bash"}, "action": "gate", "gateId": "g"},
    ],
    "transforms": {"tone": {"action": "append", "content": "Be brief."}},
}
_SECRET = "ghp_" + "a1B2" * 9


@dataclass
class Played:
    """The conversation, and what was said in it: `> who message` to the gateway, `< who message`
    from it."""

    talk: Conversation = field(default_factory=Conversation)
    ends: dict[str, Peer] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def connect(self, who: str, token: str | None = None, **how: Any) -> None:
        """Open a connection, and authenticate where there is a token."""
        self.ends[who] = self.talk.connect(**how)
        if token is not None:
            self.say(who, type="auth", token=token)

    def say(self, who: str, /, **message: Any) -> None:
        """Say a message to the gateway."""
        self.lines.append(f"> {who} {_text(message)}")
        self.ends[who].say(message)
        self.hear()

    def event(self, event: str, **data: Any) -> None:
        """Report an event of the session."""
        self.say("host", type="session.event", sessionId="s1", event=event, data=data)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.lines.append(f"# {seconds} s")
        self.talk.wait(seconds)
        self.hear()

    def hear(self) -> None:
        """Write down what everybody was told."""
        for who, peer in self.ends.items():
            self.lines += [f"< {who} {_text(told)}" for told in peer.hear()]

    def decide(self, kind: str, decision: str, **more: Any) -> None:
        """Decide what waits, as the person at the tower."""
        approvals = self.talk.gateway.state.approvals.values()
        ids = [one.id for one in approvals if (one.kind, one.state) == (kind, "waiting")]
        self.say("tower", type="approval.decide", approvalId=ids[-1], decision=decision, **more)

    def last(self, who: str, type_: str) -> Json:
        """Return the last message of a type that went to one end."""
        told = [line for line in self.lines if line.startswith(f'< {who} {{"type":"{type_}"')]
        found: Json = json.loads(told[-1].split(" ", 2)[2])
        return found


def _text(message: Json) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def played() -> Played:
    """Play it."""
    one = Played()
    _begin(one)
    _calls(one)
    _hooks(one)
    _streams(one)
    _turns(one)
    _approvals(one)
    _orders(one)
    _emitters(one)
    _pairing(one)
    _end(one)
    return one


def _begin(one: Played) -> None:
    talk = one.talk
    talk.tools()
    talk.runner.begin()
    one.connect("tower", INTERNAL_TOKEN)
    one.say("tower", type="tower.hello", protocolVersion=2, name="tapui")
    one.connect("host", INTERNAL_TOKEN)
    one.say(
        "host", type="host.hello", name="copilot", kind="copilot", protocolVersion=2, hooks=True,
        sections=True, starts=True,
    )  # fmt: skip
    session = {
        "id": "s1", "label": "Fix the “build”", "cwd": "/code", "workspace": "/dev/null/s1",
        "foreground": True, "mode": "interactive", "model": "gpt-5", "effort": "high",
        "agents": [{"name": "reviewer", "tools": ["greet"]}], "reservedTools": ["bash", "edit"],
        "can": ["tell", "stop", "model", "compact"], "pid": 4242,
    }  # fmt: skip
    one.say("host", type="session.open", session=session)
    one.say("host", type="session.open", session={"id": "s2", "label": "two", "cwd": "/two"})
    one.connect("provider", PROVIDER_TOKEN)
    one.say(
        "provider", type="hello", name="greeter", protocolVersion=2, session="s1", tools=[_TOOL],
        hooks=_HOOKS, context="CI passes", startup_context="Read docs first.", instance="tab-1",
        subscribe=["tool.execution_complete"], metadata={"page": "https://example.com"},
        concurrency={"max": 2},
    )  # fmt: skip
    one.say("host", type="sessions.unattached", unattached=[
        {"id": "u1", "cwd": "/elsewhere", "pid": 77, "hint": "copilot --ui-server"}
    ])  # fmt: skip


def _invoke(one: Played, id_: str, tool: str = "greet", **args: Any) -> str:
    one.say(
        "host", type="tool.invoke", id=id_, sessionId="s1", tool=tool, args=args,
        toolCallId=f"native-{id_}", agentId="reviewer" if id_ == "c2" else None,
    )  # fmt: skip
    return str(one.last("provider", "tool.call")["id"])


def _calls(one: Played) -> None:
    call = _invoke(one, "c1", text=f"hello, my token is {_SECRET}")
    one.say("provider", type="tool.progress", id=call, message="60 %", done=3, total=5)
    one.say("provider", type="tool.result", id=call, data={"said": ["hello", 1.5, None, True]})
    call = _invoke(one, "c2", text="x")
    one.say(
        "provider", type="tool.result", id=call, error="no such page", errorCode="NOT_FOUND",
        retryable=True,
    )  # fmt: skip
    one.talk.files["/p/shot.png"] = _copied()
    file = {"path": "/p/shot.png", "mimeType": "image/png", "size": 42, "ttl": 60}
    call = _invoke(one, "c3", text="shot")
    one.say("provider", type="tool.result", id=call, file=file)
    call = _invoke(one, "c4", text="slow")
    one.say("host", type="tool.abort", id="c4", reason="Esc")
    one.say("provider", type="tool.result", id=call, errorCode="CANCELLED")
    call = _invoke(one, "c5", text="slow")
    one.say("tower", type="call.cancel", id=call)
    one.wait(20)
    _invoke(one, "c6", "tap_post", stream="notes", message="a line", level="surface")
    _invoke(one, "c7", "tap_list_streams")
    _invoke(one, "c8", "nobody's")


def _copied() -> Any:
    from tapui.core.effects import Copied

    return Copied("/dev/null/s1/shot.png", 42)


def _hooks(one: Played) -> None:
    hook = {"type": "hook.preToolUse", "sessionId": "s1", "tool": "bash"}
    one.say("host", **hook, id="h1", args={"command": "rm -rf /"})
    for id_, decision in (("h2", "allow"), ("h3", "deny"), ("h4", "context")):
        one.say("host", **hook, id=id_, args={"command": "ls"})
        asked = one.last("provider", "gate.check")["callId"]
        one.say("provider", type="gate.result", callId=asked, decision=decision, reason="because")
    one.say("host", **hook, id="h5", args={"command": "ls"})
    one.wait(6)
    one.say(
        "host", type="prompt.submitted", id="p1", sessionId="s1", prompt="Fix it.",
        sections={"tone": "Friendly.", "safety": "Careful."},
    )  # fmt: skip
    one.say("provider", type="hooks.update", onPreToolUse=[], requestId="r1")
    one.say("provider", type="context.update", context=None, requestId="r2")


def _streams(one: Played) -> None:
    one.say("provider", type="filter.set", stream="log", rules=[
        {"match": "noise", "outcome": "drop"}, {"match": "ERROR", "outcome": "surface"},
    ], requestId="r3")  # fmt: skip
    for event in ("first · ü", "noise", "ERROR: no", "last"):
        one.say("provider", type="push", level="keep", event=event, stream="log",
                metadata={"line": 1})  # fmt: skip
    one.say("provider", type="push", level="inject", event="look at this")
    one.say("provider", type="stream.query", queryId="q1", streams=["log"], last=2)
    one.say("tower", type="stream.read", id="t1", stream="log@greeter", sessionId="s1", last=3)
    one.wait(2)


def _turns(one: Played) -> None:
    one.event("user.message", content="Fix the build\nplease")
    one.event("assistant.turn_start")
    one.event("session.busy")
    one.event("tool.execution_start", tool="bash", toolCallId="n1", args={"command": "make"})
    one.event("shell.completed", toolCallId="n1", exitCode=2)
    one.event(
        "tool.execution_complete", tool="bash", toolCallId="n1", exitCode=2,
        result={"type": "failure", "output": "make: *** [all] Error 2"},
    )  # fmt: skip
    one.event(
        "tool.execution_start", tool="edit", toolCallId="n2",
        args={"path": "/code/a.py", "old_str": "a = 1\n", "new_str": "a = 2\nb = 3\n"},
    )  # fmt: skip
    one.event(
        "tool.execution_complete", tool="edit", toolCallId="n2",
        result={"type": "success", "output": "edited"},
    )  # fmt: skip
    one.event("subagent.started", toolCallId="n3", remoteSessionId="child", agentName="reviewer")
    one.event("subagent.completed", toolCallId="n3")
    one.event("assistant.reasoning", content="Thinking.")
    one.event("assistant.message", content="Done: `a.py` is mended.")
    one.event("assistant.usage", model="gpt-5", inputTokens=100, outputTokens=20, cost=1)
    one.event("session.usage", models=[
        {"model": "gpt-5", "calls": 1, "inputTokens": 100, "outputTokens": 20, "cost": 1}
    ])  # fmt: skip
    one.event("session.context", tokens=1000, limit=128000)
    one.event("assistant.turn_end")
    one.event("session.idle")
    one.say("tower", type="turns.read", id="t2", sessionId="s1", last=5)
    one.say("host", type="session.update", sessionId="s1", label="Fixed", mode="plan")


def _approvals(one: Played) -> None:
    request = {"type": "approval.request", "sessionId": "s1", "kind": "permission"}
    detail = {"kind": "shell", "fullCommandText": "npm ci", "intention": "install"}
    for id_, decision in (("a1", "approve"), ("a2", "deny")):
        one.say("host", **request, id=id_, detail=detail)
        one.decide("permission", decision, reason="by hand")
    one.say("host", **request, id="a3", detail=detail)
    one.say("host", type="approval.withdraw", id="a3", decidedBy="cli")
    one.say("host", **request, id="a4", detail=detail, timeout=1000)
    one.wait(2)
    question = {"question": "Which?", "choices": ["a", "b"], "allowFreeform": True}
    one.say("host", type="approval.request", sessionId="s1", kind="userInput", id="a5",
            detail=question)  # fmt: skip
    one.decide("userInput", "approve", answer={"answer": "a", "wasFreeform": False})
    one.say("host", **request, id="a6", detail=detail)
    one.wait(300)
    one.decide("permission", "approve")


def _orders(one: Played) -> None:
    one.say("tower", type="session.tell", id="o1", sessionId="s1", text="Go on.")
    order = one.last("host", "session.tell")["id"]
    one.say("host", type="order.result", id=order, state="queued")
    one.say("host", type="order.result", id=order, state="done")
    one.say("tower", type="session.mode", sessionId="s1", mode="autopilot")
    mode = one.last("host", "mode.set")["id"]
    one.say("host", type="mode.result", id=mode, ok=True)
    one.say("tower", type="session.budget", sessionId="s1", tokens=10)
    one.say("tower", type="tools.switch", sessionId="s1", provider="tap", tool="tap_post", on=False)
    one.say("tower", type="tools.switch", sessionId="s1", provider="tap", on=True)
    one.say("host", type="prompt.submitted", id="p2", sessionId="s1", prompt="More.")
    one.decide("userInput", "deny")


def _emitters(one: Played) -> None:
    talk, folder = one.talk, "/emit"
    one.say("host", type="session.update", sessionId="s1", cwd=folder)
    talk.runner.write(folder, entry("watch", cwd=folder, stream="ci"))
    one.hear()
    one.decide("emitter", "approve")
    talk.runner.starts()
    talk.runner.says("built · ü", outcome="keep")
    talk.runner.says("BROKEN", outcome="surface")
    talk.runner.counts(lines=3, kept=1, surfaced=1, dropped=1)
    talk.runner.ends(code=1)
    one.hear()
    one.wait(400)
    talk.runner.write(folder)
    one.hear()


def _pairing(one: Played) -> None:
    one.connect("page", origin=ORIGIN)
    one.say("page", type="auth", mode="pair")
    one.hear()
    waiting = [x.id for x in one.talk.gateway.state.approvals.values() if x.state == "waiting"]
    one.say("tower", type="approval.reveal", approvalId=waiting[-1], sessions=["s1"])
    code = one.last("tower", "approval.revealed")["code"]
    one.say("page", type="auth.confirm", code=code)
    one.say("page", type="hello", name="page", protocolVersion=2, session="s1", tools=[])
    one.say("page", type="push", level="loud", event="x")
    one.say("page", type="goodbye", reason="closed")


def _end(one: Played) -> None:
    one.say("host", type="session.open", session={
        "id": "s3", "label": "again", "cwd": "/code", "replaces": "s1",
        "workspace": "/dev/null/s3",
    })  # fmt: skip
    one.say("host", type="session.close", sessionId="s2", reason="the person ended it")
    one.wait(20)
    one.say("provider", type="goodbye")
    one.ends.pop("page")
    one.say("host", type="session.close", sessionId="s3")
    one.wait(20)
    one.lines.append("# the host is gone")
    one.ends.pop("host").drop()
    one.hear()


def record(one: Played, state: Path) -> None:
    """Write its events as a gateway does: below `state`, as there are no workspaces."""
    journal = Journal(state, RUN, Records(), lambda _line, _level: None)
    for found in one.talk.entries:
        lost = journal.write([(found, encode(found.event))])
        assert not lost
    assert journal.close(10)
