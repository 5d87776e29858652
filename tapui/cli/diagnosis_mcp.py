"""What `tapui doctor` finds of the MCP door: its package, Copilot's entry, the token."""

import os
from collections.abc import Iterator
from pathlib import Path

from tapui.cli import output
from tapui.cli.diagnosed import Diagnosed, moved
from tapui.home.paths import Home
from tapui.home.tools_token import ToolsTokenFile
from tapui.hosts.copilot.install.mcp_config import NAME, McpConfig, own_entry
from tapui.hosts.mcp import package
from tapui.invocation import command

_ID = "mcp"


def mcp_door(folders: Home) -> Iterator[Diagnosed]:
    """Return what is to be said of it: little while it is not installed."""
    config = McpConfig(folders.copilot, own_entry(os.environ))
    token = ToolsTokenFile(folders.state)
    state, path, install = config.state(), output.path_text(config.path), command("install mcp")
    if state == "missing" and not token.path.exists():
        text = "the MCP door is not installed: other MCP clients do not get the providers' tools"
        yield Diagnosed(_ID, "ok", text, install)
        return
    match state:
        case "missing":
            text = f"{path} has no entry {NAME}: Copilot CLI does not start the MCP door"
            yield Diagnosed(_ID, "ok", text, install)
        case "edited":
            text = f"the entry {NAME} in {path} was not written by tapui, or was changed since"
            yield Diagnosed(_ID, "warning", text, f"copilot mcp remove {NAME} && {install}")
        case "unreadable":
            text = f"{path} is a link, or cannot be read as JSON"
            yield Diagnosed(_ID, "warning", text, f"{moved(path)} && {install}")
        case "outdated":
            yield Diagnosed(_ID, "warning", _outdated(config, path), install)
        case "installed":
            yield Diagnosed(_ID, "ok", f"Copilot CLI starts the MCP door ({path})")
    yield from _token(token, install)
    if (fault := package.fault()) is not None:
        yield Diagnosed("mcp-package", "warning", fault, package.install_line())
    else:
        yield Diagnosed("mcp-package", "ok", f"{package.NAME} {package.installed()}")


def _outdated(config: McpConfig, path: str) -> str:
    program = config.program() or ""
    if program and not Path(program).exists():
        return f"the entry {NAME} in {path} starts {program}, which is not there"
    if program != config.entry["command"]:
        return f"the entry {NAME} in {path} starts another Python ({program})"
    return f"the entry {NAME} in {path} is for other folders, another port, or of an earlier tapui"


def _token(file: ToolsTokenFile, install: str) -> Iterator[Diagnosed]:
    path = output.path_text(file.path)
    try:
        token = file.read()
    except OSError as error:
        text = f"{path} is not used: {error.strerror or error}"
        yield Diagnosed("mcp-token", "warning", text, f"{moved(path)} && {install}")
        return
    if token is None:
        text = "the token for tools was revoked: no MCP client gets any"
        yield Diagnosed("mcp-token", "warning", text, install)
    else:
        yield Diagnosed("mcp-token", "ok", f"the token for tools is in {path}")
