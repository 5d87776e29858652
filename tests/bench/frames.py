"""A WebSocket client that costs next to nothing: blocking socket, frames by hand, no masking work.

A load generator must be cheaper than what it measures. The mask key is zero, which leaves the
payload as it is; frames that arrive together are answered together.
"""

import base64
import json
import os
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_BUFFER = 1 << 20
_ACKS = {"host.hello": "host.ack", "tower.hello": "tower.snapshot"}
"""How a hello is answered, where that is not a `hello.ack`."""


def frame(payload: bytes, opcode: int = _TEXT) -> bytes:
    """Return one client frame (masked with zeros) around `payload`."""
    size = len(payload)
    first = 0x80 | opcode
    if size < 126:
        return struct.pack("!BBI", first, 0x80 | size, 0) + payload
    if size < 1 << 16:
        return struct.pack("!BBHI", first, 0x80 | 126, size, 0) + payload
    return struct.pack("!BBQI", first, 0x80 | 127, size, 0) + payload


class Frames:
    """A connection: `say` sends at once, `receive` returns whole text messages as bytes."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pending = bytearray()
        self._early: list[bytes] = []

    @classmethod
    def connect(cls, url: str, token: str, hello: dict[str, Any]) -> "Frames":
        """Connect, authenticate, say `hello` and wait for its ack (`session` defaults to the
        first one on offer). A fragment of `url` is the Unix socket by which to come."""
        parts = urlsplit(url)
        if parts.fragment:
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(parts.fragment)
        else:
            sock = socket.create_connection((parts.hostname or "localhost", parts.port or 80))
        sock.settimeout(30)
        key = base64.b64encode(os.urandom(16)).decode()
        sock.sendall(
            f"GET / HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            if not (more := sock.recv(4096)):
                raise ConnectionError(f"the handshake was refused: {head!r}")
            head += more
        head, _, rest = head.partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode("latin-1"))
        client = cls(sock)
        client._pending += rest
        client.say({"type": "auth", "token": token})
        sessions = client.expect("sessions")
        if hello["type"] == "hello":
            hello = {"session": sessions["active"][0]["id"], **hello}
        client.say(hello)
        client.expect(_ACKS.get(hello["type"], "hello.ack"))
        return client

    def say(self, message: dict[str, Any]) -> None:
        """Send one message."""
        self.socket.sendall(frame(json.dumps(message).encode()))

    def expect(self, type_: str, **fields: Any) -> dict[str, Any]:
        """Return the next message of `type_` with these `fields`; drop those before it."""
        while True:
            early = self._early or self.receive()
            self._early = []
            for i, raw in enumerate(early):
                message: dict[str, Any] = json.loads(raw)
                if message["type"] == "error":
                    raise ConnectionError(f"refused: {message}")
                if message["type"] == type_ and fields.items() <= message.items():
                    self._early = early[i + 1 :]
                    return message

    def receive(self) -> list[bytes]:
        """Wait for data; return the messages that it completed, perhaps none."""
        pending = self._pending
        if len(pending) < 2 or len(pending) < _span(pending, 0)[1]:
            data = self.socket.recv(_BUFFER)
            if not data:
                raise ConnectionError("closed by the gateway")
            pending += data
        at, whole = 0, []
        while len(pending) - at >= 2:
            start, end = _span(pending, at)
            if end > len(pending):
                break
            opcode = pending[at] & 0x0F
            payload = bytes(pending[start:end])
            at = end
            if opcode == _TEXT:
                whole.append(payload)
            elif opcode == _PING:
                self.socket.sendall(frame(payload, _PONG))
            elif opcode == _CLOSE:
                raise ConnectionError(f"closed by the gateway: {payload!r}")
        del pending[:at]
        return whole


def _span(data: bytearray, at: int) -> tuple[int, int]:
    """Return where the payload of the frame at `at` begins and ends (a mask is all zeros)."""
    size = data[at + 1] & 0x7F
    wide = {126: 2, 127: 8}.get(size, 0)
    start = at + 2 + wide + (4 if data[at + 1] & 0x80 else 0)
    if wide:
        if len(data) < at + 2 + wide:
            return start, len(data) + 1
        size = int.from_bytes(data[at + 2 : at + 2 + wide])
    return start, start + size
