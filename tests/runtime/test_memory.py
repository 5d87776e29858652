"""The memory of server, turn and journal: what clients leave behind when they have gone."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Opcode

from tapui.records import journal
from tapui.runtime.websocket.connections import Timing
from tapui.runtime.websocket.server import Server
from tapui.wire import limits
from tests.rig.memory import grown, left_to_the_collector, reachable
from tests.runtime.house import GREET, House, until
from tests.runtime.rawclient import RawClient, frame, request, text

IMPATIENT = Timing(handshake=0.05, ping=0.05, pong=0.05, close=0.05)
Say = Callable[..., None]


@asynccontextmanager
async def served(house: House) -> AsyncIterator[tuple[Server, Server]]:
    """Put a server before the turn, as `tapui serve` does, and one with short time-outs."""
    server, impatient = Server(house.turn), Server(house.turn, timing=IMPATIENT)
    await server.start(0)
    await impatient.start(0)
    house.turn.flush = server.flush
    yield server, impatient
    await server.stop(1.0)
    await impatient.stop(1.0)


async def _open(server: Server, token: str) -> tuple[RawClient, Say]:
    client = await RawClient.open(server.port, limit=2**22)

    def say(**message: Any) -> None:
        client.send(text(json.dumps(message)))

    say(type="auth", token=token)
    return client, say


async def _hear(client: RawClient, kind: str) -> dict[str, Any]:
    while True:
        opcode, data = await client.frame()
        if opcode == Opcode.TEXT:
            message: dict[str, Any] = json.loads(data)
            assert message["type"] != "error", message
            if message["type"] == kind:
                return message


async def _end(client: RawClient) -> None:
    """Wait for the server to close the socket."""
    await client.rest()
    client.close()


async def in_order(server: Server, session: str) -> None:
    """A host, a provider and a tower do their work and leave, each in another way."""
    host, to_gateway = await _open(server, "itk-1")
    to_gateway(type="host.hello", name="host", kind="test", protocolVersion=2)
    to_gateway(type="session.open", session={"id": session, "label": "one", "cwd": "/"})
    await _hear(host, "session.opened")
    tower, to_gateway_of_tower = await _open(server, "itk-1")
    to_gateway_of_tower(type="tower.hello", protocolVersion=2)
    await _hear(tower, "tower.snapshot")
    provider, answer = await _open(server, "ptk-1")
    answer(type="hello", name="p", protocolVersion=2, session=session, tools=[GREET])
    await _hear(provider, "hello.ack")
    answer(type="push", level="keep", event="something", metadata={"a": 1})
    for number in range(3):
        args = {"text": "x" * 100_000}
        to_gateway(type="tool.invoke", id=f"i{number}", sessionId=session, tool="greet", args=args)
        call = await _hear(provider, "tool.call")
        answer(type="tool.result", id=call["id"], data="hello")
        await _hear(host, "tool.outcome")
        to_gateway_of_tower(type="detail.read", id="d", of="call", subject=call["id"])
        assert (await _hear(tower, "detail"))["call"]["argsCut"], "read from the records"
    to_gateway(type="tool.invoke", id="last", sessionId=session, tool="greet", args={})
    await _hear(provider, "tool.call")
    provider.close()
    tower.send(frame(Opcode.CLOSE, b"\x03\xe8"))
    await _end(tower)
    to_gateway(type="session.close", sessionId=session)
    await _hear(host, "session.closed")
    host.writer.write_eof()
    await _end(host)


async def refused(server: Server) -> None:
    """Nobody of these gets as far as a message that is in order."""
    for head in (request(server.port, "Origin: null"), b"nothing of HTTP\r\n\r\n", b"\0" * 20_000):
        client = await RawClient.connect(server.port)
        client.send(head)
        await _end(client)
    cut = await RawClient.connect(server.port)
    cut.send(request(server.port)[:40])
    cut.close()


async def broken(server: Server) -> None:
    """Violations of every kind, and half a message."""
    violations = (
        bytes((0x81, 0x01)) + b"x",
        frame(Opcode.CONT, b"nothing to continue"),
        frame(Opcode.CLOSE, b"\x03"),
        text(b"x" * 5000),
        text("no message") + frame(Opcode.CLOSE),
        frame(Opcode.BINARY, b"x") + frame(Opcode.CLOSE),
    )
    for violation in violations:
        client = await RawClient.open(server.port)
        client.send(violation)
        await _end(client)
    client, _ = await _open(server, "ptk-1")
    await _hear(client, "sessions")
    client.send(text(b"x" * 50_000)[:40_000])
    client.close()


async def silent(server: Server) -> None:
    """One sends no handshake, one answers no ping: a server with short time-outs ends both."""
    says_nothing = await RawClient.connect(server.port)
    answers_nothing = await RawClient.connect(server.port)
    answers_nothing.send(request(server.port))
    await _end(says_nothing)
    await _end(answers_nothing)


async def round_of_clients(house: House, servers: tuple[Server, Server], number: int) -> None:
    """Let all of them come and go; nobody is left at the end."""
    server, impatient = servers
    await asyncio.gather(
        in_order(server, f"s{number}"), refused(server), broken(server), silent(impatient)
    )
    for one in servers:
        assert one.connections is not None
        await one.connections.empty.wait()
    parts, syncer = house.gateway.parts, house.journal._syncer
    await until(lambda: not parts.connections.by_number and not parts.providers._departed)
    await until(lambda: not (syncer._dirty or syncer._retired or syncer._busy))
    looks = house.turn._askers._thread  # one after the other: behind this one there is none
    await asyncio.get_running_loop().run_in_executor(looks, lambda: None)


@pytest.fixture
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is kept of those who have gone fill its tables soon, or be forgotten soon."""
    monkeypatch.setattr(journal, "_TURNS", 0)
    monkeypatch.setattr(journal, "_ENDED_SESSIONS", 2)
    for name in ("RECENT_CALLS", "RECENT_PROVIDERS", "ENDED_SESSIONS", "RECENT_STREAMS"):
        monkeypatch.setattr(limits, name, 3)
    monkeypatch.setattr(limits, "RECONNECT_TTL", 0.05)


@pytest.mark.usefixtures("short_memory")
async def test_what_clients_leave_is_freed_without_the_collector(house: House) -> None:
    async with served(house) as servers:
        await round_of_clients(house, servers, 0)
        with left_to_the_collector("tapui", "websockets") as left:
            await round_of_clients(house, servers, 1)
    assert left == {}


@pytest.mark.usefixtures("short_memory")
async def test_nothing_grows_with_the_clients_that_come_and_go(tmp_path: Path) -> None:
    house = House(tmp_path)
    async with served(house) as servers:
        for number in range(3):
            await round_of_clients(house, servers, number)
        before = reachable(house.turn) + reachable(servers)
        for number in range(3, 6):
            await round_of_clients(house, servers, number)
        after = reachable(house.turn) + reachable(servers)
    house.turn.close()
    house.journal.close(1.0)
    assert grown(before, after) == {}
