"""What an MCP client writes that the package cannot read: answered, bounded, and passed over."""

import os
import threading

import pytest
from mcp_types import JSONRPCError

from tapui.hosts.mcp.door import ClientLines
from tapui.runtime.children.lines import MAX_LINE_BYTES

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
