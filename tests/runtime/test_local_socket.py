"""The server's second door: the Unix socket in the run folder."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tapui.home import local_socket
from tapui.home.local_socket import SOCKET_FILE, Peer
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


async def test_over_tcp_the_system_names_no_process(recording: Running) -> None:
    client = await RawClient.open(recording.port)
    (port,) = recording.door.ports
    assert port.peer == Peer(None, None)
    assert port.client_end is not None
    client.close()


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
