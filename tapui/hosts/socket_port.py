"""A host's end of the gateway over a socket: for a host in a process of its own."""

import asyncio
import logging

from tapui.client.gateways import GatewayLost
from tapui.client.socket import GatewaySocket
from tapui.hosts.port import Closed, Receive
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error, Message
from tapui.wire.surrogates import without_surrogates

MAX_WAITING_BYTES = 32 * 1024 * 1024
"""What waits to be sent while the gateway does not read; beyond, the connection is given up."""

_log = logging.getLogger(__name__)


class HostSocket:
    """A `HostPort` on an open socket. `receive` gets the gateway's greeting first."""

    def __init__(self, socket: GatewaySocket, receive: Receive, closed: Closed) -> None:
        self._socket = socket
        self._receive = receive
        self._closed = closed
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._loop.call_soon(self._deliver, socket.sessions)
        self._reading = asyncio.create_task(self._read(), name="read from the gateway")

    def send(self, message: Message) -> None:
        """Queue a message to the gateway.

        One that is larger than the gateway takes is answered with its error at once.
        """
        if not self._is_open or not self._socket.is_open:
            return
        try:
            data = encode(message)
        except UnicodeEncodeError:  # half of an emoji, as a JSON escape of the CLI may be
            data = encode(without_surrogates(message))
        if len(data) > limits.MAX_MESSAGE_BYTES:
            self._loop.call_soon(self._deliver, _too_large(message, len(data)))
            return
        self._socket.write(data)
        if self._socket.unsent_bytes > MAX_WAITING_BYTES:
            _log.error("the gateway does not read: the connection to it is given up")
            self._socket.abort()
            self._reading.cancel()
            self._lose()

    def close(self) -> None:
        """End the connection, once what waits was sent; `wait_closed()` waits for that."""
        self._is_open = False
        self._reading.cancel()

    async def wait_closed(self) -> None:
        await asyncio.wait([self._reading])
        await self._socket.close()

    def _deliver(self, message: Message) -> None:
        if self._is_open:
            try:
                self._receive(message)
            except Exception:  # noqa: BLE001 - logged
                # One message that is not handled is no reason to drop every session.
                _log.exception("a message of the gateway was not handled: %s", type(message))

    def _lose(self) -> None:
        if self._is_open:
            self._is_open = False
            self._closed()

    async def _read(self) -> None:
        try:
            while True:
                message = await self._socket.receive()
                if message is not None:
                    self._deliver(message)
        except GatewayLost as error:
            _log.info("%s", error)
            self._lose()


def _too_large(message: Message, size: int) -> Error:
    tag = str(message.__struct_config__.tag)
    text = f"a {tag} has at most {limits.MAX_MESSAGE_BYTES} bytes, this one has {size}"
    return Error(
        ErrorCode.PAYLOAD_TOO_LARGE,
        text,
        reply_to=tag,
        id=getattr(message, "id", None),
        session_id=getattr(message, "session_id", None),
    )
