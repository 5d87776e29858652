"""`tapui mcp list`: each server, its file, its state and its tools; and which one a name means."""

import argparse
import asyncio
from collections.abc import Iterator, Sequence

from tapui.cli import output
from tapui.cli.context import folder_of, gateway, home
from tapui.cli.failure import FAILED, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, NoGateway
from tapui.consents.consents import Consented
from tapui.consents.mcp_servers import ServerConsents
from tapui.emitters.runner.environment import deciding
from tapui.hosts.mcp import package
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.config.reading import read_folder, read_own
from tapui.text import few, safe_text
from tapui.wire.mcp_servers import McpServer, McpServerState, McpTool

_TITLES = ("NAME", "STATE", "TOOLS", "SESSIONS", "PROGRAM", "FROM")
_PROGRAM = 50


def run(args: argparse.Namespace) -> int:
    """Print what runs, and what is configured besides."""
    entries = configured(args)
    running: list[McpServer] = []
    try:
        found = gateway(args)
    except NoGateway:
        output.note("no gateway runs: this is what the files say")
    else:
        try:
            running = asyncio.run(_running(found))
        except GatewayError as error:
            output.note(f"{error}\nthis is what the files say, and not what runs")
    running = [one for one in running if args.name in (None, one.name)]
    known = {(one.name, one.folder) for one in running}
    consents = ServerConsents(home().state)
    listed = running + [
        _resting(one, consents) for one in entries if (one.name, one.folder) not in known
    ]
    if args.json:
        for one in listed:
            output.say_json(one)
    elif listed:
        show(listed, entries, is_all=args.all)
    if consents.damage:
        output.note(consents.damage)
    if listed:
        note_package()
    else:
        output.note("there is no such server" if args.name else "no MCP server is configured")
    return FAILED if args.name and not listed else 0


async def _running(found: FoundGateway) -> list[McpServer]:
    async with await GatewayConnection.open(found, name="tapui mcp list") as connection:
        return list(connection.snapshot.state.mcp_servers)


def _resting(entry: ServerEntry, consents: ServerConsents) -> McpServer:
    state: McpServerState = "stopped"
    why = "it starts with the next session that wants it"
    program = ""
    try:
        standing = consents.standing(entry)
        program = standing.entry.program
        if not isinstance(standing, Consented):
            state, why = "notAllowed", standing.why or "you have not allowed it yet"
    except OSError as error:
        state, why = "failed", f"it cannot run in its folder: {error.strerror or error}"
    return McpServer(
        id="",
        name=entry.name,
        source=entry.source,
        state=state,
        program=program,
        file=entry.file,
        line=entry.line,
        folder=entry.folder,
        why=why,
    )


def show(servers: Sequence[McpServer], entries: Sequence[ServerEntry], *, is_all: bool) -> None:
    """Print them as a table, and under it what there is to say of each."""
    rows = [
        (
            one.name,
            "not allowed" if one.state == "notAllowed" else one.state,
            str(one.tool_count) if one.state == "ready" else "",
            str(len(one.sessions) or ""),
            one.program[:_PROGRAM],
            f"{output.path_text(one.file)}:{one.line}",
        )
        for one in servers
    ]
    output.table(_TITLES, rows, numbers=(2, 3))
    written = {(one.name, one.folder): one for one in entries}
    for one in servers:
        if entry := written.get((one.name, one.folder)):
            for line in _deciding(entry):
                output.say(f"  {one.name}: {line}")
        if one.why:
            output.say(f"  {one.name}: {one.why}" + (f"; {one.hint}" if one.hint else ""))
        shown = one.tools if is_all else few(one.tools)[0]
        for tool in shown:
            output.say(f"  {one.name}: {_mapping(tool)}")
        if (more := max(one.tool_count, len(one.tools)) - len(shown)) > 0:
            how = f"tapui mcp test {one.name} --all" if is_all else "--all"
            output.say(f"  {one.name}: and {more:,} more: {how}")


def _deciding(entry: ServerEntry) -> Iterator[str]:
    """Yield the variables that decide what runs; of a repository's file with their values."""
    for name, text in entry.env:
        for line in deciding([name]):
            yield line if entry.folder is None else f"{line}: {text.text}"


def _mapping(tool: McpTool) -> str:
    if tool.offered_as == tool.name:
        return tool.name
    if tool.offered_as is not None:
        return f"{tool.name} → {tool.offered_as}"
    return f"{tool.name} is not offered: " + (tool.problem or "it has changed, and waits for you")


# The servers of the person's file and of a folder's files


def configured(args: argparse.Namespace) -> list[ServerEntry]:
    """Return the servers of the person's file and of the folder's; what is wrong is noted.

    Of a name that the person's file has too, that one counts.
    """
    own = read_own(home())
    files = read_folder(folder_of(args))
    for file in (own, *files):
        for problem in file.problems:
            output.note(str(problem))
    names = {one.name for one in own.entries}
    found = [one for file in files for one in file.entries if one.name not in names]
    return [one for one in (*own.entries, *found) if args.name in (None, one.name)]


def the_one(args: argparse.Namespace) -> ServerEntry:
    """Return the server that is meant. Raises `Failure`."""
    found = configured(args)
    if found:
        return found[0]
    name = safe_text(args.name)
    raise Failure(f"there is no server {name} in your mcp.json or in {folder_of(args)}")


def note_package() -> None:
    """Note how the package that servers need is installed, where it is missing."""
    if (fault := package.fault("MCP servers need")) is not None:
        output.note(f"{fault}: {package.install_line()}")
