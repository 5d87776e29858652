"""Silent strangers at the door of a real gateway, and the person who comes meanwhile."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapui.client import gateways
from tapui.client.connection import GatewayConnection
from tapui.home.paths import Home as Folders
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Provider, Tower

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to connect as another user")

STRANGERS = """
import encodings.idna, os, socket, sys
os.setuid(12345)
port, head = int(sys.argv[1]), (
    "GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nUpgrade: websocket\\r\\n"
    "Connection: Upgrade\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n"
    "Sec-WebSocket-Version: 13\\r\\n{origin}\\r\\n"
)
held = []
for number in range(200):
    line = socket.create_connection(("127.0.0.1", port))
    origin = f"Origin: https://{number % 40}.example\\r\\n" if number % 2 else ""
    if number % 5:
        line.sendall(head.format(port=port, origin=origin).encode())
        line.recv(1000)
    held.append(line)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def besieged(tmp_path: Path) -> Iterator[Gateway]:
    """A gateway with 200 silent connections of another user, most of pages of 40 origins."""
    with Gateway(Home(tmp_path), "--no-attach") as gateway:
        strangers = subprocess.Popen(
            [sys.executable, "-c", STRANGERS, str(gateway.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert strangers.stdout is not None
        assert strangers.stdout.readline() == b"held\n"
        yield gateway
        strangers.communicate()


async def test_silent_strangers_keep_the_person_and_providers_not_out(besieged: Gateway) -> None:
    home = Folders.at(besieged.home.tapui, besieged.home.copilot)
    found = gateways.find(home, besieged.port, is_explicit=True)
    async with (
        await GatewayConnection.open(found, role="tower"),
        await GatewayConnection.open(found),
        await Tower.hello(besieged.url, besieged.internal_token),
        await Provider.bind(besieged.url, besieged.token),
    ):
        pass
