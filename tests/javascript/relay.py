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
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self.cut()  # what was opened meanwhile
        await self._server.wait_closed()

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
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):  # either end may leave at any time
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
            self._writers.add(back)
            head = await reader.readuntil(b"\r\n\r\n")
            back.write(head.replace(f":{self.port}".encode(), f":{self._port}".encode()))
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()
