"""What an MCP client writes that the package cannot read: answered, bounded, and passed over."""

import asyncio
import json
import os
import threading
from typing import Any

import pytest
from mcp_types import JSONRPCError

from tapui.hosts.mcp.door import ClientLines
from tapui.runtime.children.lines import MAX_LINE_BYTES
from tests.rig.gateway import Home, tapui_argv

CALL = b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": %s}'
LARGE = b'"' + b"x" * MAX_LINE_BYTES + b'"'


async def read(written: bytes) -> tuple[list[str], list[JSONRPCError]]:
    """Have a client write this and close; return the lines and the answers to others."""
    refused: list[JSONRPCError] = []

    async def refuse(error: JSONRPCError) -> None:
        refused.append(error)

    ours, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "wb") as file:
            file.write(written)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        lines = [line async for line in ClientLines(ours, refuse)]
    finally:
        os.close(ours)
        writing.join()
    return lines, refused


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (CALL % rb'{"name": "\ud800"}', 5),
        (CALL % (b'{"name": ' + b"[" * 300 + b"]" * 300 + b"}"), 5),
        (CALL % b"[]", 5),
        (b'{"jsonrpc": "2.0", "id": "a", "method": 1}', "a"),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', None),
        (rb'{"jsonrpc": "2.0", "id": "\ud800", "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None),
        (CALL % (b'{"n": ' + b"9" * 5000 + b"}"), None),
        (CALL % LARGE, 5),
        (
            b'{"method": "tools/call", "params": ' + LARGE + b', "jsonrpc": "2.0", "id": "a7" }',
            "a7",
        ),
        (b'{"method": "tools/call", "params": ' + LARGE + b"}", None),
        (b'{"method": "tools/call", "params": {"a": ' + LARGE + b', "id": 7}}', None),
        (b"garbage", None),
        (b"[" * 100_000, None),
        (b"[]", None),
        (b"null", None),
        (b"\x00\xff", None),
    ],
    ids=range(17),
)
async def test_a_request_that_cannot_be_read_is_answered(line: bytes, known: object) -> None:
    ping = b'{"jsonrpc": "2.0", "id": 6, "method": "ping"}'
    lines, (refused,) = await read(line + b"\n" + ping + b"\n")
    assert refused.id == known
    assert len(refused.error.message) < 100
    assert [one.encode().strip() for one in lines] == [ping]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" \r",
        b'{"jsonrpc": "2.0", "id": 7, "error": 3}',
        rb'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"a": "\udfff"}}',
    ],
)
async def test_responses_and_notifications_are_not_answered(line: bytes) -> None:
    _, refused = await read(line + b"\n")
    assert refused == []


async def test_the_last_line_needs_no_end() -> None:
    ping = b'{"jsonrpc": "2.0", "id": 6, "method": "ping"}'
    assert await read(ping) == ([ping.decode()], [])


async def test_the_door_answers_a_call_with_half_of_a_character(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *tapui_argv("mcp-door"),
        env=home.env(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )

    async def answered(line: bytes) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + b"\n")
        async with asyncio.timeout(30):
            return dict(json.loads(await process.stdout.readline()))

    client = b'{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": %s}'
    first = client % b'{"name": "test", "version": "1"}'
    told = await answered(
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": %s}' % first
    )
    assert "result" in told
    told = await answered(CALL % rb'{"name": "greet", "arguments": {"name": "\ud800"}}')
    assert told["id"] == 5
    assert "half of a character" in told["error"]["message"]
    assert (await answered(b'{"jsonrpc": "2.0", "id": 6, "method": "ping"}'))["result"] == {}
    await process.communicate(b"")
    assert process.returncode == 0
