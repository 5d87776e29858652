"""An echo server made of tapui's sockets, for the Autobahn suite: `python -m … PORT`.

Three things differ from the gateway, because the suite asks for them: messages may have 16 MiB,
binary messages are echoed instead of refused, and text that is not UTF-8 closes the connection
with 1007 instead of being answered with `INVALID_JSON`.
"""

import asyncio
import sys

from tapui.runtime.ports import Flusher, SocketPort
from tapui.runtime.websocket.connections import ServerConnections, Timing
from tapui.runtime.websocket.frames import Binary
from tapui.runtime.websocket.listening import open_loopback
from tapui.runtime.websocket.port import WebSocketPort

MOST = 16 * 1024 * 1024


class Echo:
    """A door that trusts everybody and sends back what it gets."""

    def refusal(self, origin: str | None) -> str | None:
        """Take everybody."""
        return None

    def opened(self, port: SocketPort) -> None:
        """Lift the limit of unauthenticated clients."""
        port.authenticated()

    def received(self, port: SocketPort, data: bytes) -> None:
        """Echo text, if it is text."""
        try:
            data.decode()
        except UnicodeDecodeError:
            port.close(1007, "not UTF-8")
        else:
            port.send(data)

    def received_oversized(self, port: SocketPort, start: bytes) -> None:
        """Never called: every message that is read is kept whole."""
        raise NotImplementedError

    def received_binary(self, port: SocketPort, size: int) -> None:
        """Never called: `EchoPort` answers binary messages itself."""
        raise NotImplementedError

    def drained(self, port: SocketPort) -> None:
        """Nothing waits for this."""

    def closed(self, port: SocketPort) -> None:
        """Nothing is kept."""


class EchoPort(WebSocketPort):
    """A socket that echoes binary messages too."""

    def binary_received(self, message: Binary) -> None:
        """Send them back through the library's state machine."""
        self._protocol.send_binary(message.data)
        self._collect()


async def serve(port: int) -> None:
    """Serve on `port` until the process is ended."""
    loop = asyncio.get_running_loop()
    sockets = await open_loopback(port)
    port = sockets[0].getsockname()[1]
    connections = ServerConnections(
        Echo(), Timing(), loop, port, Flusher(loop), max_whole=MOST, max_frame=MOST
    )
    for opened in sockets:
        await loop.create_server(lambda: EchoPort(connections), sock=opened)
    print(port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
