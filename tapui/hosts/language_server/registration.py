"""The tools that are registered with the server: always the whole list, and never one too many.

One tool that the server refuses costs the whole list that it is in: it is looked for then, and the
others are registered without it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from tapui.hosts.language_server.server import RequestRefusedError
from tapui.hosts.language_server.shapes import Json, NotRegistrableError, registered
from tapui.wire.message import OfferedTool

QUIET = 0.2
"""Seconds without another list after which one is registered."""
MOST_TOOLS = 128
"""With more in one request to its model a turn of the server fails."""
_ID = "copilot-editor."
"""How the server's ids of registered tools begin; their names follow."""
_OWN = "shared"
"""The server's word for the type of its own tools."""
_BY_SERVER = "the server has a tool of its own with this name"

Ask = Callable[[str, Any], Awaitable[Any]]


class ToolRegistration:
    """The tools of the conversation with one server.

    `ask` sends a request. `always` are registered whichever others are; with them the server shows
    tools of its own that build on them. `on_left_out` takes a tool's name and why the agent does
    not have it, once for each reason; `on_registered` is called when the newest list is registered.
    `own_tools` are the server's and `always`, known after `begin`.
    """

    def __init__(
        self,
        ask: Ask,
        on_left_out: Callable[[str, str], None],
        on_registered: Callable[[], None] = lambda: None,
        *,
        always: Iterable[Json] = (),
        quiet: float = QUIET,
    ) -> None:
        self._ask = ask
        self._on_left_out = on_left_out
        self._on_registered = on_registered
        self._always: dict[str, Json] = {one["name"]: one for one in always}
        self._quiet = quiet
        self._wanted: list[OfferedTool] = []
        self._news = asyncio.Event()
        self._told: dict[str, str] = {}
        self.own_tools: frozenset[str] = frozenset()
        self.registered: dict[str, Json] = {}
        """What the server has of what is wanted, by name."""

    async def begin(self) -> None:
        """Find out which tools the server has itself. Raises `ServerError`."""
        tools = list(self._always.values())
        answer = await self._ask("conversation/registerTools", {"tools": tools})
        self.own_tools = _own(answer) | self._always.keys()

    def want(self, tools: Iterable[OfferedTool]) -> None:
        """Have these tools registered, and no other, once no other list has come for a while."""
        self._wanted = list(tools)
        self._news.set()

    async def run(self) -> None:
        """Register each list that is wanted, until it is cancelled. Raises `ServerError`."""
        while True:
            await self._news.wait()
            while self._news.is_set():
                self._news.clear()
                await asyncio.sleep(self._quiet)
            await self._bring_up_to_date()
            if not self._news.is_set():
                self._on_registered()

    async def _bring_up_to_date(self) -> None:
        usable: dict[str, Json] = {}
        left_out: dict[str, str] = {}
        for tool in self._wanted:
            if tool.name in self.own_tools:
                left_out[tool.name] = _BY_SERVER
                continue
            if len(usable) + len(self.own_tools) >= MOST_TOOLS:
                left_out[tool.name] = f"the server takes {MOST_TOOLS} tools, its own among them"
                continue
            try:
                usable[tool.name] = registered(tool)
            except NotRegistrableError as error:
                left_out[tool.name] = str(error)
        if any(self.registered.get(name) != one for name, one in usable.items()):
            left_out |= await self._register(usable)
        if gone := self.registered.keys() - usable.keys():
            ids = [f"{_ID}{one}" for one in sorted(gone)]
            with suppress(RequestRefusedError):  # a call of one is answered that it is gone
                await self._ask("conversation/unregisterTools", {"toolIds": ids})
        self.registered = usable
        for name, why in left_out.items():
            if self._told.get(name) != why:
                self._on_left_out(name, why)
        self._told = left_out

    async def _register(self, usable: dict[str, Json]) -> dict[str, str]:
        """Register tools; take those out that are refused, and return why."""
        refused: dict[str, str] = {}
        try:
            tools = [*self._always.values(), *usable.values()]
            await self._ask("conversation/registerTools", {"tools": tools})
        except RequestRefusedError:
            for name, tool in list(usable.items()):
                try:
                    await self._ask("conversation/registerTools", {"tools": [tool]})
                except RequestRefusedError as error:
                    refused[name] = f"the server refuses it: {error}"
                    del usable[name]
        return refused


def _own(answer: Any) -> frozenset[str]:
    return frozenset(
        one["name"]
        for one in (answer if isinstance(answer, list) else ())
        if isinstance(one, dict) and one.get("type") == _OWN and isinstance(one.get("name"), str)
    )
