"""Connections to the gateway's port that never authenticate: a program that its tests run.

`python -m tests.gateway.strangers PORT USER HOW ORIGINS ADDRESS`: 200 of them, of a user. HOW is
what they send, ORIGINS of how many pages they are (0: of programs). Once all have come there is a
line on standard output; they stay until standard input ends.
"""

import asyncio
import contextlib
import os
import sys

CONNECTIONS = 200
_TLS = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x0a" * 40
_HELLO = b'{"type":"hello","name":"p","protocolVersion":2,"session":"local","tools":[]}'
_DRIP = 0.2
"""Seconds between two headers of a request that has no end."""


def _head(port: int, number: int, origins: int) -> bytes:
    origin = f"Origin: https://{number % origins}.example\r\n" if origins else ""
    return (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Sec-WebSocket-Version: 13\r\n{origin}"
    ).encode()


async def _say(
    how: str, head: bytes, reader: asyncio.StreamReader, line: asyncio.Transport
) -> None:
    match how:
        case "nothing":
            return
        case "tls":
            line.write(_TLS)
        case "slow headers":
            line.write(head)
        case _:
            line.write(head + b"\r\n")
            await reader.readuntil(b"\r\n\r\n")
            if how == "hello":
                line.write(bytes((0x81, 0x80 | len(_HELLO))) + bytes(4) + _HELLO)


async def _stay(how: str, head: bytes, address: str, port: int, came: asyncio.Event) -> None:
    """Have a connection for as long as the gateway lets it be, then perhaps the next."""
    while True:
        with contextlib.suppress(OSError, EOFError):  # it was cut off
            reader, writer = await asyncio.open_connection(address, port)
            line = writer.transport
            try:
                with contextlib.suppress(OSError, EOFError):
                    await _say(how, head, reader, line)
                came.set()
                while how == "slow headers" and not line.is_closing():
                    await asyncio.sleep(_DRIP)
                    line.write(b"X-More: x\r\n")
                await reader.read()
                if how != "again at once":
                    await asyncio.Event().wait()  # it closes nothing by itself
            finally:
                line.abort()
        came.set()


async def _besiege(port: int, how: str, origins: int, address: str) -> None:
    each = [asyncio.Event() for _ in range(CONNECTIONS)]
    staying = [
        asyncio.create_task(_stay(how, _head(port, number, origins), address, port, came))
        for number, came in enumerate(each)
    ]
    for came in each:
        await came.wait()
    print("came", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    for one in staying:
        one.cancel()


if __name__ == "__main__":
    import encodings.idna  # noqa: F401 - another user may not read the library's files

    os.setuid(int(sys.argv[2]))
    asyncio.run(_besiege(int(sys.argv[1]), sys.argv[3], int(sys.argv[4]), sys.argv[5]))
