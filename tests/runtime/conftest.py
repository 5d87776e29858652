"""Servers for the tests of this package."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tapui.runtime.server import Server, Timing
from tests.runtime.doors import EchoDoor, RecordingDoor

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

    async def all_gone(self, within: float = 5.0) -> None:
        """Wait until the server has no socket left."""
        roster = self.server._roster
        assert roster is not None
        async with asyncio.timeout(within):
            await roster.empty.wait()


@pytest.fixture
async def recording() -> AsyncIterator[Running]:
    """A server that remembers what its clients said."""
    running = Running(RecordingDoor())
    await running.start()
    yield running
    await running.server.stop(0.1)


@pytest.fixture
async def echo() -> AsyncIterator[Running]:
    """A server that sends every message back."""
    running = Running(EchoDoor())
    await running.start()
    yield running
    await running.server.stop(0.1)


@pytest.fixture
async def quick() -> AsyncIterator[Running]:
    """A recording server with time-outs of fractions of a second."""
    running = Running(RecordingDoor(), QUICK)
    await running.start()
    yield running
    await running.server.stop(0.1)
