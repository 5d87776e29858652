"""A conversation over sockets, with an end that is played."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tapui.jsonrpc.connection import (
    MAX_REQUESTS,
    MAX_UNSENT,
    RpcConnection,
    RpcLostError,
    RpcNoAnswerError,
    RpcRefusedError,
)
from tests.rig.waiting import HUNG, until_async

pytestmark = pytest.mark.machine


class Other:
    """The other end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    def close(self) -> None:
        self._writer.close()

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(HUNG):
            head = await self._reader.readuntil(b"\r\n\r\n")
            size = int(head.split(b"\r\n")[0].split(b":")[1])
            found: dict[str, Any] = json.loads(await self._reader.readexactly(size))
        return found


Connected = tuple[RpcConnection, Other, "asyncio.Future[None]"]


@asynccontextmanager
async def connected(**handlers: Any) -> AsyncIterator[Connected]:
    """Connect; `handlers` are `requests` and `notifications`. The last one given is `run`."""
    here, there = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=here)
    other = Other(*await asyncio.open_connection(sock=there))
    given = {"requests": {}, "notifications": {}, **handlers}
    connection = RpcConnection(writer, other="the server", **given)
    running = asyncio.ensure_future(connection.run(reader))
    try:
        yield connection, other, running
    finally:
        connection.close()
        await asyncio.gather(running, return_exceptions=True)
        other.close()


async def test_requests_are_answered_in_any_order() -> None:
    async with connected() as (connection, other, _):
        first = asyncio.ensure_future(connection.ask("a", {"b-c": 1}, within=HUNG))
        second = asyncio.ensure_future(connection.ask("d", within=None))
        heard = [await other.hear(), await other.hear()]
        assert [(one["method"], one.get("params")) for one in heard] == [
            ("a", {"b-c": 1}),
            ("d", None),
        ]
        other.say(id=heard[1]["id"], result="two")
        other.say(id=heard[0]["id"], result={"jsonrpc": "2.0"})
        assert (await first, await second) == ({"jsonrpc": "2.0"}, "two")


async def test_a_refusal_has_its_reason_and_its_code() -> None:
    async with connected() as (connection, other, _):
        asking = asyncio.ensure_future(connection.ask("x", within=HUNG))
        other.say(id=(await other.hear())["id"], error={"code": -32602, "message": "/required"})
        with pytest.raises(RpcRefusedError, match="/required") as refused:
            await asking
        assert refused.value.code == -32602


async def test_an_answer_after_its_time_is_left_aside_and_its_request_cancelled() -> None:
    async with connected() as (connection, other, _):
        with pytest.raises(RpcNoAnswerError, match=r"the server did not answer slow in 0\.01 s"):
            await connection.ask("slow", within=0.01)
        asked, cancelled = await other.hear(), await other.hear()
        assert (cancelled["method"], cancelled["params"]) == (
            "$/cancelRequest",
            {"id": asked["id"]},
        )
        other.say(id=asked["id"], result="late")
        other.say(id=12345, result="of nobody's")
        asking = asyncio.ensure_future(connection.ask("next", within=HUNG))
        other.say(id=(await other.hear())["id"], result="in time")
        assert await asking == "in time"


async def test_the_other_ends_requests_are_answered() -> None:
    async def echo(params: Any) -> Any:
        return [params["input"], None]

    async def refuse(_: Any) -> Any:
        raise RpcRefusedError("not today", -32000)

    async with connected(requests={"echo": echo, "refuse": refuse}) as (_, other, _running):
        given = {"a-b": 1, "class": {"jsonrpc": "2.0", "id": 5}}
        other.say(id="s7", method="echo", params={"input": given})
        heard = await other.hear()
        assert (heard["id"], heard["result"]) == ("s7", [given, None])
        other.say(id=1, method="refuse")
        assert (await other.hear())["error"] == {"code": -32000, "message": "not today"}
        other.say(id=2, method="unknown", params={})
        assert (await other.hear())["error"]["code"] == -32601


@pytest.mark.expects_error_log("a request of the server failed: fails")
@pytest.mark.expects_error_log("a request of the server failed: odd")
@pytest.mark.expects_error_log("a notification of the server failed: told")
async def test_a_fault_of_ours_costs_its_own_request_only() -> None:
    async def fail(_: Any) -> Any:
        raise KeyError("gone")

    async def odd(_: Any) -> Any:
        return object()

    def told(_: Any) -> None:
        raise ValueError("no")

    async with connected(requests={"fails": fail, "odd": odd}, notifications={"told": told}) as (
        _,
        other,
        running,
    ):
        other.say(method="told")
        other.say(id=1, method="fails")
        assert (await other.hear())["error"] == {"code": -32603, "message": "KeyError: 'gone'"}
        other.say(id=2, method="odd")
        assert (await other.hear())["error"]["code"] == -32603
        assert not running.done()


async def test_notifications_are_taken_in_their_order_and_others_left_aside() -> None:
    told: list[int] = []
    async with connected(notifications={"n": told.append}) as (connection, other, _):
        for number in range(100):
            other.say(method="n", params=number)
            other.say(method="other", params=number)
        await until_async(lambda: len(told) == 100, what="all of them")
        assert told == list(range(100))
        connection.tell("bye")
        assert await other.hear() == {"jsonrpc": "2.0", "method": "bye"}


async def test_a_request_that_is_cancelled_ends_and_is_refused() -> None:
    began = asyncio.Event()

    async def wait(_: Any) -> Any:
        began.set()
        await asyncio.Event().wait()

    async with connected(requests={"wait": wait}) as (_, other, _running):
        other.say(id=5, method="wait")
        await began.wait()
        other.say(method="$/cancelRequest", params={"id": 6})
        other.say(method="$/cancelRequest", params=[])
        other.say(method="$/cancelRequest", params={"id": 5})
        other.say(id=7, method="wait")
        other.say(method="$/cancelRequest", params={"id": 7})  # before its first step
        heard = [await other.hear(), await other.hear()]
        assert {one["id"]: one["error"]["code"] for one in heard} == {5: -32800, 7: -32800}


async def test_requests_at_once_are_bounded() -> None:
    async def wait(_: Any) -> Any:
        await asyncio.Event().wait()

    async with connected(requests={"wait": wait}) as (_, other, _running):
        for number in range(MAX_REQUESTS + 1):
            other.say(id=number, method="wait")
        heard = await other.hear()
        assert heard["id"] == MAX_REQUESTS
        assert "too many" in heard["error"]["message"]


async def test_requests_that_are_left_open_take_no_place() -> None:
    async def echo(params: Any) -> Any:
        return params

    async with connected(requests={"open": None, "echo": echo}) as (_, other, _running):
        for number in range(MAX_REQUESTS + 1):
            other.say(id=number, method="open")
        other.say(id="last", method="echo", params=[1])
        assert await other.hear() == {"jsonrpc": "2.0", "id": "last", "result": [1]}


async def test_what_waits_fails_when_the_other_end_goes() -> None:
    async with connected() as (connection, other, running):
        asking = asyncio.ensure_future(connection.ask("x", within=HUNG))
        await other.hear()
        other.close()
        with pytest.raises(RpcLostError, match="the server is gone"):
            await asking
        await running
        with pytest.raises(RpcLostError, match="the server is gone"):
            await connection.ask("y", within=HUNG)
        connection.tell("nobody hears")


async def test_what_waits_fails_when_it_is_closed_here() -> None:
    async with connected() as (connection, other, _):
        asking = asyncio.ensure_future(connection.ask("x", within=HUNG))
        await other.hear()
        connection.close()
        with pytest.raises(RpcLostError, match="the connection was closed"):
            await asking


async def test_what_is_no_message_ends_it() -> None:
    async with connected() as (_, other, running):
        other.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        with pytest.raises(RpcLostError, match="cannot be read: a header names no length"):
            await running


async def test_an_end_that_does_not_read_is_given_up() -> None:
    async with connected() as (connection, _, running):
        for _ in range(MAX_UNSENT // 2**20 + 16):
            connection.tell("much", "x" * 2**20)
        with pytest.raises(RpcLostError, match="the server does not read"):
            await running
