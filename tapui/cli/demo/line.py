"""A line to the gateway: JSON messages over its public socket."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Origin

Json = dict[str, Any]

URL = "TAPUI_DEMO_URL"
TOKEN = "TAP_PROVIDER_TOKEN"  # noqa: S105 - a variable's name
PACE = "TAPUI_DEMO_PACE"
HOME = "TAPUI_DEMO_HOME"
COMMAND = "TAPUI_DEMO_COMMAND"
"""How the person runs tapui."""
_LISTS = ("sessions", "sessions.updated")


class GatewayLine:
    """One open connection. Sending and reading raise `ConnectionClosed` when it is gone."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, url: str, auth: Json, *, origin: str | None = None) -> "GatewayLine":
        socket = await connect(
            url, proxy=None, compression=None, origin=Origin(origin) if origin else None
        )
        line = cls(socket)
        await line.send("auth", **auth)
        return line

    async def send(self, type_: str, **fields: Any) -> None:
        await self._socket.send(json.dumps({"type": type_, **fields}))

    async def receive(self) -> Json:
        message: Json = json.loads(await self._socket.recv())
        return message

    async def until(self, *types: str) -> Json:
        """Return the next message of one of these types; what comes before it is passed over."""
        async for message in self:
            if message["type"] in types:
                return message
        raise AssertionError("reading ends by raising ConnectionClosed")

    async def __aiter__(self) -> AsyncIterator[Json]:
        while True:
            yield await self.receive()

    async def close(self) -> None:
        await self._socket.close()


def pace() -> float:
    """Return what all seconds are multiplied by."""
    return float(os.environ.get(PACE, "1"))


async def provide(name: str, session: str, tools: list[Json]) -> GatewayLine:
    """Connect as a provider of a session, with the token that this process was started with."""
    line = await GatewayLine.open(os.environ[URL], {"token": os.environ[TOKEN]})
    while session not in [one["id"] for one in (await line.until(*_LISTS))["active"]]:
        pass
    await line.send("hello", name=name, protocolVersion=2, session=session, tools=tools)
    await line.until("hello.ack")
    return line


def is_farewell(message: Json) -> bool:
    return (message["type"], message.get("state")) == ("session.lifecycle", "shutdown.pending")


async def post_until_farewell(line: GatewayLine, posts: Coroutine[None, None, None]) -> None:
    """Post as a provider does, until its session ends."""
    posting = asyncio.create_task(posts)
    try:
        async for message in line:
            if is_farewell(message):
                await line.send("goodbye", reason="the session ends")
                return
    finally:
        await ended([posting])  # it loses the gateway as we do


async def ended(tasks: Iterable["asyncio.Future[Any]"]) -> None:
    """Cancel tasks, which lose the gateway as we do; what else went wrong in them is raised."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    # Each is looked at.
    for end in await asyncio.gather(*ending, return_exceptions=True):
        if isinstance(end, Exception) and not isinstance(end, ConnectionClosed):
            raise end


def run(process: Coroutine[None, None, None]) -> None:
    """Run a process until it is done, told to end, or has lost the gateway."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the tower
    gone = (ConnectionClosed, InvalidHandshake, OSError, asyncio.CancelledError)
    with contextlib.suppress(*gone):  # it ends with the gateway, whichever way that goes
        asyncio.run(_until_told(process))


async def _until_told(process: Coroutine[None, None, None]) -> None:
    """Run a process; SIGTERM cancels it, so that it can clear up."""
    task = asyncio.ensure_future(process)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await task
