"""One look at a running gateway: its state, and no more. It blocks, and needs no event loop."""

import contextlib
import socket
import time
from collections.abc import Iterator

import msgspec

from tapui.client.gateways import (
    MAX_SNAPSHOT_BYTES,
    FoundGateway,
    GatewayLost,
    Refused,
    gone,
    no_place,
    silent,
)
from tapui.client.websocket import GatewayWebSocket
from tapui.home import local_socket
from tapui.invocation import is_inside
from tapui.wire import codec
from tapui.wire.errors import ErrorCode
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Error
from tapui.wire.provider import Auth, Sessions
from tapui.wire.tower import TowerHello, TowerSnapshot

SECONDS = 5.0
"""For all of it."""
_PIECE = 256 * 1024
_understood: msgspec.json.Decoder[Sessions | TowerSnapshot | Error] = msgspec.json.Decoder(
    Sessions | TowerSnapshot | Error
)


def glance(gateway: FoundGateway, *, name: str, seconds: float = SECONDS) -> TowerSnapshot:
    """Return the gateway's state now. Blocks for up to `seconds`. Raises `GatewayError`."""
    token = gateway.token()
    websocket = GatewayWebSocket(gateway.url, MAX_SNAPSHOT_BYTES)
    try:
        line = _line(gateway, websocket, seconds)
    except TimeoutError:
        raise silent(gateway.url) from None
    except OSError:
        raise gone(gateway.url) from None
    with line:
        for message in _conversation(line, websocket, seconds):
            if message is None:
                websocket.send(codec.encode(Auth(token=token)))
            elif isinstance(message, Error):
                if message.code == ErrorCode.RATE_LIMITED:
                    raise no_place(gateway.url, message.message)
                raise Refused(message.code, message.message)
            elif isinstance(message, TowerSnapshot):
                return message
            else:
                websocket.send(
                    codec.encode(TowerHello(PROTOCOL_VERSION, name, "client", is_inside()))
                )
    raise AssertionError("a conversation ends by raising")


def _line(gateway: FoundGateway, websocket: GatewayWebSocket, seconds: float) -> socket.socket:
    if gateway.socket is not None:
        with contextlib.suppress(OSError):  # by TCP, then
            return local_socket.connect(gateway.socket)
    place = websocket.place
    return socket.create_connection((place.host, place.port), seconds)


def _conversation(
    line: socket.socket, websocket: GatewayWebSocket, seconds: float
) -> Iterator[Sessions | TowerSnapshot | Error | None]:
    """Yield None once the connection is open, then what comes. Raises `GatewayError` at the end."""
    until = time.monotonic() + seconds
    while True:
        was_open = websocket.is_open
        try:
            line.sendall(websocket.unsent()[0])
            line.settimeout(max(until - time.monotonic(), 0.001))
            came = line.recv(_PIECE)
        except TimeoutError:
            raise silent(websocket.url) from None
        except OSError:
            raise GatewayLost("the gateway closed the connection") from None
        texts = websocket.received(came)
        if websocket.is_open and not was_open:
            yield None
        yield from map(_read, texts)
        if not came or websocket.is_ending():
            raise GatewayLost("the gateway closed the connection")


def _read(data: bytes) -> Sessions | TowerSnapshot | Error:
    try:
        return _understood.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GatewayLost(f"the gateway said something unreadable: {error}") from None
