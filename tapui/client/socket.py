"""A socket to a running gateway: opened with a token, typed messages both ways."""

import asyncio
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

import msgspec
from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus

from tapui.client.gateways import GatewayLost, NoGateway, Refused, gone, no_place, not_ours, silent
from tapui.home import local_socket
from tapui.wire import codec
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Error, Message
from tapui.wire.provider import Auth, Sessions

OPEN_SECONDS = 5.0
CLOSE_SECONDS = 2.0

M = TypeVar("M", bound=Message)


class GatewaySocket:
    """An authenticated connection; make one with `GatewaySocket.open()`.

    `sessions` is the gateway's greeting.
    """

    def __init__(self, socket: ClientConnection, understood: Any) -> None:
        self._socket = socket
        self._understood = understood
        self._decoder = _decoder(understood)
        self.sessions = Sessions(active=[])
        self.received_bytes = 0
        """Bytes of all messages that came."""

    @classmethod
    async def open(
        cls,
        url: str,
        token: str,
        understood: Any,
        *,
        max_bytes: int,
        end: Path | None = None,
        seconds: float = OPEN_SECONDS,
    ) -> Self:
        """Connect to the gateway at `url` and authenticate.

        `end` is its Unix socket, which is used where it can be. `understood` is the union of the
        messages that may come, `max_bytes` the largest of them, `seconds` the time for the
        handshake, and again for the opening messages.
        Raises `NoGateway` when nothing, or nothing of ours, answers there, `NoPlace` when all
        places are taken, `Refused` when the token is not accepted, and `GatewayLost` when the
        gateway goes away meanwhile.
        """
        opened = cls(await _connect(url, max_bytes, end, seconds), understood)
        try:
            async with asyncio.timeout(seconds):
                await opened.send(Auth(token=token))
                opened.sessions = await opened.expect(Sessions)
        except TimeoutError:
            await opened.close()
            raise silent(url) from None
        except Refused as error:
            await opened.close()
            if error.code == ErrorCode.RATE_LIMITED:
                raise no_place(url, error.text) from None
            raise
        except BaseException:
            await opened.close()
            raise
        return opened

    async def send(self, message: Message) -> None:
        """Send a message; raises `GatewayLost`."""
        await self.send_bytes(codec.encode(message))

    async def send_bytes(self, data: bytes) -> None:
        """Send a message that is encoded already; raises `GatewayLost`."""
        try:
            await self._socket.send(data, text=True)
        except ConnectionClosed as error:
            raise _lost(error) from None

    async def receive(self) -> Message | None:
        """Return the next message, or None for one of a type that is not understood.

        Raises `GatewayLost` when there will be none, or when it cannot be read.
        """
        try:
            data = await self._socket.recv(decode=False)
            self.received_bytes += len(data)
            return self._decode(data)
        except ConnectionClosed as error:
            raise _lost(error) from None
        except WireError as error:
            raise GatewayLost(f"the gateway said something unreadable: {error.text}") from None

    async def ping(self) -> None:
        """Return when the gateway has answered a ping; raises `GatewayLost`."""
        try:
            await (await self._socket.ping())
        except ConnectionClosed as error:
            raise _lost(error) from None

    async def expect(self, kind: type[M]) -> M:
        """Return the next message of a type; others are passed over. An error is `Refused`."""
        while True:
            message = await self.receive()
            if isinstance(message, Error):
                raise Refused(message.code, message.message)
            if isinstance(message, kind):
                return message

    def _decode(self, data: bytes) -> Message | None:
        try:
            message: Message = self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            head = codec.envelope(data)
            kind = _kinds(self._understood).get(head.type)
            return None if kind is None else codec.decode(data, head, kind)
        return message

    async def close(self) -> None:
        """Leave the gateway; when cancelled meanwhile, without waiting for its answer."""
        try:
            await self._socket.close()
        except asyncio.CancelledError:
            self._socket.transport.abort()
            raise


@cache
def _decoder(understood: Any) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(understood)


@cache
def _kinds(understood: Any) -> dict[str, type[Message]]:
    return {str(kind.__struct_config__.tag): kind for kind in get_args(understood)}


async def _connect(url: str, max_bytes: int, end: Path | None, seconds: float) -> ClientConnection:
    how: dict[str, Any] = {
        "compression": None,
        "max_size": max_bytes,
        "open_timeout": seconds,
        "close_timeout": CLOSE_SECONDS,
        "ping_interval": None,  # the gateway pings
        "user_agent_header": None,
    }
    line = await local_socket.reach(end, seconds) if end is not None else None
    try:
        if line is not None:
            return await unix_connect(uri=url, sock=line, **how)
        return await connect(url, proxy=None, **how)
    except InvalidStatus as error:
        raise not_ours(url, error.response.status_code, error.response.body) from None
    except (InvalidHandshake, InvalidMessage, EOFError):
        raise not_ours(url) from None
    except TimeoutError:
        raise NoGateway(f"the gateway at {url} does not answer") from None
    except OSError:
        raise gone(url) from None


def _lost(error: ConnectionClosed) -> GatewayLost:
    reason = error.rcvd.reason if error.rcvd is not None else ""
    return GatewayLost("the gateway closed the connection" + (f": {reason}" if reason else ""))
