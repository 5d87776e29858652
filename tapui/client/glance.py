"""One look at a running gateway: its state, and no more.

For commands that run every few seconds: a blocking socket under websockets' own protocol. The event
loop alone would take a third of such a command's time to import.
"""

import contextlib
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from tapui.client.gateways import (
    MAX_SNAPSHOT_BYTES,
    FoundGateway,
    GatewayLost,
    Refused,
    gone,
    no_place,
    not_ours,
    silent,
)
from tapui.home import local_socket
from tapui.wire import codec
from tapui.wire.errors import ErrorCode
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Error, Message
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
    try:
        line = _line(gateway, seconds)
    except TimeoutError:
        raise silent(gateway.url) from None
    except OSError:
        raise gone(gateway.url) from None
    with line:
        protocol = ClientProtocol(parse_uri(gateway.url), max_size=MAX_SNAPSHOT_BYTES)
        for message in _conversation(gateway.url, line, protocol, seconds):
            if message is None:
                _say(protocol, Auth(token=token))
            elif isinstance(message, Error):
                if message.code == ErrorCode.RATE_LIMITED:
                    raise no_place(gateway.url, message.message)
                raise Refused(message.code, message.message)
            elif isinstance(message, TowerSnapshot):
                return message
            else:
                _say(protocol, TowerHello(PROTOCOL_VERSION, name, "client"))
    raise AssertionError("a conversation ends by raising")


def _line(gateway: FoundGateway, seconds: float) -> socket.socket:
    if gateway.socket is not None:
        with contextlib.suppress(OSError):  # by TCP, then
            return local_socket.connect(gateway.socket)
    where = urlsplit(gateway.url)
    return socket.create_connection((where.hostname or "", where.port or 80), seconds)


def _say(protocol: ClientProtocol, message: Message) -> None:
    protocol.send_text(codec.encode(message))


def _conversation(
    url: str, line: socket.socket, protocol: ClientProtocol, seconds: float
) -> Iterator[Sessions | TowerSnapshot | Error | None]:
    """Yield None once the connection is open, then what comes. Raises `GatewayError` at the end."""
    until = time.monotonic() + seconds
    protocol.send_request(protocol.connect())
    text = b""
    while True:
        try:
            for data in protocol.data_to_send():
                line.sendall(data)
            line.settimeout(max(until - time.monotonic(), 0.001))
            came = line.recv(_PIECE)
        except TimeoutError:
            raise silent(url) from None
        except OSError:
            raise GatewayLost("the gateway closed the connection") from None
        if came:
            protocol.receive_data(came)
        else:
            protocol.receive_eof()
        for event in protocol.events_received():
            if isinstance(event, Response):
                if protocol.handshake_exc is not None:
                    raise not_ours(url, event.status_code, event.body)
                yield None
            elif isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.CONT):
                text += event.data
                if event.fin:
                    yield _read(text)
                    text = b""
        if not came or protocol.close_expected():
            if protocol.handshake_exc is not None:
                raise not_ours(url)
            raise GatewayLost("the gateway closed the connection")


def _read(data: bytes) -> Sessions | TowerSnapshot | Error:
    try:
        return _understood.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GatewayLost(f"the gateway said something unreadable: {error}") from None
