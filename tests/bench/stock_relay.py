"""A relay of tool calls as one writes it first: what the gateway's CPU per call is compared with.

`websockets.asyncio.server`, the standard `json`, a task, a future and a time-out per call; one
session, one provider, no records, no limits, no checks beyond the token.

    python -m tests.bench.stock_relay

prints `{"url", "pid"}` once it listens. The benchmarks' host and provider talk to it unchanged.
"""

import asyncio
import itertools
import json
import logging
import os
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

CALL_TIMEOUT = 120.0


class Relay:
    """One session of one host, and one provider's tools in it."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._host: ServerConnection | None = None
        self._provider: ServerConnection | None = None
        self._session: dict[str, Any] = {"id": "none"}
        self._pending: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._calls: set[asyncio.Task[None]] = set()

    async def connection(self, socket: ServerConnection) -> None:
        """Serve one client to its end."""
        async for text in socket:
            message = json.loads(text)
            kind = message["type"]
            if kind == "auth":
                await say(socket, type="sessions", active=[self._session])
            elif kind == "host.hello":
                self._host = socket
                await say(socket, type="host.ack", hostId="h-1", protocolVersion=2)
            elif kind == "session.open":
                self._session = message["session"]
                id_ = self._session["id"]
                await say(socket, type="session.opened", sessionId=id_, tools=[], revision=1)
            elif kind == "hello":
                self._provider = socket
                await say(socket, type="hello.ack", providerId="p-1", protocolVersion=2)
                if self._host is not None:
                    id_ = self._session["id"]
                    await say(self._host, type="tools.changed", sessionId=id_, tools=[])
            elif kind == "tool.invoke":
                call = asyncio.create_task(self._call(socket, message))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
            elif kind == "tool.result":
                waiting = self._pending.pop(message["id"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)

    async def _call(self, caller: ServerConnection, invoke: dict[str, Any]) -> None:
        assert self._provider is not None, "a provider is bound before the first call"
        id_ = f"c-{next(self._numbers)}"
        answer = self._pending[id_] = asyncio.get_running_loop().create_future()
        await say(
            self._provider,
            type="tool.call",
            id=id_,
            sessionId=invoke["sessionId"],
            tool=invoke["tool"],
            args=invoke["args"],
        )
        try:
            async with asyncio.timeout(CALL_TIMEOUT):
                result = await answer
        except TimeoutError:
            self._pending.pop(id_, None)
            outcome = {"error": "timed out", "errorCode": "TIMEOUT"}
        else:
            outcome = {"data": result["data"]}
        await say(caller, type="tool.outcome", id=invoke["id"], **outcome)


async def say(socket: ServerConnection, **message: Any) -> None:
    """Send one message, in the compact form that the benchmarks' clients look for."""
    await socket.send(json.dumps(message, separators=(",", ":")))


async def main() -> None:
    """Listen until killed."""
    # Clients of a benchmark leave without a close frame.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    async with serve(
        Relay().connection, "127.0.0.1", 0, compression=None, max_size=16 << 20
    ) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(json.dumps({"url": f"ws://127.0.0.1:{port}", "pid": os.getpid()}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
