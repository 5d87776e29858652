"""The connection of a command: what it says, what it brings, and how it fails."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import pytest
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from tapui.client.connection import GatewayConnection
from tapui.client.gateways import (
    FoundGateway,
    GatewayLost,
    NoGateway,
    NoPlace,
    Refused,
    find,
    still_runs,
)
from tapui.home.paths import Home
from tapui.wire.events import Entry, StreamPosted
from tapui.wire.message import Message
from tapui.wire.tower import Notice, StreamLines, StreamRead, TowersChanged
from tests.client.fake_gateway import SESSION, TOKEN, FakeGateway, Peer, Talk


def found(fake: FakeGateway) -> FoundGateway:
    return find(fake.home, fake.port, is_explicit=True)


@asynccontextmanager
async def opened(folder: Path, talk: Talk) -> AsyncIterator[GatewayConnection]:
    async with (
        FakeGateway(folder, talk) as fake,
        await GatewayConnection.open(found(fake)) as connection,
    ):
        yield connection


def lines_of(came: Message | Entry) -> bool:
    return isinstance(came, StreamLines)


READ = StreamRead(id="x", stream="ci@watcher", session_id="s1")


async def test_opening_says_hello_as_a_client_and_brings_sessions_and_snapshot(
    tmp_path: Path,
) -> None:
    hellos = []

    async def talk(peer: Peer) -> None:
        hellos.append(await peer.greet(seq=41, towers=2))
        await peer.socket.wait_closed()

    async with opened(tmp_path, talk) as connection:
        assert [one.id for one in connection.sessions] == [SESSION["id"]]
        assert (connection.snapshot.seq, connection.snapshot.towers) == (41, 2)
    assert hellos == [
        {"type": "tower.hello", "protocolVersion": 2, "name": "tapui", "role": "client"}
    ]


async def test_events_come_in_order_as_entries_of_the_run(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet(seq=6)
        await peer.line(1, "a")
        await peer.send("towers.changed", towers=3)
        await peer.line(2, "b")

    async with opened(tmp_path, talk) as connection:
        first, second, third = [await connection.receive() for _ in range(3)]
        with pytest.raises(GatewayLost, match="the gateway closed the connection"):
            await connection.receive()
    assert isinstance(first, Entry)
    assert isinstance(first.event, StreamPosted)
    assert (first.run, first.seq, first.event.line.event) == ("r1", 7, "a")
    assert second == TowersChanged(towers=3)
    assert isinstance(third, Entry)
    assert third.seq == 8


async def test_asking_keeps_what_comes_before_the_answer(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet()
        request = await peer.receive()
        await peer.line(1)
        await peer.send("error", code="NOT_FOUND", message="another's", replyTo="tool.invoke")
        await peer.send("stream.lines", id=request["id"], lines=[])
        await peer.socket.wait_closed()

    async with opened(tmp_path, talk) as connection:
        assert await connection.ask(READ, lines_of) == StreamLines(id="x", lines=[])
        assert isinstance(await connection.receive(), Entry)
        assert type(await connection.receive()).__name__ == "Error"


async def test_a_refused_request_raises_its_code_and_text(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet()
        await peer.receive()
        await peer.send(
            "error", code="NOT_FOUND", message="no such stream", replyTo="stream.read", id="x"
        )
        await peer.socket.wait_closed()

    async with opened(tmp_path, talk) as connection:
        with pytest.raises(Refused, match="no such stream") as raised:
            await connection.ask(READ, lines_of)
    assert raised.value.code == "NOT_FOUND"


async def test_messages_of_a_newer_gateway_are_passed_over_and_told_once(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet()
        await peer.send("moon.phase", full=True)
        await peer.event("moon.rose", at="dawn")
        await peer.line(1)
        await peer.socket.wait_closed()

    async with opened(tmp_path, talk) as connection:
        notice = await connection.receive()
        assert isinstance(notice, Notice)
        assert "tapui 9.9.9" in notice.message
        after = await connection.receive()
        assert isinstance(after, Entry)
        assert after.seq == 2


async def test_a_known_message_that_is_malformed_loses_the_gateway(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet()
        await peer.send("stream.lines", id=3, lines=[])
        await peer.socket.wait_closed()

    async with opened(tmp_path, talk) as connection:
        with pytest.raises(GatewayLost, match=r"unreadable: id: Expected `str`, got `int`"):
            await connection.receive()


async def test_a_snapshot_of_many_large_calls_is_taken(tmp_path: Path) -> None:
    sessions = [
        {
            "id": f"s{number}",
            "label": "x" * 100_000,
            "cwd": "/",
            "state": "idle",
            "host": "h",
            "providers": [],
            "openedAt": "2026-11-21T20:10:00Z",
        }
        for number in range(80)
    ]

    async def talk(peer: Peer) -> None:
        await peer.greet({"sessions": sessions})
        await peer.socket.wait_closed()

    async with opened(tmp_path, talk) as connection:
        assert len(connection.snapshot.state.sessions) == 80


async def test_a_wrong_token_is_refused(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.receive()
        await peer.send("error", code="AUTH_FAILED", message="wrong token", replyTo="auth")

    async with FakeGateway(tmp_path, talk) as fake:
        with pytest.raises(Refused, match="wrong token"):
            await GatewayConnection.open(found(fake))


async def test_a_gateway_that_closes_during_the_opening_is_lost(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.receive()
        await peer.socket.close(1001, "going away")

    async with FakeGateway(tmp_path, talk) as fake:
        with pytest.raises(GatewayLost, match="closed the connection: going away"):
            await GatewayConnection.open(found(fake))


@pytest.mark.parametrize("said", ["no JSON", '{"type": "sessions", "active": 7}'])
async def test_a_gateway_that_cannot_be_read_during_the_opening_is_lost(
    tmp_path: Path, said: str
) -> None:
    async def talk(peer: Peer) -> None:
        await peer.receive()
        await peer.socket.send(said)
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        with pytest.raises(GatewayLost, match="unreadable"):
            await GatewayConnection.open(found(fake))


async def test_a_gateway_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        with pytest.raises(GatewayLost, match="does not answer"):
            await GatewayConnection.open(found(fake), seconds=0.1)


async def test_a_full_gateway_says_so(tmp_path: Path) -> None:
    async def refuse(connection, request):  # type: ignore[no-untyped-def]
        return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "full")

    async def nothing(_socket) -> None:  # type: ignore[no-untyped-def]
        raise AssertionError("no connection is made")

    async with serve(nothing, "127.0.0.1", 0, process_request=refuse) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(NoPlace, match="takes no further connection: full; close a tower"):
            await GatewayConnection.open(gateway_at(port, tmp_path))


def gateway_at(port: int, folder: Path) -> FoundGateway:
    token_file = folder / "token"
    token_file.write_text(TOKEN)
    return FoundGateway(f"ws://127.0.0.1:{port}", port, 1, "1", "2026-11-21T20:10:00Z", token_file)


async def test_a_web_server_is_no_gateway(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(NoGateway, match=r"is no tapui gateway \(HTTP 404\)"):
            await GatewayConnection.open(gateway_at(port, tmp_path))


async def test_a_server_of_another_protocol_is_no_gateway(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(NoGateway, match="is no tapui gateway"):
            await GatewayConnection.open(gateway_at(port, tmp_path))


async def test_nobody_on_the_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        gateway = gateway_at(taken.getsockname()[1], tmp_path)
        with pytest.raises(NoGateway, match="is gone"):
            await GatewayConnection.open(gateway)


def test_without_a_gateway_the_text_says_how_to_start_one(tmp_path: Path) -> None:
    home = Home.at(tmp_path)
    with pytest.raises(NoGateway, match="no gateway runs; start one with `tapui`"):
        find(home, 9400, is_explicit=False)
    with pytest.raises(NoGateway, match="no gateway runs on port 9400; start one"):
        find(home, 9400, is_explicit=True)


async def test_the_only_gateway_is_meant_unless_another_port_was_asked_for(tmp_path: Path) -> None:
    async def talk(_peer: Peer) -> None:
        raise AssertionError("nobody connects")

    async with FakeGateway(tmp_path, talk) as fake:
        only = find(fake.home, 1, is_explicit=False)
        assert (only.port, only.url) == (fake.port, fake.url)
        assert still_runs(fake.home, only)
        with pytest.raises(NoGateway, match=f"choose one with --port: {fake.port}"):
            find(fake.home, 1, is_explicit=True)
        async with FakeGateway(tmp_path, talk) as second:
            ports = ", ".join(str(port) for port in sorted([fake.port, second.port]))
            with pytest.raises(NoGateway, match=f"choose one with --port: {ports}"):
                find(fake.home, 1, is_explicit=False)
    assert not still_runs(fake.home, only)


async def test_leaving_closes_the_connection_normally(tmp_path: Path) -> None:
    ends: list[ConnectionClosed] = []

    async def talk(peer: Peer) -> None:
        await peer.greet()
        try:
            await peer.receive()
        except ConnectionClosed as end:
            ends.append(end)

    async with FakeGateway(tmp_path, talk) as fake:
        connection = await GatewayConnection.open(found(fake))
        await connection.close()
        with pytest.raises(GatewayLost):
            await connection.send(READ)
    assert [end.rcvd and end.rcvd.code for end in ends] == [1000]
