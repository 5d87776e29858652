"""`tapui install mcp` and `tapui uninstall mcp`: the MCP server for Copilot CLI, and its token."""

import asyncio
import json
import os
import shlex
import time
from pathlib import Path

from tapui.cli import output
from tapui.cli.failure import Failure
from tapui.client.errors import GatewayError, NoPlace, Refused
from tapui.client.socket import GatewaySocket
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, gateways
from tapui.home.tools_token import ToolsTokenFile
from tapui.hosts.copilot.install.mcp_config import McpConfig, NotOursError, own_entry
from tapui.hosts.mcp import package
from tapui.secret import Secret
from tapui.wire.errors import ErrorCode
from tapui.wire.host import ToHost
from tapui.wire.limits import MAX_FRAME_BYTES

_REVOKED_SECONDS = 5.0
"""How long a running gateway may take to see that the token is gone."""
_PAUSE = 0.1


def install(home: Home, *, is_dry: bool) -> None:
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


def uninstall(home: Home, *, is_dry: bool) -> None:
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
        token = None  # nobody takes what it holds
    if not file.remove():
        output.say("there is no token for tools")
        return
    output.say("revoked the token for tools")
    if token is not None:
        asyncio.run(_see_revoked(gateways(home), token))


async def _see_revoked(running: list[GatewayFile], token: Secret) -> None:
    for gateway in running:
        deadline = time.monotonic() + _REVOKED_SECONDS
        while not await _is_refused(gateway, token):
            if time.monotonic() > deadline:
                output.note(
                    f"the gateway at {gateway.url} has not taken the token back; end it: "
                    f"tapui stop --port {gateway.port}"
                )
                break
            await asyncio.sleep(_PAUSE)


async def _is_refused(gateway: GatewayFile, token: Secret) -> bool:
    """Return whether a gateway takes the token no longer, or is gone itself."""
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
