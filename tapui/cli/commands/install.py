"""`tapui install`, `tapui uninstall` and `tapui mcp-door`: what tapui adds to Copilot CLI, and the
MCP server that MCP clients start."""

import argparse
import asyncio
import json
import os
import shlex
import sys
import time
from pathlib import Path

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import home, loaded, port_is_explicit
from tapui.cli.failure import Failure
from tapui.client.gateways import GatewayError, NoPlace, Refused
from tapui.client.socket import GatewaySocket
from tapui.files.private_file import EditedError, SealedFile
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, gateways
from tapui.home.tokens import ToolsTokenFile
from tapui.hosts.copilot.install.mcp_config import McpConfig, NotOursError, own_entry
from tapui.hosts.copilot.install.own_files import ExtensionFile, is_experimental, skill_files
from tapui.hosts.mcp import package
from tapui.invocation import command
from tapui.secret import Secret
from tapui.wire.errors import ErrorCode
from tapui.wire.host import ToHost
from tapui.wire.limits import MAX_FRAME_BYTES

COMMANDS = """
250 install: add tapui's extension, its MCP server or its skills to Copilot CLI
260 uninstall: remove tapui's extension, its MCP server or its skills from Copilot CLI
270 mcp-door: give an MCP client the tools of providers, on standard input and output
"""


_REVOKED_SECONDS = 5.0
"""How long a running gateway may take to see that the token is gone."""
_PAUSE = 0.1


def arguments(install: CommandParser, uninstall: CommandParser, door: CommandParser) -> None:
    install.runs(
        run,
        "extension: lets tapui into sessions of a plain `copilot`, once its experimental\n"
        "features are on. mcp: gives sessions the tools of providers, and nothing else;\n"
        "lines for other MCP clients are printed. skills: teaches agents to use emitters\n"
        "(/tap-loop), to watch and review (/tap-monitor), to prove goals (/tap-goal), to\n"
        "mend CI (/ci-fix), to write providers (/create-provider).\n"
        "The extension and the MCP server need no port. What you have changed stays.",
    )
    uninstall.runs(
        run, "mcp: the token for tools is revoked, also for MCP clients that are connected."
    )
    for parser in (install, uninstall):
        parser.add_argument(
            "what",
            choices=("extension", "mcp", "skills"),
            help="the extension of Copilot CLI, the MCP server `tapui mcp-door`, or skills for its "
            "agent",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only print what would be written, and where"
        )
        parser.set_defaults(is_removal=parser is uninstall)
    door.runs(
        run_door,
        "MCP clients start it (`tapui install mcp` prints their lines). It waits for a\n"
        "gateway. It needs the extra `tapui[mcp]`.",
    )
    add_port(door, "the gateway's port")


def run(args: argparse.Namespace) -> int:
    """Install or remove; raises `Failure` for files that a person has changed, once the others are
    done."""
    if args.what == "mcp":
        (_uninstall_mcp if args.is_removal else _install_mcp)(home(), is_dry=args.dry_run)
        return 0
    faults: list[str] = []
    copilot = home().copilot
    files: list[SealedFile] = (
        [*skill_files(copilot)] if args.what == "skills" else [ExtensionFile(copilot)]
    )
    act = _uninstall if args.is_removal else _install
    for file in files:
        try:
            act(file, is_dry=args.dry_run)
        except EditedError as error:
            faults.append(str(error))
    if args.what == "extension" and not args.is_removal and not (args.dry_run or faults):
        _tell_of_experiments(copilot)
    if faults:
        raise Failure("\n".join(faults))
    return 0


def _install(file: SealedFile, *, is_dry: bool) -> None:
    path = output.path_text(file.path)
    file.check()
    if file.state() == "installed":
        output.say(f"{path} is installed already")
    elif is_dry:
        written = file.content()
        output.say(f"would write {path} (mode 0600, {len(written):,} bytes, only you can read it):")
        output.say(written.decode(), newlines=True)
    else:
        file.install()
        output.say(f"wrote {path}")


def _tell_of_experiments(copilot_home: Path) -> None:
    if not is_experimental(copilot_home):
        output.note(
            "Copilot CLI loads extensions only with its experimental features; switch them on "
            f"once with: {command('copilot --experimental')}"
        )
    output.note(
        "In each repository Copilot asks whether the extension may “skip tool permission prompts, "
        "register hooks, handle permission requests”; its second choice is remembered. Prompts are "
        "skipped for tapui's own tools alone, where they only read or tapui guards them itself; "
        "Copilot goes on asking about those of providers."
    )


def _uninstall(file: SealedFile, *, is_dry: bool) -> None:
    path = output.path_text(file.path)
    file.check()
    if file.state() == "missing":
        output.say(f"{path} is not installed")
    elif is_dry:
        output.say(f"would remove {path}")
        for folder in filter(Path.is_dir, file.folders()):
            output.say(f"would remove {output.path_text(folder)} if nothing else is in it")
    else:
        file.uninstall()
        output.say(f"removed {path}; sessions that run keep it until they end")


# The MCP server for Copilot CLI, and its token


def _install_mcp(home: Home, *, is_dry: bool) -> None:
    """Write the entry and make the token; print the lines for other clients.

    Raises `Failure` for an entry that a person has changed.
    """
    config, token = McpConfig(home.copilot, own_entry(os.environ)), ToolsTokenFile(home.state)
    try:
        config.check()
        path = output.path_text(config.path)
        if config.state() == "installed":
            output.say(f"{path} has the entry tapui already")
        elif is_dry:
            output.say(f"would write the entry tapui into {path}:")
            output.say(json.dumps({"tapui": config.entry}, indent=2), newlines=True)
        else:
            config.install()
            output.say(f"wrote the entry tapui into {path}")
    except NotOursError as error:
        raise Failure(str(error)) from None
    _make_token(token, is_dry=is_dry)
    _tell_of_others(config)
    if (fault := package.fault()) is not None:
        output.note(f"{fault}: {package.install_line()}")


def _make_token(token: ToolsTokenFile, *, is_dry: bool) -> None:
    path = output.path_text(token.path)
    if is_dry:
        output.say(f"would make the token for tools in {path}, unless it is there")
    elif token.make():
        output.say(f"made the token for tools in {path} (mode 0600, only you can read it)")


def _tell_of_others(config: McpConfig) -> None:
    entry = config.entry
    line = shlex.join([entry["command"], *entry["args"]])
    settings = "".join(
        f"--env {shlex.quote(f'{name}={one}')} " for name, one in entry.get("env", {}).items()
    )
    server = {key: one for key, one in entry.items() if key != "tools"} | {"type": "stdio"}
    output.say("Other MCP clients:")
    output.say(f"  Claude Code: claude mcp add tapui {settings}-- {line}")
    output.say("  VS Code, in .vscode/mcp.json:")
    output.say(f"    {json.dumps({'servers': {'tapui': server}})}")


def _uninstall_mcp(home: Home, *, is_dry: bool) -> None:
    """Revoke the token, then take the entry out.

    Raises `Failure` for an entry that a person has changed; the token is revoked all the same.
    """
    config, token = McpConfig(home.copilot, own_entry(os.environ)), ToolsTokenFile(home.state)
    path = output.path_text(config.path)
    if is_dry:
        if token.path.exists():
            output.say(f"would revoke the token in {output.path_text(token.path)}")
        if config.state() in ("installed", "outdated"):
            output.say(f"would remove the entry tapui from {path}")
    else:
        _revoke(home, token)
    try:
        config.check()
        if config.state() == "missing":
            output.say(f"{path} has no entry tapui")
        elif not is_dry:
            config.uninstall()
            output.say(f"removed the entry tapui from {path}")
    except NotOursError as error:
        raise Failure(str(error)) from None


def _revoke(home: Home, file: ToolsTokenFile) -> None:
    """Remove the token, and see to it that every running gateway has taken it back."""
    try:
        token = file.read()
    except OSError:
        token = None  # no gateway takes what it holds
    if not file.remove():
        output.say("there is no token for tools")
        return
    output.say("revoked the token for tools")
    if token is not None:
        asyncio.run(_see_revoked(gateways(home), token))


async def _see_revoked(running: list[GatewayFile], token: Secret) -> None:
    for gateway in running:
        deadline = time.monotonic() + _REVOKED_SECONDS
        while not await is_refused(gateway, token):
            if time.monotonic() > deadline:
                output.note(
                    f"the gateway at {gateway.url} has not taken the token back; end it: "
                    f"tapui stop --port {gateway.port}"
                )
                break
            await asyncio.sleep(_PAUSE)


async def is_refused(gateway: GatewayFile, token: Secret) -> bool:
    """Return whether a gateway refuses the token, or is gone itself."""
    try:
        socket = await GatewaySocket.open(
            gateway.url,
            token.reveal(),
            ToHost,
            max_bytes=MAX_FRAME_BYTES,
            end=Path(gateway.socket) if gateway.socket else None,
        )
    except Refused as error:
        return error.code == ErrorCode.AUTH_FAILED
    except NoPlace:
        return False
    except GatewayError:
        return True
    await socket.close()
    return False


def run_door(args: argparse.Namespace) -> int:
    """Serve the client on standard input and output until it closes them."""
    if (fault := package.fault()) is not None:
        raise Failure(f"{fault}: {package.install_line()}")
    from tapui.hosts.mcp import process

    if sys.stdin.isatty():
        output.note(
            "this is a server for MCP clients, which start it themselves "
            f"({command('install mcp --dry-run')} prints their lines); Ctrl-C ends it"
        )
    found = loaded(args)
    process.run(home(), found.settings.port, is_explicit=port_is_explicit(found))
    return 0
