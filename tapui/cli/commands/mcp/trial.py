"""`tapui mcp test`: start a server for a moment, without a session; list its tools or call one."""

import argparse
import asyncio
import os
from typing import NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from tapui.cli import output
from tapui.cli.commands.mcp.table import the_one
from tapui.cli.context import home, loaded
from tapui.cli.failure import FAILED, Failure
from tapui.cli.tool_call import GivenArguments, check_arguments, find_tool, object_of, print_outcome
from tapui.consents.consents import Consented
from tapui.consents.mcp_servers import ServerConsents
from tapui.files.foreign_file import reason
from tapui.hosts.mcp import package
from tapui.invocation import command
from tapui.mcp_servers.messages import (
    AnsweredForm,
    FromBridge,
    MappedTool,
    ServerAsks,
    ServerLost,
    ServerReady,
    ServerStart,
    TrialCall,
    TrialEnded,
)
from tapui.mcp_servers.server_start import CannotStartError, server_start
from tapui.mcp_servers.shell.bridge_process import BridgeProcess
from tapui.text import cut, few
from tapui.wire.message import ToolOutcome

_DESCRIPTION = 70


def run(args: argparse.Namespace) -> int:
    """Start it, and print its tools or how the call ended."""
    if (fault := package.fault("MCP servers need")) is not None:
        raise Failure(f"{fault}: {package.install_line()}")
    entry = the_one(args)
    try:
        standing = ServerConsents(home().state).standing(entry)
    except OSError as error:
        raise Failure(f"{entry.name} cannot run in its folder: {reason(error)}") from None
    if not isinstance(standing, Consented):
        raise Failure(f"{entry.name} is not allowed yet: {command(f'mcp allow {entry.name}')}")
    settings = loaded(args).settings
    try:
        start = replace(
            server_start(entry, standing.entry, os.environ, ""),
            most_tools=settings.provider_tools,
        )
    except CannotStartError as error:
        raise Failure(f"{entry.name}: {error}") from None
    given = GivenArguments(object_of(args.args), tuple(args.values))
    trial = asyncio.run(_tried(start, args.tool, given, settings.timeouts.call))
    if args.json:
        output.say_json(_described(args.name, trial))
    elif trial.ended is None:
        _list(args.name, trial.ready, is_all=args.all)
    if trial.ended is None:
        return 0
    outcome = trial.ended.outcome
    if not args.json:
        _print(args.tool, trial.ended)
    return 0 if outcome.error_code is None else FAILED


class _Trial(NamedTuple):
    """A server's tools, and how the call ended, where there was one."""

    ready: ServerReady
    ended: TrialEnded | None = None


async def _tried(
    start: ServerStart, tool: str | None, given: GivenArguments, seconds: float
) -> _Trial:
    """Start a server, call a tool if one is named, and end it. Raises `Failure`.

    The call has `seconds`, as in a session. How long the start may take is the bridge's to know.
    """
    said: asyncio.Queue[ServerReady | ServerLost | TrialEnded] = asyncio.Queue()

    def take(message: FromBridge) -> None:
        if isinstance(message, ServerReady | ServerLost | TrialEnded):
            said.put_nowait(message)
        elif isinstance(message, ServerAsks):
            output.note(
                "it asks the person something, which is declined here: in a session, you "
                "would be asked"
            )
            bridge.send(AnsweredForm(message.id, "decline"))

    bridge = await BridgeProcess.start(os.environ, take)
    ended = asyncio.get_running_loop().create_task(bridge.wait())

    async def next_said(within: float | None = None) -> ServerReady | TrialEnded:
        coming = asyncio.get_running_loop().create_task(said.get())
        try:
            await asyncio.wait((coming, ended), timeout=within, return_when=asyncio.FIRST_COMPLETED)
        finally:
            coming.cancel()
        if coming.done() and not coming.cancelled():
            message = coming.result()
            if isinstance(message, ServerLost):
                hint = f"\n{message.hint}" if message.hint else ""
                raise Failure(f"{start.name}: {message.why}{hint}")
            return message
        if ended.done():
            raise Failure(f"{start.name}: its bridge ended: {ended.result()}")
        raise Failure(f"{start.name} has not answered within {seconds:g} s")

    try:
        bridge.send(replace(start, pinned=None))
        ready = await next_said()
        assert isinstance(ready, ServerReady), "nothing was called yet"
        if tool is None:
            return _Trial(ready)
        found = _named(tool, ready.tools)
        arguments = given.read(found.parameters)
        await check_arguments(found.name, arguments, found.parameters)
        bridge.send(TrialCall(found.offered_as or found.name, arguments))
        while not isinstance(called := await next_said(seconds), TrialEnded):
            pass  # its list of tools may have been read once more
        return _Trial(ready, called)
    finally:
        await bridge.stop()
        await ended


def _named(name: str, tools: list[MappedTool]) -> MappedTool:
    found = next((one for one in tools if one.offered_as == name), None) or find_tool(name, tools)
    if found.offered_as is None:
        raise Failure(f"{name} cannot be offered: {found.problem}")
    return found


def _list(name: str, ready: ServerReady, *, is_all: bool) -> None:
    about = f"{ready.server_name} {ready.server_version}".strip() or name
    tools = "1 tool" if len(ready.tools) == 1 else f"{len(ready.tools)} tools"
    output.say(f"{about}, protocol {ready.protocol}: {tools} in {ready.seconds:.1f} s")
    shown, rest = (ready.tools, []) if is_all else few(ready.tools)
    output.table(
        ["TOOL", "OFFERED AS", "DESCRIPTION"],
        [
            [one.name, one.offered_as or one.problem or "", _first_line(one.description)]
            for one in shown
        ],
    )
    for more in rest:
        output.say(f"  {more}: --all")


def _print(tool: str, ended: TrialEnded) -> None:
    output.note(f"{tool} ended after {ended.seconds:.2f} s")
    if ended.outcome.error_code is not None:
        print_outcome(ended.outcome)
        return
    result = _result(ended.outcome)
    # Unlike JSON for scripts it has its letters, and nothing that a terminal obeys.
    text = msgspec.json.format(msgspec.json.encode(result.get("data", result)), indent=2).decode()
    output.say(text, newlines=True)


def _result(outcome: ToolOutcome) -> dict[str, object]:
    """Return a result for the screen; of a file only its type and size: it goes with the server."""
    if outcome.error_code is not None:
        return {"errorCode": outcome.error_code, "error": outcome.error}
    if (file := outcome.file) is not None:
        shown = {"mimeType": file.mime_type, "size": file.size}
        return {"file": shown | ({"note": file.note} if file.note else {})}
    return {"data": None if outcome.data is UNSET else outcome.data}


def _described(name: str, trial: _Trial) -> dict[str, object]:
    ready = trial.ready
    listed: dict[str, object] = {
        "name": name,
        "serverName": ready.server_name,
        "serverVersion": ready.server_version,
        "protocol": ready.protocol,
        "seconds": ready.seconds,
        "tools": [
            {
                "name": one.name,
                "offeredAs": one.offered_as,
                "problem": one.problem,
                "description": one.description,
            }
            for one in ready.tools
        ],
    }
    if trial.ended is not None:
        listed["call"] = {"seconds": trial.ended.seconds, "outcome": _result(trial.ended.outcome)}
    return listed


def _first_line(text: str) -> str:
    return cut(text.strip().partition("\n")[0], _DESCRIPTION)
