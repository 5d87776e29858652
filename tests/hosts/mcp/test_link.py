"""The MCP door's link to the gateway, where it goes wrong; and what is on its standard output."""

import asyncio
import json
import math
import signal
import subprocess
from pathlib import Path

import pytest
import websockets

from tapui.home.paths import Home as Folders
from tapui.home.run_folder import RunFolder
from tapui.home.tokens import ToolsTokenFile
from tapui.hosts.mcp.door import progress_of
from tapui.hosts.mcp.link import GatewayLink
from tapui.wire.message import ToolProgress
from tests.hosts.mcp.mcp_client import connected, session_of
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Provider
from tests.rig.waiting import HUNG, until_async


async def test_a_gateway_that_hangs_is_given_up_and_found_again(
    home: Home, gateway: Gateway
) -> None:
    ToolsTokenFile(home.tapui).make()
    async with connected(home, "legacy", "--port", str(gateway.port)) as client:
        session = await session_of(gateway)
        async with await Provider.bind(gateway.url, gateway.token, session=session) as provider:
            await client.has("greet")
            calling = asyncio.create_task(client.call("greet"))
            await provider.expect("tool.call")
            gateway.signal(signal.SIGSTOP)
            try:
                async with asyncio.timeout(30):
                    result = await calling
                assert result.is_error
                assert result.content[0].text.startswith("DISCONNECTED: ")
                assert await client.names() == []
            finally:
                gateway.signal(signal.SIGCONT)
            await provider.expect("session.lifecycle", within=15, state="shutdown.pending")
        again = await session_of(gateway)
        async with await Provider.bind(gateway.url, gateway.token, session=again):
            await client.has("greet")


async def test_another_token_is_shown_at_once_after_one_was_refused(tmp_path: Path) -> None:
    folders = Folders.at(tmp_path / "tapui", tmp_path / "copilot")
    token = ToolsTokenFile(folders.state)
    token.make()
    shown: list[str] = []

    async def refuse(socket: websockets.ServerConnection) -> None:
        shown.append(json.loads(await socket.recv())["token"])
        error = {"type": "error", "code": "AUTH_FAILED", "message": "unknown token"}
        await socket.send(json.dumps(error))

    async with websockets.serve(refuse, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        folder = RunFolder.claim(folders, port)
        folder.announce(f"ws://127.0.0.1:{port}", "0.0.1", tmp_path)
        link = GatewayLink(
            folders, port, is_explicit=True, label="l", folder=tmp_path, on_change=lambda: None
        )
        running = asyncio.create_task(link.run())
        async with asyncio.timeout(HUNG):
            await link.settled.wait()
        outcome = await link.call("greet", {}, tell=None)  # type: ignore[arg-type]
        assert outcome.error is not None
        assert outcome.error.startswith("the gateway does not take this door: unknown token; ")
        assert "is of an older tapui (0.0.1;" in outcome.error
        first = token.path.read_text()
        token.remove()
        token.make()
        await until_async(lambda: token.path.read_text() in shown, what="the other token")
        assert shown[0] == first
        running.cancel()
        await asyncio.wait([running])
        folder.release()


def test_standard_output_has_the_protocol_alone_whatever_comes_in(home: Home) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a client \x1b[0m", "version": "1"},
    }
    half = r'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "\ud800"}}'
    asked = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}',
        "not json",
        '{"jsonrpc": "2.0", "id": 9, "method": 7}',
        half,
        '{"jsonrpc": "2.0", "id": 6, "method": "ping"}',
    ]
    home.root.mkdir(exist_ok=True)
    with subprocess.Popen(
        tapui_argv("mcp-door"),
        env=home.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as door:
        assert door.stdin is not None
        assert door.stdout is not None
        door.stdin.write("".join(f"{line}\n" for line in asked))
        door.stdin.flush()
        told = [json.loads(door.stdout.readline()) for _ in range(len(asked) - 1)]
        rest, said = door.communicate(timeout=HUNG)  # the client has gone: the door ends
    assert (door.returncode, rest) == (0, "")
    answers = {one["id"]: one["result"] for one in told if "result" in one}
    refused = {one["id"]: one["error"]["message"] for one in told if "error" in one}
    assert answers[1]["capabilities"]["tools"] == {"listChanged": True}
    assert (answers[2]["tools"], answers[6]) == ([], {})
    assert refused.keys() == {None, 9, 5}
    assert "half of a character" in refused[5]
    assert "no token for tools" in said


@pytest.mark.parametrize(
    ("fields", "last", "told"),
    [
        ({}, None, (1, None, "3/10 files")),
        ({}, 4.0, (5, None, "3/10 files")),
        ({"done": 3, "total": 10}, 2.0, (3, 10, "files")),
        ({"done": 3}, None, (3, None, "3/10 files")),
        ({"done": 0, "total": 10}, None, (0, 10, "3/10 files")),
        ({"done": 3, "total": 10}, 3.0, (math.nextafter(3, 4), 10, "files")),
        ({"done": math.inf, "total": 10}, 3.0, (4, None, "3/10 files")),
    ],
)
def test_progress_keeps_its_total_and_its_text(
    fields: dict[str, float], last: float | None, told: tuple[float, float | None, str]
) -> None:
    assert progress_of(ToolProgress("c", "3/10 files", **fields), last) == told
