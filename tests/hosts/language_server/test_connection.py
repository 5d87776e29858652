"""Messages to a server and back, over streams in memory."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tapui.hosts.language_server.connection import MAX_MESSAGE, RpcConnection, ServerError


class Server:
    """The other end: a socket pair in place of the process's pipes."""

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
        head = await self._reader.readuntil(b"\r\n\r\n")
        size = int(head.split(b"\r\n")[0].split(b":")[1])
        found: dict[str, Any] = json.loads(await self._reader.readexactly(size))
        return found


@asynccontextmanager
async def connected(
    handlers: dict[str, Any],
) -> AsyncIterator[tuple[RpcConnection, Server, Any]]:
    import socket

    here, there = socket.socketpair()
    ours = await asyncio.open_connection(sock=here)
    theirs = await asyncio.open_connection(sock=there)
    connection = RpcConnection(handlers)
    connection.write_to(ours[1])
    running = asyncio.ensure_future(connection.run(ours[0]))
    server = Server(*theirs)
    try:
        yield connection, server, running
    finally:
        server.close()
        await asyncio.gather(running, return_exceptions=True)
        ours[1].close()


async def test_a_request_of_ours_is_answered() -> None:
    async with connected({}) as (connection, server, _):
        asking = asyncio.ensure_future(connection.ask("getVersion", {"a-b": 1}, within=60))
        heard = await server.hear()
        assert (heard["method"], heard["params"]) == ("getVersion", {"a-b": 1})
        server.say(id=heard["id"], result={"version": "1", "jsonrpc": "2.0"})
        assert await asking == {"version": "1", "jsonrpc": "2.0"}


async def test_a_refusal_is_told() -> None:
    async with connected({}) as (connection, server, _):
        asking = asyncio.ensure_future(connection.ask("x", {}, within=60))
        server.say(id=(await server.hear())["id"], error={"code": -32602, "message": "/required"})
        with pytest.raises(ServerError, match="/required"):
            await asking


async def test_arguments_of_a_tool_keep_their_keys() -> None:
    async def invoke(params: Any) -> Any:
        return [params["input"], None]

    async with connected({"conversation/invokeClientTool": invoke}) as (_, server, _running):
        given = {"a-b": 1, "class": {"jsonrpc": "2.0", "id": 5}, "type_name": "x"}
        server.say(id=7, method="conversation/invokeClientTool", params={"input": given})
        heard = await server.hear()
        assert (heard["id"], heard["result"]) == (7, [given, None])


async def test_a_request_that_is_not_known_is_refused() -> None:
    async with connected({}) as (_, server, _running):
        server.say(id=1, method="workspace/applyEdit", params={})
        assert (await server.hear())["error"]["code"] == -32601


async def test_what_waits_fails_when_the_server_ends() -> None:
    async with connected({}) as (connection, server, running):
        asking = asyncio.ensure_future(connection.ask("x", {}, within=60))
        await server.hear()
        server.close()
        with pytest.raises(ServerError, match="the server is gone"):
            await asking
        await running


async def test_a_message_that_is_too_large_ends_it() -> None:
    async with connected({}) as (_, server, running):
        server.write(b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE + 1))
        with pytest.raises(ServerError, match="bytes at once"):
            await running
