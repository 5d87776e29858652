"""How long a save takes until the session has the new tool, through `tapui provider dev`."""

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.rig.gateway import Gateway, tapui_argv
from tests.rig.peers import Host

SOURCE = """
from tapui.provider import Provider

provider = Provider("saved")


@provider.tool
def {tool}(name: str) -> str:
    "Greet somebody by name."
    return f"Hello, {{name}}!"
"""


def saves(gateway: Gateway, folder: Path, times: int) -> list[float]:
    """Return the seconds from each of so many saves to the session's list with its tool, sorted."""
    return asyncio.run(_saves(gateway, folder, times))


async def _saves(gateway: Gateway, folder: Path, times: int) -> list[float]:
    file = folder / "saved.py"
    file.write_text(SOURCE.format(tool="tool_first"))
    found = []
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", foreground=True)
        dev = await asyncio.create_subprocess_exec(
            *tapui_argv("provider", "dev", str(file), "--session", "s1"),
            env=gateway.home.env(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            await _offered(host, "tool_first")
            for number in range(times):
                tool = f"tool_{number}"
                began = time.perf_counter()
                file.write_text(SOURCE.format(tool=tool))
                await _offered(host, tool)
                found.append(time.perf_counter() - began)
        finally:
            dev.terminate()
            await dev.wait()
    return sorted(found)


async def _offered(host: Host, tool: str) -> None:
    offered: dict[str, Any] = {}
    while tool not in str(offered):
        offered = await host.expect("tools.changed", sessionId="s1", within=30)
