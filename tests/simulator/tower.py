"""Towers: they watch and fold, and send the person's decisions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from tapui.projection.state import State, is_waiting
from tapui.wire import emitters as e
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import steering as s
from tapui.wire import tower as t
from tests.core.harness import INTERNAL_TOKEN
from tests.simulator.host import MODES
from tests.simulator.provider import TOOLS

WAYS: tuple[s.Way, ...] = ("after", "now", "stopFirst")

if TYPE_CHECKING:
    from tests.simulator.world import Link, World


class TowerActor:
    """A tower with a person at it, who decides something now and then."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.dice = world.dice
        self.is_watching = False
        self.state = State()
        self._heard: dict[type[m.Message], Callable[[Any], None]] = {
            p.Sessions: self._admitted,
            t.TowerSnapshot: self._snapshot,
            t.RevealedCode: self._revealed,
        }
        self.link: Link
        self.connect()

    def connect(self) -> None:
        """Connect."""
        if self.world.gateway.refusal() is not None:
            self.world.later(3.0, self.connect)
            return
        self.is_watching = False
        self.link = self.world.link_type(self.world, self, None)
        self.link.say(p.Auth(token=INTERNAL_TOKEN))

    def heard(self, link: "Link", message: m.Message) -> None:
        """A message arrived."""
        if link is self.link and (react := self._heard.get(type(message))) is not None:
            react(message)

    def lost(self, link: "Link") -> None:
        """The connection is gone."""
        if link is self.link:
            self.world.later(self.dice.random() * 5, self.connect)

    def _admitted(self, _: p.Sessions) -> None:
        self.link.say(t.TowerHello(2, "tapui"))

    def _order(self, session: str) -> None:
        """Want something of a session."""
        id_ = f"w{self.world.number()}"
        way = self.dice.choice(WAYS)
        wanted = (
            s.SessionTell(id_, session, self.dice.choice(("go on", " ")), way),
            s.SessionStop(id_, session),
            s.SessionCompact(id_, session),
            s.SessionSet(id_, session, "model", "m"),
            s.ModelsRead(id_, session),
        )
        self.link.say(self.dice.choice(wanted))

    def _emitter(self, emitter: str) -> None:
        """Want something of an emitter."""
        id_ = f"w{self.world.number()}"
        rules = [p.FilterRule("line", self.dice.choice(("keep", "inject")))]
        wanted = (
            e.EmitterStart(emitter),
            e.EmitterStop(emitter),
            e.EmitterPause(emitter),
            e.EmitterResume(emitter),
            e.EmitterRun(emitter),
            e.EmitterFilter(emitter, rules),
            e.EmitterTry(id_, emitter, rules),
            e.EmitterKeep(id=id_, emitter_id=emitter),
        )
        self.link.say(self.dice.choice(wanted))

    def _snapshot(self, message: t.TowerSnapshot) -> None:
        self.state = State.of(message.state)
        if not self.is_watching:
            self.is_watching = True
            self.world.later(self.dice.random(), self.wake)

    def _revealed(self, message: t.RevealedCode) -> None:
        self.world.codes.append(message.code)

    def wake(self) -> None:
        """Decide something, and wake again later."""
        if not self.link.is_up:
            return
        self.world.later(self.dice.choice((0.05, 0.5, 4.0)) * self.dice.random(), self.wake)
        self._act()

    def _act(self) -> None:
        # The person sees what the gateway's state was a moment ago; the ids may be stale by the
        # time the decision arrives.
        dice, say, state = self.dice, self.link.say, self.world.gateway.state
        sessions = [*state.sessions, "s0"]
        providers = [*state.providers, "p-0"]
        session, provider = dice.choice(sessions), dice.choice(providers)
        kind = dice.randrange(22)
        waiting = [one for one in state.approvals.values() if is_waiting(one)]
        if waiting and kind < 10:
            one = dice.choice(waiting)
            if one.kind == "pairing" and one.state == "waiting" and dice.random() < 0.9:
                allowed = dice.choice((None, [session], [session, dice.choice(sessions)]))
                say(t.ApprovalReveal(one.id, allowed))
            elif one.kind != "pairing" or dice.random() < 0.1:
                answer = {"laterVersions": True} if one.kind == "emitter" else None
                decision = dice.choice(("approve", "approve", "deny"))
                say(t.ApprovalDecide(one.id, decision, answer))
        elif kind == 10:
            say(t.CallCancel(dice.choice([*state.calls, "call-0"])))
        elif kind == 11 and dice.random() < 0.3:
            say(t.ProviderDisconnect(provider))
        elif kind == 12:
            say(t.ProviderMove(provider, session))
        elif kind in (13, 14):
            say(t.InjectsResume(provider, session))
        elif kind == 15:
            say(t.SessionMode(session, dice.choice(MODES)))
            self._order(session)
        elif kind == 16:
            say(t.StreamRead("x", "log@ann", session))
            say(t.ToolsRead("x", session))
            calls = [*state.recent_calls, "call-0"]
            say(t.DetailRead("x", "call", dice.choice(calls)))
            say(t.InspectStart("x", provider))
            say(t.InspectRead("x"))
            if dice.random() < 0.5:
                say(t.InspectStop("x"))
        elif kind == 17:
            say(t.TokenMint(f"m{self.world.number()}", session))
        elif kind == 18:
            id_ = f"i{self.world.number()}"
            say(m.ToolInvoke(id_, session, dice.choice(TOOLS), Raw(b'{"x":1}')))
            if dice.random() < 0.3:
                say(m.ToolAbort(id_))
        elif kind > 19:
            self._emitter(dice.choice([*state.emitters, "e-0"]))
        elif kind == 19 and dice.random() < 0.2:
            self.link.cut()
            self.lost(self.link)
