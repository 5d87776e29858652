"""`tapui doctor`: what this tapui runs on, what is wrong and what mends it."""

import argparse
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.arguments import CommandParser
from tapui.cli.context import home, loaded
from tapui.cli.failure import FAILED
from tapui.settings.loading import ConfigError, Loaded

if TYPE_CHECKING:
    from tapui.cli.diagnosis import Findings, FindingState, SessionState

COMMANDS = """
280 doctor: show what is wrong and what mends it; versions, folders, gateways, sessions
"""

_WHY: dict["SessionState", str] = {
    "attachable": "yes",
    "starting": "not yet: it is starting",
    "noPort": "no: it was started without a port, and without tapui's extension (tapui copilot)",
    "headless": "no: it has no screen, and belongs to the program that started it",
}
_MARKS: dict["FindingState", str] = {"ok": "ok     ", "warning": "warning", "error": "error  "}


def arguments(doctor: CommandParser) -> None:
    doctor.runs(run, "No gateway needs to run; nothing is changed.")
    doctor.add_argument("--json", action="store_true", help="print them as JSON")


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 when tapui cannot work with it."""
    from tapui.cli.diagnosis import OPTIONAL, examine

    found = examine(home(), _settings(args))
    if args.json:
        output.say_json(found, indent=2)
    else:
        _print(found)
    missing = any(
        version is None for name, version in found.packages.items() if name not in OPTIONAL
    )
    is_blocked = any(one.state not in ("ok", "missing") for one in found.folders)
    is_broken = any(one.state == "error" for one in found.findings)
    return FAILED if missing or is_blocked or is_broken else 0


def _settings(args: argparse.Namespace) -> Loaded | ConfigError:
    try:
        return loaded(args)
    except ConfigError as error:
        return error


def _print(found: "Findings") -> None:
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
