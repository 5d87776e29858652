"""The two ways to a server: its standard streams, and HTTP.

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
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from tapui.invocation import INSIDE
from tapui.mcp_servers.bridge.output import ServerOutput, printed, read_lines
from tapui.runtime.children.lines import LineSplitter, LongLine
from tapui.secret import Secret

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LEAVE_SECONDS = 1.0
"""How long a server may take to end once its input has."""
TERM_SECONDS = 0.5
"""How long after SIGTERM. With the other this is less than what the bridge has to end in."""
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""Variables that a server gets besides its own."""

_CHUNK = 64 * 1024
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
                lines = LineSplitter()
                while data := await from_it.read(_CHUNK):
                    for line in lines.feed(data):
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


def _message(line: bytes | LongLine, output: ServerOutput) -> SessionMessage | None:
    """Return the message of a line; what is none goes to the log."""
    if isinstance(line, LongLine):
        dropped = f"a message of {line.size / 2**20:.1f} MiB was dropped"
        output.put("log", dropped)
        found = _FIRST_ID.match(line.first) or _LAST_ID.search(line.last)
        if found is None:
            return None
        fault = types.ErrorData(code=types.INTERNAL_ERROR, message=dropped)
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


MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Of one answer that is no stream of events, and of each event in a stream."""
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 24 * 3600.0
"""How long a server may be silent while a call is under way: the gateway bounds the call."""
_EVENTS = "text/event-stream"


class AnswerTooLarge(httpx2.ReadError):
    """An answer of more than `MAX_ANSWER_BYTES`."""


class ServerAddress:
    """The server's address and headers. `refused` is the last status that was an error."""

    def __init__(self, url: str, headers: dict[str, Secret]) -> None:
        self.url = url
        self.headers = headers
        self.refused: int | None = None

    @property
    def host(self) -> str:
        """The address as it may be shown: without path, query and credentials."""
        return shown_address(self.url)


def shown_address(url: str) -> str:
    """Return scheme, host and port of an address; nothing else of it is shown."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.hostname or ''}{port}"


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream
        self._left = MAX_ANSWER_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._left -= len(part)
            if self._left < 0:
                raise AnswerTooLarge(f"an answer of more than {MAX_ANSWER_BYTES // 2**20} MiB")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """Reads no more of an answer than a bridge can hold, and remembers refusals."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._inner = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=64))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.status_code >= 400:
            self._address.refused = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.DecodingError("a compressed answer, which was not asked for")
        is_stream = response.headers.get("content-type", "").startswith(_EVENTS)
        if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


@contextlib.asynccontextmanager
async def http_transport(address: ServerAddress) -> AsyncIterator["TransportStreams"]:
    headers = {name: value.reveal() for name, value in address.headers.items()}
    async with (
        httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers},
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS),
            transport=_BoundedTransport(address),
        ) as client,
        streamable_http_client(
            address.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES
        ) as streams,
    ):
        yield streams
