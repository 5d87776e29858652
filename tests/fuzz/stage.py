"""A gateway with somebody in every state, and a fingerprint of all that it knows."""

import json
from random import Random
from typing import Any

from tapui.core.effects import (
    AskRecords,
    Close,
    Copied,
    CopyFile,
    Effect,
    Identified,
    Identify,
    MakeDurable,
    NotCopied,
    ReadRecords,
    RecordsFound,
    RecordsRead,
    Send,
)
from tapui.core.gateway import Gateway
from tapui.core.model import Standing
from tapui.core.parts import Parts
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.runtime.system import RegexMatcher
from tapui.secret import Secret
from tapui.settings.settings import Answering, Settings, Timeouts
from tapui.tools.builtin import BuiltinTools
from tapui.wire import tower as t
from tapui.wire.errors import CallError
from tapui.wire.message import Error, Message
from tests.core.harness import INTERNAL_TOKEN, ORIGIN, PROVIDER_TOKEN, TOOLS_TOKEN, CountingIds
from tests.fuzz.corpus import RULE, TOOL

Json = dict[str, Any]

MATCHER = RegexMatcher()


class Stage:
    """Connections in every state, with calls, gates, prompts and approvals that wait.

    With `dice`, what the shell is asked for fails now and then once the stage is set: decisions
    that cannot be recorded, files that cannot be looked at, records that cannot be read.
    """

    def __init__(self, dice: Random | None = None) -> None:
        self._dice: Random | None = None
        self.now = 0.0
        self.gateway = Gateway(
            run="run-1",
            ids=CountingIds(),
            settings=Settings(approvals=Answering(command_line="always")),
            persist_dir=lambda name: f"/providers/{name}",
            matcher=MATCHER,
            provider_token=PROVIDER_TOKEN,
            internal_token=INTERNAL_TOKEN,
        )
        self.folded = State()
        self.codes: list[str] = []
        self._inside: dict[int, Any] = {}
        self.tools = BuiltinTools(self._open_inside, Timeouts())
        self.turn()
        self.numbers: list[int] = []
        self._set()
        self._dice = dice

    def _fails(self) -> bool:
        return self._dice is not None and self._dice.random() < 0.3

    def _set(self) -> None:
        tower = self.enter(INTERNAL_TOKEN, {"type": "tower.hello", "protocolVersion": 2})
        for name, hooks, session in (("h1", False, "s1"), ("h2", True, "s8")):
            host = self.enter(
                INTERNAL_TOKEN,
                {"type": "host.hello", "name": name, "kind": "k", "protocolVersion": 2,
                 "hooks": hooks},
                {"type": "session.open", "session": {
                    "id": session, "label": "", "cwd": "/",
                    "agents": [{"name": "a", "tools": ["greet"]}]}},
            )  # fmt: skip
            if name == "h1":
                first = host
        hooks_: Json = {"onPreToolUse": [RULE, {"match": {"tool": "look"}, **_GATE}],
                        "transforms": {"tone": {"action": "callback"}}}  # fmt: skip
        look = {**TOOL, "name": "look"}
        hello: Json = {"type": "hello", "protocolVersion": 2, "tools": [look, TOOL]}
        self.enter(
            PROVIDER_TOKEN,
            {**hello, "name": "ann", "session": "s1", "hooks": hooks_, "instance": "i1",
             "subscribe": ["tool.execution_complete", "user.message"]},
            {"type": "push", "level": "keep", "event": "e", "stream": "s"},
            {"type": "filter.set", "stream": "s", "rules": [{"match": "q", "outcome": "drop"}]},
        )  # fmt: skip
        self.enter(INTERNAL_TOKEN, {**hello, "name": "cy", "session": "all",
                                    "tools": [{**TOOL, "name": "save"}]})  # fmt: skip
        self.enter(PROVIDER_TOKEN, {**hello, "name": "dan", "session": "s8", "tools": []})
        self.gateway.tell(self.now, self.gateway.tool_hosts.token_read, Secret(TOOLS_TOKEN))
        self.enter(
            TOOLS_TOKEN,
            {"type": "host.hello", "name": "door", "kind": "mcp", "protocolVersion": 2},
            {"type": "session.open", "session": {"id": "mcp-1", "label": "", "cwd": "/"}},
        )
        self.enter(PROVIDER_TOKEN, {**hello, "name": "gus", "session": "mcp-1"})
        self._external(tower)
        self._ended(first)
        self.enter(PROVIDER_TOKEN)
        self.enter(INTERNAL_TOKEN)
        self.enter()
        self.enter(None, {"type": "auth", "mode": "pair"})
        invoke: Json = {"type": "tool.invoke", "sessionId": "s1", "args": {}}
        self.say(first, {**invoke, "id": "v1", "tool": "greet"})
        self.say(first, {**invoke, "id": "v2", "tool": "save"})
        self.say(first, {**invoke, "id": "v3", "tool": "look"})
        self.say(first, {"type": "prompt.submitted", "id": "v4", "sessionId": "s1", "prompt": "p",
                         "sections": {"tone": "calm"}})  # fmt: skip
        self.say(first, {"type": "approval.request", "id": "v5", "sessionId": "s1",
                         "kind": "permission"})  # fmt: skip

    def _external(self, tower: int) -> None:
        number = self.enter(origin=ORIGIN)
        self.say(number, {"type": "auth", "mode": "pair"})
        approval = next(iter(self.gateway.parts.approvals.waiting))
        self.say(tower, {"type": "approval.reveal", "approvalId": approval, "sessions": ["s1"]})
        self.say(number, {"type": "auth.confirm", "code": self.codes.pop()})
        hello = {"type": "hello", "name": "eve", "protocolVersion": 2, "session": "s1"}
        self.say(number, {**hello, "tools": [{**TOOL, "name": "web"}]})
        assert self.gateway.standing(number) is Standing.BOUND

    def _ended(self, host: int) -> None:
        session = {"id": "s7", "label": "", "cwd": "/"}
        self.say(host, {"type": "session.open", "session": session})
        hello = {"type": "hello", "name": "fay", "protocolVersion": 2, "session": "s7"}
        number = self.enter(PROVIDER_TOKEN, hello)
        self.say(host, {"type": "session.close", "sessionId": "s7"})
        self.say(number, {"type": "shutdown.ready", "sessionId": "s7"})
        assert self.gateway.standing(number) is Standing.UNBOUND

    # The shell

    def enter(self, token: str | None = None, *messages: Json, origin: str | None = None) -> int:
        """Open a connection and say something on it; return its number."""
        number = self.gateway.opened(origin, self.now)
        self.numbers.append(number)
        if token is not None:
            self.say(number, {"type": "auth", "token": token})
        for message in messages:
            self.say(number, message)
        return number

    def say(self, number: int, message: Json) -> None:
        """Send a message that is in order."""
        error, _ = self.receive(number, json.dumps(message).encode())
        assert error is None, (message, error)

    def receive(self, number: int, data: bytes) -> tuple[Error | None, bool]:
        """Hand over a frame; return the refusal, if it was one, and whether something closed."""
        self.gateway.received(number, data, self.now)
        return self.turn(number)

    def turn(self, number: int = 0) -> tuple[Error | None, bool]:
        """Carry out what the core brought forth."""
        refused, has_closed = None, False
        while True:
            entries, _, effects = self.gateway.take()
            if not entries and not effects:
                return refused, has_closed
            for entry in entries:
                fold(self.folded, entry.event, entry.ts)
            for effect in effects:
                has_closed = has_closed or isinstance(effect, Close)
                refused = self._carry_out(effect, number) or refused

    def _carry_out(self, effect: Effect, number: int) -> Error | None:
        if isinstance(effect, Send):
            if (inside := self._inside.get(effect.connection)) is not None:
                inside(effect.message)
            elif isinstance(effect.message, t.RevealedCode):
                self.codes.append(effect.message.code)
            elif isinstance(effect.message, Error) and effect.connection == number:
                return effect.message
        elif isinstance(effect, MakeDurable):
            self.gateway.tell(self.now, self.gateway.answered, effect.ticket, not self._fails())
        elif isinstance(effect, CopyFile):
            refused = NotCopied(CallError.INTERNAL, "file.path: it could not be copied")
            copied = refused if self._fails() else Copied("/results/x", 3)
            self.gateway.tell(self.now, self.gateway.answered, effect.ticket, copied)
        elif isinstance(effect, Identify):
            self.gateway.tell(self.now, self.gateway.answered, effect.ticket, Identified(None, {}))
        elif isinstance(effect, AskRecords):
            fault = "the records cannot be asked" if self._fails() else None
            found = RecordsFound({}, fault)
            self.gateway.tell(self.now, self.gateway.answered, effect.ticket, found)
        elif isinstance(effect, ReadRecords):
            fault = "the records cannot be read" if self._fails() else None
            self.gateway.tell(
                self.now, self.gateway.answered, effect.ticket, RecordsRead([], fault)
            )
        return None

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        due = self.gateway.next_deadline
        if due is not None and due <= self.now:
            self.gateway.tell(self.now, self.gateway.tick)
            self.turn()

    def _open_inside(self, receive: Any, _closed: Any) -> "Inside":
        number = self.gateway.opened_in_process(self.now, is_builtin=True)
        self._inside[number] = receive
        return Inside(self, number)


_GATE: Json = {"action": "gate", "gateId": "g"}


class Inside:
    """The port of the built-in tools."""

    def __init__(self, stage: Stage, number: int) -> None:
        self._stage = stage
        self._number = number

    def send(self, message: Message) -> None:
        self._stage.gateway.given(self._number, message, self._stage.now)

    def close(self) -> None:
        self._stage.gateway.tell(self._stage.now, self._stage.gateway.closed, self._number)


def fingerprint(gateway: Gateway) -> tuple[Any, ...]:
    """Return everything that the gateway knows, but for the counts of its rate limits."""
    r, state = gateway.parts, gateway.state
    return (
        tuple(state.sessions.items()),
        tuple(state.providers.items()),
        tuple(state.calls.items()),
        tuple(state.recent_calls.items()),
        tuple(state.streams.items()),
        tuple(state.approvals.items()),
        tuple(state.gates.items()),
        tuple((key, tuple(value)) for key, value in state.unattached.items()),
        tuple((one.host, one.state, one.error) for one in state.looks.values()),
        *_of_sessions(r),
        *_of_providers(r),
        *_of_connections(r),
        tuple((call.view, call.is_settled, call.is_queued) for call in r.calls.pending.values()),
        tuple((lane.most, lane.running, tuple(lane.queue)) for lane in r.calls._lanes.in_use),
        tuple(r.approvals.waiting),
        tuple((one.secret, frozenset(one.sessions or ())) for one in r.trustees.grants),
        tuple((key, one.cycles, one.is_on) for key, one in r.injects._brakes.items()),
        tuple(r.providers._departed),
        tuple(r.modes._setting),
        tuple(r.gates._asked.items()),
        tuple(r.prompts._asked.items()),
        len(r.context.deadlines),
    )


def _of_sessions(r: Parts) -> tuple[Any, ...]:
    return (
        tuple(
            (
                session,
                session.view,
                session.last_activity,
                tuple((name, tuple(one.offers)) for name, one in session.tools.items()),
                tuple(session.children.items()),
                tuple(session.injects),
                session.awaits_turn,
                tuple(session.native_calls.items()),
                session.revision,
                session.tools_changed,
                session.rules,
                tuple((name, tuple(ones)) for name, ones in session.subscribers.items()),
                tuple(session.providers),
            )
            for session in r.sessions.open.values()
        ),
        tuple(r.sessions.aliases.items()),
        tuple(r.sessions._child_parent.items()),
    )


def _of_providers(r: Parts) -> tuple[Any, ...]:
    return tuple(
        (
            provider,
            provider.view,
            tuple(provider.sessions),
            tuple(provider.former_ids),
            tuple((id_, tuple(tools)) for id_, tools in provider.tools.items()),
            tuple(
                (
                    id_,
                    tuple(one.rules),
                    tuple(one.transforms.items()),
                    one.context,
                    one.startup,
                    one.is_startup_told,
                    tuple((name, tuple(rules)) for name, rules in one.filters.items()),
                )
                for id_, one in (*provider.hooks.items(), ("", provider.declared))
            ),
            tuple(provider.calls),
            provider.running,
            provider.reconnect,
            tuple(provider.revisions.items()),
            frozenset(provider.gates),
            frozenset(provider.transforming),
            provider.limit,
            provider.subscribed,
            tuple(provider.offered),
            provider.last_active,
        )
        for provider in r.providers.connected.values()
    )


def _of_connections(r: Parts) -> tuple[Any, ...]:
    return tuple(
        (
            one.id,
            one.standing,
            one.grant,
            one.name,
            one.may_bind_all,
            one.provider,
            tuple(one.invokes),
            tuple(one.inquiries),
            tuple(one.requests.items()),
            tuple(one.modes.items()),
        )
        for one in r.connections.by_number.values()
    )
