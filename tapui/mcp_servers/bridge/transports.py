"""The two ways to a server: its standard streams, and HTTP.

As the package's own stdio transport, but no line can fill the memory, text that is no message goes
to a stream instead of an exception's traceback, and so does standard error.
"""

import asyncio
import contextlib
import os
import signal
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from tapui.invocation import INSIDE
from tapui.mcp_servers.bridge.answers import UNREAD, Answers
from tapui.mcp_servers.bridge.output import ServerOutput, printed, read_lines
from tapui.runtime.children.lines import MAX_LINE_BYTES, LineSplitter, LongLine
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
    answers = Answers(partial(output.put, "log"))

    async def read() -> None:
        async with from_server:
            try:
                lines = MessageLines()
                while data := await from_it.read(_CHUNK):
                    for line in lines.feed(data):
                        for message in _messages(line, answers, output):
                            await from_server.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                pass  # the session is over
            finally:
                ended.set()

    async def write() -> None:
        try:
            async with to_server:
                async for message in to_server:
                    answers.asked(message.message)
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


class MessageLines(LineSplitter):
    """Lines, and as one line a message that is printed over several, from `{` to `}`."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[bytes] = []
        self._open_size = 0

    def feed(self, data: bytes) -> Iterator[bytes | LongLine]:
        for line in super().feed(data):
            if isinstance(line, bytes) and line.rstrip() == b"{":
                yield from self._close()
            elif not self._open:
                yield line
                continue
            elif isinstance(line, LongLine) or line.startswith(b'{"'):
                yield from self._close()
                yield line
                continue
            self._open.append(line)
            self._open_size += len(line)
            if line.rstrip() == b"}" or self._open_size > MAX_LINE_BYTES:
                yield from self._close()

    def _close(self) -> Iterator[bytes]:
        if self._open:
            yield b" ".join(self._open)
            self._open.clear()
            self._open_size = 0


def _messages(
    line: bytes | LongLine, answers: Answers, output: ServerOutput
) -> list[types.JSONRPCMessage]:
    """Return the messages of a line; what is none goes to the log."""
    if isinstance(line, LongLine):
        dropped = f"a message of {line.size / 2**20:.1f} MiB was dropped"
        output.put("log", dropped)
        id_ = answers.id_in(line.first, line.last)
        return [] if id_ is None else [answers.refusal(id_, dropped)]
    found = answers.read(line)
    if not found and line.strip():
        output.put("log", f"not a message, on standard output: {printed(line[:_CHUNK])}")
    return found


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


class AnswerTooLarge(httpx2.ReadError):
    """An answer of more than `MAX_ANSWER_BYTES`."""


class UnusableEnvironment(Exception):  # noqa: N818 - a state of the machine
    """What the environment names as its proxy or as its certificates cannot be used."""


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


class ReadStream(httpx2.AsyncByteStream):
    """An answer's body as the package reads it: bounded, uncompressed, its messages mended.

    `request` is what it answers; a status that is an error stays one where the body has no message.
    """

    def __init__(
        self, response: httpx2.Response, answers: Answers, request: types.RequestId | None
    ) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._answers = answers
        self._request = request
        self._is_refused = response.status_code >= 400
        kind = response.headers.get("content-type", "").lower()
        self._is_events = kind.startswith("text/event-stream")
        self._is_json = kind.startswith("application/json")
        coding = response.headers.pop("content-encoding", "").strip().lower()
        self._is_deflated = coding in ("gzip", "x-gzip", "deflate")
        if coding not in ("", "identity") and not self._is_deflated:
            raise httpx2.DecodingError(f"its answers are compressed with {coding[:40]}")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = self._inflated() if self._is_deflated else aiter(self._stream)
        if self._is_events:
            async for event in self._events(parts):
                yield event
            return
        body = bytearray()
        async for part in parts:
            body += part
            _check(len(body))
        if self._is_json and self._request is not None:
            yield self._json(bytes(body), self._request)
        else:
            yield bytes(body)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def _inflated(self) -> AsyncIterator[bytes]:
        inflating = zlib.decompressobj(wbits=47)  # with the header of gzip or that of zlib
        try:
            async for part in self._stream:
                inflated = inflating.decompress(part, MAX_ANSWER_BYTES)
                if inflating.unconsumed_tail:
                    raise _too_large()
                yield inflated
        except zlib.error as error:
            raise httpx2.DecodingError(f"its compressed answer cannot be read: {error}") from None

    def _json(self, body: bytes, request: types.RequestId) -> bytes:
        for message in self._answers.read(body, request):
            if isinstance(message, types.JSONRPCResponse):
                return _text(message)
            if isinstance(message, types.JSONRPCError) and not (
                self._is_refused and message.error.message.startswith(UNREAD)
            ):
                return _text(message)
        if self._is_refused:
            return body
        return _text(self._answers.refusal(request, f"{UNREAD}: it is no message"))

    async def _events(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        lines = LineSplitter()
        data: list[bytes] = []
        size = 0
        async for part in parts:
            for line in lines.feed(part):
                if isinstance(line, LongLine):
                    raise _too_large()
                if line.startswith(b"data:"):
                    data.append(line[5:])
                    size += len(line)
                    _check(size)
                elif line.rstrip(b"\r"):
                    yield line + b"\n"
                else:
                    yield self._event(data)
                    data.clear()
                    size = 0
        yield self._event(data)

    def _event(self, data: list[bytes]) -> bytes:
        """Return the rest of an event, whose other fields have gone before it."""
        text = b"\n".join(data)
        found = map(_text, self._answers.read(text, self._request)) if text.strip() else data[:1]
        return b"".join(b"data: " + message + b"\n\n" for message in found) or b"\n"


def _text(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _check(size: int) -> None:
    if size > MAX_ANSWER_BYTES:
        raise _too_large()


def _too_large() -> AnswerTooLarge:
    return AnswerTooLarge(f"an answer of more than {MAX_ANSWER_BYTES // 2**20} MiB")


_OWN_MACHINE = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""What no proxy is asked for."""


def _trusted() -> ssl.SSLContext | bool:
    """Return whom a connection trusts; True for `SSL_CERT_FILE`, `SSL_CERT_DIR` and the system."""
    bundle = os.environ.get("REQUESTS_CA_BUNDLE")
    if not bundle or os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return True
    if Path(bundle).is_dir():
        return ssl.create_default_context(capath=bundle)
    return ssl.create_default_context(cafile=bundle)


class _ReadingTransport(httpx2.AsyncBaseTransport):
    """Has the package read answers as `Answers` does, and remembers refusals."""

    def __init__(self, address: ServerAddress, answers: Answers) -> None:
        self._address = address
        self._answers = answers
        # A client in the client: only a whole one has the proxies of the environment.
        self._inner = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=64),
            mounts=dict.fromkeys(_OWN_MACHINE),
            verify=_trusted(),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = None
        if request.method == "POST":
            asked = types.jsonrpc_message_adapter.validate_json(request.content)
            self._answers.asked(asked)
        response = await self._inner.send(request, stream=True)
        if response.status_code >= 400:
            self._address.refused = response.status_code
        id_ = asked.id if isinstance(asked, types.JSONRPCRequest) else None
        try:
            response.stream = ReadStream(response, self._answers, id_)
        except httpx2.DecodingError:
            await response.aclose()
            raise
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


@contextlib.asynccontextmanager
async def http_transport(
    address: ServerAddress, output: ServerOutput
) -> AsyncIterator["TransportStreams"]:
    headers = {name: value.reveal() for name, value in address.headers.items()}
    try:
        reading = _ReadingTransport(address, Answers(partial(output.put, "log")))
    except (OSError, ImportError, ValueError, httpx2.InvalidURL) as error:
        raise UnusableEnvironment(str(error)) from None
    async with (
        httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers},
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS),
            transport=reading,
        ) as client,
        streamable_http_client(
            address.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES
        ) as streams,
    ):
        yield streams
