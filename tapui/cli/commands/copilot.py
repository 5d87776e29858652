"""`tapui copilot`: start Copilot CLI in a way that lets tapui attach to it."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence

from tapui.cli import context, output
from tapui.cli.arguments import CommandParser
from tapui.cli.failure import WRONG_USE, Failure
from tapui.home.accounts import PortConsent, other_people
from tapui.home.paths import Home
from tapui.hosts.copilot.connection import NO_CLI
from tapui.hosts.copilot.install.own_files import ExtensionFile, is_experimental
from tapui.invocation import INSIDE, command

COMMANDS = """
30 copilot: start Copilot CLI so that tapui can attach to it
"""

FLAG = "--ui-server"
_WARNING = "Copilot's port has no password: every user of this machine can run commands through it"


def arguments(copilot: CommandParser) -> None:
    copilot.runs(
        run,
        "Runs `copilot ARGS...` in this terminal where tapui's extension is installed\n"
        "(`tapui install extension`), else `copilot --ui-server ARGS...`. That port of\n"
        "Copilot CLI has no password: you are asked once where others have accounts.\n"
        "`tapui copilot -- --help` shows Copilot's own help.",
    )
    copilot.add_argument("args", nargs="*", metavar="ARGS", help="passed on to copilot")
    copilot.foreign = _foreign_words


def _foreign_words(words: list[str]) -> int:
    """All words are Copilot's, options too, but for a request for help at the beginning."""
    return len(words) if words[:1] in (["-h"], ["--help"]) else 0


def run(args: argparse.Namespace) -> int:
    """Replace this process by Copilot CLI; raises `Failure` when there is none, or may be none."""
    program = shutil.which("copilot")
    if program is None:
        raise Failure(NO_CLI)
    given: list[str] = args.foreign
    rule = context.loaded(args).settings.copilot.port
    added = way_in(given, rule, context.home(), people=other_people, asks=_asks)
    environ = {**os.environ, INSIDE: "1"}
    os.execve(program, [program, *added, *given], environ)  # noqa: S606 - replaces us; no shell is meant


def way_in(
    given: Sequence[str],
    rule: str,
    home: Home,
    *,
    people: Callable[[], Sequence[str]],
    asks: Callable[[str], bool],
) -> list[str]:
    """Return the arguments that let tapui in, besides those that are `given`.

    None are needed where tapui's extension is installed and is loaded. Else it is the port, unless
    `rule` (the setting `copilot.port`) forbids it, or the person does, who is asked once where
    other `people` have accounts. Raises `Failure`, which says what to do instead.
    """
    extension = ExtensionFile(home.copilot).state() != "missing"
    loads = "--experimental" in given or is_experimental(home.copilot)
    if extension and loads and FLAG not in given:
        return []
    if rule == "never":
        raise Failure(f"the setting copilot.port forbids Copilot's port; {_instead(extension)}")
    if others := people():
        output.note(f"{_WARNING}; {_instead(extension)}")
        consent = PortConsent(home.state)
        if rule == "ask" and not consent.covers(others):
            if not asks(f"Other people have accounts here ({', '.join(others)}). Open the port?"):
                raise Failure(f"Copilot was not started; {_instead(extension)}")
            consent.keep(others)
    return [] if FLAG in given else [FLAG]


def _instead(is_installed: bool) -> str:
    if is_installed:
        line = command("copilot --experimental")
        return f"tapui's extension needs none, once it is loaded: {line}"
    return f"tapui's extension needs none: {command('install extension')}"


def _asks(question: str) -> bool:
    if not sys.stdin.isatty():
        raise Failure(
            f"{question} That takes a terminal to answer; "
            'in scripts set copilot.port = "always", or TAPUI_COPILOT_PORT=always',
            WRONG_USE,
        )
    return output.is_agreed(question)
