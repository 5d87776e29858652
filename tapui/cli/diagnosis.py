"""What `tapui doctor` finds: versions, folders, gateways, sessions, and what mends each fault."""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tapui import __version__, update
from tapui.cli import output
from tapui.cli.context import other_settings
from tapui.client.gateways import GatewayError, difference, found_in, restart_line
from tapui.client.glance import glance
from tapui.consents.consents import Consented
from tapui.consents.mcp_servers import ServerConsents
from tapui.emitters.config.reading import read as read_configuration
from tapui.emitters.shell.plans import file_problem
from tapui.files.foreign_file import reason
from tapui.home.accounts import other_people
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, gateways
from tapui.home.tokens import ToolsTokenFile
from tapui.hosts.copilot.finding.discovery import Cli, Discovery
from tapui.hosts.copilot.finding.stored_sessions import folder_of
from tapui.hosts.copilot.finding.unattached_sessions import START_TIME, unattached
from tapui.hosts.copilot.install.mcp_config import NAME, McpConfig, own_entry
from tapui.hosts.copilot.install.own_files import ExtensionFile, is_experimental, skill_files
from tapui.hosts.copilot.sdk import PACKAGE
from tapui.hosts.mcp import package
from tapui.invocation import command, install_line
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.config.reading import read_folder, read_own
from tapui.mcp_servers.server_start import CannotStartError, server_start
from tapui.settings.loading import ConfigError, Loaded
from tapui.station.faults import log_files, log_path
from tapui.text import safe_text

PACKAGES = (
    "textual",
    "rich",
    "websockets",
    "msgspec",
    "regex",
    "psutil",
    "platformdirs",
    "tomlkit",
    "github-copilot-sdk",
    "uvloop",
    "mcp",
)
"""Distributions that tapui runs on; the last two are optional."""
OPTIONAL = frozenset({"uvloop", "mcp"})

_DOOR, _SERVERS = "mcp", "mcp-servers"
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")
_VERSION_SECONDS = 10.0

FolderState = Literal["ok", "missing", "notAFolder", "notWritable"]
SessionState = Literal["attachable", "starting", "noPort", "headless"]
FindingState = Literal["ok", "warning", "error"]


class DoctorFinding(Struct):
    """Something that was looked at. `command` mends it, or does more of it; None: nothing to do.

    `id` is the thing that was looked at, the same in every version; several findings may have it.
    """

    id: str
    state: FindingState
    text: str
    command: str | None = None


class Folder(Struct, rename="camel"):
    """A folder of tapui's; `missing` is fine, it is made when it is needed."""

    name: str
    path: str
    state: FolderState


class RunningOne(Struct, rename="camel"):
    """A running gateway, and where its process logs its faults (None: nothing was logged)."""

    url: str
    pid: int
    version: str
    log: str | None


class FoundSession(Struct, rename="camel"):
    """A session of a Copilot CLI that runs here."""

    id: str
    pid: int
    cwd: str
    state: SessionState


class Findings(Struct, rename="camel"):
    """All that the command knows; `packages` are versions, None where one is not installed."""

    tapui: str
    python: str
    executable: str
    platform: str
    packages: dict[str, str | None]
    folders: list[Folder]
    logs: list[str]
    """Log files of faults, the newest first."""
    gateways: list[RunningOne]
    sessions: list[FoundSession]
    findings: list[DoctorFinding]
    """What that means, and the commands that mend it."""


def examine(folders: Home, settings: Loaded | ConfigError) -> Findings:
    """Look at everything; nothing is changed. Of gateways it asks who is connected to them.

    `settings` are those in force, or why there are none.
    """

    def log_of(pid: int) -> str | None:
        path = log_path(folders, pid)
        return output.path_text(path) if path.exists() else None

    clis = Discovery(folders.copilot).scan()
    running = gateways(folders)
    port_rule = "ask" if isinstance(settings, ConfigError) else settings.settings.copilot.port
    findings = _diagnose(folders, running, clis, port_rule)
    if isinstance(settings, Loaded):
        findings += [
            DoctorFinding("settings", "warning", told, line)
            for told, line in other_settings(settings)
        ]
    else:
        findings += [
            DoctorFinding("config", "error", line, command("config"))
            for line in str(settings).split("\n")
        ]
    return Findings(
        tapui=__version__,
        python=platform.python_version(),
        executable=output.path_text(sys.executable),
        platform=platform.platform(),
        packages={name: _version(name) for name in PACKAGES},
        folders=[
            Folder(name, output.path_text(path), _folder_state(path))
            for name, path in (
                ("configuration", folders.config),
                ("state", folders.state),
                ("copilot", folders.copilot),
            )
        ],
        logs=[output.path_text(path) for path in log_files(folders)],
        gateways=[RunningOne(one.url, one.pid, one.version, log_of(one.pid)) for one in running],
        sessions=list(_sessions(clis, folders.copilot)),
        findings=findings,
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _folder_state(path: Path) -> FolderState:
    if not path.exists():
        return "missing"
    if not path.is_dir():
        return "notAFolder"
    return "ok" if os.access(path, os.R_OK | os.W_OK | os.X_OK) else "notWritable"


def _sessions(clis: Iterable[Cli], copilot_home: Path) -> Iterator[FoundSession]:
    for cli in clis:
        state: SessionState = "noPort" if cli.age > START_TIME else "starting"
        if cli.is_attachable:
            state = "attachable"
        elif cli.is_headless:
            state = "headless"
        for session in cli.sessions:
            # A server of several sessions works in none of their folders.
            folder = folder_of(copilot_home, session) or cli.cwd
            yield FoundSession(session, cli.process.pid, output.path_text(folder), state)


# What it means


def _diagnose(
    folders: Home, gateways: Iterable[GatewayFile], clis: Iterable[Cli], port_rule: str
) -> list[DoctorFinding]:
    """Return all findings; `port_rule` is the setting `copilot.port`. Blocks for up to 10 s, and
    5 s for each gateway that does not answer."""
    found = [_cli(), _sdk()]
    found += _extension(folders.copilot)
    found += _skills(folders.copilot)
    found += _mcp_door(folders)
    found += _mcp_servers(folders)
    found += _folder_file()
    found += _gateway_findings(gateways)
    found += _session_findings(folders, list(clis), port_rule)
    return found


def _folder_file() -> Iterator[DoctorFinding]:
    try:
        found = read_configuration(str(Path.cwd()))
    except OSError:
        return  # without a folder there is no file
    for problem in found.problems:
        text = str(file_problem(found.folder, problem))
        yield DoctorFinding("emitters", "warning", text, command("emitters list"))


def _cli() -> DoctorFinding:
    program = shutil.which("copilot")
    if program is None:
        text = "Copilot CLI is not on PATH"
        return DoctorFinding("cli", "warning", text, "npm install -g @github/copilot")
    version = _cli_version(program)
    where = output.path_text(program)
    if version is None:
        text = f"Copilot CLI ({where}) does not say its version"
        return DoctorFinding("cli", "warning", text, "copilot update")
    return DoctorFinding("cli", "ok", f"Copilot CLI {version} ({where})")


def _cli_version(program: str) -> str | None:
    """Return what the package around the program says of itself, else what the program says."""
    for folder in Path(program).resolve().parents[:3]:
        try:
            said = json.loads((folder / "package.json").read_text())
        except (OSError, ValueError, RecursionError):
            continue  # it has no such file, or not one of a package
        if isinstance(said, dict) and str(said.get("name")).startswith("@github/copilot"):
            return str(said.get("version"))
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return told[0] if told else None


def _sdk() -> DoctorFinding:
    try:
        return DoctorFinding("sdk", "ok", f"{PACKAGE} {metadata.version(PACKAGE)}")
    except metadata.PackageNotFoundError:
        return DoctorFinding(
            "sdk",
            "error",
            f"{PACKAGE} is not installed: nothing can be attached to",
            install_line(PACKAGE),
        )


def _extension(copilot_home: Path) -> Iterator[DoctorFinding]:
    extension = ExtensionFile(copilot_home)
    path = output.path_text(extension.path)
    install = command("install extension")
    match extension.state():
        case "missing":
            text = "tapui's extension is not installed: sessions are reached by Copilot's port"
            yield DoctorFinding("extension", "ok", text, install)
            return
        case "edited":
            text = f"{path} was not written by tapui, or was changed since"
            yield DoctorFinding("extension", "warning", text, f"{_moved(path)} && {install}")
        case "outdated":
            text = f"{path} is of another version of tapui"
            yield DoctorFinding("extension", "warning", text, install)
        case "installed":
            yield DoctorFinding("extension", "ok", f"tapui's extension is installed ({path})")
    if is_experimental(copilot_home):
        yield DoctorFinding("experimental", "ok", "Copilot loads extensions")
    else:
        text = "Copilot does not load extensions: its experimental features are off"
        yield DoctorFinding("experimental", "warning", text, command("copilot --experimental"))


def _skills(copilot_home: Path) -> Iterator[DoctorFinding]:
    """Those that a person has changed are theirs."""
    install = command("install skills")
    states = [file.state() for file in skill_files(copilot_home)]
    if "outdated" in states:
        text = "tapui's skills are of another version of tapui"
        yield DoctorFinding("skills", "warning", text, install)
    elif "missing" in states:
        text = "tapui's skills are not installed: agents know only the tools' descriptions"
        yield DoctorFinding("skills", "ok", text, install)
    else:
        yield DoctorFinding("skills", "ok", "tapui's skills are installed")


def _gateway_findings(gateways: Iterable[GatewayFile]) -> Iterator[DoctorFinding]:
    for one in gateways:
        yield from _asked(one)
        told = difference(one.version)
        if one.was_updated is True:
            text = f"the gateway at {one.url}: {update.RESTART}"
            yield DoctorFinding("gateway", "warning", text, restart_line(one.port))
        elif told is None:
            yield DoctorFinding("gateway", "ok", f"the gateway at {one.url} is of this version")
        else:
            text = f"the gateway at {one.url} is {told}"
            yield DoctorFinding("gateway", "warning", text, restart_line(one.port))


def _asked(one: GatewayFile) -> Iterator[DoctorFinding]:
    """Yield what is wrong in the files of a gateway's folders, and who has its connections; a
    gateway that does not answer is a finding as well."""
    try:
        told = glance(found_in(one), name="tapui doctor")
    except GatewayError as error:
        yield DoctorFinding("connections", "warning", str(error))
        return
    here = os.path.realpath(Path.cwd())
    for found in told.state.folder_problems:
        if found.folder != here:  # the file of this one is always looked at
            advice = command(f"emitters list --folder {shlex.quote(found.folder)}")
            yield from (
                DoctorFinding("emitters", "warning", str(problem), advice)
                for problem in found.problems
            )
    places = told.places
    if places is None:
        return  # an older gateway does not say
    text = f"the gateway at {one.url} has {places.open} of {places.most} connections"
    if places.bridges:
        text += f", and {places.bridges} of MCP servers"
    if not places.refused:
        yield DoctorFinding("connections", "ok", text)
        return
    who = ", ".join(f"{holder.name} has {holder.count}" for holder in places.holders)
    text += f"; it refused {places.refused} because all its places were taken: {who}"
    yield DoctorFinding("connections", "warning", safe_text(text), command("status"))


def _session_findings(folders: Home, clis: list[Cli], port_rule: str) -> Iterator[DoctorFinding]:
    people = other_people() if any(cli.ports for cli in clis) else []
    for cli in clis:
        if not cli.ports:
            continue
        text = f"Copilot (pid {cli.process.pid}) has a port without a password"
        install = command("install extension")
        if people:
            who = ", ".join(people)
            text = f"{text}: {who} can run commands through it; end it, and start it without"
            yield DoctorFinding("port", "warning", text, install)
        elif port_rule == "never":
            text = f"{text}, which copilot.port forbids: it is not attached to"
            yield DoctorFinding("port", "warning", text, install)
        else:
            yield DoctorFinding("port", "ok", f"{text}; no other user has an account here")
    with_ports = port_rule != "never"
    for one in unattached(clis, folders.copilot, with_ports=with_ports):
        text = f"session {one.id} (pid {one.pid}) cannot be attached to"
        yield DoctorFinding("session", "warning", text, one.hint)


def _moved(path: str) -> str:
    return f"mv {shlex.quote(path)} {shlex.quote(path + '.mine')}"


# The MCP door: its package, Copilot's entry, the token


def _mcp_door(folders: Home) -> Iterator[DoctorFinding]:
    config = McpConfig(folders.copilot, own_entry(os.environ))
    token = ToolsTokenFile(folders.state)
    state, path, install = config.state(), output.path_text(config.path), command("install mcp")
    if state == "missing" and not token.path.exists():
        text = "the MCP door is not installed: other MCP clients do not get the providers' tools"
        yield DoctorFinding(_DOOR, "ok", text, install)
        return
    match state:
        case "missing":
            text = f"{path} has no entry {NAME}: Copilot CLI does not start the MCP door"
            yield DoctorFinding(_DOOR, "ok", text, install)
        case "edited":
            text = f"the entry {NAME} in {path} was not written by tapui, or was changed since"
            yield DoctorFinding(_DOOR, "warning", text, f"copilot mcp remove {NAME} && {install}")
        case "unreadable":
            text = f"{path} is a link, or cannot be read as JSON"
            yield DoctorFinding(_DOOR, "warning", text, f"{_moved(path)} && {install}")
        case "outdated":
            yield DoctorFinding(_DOOR, "warning", _outdated(config, path), install)
        case "installed":
            yield DoctorFinding(_DOOR, "ok", f"Copilot CLI starts the MCP door ({path})")
    yield from _door_token(token, install)
    if (fault := package.fault()) is not None:
        yield DoctorFinding("mcp-package", "warning", fault, package.install_line())
    else:
        yield DoctorFinding("mcp-package", "ok", f"{package.NAME} {package.installed()}")


def _outdated(config: McpConfig, path: str) -> str:
    program = config.program() or ""
    if program and not Path(program).exists():
        return f"the entry {NAME} in {path} starts {program}, which is not there"
    if program != config.entry["command"]:
        return f"the entry {NAME} in {path} starts another Python ({program})"
    return f"the entry {NAME} in {path} is for other folders, another port, or of an earlier tapui"


def _door_token(file: ToolsTokenFile, install: str) -> Iterator[DoctorFinding]:
    path = output.path_text(file.path)
    try:
        token = file.read()
    except OSError as error:
        text = f"{path} is not used: {error.strerror or error}"
        yield DoctorFinding("mcp-token", "warning", text, f"{_moved(path)} && {install}")
        return
    if token is None:
        text = "the token for tools was revoked: no MCP client gets any"
        yield DoctorFinding("mcp-token", "warning", text, install)
    else:
        yield DoctorFinding("mcp-token", "ok", f"the token for tools is in {path}")


# MCP servers that cannot start in the way they are configured


def _mcp_servers(folders: Home) -> Iterator[DoctorFinding]:
    """Return what is to be said of the person's servers, and of those of this folder's files."""
    own = read_own(folders)
    files = (own, *read_folder(str(Path.cwd())))
    for file in files:
        for problem in file.problems:
            state: FindingState = "error" if not file.is_readable and file is own else "warning"
            yield DoctorFinding(_SERVERS, state, str(problem), None)
    entries = [entry for file in files for entry in file.entries]
    if not entries:
        return
    if (fault := package.fault("MCP servers need")) is not None:
        yield DoctorFinding(_SERVERS, "warning", fault, package.install_line())
    consents = ServerConsents(folders.state)
    good = 0
    for entry in entries:
        found = _server(entry, consents)
        good += found is None
        if found is not None:
            yield found
    if good:
        yield DoctorFinding(_SERVERS, "ok", f"{good} MCP servers can start", command("mcp list"))
    if consents.damage:
        yield DoctorFinding(_SERVERS, "warning", safe_text(consents.damage), None)


def _server(entry: ServerEntry, consents: ServerConsents) -> DoctorFinding | None:
    name = f"MCP server {entry.name}"
    try:
        standing = consents.standing(entry)
    except OSError as error:
        return DoctorFinding(
            _SERVERS, "warning", f"{name} cannot run in its folder: {reason(error)}", None
        )
    if not isinstance(standing, Consented):
        allow = command(f"mcp allow {entry.name}")
        return DoctorFinding(_SERVERS, "ok", f"{name} of this folder is not allowed yet", allow)
    try:
        start = server_start(entry, standing.entry, os.environ, "")
    except CannotStartError as error:
        return DoctorFinding(_SERVERS, "warning", f"{name}: {safe_text(str(error))}", None)
    if start.command is None or shutil.which(Path(start.cwd or "/", start.command)):
        return None
    if "/" not in start.command and shutil.which(start.command):
        return None
    text = f"{name} starts {safe_text(start.command)}, which is not there"
    return DoctorFinding(_SERVERS, "warning", text, command(f"mcp remove {entry.name}"))
