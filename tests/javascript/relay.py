"""A way to a gateway that a test can cut, or hold up."""

import asyncio
from contextlib import suppress
from typing import Self


class Relay:
    """Passes connections on to a gateway's port, from a port of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server
        self.connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The relay's own port."""
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """What a provider connects to."""
        return f"ws://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Cut all connections, without a word."""
        for writer in self._writers:
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers |= {writer, back}
        head = await reader.readuntil(b"\r\n\r\n")
        back.write(head.replace(f":{self.port}".encode(), f":{self._port}".encode()))
        ways = [self._carry(reader, back), self._carry(there, writer)]
        task = asyncio.ensure_future(self._both(ways))
        self._tasks.add(task)
        await task

    async def _both(self, ways: list[object]) -> None:
        await asyncio.gather(*ways)  # type: ignore[call-overload]  # coroutines, all of them

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()
