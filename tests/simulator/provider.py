"""Providers: some in order, some late, silent, wrong, or coming and going."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from tapui.wire import message as m
from tapui.wire import provider as p
from tests.core.harness import PROVIDER_TOKEN
from tests.simulator.garbage import garbled

if TYPE_CHECKING:
    from tests.simulator.world import Link, World

NAMES = ("ann", "bob", "cy")
TOOLS = ("greet", "save", "look", "list_ann_x")
SECTIONS = ("tone", "custom_instructions", "safety")
STREAMS = ("log", "news")
PATTERNS = ("x", "1", "slow", "(")
EVENTS = ("tool.execution_complete", "tool.execution_start", "user.message", "session.idle")


class ProviderActor:
    """A provider with a token, or one that pairs (`origin`)."""

    def __init__(self, world: "World", origin: str | None = None) -> None:
        self.world = world
        self.dice = world.dice
        self.origin = origin
        self.token = PROVIDER_TOKEN if origin is None else ""
        self.name = self.dice.choice(NAMES)
        self.instance = self.dice.choice((None, None, "i1", "i2"))
        self.reconnect: str | None = None
        self.session = ""
        self.sessions: list[str] = []
        self.is_bound = False
        self.is_everywhere = False
        self.is_diligent = self.dice.random()
        """How likely it is to answer as it should."""
        self.calls: list[str] = []
        self._heard: dict[type[m.Message], Callable[[Any], None]] = {
            p.AuthPairing: self._pairing,
            p.Sessions: self._sessions,
            p.SessionsUpdated: self._sessions_updated,
            p.HelloAck: self._bound,
            p.ToolCall: self._call,
            p.ToolCancel: self._cancelled,
            p.GateCheck: self._gate,
            p.TransformRequest: self._transform,
            p.SessionLifecycle: self._lifecycle,
            m.Error: self._refused,
        }
        self.link: Link
        self.connect()
        world.later(self.dice.random(), self.wake)

    def connect(self) -> None:
        """Connect anew, with the token it has, or as a stranger."""
        if self.world.gateway.refusal() is not None:
            self.world.later(3.0, self.connect)
            return
        self.is_bound = False
        self.link = self._new_link()
        if self.world.tokens and self.origin is None and self.dice.random() < 0.5:
            self.token = self.dice.choice(self.world.tokens)
        if self.token:
            self.link.say(p.Auth(token=self.token))
        else:
            self.link.say(p.Auth(mode="pair"))

    def _new_link(self) -> "Link":
        return self.world.link_type(self.world, self, self.origin)

    # What it hears

    def heard(self, link: "Link", message: m.Message) -> None:
        """A message arrived."""
        if link is self.link and (react := self._heard.get(type(message))) is not None:
            react(message)

    def lost(self, link: "Link") -> None:
        """The connection is gone; it comes back, soon or too late."""
        if link is not self.link:
            return
        self.is_bound = False
        self.calls.clear()
        if self.dice.random() < 0.3:
            self.reconnect = None
        self.world.later(self.dice.choice((0.0, 0.1, 5.0, 29.0, 31.0, 60.0)), self.connect)

    def _pairing(self, _: p.AuthPairing) -> None:
        self.world.later(self.dice.random() * 20, self._confirm)

    def _confirm(self) -> None:
        codes = self.world.codes
        code = codes.popleft() if codes and self.dice.random() < 0.9 else "guess"
        self.link.say(p.AuthConfirm(code))

    def _sessions(self, message: p.Sessions) -> None:
        self.token = message.token or self.token
        self.sessions = [one.id for one in message.active]
        self._say_hello()

    def _sessions_updated(self, message: p.SessionsUpdated) -> None:
        new = [one.id for one in message.active if one.id not in self.sessions]
        self.sessions = [one.id for one in message.active]
        if not self.is_bound:
            self.world.later(self.dice.random(), self._say_hello)
        elif self.is_everywhere:
            for id_ in new:
                if self.dice.random() < 0.9:
                    self.link.say(p.SessionReady(id_))

    def _bound(self, message: p.HelloAck) -> None:
        self.is_bound = True
        self.session = message.session_id
        self.is_everywhere = message.session_id == "all"
        self.reconnect = message.reconnect_token

    def _refused(self, message: m.Error) -> None:
        if message.code in ("AUTH_FAILED", "UNSUPPORTED_VERSION"):
            self.token = PROVIDER_TOKEN if self.origin is None else ""
        elif message.reply_to == "hello":
            if message.code == "DUPLICATE_INSTANCE" and self.dice.random() < 0.5:
                self.instance = f"i{self.dice.randrange(9)}"
            if message.code not in ("INVALID_JSON", "RATE_LIMITED", "PAYLOAD_TOO_LARGE"):
                self.is_bound = False
            self.world.later(1.0 + self.dice.random() * 4, self._say_hello)

    def _lifecycle(self, message: p.SessionLifecycle) -> None:
        if message.state == "shutdown.pending":
            dice = self.dice.random()
            if dice < 0.7:
                self.link.say(p.ShutdownReady(message.session_id))
                self.is_bound = self.is_everywhere
            elif dice < 0.8:
                self.link.say(p.Goodbye())

    # Calls, gates, transforms

    def _call(self, call: p.ToolCall) -> None:
        self.calls.append(call.id)
        if self.dice.random() < self.is_diligent:
            self.world.later(self.dice.choice((0.0, 0.01, 1.0, 7.0)), lambda: self._answer(call.id))

    def _cancelled(self, cancel: p.ToolCancel) -> None:
        if cancel.id in self.calls and self.dice.random() < self.is_diligent:
            self.calls.remove(cancel.id)
            self.link.say(p.ToolResult(cancel.id, error="stopped", error_code="CANCELLED"))

    def _answer(self, call_id: str) -> None:
        if call_id not in self.calls:
            return
        dice = self.dice.random()
        if dice < 0.3:
            self.link.say(m.ToolProgress(call_id, "half"))
            self.world.later(0.5, lambda: self._answer(call_id))
            return
        if dice < 0.95:
            self.calls.remove(call_id)
        folder = f"/providers/{self.name}"
        path = self.dice.choice((f"{folder}/a", "/etc/passwd"))
        results = (
            p.ToolResult(call_id, data=Raw(b'{"ok":true}')),
            p.ToolResult(call_id, data=Raw(b"null")),
            p.ToolResult(call_id, error="no", error_code="NOT_FOUND"),
            p.ToolResult(call_id, error="busy", error_code="INTERNAL", retryable=True),
            p.ToolResult(call_id, file=m.FileResult(path, "text/plain", 3)),
            p.ToolResult(call_id),
            p.ToolResult("call-0", data=Raw(b"1")),
        )
        self.link.say(self.dice.choice(results))

    def _gate(self, check: p.GateCheck) -> None:
        dice = self.dice.random()
        if dice > self.is_diligent + 0.2:
            return
        if dice < 0.1:
            self.link.say(b'{"type":"gate.result","callId":"%b"}' % check.call_id.encode())
            return
        decision = self.dice.choice(("allow", "allow", "deny", "context"))
        answer = p.GateResult(check.call_id, decision, check.gate_id, "because")
        self.world.later(self.dice.choice((0.0, 0.1, 4.9, 5.1)), lambda: self.link.say(answer))

    def _transform(self, request: p.TransformRequest) -> None:
        dice = self.dice.random()
        if dice > self.is_diligent + 0.2:
            return
        if dice < 0.1:
            self.link.say(b'{"type":"transform.result","content":7}')
            return
        answer = p.TransformResult(request.call_id, request.current + "!")
        self.world.later(self.dice.choice((0.0, 0.1, 1.9, 2.1)), lambda: self.link.say(answer))

    # What it does by itself

    def wake(self) -> None:
        """Do something, and wake again later."""
        self.world.later(self.dice.choice((0.05, 0.5, 3.0)) * self.dice.random(), self.wake)
        if self.link.is_up and self.is_bound:
            self._act()
        elif self.link.is_up and self.dice.random() < 0.1:
            self._say_hello()

    def _act(self) -> None:
        dice, say = self.dice, self.link.say
        about = None
        if self.is_everywhere or dice.random() < 0.3:
            about = dice.choice([*self.sessions, self.session, "s0"])
        kind = dice.randrange(24)
        request = dice.choice((None, f"q{self.world.number()}"))
        if kind < 8:
            level = dice.choice(("keep", "surface", "inject"))
            stream, is_prompt = dice.choice(STREAMS), dice.random() < 0.2
            is_broadcast = dice.random() < 0.2
            for _ in range(dice.choice((1, 1, 1, 12))):
                text = f"x{self.world.number()}"
                say(p.Push(level, text, text if is_prompt else None, stream, about, is_broadcast))
        elif kind < 10:
            removed = dice.choice((None, None, [dice.choice(TOOLS)]))
            say(p.ToolsUpdate(self._tools(), removed, about, request))
        elif kind < 12:
            say(p.HooksUpdate(self._rules(), self._transforms(), about, request))
        elif kind == 12:
            say(p.ContextUpdate(dice.choice((None, "", "mind")), about, request))
        elif kind == 13:
            rules = [p.FilterRule(dice.choice(PATTERNS), dice.choice(("drop", "inject", "keep")))]
            say(p.FilterSet(dice.choice(STREAMS), dice.choice((rules, [])), about, request))
        elif kind == 14:
            streams = ["log", f"news@{dice.choice(NAMES)}"]
            say(p.StreamQuery("q", streams, about))
        elif kind == 15:
            self._say_hello()
        elif kind == 16 and dice.random() < 0.4:
            say(p.Goodbye())
        elif kind == 17 and dice.random() < 0.5:
            self.break_off()
        elif kind == 18:
            say(garbled(dice, self._hello()))
        elif kind == 19:
            say(dice.choice((p.Auth(token="x"), p.SessionReady("s1"), p.ShutdownReady("s1"))))
        elif self.calls:
            self._answer(dice.choice(self.calls))

    def break_off(self) -> None:
        """The network fails; it notices, or comes back before the gateway has noticed."""
        link = self.link
        link.cut()
        self.lost(link)

    def _say_hello(self) -> None:
        if self.link.is_up:
            self.link.say(self._hello())

    def _hello(self) -> p.Hello:
        dice = self.dice
        wanted = [*self.sessions, *self.sessions, "all", "s0"]
        is_back = self.reconnect is not None and dice.random() < 0.8
        is_external = self.origin is not None
        return p.Hello(
            self.name,
            3 if dice.random() < 0.005 else 2,
            None if is_back and dice.random() < 0.5 else dice.choice(wanted),
            instance=self.instance,
            reconnect_token=self.reconnect if is_back else None,
            metadata=Raw(b'{"title":"one"}') if dice.random() < 0.2 else None,
            tools=None if is_back and dice.random() < 0.5 else self._tools(),
            hooks=p.Hooks(None if is_external else self._rules(), self._transforms()),
            subscribe=dice.choice((None, [dice.choice(EVENTS[: 2 if is_external else 4])])),
            context=None if is_external else dice.choice((None, "mind")),
            startup_context=None if is_external else dice.choice((None, "begin")),
            concurrency=dice.choice(
                (None, p.Concurrency(1), p.Concurrency(2, dice.choice(("provider", "tool"))))
            ),
        )

    def _tools(self) -> list[m.Tool]:
        names = self.dice.sample(TOOLS, self.dice.randrange(4))
        schema = json.dumps({"type": "object", "properties": {"x": {"type": "integer"}}})
        timeout = self.dice.choice((None, None, 50.0, 5000.0))
        return [m.Tool(name, "does it", Raw(schema.encode()), timeout) for name in names]

    def _rules(self) -> list[p.HookRule] | None:
        dice = self.dice
        if dice.random() < 0.4:
            return None
        rules = []
        for _ in range(dice.randrange(3)):
            match = p.HookMatch(
                dice.choice((None, *TOOLS, "bash")),
                dice.choice((None, None, *PATTERNS[: 4 if dice.random() < 0.05 else 3])),
                dice.choice((None, None, *NAMES)),
                dice.choice((None, None, "*.py")),
            )
            action = dice.choice(("deny", "context", "gate", "gate"))
            is_open = dice.random() < 0.3
            rules.append(p.HookRule(action, match, None, "note", "g", is_open))
        return rules

    def _transforms(self) -> dict[str, p.Transform | None] | None:
        dice = self.dice
        if dice.random() < 0.5:
            return None
        section = dice.choice(SECTIONS)
        if self.origin is not None or (section == "safety" and dice.random() < 0.9):
            return {section: p.Transform("append", "more")}
        action = dice.choice(("append", "prepend", "replace", "callback", "callback"))
        return {section: dice.choice((None, p.Transform(action, "text")))}
