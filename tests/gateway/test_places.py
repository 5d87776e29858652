"""Strangers who hold and storm the door of a real gateway, and those who come meanwhile."""

import asyncio
import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tapui.client import gateways
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.client.glance import glance
from tapui.home.paths import Home as Folders
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Provider

OTHER_USER = 12345
RECONNECTIONS = 5
WITHIN = 1.0
"""Seconds in which each who may come is in: that is promised, whatever strangers do."""


@contextmanager
def strangers(gateway: Gateway, how: str, user: int, origins: int, address: str) -> Iterator[None]:
    """Have 200 connections that never authenticate (`tests.gateway.strangers`)."""
    given = [str(one) for one in (gateway.port, user, how, origins, address)]
    running = subprocess.Popen(
        [sys.executable, "-m", "tests.gateway.strangers", *given],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert running.stdout is not None
    try:
        assert running.stdout.readline() == b"came\n"
        yield
        assert running.poll() is None, "they are still there"
    finally:
        running.kill()
        running.communicate()


def found(gateway: Gateway) -> FoundGateway:
    home = Folders.at(gateway.home.tapui, gateway.home.copilot)
    return gateways.find(home, gateway.port, is_explicit=True)


async def towers_commands_and_providers_come(gateway: Gateway) -> None:
    """Let a tower drop and come again by both ways, commands look and decide, a provider open."""
    by_socket = found(gateway)
    assert by_socket.socket is not None
    for end in (by_socket, dataclasses.replace(by_socket, socket=None)):
        for _ in range(RECONNECTIONS):
            async with asyncio.timeout(WITHIN):
                tower = await GatewayConnection.open(end, role="tower")
            tower._socket._socket.transport.abort()
        async with asyncio.timeout(WITHIN):
            await asyncio.to_thread(glance, end, name="test")
    async with asyncio.timeout(WITHIN):
        provider = await Provider.bind(gateway.url, gateway.token, session="s1")
    await provider.close()


FOUR, SIX = "127.0.0.1", "::1"
STORMS = [
    # What they send, of how many pages, whose they are, where they come to
    ("handshake", 40, "another", FOUR),
    ("handshake", 40, "another", SIX),
    ("handshake", 0, "another", FOUR),
    ("handshake", 400, "another", SIX),
    ("handshake", 400, "this", FOUR),
    ("nothing", 0, "another", SIX),
    ("nothing", 0, "this", FOUR),
    ("again at once", 0, "another", FOUR),
    ("again at once", 0, "this", SIX),
    ("again at once", 400, "another", SIX),
    ("again at once", 400, "this", FOUR),
    ("hello", 40, "another", FOUR),
    ("hello", 0, "another", FOUR),
    ("slow headers", 0, "another", FOUR),
    ("slow headers", 0, "this", SIX),
    ("tls", 0, "another", FOUR),
]


@pytest.mark.parametrize(("how", "origins", "whose", "address"), STORMS)
async def test_strangers_keep_out_no_tower_command_and_provider(
    tmp_path: Path, how: str, origins: int, whose: str, address: str
) -> None:
    if whose == "another" and os.geteuid() != 0:
        pytest.skip("needs root, to connect as another user")
    user = OTHER_USER if whose == "another" else os.geteuid()
    with Gateway(Home(tmp_path), "--no-attach") as gateway:
        async with await Host.hello(gateway.url, gateway.internal_token) as host:
            await host.open("s1")
            detail = {"kind": "shell", "fullCommandText": "echo hello"}
            asked = {"type": "approval.request", "id": "r1", "sessionId": "s1"}
            await host.send({**asked, "kind": "permission", "detail": detail})
            with strangers(gateway, how, user, origins, address):
                await towers_commands_and_providers_come(gateway)
                seen = await asyncio.to_thread(glance, found(gateway), name="test")
                (approval,) = seen.state.approvals
                decided = await asyncio.to_thread(gateway.home.run, "approve", approval.id)
                assert decided.returncode == 0, decided.stderr
                assert (await host.expect("approval.answer"))["decision"] == "approve"
