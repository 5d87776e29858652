"""The server's second door: the Unix socket in the run folder."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tapui.core.model import Way
from tapui.home import local_socket
from tapui.home.local_socket import SOCKET_FILE, Peer
from tapui.runtime.processes.sights import system
from tapui.runtime.websocket.connections import MAX_TRANSIENT
from tests.runtime.conftest import Running
from tests.runtime.rawclient import RawClient, request, text

STRANGER = """
import os, socket, sys
line = socket.socket(socket.AF_UNIX)
os.setuid(12345)
try:
    line.connect("gateway.sock")
    line.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
    print("read", line.recv(100))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture
async def end(recording: Running, tmp_path: Path) -> Path:
    """The Unix socket of a recording server."""
    folder = tmp_path / "r"
    folder.mkdir(mode=0o700)
    await recording.server.listen(local_socket.listen(folder))
    return folder / SOCKET_FILE


async def connected(end: Path) -> RawClient:
    return RawClient(*await asyncio.open_unix_connection(str(end)))


async def test_the_door_knows_the_process(recording: Running, end: Path) -> None:
    client = await connected(end)
    client.send(request(recording.port) + text("hello"))
    assert (await client.response())[0] == 101
    await recording.door.until(lambda: recording.door.messages)
    (port,) = recording.door.ports
    assert port.peer == Peer(os.getpid(), os.geteuid())
    assert port.client_end is None
    assert not port.is_in_process
    client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of single TCP sockets")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
async def test_over_tcp_the_system_names_the_user(recording: Running, address: str) -> None:
    client = RawClient(*await asyncio.open_connection(address, recording.port))
    client.send(request(recording.port))
    await client.response()
    (port,) = recording.door.ports
    assert port.peer == Peer(None, os.geteuid())
    assert port.way is Way.OWN
    assert port.client_end is not None
    client.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to connect as another user")
async def test_over_tcp_it_names_another_user_too(recording: Running) -> None:
    code = (
        "import encodings.idna, os, socket, sys; os.setuid(12345); "
        "exec(sys.stdin.readline()); sys.stdin.read()"
    )
    stranger = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=asyncio.subprocess.PIPE
    )
    assert stranger.stdin is not None
    line = f"line = socket.create_connection(('127.0.0.1', {recording.port}))"
    asked = request(recording.port)
    stranger.stdin.write(f"{line}; line.sendall({asked!r})\n".encode())
    await recording.door.until(lambda: recording.door.ports)
    (port,) = recording.door.ports
    assert port.peer == Peer(None, 12345)
    assert port.way is Way.OTHER
    stranger.stdin.close()
    await stranger.wait()


def test_where_the_table_tells_nothing_the_user_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = ("127.0.0.1", 1), ("127.0.0.1", 2)
    assert system.socket_owner(*nobody) is None
    assert system.socket_owner(("not an address", 1), nobody[1]) is None

    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", forbidden)
    assert system.socket_owner(*nobody) is None


async def test_no_page_comes_through_it(recording: Running, end: Path) -> None:
    client = await connected(end)
    client.send(request(recording.port, "Origin: https://example.com"))
    status, said = await client.response()
    assert status == 403
    assert b"Pages connect to the gateway's port" in said
    assert recording.door.ports == []


async def test_the_host_is_asked_for_as_over_tcp(recording: Running, end: Path) -> None:
    client = await connected(end)
    client.send(request(recording.port, host="evil.example"))
    assert (await client.response())[0] == 403


async def test_silent_sockets_over_tcp_cut_none_off_that_came_by_it(
    recording: Running, end: Path
) -> None:
    mine = await connected(end)
    silent = [await RawClient.connect(recording.port) for _ in range(MAX_TRANSIENT + 10)]
    assert await silent[0].rest() == b""
    mine.send(request(recording.port))
    assert (await mine.response())[0] == 101
    for client in (mine, *silent):
        client.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to connect as another user")
@pytest.mark.parametrize("is_open", [False, True], ids=["closed folder", "open folder"])
async def test_another_user_gets_no_answer(recording: Running, end: Path, is_open: bool) -> None:
    def come() -> str:
        if is_open:  # as the person could have made it
            end.chmod(0o666)
            end.parent.chmod(0o755)
        tried = subprocess.run(
            [sys.executable, "-c", STRANGER],
            cwd=end.parent,
            capture_output=True,
            text=True,
            check=True,
        )
        return tried.stdout.strip()

    cut_off = ["ConnectionResetError", "BrokenPipeError", "read b''"]
    assert await asyncio.to_thread(come) in (cut_off if is_open else ["PermissionError"])
    assert recording.door.ports == []
