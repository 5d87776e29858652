"""Strangers who hold and storm the door of a real gateway, and those who come meanwhile."""

import asyncio
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from tapui.cli.commands.install import is_refused
from tapui.client import gateways
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.client.glance import glance
from tapui.home.paths import Home as Folders
from tapui.home.run_folder import find_gateway
from tapui.secret import Secret
from tapui.wire.limits import MAX_CONNECTIONS, MAX_TOKEN_CONNECTIONS
from tapui.wire.tower import PlacesTaken
from tests.cli.running import ran
from tests.gateway.serving_mcp import McpWatcher, entry, write_server
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Peer, Provider, Tower
from tests.rig.waiting import SLOWNESS, until_async

OTHER_USER = 12345
RECONNECTIONS = 5
WITHIN = 1.0 * SLOWNESS
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


def folders(gateway: Gateway) -> Folders:
    return Folders.at(gateway.home.tapui, gateway.home.copilot)


def found(gateway: Gateway) -> FoundGateway:
    return gateways.find(folders(gateway), gateway.port, is_explicit=True)


async def towers_commands_and_providers_come(gateway: Gateway) -> None:
    """Let a tower drop and come again by both ways, commands look and decide, a provider open."""
    by_socket = found(gateway)
    assert by_socket.socket is not None
    for end in (by_socket, dataclasses.replace(by_socket, socket=None)):
        for _ in range(RECONNECTIONS):
            async with asyncio.timeout(WITHIN):
                tower = await GatewayConnection.open(end, role="tower")
            tower.abort()
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
                decided = await asyncio.to_thread(ran, gateway.home, "approve", approval.id)
                assert decided.returncode == 0, decided.stderr
                assert (await host.expect("approval.answer"))["decision"] == "approve"


async def fill(gateway: Gateway, stack: AsyncExitStack, taken: int) -> None:
    """Take the places that are not `taken`: 100 with the provider token, the others as hosts."""
    bound = [gateway.token] * MAX_TOKEN_CONNECTIONS
    others = [gateway.internal_token] * (MAX_CONNECTIONS - MAX_TOKEN_CONNECTIONS - taken)
    for token in bound + others:
        peer = await stack.enter_async_context(await Peer.connect(gateway.url, token=token))
        if token == gateway.internal_token:
            hello = {"type": "host.hello", "name": "crowd", "kind": "test", "protocolVersion": 2}
            await peer.send(hello)
            await peer.expect("host.ack")


async def test_where_all_places_are_taken_commands_and_towers_name_who_has_them(
    tmp_path: Path,
) -> None:
    holders = "a program that said no hello has 100, a host of sessions has 99, a tower has 1"
    with Gateway(Home(tmp_path), "--no-attach") as gateway:
        async with (
            await Tower.hello(gateway.url, gateway.internal_token) as tower,
            AsyncExitStack() as stack,
        ):
            await fill(gateway, stack, taken=1)
            full = f"the gateway at {gateway.url} takes no further connection: all 200 connections"
            listed = await asyncio.to_thread(ran, gateway.home, "mcp", "list")
            assert listed.stderr.startswith(f"{full} are taken: {holders};")
            assert "no gateway runs" not in listed.stderr
            told = await tower.expect("tower.notice")
            assert told["message"] == (
                f"A connection was refused: all 200 connections are taken: {holders}"
            )
            looked = await asyncio.to_thread(ran, gateway.home, "doctor")
            assert f"{full} are taken: {holders};" in looked.stdout
            said = find_gateway(folders(gateway), gateway.port)
            assert said is not None
            assert not await is_refused(said, Secret(gateway.token)), "its token is in force"
            assert (await asyncio.to_thread(ran, gateway.home, "status")).stderr.startswith(
                f"tapui: {full} are taken: {holders};"
            )
        looked = await asyncio.to_thread(ran, gateway.home, "doctor")
        assert "it refused 4 because all its places were taken" in looked.stdout


@pytest.mark.parametrize("way", ["socket", "tcp"])
async def test_a_program_with_the_internal_token_that_says_no_hello_keeps_nobody_out(
    tmp_path: Path, way: str
) -> None:
    with Gateway(Home(tmp_path), "--no-attach") as gateway:
        end = found(gateway).socket if way == "socket" else None
        async with (
            await Host.hello(gateway.url, gateway.internal_token) as host,
            AsyncExitStack() as stack,
        ):
            await host.open("s1")
            for _ in range(MAX_CONNECTIONS - 1):
                peer = Peer.connect(gateway.url, token=gateway.internal_token, end=end)
                await stack.enter_async_context(await peer)
            await towers_commands_and_providers_come(gateway)


SERVERS, SESSIONS = 17, 8


def places_of(gateway: FoundGateway) -> PlacesTaken:
    places = glance(gateway, name="test").places
    assert places is not None
    return places


async def test_bridges_of_many_servers_in_many_sessions_keep_nobody_out(tmp_path: Path) -> None:
    folder = tmp_path / "servers"
    write_server(folder)
    home = Home(tmp_path / "home")
    home.tapui.mkdir(parents=True)
    servers = {f"server{number}": entry(cwd=str(folder)) for number in range(SERVERS)}
    (home.tapui / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with Gateway(home, "--no-attach") as gateway:
        async with McpWatcher(gateway) as seen:
            sessions = [f"s{number}" for number in range(1, SESSIONS + 1)]
            for session in sessions:
                await seen.host.open(session, cwd=str(tmp_path))
            for name in servers:
                assert sorted((await seen.server(name, "ready"))["sessions"]) == sessions
            end, all_of_them = found(gateway), SERVERS * SESSIONS
            await until_async(lambda: places_of(end).bridges == all_of_them, what="all are bound")
            await towers_commands_and_providers_come(gateway)
            assert places_of(end).refused == 0
            listed = await asyncio.to_thread(ran, home, "mcp", "list", "--json")
            assert [json.loads(line)["state"] for line in listed.stdout.splitlines()] == (
                ["ready"] * SERVERS
            )
            looked = await asyncio.to_thread(ran, home, "doctor")
            assert f", and {all_of_them} of MCP servers" in looked.stdout
