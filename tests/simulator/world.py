"""A gateway without a shell, a network with delays, and a schedule that a seed decides."""

import heapq
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Protocol

import msgspec

from tapui.core.effects import (
    AskRecords,
    Close,
    ConnectionId,
    Copied,
    CopyFile,
    Effect,
    EmitterEffect,
    Identified,
    Identify,
    MakeDurable,
    NotCopied,
    ReadRecords,
    RecordsFound,
    RecordsRead,
    SeenProcess,
    Send,
    Sight,
)
from tapui.core.gateway import Gateway
from tapui.core.hooks.matching import PatternError
from tapui.core.model import Standing
from tapui.core.trust.person import shell_of
from tapui.secret import Secret
from tapui.settings.settings import Settings, Timeouts
from tapui.tools.builtin import BuiltinTools
from tapui.wire.codec import encode
from tapui.wire.errors import CallError
from tapui.wire.message import Message
from tapui.wire.surrogates import without_surrogates
from tests.core.harness import INTERNAL_TOKEN, PERSON, PROVIDER_TOKEN, TOOLS_TOKEN, CountingIds
from tests.simulator.emitters import EmitterShell
from tests.simulator.ledger import Ledger

TRACE = 200
"""How many of the last things that happened a failure shows."""


class SlowPattern:
    """Matches by containment; `slow` never comes to an end."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def found_in(self, subject: str) -> bool | None:
        return None if self._pattern == "slow" else self._pattern in subject


class PlainMatcher:
    """A regex engine without a clock, so that a seed always tells the same story."""

    def compile(self, pattern: str) -> SlowPattern:
        if pattern == "(":
            raise PatternError("bad pattern: missing ) at position 1")
        return SlowPattern(pattern)


class Actor(Protocol):
    """Somebody at the far end of a link."""

    def heard(self, link: "Link", message: Message) -> None:
        """A message arrived."""

    def lost(self, link: "Link") -> None:
        """The connection is gone."""


class Link:
    """One connection: in order within itself, late as the dice say, and it may break."""

    def __init__(self, world: "World", actor: Actor, origin: str | None) -> None:
        self.world = world
        self.actor = actor
        self.origin = origin
        self.number: ConnectionId = world.opened(self)
        world.is_touched = True
        self.token = ""
        self.is_cut = False
        self.is_lost = False
        """The actor knows that it is gone."""
        self._up = self._down = 0.0
        world.links[self.number] = self

    @property
    def is_up(self) -> bool:
        """Whether, for all the actor knows, it still stands."""
        return not (self.is_cut or self.is_lost)

    def say(self, message: Message | bytes) -> None:
        """Send a message, or a frame as it is."""
        if not self.is_up:
            return
        data = message if isinstance(message, bytes) else encode(message)
        self._up = max(self._up, self.world.now + self.world.latency())
        self.world.at(self._up, lambda: self._arrive(data, message))

    def _arrive(self, data: bytes, message: Message | bytes) -> None:
        if self.is_cut:
            return
        world = self.world
        world.note("%d → %s", self.number, data)
        if isinstance(message, Message):
            world.ledger.entering(self, message)
        world.is_touched = True
        world.received(self, data)

    def hear(self, message: Message) -> None:
        """The gateway said something to this end."""
        self._down = max(self._down, self.world.now + self.world.latency())
        self.world.at(self._down, lambda: self._deliver(message))

    def _deliver(self, message: Message) -> None:
        if self.is_up:
            self.actor.heard(self, message)

    def shut(self) -> None:
        """The gateway closed it; what was said before still arrives."""
        self._down = max(self._down, self.world.now + self.world.latency())
        self.world.at(self._down, self._lose)

    def _lose(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            if not self.is_cut:
                self.actor.lost(self)

    def cut(self) -> None:
        """It breaks: what is under way is gone, and the gateway learns of it some time later."""
        if self.is_cut:
            return
        self.is_cut = True
        world = self.world
        world.at(world.now + world.dice.choice((0.0, 0.0, 0.01, 1.0, 20.0)), self._gone)

    def _gone(self) -> None:
        self.world.note("%d is lost", self.number)
        self.world.is_touched = True
        self.world.gone(self)


class World:
    """Everything that a seed brings about."""

    link_type = Link
    pids: tuple[int, ...] = (901, 902)
    """Processes in which sessions live, and below which some tool hosts do."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.dice = Random(seed)
        self.now = 0.0
        self.ids = CountingIds()
        self.gateway = Gateway(
            run="run-1",
            ids=self.ids,
            settings=Settings(),
            persist_dir=lambda name: f"/providers/{name}",
            matcher=PlainMatcher(),
            provider_token=PROVIDER_TOKEN,
            internal_token=INTERNAL_TOKEN,
            shell=shell_of(PERSON),
        )
        self.links: dict[ConnectionId, Link] = {}
        self.trace: deque[tuple[float, str, tuple[object, ...]]] = deque(maxlen=TRACE)
        self.ledger = Ledger(self)
        self.tokens: list[str] = []
        """Tokens for one session that a tower made, for whoever comes next."""
        self.codes: deque[str] = deque()
        """Pairing codes that the person has read and may read aloud."""
        self.faults = 0
        """How often something broke inside the gateway."""
        self.is_over = False
        self.is_touched = True
        """Whether the gateway had an input since the last check."""
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = 0
        self._pace = self.dice.choice((0.001, 0.02, 0.3))
        self._inside: dict[ConnectionId, Callable[[Message], None]] = {}
        self.has_tools_token = True
        self.emitters = EmitterShell(self)
        self._begin()
        self.gateway.tell(self.now, self.gateway.tool_hosts.token_read, Secret(TOOLS_TOKEN))
        self.tools = BuiltinTools(self._open_inside, Timeouts())
        self.turn()
        self.emitters.begin()
        self.turn()

    def _begin(self) -> None:
        """Set up what carries out the effects."""

    def end(self) -> None:
        """Tidy up."""

    # Inputs

    def opened(self, link: Link) -> ConnectionId:
        """A link was made; return its number."""
        return self.gateway.opened(link.origin, self.now)

    def received(self, link: Link, data: bytes) -> None:
        """A frame arrived."""
        self.gateway.received(link.number, data, self.now)

    def gone(self, link: Link) -> None:
        """The gateway learns that a link is gone."""
        self.gateway.tell(self.now, self.gateway.closed, link.number)

    def tell(self, step: Callable[..., None], *args: object) -> None:
        """The shell has something to tell."""
        self.gateway.tell(self.now, step, *args)

    def answer(self, ticket: int, answer: object) -> None:
        """The shell answers an effect."""
        self.is_touched = True
        self.tell(self.gateway.answered, ticket, answer)

    def everybody_leaves(self) -> None:
        """The ends in this process close."""

    def check_records(self) -> None:
        """Check what is on the disk."""

    def revoke_tools(self) -> None:
        """The token for tools is revoked, and made again some time later."""
        self._give_tools(is_there=False)
        self.later(2.0, lambda: self._give_tools(is_there=True))

    def _give_tools(self, *, is_there: bool) -> None:
        self.note("the token for tools is %s", "there" if is_there else "revoked")
        self.is_touched = True
        self.has_tools_token = is_there
        token = Secret(TOOLS_TOKEN) if is_there else None
        self.gateway.tell(self.now, self.gateway.tool_hosts.token_read, token)

    def number(self) -> int:
        """Return a number that nobody else has."""
        self._numbers += 1
        return self._numbers

    def note(self, text: str, *values: object) -> None:
        """Remember what happened, for the story of a failure."""
        self.trace.append((self.now, text, values))

    def story(self) -> str:
        """Return the last things that happened."""
        lines = []
        for when, text, values in self.trace:
            shown = tuple(
                encode(without_surrogates(one))[:600].decode()
                if isinstance(one, msgspec.Struct)
                else one
                for one in values
            )
            lines.append(f"{when:10.3f}  " + text % shown)
        return "\n".join(lines)

    # Time

    def latency(self) -> float:
        """Return how long a message takes, in seconds: mostly little."""
        dice = self.dice.random()
        if dice < 0.5:
            return 0.0
        return self._pace * dice if dice < 0.97 else 8.0 * self.dice.random()

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Let something happen at a time."""
        heapq.heappush(self._agenda, (when, self.number(), what))

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        """Let something happen in a while, unless the story is over by then."""
        self.at(self.now + seconds, lambda: None if self.is_over else what())

    def step(self) -> bool:
        """Let the next thing happen; return whether there was one."""
        due = self.gateway.next_deadline
        if self._agenda and (due is None or self._agenda[0][0] < due):
            self._take_step()
        elif due is not None:
            self.now = max(self.now, due)
            self.is_touched = True
            self.gateway.tell(self.now, self.gateway.tick)
        else:
            return False
        self.turn()
        return True

    def _take_step(self) -> None:
        when, _, what = heapq.heappop(self._agenda)
        self.now = max(self.now, when)
        what()

    # The shell

    def turn(self) -> None:
        """Carry out what the core brought forth, until it is quiet."""
        while True:
            entries, _, effects = self.gateway.take()
            if not entries and not effects:
                return
            for entry in entries:
                self.note("   %d %s", entry.seq, entry.event)
                self.ledger.happened(entry)
            for effect in effects:
                self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            inside = self._inside.get(effect.connection)
            if inside is not None:
                inside(effect.message)
                return
            link = self.links[effect.connection]
            self.note("%d ← %s", link.number, effect.message)
            self.ledger.leaving(link, effect.message)
            link.hear(effect.message)
        elif isinstance(effect, Close):
            self.note("%d closes: %s", effect.connection, effect.reason)
            self.links[effect.connection].shut()
        elif isinstance(effect, MakeDurable):
            is_ok = self.dice.random() < 0.95
            ticket, seq = effect.ticket, effect.seq
            self.at(self.now + self.latency(), lambda: self._recorded(ticket, seq, is_ok))
        elif isinstance(effect, CopyFile):
            self._copy_file(effect)
        elif isinstance(effect, Identify):
            asking, number = effect.ticket, effect.connection
            is_tower = self.gateway.standing(number) is Standing.TOWER
            pause = 0.0 if is_tower else self.latency()  # a few files of /proc
            self.at(self.now + pause, lambda: self._identified(asking, number))
        elif isinstance(effect, AskRecords):
            asked = effect.ticket
            self.at(self.now + self.latency(), lambda: self._nothing_found(asked))
        elif isinstance(effect, ReadRecords):
            reading = effect.ticket
            self.at(self.now + self.latency(), lambda: self._nothing_read(reading))
        elif isinstance(effect, EmitterEffect):
            self.emitters.carry_out(effect)

    def _identified(self, ticket: int, number: ConnectionId) -> None:
        """Find the process of some tool hosts; towers are the person's."""
        self.is_touched = True
        sight = PERSON if self.gateway.standing(number) is Standing.TOWER else None
        if self.gateway.standing(number) is Standing.TOOL_HOST and self.dice.random() < 0.7:
            above = SeenProcess(self.dice.choice(self.pids), "node", 1.0)
            door = SeenProcess(4711, "python", 2.0)
            sight = Sight((door, above), group=4711, session=4711, leader_line=(door, above))
        self.gateway.tell(self.now, self.gateway.answered, ticket, Identified(sight))

    def _nothing_found(self, ticket: int) -> None:
        self.is_touched = True
        self.gateway.tell(self.now, self.gateway.answered, ticket, RecordsFound({}))

    def _nothing_read(self, ticket: int) -> None:
        self.is_touched = True
        self.gateway.tell(self.now, self.gateway.answered, ticket, RecordsRead([]))

    def _recorded(self, ticket: int, seq: int, is_ok: bool) -> None:
        self.note("record %d is %s", seq, "kept" if is_ok else "refused")
        if is_ok:
            self.ledger.durable.add(seq)
        self.is_touched = True
        self.gateway.tell(self.now, self.gateway.answered, ticket, is_ok)

    def _copy_file(self, effect: CopyFile) -> None:
        copied: Copied | NotCopied = NotCopied(CallError.INTERNAL, "file.path: outside")
        if effect.path.startswith(effect.folder):
            copied = Copied(f"/results/{effect.name}", 7)
        ticket = effect.ticket

        def found() -> None:
            self.is_touched = True
            self.gateway.tell(self.now, self.gateway.answered, ticket, copied)

        self.at(self.now + self.latency(), found)

    def _open_inside(
        self, receive: Callable[[Message], None], _closed: Callable[[], None]
    ) -> "Inside":
        number = self.gateway.opened_in_process(self.now, is_builtin=True)
        self._inside[number] = receive
        return Inside(self, number)


class Inside:
    """The port of the built-in tools."""

    def __init__(self, world: World, number: ConnectionId) -> None:
        self._world = world
        self._number = number

    def send(self, message: Message) -> None:
        self._world.gateway.given(self._number, message, self._world.now)

    def close(self) -> None:
        self._world.gateway.tell(self._world.now, self._world.gateway.closed, self._number)
