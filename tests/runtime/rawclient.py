"""A WebSocket client made by hand, for what a library would not let one do."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from websockets.frames import Frame, Opcode

from tests.rig.waiting import HUNG

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def request(
    port: int, *lines: str, host: str | None = None, first: str = "GET / HTTP/1.1"
) -> bytes:
    """Return a handshake request; `host` None is the right one, "" leaves the header out."""
    head = [first]
    if host != "":
        head.append(f"Host: {host or f'127.0.0.1:{port}'}")
    head += [
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {KEY}",
        "Sec-WebSocket-Version: 13",
        *lines,
    ]
    return "\r\n".join([*head, "", ""]).encode("latin-1")


def frame(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    """Return a masked frame."""
    return Frame(opcode, data, fin).serialize(mask=True)


def text(data: bytes | str) -> bytes:
    """Return a masked text frame."""
    return frame(Opcode.TEXT, data.encode() if isinstance(data, str) else data)


@dataclass(frozen=True)
class End:
    """Where a server listens: the number of its port, and the Unix socket, where that is meant."""

    port: int
    socket: Path | None = None


@dataclass
class RawClient:
    """A connection to the server, with frames read one by one."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def connect(cls, end: End | int, *, limit: int = 2**16) -> Self:
        """Open the connection only; a number is that of a port."""
        if isinstance(end, int):
            end = End(end)
        if end.socket is not None:
            return cls(*await asyncio.open_unix_connection(str(end.socket), limit=limit))
        return cls(*await asyncio.open_connection("127.0.0.1", end.port, limit=limit))

    @classmethod
    async def open(cls, end: End | int, *lines: str, limit: int = 2**16) -> Self:
        """Open the connection and complete the handshake."""
        client = await cls.connect(end, limit=limit)
        client.send(request(end if isinstance(end, int) else end.port, *lines))
        status, _ = await client.response()
        assert status == 101
        return client

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)

    async def response(self) -> tuple[int, bytes]:
        """Read an HTTP response; return its status and head and body. A refusal ends with it."""
        async with asyncio.timeout(HUNG):
            head = await self.reader.readuntil(b"\r\n\r\n")
            status = int(head.split(b" ", 2)[1])
            if status == 101:
                return status, head
            body = await self.reader.read()
            self.close()
        return status, head + body

    async def frame(self, within: float = HUNG) -> tuple[int, bytes]:
        """Read one unmasked frame; return its opcode and payload."""
        async with asyncio.timeout(within):
            first, second = await self.reader.readexactly(2)
            assert first & 0x70 == 0
            assert second < 0x80
            size = second
            if size == 126:
                size = int.from_bytes(await self.reader.readexactly(2), "big")
            elif size == 127:
                size = int.from_bytes(await self.reader.readexactly(8), "big")
            return first & 0x0F, await self.reader.readexactly(size)

    async def closing(self, within: float = HUNG) -> tuple[int, str]:
        """Read up to the close frame; return its code and reason."""
        while True:
            opcode, data = await self.frame(within)
            if opcode == Opcode.CLOSE:
                return int.from_bytes(data[:2], "big"), data[2:].decode()

    async def rest(self, within: float = HUNG) -> bytes:
        """Read until the server closes the socket, however it does."""
        async with asyncio.timeout(within):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""

    def close(self) -> None:
        """Cut the socket off."""
        self.writer.transport.abort()


def open_descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/dev/fd").iterdir()))
