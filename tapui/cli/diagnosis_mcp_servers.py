"""What `tapui doctor` finds of MCP servers: those that cannot start as they are configured here."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from tapui.cli.diagnosed import Diagnosed, DiagnosedState
from tapui.files.folder_file import reason
from tapui.home.paths import Home
from tapui.hosts.mcp import package
from tapui.invocation import command
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.config.reading import read_folder, read_own
from tapui.mcp_servers.consent.consents import MayRun, ServerConsents
from tapui.mcp_servers.consent.starting import CannotStartError, server_start
from tapui.text import safe_text

_ID = "mcp-servers"


def mcp_servers(folders: Home) -> Iterator[Diagnosed]:
    """Return what is to be said of the person's servers, and of those of this folder's files."""
    own = read_own(folders)
    files = (own, *read_folder(str(Path.cwd())))
    for file in files:
        for problem in file.problems:
            state: DiagnosedState = "error" if not file.is_readable and file is own else "warning"
            yield Diagnosed(_ID, state, str(problem), None)
    entries = [entry for file in files for entry in file.entries]
    if not entries:
        return
    if (fault := package.fault("MCP servers need")) is not None:
        yield Diagnosed(_ID, "warning", fault, package.install_line())
    consents = ServerConsents(folders.state)
    good = 0
    for entry in entries:
        found = _of(entry, consents)
        good += found is None
        if found is not None:
            yield found
    if good:
        yield Diagnosed(_ID, "ok", f"{good} MCP servers can start", command("mcp list"))
    if consents.damage:
        yield Diagnosed(_ID, "warning", safe_text(consents.damage), None)


def _of(entry: ServerEntry, consents: ServerConsents) -> Diagnosed | None:
    """Return what is wrong with a server, None for nothing."""
    name = f"MCP server {entry.name}"
    try:
        standing = consents.standing(entry)
    except OSError as error:
        return Diagnosed(_ID, "warning", f"{name} cannot run in its folder: {reason(error)}", None)
    if not isinstance(standing, MayRun):
        allow = command(f"mcp allow {entry.name}")
        return Diagnosed(_ID, "ok", f"{name} of this folder is not allowed yet", allow)
    try:
        start = server_start(entry, standing.entry, os.environ, "")
    except CannotStartError as error:
        return Diagnosed(_ID, "warning", f"{name}: {safe_text(str(error))}", None)
    if start.command is None or shutil.which(Path(start.cwd or "/", start.command)):
        return None
    if "/" not in start.command and shutil.which(start.command):
        return None
    text = f"{name} starts {safe_text(start.command)}, which is not there"
    return Diagnosed(_ID, "warning", text, command(f"mcp remove {entry.name}"))
