"""Peers on the gateway's socket: providers, hosts and towers that say exactly what a test says."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import websockets
from websockets.asyncio.client import ClientConnection

from tests.rig.waiting import HUNG

Json = dict[str, Any]

GREET: Json = {
    "name": "greet",
    "description": "Say hello",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
}


class Inbox:
    """Messages in the order in which they came; taken out by what they say."""

    def __init__(self) -> None:
        self.messages: list[Json] = []

    def take(self, type_: str | None, fields: Json) -> Json | None:
        """Remove and return the first message of `type_` that has all `fields`."""
        for i, message in enumerate(self.messages):
            if (type_ is None or message.get("type") == type_) and all(
                message.get(key) == value for key, value in fields.items()
            ):
                return self.messages.pop(i)
        return None


class Peer:
    """One connection. Messages that a test does not ask for stay in `inbox`.

    A coroutine may wait in `expect` while the connection is read in the background.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.inbox = Inbox()
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def connect(
        cls, url: str, *, token: str | None = None, end: Path | None = None, **options: Any
    ) -> Self:
        """Connect; with a `token`, authenticate and wait for `sessions` (left in the inbox).

        `end` is the Unix socket by which to come; `options` go to `websockets.connect` (`origin`,
        `additional_headers` …).
        """
        how: Json = {"max_size": None, "compression": None, **options}
        if end is None:
            socket = await websockets.connect(url, **how)
        else:
            socket = await websockets.unix_connect(str(end), url, **how)
        peer = cls(socket)
        if token is not None:
            await peer.send({"type": "auth", "token": token})
            peer.inbox.messages.insert(0, await peer.expect("sessions"))
        return peer

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _read(self) -> None:
        try:
            # How it was closed is for `close_code` to tell.
            with suppress(websockets.ConnectionClosed):
                async for frame in self._socket:
                    self.inbox.messages.append(json.loads(frame))
                    self._news.set()
        finally:
            self._news.set()

    @property
    def is_open(self) -> bool:
        """Whether the connection still stands."""
        return not self._reading.done()

    async def send(self, message: Json | str | bytes) -> None:
        """Send a message, or a frame exactly as it is given."""
        await self._socket.send(json.dumps(message) if isinstance(message, dict) else message)

    async def expect(self, type_: str, *, within: float = HUNG, **fields: Any) -> Json:
        """Return the first message of `type_` with these `fields`; those passed over stay."""
        return await self._take(type_, fields, within)

    async def next(self, *, within: float = HUNG) -> Json:
        """Return the next message, whatever it is."""
        return await self._take(None, {}, within)

    async def _take(self, type_: str | None, fields: Json, within: float) -> Json:
        wanted = f"{type_ or 'a message'} {fields or ''}"
        try:
            async with asyncio.timeout(within):
                while (found := self.inbox.take(type_, fields)) is None:
                    if not self.is_open:
                        raise AssertionError(f"closed ({self.close_code}) before {wanted}: {self}")
                    self._news.clear()
                    await self._news.wait()
                return found
        except TimeoutError:
            raise AssertionError(f"no {wanted} within {within:g} s: {self}") from None

    async def closed(self, *, within: float = HUNG) -> int | None:
        """Wait until the other side has closed; return the close code."""
        async with asyncio.timeout(within):
            await self._socket.wait_closed()
        return self.close_code

    @property
    def close_code(self) -> int | None:
        """The code with which the connection closed."""
        return self._socket.close_code

    async def close(self) -> None:
        """Close this side and stop reading."""
        await self._socket.close()
        await asyncio.wait([self._reading])

    def drop(self) -> None:
        """Cut the connection without a word."""
        self._socket.transport.abort()

    def __repr__(self) -> str:
        return f"{type(self).__name__} with {[m.get('type') for m in self.inbox.messages]} unread"


class Provider(Peer):
    """A provider that is bound."""

    ack: Json

    @classmethod
    async def bind(
        cls,
        url: str,
        token: str,
        *,
        name: str = "greeter",
        tools: list[Json] | None = None,
        session: str | None = None,
        end: Path | None = None,
        **hello: Any,
    ) -> Self:
        """Connect and say hello to `session`, or to the first one there is."""
        provider = await cls.connect(url, token=token, end=end)
        active = (await provider.expect("sessions"))["active"]
        await provider.send(
            {
                "type": "hello",
                "name": name,
                "protocolVersion": 2,
                "session": session or active[0]["id"],
                "tools": [GREET] if tools is None else tools,
                **hello,
            }
        )
        provider.ack = await provider.expect("hello.ack")
        return provider

    @property
    def id(self) -> str:
        """The provider's id."""
        return str(self.ack["providerId"])

    async def answer(self, *, within: float = HUNG, **result: Any) -> Json:
        """Answer the next call with `result` (`data=…`, or `error=…, errorCode=…`)."""
        call = await self.expect("tool.call", within=within)
        await self.send({"type": "tool.result", "id": call["id"], **result})
        return call


class Host(Peer):
    """A host that has said hello."""

    ack: Json

    @classmethod
    async def hello(
        cls,
        url: str,
        internal_token: str,
        *,
        name: str = "test",
        hooks: bool = False,
        end: Path | None = None,
    ) -> Self:
        """Connect and say hello."""
        host = await cls.connect(url, token=internal_token, end=end)
        message = {"type": "host.hello", "name": name, "kind": "test", "protocolVersion": 2}
        await host.send({**message, "hooks": hooks})
        host.ack = await host.expect("host.ack")
        return host

    async def open(self, session_id: str, **session: Any) -> Json:
        """Open a session; return `session.opened`."""
        fields = {"id": session_id, "label": session_id, "cwd": "/", **session}
        await self.send({"type": "session.open", "session": fields})
        return await self.expect("session.opened", sessionId=session_id)

    async def offered(self, session_id: str, *names: str) -> None:
        """Wait until a session has these tools: a tower hears of a server's earlier."""
        told: Json = {"tools": []}
        while not {*names} <= {tool["name"] for tool in told["tools"]}:
            told = await self.expect("tools.changed", sessionId=session_id)

    async def invoke(
        self, session_id: str, tool: str, args: Json | None = None, *, id_: str = "i1", **more: Any
    ) -> None:
        """Call a tool; the outcome is for `expect("tool.outcome", id=id_)`."""
        await self.send(
            {
                "type": "tool.invoke",
                "id": id_,
                "sessionId": session_id,
                "tool": tool,
                "args": args or {},
                **more,
            }
        )


class Tower(Peer):
    """A tower that has its snapshot."""

    snapshot: Json

    @classmethod
    async def hello(cls, url: str, internal_token: str, *, end: Path | None = None) -> Self:
        """Connect, say hello, take the snapshot."""
        tower = await cls.connect(url, token=internal_token, end=end)
        await tower.send({"type": "tower.hello", "protocolVersion": 2})
        tower.snapshot = await tower.expect("tower.snapshot")
        return tower

    async def event(self, kind: str, *, having: str = "kind", within: float = HUNG) -> Json:
        """Return the next event of `kind` with a field; other events before it are dropped."""
        async with asyncio.timeout(within):
            while True:
                event: Json = (await self.expect("tower.event", within=within))["event"]
                if event["kind"] == kind and having in event:
                    return event
