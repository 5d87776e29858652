"""JSON-RPC with the server's process, over `pygls`.

pygls turns the parameters of messages that it has no types for into named tuples, which loses keys
that are no Python names, such as those of a tool's arguments; and it reads any length. So messages
stay decoded JSON here, and their bytes are bounded.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.protocol import JsonRPCProtocol

MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of a message of the server."""
MAX_WAITING = 32 * 1024 * 1024
"""Bytes that wait to be sent while the server does not read; beyond, it is given up."""
_HEADER = b"content-length:"
_CANCEL = "$/cancelRequest"

Handler = Callable[[Any], Awaitable[Any]]


class ServerError(Exception):
    """The server refused a request, did not answer in time, or is gone; the text says which."""


class RequestRefusedError(ServerError):
    """The server refused a request; the text is its reason."""


class _Protocol(JsonRPCProtocol):
    """Messages as they are, without types."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        # It is called for each object in a message, also for one in a tool's arguments.
        return data

    def handle_message(self, message: Any) -> None:
        """Hand on a whole message; one that is none is left aside."""
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            return
        id_, method, params = message.get("id"), message.get("method"), message.get("params")
        if isinstance(method, str) and id_ is None:
            if method != _CANCEL:
                self._handle_notification(method, params)
            elif isinstance(params, dict) and params.get("id") in self._request_futures:
                self._handle_cancel_notification(params["id"])
        elif isinstance(method, str) and isinstance(id_, int | str):
            self._handle_request(id_, method, params)
        elif isinstance(id_, str) and id_ in self._request_futures:
            future = self._request_futures.pop(id_)
            if future.cancelled():
                return
            error = message.get("error")
            if error is None:
                future.set_result(message.get("result"))
            else:
                about = error.get("message") if isinstance(error, dict) else error
                future.set_exception(RequestRefusedError(str(about)))


class _BoundedReader:
    """The server's output, whose messages have a largest size."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def readline(self) -> bytes:
        try:
            line = await self._reader.readline()
        except ValueError:
            raise ServerError("the server sent a header without an end") from None
        if line.lower().startswith(_HEADER):
            length = line[len(_HEADER) :].strip()
            if not length.isdigit() or len(length) > 9 or int(length) > MAX_MESSAGE:
                raise ServerError(f"the server sent more than {MAX_MESSAGE:,} bytes at once")
        return line

    async def readexactly(self, size: int) -> bytes:
        try:
            return await self._reader.readexactly(size)
        except asyncio.IncompleteReadError:
            return b""


class _BoundedWriter:
    """The server's input; `on_full` is called when it does not read."""

    def __init__(self, writer: asyncio.StreamWriter, on_full: Callable[[], None]) -> None:
        self._writer = writer
        self._on_full = on_full

    def write(self, data: bytes) -> None:
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > MAX_WAITING:
            self._on_full()

    def close(self) -> None:
        self._writer.close()


class RpcConnection(JsonRPCClient):
    """The connection to a server's streams: `write_to` one of them, then `run` with the other.

    `handlers` answer the server's requests and take its notifications, by method, with the decoded
    `params`; any other request gets -32601.
    """

    def __init__(self, handlers: dict[str, Handler]) -> None:
        super().__init__(_Protocol)
        # It logs what it cannot handle with all of its content.
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
        for method, handler in handlers.items():
            self.protocol.fm.features[method] = handler
        self._lost = asyncio.Event()

    def write_to(self, writer: asyncio.StreamWriter) -> None:
        self.protocol.set_writer(_BoundedWriter(writer, self._lost.set))

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Read messages until the server's output ends. Raises `ServerError` for nonsense."""
        reading = asyncio.ensure_future(
            run_async(self._stop_event, _BoundedReader(reader), self.protocol)
        )
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({reading, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                raise ServerError("the server does not read")
            reading.result()
        finally:
            for task in (reading, lost):
                task.cancel()
            # Their errors were raised above.
            await asyncio.gather(reading, lost, return_exceptions=True)
            self._fail_all("the server is gone")

    def _fail_all(self, why: str) -> None:
        for future in list(self.protocol._request_futures.values()):  # noqa: SLF001 - pygls has no other way
            if not future.done():
                future.set_exception(ServerError(why))

    async def ask(self, method: str, params: Any, *, within: float | None) -> Any:
        """Return the server's answer. Raises `ServerError`, also after `within` seconds."""
        try:
            async with asyncio.timeout(within):
                return await self.protocol.send_request_async(method, params)
        except TimeoutError:
            raise ServerError(f"the server did not answer {method} in {within:g} s") from None
        except JsonRpcException as error:
            raise ServerError(str(error)) from None

    def tell(self, method: str, params: Any) -> None:
        with suppress(BrokenPipeError):  # the end of its output tells
            self.protocol.notify(method, params)
