"""A JSON-RPC conversation over a pair of asyncio's streams."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tapui.jsonrpc.peer import (
    INTERNAL_ERROR,
    MAX_MESSAGE,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    FramingError,
    Id,
    Incoming,
    RpcAnswer,
    RpcNotification,
    RpcPeer,
    RpcRequest,
)

MAX_UNSENT = 32 * 1024 * 1024
"""Bytes that wait to be sent while the other end does not read; beyond, it is given up."""
MAX_REQUESTS = 1000
"""Requests of the other end that are worked on at once; further ones are refused."""
_CHUNK = 256 * 1024
_CANCEL = "$/cancelRequest"

OnRequest = Callable[[Any], Awaitable[Any]]
"""Takes the params of a request; returns its result, or raises `RpcRefusedError`."""
OnNotification = Callable[[Any], None]

_log = logging.getLogger(__name__)


class RpcError(Exception):
    """A request has no result; the text says why."""


class RpcRefusedError(RpcError):
    """The other end refused the request; the text is its reason, the code JSON-RPC's."""

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code


class RpcNoAnswerError(RpcError):
    """No answer came in time; it may come yet, and is then left aside."""


class RpcLostError(RpcError):
    """The connection has ended."""


class RpcConnection:
    """The conversation with whom `writer` leads to; `run` reads what comes from there.

    `requests` and `notifications` take what the other end asks and tells, by method: a request of
    another method is refused, a notification left aside; a request that None takes is left open.
    Notifications are taken in their order.
    `other` names the other end in errors.
    """

    def __init__(
        self,
        writer: asyncio.StreamWriter,
        *,
        requests: Mapping[str, OnRequest | None],
        notifications: Mapping[str, OnNotification],
        other: str,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        self._writer = writer
        self._requests = requests
        self._notifications = notifications
        self._other = other
        self._peer = RpcPeer(max_message=max_message)
        self._waiting: dict[Id, asyncio.Future[Any]] = {}
        self._work: dict[Id, asyncio.Task[None]] = {}
        """Requests of the other end under way."""
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why the connection has ended."""

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Take messages until the other end closes. Raises `RpcLostError` for nonsense.

        Requests without an answer fail then, and work for the other end is cancelled.
        """
        reading = asyncio.ensure_future(self._read(reader))
        both: set[asyncio.Future[Any]] = {reading, self._lost}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if self._lost.done():
                raise RpcLostError(self._lost.result())
            reading.result()
        finally:
            reading.cancel()
            self._end(f"{self._other} is gone")

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(_CHUNK):
                for message in self._peer.receive(data):
                    self._take(message)
        except FramingError as error:
            raise RpcLostError(f"{self._other} sent what cannot be read: {error}") from None
        except OSError as error:
            raise RpcLostError(f"{self._other} is gone: {error}") from None

    def _end(self, why: str) -> None:
        if not self._lost.done():
            self._lost.set_result(why)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(RpcLostError(self._lost.result()))
        self._waiting.clear()
        for work in self._work.values():
            work.cancel()

    def close(self) -> None:
        """End the conversation at once; requests without an answer fail."""
        self._end("the connection was closed")
        self._writer.close()

    # This end's messages

    async def ask(self, method: str, params: Any = None, *, within: float | None) -> Any:
        """Return the result of a request; it may take any time if `within` is None.

        Raises `RpcRefusedError`, `RpcNoAnswerError` after so many seconds, `RpcLostError`. A
        request that was given up is cancelled at the other end.
        """
        id_, data = self._peer.request(method, params)
        waiting = self._waiting[id_] = asyncio.get_running_loop().create_future()
        try:
            if self._lost.done():
                raise RpcLostError(self._lost.result())
            self._send(data)
            async with asyncio.timeout(within):
                return await waiting
        except TimeoutError:
            late = f"{self._other} did not answer {method} in {within:g} s"
            raise RpcNoAnswerError(late) from None
        finally:
            if self._waiting.pop(id_, None) is not None:
                self.tell(_CANCEL, {"id": id_})

    def tell(self, method: str, params: Any = None) -> None:
        """Send a notification; once the connection has ended, nothing."""
        self._send(self._peer.notification(method, params))

    def _send(self, data: bytes) -> None:
        if self._lost.done():
            return
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > MAX_UNSENT:
            self._lost.set_result(f"{self._other} does not read")

    # The other end's messages

    def _take(self, message: Incoming) -> None:
        if isinstance(message, RpcRequest):
            self._take_request(message)
        elif isinstance(message, RpcNotification):
            self._take_notification(message)
        elif (waiting := self._waiting.pop(message.id, None)) is None or waiting.done():
            _log.debug("an answer to no request of ours, or a late one: %r", message.id)
        elif isinstance(message, RpcAnswer):
            waiting.set_result(message.result)
        else:
            waiting.set_exception(RpcRefusedError(message.text, message.code))

    def _take_notification(self, told: RpcNotification) -> None:
        if told.method == _CANCEL:
            id_ = told.params.get("id") if isinstance(told.params, dict) else None
            if isinstance(id_, int | str) and (work := self._work.get(id_)) is not None:
                work.cancel()
        elif (take := self._notifications.get(told.method)) is not None:
            try:
                take(told.params)
            except Exception:  # noqa: BLE001 - logged; the conversation goes on
                _log.exception("a notification of %s failed: %s", self._other, told.method)

    def _take_request(self, asked: RpcRequest) -> None:
        if asked.method not in self._requests:
            self._refuse(asked.id, METHOD_NOT_FOUND, f"Method not found: {asked.method}")
        elif (answer := self._requests[asked.method]) is None:
            return
        elif len(self._work) >= MAX_REQUESTS or asked.id in self._work:
            self._refuse(asked.id, INTERNAL_ERROR, "too many requests at once")
        else:
            work = asyncio.get_running_loop().create_task(self._answer(asked, answer))
            self._work[asked.id] = work
            work.add_done_callback(lambda work: self._answered(asked.id, work))

    async def _answer(self, asked: RpcRequest, answer: OnRequest) -> None:
        try:
            data = self._peer.answer(asked.id, await answer(asked.params))
        except RpcRefusedError as error:
            self._refuse(asked.id, error.code or INTERNAL_ERROR, str(error))
        except Exception as error:  # noqa: BLE001 - logged, and told to the other end
            _log.exception("a request of %s failed: %s", self._other, asked.method)
            self._refuse(asked.id, INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        else:
            self._send(data)

    def _answered(self, id_: Id, work: "asyncio.Task[None]") -> None:
        del self._work[id_]
        if work.cancelled():
            self._refuse(id_, REQUEST_CANCELLED, "cancelled")

    def _refuse(self, id_: Id, code: int, text: str) -> None:
        self._send(self._peer.refusal(id_, code, text))
