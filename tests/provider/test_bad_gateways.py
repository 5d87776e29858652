"""Gateways that die, and such that talk nonsense: the provider goes on, or comes back."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tapui.provider import Provider
from tapui.provider.gateway_finder import GatewayFinder
from tapui.provider.link import LinkLost
from tapui.provider.serving import Serving
from tapui.provider.socket_link import dial_socket
from tapui.secret import Secret
from tests.provider.conftest import Told
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Json
from tests.rig.waiting import HUNG

ACK = {"type": "hello.ack", "protocolVersion": 2, "providerId": "p", "sessionId": "s"}
SESSIONS = {
    "type": "sessions",
    "active": [{"id": "s", "label": "s", "foreground": True, "state": "idle"}],
}
Talk = Callable[[ServerConnection], Awaitable[None]]


def new_provider() -> tuple[Provider, asyncio.Event, asyncio.Event]:
    """Return a provider, and what is set when its hanging call begins and is cancelled."""
    provider = Provider("lasting")
    begun, cancelled = asyncio.Event(), asyncio.Event()

    @provider.tool
    def sound() -> str:
        return "sound"

    @provider.tool
    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    return provider, begun, cancelled


@asynccontextmanager
async def serving(provider: Provider, dial: Any, token: Any) -> AsyncIterator[Told]:
    """Let a provider serve."""
    told = Told()
    work = asyncio.create_task(Serving(provider, dial, token=token, listener=told).run())
    try:
        yield told
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):  # it was cancelled here
            await work


# Real ones that die


@pytest.fixture
def short_home() -> Iterator[Home]:
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    yield Home(root)
    shutil.rmtree(root, ignore_errors=True)


async def test_a_gateway_that_is_killed_in_a_call_and_begins_anew(short_home: Home) -> None:
    provider, begun, cancelled = new_provider()
    finder = GatewayFinder(short_home.env())
    port = 0
    async with serving(provider, finder.dial, finder.token) as told:
        for times in (1, 2, 3):
            gateway = await asyncio.to_thread(Gateway, short_home, "--no-attach", port=port)
            port = gateway.port
            with gateway:
                async with await Host.hello(gateway.url, gateway.internal_token) as host:
                    await told.heard("bound: ", times=times)
                    await host.invoke("local", "sound", id_="a")
                    outcome = await host.expect("tool.outcome", id="a")
                    assert outcome["data"] == "sound"
                    await host.invoke("local", "hang", id_="b")
                    await begun.wait()
                    await asyncio.to_thread(gateway.kill)
                    await cancelled.wait()
            begun.clear()
            cancelled.clear()


# Such that talk nonsense


@asynccontextmanager
async def against(talk: Talk) -> AsyncIterator[tuple[Told, "asyncio.Queue[Json]"]]:
    """Serve a provider at a gateway that talks like `talk`; yield what both hear.

    Each connection is talked to anew.
    """
    heard: asyncio.Queue[Json] = asyncio.Queue()

    async def connected(socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):  # the provider has had enough
            await talk(socket)
            async for message in socket:
                heard.put_nowait(json.loads(message))

    provider, _, _ = new_provider()
    async with serve(connected, "127.0.0.1", 0, max_size=None) as server:
        port = server.sockets[0].getsockname()[1]
        url = f"ws://127.0.0.1:{port}"
        async with serving(provider, lambda: dial_socket(url), Secret("t")) as told:
            yield told, heard


async def bind(socket: ServerConnection) -> None:
    """Speak as a gateway does until the provider is bound."""
    assert json.loads(await socket.recv())["type"] == "auth"
    await socket.send(json.dumps(SESSIONS))
    assert json.loads(await socket.recv())["type"] == "hello"
    await socket.send(json.dumps(ACK))


def called(id_: str, tool: str = "sound", **more: Any) -> str:
    call = {"type": "tool.call", "id": id_, "sessionId": "s", "tool": tool, "args": {}, **more}
    return json.dumps(call)


async def answered(heard: "asyncio.Queue[Json]", id_: str) -> Json:
    async with asyncio.timeout(HUNG):
        while (message := await heard.get()).get("id") != id_:
            continue
    return message


NONSENSE: list[str | bytes] = [
    "",
    "{",
    "null",
    "[]",
    "{}",
    '{"type":"no.such.message","id":1}',
    '{"type":3}',
    b"\x00\xff binary",
    '{"type":"tool.call"}',
    '{"type":"tool.call","id":7,"sessionId":"s","tool":"sound","args":{}}',
    '{"type":"hello.ack"}',
    "[" * 100_000,
    '{"type":"error","code":"BRAND_NEW","message":"from a newer gateway"}',
    '{"type":"error","code":"INTERNAL","message":"","replyTo":"push"}',
    '{"type":"ack","requestId":"none","sessionId":"s","revision":1}',
    '{"type":"tool.cancel","id":"none","sessionId":"s","reason":""}',
    '{"type":"gate.check","gateId":"none","callId":"g","sessionId":"s","tool":"x","args":{}}',
    '{"type":"transform.request","callId":"t","sessionId":"s","section":"none","current":"x"}',
    '{"type":"stream.history","queryId":"none","streams":{}}',
    '{"type":"session.event","sessionId":"none","event":"x","data":[1]}',
    '{"type":"session.lifecycle","sessionId":7,"state":"shutdown.pending","deadline":1}',
    '{"type":"session.lifecycle","sessionId":"s","state":"no such state"}',
    '{"type":"sessions.updated","active":[]}',
]


async def test_nonsense_is_ignored() -> None:
    async def talk(socket: ServerConnection) -> None:
        await bind(socket)
        for number, said in enumerate(NONSENSE):
            await socket.send(said)
            await socket.send(called(f"c{number}"))

    async with against(talk) as (told, heard):
        for number, said in enumerate(NONSENSE):
            assert (await answered(heard, f"c{number}"))["data"] == "sound", said
        assert sum("bound: " in word for word in told.words) == 1


@pytest.mark.parametrize(
    "args", ["null", "[]", "3", '"x"', '{"a":' * 300 + "1" + "}" * 300, '{"unknown":1}', "1e999"]
)
async def test_arguments_of_any_kind_are_answered(args: str) -> None:
    async def talk(socket: ServerConnection) -> None:
        await bind(socket)
        await socket.send(called("c").replace('"args": {}', f'"args": {args}'))
        await socket.send(called("d"))

    async with against(talk) as (_, heard):
        assert (await answered(heard, "c")).keys() & {"data", "error"}
        assert (await answered(heard, "d"))["data"] == "sound"


async def test_two_calls_of_one_id_and_one_that_is_cancelled_twice() -> None:
    async def talk(socket: ServerConnection) -> None:
        await bind(socket)
        cancel = {"type": "tool.cancel", "id": "c", "sessionId": "s", "reason": "enough"}
        for message in (called("c", "hang"), called("c", "hang"), *[json.dumps(cancel)] * 3):
            await socket.send(message)
        await socket.send(called("d"))

    async with against(talk) as (_, heard):
        assert (await answered(heard, "c"))["errorCode"] == "CANCELLED"
        assert (await answered(heard, "d"))["data"] == "sound"


async def test_what_comes_before_the_hello_is_acknowledged_does_no_harm() -> None:
    async def talk(socket: ServerConnection) -> None:
        await socket.send(called("early"))
        await socket.send(json.dumps(ACK))
        await socket.send(json.dumps({**SESSIONS, "active": []}))
        await socket.send(json.dumps(SESSIONS))
        await socket.send(json.dumps(ACK))
        await socket.send(called("c"))

    async with against(talk) as (_, heard):
        assert (await answered(heard, "c"))["data"] == "sound"


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1011, 1013, 4000])
async def test_a_connection_that_is_closed_is_opened_anew(code: int) -> None:
    count = 0

    async def talk(socket: ServerConnection) -> None:
        nonlocal count
        count += 1
        await bind(socket)
        if count == 1:
            await socket.close(code, "go away")
        else:
            await socket.send(called("c"))

    async with against(talk) as (told, heard):
        assert (await answered(heard, "c"))["data"] == "sound"
        assert sum("bound: " in word for word in told.words) == 2


async def test_a_message_of_many_megabytes_does_not_end_it() -> None:
    async def talk(socket: ServerConnection) -> None:
        await bind(socket)
        await socket.send(called("c", args={"text": "x" * 4 * 2**20}))
        await socket.send(called("d"))

    async with against(talk) as (_, heard):
        assert (await answered(heard, "c")).keys() & {"data", "error"}
        assert (await answered(heard, "d"))["data"] == "sound"


@pytest.mark.parametrize(
    "url", ["ws://localhost:99999", "ws://localhost:port", f"ws://{'a' * 70}:9400", "nonsense"]
)
async def test_an_address_that_is_none_is_waited_for_with_words(url: str) -> None:
    with pytest.raises(LinkLost, match=r"no address of a gateway|no gateway answers"):
        await dial_socket(url)


async def test_a_connection_that_never_becomes_a_websocket_is_closed() -> None:
    closed = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        closed.set()

    async with await asyncio.start_server(mute, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(LinkLost, match="does not answer"):
            await dial_socket(f"ws://127.0.0.1:{port}", within=0.1)
        async with asyncio.timeout(HUNG):
            await closed.wait()
