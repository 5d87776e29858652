"""Servers for the tests of this package."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tapui.runtime.roster import Timing
from tapui.runtime.server import Server
from tests.runtime.children import run  # noqa: F401 - a fixture
from tests.runtime.doors import EchoDoor, RecordingDoor
from tests.runtime.house import House, Witness

QUICK = Timing(handshake=0.3, ping=0.1, pong=0.3, close=0.3)


class Running:
    """A door and the server before it."""

    def __init__(self, door: RecordingDoor, timing: Timing | None = None) -> None:
        self.door = door
        self.server = Server(door, timing=timing)

    async def start(self) -> int:
        """Start on a free port."""
        return await self.server.start(0)

    @property
    def port(self) -> int:
        """The server's port."""
        return self.server.port

    @property
    def open(self) -> int:
        """How many clients are connected: their handshake is done, their close has not begun."""
        roster = self.server._roster
        if roster is None:
            return 0
        return len(roster.sockets) - sum(map(len, roster.transient.values()))

    async def all_gone(self, within: float = 5.0) -> None:
        """Wait until the server has no socket left."""
        roster = self.server._roster
        assert roster is not None
        async with asyncio.timeout(within):
            await roster.empty.wait()


Start = Callable[..., Awaitable[Running]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start servers with doors of one's own; they are stopped at the end."""
    started: list[Running] = []

    async def start_one(door: RecordingDoor, timing: Timing | None = None) -> Running:
        running = Running(door, timing)
        started.append(running)
        await running.start()
        return running

    yield start_one
    for running in started:
        await running.server.stop(0.1)


@pytest.fixture
async def recording(start: Start) -> Running:
    """A server that remembers what its clients said."""
    return await start(RecordingDoor())


@pytest.fixture
async def echo(start: Start) -> Running:
    """A server that sends every message back."""
    return await start(EchoDoor())


@pytest.fixture
async def quick(start: Start) -> Running:
    """A recording server with time-outs of fractions of a second."""
    return await start(RecordingDoor(), QUICK)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A turn with a real core and a real journal."""
    made = House(tmp_path)
    yield made
    made.turn.close()
    made.journal.close(1.0)


@pytest.fixture
async def witness(house: House) -> Witness:
    made = Witness(house)
    await made.is_bound()
    return made
