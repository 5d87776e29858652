"""One look at a gateway, without an event loop: the state, or why there is none."""

import asyncio
import socket
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path

import pytest
from websockets.asyncio.server import serve

from tapui.client import glance
from tapui.client.gateways import FoundGateway, GatewayError, GatewayLost, NoGateway, Refused, find
from tests.client.fake_gateway import SESSION, FakeGateway, Peer, Talk, approval
from tests.client.test_connection import gateway_at


async def looked(folder: Path, talk: Talk, seconds: float = glance.SECONDS) -> object:
    async with FakeGateway(folder, talk) as fake:
        found = find(fake.home, fake.port, is_explicit=True)
        return await asyncio.to_thread(glance.glance, found, name="tapui status", seconds=seconds)


async def test_the_state_comes_in_pieces_and_whole(tmp_path: Path) -> None:
    hellos = []

    async def talk(peer: Peer) -> None:
        many = [approval(f"a{number}") for number in range(20_000)]
        hellos.append(await peer.greet({"sessions": [], "approvals": many}, seq=7))
        await peer.socket.wait_closed()

    snapshot = await looked(tmp_path, talk)
    assert (snapshot.seq, len(snapshot.state.approvals)) == (7, 20_000)  # type: ignore[attr-defined]
    hello = {"type": "tower.hello", "protocolVersion": 2, "name": "tapui status", "role": "client"}
    assert hellos == [hello]


async def _refuse(peer: Peer) -> None:
    await peer.receive()
    await peer.send("error", code="UNAUTHORIZED", message="no")


async def _leave(peer: Peer) -> None:
    await peer.receive()


async def _mumble(peer: Peer) -> None:
    await peer.receive()
    await peer.send("sessions", active=[SESSION])
    await peer.receive()
    await peer.socket.send("{")
    await peer.socket.wait_closed()


async def _fall_silent(peer: Peer) -> None:
    await peer.socket.wait_closed()


@pytest.mark.parametrize(
    ("talk", "kind", "said"),
    [
        (_refuse, Refused, "no"),
        (_leave, GatewayLost, "closed the connection"),
        (_mumble, GatewayLost, "unreadable"),
        (_fall_silent, GatewayLost, "does not answer"),
    ],
)
async def test_a_gateway_that_does_not_go_along_is_told(
    tmp_path: Path, talk: Talk, kind: type[GatewayError], said: str
) -> None:
    seconds = 0.2 if talk is _fall_silent else glance.SECONDS
    with pytest.raises(kind, match=said):
        await looked(tmp_path, talk, seconds)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (HTTPStatus.SERVICE_UNAVAILABLE, "takes no further connection"),
        (HTTPStatus.FORBIDDEN, r"is no tapui gateway \(HTTP 403\)"),
    ],
)
async def test_a_server_that_refuses_is_told(tmp_path: Path, status: HTTPStatus, said: str) -> None:
    async def refuse(connection, request):  # type: ignore[no-untyped-def]
        return connection.respond(status, "no")

    async def nothing(_socket) -> None:  # type: ignore[no-untyped-def]
        raise AssertionError("no connection is made")

    async with serve(nothing, "127.0.0.1", 0, process_request=refuse) as server:
        found = gateway_at(server.sockets[0].getsockname()[1], tmp_path)
        with pytest.raises(GatewayError, match=said):
            await asyncio.to_thread(glance.glance, found, name="x")


def test_nobody_there_and_nobody_of_ours_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found: FoundGateway = gateway_at(server.getsockname()[1], tmp_path)
    with pytest.raises(NoGateway, match="is gone"):
        glance.glance(found, name="x")


async def test_what_is_no_http_at_all_is_told(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        found = gateway_at(server.sockets[0].getsockname()[1], tmp_path)
        with pytest.raises(NoGateway, match="is no tapui gateway"):
            await asyncio.to_thread(glance.glance, found, name="x")


def test_a_status_bar_imports_no_event_loop() -> None:
    modules = "tapui.cli.commands.status, tapui.cli.parser"
    code = f"import sys, {modules}; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
