"""A server at an address: streamable HTTP, with bounded answers and known failures."""

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
from mcp.client.streamable_http import streamable_http_client

from tapui.secret import Secret

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

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
    """Yield the streams of messages from the server and to it."""
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
