"""What an MCP client writes, line by line: bounded, and what cannot be read is answered.

The package drops a line that it cannot read, and its sender waits for the answer.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable

from anyio.to_thread import run_sync
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

MAX_LINE = 16 * 1024 * 1024
"""Bytes of a line; a call's arguments have far fewer. The rest of a longer one is not kept."""
_PIECE = 256 * 1024
_END = 256
"""Bytes at the beginning and the end of a line too long, in which its id is looked for."""
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")\s*'
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb",")
_LAST = re.compile(rb",\s*" + _ID + rb"\}\s*\Z")

Refuse = Callable[[JSONRPCError], Awaitable[None]]


class ClientLines:
    """The lines of `descriptor` that hold a message; the others are refused by `refuse`."""

    def __init__(self, descriptor: int, refuse: Refuse) -> None:
        self._descriptor = descriptor
        self._refuse = refuse

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line, size in self._split():
            fault = _too_long(line, size) if size > MAX_LINE else _fault_of(line)
            if fault is not None:
                await self._refuse(fault)
            elif line.strip():
                yield line.decode("utf-8", "replace")

    async def _split(self) -> AsyncIterator[tuple[bytes, int]]:
        """Yield (line, its bytes); of one that is too long, its beginning and its end."""
        kept, size = bytearray(), 0
        while piece := await run_sync(os.read, self._descriptor, _PIECE):
            *whole, rest = piece.split(b"\n")
            for part in whole:
                size += len(part)
                yield bytes(_kept(kept, part, size)), size
                kept, size = bytearray(), 0
            size += len(rest)
            kept = _kept(kept, rest, size)
        if size:
            yield bytes(kept), size


def _kept(kept: bytearray, part: bytes, size: int) -> bytearray:
    """Return what is kept of a line of `size` bytes with its next part."""
    kept += part
    return kept if size <= MAX_LINE else kept[:_END] + kept[-_END:]


def _too_long(ends: bytes, size: int) -> JSONRPCError:
    found = _FIRST.match(ends[:_END]) or _LAST.search(ends[-_END:])
    said = f"a message has at most {MAX_LINE} bytes, this one has {size}"
    return _error(json.loads(found[1]) if found is not None else None, INVALID_REQUEST, said)


def _fault_of(line: bytes) -> JSONRPCError | None:
    """Return what to answer to a line that the package cannot read, None where it can.

    A response, or a notification, is never answered.
    """
    text = line.decode("utf-8", "replace")
    if not text.strip():
        return None
    try:
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError:
        message = None
    # The package reads a request with an id that is none as a notification.
    may_be_wrong = '"id"' in text if isinstance(message, JSONRPCNotification) else message is None
    if not may_be_wrong:
        return None
    try:
        found = json.loads(text)  # it takes halves of characters, and more depth
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "this is no JSON")
    if not isinstance(found, dict):
        return _error(None, INVALID_REQUEST, "a message is an object")
    if "id" not in found or "method" not in found:
        return None
    known = found["id"] if type(found["id"]) in (int, str) else None
    said = "this is no request, or has half of a character, or is nested too deeply"
    return _error(known, INVALID_REQUEST, said)


def _error(known: int | str | None, code: int, said: str) -> JSONRPCError:
    if isinstance(known, str) and not known.isprintable():
        known = None
    return JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=code, message=said))
