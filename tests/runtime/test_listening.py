"""The gateway's port: both loopback families or none, and a clear word about who holds it."""

import asyncio
import errno
import os
import socket
import sys

import pytest

from tapui.runtime.websocket import listening
from tapui.runtime.websocket.listening import ListenError, PortTaken, open_loopback
from tapui.runtime.websocket.server import Server
from tests.runtime.doors import RecordingDoor
from tests.runtime.rawclient import RawClient, frame


def close(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()


def bound(address: str, port: int = 0) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    other = socket.socket(family)
    other.bind((address, port))
    other.listen()
    return other


async def test_both_families_have_the_same_number_and_nothing_else() -> None:
    sockets = await open_loopback(0)
    names = [one.getsockname()[:2] for one in sockets]
    port = names[0][1]
    assert names == [("127.0.0.1", port), ("::1", port)]
    close(sockets)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0", "::"])
async def test_a_port_that_another_program_holds_in_one_family_is_refused(address: str) -> None:
    other = bound(address)
    port = other.getsockname()[1]
    with pytest.raises(PortTaken) as raised:
        await open_loopback(port)
    assert raised.value.port == port
    assert not raised.value.holder.gateway
    assert raised.value.holder.pid == os.getpid()
    assert f"port {port} is held by another program" in str(raised.value)
    assert "--port" in str(raised.value)
    other.close()
    # Nothing of ours stayed behind.
    close(await open_loopback(port))


async def test_a_holder_that_is_a_tapui_gateway_is_recognised() -> None:
    server = Server(RecordingDoor())
    port = await server.start(0)
    with pytest.raises(PortTaken, match="held by a tapui gateway") as raised:
        await Server(RecordingDoor()).start(port)
    assert raised.value.holder.gateway
    await server.stop()


async def test_a_holder_that_says_nothing_costs_a_second_at_most(monkeypatch) -> None:
    monkeypatch.setattr(listening, "_PROBE_TIMEOUT", 0.05)
    other = bound("127.0.0.1")
    with pytest.raises(PortTaken, match="another program"):
        await open_loopback(other.getsockname()[1])
    other.close()


async def test_port_zero_tries_until_both_families_have_a_number(monkeypatch) -> None:
    listen = listening._listen
    refused: list[int] = []

    def unlucky(address: str, port: int) -> socket.socket:
        if address == "::1" and len(refused) < 3:
            refused.append(port)
            raise OSError(errno.EADDRINUSE, "taken")
        return listen(address, port)

    monkeypatch.setattr(listening, "_listen", unlucky)
    sockets = await open_loopback(0)
    assert len(refused) == 3
    assert len({one.getsockname()[1] for one in sockets}) == 1
    close(sockets)


@pytest.mark.parametrize("code", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
async def test_without_ipv6_the_first_family_is_enough(monkeypatch, code: int) -> None:
    listen = listening._listen

    def no_six(address: str, port: int) -> socket.socket:
        if address == "::1":
            raise OSError(code, "no such family")
        return listen(address, port)

    monkeypatch.setattr(listening, "_listen", no_six)
    server = Server(RecordingDoor())
    port = await server.start(0)
    client = await RawClient.open(port)
    client.send(frame(8, b"\x03\xe8"))
    assert (await client.closing())[0] == 1000
    client.close()
    await server.stop()


@pytest.mark.parametrize("port", [-1, 65536])
async def test_a_port_that_does_not_exist_is_refused(port: int) -> None:
    with pytest.raises(ListenError, match="choose one from 1 to 65535"):
        await open_loopback(port)


async def test_a_port_that_needs_rights_is_refused_in_words(monkeypatch) -> None:
    def forbidden(address: str, port: int) -> socket.socket:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(listening, "_listen", forbidden)
    with pytest.raises(ListenError, match="no permission to listen on port 80"):
        await open_loopback(80)


async def test_a_restart_gets_the_port_while_old_connections_linger() -> None:
    server = Server(RecordingDoor())
    port = await server.start(0)
    clients = [await RawClient.open(port) for _ in range(5)]
    await server.stop(0.05)  # closes first, so the old sockets stay in TIME_WAIT
    again = Server(RecordingDoor())
    assert await again.start(port) == port
    await again.stop()
    for client in clients:
        client.close()


async def test_two_gateways_cannot_share_even_when_both_allow_reuse() -> None:
    first = await open_loopback(0)
    port = first[0].getsockname()[1]
    code = (
        "import asyncio, sys\n"
        "from tapui.runtime.websocket.listening import open_loopback, PortTaken\n"
        "try:\n"
        f"    asyncio.run(open_loopback({port}))\n"
        "except PortTaken:\n"
        "    sys.exit(7)\n"
    )
    second = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await second.wait() == 7
    close(first)
