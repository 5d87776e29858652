"""What a command works with: the settings, the folders, and the gateway and session it names."""

import argparse
import os
import sys
import termios
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.failure import WRONG_USE, Failure
from tapui.client import gateways
from tapui.client.gateways import FoundGateway, NoGateway, restart_line
from tapui.files.foreign_file import ROOT
from tapui.home import run_folder
from tapui.home.paths import MANAGED, Home, typed_path
from tapui.invocation import command
from tapui.settings import loading
from tapui.tower.themes import theme_files
from tapui.wire.limits import MAX_PATTERN

if TYPE_CHECKING:
    from tapui.station.options import Options
    from tapui.wire.subjects import Session

_SHOWN = 20
"""Ids that are named where several fit."""


def loaded(args: argparse.Namespace) -> loading.Loaded:
    """Return the settings in force for these arguments; raises `ConfigError`."""
    flags: dict[str, tuple[str, loading.Scalar]] = {}
    if hasattr(args, "port"):
        flags["port"] = ("--port", args.port)
    if hasattr(args, "theme"):
        flags["theme"] = ("--theme", args.theme)
    if hasattr(args, "attach"):
        flags["attach"] = ("--attach", True)
    if hasattr(args, "no_attach"):
        flags["attach"] = ("--no-attach", False)
    return load(loading.config_path(os.environ), os.environ, flags)


def load(
    path: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, tuple[str, loading.Scalar]] | None = None,
    managed: Path = MANAGED,
    *,
    owner: int = ROOT,
) -> loading.Loaded:
    """`loading.load`, with the checks of values that other rooms make."""

    def wrong_keys(table: Mapping[str, object]) -> dict[str, str]:
        from tapui.tower.keys.key_table import faults

        return faults(table)

    themes = theme_files.folders_of(path)
    theme = partial(theme_files.unknown, themes)
    checks = loading.Checks(theme, _pattern_fault, _command_fault, wrong_keys)
    return loading.load(path, environ, flags, managed, owner=owner, checks=checks)


def _command_fault(text: str) -> str | None:
    from tapui.core.proof.check_commands import named_fault

    return named_fault(text)


def _pattern_fault(pattern: str) -> str | None:
    from tapui.core.hooks.matching import PatternError
    from tapui.runtime.system import RegexMatcher

    if len(pattern) > MAX_PATTERN:
        return f"a pattern may have {MAX_PATTERN:,} characters"
    try:
        matches_nothing = RegexMatcher().compile(pattern).found_in("")
    except PatternError as error:
        return str(error)
    return "the pattern also matches where nothing is" if matches_nothing else None


def other_settings(found: loading.Loaded) -> Iterator[tuple[str, str]]:
    """Yield the gateways that began with other settings than those in force now: in words, and the
    line that applies these."""
    for one in run_folder.gateways(home()):
        if told := loading.differences(found, one.settings or {}):
            text = f"the gateway at {one.url} (pid {one.pid}) began with other settings"
            yield f"{text}: {', '.join(told)}", restart_line(one.port)


def port_is_explicit(found: loading.Loaded) -> bool:
    return found.origins["port",].kind in ("flag", "env")


def root() -> Path | None:
    """Return `TAPUI_HOME`, or None for the platform's folders."""
    given = os.environ.get("TAPUI_HOME")
    return typed_path(given).absolute() if given else None


def home() -> Home:
    return Home.of(os.environ)


def options(args: argparse.Namespace) -> "Options":
    """Return what `tapui` and `tapui serve` start with; raises `ConfigError` and `Failure`."""
    from tapui.station.options import Options

    found = loaded(args)
    if getattr(args, "attach", 0) and found.settings.copilot.port == "never":
        raise Failure("the setting copilot.port forbids Copilot's port, so --attach PORT cannot be")
    return Options(
        settings=found.settings,
        home=root(),
        copilot_home=home().copilot,
        config_path=found.path,
        attach=found.settings.attach,
        attach_port=getattr(args, "attach", 0) or None,
        port=found.settings.port,
        port_is_explicit=port_is_explicit(found),
        theme=found.settings.theme,
        faults=found.faults,
        json=getattr(args, "json", False),
        exit_when_idle=getattr(args, "exit_when_idle", False),
    )


def gateway(args: argparse.Namespace, *, is_leaving: bool = False) -> FoundGateway:
    """Return the running gateway that the arguments mean; one of another version is named.

    It is the one on the port in force; if that port is a default and nothing runs there, the only
    other one that runs. With `is_leaving` it is to end, and its version does not matter.
    Raises `NoGateway` and `ConfigError`.
    """
    found = loaded(args)
    one = gateways.find(home(), found.settings.port, is_explicit=port_is_explicit(found))
    if not is_leaving and (warning := gateways.warning_of(one)) is not None:
        output.note(warning)
    return one


def running_gateway(args: argparse.Namespace) -> FoundGateway | None:
    """Return the gateway that the arguments mean; None where none runs and none was named.

    Raises `NoGateway` where others run, or a port was named.
    """
    try:
        return gateway(args)
    except NoGateway:
        if hasattr(args, "port") or run_folder.gateways(home()):
            raise
        return None


def need_terminal() -> None:
    """Return once the person can see the screen and type; raises `Failure` where they never can."""
    instead = f"`{command('status --watch')}` tells what happens line by line"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure(f"the tower needs a terminal; {instead}", WRONG_USE)
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        raise Failure(f"this terminal (TERM=dumb) cannot show the tower; {instead}", WRONG_USE)
    try:
        # Behind the shell a process is stopped here (SIGTTOU), until the shell has it in front.
        termios.tcsetattr(0, termios.TCSANOW, termios.tcgetattr(0))
    except termios.error:
        text = f"the tower was started behind a shell that cannot bring it to the front; {instead}"
        raise Failure(text, WRONG_USE) from None


def folder_of(args: argparse.Namespace) -> str:
    """Return the folder that is meant, without links: this one unless another is named."""
    return os.path.realpath(args.folder or ".")


def id_of(ids: Iterable[str], wanted: str, *, otherwise: str, what: str = "sessions") -> str:
    """Return the id that is `wanted`, or alone begins so; raises `Failure`, with `otherwise` where
    none does."""
    every = list(ids)
    if wanted in every:
        return wanted
    found = [one for one in every if wanted and one.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Failure(f"{wanted} fits several {what}: {', '.join(found[:_SHOWN])}")
    raise Failure(otherwise)


def session_of(sessions: Sequence["Session"], name: str) -> "Session":
    """Return the open session with this id, or whose id alone begins so; raises `Failure`."""
    from tapui.projection.state import is_open

    there = {one.id: one for one in sessions if is_open(one)}
    listed = ", ".join(f"{one.id} ({one.label})" for one in there.values()) or "none"
    none = f"there is no session {name}; open are: {listed}"
    return there[id_of(there, name, otherwise=none)]


def session_here(sessions: Sequence["Session"]) -> "Session":
    """Return the one session that works in this folder, or in one around it."""
    from tapui.projection.state import is_local, is_open

    folder = os.path.realpath(".")
    there = [one for one in sessions if is_open(one) and not is_local(one)]
    found = [one for one in there if one.cwd and is_within(folder, one.cwd)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Failure("no session works in this folder: name one")
    names = ", ".join(f"{one.id} ({one.label})" for one in found)
    raise Failure(f"several sessions work in this folder, name one: {names}")


def is_within(path: str, cwd: str) -> bool:
    """Return whether a path without links is a folder, which may have some, or is in it."""
    around = os.path.realpath(cwd)
    return path == around or path.startswith(f"{around.rstrip('/')}/")
