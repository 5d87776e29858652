"""Servers for the tests of this package."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect, unix_connect

from tapui.home import local_socket
from tapui.runtime.websocket.connections import Timing
from tapui.runtime.websocket.server import Server
from tests.rig.waiting import HUNG
from tests.runtime.children import loop, run  # noqa: F401 - fixtures
from tests.runtime.doors import EchoDoor, RecordingDoor
from tests.runtime.house import House, Witness
from tests.runtime.rawclient import End, RawClient

QUICK = Timing(handshake=0.3, ping=0.1, pong=0.3, close=0.3)


class Running:
    """A door and the server before it. With a folder, `end` is the Unix socket in it."""

    def __init__(
        self, door: RecordingDoor, timing: Timing | None = None, folder: Path | None = None
    ) -> None:
        self.door = door
        self.server = Server(door, timing=timing)
        self._folder = folder

    async def start(self) -> int:
        """Start on a free port."""
        port = await self.server.start(0)
        if self._folder is not None:
            await self.server.listen(local_socket.listen(self._folder))
        return port

    @property
    def end(self) -> End:
        """Where a test's clients connect."""
        folder = self._folder
        return End(self.port, None if folder is None else folder / local_socket.SOCKET_FILE)

    def client(self, host: str = "127.0.0.1", **how: Any) -> connect:
        """Return a client of the library, to be awaited or entered."""
        url = f"ws://{host}:{self.port}"
        if self.end.socket is not None:
            return unix_connect(str(self.end.socket), url, **how)
        return connect(url, proxy=None, **how)

    @property
    def port(self) -> int:
        """The server's port."""
        return self.server.port

    @property
    def open(self) -> int:
        """How many clients are connected: their handshake is done, their close has not begun."""
        connections = self.server.connections
        if connections is None:
            return 0
        return len(connections.sockets) - sum(map(len, connections.transient.values()))

    async def all_gone(self, within: float = HUNG) -> None:
        """Wait until the server has no socket left."""
        connections = self.server.connections
        assert connections is not None
        async with asyncio.timeout(within):
            await connections.empty.wait()


Start = Callable[..., Awaitable[Running]]
BOTH_WAYS = pytest.mark.parametrize("way", ["tcp", "unix"])
"""For what the system's socket takes part in; all else is the same code for both."""


@pytest.fixture
def way() -> str:
    """How clients come, unless a test is for `BOTH_WAYS`."""
    return "tcp"


@pytest.fixture
async def start(way: str, tmp_path: Path) -> AsyncIterator[Start]:
    """Start servers with doors of one's own; they are stopped at the end."""
    started: list[Running] = []

    async def start_one(door: RecordingDoor, timing: Timing | None = None) -> Running:
        folder = tmp_path / f"r{len(started)}" if way == "unix" else None
        if folder is not None:
            folder.mkdir(mode=0o700)
        running = Running(door, timing, folder)
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
async def client(recording: Running) -> AsyncIterator[RawClient]:
    """A client of it, made by hand; cut off at the end."""
    opened = await RawClient.open(recording.end)
    yield opened
    opened.close()


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
