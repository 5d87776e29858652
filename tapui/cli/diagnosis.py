"""What `tapui doctor` makes of what it found: each finding with the command that mends it."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.diagnosed import Diagnosed, moved
from tapui.cli.diagnosis_mcp import mcp_door
from tapui.cli.diagnosis_mcp_servers import mcp_servers
from tapui.client.errors import GatewayError
from tapui.client.gateways import difference, found_in, restart_line
from tapui.client.glance import glance
from tapui.emitters.config.reading import read as read_configuration
from tapui.emitters.shell.plans import file_problem
from tapui.home.accounts import other_people
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile
from tapui.hosts.copilot.install.extension_file import ExtensionFile, is_experimental
from tapui.hosts.copilot.install.skill_files import skill_files
from tapui.hosts.copilot.sdk import PACKAGE
from tapui.invocation import command, install_line
from tapui.settings import loading
from tapui.text import safe_text

if TYPE_CHECKING:
    from tapui.hosts.copilot.finding.discovery import Cli

_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")
_VERSION_SECONDS = 10.0


def diagnose(
    folders: Home, gateways: Iterable[GatewayFile], clis: Iterable["Cli"], port_rule: str
) -> list[Diagnosed]:
    """Return all findings; `port_rule` is the setting `copilot.port`. Blocks for up to 10 s, and
    5 s for each gateway that does not answer."""
    found = [_cli(), _sdk()]
    found += _extension(folders.copilot)
    found += _skills(folders.copilot)
    found += mcp_door(folders)
    found += mcp_servers(folders)
    found += _folder_file()
    found += _gateways(gateways)
    found += _sessions(folders, list(clis), port_rule)
    return found


def _folder_file() -> Iterator[Diagnosed]:
    """Return what is wrong in the file with emitters of this folder."""
    try:
        found = read_configuration(str(Path.cwd()))
    except OSError:
        return  # without a folder there is no file
    for problem in found.problems:
        text = str(file_problem(found.folder, problem))
        yield Diagnosed("emitters", "warning", text, command("emitters list"))


def _cli() -> Diagnosed:
    program = shutil.which("copilot")
    if program is None:
        text = "Copilot CLI is not on PATH"
        return Diagnosed("cli", "warning", text, "npm install -g @github/copilot")
    version = _cli_version(program)
    where = output.path_text(program)
    if version is None:
        text = f"Copilot CLI ({where}) does not say its version"
        return Diagnosed("cli", "warning", text, "copilot update")
    return Diagnosed("cli", "ok", f"Copilot CLI {version} ({where})")


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


def _sdk() -> Diagnosed:
    try:
        return Diagnosed("sdk", "ok", f"{PACKAGE} {metadata.version(PACKAGE)}")
    except metadata.PackageNotFoundError:
        return Diagnosed(
            "sdk",
            "error",
            f"{PACKAGE} is not installed: nothing can be attached to",
            install_line(PACKAGE),
        )


def _extension(copilot_home: Path) -> Iterator[Diagnosed]:
    extension = ExtensionFile(copilot_home)
    path = output.path_text(extension.path)
    install = command("install extension")
    match extension.state():
        case "missing":
            text = "tapui's extension is not installed: sessions are reached by Copilot's port"
            yield Diagnosed("extension", "ok", text, install)
            return
        case "edited":
            text = f"{path} was not written by tapui, or was changed since"
            yield Diagnosed("extension", "warning", text, f"{moved(path)} && {install}")
        case "outdated":
            text = f"{path} is of another version of tapui"
            yield Diagnosed("extension", "warning", text, install)
        case "installed":
            yield Diagnosed("extension", "ok", f"tapui's extension is installed ({path})")
    if is_experimental(copilot_home):
        yield Diagnosed("experimental", "ok", "Copilot loads extensions")
    else:
        text = "Copilot does not load extensions: its experimental features are off"
        yield Diagnosed("experimental", "warning", text, command("copilot --experimental"))


def _skills(copilot_home: Path) -> Iterator[Diagnosed]:
    """Those that a person has changed are theirs."""
    install = command("install skills")
    states = [file.state() for file in skill_files(copilot_home)]
    if "outdated" in states:
        text = "tapui's skills are of another version of tapui"
        yield Diagnosed("skills", "warning", text, install)
    elif "missing" in states:
        text = "tapui's skills are not installed: agents know only the tools' descriptions"
        yield Diagnosed("skills", "ok", text, install)
    else:
        yield Diagnosed("skills", "ok", "tapui's skills are installed")


def _gateways(gateways: Iterable[GatewayFile]) -> Iterator[Diagnosed]:
    for one in gateways:
        yield from _asked(one)
        told = difference(one.version)
        if told is None:
            yield Diagnosed("gateway", "ok", f"the gateway at {one.url} is of this version")
        else:
            text = f"the gateway at {one.url} is {told}"
            yield Diagnosed("gateway", "warning", text, restart_line(one.port))


def settings_in_use(gateways: Iterable[GatewayFile], found: loading.Loaded) -> Iterator[Diagnosed]:
    """Yield the gateways that began with other settings than those in force now."""
    for one in gateways:
        if told := loading.differences(found, one.settings or {}):
            text = f"the gateway at {one.url} began with other settings: {', '.join(told)}"
            yield Diagnosed("settings", "warning", text, restart_line(one.port))


def _asked(one: GatewayFile) -> Iterator[Diagnosed]:
    """Yield what is wrong in the files of a gateway's folders, and who has its connections; a
    gateway that does not answer is a finding as well."""
    try:
        told = glance(found_in(one), name="tapui doctor")
    except GatewayError as error:
        yield Diagnosed("connections", "warning", str(error))
        return
    here = os.path.realpath(Path.cwd())
    for found in told.state.folder_problems:
        if found.folder != here:  # the file of this one is always looked at
            advice = command(f"emitters list --folder {shlex.quote(found.folder)}")
            yield from (
                Diagnosed("emitters", "warning", str(problem), advice) for problem in found.problems
            )
    places = told.places
    if places is None:
        return  # an older gateway does not say
    text = f"the gateway at {one.url} has {places.open} of {places.most} connections"
    if places.bridges:
        text += f", and {places.bridges} of MCP servers"
    if not places.refused:
        yield Diagnosed("connections", "ok", text)
        return
    who = ", ".join(f"{holder.name} has {holder.count}" for holder in places.holders)
    text += f"; it refused {places.refused} because all its places were taken: {who}"
    yield Diagnosed("connections", "warning", safe_text(text), command("status"))


def _sessions(folders: Home, clis: list["Cli"], port_rule: str) -> Iterator[Diagnosed]:
    from tapui.hosts.copilot.finding.unattached import unattached

    people = other_people() if any(cli.ports for cli in clis) else []
    for cli in clis:
        if not cli.ports:
            continue
        text = f"Copilot (pid {cli.process.pid}) has a port without a password"
        install = command("install extension")
        if people:
            who = ", ".join(people)
            text = f"{text}: {who} can run commands through it; end it, and start it without"
            yield Diagnosed("port", "warning", text, install)
        elif port_rule == "never":
            text = f"{text}, which copilot.port forbids: it is not attached to"
            yield Diagnosed("port", "warning", text, install)
        else:
            yield Diagnosed("port", "ok", f"{text}; nobody else has an account here")
    with_ports = port_rule != "never"
    for one in unattached(clis, folders.copilot, with_ports=with_ports):
        text = f"session {one.id} (pid {one.pid}) cannot be attached to"
        yield Diagnosed("session", "warning", text, one.hint)
