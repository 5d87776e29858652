"""What the commands' arguments are made of: the parser, its errors, values and shared options."""

import argparse
import difflib
import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from tapui.text import safe_text

_WIDTH = 78
"""Columns of the help."""

EXIT_CODES = """\
exit codes:
  0 done, 1 failed, 2 wrong use or no terminal, 3 no gateway, 130 interrupted"""
RUN_EXIT_CODES = """\
exit codes:
  0 done, 1 failed, 2 wrong use or a fault in the policy file (nothing was run),
  3 no gateway on --port or no Copilot CLI, 4 the folder is not trusted,
  5 something was denied, 130 interrupted (the turn was stopped)"""

_NO_COMMAND = re.compile(r"argument (?P<what>COMMAND|ACTION): invalid choice: '(?P<word>[^']*)'")


class CommandParser(argparse.ArgumentParser):
    """Errors in the commands' own form: one line, then where the help is.

    `details` gives what the help says besides; it is asked for when the help is printed.
    """

    details: Callable[[], str] | None = None

    def format_help(self) -> str:
        """Return the help, its details before the exit codes."""
        if self.details is not None:
            self.epilog = f"{self.details()}\n\n{self.epilog or ''}".rstrip()
            self.details = None
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """End the process with exit code 2."""
        told = safe_text(self._plain(message))
        self.exit(2, f"tapui: {told}\ntry: {self.prog} --help\n")

    def _plain(self, message: str) -> str:
        """Return argparse's message; for no such command, one that names the nearest."""
        found = _NO_COMMAND.match(message)
        if found is None or self._subparsers is None:
            return message
        (commands,) = self._subparsers._group_actions  # noqa: SLF001 - what holds the commands
        known = [str(name) for name in commands.choices or ()]
        near = difflib.get_close_matches(found["word"], known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        return f"there is no {found['what'].lower()} {found['word']}; {hint}"


if TYPE_CHECKING:
    Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"  # noqa: SLF001 - has no other name


def port(text: str) -> int:
    """Return a port's number: the type of an argument, as the two below."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"expected a port number, got {text!r}")
    return number


def count(text: str) -> int:
    """Return a number from 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got {text!r}")
    return number


def moment(text: str) -> float:
    """Return the seconds since the epoch that a span or a time means; see `tapui.cli.since`."""
    from tapui.cli.since import moment as meant

    return meant(text)


def add_port(parser: argparse.ArgumentParser, text: str) -> None:
    """Add `--port` with a help text."""
    parser.add_argument("--port", type=port, metavar="N", default=argparse.SUPPRESS, help=text)


def add_attach(parser: argparse.ArgumentParser) -> None:
    """Add `--attach` and `--no-attach`."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--attach",
        type=port,
        nargs="?",
        const=0,
        metavar="PORT",
        default=argparse.SUPPRESS,
        help="attach to the Copilot CLI on PORT; without PORT, to every session that is found",
    )
    choice.add_argument(
        "--no-attach",
        action="store_true",
        default=argparse.SUPPRESS,
        help="do not look for Copilot sessions",
    )


def add_arguments_of_a_call(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for a tool: `KEY=VALUE …` and `--args`."""
    parser.add_argument(
        "values", metavar="KEY=VALUE", nargs="*", default=[], help="an argument each"
    )
    parser.add_argument(
        "--args", metavar="JSON", default="{}", help="the arguments as an object ({})"
    )


def add_command(
    commands: "Commands", name: str, module: str, text: str, more: str = ""
) -> CommandParser:
    """Add the command `name`, which the module `tapui.cli.<module>` carries out.

    `text` is its line in the list of commands; its own help says `more`.
    """
    described = textwrap.fill(text[0].upper() + text[1:] + ".", _WIDTH)
    parser = commands.add_parser(
        name,
        help=text,
        description=described + (f"\n\n{more}" if more else ""),
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=module, parser=parser)
    return parser
