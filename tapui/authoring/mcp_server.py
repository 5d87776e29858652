"""An author's file as an MCP server on standard input and output.

What the file prints goes to standard error: standard output is the protocol's alone.
"""

import asyncio
import contextlib
import io
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from tapui.authoring.author_file import load
from tapui.hosts.mcp.door import McpDoor
from tapui.provider import Provider
from tapui.provider.calls import outcome_of
from tapui.wire.message import OfferedTool, ToolOutcome, ToolProgress

_INSTRUCTIONS = "Tools of the provider {name}."
_OUTPUT, _ERRORS = 1, 2


class ProviderTools:
    """A provider's tools, called in this process."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def tools(self) -> list[OfferedTool]:
        name = self._provider.name
        return [
            OfferedTool(tool.name, tool.description, tool.parameters, name)
            for tool in self._provider.tools
        ]

    def set_label(self, label: str) -> None:
        """The client's name is not used."""

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        tell: Callable[[ToolProgress], Awaitable[None]],
    ) -> ToolOutcome:
        news: asyncio.Queue[ToolProgress | None] = asyncio.Queue()

        async def tell_all() -> None:
            while (told := await news.get()) is not None:
                await tell(told)

        async with asyncio.TaskGroup() as group:
            group.create_task(tell_all())
            outcome = await outcome_of(self._provider, tool, arguments, news.put_nowait)
            news.put_nowait(None)
        return outcome


def run(path: Path) -> None:
    """Serve the file's tools until the input ends. Raises `LoadError`."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    with _output_to_errors():
        provider = load(path).provider
    # The thread that reads the input cannot be woken: an interrupt ends the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what is printed leaves while it may
    try:
        asyncio.run(_serve(provider))
    finally:
        os.dup2(_ERRORS, _OUTPUT)  # what is flushed at the end is no protocol either


@contextlib.contextmanager
def _output_to_errors() -> Iterator[None]:
    """Lead what this process and its children print to standard error, as the server does later."""
    protocol = os.dup(_OUTPUT)
    os.dup2(_ERRORS, _OUTPUT)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(protocol, _OUTPUT)
        os.close(protocol)


async def _serve(provider: Provider) -> None:
    door = McpDoor(
        ProviderTools(provider),
        name=provider.name,
        instructions=_INSTRUCTIONS.format(name=provider.name),
    )
    await door.serve()
