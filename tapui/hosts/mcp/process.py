"""The door as a process: what it does from its start until its client closes its input."""

import asyncio
import contextlib
import importlib
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.home.paths import Home
from tapui.hosts.mcp.link import GatewayLink
from tapui.runtime.children.supervisor import LOG_FORMAT

if TYPE_CHECKING:
    from tapui.hosts.mcp.door import McpDoor

LABEL = "MCP client"
"""What the session is called until the client has said its name."""
FIRST_LIST = 1.0
"""Seconds that the first list of tools waits for the gateway: many clients ask for it only once."""


def run(home: Home, port: int, *, is_explicit: bool) -> None:
    """Serve until the input ends. Standard output is the protocol's alone."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=LOG_FORMAT)
    # The thread that reads the input cannot be woken: an interrupt ends the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(home, port, is_explicit=is_explicit))


async def _serve(home: Home, port: int, *, is_explicit: bool) -> None:
    doors: list[McpDoor] = []

    def changed() -> None:
        for door in doors:
            door.tools_changed()

    link = GatewayLink(
        home,
        port,
        is_explicit=is_explicit,
        label=LABEL,
        folder=Path.cwd(),
        on_change=changed,
    )
    linking = asyncio.create_task(link.run(), name="the link to the gateway")
    try:
        # The package takes most of a second to load: the gateway is found meanwhile.
        module = await asyncio.to_thread(importlib.import_module, "tapui.hosts.mcp.door")
        with contextlib.suppress(TimeoutError):  # a later list of tools reaches it as a change
            async with asyncio.timeout(FIRST_LIST):
                await link.settled.wait()
        doors.append(module.McpDoor(link))
        await doors[0].serve()
    finally:
        linking.cancel()
        await asyncio.wait([linking])
