"""The WebSocket server: sockets on one side, the gateway's `Door` on the other.

It carries whole text messages and decides nothing about them. No task and no future exists per
message or per connection: what arrives is handed to the door in the read callback, what the door
sends is collected and written once per turn of the event loop, compression is off.
"""

import asyncio
import importlib
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tapui.runtime.ports import Door, Flusher
from tapui.runtime.websocket.connections import MAX_TRANSIENT, ServerConnections, Timing
from tapui.runtime.websocket.listening import BACKLOG, open_loopback

if TYPE_CHECKING:
    from tapui.runtime.websocket.port import WebSocketPort

__all__ = ["Server", "Timing"]

_GOING_AWAY = 1001
_SHUTTING_DOWN = "the gateway is shutting down"


class Server:
    """Listens on both loopback addresses at one port and carries messages for `door`.

    Everything happens on the event loop that runs `start()`.
    """

    def __init__(
        self, door: Door, *, timing: Timing | None = None, max_transient: int = MAX_TRANSIENT
    ) -> None:
        self._door = door
        self._timing = timing or Timing()
        self._max_transient = max_transient
        self.connections: ServerConnections | None = None
        """None before the start and after the end."""
        self._listeners: list[asyncio.Server] = []

    @property
    def port(self) -> int:
        """The port that is listened on; 0 before `start()`."""
        return self.connections.port if self.connections else 0

    async def start(self, port: int, sockets: Sequence[socket.socket] = ()) -> int:
        """Listen on `port` (0: any that is free), or on `sockets` opened before; return the port.

        Raises `PortTaken` or `ListenError` (see `listening`).
        """
        loop = asyncio.get_running_loop()
        sockets = sockets or await open_loopback(port)
        number: int = sockets[0].getsockname()[1]
        connections = ServerConnections(
            self._door,
            self._timing,
            loop,
            number,
            Flusher(loop),
            max_transient=self._max_transient,
        )
        for opened in sockets:
            listener = await loop.create_server(
                lambda: _accept(connections), sock=opened, backlog=BACKLOG
            )
            self._listeners.append(listener)
        self.connections = connections
        return number

    async def listen(self, opened: socket.socket) -> None:
        """Listen on a Unix socket as well; call it once, after `start()`."""
        assert self.connections is not None, "the server has started"
        loop, connections = asyncio.get_running_loop(), self.connections
        listener = await loop.create_unix_server(
            lambda: _accept(connections), sock=opened, backlog=BACKLOG
        )
        self._listeners.append(listener)

    def load(self) -> None:
        """Load the WebSocket library now, which the first client would wait for."""
        importlib.import_module("tapui.runtime.websocket.port")

    def flush(self) -> None:
        """Write what was sent in this turn now, instead of at the turn's end."""
        if self.connections:
            self.connections.flusher.flush()

    def drain(self) -> None:
        """Take no further connections (HTTP 503); open ones keep running."""
        if self.connections:
            self.connections.refusal = _SHUTTING_DOWN

    async def stop(self, drain_timeout: float = 2.0) -> None:
        """Close every connection (1001), wait at most `drain_timeout` seconds, cut off the rest.

        The port stays ours until the end, so that no other program takes it over half-way.
        """
        connections, self.connections = self.connections, None
        if connections is None:
            return
        connections.refusal = _SHUTTING_DOWN
        for connection in list(connections.sockets):
            connection.close(_GOING_AWAY, _SHUTTING_DOWN)
        connections.flusher.flush()
        try:
            async with asyncio.timeout(drain_timeout):
                await connections.empty.wait()
        except TimeoutError:
            pass  # the rest is cut off below
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        for connection in list(connections.sockets):
            connection.abort()
        await connections.empty.wait()


def _accept(connections: ServerConnections) -> "WebSocketPort":
    """Return the protocol of a new socket; the library is loaded with the first."""
    from tapui.runtime.websocket.port import WebSocketPort

    return WebSocketPort(connections)
