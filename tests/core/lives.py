"""Lives: everything that can happen in a gateway, once, and all of it over at the end.

Each life uses names of its own. Its sessions, hosts and providers come and go beside a host, a
session, a provider and a tower that stay, to whom the same things happen.
"""

from dataclasses import dataclass, replace
from typing import Any

from tapui.core.approvals.part_questions import PartQuestion
from tapui.core.approvals.spending import GO_ON, RAISE
from tapui.core.effects import Copied, SeenProcess
from tapui.core.runs.reports import RulesTried, TriedLine
from tapui.policies.rules import PolicyRule
from tapui.settings.settings import Memory, Settings
from tapui.wire import limits
from tapui.wire.builtin import (
    EmitterAsked,
    EmitterAskedCancel,
    EmitterAskedStop,
    EmitterRulesAsked,
    EmittersRead,
    EmitterWanted,
    InjectorAsked,
)
from tapui.wire.mcp_servers import McpServer
from tapui.wire.message import Message
from tapui.wire.provider import Hello
from tests.core.harness import (
    AGENT_START,
    ORIGIN,
    PERSON,
    Conversation,
    InProcessEnd,
    Json,
    Peer,
    seen,
    tool,
)
from tests.core.runner import entry, goal_entry

_GATE = {"match": {"tool": "bash"}, "action": "gate", "gateId": "g"}
_TRANSFORMS = {"tone": {"action": "callback"}}
_LONG = "x" * 10_000


@dataclass
class Stage:
    """Those who stay: a host with session `s0`, a provider in it, one everywhere, a tower."""

    talk: Conversation
    host: Peer
    provider: Peer
    everywhere: Peer
    tower: Peer
    number: int = 0

    @classmethod
    def set(cls) -> "Stage":
        """Return a gateway with those who stay, the local session and the built-in tools."""
        talk = Conversation(Settings(memory=Memory(ask_writes=True)))
        talk.local()
        talk.tools()
        talk.runner.begin()
        host = talk.host("steady", hooks=True)
        host.open("s0")
        provider = talk.provider(
            "s0", name="steady", tools=[tool("steady")],
            hooks={"onPreToolUse": [_GATE], "transforms": _TRANSFORMS},
        )  # fmt: skip
        everywhere = _everywhere(talk, "everywhere")
        return cls(talk, host, provider, everywhere, talk.tower())

    def life(self, number: int) -> None:
        """Let everything happen once, until nothing of it is under way any more."""
        talk, self.number = self.talk, number
        host = talk.host(f"host{number}")
        for id_ in (f"a{number}", f"b{number}"):
            host.open(id_, workspace=f"/folders/{id_}")
        guest = talk.provider(
            f"a{number}", name=f"guest{number}", metadata={"about": _LONG},
            tools=[tool(f"greet{number}")],
            hooks={
                "onPreToolUse": [_GATE, {"match": {"args": f"rm{number}"}, "action": "deny"}],
                "transforms": _TRANSFORMS,
            },
            context="CI passes", startup_context=_LONG, subscribe=["tool.execution_complete"],
            concurrency={"max": 1, "scope": "provider"},
        )  # fmt: skip
        talk.wait(1)
        visitor = talk.provider("s0", name=f"visitor{number}", tools=[tool(f"visit{number}")])
        self._calls(host, guest, f"a{number}", f"greet{number}")
        self._calls(self.host, visitor, "s0", f"visit{number}")
        self._builtin_calls("s0")
        self._mode_requests(host, f"b{number}")
        self._hooks(host, guest, f"a{number}")
        self._hooks(self.host, self.provider, "s0")
        self._pushes(guest, f"a{number}", host)
        for peer in (visitor, self.provider):
            self._pushes(peer, "s0", self.host)
        self._session(host, f"a{number}")
        self._session(self.host, "s0")
        self._approvals(host, f"a{number}")
        self._approvals(self.host, "s0")
        self._spending(host, f"a{number}")
        self._spending(self.host, "s0")
        self._tool_switches(host, f"a{number}")
        self._alarms(host, f"a{number}")
        self._alarms(self.host, "s0")
        self._emitters(host, f"a{number}")
        self._emitters(self.host, "s0")
        self._mcp_servers(host, f"a{number}")
        self._mcp_servers(self.host, "s0")
        self._agent_emitters(self.host, "s0")
        self._pairing(f"b{number}")
        self._reads("s0", f"log@visitor{number}")
        self._instances()
        self._garbage()
        self._tool_host()
        self._leave(host, guest, visitor)
        self.everywhere = _everywhere(talk, "everywhere", former=self.everywhere)
        talk.wait(limits.DEPARTED_STREAM_TTL + 100)
        talk.forget()
        for number_, peer in list(talk.peers.items()):
            if peer.state == "Closed":
                del talk.peers[number_]

    def _calls(self, host: Peer, provider: Peer, session: str, name: str) -> None:
        """Each way in which a call ends."""
        talk = self.talk

        def call(id_: str, **more: Any) -> str:
            provider.hear()
            host.invoke(session, name, self._id(id_), **{"args": {"text": "hello"}, **more})
            return str(provider.hear_one("tool.call")["id"])

        provider.result(call("ok"), data={"text": "hello"})
        provider.result(call("large", args={"text": _LONG}), data=_LONG * 10)
        provider.result(call("failed"), error="no", errorCode="INTERNAL")
        provider.result(call("retryable"), error="no", retryable=True)
        provider.result(call("wrong"), data=1, error="both")
        id_ = call("progress")
        provider.say(type="tool.progress", id=id_, message="60 %").result(id_, data=None)
        talk.files["/providers/x"] = Copied("/folders/x", 42)
        file = {"path": "/providers/x", "mimeType": "text/plain", "size": 1}
        provider.result(call("file"), file=file)
        provider.result(call("no file"), file={**file, "path": "/elsewhere"})
        late = call("silent", timeout=10)
        talk.wait(1)
        provider.result(late, data=1)
        call("lost", timeout=10)
        talk.wait(20)
        id_ = call("aborted")
        host.say(type="tool.abort", id=self._id("aborted"))
        provider.result(id_, errorCode="CANCELLED")
        id_ = call("cancelled")
        self.tower.say(type="call.cancel", id=id_)
        talk.wait(20)
        id_ = call("first of two")
        host.invoke(session, name, self._id("second"), args={"text": _LONG})
        provider.result(id_, data=1)
        for one in provider.hear_of("tool.call"):
            provider.result(one["id"], data=1)
        host.invoke(session, "nobody's", self._id("unknown"))

    def _id(self, name: str) -> str:
        return f"{name} {self.number}"

    def _builtin_calls(self, session: str) -> None:
        host = self.host
        host.invoke(session, "tap_post", self._id("p"), args={"stream": "notes", "message": "m"})
        host.invoke(session, "tap_list_streams", self._id("l"))
        host.invoke(session, "tap_stream_history", self._id("h"), args={"stream": "notes"})
        host.invoke(session, "tap_get_session_state", self._id("s"))
        later = {"prompt": "Look again.", "in": "10m"}
        host.invoke(session, "tap_schedule_prompt", self._id("later"), args=later)
        host.invoke(session, "tap_list_emitters", self._id("e"))
        pattern = {"name": "later", "notifyPattern": "x"}
        host.invoke(session, "tap_set_event_filter", self._id("f"), args=pattern)
        host.invoke(session, "tap_stop_emitter", self._id("stop"), args={"name": "later"})
        self._goals(session)
        self.talk.wait(400)

    def _goals(self, session: str) -> None:
        """Goals of the person's are noted, verified, asked about, achieved, given up; they fail at
        their deadline. The session has objectives of its own."""
        host, tower = self.host, self.tower
        criteria = [{"text": _LONG[:1_000]}, {"check": {"kind": "ran", "command": "pytest"}}]
        for closing in ({"type": "goal.change", "status": "achieved"}, {"type": "goal.drop"}):
            tower.hear()
            tower.say(type="goal.open", id="o", sessionId=session, title="t", criteria=criteria)
            goal = tower.hear_one("goal.answer")["goal"]["id"]
            note = {"goalId": goal, "note": "half done"}
            host.invoke(session, "tap_update_goal", self._id(f"u{goal}"), args=note)
            verified = {"goalId": goal}
            host.invoke(session, "tap_verify_goal_output", self._id(f"v{goal}"), args=verified)
            self._decide("goal", "deny")
            host.say(type="turn.ending", id=self._id("end"), sessionId=session)
            tower.say({"id": "c", "goalId": goal, **closing})
        for seconds in (30.0, 3600.0):
            tower.hear()
            given = {"title": "t", "deadline": self.talk.ids.timestamp(self.talk.now + seconds)}
            tower.say(type="goal.open", id="o", sessionId=session, criteria=criteria, **given)
            tower.hear_one("goal.answer")
        one = {"id": "1", "text": _LONG[:1_000]}
        for objective in (one, {**one, "status": "completed"}, one, {"id": "2", "text": "t"}, {}):
            host.event(session, "session.objective", **objective)
        claims = [{"text": "it is done", "evidence": ["call:c1"]}]
        host.invoke(session, "tap_audit_claims", self._id("audit"), args={"claims": claims})
        host.invoke(session, "tap_list_goals", self._id("goals"))
        host.invoke(session, "tap_query_records", self._id("r"), args={"collection": "calls"})
        self._reviews(session)

    def _reviews(self, session: str) -> None:
        """Reviews by the tool and as text, with findings; one is decided about, one proposed."""
        host, tower = self.host, self.tower
        review = {"monitor": "m", "decision": "note", "observed": _LONG[:1_000], "reason": "r"}
        finding = {"title": "t", "path": "a.py", "lines": {"first": 1, "last": 2}, "rule": "r"}
        host.hear()
        args = {**review, "findings": [finding, {"title": "u"}]}
        host.invoke(session, "tap_record_review", self._id("review"), args=args)
        found = host.hear_one("tool.outcome")["data"]["findings"]
        proposal = {"finding": found[1]["id"], "disposition": "deferred"}
        args = {**review, "proposals": [proposal]}
        host.invoke(session, "tap_record_review", self._id("proposal"), args=args)
        text = {"stream": "reviews", "message": "REVIEW RECORD x: ignore\nmonitor: m"}
        host.invoke(session, "tap_post", self._id("record"), args=text)
        decided = {"finding": found[0]["id"], "disposition": "rejected"}
        tower.say(type="review.dispose", id="d", sessionId=session, **decided)
        host.invoke(session, "tap_get_session_state", self._id("state"))

    def _mode_requests(self, host: Peer, session: str) -> None:
        """Each way in which a request for a mode ends: asked in the tower, then in the window."""
        for id_, decision in (("m1", "approve"), ("m2", "deny"), ("m3", None), ("m4", None)):
            self._request_mode(host, session, id_)
            if decision is not None:
                self._decide("mode", decision)
            elif id_ == "m3":
                host.say(type="tool.abort", id=self._id(id_))
            self._set_modes(host)
        host.say(type="session.update", sessionId=session, can=["ask"])
        self._request_mode(host, session, "m5")
        self.tower.drop()
        for id_ in ("m5", "m6", "m7", "m8", "m9"):
            if id_ != "m5":
                self._request_mode(host, session, id_)
            question = host.hear_of("approval.ask")[-1]["id"]
            if id_ == "m7":
                host.say(type="tool.abort", id=self._id(id_))
            elif id_ == "m8":
                host.say(type="approval.ask.result", id=question, outcome="impossible")
            elif id_ == "m9":
                self.tower = self.talk.tower()
                self._decide("mode", "approve")
            else:
                outcome = "approve" if id_ == "m5" else "deny"
                host.say(type="approval.ask.result", id=question, outcome=outcome)
            self._set_modes(host)
        host.say(type="session.update", sessionId=session, mode="autopilot")
        self._request_mode(host, session, "m10")  # it is the person's by now
        self.talk.wait(400)

    def _request_mode(self, host: Peer, session: str, id_: str) -> None:
        host.hear()
        mode = "plan" if self._mode(session) != "plan" else "interactive"
        host.invoke(session, "tap_set_session_mode", self._id(id_), args={"mode": mode})

    @staticmethod
    def _set_modes(host: Peer) -> None:
        for order in host.hear_of("mode.set"):
            host.say(type="mode.result", id=order["id"], ok=True)

    def _mode(self, session: str) -> str | None:
        return self.talk.gateway.state.sessions[session].mode

    def _decide(self, kind: str, decision: str, **more: Any) -> None:
        """Decide the approval of this kind that waits."""
        waiting = [
            one.id
            for one in self.talk.gateway.state.approvals.values()
            if one.kind == kind and one.state == "waiting"
        ]
        assert waiting, kind
        self.tower.say(type="approval.decide", approvalId=waiting[-1], decision=decision, **more)

    def _hooks(self, host: Peer, judge: Peer, session: str) -> None:
        """Gates and transforms: answered, silent, given up."""
        talk = self.talk
        for answer in ("allow", "deny", "context", None):
            judge.hear()
            host.say(
                type="hook.preToolUse", id=self._id("k"), sessionId=session, tool="bash", args={}
            )
            asked = judge.hear_one("gate.check")["callId"]
            if answer is not None:
                judge.say(type="gate.result", callId=asked, decision=answer, reason="r")
            talk.wait(10)
        host.say(
            type="hook.preToolUse",
            id=self._id("k"),
            sessionId=session,
            tool="bash",
            args={"c": "rm"},
        )
        for content in ("kind", None):
            judge.hear()
            sections = {"tone": "plain", "safety": _LONG}
            host.say(
                type="prompt.submitted",
                id=self._id("q"),
                sessionId=session,
                prompt="p",
                sections=sections,
            )
            asked = judge.hear_one("transform.request")["callId"]
            if content is not None:
                judge.say(type="transform.result", callId=asked, content=content)
            talk.wait(10)
        judge.say(type="hooks.update", transforms={"tone": None}, requestId="r")
        judge.say(type="hooks.update", transforms=_TRANSFORMS)
        judge.say(type="context.update", context="CI fails")
        judge.say(type="tools.update", tools=[tool("extra")], remove=[])
        judge.say(type="tools.update", tools=[], remove=["extra"])
        asker = talk.host("asker")
        asker.say(type="hook.preToolUse", id=self._id("k"), sessionId=session, tool="bash", args={})
        asker.say(type="prompt.submitted", id=self._id("q"), sessionId=session, prompt="p")
        asker.drop()

    def _pushes(self, provider: Peer, session: str, host: Peer) -> None:
        """Lines, filters, and injects until the brake is on."""
        talk = self.talk
        drop = [{"match": "noise", "outcome": "drop"}]
        provider.say(type="filter.set", stream="log", rules=drop)
        for level in ("keep", "surface", "keep"):
            provider.push("line", level, stream="log", metadata={"about": "x"})
        provider.push("noise", stream="log")
        provider.say(type="filter.set", stream="log", rules=[])
        for _ in range(limits.MAX_INJECT_CYCLES + 2):
            provider.push("do it", "inject")
            host.event(session, "assistant.turn_start").event(session, "session.idle")
            talk.wait(2)
        self.tower.say(
            type="injects.resume", providerId=provider.ack["providerId"], sessionId=session
        )
        host.event(session, "user.message", content="x")
        talk.wait(60)
        host.event(session, "session.idle")
        talk.wait(60)
        provider.say(type="stream.query", queryId="q", streams=["log"])

    def _session(self, host: Peer, session: str) -> None:
        """What a host tells of a session, and modes."""
        number = self.number
        child, call = f"child{number}", f"native{number}"
        host.event(session, "session.busy")
        host.event(
            session, "subagent.started", remoteSessionId=child, agentName="a", toolCallId=call
        )
        host.invoke(child, "tap_list_streams", self._id("child"))
        host.event(session, "tool.execution_start", tool="bash", toolCallId=call, args={"a": 1})
        host.event(session, "tool.execution_complete", tool="bash", toolCallId=call)
        host.event(session, "subagent.completed", toolCallId=call)
        host.event(session, "tool.execution_start", tool="bash", toolCallId=f"{call} open")
        host.event(session, "session.context", tokens=1, limit=2)
        host.event(session, "session.idle")
        host.say(type="session.update", sessionId=session, label=f"label {number % 2}")
        host.say(type="sessions.unattached", unattached=[])
        host.say(type="host.looked", error="it cannot look" if number % 2 else None)
        for ok in (True, False, None):
            host.hear()
            self.tower.say(type="session.mode", sessionId=session, mode="plan")
            order = host.hear_one("mode.set")["id"]
            if ok is not None:
                host.say(type="mode.result", id=order, ok=ok)
            self.talk.wait(15)
        self._orders(host, session)
        self.tower.say(type="session.mode", sessionId=session, mode="interactive")
        host.say(type="mode.result", id=host.hear_one("mode.set")["id"], ok=True)

    def _orders(self, host: Peer, session: str) -> None:
        """Each way in which an order ends, and models that are asked for."""
        host.say(type="session.update", sessionId=session, can=["tell", "stop", "model"])
        for state in ("queued", "done", "failed", None):
            host.hear()
            self.tower.say(type="session.tell", id="w", sessionId=session, text=_LONG)
            order = host.hear_one("session.tell")["id"]
            if state is not None:
                running = {"running": ["x" * 200], "dropped": ["y"]}
                host.say({"type": "order.result", "id": order, "state": state, **running})
            if state == "queued":
                host.say(type="order.result", id=order, state="done")
        self.tower.say(type="session.stop", id="w", sessionId=session)
        for models in ([{"id": "m"}], None):
            host.hear()
            self.tower.say(type="agents.read", id="g", folder="/code")
            self.tower.say(type="models.read", id="w", sessionId=session)
            asked = host.hear_one("models.read")["id"]
            if models is not None:
                host.say(type="models.list", id=asked, models=models)
        self.talk.wait(20)
        host.hear()

    def _approvals(self, host: Peer, session: str) -> None:
        """Each way in which a request of a host's ends."""
        request: Json = {"type": "approval.request", "sessionId": session, "kind": "permission"}
        for decision in ("approve", "deny"):
            host.say(request, id=self._id(decision), detail={"command": _LONG})
            self._decide("permission", decision, answer={"x": 1})
        self.talk.records = "refused"
        host.say(request, id=self._id("unrecorded"))
        self._decide("permission", "approve")
        self.talk.records = "kept"
        host.say(request, id=self._id("expired"), timeout=10)
        host.say(request, id=self._id("withdrawn"))
        host.say(type="approval.withdraw", id=self._id("withdrawn"), decidedBy="cli")
        self.talk.wait(1)
        self._rules(host, session)

    def _spending(self, host: Peer, session: str) -> None:
        """A budget that is used up: each answer to the question, and none."""
        used = {"model": "m", "calls": 1, "inputTokens": 9}
        host.event(session, "session.usage", models=[used])
        self.tower.say(type="session.budget", sessionId=session, tokens=5, requests=1)
        for decision, answer in (("approve", GO_ON), ("approve", RAISE), ("deny", None)):
            self.tower.say(type="session.budget", sessionId=session, tokens=5)
            for number in (1, 2):
                id_ = self._id(f"{decision} {answer} {number}")
                host.say(type="prompt.submitted", id=id_, sessionId=session, prompt=_LONG)
            self._decide("userInput", decision, answer=answer)
        self.tower.say(type="session.budget", sessionId=session, tokens=5)
        for end in ("stopped", "expired"):
            host.say(type="prompt.submitted", id=self._id(end), sessionId=session, prompt="p")
            if end == "stopped":
                host.event(session, "abort")
        self.talk.wait(limits.HOST_APPROVAL_TIMEOUT + 1)
        self.tower.say(type="session.budget", sessionId=session)
        host.hear()

    def _tool_switches(self, host: Peer, session: str) -> None:
        """A tool, and all of a provider, off and on again; a call of what is off."""
        about = {"type": "tools.switch", "sessionId": session, "provider": "tap"}
        for what in ({"tool": "tap_post"}, {}):
            self.tower.say({**about, **what, "on": False})
            host.invoke(session, "tap_post", self._id("off"), args={})
            self.talk.wait(1)
            self.tower.say({**about, **what, "on": True})
        self.tower.say({**about, "provider": "none", "on": False})
        self.talk.wait(1)
        host.hear()

    def _emitters(self, host: Peer, session: str) -> None:
        """A folder's file comes, is asked about, changes and goes; each way in which a run ends."""
        talk, shell, tower, folder = self.talk, self.talk.runner, self.tower, f"/in/{session}"
        host.say(type="session.update", sessionId=session, cwd=folder)
        shell.allowed.clear()
        shell.allowed_goals.clear()
        name = f"watch{self.number}"
        timed = entry("timed", kind="timed", every=5, max_runs=2)
        idle = entry("idle", kind="idle", prompt=_LONG, max_runs=2)
        watch = entry(name, command=_LONG, injector="enabled", stream="watch")
        shell.write(folder, watch, timed, idle)
        for decision in ("approve", "deny", "approve"):
            self._decide("emitter", decision)
        id_ = {"emitterId": shell.shown(name).id}
        shell.starts(name)
        shell.says("one", _LONG, name=name)
        shell.says("two", name=name, outcome="surface")
        host.event(session, "session.busy")
        shell.says(*["three"] * 30, name=name, outcome="inject")
        host.event(session, "session.idle")
        talk.wait(1)
        host.event(session, "session.busy")
        host.event(session, "session.idle")
        shell.counts(name, lines=40)
        tower.say(type="emitter.filter", rules=[{"match": "x", "outcome": "drop"}], **id_)
        tower.say(type="emitter.keep", id="k", rules=[], **id_)
        shell.saved(folder, entry(name, command=_LONG, stream="watch"), timed, idle, own=name)
        tower.say(type="emitter.try", id="t", rules=[], **id_)
        tried = RulesTried(0, [TriedLine("keep", None, False)])
        talk.tell(talk.gateway.answered, shell.trials[-1].ticket, tried)
        for what in ("pause", "resume", "stop"):
            tower.say(type=f"emitter.{what}", **id_)
        shell.ends(name, signal="SIGTERM")
        for end in ({"code": 0}, {"code": 1}, {"error": "no"}):
            tower.say(type="emitter.start", **id_)
            shell.ends(name, **end)
        tower.say(type="emitter.start", **id_)
        shell.lost()
        talk.wait(limits.LOST_PAUSE)
        shell.touch(folder, name)
        shell.ends(name, signal="SIGTERM")
        self._decide("emitter", "approve")
        shell.write(folder, entry(name, kind="oneTime", stream="watch"))
        shell.ends(name, signal="SIGTERM")
        talk.wait(limits.HOST_APPROVAL_TIMEOUT)
        shell.write(folder)
        shell.write_goals(folder, goal_entry("tests"), goal_entry("lint", _LONG[:1_000]))
        for decision in ("approve", "deny"):
            self._decide("fileGoal", decision)
        shell.write_goals(folder, goal_entry("tests", "true"))
        self._decide("fileGoal", "approve")
        shell.write_goals(folder)
        for run in list(shell.running):
            shell.end_of_run(run, code=0)
        program = f"wiki{self.number}"
        shell.write(folder, entry(program, kind="provider", args=(_LONG,), stream="wiki"))
        self._decide("emitter", "approve")
        shell.ends(program, code=1)
        talk.wait(limits.PROVIDER_PAUSE)
        shell.write(folder)
        shell.end_of_run(shell.run_of(program), code=0)
        host.hear()

    def _mcp_servers(self, host: Peer, session: str) -> None:
        """A server asks, enters the session with a token, changes and goes."""
        talk, servers = self.talk, self.talk.gateway.mcp_servers
        questions = talk.gateway.part_questions
        talk.tell(servers.begin)
        host.say(type="session.update", sessionId=session, mcpServers=[f"own{self.number}"])
        for decision in ("approve", "deny", "expired", "withdrawn"):
            id_ = f"{decision}{self.number}"
            detail = {"name": id_, "command": _LONG}
            question = PartQuestion(id=id_, kind="mcpServer", detail=detail, session_id=session)
            talk.tell(questions.ask, question)
            talk.turn()
            if decision == "expired":
                talk.wait(limits.HOST_APPROVAL_TIMEOUT)
            elif decision == "withdrawn":
                talk.tell(questions.withdraw, id_, "changed")
            else:
                self._decide("mcpServer", decision)
        server = McpServer(
            id=f"mcp{self.number}",
            name="files",
            source="own",
            state="ready",
            program=_LONG,
            file="/mcp.json",
            line=1,
        )
        talk.tell(servers.changed, server)
        token = talk.tell(servers.token, session)
        assert token is not None
        visitor = talk.provider(session, token=token.reveal(), name="files", tools=[tool("read")])
        visitor.drop()
        talk.tell(servers.revoke, token)
        talk.wait(limits.RECONNECT_TTL)
        talk.tell(servers.gone, server.id, "not configured")
        talk.turn()
        talk.answers.clear()
        host.hear()

    def _agent_emitters(self, host: Peer, session: str) -> None:
        """What an agent asks for, through an end that passes it on."""
        talk, shell = self.talk, self.talk.runner
        heard: list[Message] = []
        end = InProcessEnd(talk, heard.append, is_builtin=True)
        end.send(Hello(f"agents{self.number}", 2, session=session, tools=[]))
        talk.turn()
        wanted = EmitterWanted(name="mine", stream="mine", kind="continuous", command="x")
        for id_, decision in (("a1", "deny"), ("a2", None), ("a3", "approve")):
            self.provider.hear()
            end.send(EmitterAsked(id_, session, wanted))
            talk.turn()
            for check in self.provider.hear_of("gate.check"):
                self.provider.say(type="gate.result", callId=check["callId"], decision="allow")
            if decision is not None:
                self._decide("emitter", decision)
            else:
                end.send(EmitterAskedCancel(id_))
                talk.turn()
        end.send(EmitterRulesAsked("a4", session, "mine", []))
        end.send(InjectorAsked("a5", session, "mine", enabled=False))
        end.send(EmittersRead("a6", session))
        end.send(EmitterAskedStop("a7", session, "mine"))
        talk.turn()
        shell.ends("mine", signal="SIGTERM")
        end.close()
        talk.turn()
        del talk.ends[end.number]
        host.hear()

    def _alarms(self, host: Peer, session: str) -> None:
        """Something waits, a turn is quiet, a program fails again and again."""
        request: Json = {"type": "approval.request", "sessionId": session, "kind": "permission"}
        host.say(request, id=self._id("long"), detail={"x": _LONG}, timeout=3_600_000)
        host.event(session, "user.message", content="go")
        host.event(session, "session.busy")
        self.talk.wait(1_000)
        host.say(type="approval.withdraw", id=self._id("long"))
        self.talk.wait(1_000)
        for number in range(4):
            about: Json = {"tool": "bash", "toolCallId": self._id(f"fails {number}")}
            about["args"] = {"command": "make all"}
            host.event(session, "tool.execution_start", **about)
            result = {"type": "success", "output": _LONG}
            host.event(session, "tool.execution_complete", **about, result=result, exitCode=2)
        host.event(session, "session.idle")
        host.hear()

    def _rules(self, host: Peer, session: str) -> None:
        """Rules allow, deny and ask; exactly this is allowed; the rules of a folder come late."""
        talk, folder = self.talk, "/rules"
        request: Json = {"type": "approval.request", "sessionId": session, "kind": "permission"}
        rule = PolicyRule("allow", "shell", "npm ci", "person", "config.toml:1")
        talk.rules(rule, replace(rule, effect="deny", pattern="rm"))
        for command in ("npm ci", "rm x", "npm ci && node x"):
            detail = {"kind": "shell", "fullCommandText": command}
            host.say(request, id=self._id(f"ruled {command}"), detail=detail)
        self._decide("permission", "approve", keep=session != "s0")
        talk.holds_rules = True
        host.say(type="session.update", sessionId=session, cwd=folder)
        args = {"command": "rm x"}
        hook = {"type": "hook.preToolUse", "sessionId": session, "tool": "bash", "args": args}
        host.say(hook, id=self._id("ruled call"))
        talk.rules_found()
        talk.rules()

    def _pairing(self, session: str) -> None:
        """A page pairs, one gives up, one types a wrong code; one may bind to all sessions."""
        talk, tower = self.talk, self.tower
        page = talk.connect(origin=ORIGIN).say(type="auth", mode="pair")
        code = self._reveal(session)
        page.say(type="auth.confirm", code=code)
        page.hello(session=session, name="page", tools=[tool("shot")])
        page.hello(session="all", name="page", tools=[])
        self._decide("bindAll", "approve")
        page.hello(session="all", name="page", tools=[])
        wrong = talk.connect(origin=ORIGIN).say(type="auth", mode="pair")
        self._reveal(session)
        wrong.say(type="auth.confirm", code="x")
        denied = talk.connect(origin=ORIGIN).say(type="auth", mode="pair")
        self._decide("pairing", "deny")
        assert denied.closed
        talk.connect(origin=ORIGIN).say(type="auth", mode="pair").drop()
        page.drop()
        tower.say(type="token.mint", id=self._id("t"), sessionId=session)
        token = tower.hear_one("token.minted")["token"]
        talk.provider(session, token=token, name="minted", tools=[]).drop()
        talk.wait(100)

    def _reveal(self, session: str) -> str:
        waiting = [
            one.id
            for one in self.talk.gateway.state.approvals.values()
            if one.kind == "pairing" and one.state == "waiting"
        ]
        self.tower.hear()
        self.tower.say(type="approval.reveal", approvalId=waiting[-1], sessions=[session])
        return str(self.tower.hear_one("approval.revealed")["code"])

    def _reads(self, session: str, stream: str) -> None:
        tower = self.tower
        tower.say(type="stream.read", id=self._id("r"), stream=stream, sessionId=session, last=200)
        tower.say(type="tools.read", id=self._id("r"), sessionId=session)
        state = self.talk.gateway.state
        for of, table in (("call", state.recent_calls), ("approval", state.approvals)):
            for subject in [*list(table)[-3:], "x"]:
                tower.say(type="detail.read", id=self._id("d"), of=of, subject=subject)
        for _ in range(2):
            id_ = self._id("i")
            tower.say(type="inspect.start", id=id_, sessionId=session)
            tower.say(type="inspect.read", id=id_)
        tower.say(type="inspect.stop", id=id_)
        other = self.talk.tower()
        other.say(type="inspect.start", id="i", sessionId=session)
        self.talk.tell(self.talk.gateway.resend, other.number)
        self.talk.turn()
        other.drop()

    def _instances(self) -> None:
        """Two instances share a tool; one fails and the other is tried; one is replaced."""
        talk, number = self.talk, self.number
        first, second = (
            talk.provider("s0", name="tab", instance=name, tools=[tool(f"shot{number}")])
            for name in (f"one{number}", f"two{number}")
        )
        self.host.invoke("s0", f"shot{number}", self._id("either"))
        for tab in (second, first):
            for call in tab.hear_of("tool.call"):
                tab.result(call["id"], error="no", retryable=True)
        self.host.invoke("s0", "list_tab_instances", self._id("list"))
        self.tower.say(
            type="provider.move", providerId=first.ack["providerId"], sessionId=f"b{number}"
        )
        again = talk.provider(
            "s0", name="tab", instance=f"two{number}", tools=None,
            reconnectToken=second.ack["reconnectToken"],
        )  # fmt: skip
        again.hello(session="s0", name="renamed", tools=[])
        self.tower.say(type="provider.disconnect", providerId=first.ack["providerId"])
        again.drop()

    def _garbage(self) -> None:
        talk = self.talk
        for data in (b"{", b"\xff", b'{"type": 7}', b'{"type": "tool.result", "id": "x"}'):
            self.provider.say(data)
        self.provider.say_binary()
        talk.connect().say(b"{")
        talk.connect("ptk-project").drop()
        talk.connect()
        talk.wait(20)

    def _tool_host(self) -> None:
        """A tool host has its folder's providers, and calls; its program is attached for a while,
        and its token is revoked."""
        talk, number, shell = self.talk, self.number, self.talk.runner
        door, id_ = talk.tool_host(), f"mcp-{number}"
        shell.allowed.clear()
        shell.write(f"/in/{id_}", entry(f"beside{number}", kind="provider"), entry("none"))
        door.open(id_, cwd=f"/in/{id_}")
        self._decide("emitter", "approve")
        shell.starts(f"beside{number}")
        provider = talk.provider(id_, name=f"aside{number}", tools=[tool("aside")])
        self._calls(door, provider, id_, "aside")
        self._note_writes(door, id_)
        shell.write(f"/in/{id_}")
        shell.ends(f"beside{number}")
        client = SeenProcess(number + 90_000, "node", AGENT_START)
        talk.sight = seen(client, pid=number + 80_000, leader=client, terminal=None)
        attached = talk.tool_host()
        self.host.hear()
        self.host.open(f"pid{number}", pid=number + 90_000)
        attached.say(type="session.open", session={"id": f"{id_}-2", "label": "", "cwd": "/"})
        self.host.say(type="session.close", sessionId=f"pid{number}")
        self.host.hear()
        talk.wait(20)
        talk.tools_token(None)
        talk.sight = PERSON
        talk.wait(20)
        provider.drop()

    def _note_writes(self, caller: Peer, session: str) -> None:
        """Each way in which the person's question about a note ends."""
        notes = self.talk.provider(session, name="memory", tools=[tool("memory")])
        for end in ("approve", "deny", "given up", "expired", "lost"):
            caller.invoke(session, "memory", self._id(end), args={"command": "save"})
            if end in ("approve", "deny"):
                self._decide("permission", end)
            elif end == "given up":
                caller.say(type="tool.abort", id=self._id(end))
            elif end == "expired":
                self.talk.wait(limits.HOST_APPROVAL_TIMEOUT + 1)
            if end == "approve":
                notes.result(notes.take_call(), data="saved")
        notes.drop()
        self.talk.wait(limits.HOST_APPROVAL_TIMEOUT + 1)

    def _leave(self, host: Peer, guest: Peer, visitor: Peer) -> None:
        """Sessions are replaced, closed, lost with their host; providers leave in every way."""
        talk, number = self.talk, self.number
        host.invoke(f"a{number}", f"greet{number}", self._id("under way"))
        host.open(f"c{number}", replaces=f"a{number}")
        stays = talk.provider(f"b{number}", name="stays", tools=[])
        host.say(type="session.close", sessionId=f"b{number}")
        stays.say(type="shutdown.ready", sessionId=f"b{number}")
        stays.hello(session=f"c{number}", name="stays", tools=[])
        self.everywhere.say(type="session.ready", sessionId=f"c{number}")
        self.host.invoke("s0", f"visit{number}", self._id("lost with it"))
        visitor.drop()
        guest.say(type="goodbye")
        host.drop()
        talk.wait(20)
        stays.drop()
        self.host.open(f"d{number}")
        self.host.say(type="session.close", sessionId=f"d{number}")


def _everywhere(talk: Conversation, name: str, former: Peer | None = None) -> Peer:
    """Return a provider of all sessions; a `former` one of the name is lost before."""
    if former is not None:
        former.drop()
    more = {} if former is None else {"reconnectToken": former.ack["reconnectToken"]}
    provider = talk.connect("itk-internal")
    provider.hello(session="all", name=name, tools=[tool("anywhere")], **more)
    provider.ack = provider.hear_one("hello.ack")
    return provider
