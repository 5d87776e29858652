"""The relay of `tapui provider dev`, message by message, over a gateway that is played here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from tapui.authoring.dev.relay import Relay, RelayedProgram
from tapui.authoring.dev.signals import DialClosed, Retire, Signal
from tapui.provider.link import Link, LinkLost
from tapui.provider.members import choose
from tapui.wire.message import ActiveSession, Message, Tool
from tapui.wire.provider import (
    GateCheck,
    Hello,
    HelloAck,
    Sessions,
    SessionsUpdated,
    ToolsUpdate,
)
from tests.rig.waiting import until_async

ACTIVE = ActiveSession("s", "s", foreground=True, state="idle")
ACK = HelloAck(2, "p", "s")


class PlayedLink:
    """A link whose other end is the test: `said` came from the relay, `tell` goes to it."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self._came: asyncio.Queue[Message | LinkLost] = asyncio.Queue()

    def tell(self, message: Message) -> None:
        self._came.put_nowait(message)

    def is_read(self) -> bool:
        return self._came.empty()

    def lose(self) -> None:
        self._came.put_nowait(LinkLost("the gateway is gone"))

    async def send(self, message: Message) -> None:
        self.said.append(message)

    async def receive(self) -> Message:
        came = await self._came.get()
        if isinstance(came, LinkLost):
            raise came
        return came

    async def close(self) -> None:
        pass

    async def hears(self, kind: type[Message], times: int = 1) -> None:
        """Wait until messages of a type were said."""
        await until_async(
            lambda: sum(isinstance(one, kind) for one in self.said) >= times,
            what=f"{kind.__name__} is said",
        )


class Silent:
    """Shows nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Played(RelayedProgram):
    """A program that is the test."""

    def __init__(self, number: int) -> None:
        self.told: list[Message | Signal] = []
        self.is_ended = False
        super().__init__(number, self.told.append, self._note)

    def _note(self) -> None:
        self.is_ended = True

    async def is_told(self, kind: type[Any]) -> None:
        await until_async(
            lambda: any(isinstance(one, kind) for one in self.told), what=f"{kind.__name__} comes"
        )


def hello(*tools: str) -> Hello:
    return Hello("worker", 2, "s", tools=[Tool(one, one, Raw(b"{}")) for one in tools])


class Bench:
    def __init__(self, **timing: float) -> None:
        self.links: list[PlayedLink] = []
        self.relay = Relay(self._dial, lambda: None, Silent(), **timing)

    async def _dial(self) -> Link:
        self.links.append(PlayedLink())
        return self.links[-1]

    async def linked(self, count: int = 1) -> PlayedLink:
        """Return the newest link, which has been told the sessions."""
        await until_async(lambda: len(self.links) == count, what="the gateway is dialled")
        self.links[-1].tell(Sessions([ACTIVE]))
        return self.links[-1]

    async def bound(self, program: Played) -> PlayedLink:
        self.relay.dialled(program)
        link = await self.linked()
        await program.is_told(Sessions)
        self.relay.said(program, hello("old"))
        await link.hears(Hello)
        link.tell(ACK)
        await program.is_told(HelloAck)
        return link


@asynccontextmanager
async def new_bench(**timing: float) -> AsyncIterator[Bench]:
    bench = Bench(**timing)
    try:
        yield bench
    finally:
        await bench.relay.close()


async def test_a_link_that_is_lost_during_a_save_goes_on_with_the_newest_program() -> None:
    async with new_bench() as bench:
        first, second = Played(1), Played(2)
        link = await bench.bound(first)
        bench.relay.dialled(second)
        bench.relay.said(second, hello("new"))
        await link.hears(ToolsUpdate)
        link.lose()
        await second.is_told(DialClosed)
        assert first.is_ended
        assert not second.is_ended
        bench.relay.dialled(second)
        await bench.linked(2)
        await second.is_told(Sessions)


async def test_a_save_during_the_first_hello_goes_on_with_the_newest_program() -> None:
    async with new_bench() as bench:
        first, second = Played(1), Played(2)
        bench.relay.dialled(first)
        link = await bench.linked()
        await first.is_told(Sessions)
        bench.relay.said(first, hello("old"))
        await link.hears(Hello)
        bench.relay.dialled(second)
        link.tell(ACK)
        await until_async(link.is_read, what="the answer to the first has come")
        await second.is_told(Sessions)
        bench.relay.said(second, hello("new"))
        await link.hears(Hello, times=2)
        link.tell(ACK)
        await second.is_told(HelloAck)
        assert first.is_ended
        assert not second.is_ended
        assert bench.relay.current is second


async def test_a_program_whose_gate_never_answers_ends_when_nobody_waits_for_it() -> None:
    async with new_bench(question_seconds=0.05) as bench:
        first, second = Played(1), Played(2)
        link = await bench.bound(first)
        link.tell(GateCheck("gate", "c", "s", "bash", Raw(b"{}")))
        await first.is_told(GateCheck)
        bench.relay.dialled(second)
        bench.relay.said(second, hello("old"))
        await first.is_told(Retire)
        assert bench.relay.current is second
        await until_async(lambda: first.is_ended, what="the first one is ended")


async def test_a_save_stays_in_its_session_when_the_folder_has_another_by_then() -> None:
    async with new_bench() as bench:
        first, second = Played(1), Played(2)
        link = await bench.bound(first)
        bound = replace(ACTIVE, foreground=False, cwd="/elsewhere")
        here = replace(ACTIVE, id="here", cwd="/here")
        link.tell(SessionsUpdated([here, bound]))
        await first.is_told(SessionsUpdated)
        bench.relay.dialled(second)
        await second.is_told(Sessions)
        told = next(message for message in second.told if isinstance(message, Sessions))
        assert choose(told.active, None, "/here") == bound.id


async def test_a_save_leaves_the_folders_of_other_sessions_to_a_program_that_is_moved() -> None:
    async with new_bench() as bench:
        first, second = Played(1), Played(2)
        link = await bench.bound(first)
        other = replace(ACTIVE, id="other", foreground=False, cwd="/other")
        link.tell(SessionsUpdated([replace(ACTIVE, cwd="/here"), other]))
        await first.is_told(SessionsUpdated)
        bench.relay.dialled(second)
        bench.relay.said(second, hello("old"))
        await second.is_told(HelloAck)
        newest = [one for one in second.told if isinstance(one, Sessions | SessionsUpdated)][-1]
        assert [one.cwd for one in newest.active] == ["/here", "/other"]
