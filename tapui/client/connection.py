"""One connection to a running gateway, in the tower's conversation (design section 6)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from types import TracebackType
from typing import Any, TypeVar, get_args

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
)

from tapui.client.errors import GatewayLost, NoGateway, Refused
from tapui.client.gateways import Gateway
from tapui.wire import codec
from tapui.wire.errors import WireError
from tapui.wire.events import AnyEvent, Entry
from tapui.wire.limits import MAX_FRAME_BYTES, PROTOCOL_VERSION
from tapui.wire.message import Error, Message
from tapui.wire.provider import Auth, Sessions
from tapui.wire.tower import Notice, ToTower, TowerEvent, TowerHello, TowerSnapshot

OPEN_TIMEOUT = 5.0
"""Seconds for the handshake, and again for the opening messages."""
CLOSE_TIMEOUT = 2.0
MAX_SNAPSHOT_BYTES = 8 * MAX_FRAME_BYTES
"""A snapshot holds the details of hundreds of calls, so it may be larger than any one message."""

M = TypeVar("M", bound=Message)

_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(ToTower)
_event_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyEvent)


class Connection(AbstractAsyncContextManager["Connection"]):
    """An open conversation with a gateway; make one with `Connection.open()`.

    `sessions` is the list that the gateway greeted with (foreground first), `snapshot` the state
    at the time of opening. Everything that comes later comes through `receive()`, in order.
    Closed when left as an async context manager.
    """

    def __init__(
        self,
        gateway: Gateway,
        socket: ClientConnection,
        sessions: Sessions,
        snapshot: TowerSnapshot,
    ) -> None:
        self.gateway = gateway
        self.sessions = sessions.active
        self.snapshot = snapshot
        self._socket = socket
        self._run = snapshot.run
        self._kept: deque[Message | Entry] = deque()
        self._told_of_unknown = False

    @classmethod
    async def open(
        cls, gateway: Gateway, *, role: str = "client", name: str = "tapui"
    ) -> "Connection":
        """Connect, authenticate and say hello.

        `role` is `"tower"` for a screen that stays, `"client"` for a command. Raises `NoGateway`
        when nothing (or nothing of ours) answers there, `Refused` when the gateway does not take
        us, and `GatewayLost` when it goes away meanwhile.
        """
        socket = await _connect(gateway)
        try:
            async with asyncio.timeout(OPEN_TIMEOUT):
                await _send(socket, Auth(token=gateway.token()))
                sessions = await _expect(socket, Sessions)
                await _send(
                    socket,
                    TowerHello(
                        protocol_version=PROTOCOL_VERSION,
                        name=name,
                        role="tower" if role == "tower" else "client",
                    ),
                )
                snapshot = await _expect(socket, TowerSnapshot)
        except TimeoutError:
            await socket.close()
            raise GatewayLost(f"the gateway at {gateway.url} does not answer") from None
        except BaseException:
            await socket.close()
            raise
        return cls(gateway, socket, sessions, snapshot)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave the gateway."""
        await self._socket.close()

    async def send(self, message: Message) -> None:
        """Send a message; raises `GatewayLost`."""
        await _send(self._socket, message)

    async def receive(self) -> Message | Entry:
        """Return the next message or event; raises `GatewayLost` when there will be none."""
        if self._kept:
            return self._kept.popleft()
        return await self._next()

    def __aiter__(self) -> AsyncIterator[Message | Entry]:
        return self._until_lost()

    async def _until_lost(self) -> AsyncIterator[Message | Entry]:
        while True:
            yield await self.receive()

    async def ask(
        self, message: Message, is_answer: Callable[[Message | Entry], bool]
    ) -> Message | Entry:
        """Send a request and return the first thing for which `is_answer` holds.

        What comes in between is kept for `receive()`. An `error` that refuses this very message
        (same type, and the same id where it has one) raises `Refused`.
        """
        await self.send(message)
        kind = str(message.__struct_config__.tag)
        own_id = getattr(message, "id", None)
        while True:
            came = await self._next()
            if is_answer(came):
                return came
            if isinstance(came, Error) and came.reply_to == kind and came.id in (None, own_id):
                raise Refused(came.code, came.message)
            self._kept.append(came)

    async def _next(self) -> Message | Entry:
        while True:
            try:
                came = self._read(await _receive(self._socket))
            except WireError as error:
                raise GatewayLost(f"the gateway said something unreadable: {error.text}") from None
            if came is not None:
                return came

    def _read(self, data: bytes) -> Message | Entry | None:
        message = _decode(data)
        if isinstance(message, TowerSnapshot):
            self._run = message.run
        if not isinstance(message, TowerEvent):
            return message if message is not None else self._unknown()
        try:
            event = _event_decoder.decode(message.event)
        except msgspec.DecodeError:
            return self._unknown()
        return Entry(run=self._run, seq=message.seq, ts=message.ts, event=event)

    def _unknown(self) -> Notice | None:
        """Tell once that the gateway is of another version; what it said is not for us."""
        if self._told_of_unknown:
            return None
        self._told_of_unknown = True
        return Notice(
            message=f"This gateway is tapui {self.gateway.version}; this version of tapui does not "
            "know everything that it tells.",
            level="warning",
        )


async def _connect(gateway: Gateway) -> ClientConnection:
    try:
        return await connect(
            gateway.url,
            proxy=None,
            compression=None,
            max_size=MAX_SNAPSHOT_BYTES,
            open_timeout=OPEN_TIMEOUT,
            close_timeout=CLOSE_TIMEOUT,
            ping_interval=None,  # the gateway pings
            user_agent_header=None,
        )
    except InvalidStatus as error:
        if error.response.status_code == 503:
            raise NoGateway(
                f"the gateway at {gateway.url} takes no further connection; "
                "close a tower or disconnect a provider first"
            ) from None
        raise NoGateway(
            f"what answers at {gateway.url} is no tapui gateway (HTTP {error.response.status_code})"
        ) from None
    except (InvalidHandshake, InvalidMessage, EOFError):
        raise NoGateway(f"what answers at {gateway.url} is no tapui gateway") from None
    except TimeoutError:
        raise NoGateway(f"the gateway at {gateway.url} does not answer") from None
    except OSError:
        raise NoGateway(f"the gateway at {gateway.url} is gone") from None


async def _send(socket: ClientConnection, message: Message) -> None:
    try:
        await socket.send(codec.encode(message), text=True)
    except ConnectionClosed as error:
        raise _lost(error) from None


async def _receive(socket: ClientConnection) -> bytes:
    try:
        return await socket.recv(decode=False)
    except ConnectionClosed as error:
        raise _lost(error) from None


def _lost(error: ConnectionClosed) -> GatewayLost:
    reason = error.rcvd.reason if error.rcvd is not None else ""
    return GatewayLost("the gateway closed the connection" + (f": {reason}" if reason else ""))


async def _expect(socket: ClientConnection, kind: type[M]) -> M:
    """Return the next message of a type; the opening has no other answers than this or an error."""
    while True:
        message = _decode(await _receive(socket))
        if isinstance(message, Error):
            raise Refused(message.code, message.message)
        if isinstance(message, kind):
            return message


def _decode(data: bytes) -> Message | None:
    """Read a message; None for one of a type that this version does not know."""
    try:
        message: Message = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        head = codec.envelope(data)
        kind = _kinds().get(head.type)
        return None if kind is None else codec.decode(data, head, kind)
    return message


@lru_cache(maxsize=1)
def _kinds() -> dict[str, type[Message]]:
    return {str(kind.__struct_config__.tag): kind for kind in get_args(ToTower)}
