"""`tapui mcp test`: a server is started for a moment, without a session, and lists its tools."""

import argparse
import asyncio
import os
from typing import Any

from msgspec.structs import replace

from tapui.cli import output
from tapui.cli.failure import Failure
from tapui.cli.mcp.configured import the_one
from tapui.cli.starting import home
from tapui.emitters.folder_file import reason
from tapui.hosts.mcp import package
from tapui.invocation import command
from tapui.mcp_servers.consent.consents import MayRun, ServerConsents
from tapui.mcp_servers.consent.starting import CannotStartError, server_start
from tapui.mcp_servers.messages import FromBridge, MappedTool, ServerLost, ServerReady, ServerStart
from tapui.station.mcp_servers.bridge_process import BridgeProcess

_SECONDS = 60.0
"""How long a server may take to answer: some fetch a package first."""
_DESCRIPTION = 70


def run(args: argparse.Namespace) -> int:
    """Start it, and print what it says."""
    if (fault := package.fault("MCP servers need")) is not None:
        raise Failure(f"{fault}: {package.install_line()}")
    entry = the_one(args)
    try:
        standing = ServerConsents(home().state).standing(entry)
    except OSError as error:
        raise Failure(f"{entry.name} cannot run in its folder: {reason(error)}") from None
    if not isinstance(standing, MayRun):
        raise Failure(f"{entry.name} is not allowed yet: {command(f'mcp allow {entry.name}')}")
    try:
        start = server_start(entry, standing.entry, os.environ, "")
    except CannotStartError as error:
        raise Failure(f"{entry.name}: {error}") from None
    answer = asyncio.run(_tried(start))
    if isinstance(answer, ServerReady):
        _print(args, answer)
        return 0
    if answer is None:
        raise Failure(f"{entry.name} has not answered within {_SECONDS:g} s")
    raise Failure(f"{entry.name}: {answer.why}" + (f"\n{answer.hint}" if answer.hint else ""))


async def _tried(start: ServerStart) -> ServerReady | ServerLost | None:
    """Start a server; return the first that it says of itself, None for nothing."""
    said: asyncio.Future[ServerReady | ServerLost] = asyncio.get_running_loop().create_future()

    def take(message: FromBridge) -> None:
        if isinstance(message, ServerReady | ServerLost) and not said.done():
            said.set_result(message)

    bridge = await BridgeProcess.start(os.environ, take)
    ended = asyncio.get_running_loop().create_task(bridge.wait())
    try:
        bridge.send(replace(start, pinned=None))
        await asyncio.wait((said, ended), timeout=_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if said.done():
            return said.result()
        if ended.done():
            raise Failure(f"its bridge ended: {ended.result()}")
        return None
    finally:
        await bridge.stop()
        await ended


def _print(args: argparse.Namespace, ready: ServerReady) -> None:
    if args.json:
        output.say_json(
            {
                "name": args.name,
                "serverName": ready.server_name,
                "serverVersion": ready.server_version,
                "protocol": ready.protocol,
                "seconds": ready.seconds,
                "tools": [_described(one) for one in ready.tools],
            }
        )
        return
    about = f"{ready.server_name} {ready.server_version}".strip() or args.name
    tools = "1 tool" if len(ready.tools) == 1 else f"{len(ready.tools)} tools"
    output.say(f"{about}, protocol {ready.protocol}: {tools} in {ready.seconds:.1f} s")
    output.table(
        ["TOOL", "OFFERED AS", "DESCRIPTION"],
        [
            [one.name, one.offered_as or one.problem or "", _first_line(one.description)]
            for one in ready.tools
        ],
    )


def _described(tool: MappedTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "offeredAs": tool.offered_as,
        "problem": tool.problem,
        "description": tool.description,
    }


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _DESCRIPTION else f"{line[: _DESCRIPTION - 1]}…"
