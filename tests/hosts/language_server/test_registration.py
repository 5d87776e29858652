"""Tools at a server that refuses a whole list for one of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Raw

from tapui.hosts.language_server.registration import ToolRegistration
from tapui.hosts.language_server.server import RequestRefusedError
from tapui.wire.message import OfferedTool


class Server:
    """A server with two tools of its own, which does not take tools named "bad"."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.tools: set[str] = set()
        self.changed = asyncio.Condition()

    async def ask(self, method: str, params: Any) -> Any:
        async with self.changed:
            self.changed.notify_all()
            if method == "conversation/unregisterTools":
                self.asked.append((method, params["toolIds"]))
                self.tools -= {one.removeprefix("copilot-editor.") for one in params["toolIds"]}
            else:
                names = [one["name"] for one in params["tools"]]
                self.asked.append((method, names))
                if "bad" in names:
                    raise RequestRefusedError("/tools/0/inputSchema/required")
                self.tools |= set(names)
        own = [{"name": "read_file", "type": "shared"}, {"name": "list_dir", "type": "shared"}]
        return [*own, *({"name": one, "type": "client"} for one in self.tools)]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(holds)


def tool(name: str, schema: bytes = b"{}") -> OfferedTool:
    return OfferedTool(name, "Does it.", Raw(schema), "p")


@asynccontextmanager
async def registering() -> AsyncIterator[tuple[ToolRegistration, Server, list[tuple[str, str]]]]:
    server, left_out = Server(), list[tuple[str, str]]()

    def on_left_out(name: str, why: str) -> None:
        left_out.append((name, why))

    registration = ToolRegistration(server.ask, on_left_out, quiet=0.0)
    await registration.begin()
    running = asyncio.ensure_future(registration.run())
    try:
        yield registration, server, left_out
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_the_servers_own_tools_are_known_and_not_registered_again() -> None:
    async with registering() as (registration, server, left_out):
        assert registration.own_tools == {"read_file", "list_dir"}
        registration.want([tool("read_file"), tool("a")])
        await server.until(lambda: server.tools == {"a"})
        registration.want([tool("read_file"), tool("b")])
        await server.until(lambda: server.tools == {"b"})
        assert left_out == [("read_file", "the server has a tool of its own with this name")]


async def test_one_bad_tool_costs_itself() -> None:
    async with registering() as (registration, server, left_out):
        registration.want([tool("a"), tool("bad"), tool("b")])
        await server.until(lambda: server.tools == {"a", "b"})
        wrong = b'{"properties": {"x": {"anyOf": []}}, "required": ["x"]}'
        registration.want([tool("a"), tool("wrong", wrong), tool("c")])
        await server.until(lambda: server.tools == {"a", "c"})
        assert ("bad", "the server refuses it: /tools/0/inputSchema/required") in left_out


async def test_the_whole_list_goes_each_time_and_what_is_gone_is_taken_back() -> None:
    async with registering() as (registration, server, _):
        registration.want([tool("a"), tool("b")])
        await server.until(lambda: server.tools == {"a", "b"})
        registration.want([tool("b")])
        await server.until(lambda: server.tools == {"b"})
        registration.want([tool("b"), tool("c")])
        await server.until(lambda: server.tools == {"b", "c"})
        assert server.asked == [
            ("conversation/registerTools", []),
            ("conversation/registerTools", ["a", "b"]),
            ("conversation/unregisterTools", ["copilot-editor.a"]),
            ("conversation/registerTools", ["b", "c"]),
        ]
