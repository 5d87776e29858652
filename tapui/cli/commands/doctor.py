"""`tapui doctor`: what this tapui runs on and where its files are."""

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tapui import __version__
from tapui.cli import output
from tapui.cli.context import home, loaded
from tapui.cli.diagnosed import Diagnosed, DiagnosedState
from tapui.cli.diagnosis import diagnose, settings_in_use
from tapui.cli.failure import FAILED
from tapui.home.paths import Home
from tapui.home.run_folder import gateways
from tapui.invocation import command
from tapui.settings.loading import ConfigError, Loaded

if TYPE_CHECKING:
    from tapui.hosts.copilot.finding.discovery import Cli

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
_OPTIONAL = frozenset({"uvloop", "mcp"})

FolderState = Literal["ok", "missing", "notAFolder", "notWritable"]
SessionState = Literal["attachable", "starting", "noPort", "headless"]
_WHY: dict[SessionState, str] = {
    "attachable": "yes",
    "starting": "not yet: it is starting",
    "noPort": "no: it was started without a port, and without tapui's extension (tapui copilot)",
    "headless": "no: it has no screen, and belongs to the program that started it",
}


_MARKS: dict[DiagnosedState, str] = {"ok": "ok     ", "warning": "warning", "error": "error  "}


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
    findings: list[Diagnosed]
    """What that means, and the commands that mend it."""


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 when tapui cannot work with it."""
    found = examine(home(), _settings(args))
    if args.json:
        output.say_json(found, indent=2)
    else:
        _print(found)
    missing = any(
        version is None for name, version in found.packages.items() if name not in _OPTIONAL
    )
    is_blocked = any(one.state not in ("ok", "missing") for one in found.folders)
    is_broken = any(one.state == "error" for one in found.findings)
    return FAILED if missing or is_blocked or is_broken else 0


def _settings(args: argparse.Namespace) -> Loaded | ConfigError:
    try:
        return loaded(args)
    except ConfigError as error:
        return error


def examine(folders: Home, settings: Loaded | ConfigError) -> Findings:
    """Look at everything; nothing is changed. Of gateways it asks who is connected to them.

    `settings` are those in force, or why there are none.
    """
    from tapui.station.faults import log_files, log_path

    def log_of(pid: int) -> str | None:
        path = log_path(folders, pid)
        return output.path_text(path) if path.exists() else None

    from tapui.hosts.copilot.finding.discovery import Discovery

    clis = Discovery(folders.copilot).scan()
    running = gateways(folders)
    port_rule = "ask" if isinstance(settings, ConfigError) else settings.settings.copilot.port
    findings = diagnose(folders, running, clis, port_rule)
    if isinstance(settings, Loaded):
        findings += settings_in_use(running, settings)
    else:
        findings += [
            Diagnosed("config", "error", line, command("config"))
            for line in str(settings).split("\n")
        ]
    return Findings(
        tapui=__version__,
        python=platform.python_version(),
        executable=output.path_text(sys.executable),
        platform=platform.platform(),
        packages={name: _version(name) for name in PACKAGES},
        folders=[
            Folder(name, output.path_text(path), _state(path))
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


def _state(path: Path) -> FolderState:
    if not path.exists():
        return "missing"
    if not path.is_dir():
        return "notAFolder"
    return "ok" if os.access(path, os.R_OK | os.W_OK | os.X_OK) else "notWritable"


def _sessions(clis: "Iterable[Cli]", copilot_home: Path) -> Iterator[FoundSession]:
    from tapui.hosts.copilot.finding.stored import folder_of
    from tapui.hosts.copilot.finding.unattached import START_TIME

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


def _print(found: Findings) -> None:
    output.say(f"tapui {found.tapui}, Python {found.python} ({found.executable})")
    output.say(found.platform)
    output.say(
        ", ".join(
            f"{name} {version or 'not installed'}" for name, version in found.packages.items()
        )
    )
    output.say("")
    output.table(["FOLDER", "PATH", "STATE"], [[o.name, o.path, o.state] for o in found.folders])
    output.say("")
    output.say(f"Logs of faults: {'' if found.logs else 'none'}".rstrip())
    for log in found.logs:
        output.say(f"  {log}")
    output.say("")
    output.say(f"Gateways: {'' if found.gateways else 'none runs'}".rstrip())
    if found.gateways:
        rows = [[o.url, str(o.pid), o.version, o.log or "none"] for o in found.gateways]
        output.table(["URL", "PID", "VERSION", "LOG"], rows)
    output.say("")
    output.say(f"Copilot sessions: {'' if found.sessions else 'none runs'}".rstrip())
    if found.sessions:
        rows = [[one.id, str(one.pid), one.cwd, _WHY[one.state]] for one in found.sessions]
        output.table(["ID", "PID", "FOLDER", "ATTACHABLE"], rows)
    output.say("")
    output.say("Findings:")
    for one in found.findings:
        output.say(f"  {_MARKS[one.state]} {one.text}")
        if one.command is not None:
            output.say(f"      {one.command}")
