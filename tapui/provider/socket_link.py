"""A link over a WebSocket to a running gateway."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from websockets.frames import CloseCode

from tapui.client.gateways import GatewayError, NothingThere
from tapui.client.line import OPEN_SECONDS, ClientLine
from tapui.provider.link import LinkLost
from tapui.wire import codec
from tapui.wire.limits import MAX_RESULT_BYTES
from tapui.wire.message import Message
from tapui.wire.provider import ToProvider

MAX_FRAME = 2 * MAX_RESULT_BYTES
"""Bytes of a message of the gateway's."""


async def dial_socket(
    url: str, end: Path | None = None, *, within: float = OPEN_SECONDS
) -> "SocketLink":
    """Open a link to the gateway at `url`, such as `ws://localhost:9400`. Raises `LinkLost`.

    `end` is its Unix socket, which is used where it can be; `within` seconds it must be open.
    """
    try:
        link = SocketLink(url, MAX_FRAME)
        await link.connect(end, within)
    except NothingThere:
        raise LinkLost(f"no gateway answers at {url}") from None
    except GatewayError as error:
        raise LinkLost(str(error)) from None
    return link


@cache
def _reader() -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(ToProvider)


class SocketLink(ClientLine):
    """A `ReadyLink` on a socket; made by `dial_socket`."""

    def lost(self) -> Exception:
        reason = self.end.reason if self.end is not None else ""
        if self.end is not None and reason and self.end.code == CloseCode.TRY_AGAIN_LATER:
            return LinkLost(f"the gateway has no place: {reason}")
        why = reason or self.error
        return LinkLost("the gateway is gone" + (f": {why}" if why else ""))

    async def send(self, message: Message) -> None:
        await self.send_text(codec.encode(message))

    def offer(self, message: Message) -> bool:
        if not self.is_ready:
            return False
        self.write(codec.encode(message))
        return True

    async def receive(self) -> Message:
        while True:
            data = await self.next_text()
            try:
                message: Message = _reader().decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue  # of a newer gateway: unknown messages are ignored
            return message
