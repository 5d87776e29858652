"""A connection to a running gateway with an internal token: typed messages both ways."""

import asyncio
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

import msgspec

from tapui.client.gateways import GatewayLost, Refused, no_place, silent
from tapui.client.line import OPEN_SECONDS, ClientLine
from tapui.wire import codec
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Error, Message
from tapui.wire.provider import Auth, Sessions

M = TypeVar("M", bound=Message)


class GatewaySocket(ClientLine):
    """An authenticated connection; make one with `GatewaySocket.open()`.

    `sessions` is the gateway's greeting.
    """

    def __init__(self, url: str, understood: Any, max_bytes: int) -> None:
        super().__init__(url, max_bytes)
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
        opened = cls(url, understood, max_bytes)
        await opened.connect(end, seconds)
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

    def lost(self) -> Exception:
        reason = self.end.reason if self.end is not None else ""
        return GatewayLost("the gateway closed the connection" + (f": {reason}" if reason else ""))

    async def send(self, message: Message) -> None:
        """Send a message; raises `GatewayLost`."""
        await self.send_text(codec.encode(message))

    async def receive(self) -> Message | None:
        """Return the next message, or None for one of a type that is not understood.

        Raises `GatewayLost` when there will be none, or when it cannot be read.
        """
        data = await self.next_text()
        self.received_bytes += len(data)
        try:
            return self._decode(data)
        except WireError as error:
            raise GatewayLost(f"the gateway said something unreadable: {error.text}") from None

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


@cache
def _decoder(understood: Any) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(understood)


@cache
def _kinds(understood: Any) -> dict[str, type[Message]]:
    return {str(kind.__struct_config__.tag): kind for kind in get_args(understood)}
