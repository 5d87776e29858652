"""Tool hosts: each opens its one session, calls tools there, and tries what it may not do."""

from typing import TYPE_CHECKING

from msgspec import Raw

from tapui.wire import host as h
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import tower as t
from tests.core.harness import TOOLS_TOKEN
from tests.simulator.provider import TOOLS

if TYPE_CHECKING:
    from tests.simulator.world import Link, World


class ToolHostActor:
    """A tool host with a session. Ids of sessions are never used twice."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.dice = world.dice
        self.session = ""
        self.offered: list[str] = []
        self.invokes: list[str] = []
        self.link: Link
        world.later(self.dice.random(), self.connect)

    def connect(self) -> None:
        """Connect, with no session open."""
        if self.world.gateway.refusal() is not None:
            self.world.later(3.0, self.connect)
            return
        self.offered, self.invokes = [], []
        self.link = self.world.link_type(self.world, self, None)
        self.link.say(p.Auth(token=TOOLS_TOKEN))

    def heard(self, link: "Link", message: m.Message) -> None:
        """A message arrived."""
        if link is not self.link:
            return
        if isinstance(message, p.Sessions):
            link.say(h.HostHello("copilot", "local", 2, hooks=True, starts=True))
        elif isinstance(message, h.HostAck):
            self._open()
            self.world.later(self.dice.random(), self.wake)
        elif isinstance(message, h.HostSessionOpened | h.ToolsChanged):
            self.offered = [tool.name for tool in message.tools]
        elif isinstance(message, m.ToolOutcome) and message.id in self.invokes:
            self.invokes.remove(message.id)

    def lost(self, link: "Link") -> None:
        """The connection is gone: its session is over."""
        if link is self.link:
            self.world.later(self.dice.random() * 5, self.connect)

    def wake(self) -> None:
        """Do something, and wake again later."""
        if self.link.is_up:
            self.world.later(self.dice.choice((0.05, 0.5, 3.0)) * self.dice.random(), self.wake)
            self._act()

    def _open(self) -> None:
        self.session = f"mcp-{self.world.number()}"
        self.link.say(h.SessionOpen(h.HostSession(self.session, "a client", "/")))

    def _act(self) -> None:
        dice, say = self.dice, self.link.say
        kind = dice.randrange(16)
        if kind < 8:
            id_ = f"i{self.world.number()}"
            self.invokes.append(id_)
            tool = dice.choice((*self.offered, *TOOLS, "tap_post", "unknown"))
            session = dice.choice((self.session, self.session, self.session, "s1"))
            say(m.ToolInvoke(id_, session, tool, Raw(b"{}"), timeout=dice.choice((None, 20))))
        elif kind == 8 and self.invokes:
            say(m.ToolAbort(dice.choice(self.invokes)))
        elif kind == 9:
            say(h.SessionUpdate(self.session, label=f"client {self.world.number()}"))
        elif kind == 10:
            say(h.SessionUpdate(self.session, foreground=True))
        elif kind == 11 and dice.random() < 0.3:
            say(h.SessionClose(self.session))
            self._open()
        elif kind == 12:
            say(t.GatewayStop())
        elif kind == 13 and dice.random() < 0.2:
            link = self.link
            link.cut()
            self.lost(link)
        elif kind == 14 and dice.random() < 0.1:
            self.world.revoke_tools()
