"""A server as a child process: JSON-RPC messages in bounded lines over its standard streams.

As the package's own stdio transport, but no line can fill the memory, text that is no message goes
to a stream instead of an exception's traceback, and so does standard error.
"""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from tapui.mcp_servers.bridge.output import ServerOutput, printed, read_lines
from tapui.runtime.processes.status import INSIDE

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MAX_LINE_BYTES = 16 * 1024 * 1024
LEAVE_SECONDS = 1.0
"""How long a server may take to end once its input has."""
TERM_SECONDS = 0.5
"""How long after SIGTERM. With the other this is less than what the bridge has to end in."""
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""Variables that a server gets besides its own."""

_CHUNK = 64 * 1024
_ENDS = 256
"""Bytes kept of both ends of a line that is too long, to find its id in."""
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_FIRST_ID = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb'\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,')
_LAST_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*' + _VERSION + rb")?\s*\}\s*$")


@dataclass(frozen=True)
class ServerCommand:
    """What is started: a program with its arguments, its own variables and its folder."""

    program: str
    arguments: tuple[str, ...]
    variables: dict[str, str]
    folder: str | None


class LineTooLong(Exception):  # noqa: N818 - a state of the peer
    """A message of more than `MAX_LINE_BYTES`; `ends` are its first and last bytes."""

    def __init__(self, size: int, ends: bytes) -> None:
        super().__init__(f"a message of {size / 2**20:.1f} MiB was dropped")
        self.ends = ends


@contextlib.asynccontextmanager
async def stdio_transport(
    command: ServerCommand, output: ServerOutput, ended: asyncio.Event
) -> AsyncIterator["TransportStreams"]:
    """Start the server; yield the streams of messages from it and to it.

    Ends it when the block is left; sets `ended` when it says nothing more. Raises `OSError` and
    `ValueError` where it cannot be started.
    """
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        command.program,
        *command.arguments,
        env=inherited | command.variables | {INSIDE: "1"},
        cwd=command.folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=_CHUNK,
    )
    from_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](0)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    to_it, from_it = process.stdin, process.stdout

    async def read() -> None:
        async with from_server:
            try:
                async for line in _lines(from_it):
                    message = _message(line, output)
                    if message is not None:
                        await from_server.send(message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                pass  # the session is over
            finally:
                ended.set()

    async def write() -> None:
        try:
            async with to_server:
                async for message in to_server:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    to_it.write(text.encode("utf-8", "replace") + b"\n")
                    await to_it.drain()
        except (OSError, anyio.ClosedResourceError):
            await from_server.aclose()  # so that requests end, instead of waiting for an answer

    tasks = [
        asyncio.create_task(read()),
        asyncio.create_task(write()),
        asyncio.create_task(read_lines(process.stderr, "stderr", output)),
    ]
    try:
        yield incoming, outgoing
    finally:
        incoming.close()
        outgoing.close()
        with anyio.CancelScope(shield=True):
            await _end(process)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for stream in (from_server, to_server):
                stream.close()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | LineTooLong]:
    begun = bytearray()
    size = 0
    while data := await reader.read(_CHUNK):
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            begun += data[start:end]
            size += end - start
            yield bytes(begun) if size <= MAX_LINE_BYTES else LineTooLong(size, bytes(begun))
            begun.clear()
            size, start = 0, end + 1
        begun += data[start:]
        size += len(data) - start
        if size > MAX_LINE_BYTES:
            del begun[_ENDS:-_ENDS]


def _message(line: bytes | LineTooLong, output: ServerOutput) -> SessionMessage | None:
    """Return the message of a line; what is none goes to the log."""
    if isinstance(line, LineTooLong):
        output.put("log", str(line))
        found = _FIRST_ID.match(line.ends) or _LAST_ID.search(line.ends[-_ENDS:])
        if found is None:
            return None
        fault = types.ErrorData(code=types.INTERNAL_ERROR, message=str(line))
        return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=fault))
    if not line.strip():
        return None
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        output.put("log", f"not a message, on standard output: {printed(line[:_CHUNK])}")
        return None


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the input, wait, then end the process and all that it started."""
    if process.stdin is not None:
        process.stdin.close()
    for number, within in ((signal.SIGTERM, LEAVE_SECONDS), (signal.SIGKILL, TERM_SECONDS)):
        if await _ended(process, within):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone, or not ours
            os.killpg(process.pid, number)
    await _ended(process, LEAVE_SECONDS)


async def _ended(process: asyncio.subprocess.Process, within: float) -> bool:
    """Wait a little for the process itself: what it started may hold its pipes open."""
    deadline = asyncio.get_running_loop().time() + within
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(0.01)
    return True
