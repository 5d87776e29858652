"""Ends in the gateway's own process: a tower, and a host, a provider and the built-in tools whose
text no JSON can carry."""

from random import Random
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from tapui.core.trust.grants import Grant
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire import host as h
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import tower as t
from tapui.wire.events import Entry

if TYPE_CHECKING:
    from tests.simulator.shell import ShellWorld

TOOL = m.Tool("save", "Saves", Raw(b'{"type":"object"}'))
TEXTS = frozenset({"message", "error", "reason", "context", "description", "event", "asker"})
"""Fields of a provider that hold text: what is in them names nothing."""
HALVES = ("\ud83d", "\udc00", "\udcff", "\ud83d\ude00")


class Inside:
    """An end that opens itself again when the gateway has closed it."""

    def __init__(self, world: "ShellWorld") -> None:
        self.world = world
        self.dice = world.dice
        self.is_open = False
        self.connect()

    def connect(self) -> None:
        """Open a port."""
        self.is_open = True
        self.port = self._opened()

    def _opened(self) -> Any:
        return self.world.shell.open_port(self._receive, self._closed)

    def _receive(self, message: m.Message) -> None:
        if self.world.breaks(0.01, f"{type(self).__name__} fails at a {type(message).__name__}"):
            raise KeyError("injected")
        self.heard(message)

    def _closed(self) -> None:
        self.is_open = False
        self.world.later(self.dice.random() * 5, self.connect)
        if self.world.breaks(0.2, f"{type(self).__name__} fails at its end"):
            raise KeyError("injected")

    def heard(self, message: m.Message) -> None:
        """A message arrived."""

    def leave(self) -> None:
        """The story is over."""
        self.is_open = False
        self.port.close()


class InsideHost(Inside):
    """A host; any of its text may hold half an emoji."""

    def __init__(self, world: "ShellWorld") -> None:
        self.sessions: list[str] = []
        super().__init__(world)
        world.later(0.5, self.wake)

    def heard(self, message: m.Message) -> None:
        if isinstance(message, p.Sessions):
            self.sessions.clear()
            self._say(h.HostHello("inside", "test", 2))
        elif isinstance(message, h.HostAck):
            self._open()
        elif isinstance(message, h.HostSessionOpened):
            self.sessions.append(message.session_id)
        elif isinstance(message, h.SessionSend):
            for event in ("assistant.turn_start", "session.idle"):
                self.port.send(m.SessionEvent(message.session_id, event, Raw(b"{}")))

    def wake(self) -> None:
        """Do something, and wake again later."""
        self.world.later(self.dice.random() * 2, self.wake)
        if not self.is_open:
            return
        if not self.sessions:
            self._open()
            return
        about, kind = self.dice.choice(self.sessions), self.dice.randrange(8)
        if kind < 2:
            self._say(m.SessionEvent(about, "user.message", Raw(b'{"content":"\\ud83d"}')))
        elif kind < 4:
            self._say(h.SessionUpdate(about, label="anew", cwd="/", model="m"))
        elif kind == 4:
            id_ = f"r{self.world.number()}"
            self._say(h.ApprovalRequest(id_, about, "permission", Raw(b'{"x":"y"}'), 900))
        elif kind == 5:
            self._say(h.HostNotice("something"))
        elif kind == 6:
            self.sessions.remove(about)
            self._say(h.SessionClose(about, "because"))
        else:
            self._open()

    def _open(self) -> None:
        id_ = f"e{self.world.number()}"
        session = h.HostSession(id_, "label", "/cwd", agents=[h.Agent("narrow", ["save"])])
        self._say(h.SessionOpen(session))

    def _say(self, message: m.Message) -> None:
        self.port.send(self._spoilt(message))

    def _spoilt(self, value: Any) -> Any:
        """Put halves of emojis into text, at any depth; what names a known thing stays."""
        if isinstance(value, str):
            return value + self.dice.choice(HALVES) if self.dice.random() < 0.3 else value
        if isinstance(value, list):
            return [self._spoilt(one) for one in value]
        if isinstance(value, Struct):
            known = ("kind", "session_id", "event", "level", "mode", "state")
            fields = [name for name in value.__struct_fields__ if name not in known]
            return replace(value, **{name: self._spoilt(getattr(value, name)) for name in fields})
        return value


class InsideProvider(Inside):
    """A provider with a token of the project's trust; its text may hold half an emoji."""

    def __init__(self, world: "ShellWorld") -> None:
        self.sessions: list[str] = []
        self.is_bound = False
        super().__init__(world)
        world.later(0.5, self.wake)

    def _opened(self) -> Any:
        self.is_bound = False
        return self.world.shell.open_port(self._receive, self._closed, grant=Grant("project"))

    def heard(self, message: m.Message) -> None:
        if isinstance(message, (p.Sessions, p.SessionsUpdated)):
            self.sessions = [one.id for one in message.active]
        elif isinstance(message, p.HelloAck):
            self.is_bound = True
        elif isinstance(message, m.Error):
            self.is_bound = self.is_bound and message.reply_to != "hello"
        elif isinstance(message, p.ToolCall):
            self.world.later(self.dice.random(), lambda: self._answer(message.id))

    def _answer(self, id_: str) -> None:
        if not self.is_open:
            return
        self._say(m.ToolProgress(id_, "half done"))
        if self.dice.random() < 0.5:
            self._say(p.ToolResult(id_, error="it failed"))
        else:
            self._say(p.ToolResult(id_, data=Raw(b'"\\ud83d"')))

    def wake(self) -> None:
        """Do something, and wake again later."""
        self.world.later(self.dice.random() * 2, self.wake)
        if not self.is_open:
            return
        kind = self.dice.randrange(8)
        if kind == 0 or not self.is_bound:
            if self.sessions:
                about = self.dice.choice(self.sessions)
                tools = [TOOL] if self.dice.random() < 0.5 else []
                self._say(p.Hello("inner", 2, session=about, tools=tools, context="a context"))
        elif kind < 5:
            level: Any = self.dice.choice(("keep", "surface", "inject"))
            self._say(p.Push(level, event=f"event {self.world.number()}"))
        elif kind < 7:
            self._say(p.ContextUpdate(context="another context"))
        else:
            self.is_bound = False
            self._say(p.Goodbye("because"))

    def _say(self, message: m.Message) -> None:
        self.port.send(with_halves(message, self.dice))


class SpoiltPort:
    """The port of the built-in tools, whose text may hold half an emoji."""

    def __init__(self, port: Any, dice: Random) -> None:
        self._port = port
        self._dice = dice

    def send(self, message: m.Message) -> None:
        """Send a message that was spoilt."""
        self._port.send(with_halves(message, self._dice))

    def close(self) -> None:
        """Close the port."""
        self._port.close()


def with_halves(message: m.Message, dice: Random) -> m.Message:
    """Return a message of a provider with halves of emojis in some of its text."""
    changes = {
        name: value + dice.choice(HALVES)
        for name in message.__struct_fields__
        if name in TEXTS
        and isinstance(value := getattr(message, name), str)
        and dice.random() < 0.3
    }
    return replace(message, **changes) if changes else message


class InsideTower(Inside):
    """A tower that folds what it is told; it may fail, or fall behind."""

    def __init__(self, world: "ShellWorld") -> None:
        self.state: State | None = None
        self.seq = 0
        self.is_behind = False
        super().__init__(world)

    def _opened(self) -> Any:
        self.state = None
        self.is_behind = False
        return self.world.shell.open_port(self._receive, self._closed, self._watch)

    def heard(self, message: m.Message) -> None:
        if isinstance(message, p.Sessions):
            self.port.send(t.TowerHello(2, "inside"))
        elif isinstance(message, t.TowerSnapshot):
            self.state, self.seq = State.of(message.state), message.seq
            self.is_behind = False

    def _watch(self, entries: list[Entry], _size: int) -> None:
        if self.world.breaks(0.01, "the tower inside fails"):
            raise KeyError("injected")
        if self.is_behind or self.world.breaks(0.01, "the tower inside falls behind"):
            if not self.is_behind:
                self.is_behind = True
                self.port.ask_for_snapshot()
            return
        assert self.state is not None, "events before the snapshot"
        for entry in entries:
            assert entry.seq == self.seq + 1, "the tower inside misses an event"
            self.seq = entry.seq
            fold(self.state, entry.event, entry.ts)

    def check(self) -> None:
        """Nothing is missing when a turn is over."""
        if self.is_open and self.state is not None and not self.is_behind:
            assert self.seq == self.world.gateway.seq, "the tower inside misses events"
            assert self.state == self.world.gateway.state, "the tower inside shows something else"
