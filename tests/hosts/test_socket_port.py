"""A host's port on a real socket: order, sizes, a gateway that does not read or goes away."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve

from tapui.client.socket import GatewaySocket
from tapui.hosts.socket_port import HostSocket
from tapui.wire.codec import raw
from tapui.wire.errors import ErrorCode
from tapui.wire.host import SessionEvent, SessionUpdate, ToHost
from tapui.wire.limits import MAX_FRAME_BYTES, MAX_MESSAGE_BYTES
from tapui.wire.message import Error, Message, ToolInvoke
from tapui.wire.provider import Sessions
from tests.rig.waiting import until_async

Talk = Callable[[ServerConnection], Awaitable[None]]


class Ported:
    """A port, what it delivered, and whether it told of its end."""

    def __init__(self, socket: GatewaySocket) -> None:
        self.delivered: list[Message] = []
        self.closed = 0
        self.fails = False
        self.port = HostSocket(socket, self._receive, self._close)

    def _receive(self, message: Message) -> None:
        self.delivered.append(message)
        if self.fails:
            raise LookupError("no such session")

    def _close(self) -> None:
        self.closed += 1


Open = Callable[[Talk], Awaitable[Ported]]


@pytest.fixture
async def open_port() -> AsyncIterator[Open]:
    """Open a port at a gateway that greets, and then talks by the given function."""
    servers: list[Server] = []
    opened: list[Ported] = []

    async def open_one(talk: Talk) -> Ported:
        async def greet(peer: ServerConnection) -> None:
            assert json.loads(await peer.recv())["type"] == "auth"
            await peer.send('{"type": "sessions", "active": []}')
            await talk(peer)

        server = await serve(greet, "127.0.0.1", 0, max_size=None)
        servers.append(server)
        port = next(iter(server.sockets)).getsockname()[1]
        socket = await GatewaySocket.open(
            f"ws://127.0.0.1:{port}", "itk-1", ToHost, max_bytes=MAX_FRAME_BYTES
        )
        opened.append(Ported(socket))
        return opened[-1]

    yield open_one
    for one in opened:
        one.port.close()
        await one.port.wait_closed()
    for server in servers:
        server.close(close_connections=True)
        await server.wait_closed()


def event(number: int, size: int = 0) -> SessionEvent:
    return SessionEvent("s1", f"e{number}", raw({"text": "x" * size}))


async def test_greeting_comes_first_and_what_was_sent_leaves_in_order(open_port: Open) -> None:
    heard: list[Any] = []

    async def talk(peer: ServerConnection) -> None:
        heard.extend([json.loads(data)["event"] async for data in peer])

    ported = await open_port(talk)
    for number in range(100):
        ported.port.send(event(number))
    ported.port.close()
    await ported.port.wait_closed()
    await until_async(lambda: heard, what="the end of the connection")
    assert heard == [f"e{number}" for number in range(100)]
    ported.port.send(event(100))
    assert ported.closed == 0


async def test_greeting_is_delivered_first(open_port: Open) -> None:
    async def talk(peer: ServerConnection) -> None:
        await peer.send('{"type": "host.ack", "hostId": "h-1", "protocolVersion": 2}')
        await peer.wait_closed()

    ported = await open_port(talk)
    await until_async(lambda: len(ported.delivered) == 2, what="two messages")
    assert isinstance(ported.delivered[0], Sessions)


async def test_half_an_emoji_is_made_encodable(open_port: Open) -> None:
    heard: list[Any] = []

    async def talk(peer: ServerConnection) -> None:
        for _ in range(2):
            heard.append(json.loads(await peer.recv()))  # noqa: PERF401 - seen one by one
        await peer.wait_closed()

    ported = await open_port(talk)
    ported.port.send(SessionUpdate("s1", label="half \ud83d emoji"))
    ported.port.send(SessionEvent("s1", "e", raw({"half \ud83d": ["\udc00"]})))
    await until_async(lambda: len(heard) == 2, what="both")
    assert heard[0]["label"] == "half \N{REPLACEMENT CHARACTER} emoji"
    assert list(heard[1]["data"]) == ["half \N{REPLACEMENT CHARACTER}"]


async def test_message_that_is_too_large_is_answered_here_and_the_next_one_leaves(
    open_port: Open,
) -> None:
    heard: list[Any] = []

    async def talk(peer: ServerConnection) -> None:
        heard.append(json.loads(await peer.recv())["type"])
        await peer.wait_closed()

    ported = await open_port(talk)
    args = raw({"text": "x" * MAX_MESSAGE_BYTES})
    ported.port.send(ToolInvoke(id="c7", session_id="s1", tool="t", args=args))
    ported.port.send(event(1))
    await until_async(lambda: heard, what="the event")
    assert heard == ["session.event"]
    (answer,) = [one for one in ported.delivered if isinstance(one, Error)]
    assert (answer.code, answer.id, answer.session_id, answer.reply_to) == (
        ErrorCode.PAYLOAD_TOO_LARGE,
        "c7",
        "s1",
        "tool.invoke",
    )


@pytest.mark.expects_error_log("the gateway does not read")
async def test_gateway_that_does_not_read_is_given_up(open_port: Open) -> None:
    given_up = asyncio.Event()

    async def talk(peer: ServerConnection) -> None:
        peer.transport.pause_reading()
        await given_up.wait()
        peer.transport.abort()

    ported = await open_port(talk)
    for number in range(100):
        ported.port.send(event(number, size=1024 * 1024))
        if ported.closed:
            break
    given_up.set()
    assert ported.closed == 1


async def test_gateway_that_goes_away_is_told_once(open_port: Open) -> None:
    async def talk(peer: ServerConnection) -> None:
        await peer.close(1001, "going away")

    ported = await open_port(talk)
    await until_async(lambda: ported.closed, what="the end")
    ported.port.send(event(1))
    ported.port.close()
    await ported.port.wait_closed()
    assert ported.closed == 1


@pytest.mark.expects_error_log("a message of the gateway was not handled")
async def test_message_that_is_not_handled_costs_no_other(open_port: Open) -> None:
    go = asyncio.Event()

    async def talk(peer: ServerConnection) -> None:
        await go.wait()
        for _ in range(2):
            await peer.send('{"type": "session.abort", "sessionId": "s1"}')
        await peer.wait_closed()

    ported = await open_port(talk)
    await until_async(lambda: ported.delivered, what="the greeting")
    ported.fails = True
    go.set()
    await until_async(lambda: len(ported.delivered) == 3, what="both messages")
    assert ported.closed == 0
