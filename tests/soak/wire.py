"""One connection of the soak: what is said and heard, without keeping any of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import websockets
from websockets.asyncio.client import ClientConnection

Json = dict[str, Any]

GONE = (OSError, websockets.WebSocketException, TimeoutError)
"""What a connection that failed, was refused or has ended raises."""


class Wire:
    """A connection to the gateway."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def say(self, **message: Any) -> None:
        """Send a message."""
        await self._socket.send(json.dumps(message))

    async def say_frame(self, frame: bytes, *, text: bool) -> None:
        """Send a frame as it is, in order or not."""
        await self._socket.send(frame, text=text)

    async def hear(self, within: float | None = None) -> Json:
        """Return the next message. Raises one of `GONE`."""
        async with asyncio.timeout(within):
            message: Json = json.loads(await self._socket.recv())
        return message

    async def hear_one(self, *types: str, within: float = 30.0) -> Json:
        """Return the next message of these types; others before it are dropped."""
        async with asyncio.timeout(within):
            while (message := await self.hear())["type"] not in types:
                pass
        return message

    def __aiter__(self) -> AsyncIterator[Json]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[Json]:
        while True:
            yield await self.hear()

    def cut(self) -> None:
        """Break the connection without a closing handshake."""
        self._socket.transport.abort()


@asynccontextmanager
async def connected(url: str, token: str | None, *, queue: int = 16) -> AsyncIterator[Wire]:
    """Connect, authenticate if there is a `token`; `queue` is how many messages wait unread."""
    async with websockets.connect(
        url, max_size=None, compression=None, close_timeout=2, max_queue=queue, proxy=None
    ) as socket:
        wire = Wire(socket)
        if token is not None:
            await wire.say(type="auth", token=token)
        yield wire
