"""Hosts: they open and close sessions, call tools, ask hooks, and take turns."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from tapui.wire import host as h
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import steering as s
from tapui.wire.codec import raw
from tests.core.harness import INTERNAL_TOKEN
from tests.simulator.emitters import FOLDERS
from tests.simulator.garbage import garbled
from tests.simulator.provider import TOOLS

if TYPE_CHECKING:
    from tests.simulator.world import Link, World

MODES = ("interactive", "plan", "autopilot")
TAP = (
    "tap_post",
    "tap_list_streams",
    "tap_get_session_state",
    "tap_set_session_mode",
    "tap_start_emitter",
    "tap_start_emitter",
    "tap_stop_emitter",
    "tap_list_emitters",
    "tap_set_event_filter",
    "tap_schedule_prompt",
    "tap_disable_injector",
    "tap_enable_injector",
)
EMITTERS = ("agent1", "agent2", "watch0", "poll1")
ARGS = (b"{}", b'{"x":1}', b'{"x":1,"target":"i1"}', b'{"path":"/a/b.py"}', b'{"target":3}')
ABILITIES = ["tell", "now", "stop", "compact", "model", "unheard"]
AGENTS = [h.Agent("narrow", ["save"]), h.Agent("wide", None), h.Agent("none", [])]


class HostActor:
    """A host with a few sessions. Ids of sessions are never used twice."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.dice = world.dice
        self.sessions: list[str] = []
        self.former: list[str] = []
        self.asks_hooks = self.dice.random() < 0.5
        self.invokes: list[str] = []
        self.approvals: list[str] = []
        self.offered: list[str] = []
        self._heard: dict[type[m.Message], Callable[[Any], None]] = {
            p.Sessions: self._admitted,
            h.HostAck: self._accepted,
            h.HostSessionOpened: self._told,
            h.ToolsChanged: self._told,
            h.SessionSend: self._prompted,
            h.ModeSet: self._mode,
            s.SessionTell: self._ordered,
            s.SessionStop: self._ordered,
            s.SessionCompact: self._ordered,
            s.SessionSet: self._ordered,
            s.ModelsRead: self._models,
            m.ToolOutcome: self._outcome,
            h.HookDecision: self._decided,
        }
        self.link: Link
        self.connect()

    def connect(self) -> None:
        """Connect, with no session open."""
        if self.world.gateway.refusal() is not None:
            self.world.later(3.0, self.connect)
            return
        self.sessions.clear()
        self.invokes.clear()
        self.approvals.clear()
        self.link = self.world.link_type(self.world, self, None)
        self.link.say(p.Auth(token=INTERNAL_TOKEN))

    def heard(self, link: "Link", message: m.Message) -> None:
        """A message arrived."""
        if link is self.link and (react := self._heard.get(type(message))) is not None:
            react(message)

    def lost(self, link: "Link") -> None:
        """The connection is gone: its sessions are over."""
        if link is self.link:
            self.world.later(self.dice.random() * 5, self.connect)

    def _admitted(self, _: p.Sessions) -> None:
        sections = self.dice.choice((None, True, False))
        self.link.say(h.HostHello("copilot", "copilot", 2, self.asks_hooks, sections))

    def _accepted(self, _: h.HostAck) -> None:
        self._open(None)
        self.world.later(self.dice.random(), self.wake)

    def _told(self, message: h.HostSessionOpened | h.ToolsChanged) -> None:
        self.offered = [tool.name for tool in message.tools]

    def _prompted(self, message: h.SessionSend) -> None:
        """A turn begins and, some time later, ends."""
        if self.dice.random() < 0.8:
            self._event(message.session_id, "assistant.turn_start")
        delay = self.dice.choice((0.0, 0.5, 4.0))
        self.world.later(delay, lambda: self._event(message.session_id, "session.idle"))

    def _mode(self, message: h.ModeSet) -> None:
        if self.dice.random() < 0.8:
            self.link.say(h.ModeResult(message.id, self.dice.random() < 0.7))

    def _ordered(self, message: s.SessionTell | s.SessionStop) -> None:
        """Say once or several times what becomes of an order, or never."""
        say, dice = self.link.say, self.dice
        states: tuple[s.OrderState, ...] = ("queued", "stopping", "working", "done", "failed")
        if dice.random() < 0.3:
            say(s.OrderResult(message.id, dice.choice(states[:3]), running=["sleep 9"]))
        if dice.random() < 0.7:
            result = s.OrderResult(message.id, dice.choice(states[3:]))
            self.world.later(dice.choice((0.0, 3.0, 20.0)), lambda: say(result))

    def _models(self, message: s.ModelsRead) -> None:
        if self.dice.random() < 0.8:
            self.link.say(s.ModelsList(message.id, [s.ModelChoice("m")]))

    def _outcome(self, message: m.ToolOutcome) -> None:
        if message.id in self.invokes:
            self.invokes.remove(message.id)

    def _decided(self, message: h.HookDecision) -> None:
        if message.decision != "deny" and self.sessions:
            self._invoke(message.id)

    def wake(self) -> None:
        """Do something, and wake again later."""
        if not self.link.is_up:
            return
        self.world.later(self.dice.choice((0.02, 0.3, 2.0)) * self.dice.random(), self.wake)
        self._act()

    def _act(self) -> None:
        dice, say = self.dice, self.link.say
        if not self.sessions or (len(self.sessions) < 3 and dice.random() < 0.05):
            self._open(None)
            return
        about = dice.choice(self.sessions)
        kind = dice.randrange(30)
        if kind < 9:
            self._invoke(f"i{self.world.number()}")
        elif kind == 9 and self.invokes:
            say(m.ToolAbort(dice.choice(self.invokes)))
        elif kind < 12:
            id_ = f"k{self.world.number()}"
            say(h.HookPreToolUse(id_, about, dice.choice((*TOOLS, "bash")), self._args()))
        elif kind < 14:
            sections = {"tone": "calm"} if dice.random() < 0.5 else None
            say(h.PromptSubmitted(f"q{self.world.number()}", about, "do it", sections))
        elif kind < 16:
            self._event(about, dice.choice(("session.busy", "assistant.turn_start")))
            self.world.later(dice.random() * 3, lambda: self._event(about, "session.idle"))
        elif kind == 16:
            self._event(about, dice.choice(("session.idle", "abort")))
        elif kind == 17:
            self._event(about, "user.message", b'{"content":"go on"}')
        elif kind == 18:
            child = f"c{self.world.number()}"
            agent = dice.choice(AGENTS).name
            call = b'"toolCallId":"%b","agentName":"%b"' % (child.encode(), agent.encode())
            self._event(
                *(about, "subagent.started"),
                b'{"remoteSessionId":"%b",%b}' % (child.encode(), call),
            )
            if dice.random() < 0.5:
                end = dice.choice(("subagent.completed", "subagent.failed"))
                self.world.later(dice.random(), lambda: self._event(about, end, b"{%b}" % call))
            say(m.ToolInvoke(f"i{self.world.number()}", child, "save", Raw(b"{}")))
        elif kind == 19:
            call = f"t{self.world.number()}".encode()
            data = b'{"tool":"bash","toolCallId":"%b"}' % call
            self._event(about, "tool.execution_start", data)
            if dice.random() < 0.8:
                self._event(about, "tool.execution_complete", data)
        elif kind == 20:
            id_ = f"r{self.world.number()}"
            self.approvals.append(id_)
            say(h.ApprovalRequest(id_, about, "permission", timeout=dice.choice((None, 900))))
        elif kind == 21 and self.approvals:
            say(h.ApprovalWithdraw(self.approvals.pop()))
        elif kind == 22:
            mode = dice.choice((None, *MODES))
            say(h.SessionUpdate(about, label="anew", foreground=True, mode=mode))
        elif kind == 23:
            self._open(about)
        elif kind == 24 and dice.random() < 0.3:
            self.sessions.remove(about)
            self.former.append(about)
            successor = dice.choice((None, None, *self.sessions)) if dice.random() < 0.6 else None
            say(h.SessionClose(about, replaced_by=successor))
        elif kind == 25 and dice.random() < 0.2:
            link = self.link
            link.cut()
            self.lost(link)
        elif kind == 26:
            say(garbled(dice, m.SessionEvent(about, "session.context", Raw(b'{"tokens":1}'))))
        elif kind == 27 and self.former:
            self._event(dice.choice(self.former), "session.idle")

    def _open(self, replaces: str | None) -> None:
        id_ = f"s{self.world.number()}"
        if replaces is not None:
            self.sessions.remove(replaces)
            self.former.append(replaces)
        self.sessions.append(id_)
        reserved = self.dice.choice(([], [], ["look"]))
        folder = self.dice.choice(FOLDERS)
        session = h.HostSession(
            *(id_, id_, folder), agents=AGENTS, reserved_tools=reserved, replaces=replaces,
            can=ABILITIES[: self.dice.randrange(7)], cannot={"label": "no"},
            pid=self.dice.choice((None, None, *self.world.pids)),
        )  # fmt: skip
        self.link.say(h.SessionOpen(session))

    def _event(self, session_id: str, event: str, data: bytes = b"{}") -> None:
        self.link.say(m.SessionEvent(session_id, event, Raw(data)))

    def _args(self) -> Raw:
        return Raw(self.dice.choice(ARGS))

    def _emitter_args(self, tool: str) -> dict[str, object]:
        """Return what is said of an emitter; each command and each prompt is said once."""
        dice, number = self.dice, self.world.number()
        if tool == "tap_schedule_prompt":
            self.world.emitters.prompts.add(f"Later {number}.")
            return {"prompt": f"Later {number}.", "in": dice.choice(("1s", "20s"))}
        found: dict[str, object] = {"name": dice.choice(EMITTERS), "stream": dice.choice(EMITTERS)}
        if tool == "tap_start_emitter":
            found |= {"command": f"run {number}", "subscribe": dice.random() < 0.5}
            if dice.random() < 0.5:
                found |= {"runInterval": dice.choice(("1s", "30s")), "maxRuns": 2}
        elif tool == "tap_set_event_filter":
            found["notifyPattern"] = dice.choice(("line", "("))
        return found

    def _invoke(self, id_: str) -> None:
        dice = self.dice
        tool = dice.choice((*self.offered, *TOOLS, *TAP, "unknown"))
        args = self._args()
        if tool == "tap_post":
            args = Raw(b'{"stream":"notes","message":"n%d","level":"inject"}' % self.world.number())
        elif tool == "tap_set_session_mode":
            args = Raw(b'{"mode":"plan"}')
        elif tool.startswith("tap_"):
            args = raw(self._emitter_args(tool))
        self.invokes.append(id_)
        timeout = dice.choice((None, None, 20, 3000))
        session = dice.choice([*self.sessions, *self.former[-1:]])
        self.link.say(m.ToolInvoke(id_, session, tool, args, timeout=timeout))
