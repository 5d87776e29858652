"""One connection to a running gateway, in the tower's conversation."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import msgspec

from tapui.client.gateways import MAX_SNAPSHOT_BYTES, FoundGateway, Refused, silent
from tapui.client.line import OPEN_SECONDS
from tapui.client.socket import GatewaySocket
from tapui.invocation import hide, is_inside
from tapui.wire.events import AnyEvent, Entry
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Error, Message
from tapui.wire.provider import Sessions
from tapui.wire.tower import CommandWaits, Notice, ToTower, TowerEvent, TowerHello, TowerSnapshot

AnswerT = TypeVar("AnswerT", bound=Message)
_event_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyEvent)


class GatewayConnection(AbstractAsyncContextManager["GatewayConnection"]):
    """An open conversation with a gateway; make one with `GatewayConnection.open()`.

    `sessions` is the list that the gateway greeted with (foreground first), `snapshot` the state
    at the time of opening. Everything that comes later comes through `receive()`, in order.
    Closed when left as an async context manager.
    """

    def __init__(
        self,
        gateway: FoundGateway,
        socket: GatewaySocket,
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
        self.on_waits: Callable[[str], None] | None = None
        """Gets the text where the person is asked about this sender before a message of it is
        taken; None: it comes through `receive()`, as a `Notice`."""

    @classmethod
    async def open(
        cls,
        gateway: FoundGateway,
        *,
        role: str = "client",
        name: str = "tapui",
        on_waits: Callable[[str], None] | None = None,
        seconds: float = OPEN_SECONDS,
    ) -> "GatewayConnection":
        """Connect, authenticate and say hello.

        `role` is `"tower"` for a screen that stays, `"client"` for a command. Raises `NoGateway`
        when nothing, or nothing of ours, answers there, `NoPlace` when all places are taken,
        `Refused` when the gateway does not take us, and `GatewayLost` when it goes away meanwhile.
        """
        hide()
        socket = await GatewaySocket.open(
            gateway.url,
            gateway.token(),
            ToTower,
            max_bytes=MAX_SNAPSHOT_BYTES,
            end=gateway.socket,
            seconds=seconds,
        )
        try:
            async with asyncio.timeout(seconds):
                hello = TowerHello(
                    protocol_version=PROTOCOL_VERSION,
                    name=name,
                    role="tower" if role == "tower" else "client",
                    is_inside=is_inside(),
                )
                await socket.send(hello)
                snapshot = await socket.expect(TowerSnapshot)
        except TimeoutError:
            await socket.close()
            raise silent(gateway.url) from None
        except BaseException:
            await socket.close()
            raise
        connection = cls(gateway, socket, socket.sessions, snapshot)
        connection.on_waits = on_waits
        return connection

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._socket.close()

    def abort(self) -> None:
        """Cut the connection off, without a farewell."""
        self._socket.abort()

    @property
    def received_bytes(self) -> int:
        return self._socket.received_bytes

    async def send(self, message: Message) -> None:
        """Send a message; raises `GatewayLost`."""
        await self._socket.send(message)

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

    async def answer(self, request: Message, kind: type[AnswerT]) -> AnswerT:
        """Send a request that has an id, and return the message of this kind with the same id.

        Raises `Refused`, as `ask` does.
        """
        id_ = request.id  # type: ignore[attr-defined]  # as every request with an answer has

        def is_answer(came: Message | Entry) -> bool:
            return isinstance(came, kind) and came.id == id_  # type: ignore[attr-defined]  # see above

        came = await self.ask(request, is_answer)
        assert isinstance(came, kind)
        return came

    async def _next(self) -> Message | Entry:
        while True:
            came = self._read(await self._socket.receive())
            if came is not None:
                return came

    def _read(self, message: Message | None) -> Message | Entry | None:
        if isinstance(message, TowerSnapshot):
            self._run = message.run
        if isinstance(message, CommandWaits):
            if self.on_waits is None:
                return Notice(message.text, "warning")
            self.on_waits(message.text)
            return None
        if not isinstance(message, TowerEvent):
            return message if message is not None else self._unknown()
        try:
            event = _event_decoder.decode(message.event)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
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
