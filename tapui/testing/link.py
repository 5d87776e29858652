"""A link without a socket, as bytes all the same: what it carries is read as on a real one."""

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from tapui.provider.link import LinkLost
from tapui.testing.gateway import MemoryGateway, TestedEnd
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.message import Error, Message
from tapui.wire.provider import ToProvider

_read: msgspec.json.Decoder[ToProvider] = msgspec.json.Decoder(ToProvider)


class MemoryLink:
    """The provider's end of a connection to a gateway in memory. Implements `Link`.

    `on_refusal` gets each refusal as it leaves the gateway.
    """

    def __init__(self, gateway: MemoryGateway, on_refusal: Callable[[Error], None]) -> None:
        self._gateway = gateway
        self._on_refusal = on_refusal
        self._inbox: deque[Message] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._lost: str | None = None
        self.sent = 0
        """Messages that the provider has sent."""
        self.number = gateway.connect_provider(TestedEnd(self._arrived, self._closed))
        gateway.run()

    @property
    def is_read(self) -> bool:
        """Whether the provider has taken everything that was sent to it."""
        return self._lost is not None or (not self._inbox and self._waiting is not None)

    async def send(self, message: Message) -> None:
        """Hand a message to the gateway, which has dealt with it when this returns."""
        if self._lost is not None:
            raise LinkLost(self._lost)
        data = encode(message)
        if len(data) > limits.MAX_FRAME_BYTES:
            self._gateway.left(self.number)
            self._closed(1009, f"a message has at most {limits.MAX_FRAME_BYTES} bytes")
            raise LinkLost("a message was too large for the gateway")
        self.sent += 1
        self._gateway.received(self.number, data)

    async def receive(self) -> Message:
        while not self._inbox:
            if self._lost is not None:
                raise LinkLost(self._lost)
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        return self._inbox.popleft()

    async def close(self) -> None:
        self.lose("closed by the provider")

    def lose(self, reason: str) -> None:
        """The connection breaks: neither end says a word."""
        if self._lost is None:
            self._gateway.left(self.number)
            self._closed(1006, reason)

    def _arrived(self, message: Message) -> None:
        if isinstance(message, Error):
            self._on_refusal(message)
        self._inbox.append(_read.decode(encode(message)))
        self._wake()

    def _closed(self, code: int, reason: str) -> None:
        if self._lost is None:
            self._lost = reason or f"closed by the gateway ({code})"
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
