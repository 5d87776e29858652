"""What the commands' arguments are made of: the parser, its errors, values and shared options."""

import argparse
import functools
import re
import textwrap
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NoReturn

from tapui.cli.failure import WRONG_USE
from tapui.text import safe_text

_WIDTH = 78
"""Columns of the help."""

EXIT_CODES = """\
exit codes:
  0 done, 1 failed, 2 wrong use or no terminal, 3 no gateway, 130 interrupted"""

_NO_COMMAND = re.compile(r"argument (?P<what>COMMAND|ACTION): invalid choice: '(?P<word>[^']*)'")


_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class CommandParser(argparse.ArgumentParser):
    """The parser of `tapui`, a command or an action. Its errors are in the commands' own form: one
    line, then where the help is."""

    on_use: Callable[[], None] | None = None
    """Adds the arguments, before the first are parsed."""
    implied: Callable[[list[str]], list[str]] | None = None
    """Returns the words with the action that they leave out."""
    foreign: Callable[[list[str]], int] | None = None
    """Returns where another program's words begin, options too: they become `args.foreign`,
    without a `--` before them."""

    def __init__(self, prog: str, text: str, *, epilog: str = EXIT_CODES) -> None:
        super().__init__(
            prog=prog,
            description=text,
            epilog=epilog,
            # Without a width, argparse asks for the terminal's at each argument that is added.
            formatter_class=functools.partial(argparse.RawDescriptionHelpFormatter, width=_WIDTH),
            allow_abbrev=False,
        )
        self.set_defaults(parser=self)

    def runs(self, run: Callable[[argparse.Namespace], int], more: str = "") -> None:
        """Let `run` carry it out; its help says `more`."""
        self.set_defaults(run=run)
        if more:
            self.describe(more)

    def describe(self, more: str) -> None:
        self.description = f"{self.description}\n\n{more}"

    def parse_known_args(  # type: ignore[override]  # the overloads are for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if self.on_use is not None:
            self.on_use()
        words = list(args or ())
        if self.implied is not None:
            words = self.implied(words)
        if self.foreign is None:
            return super().parse_known_args(words, namespace)
        at = self.foreign(words)
        found, unknown = super().parse_known_args(words[:at], namespace)
        found.foreign = words[at:][words[at : at + 1] == ["--"] :]
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End the process with exit code 2."""
        told = safe_text(self._plain(message))
        self.exit(WRONG_USE, f"tapui: {told}\ntry: {self.prog} --help\n")

    def _plain(self, message: str) -> str:
        """Return argparse's message; for no such command, one that names the nearest."""
        found = _NO_COMMAND.match(message)
        if found is None or self._subparsers is None:
            return message
        import difflib

        (commands,) = self._subparsers._group_actions  # noqa: SLF001 - what holds the commands
        known = [str(name) for name in commands.choices or ()]
        near = difflib.get_close_matches(found["word"], known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        return f"there is no {found['what'].lower()} {found['word']}; {hint}"


class Commands:
    """The commands of `tapui`, or the actions of a command."""

    def __init__(
        self, parser: CommandParser, title: str = "actions", *, is_required: bool = False
    ) -> None:
        self._parsers = parser.add_subparsers(
            title=title,
            metavar="COMMAND" if title == "commands" else "ACTION",
            parser_class=CommandParser,
            required=is_required,
        )

    def add(
        self,
        name: str,
        text: str,
        run: Callable[[argparse.Namespace], int] | None = None,
        more: str = "",
    ) -> CommandParser:
        """Add one: `text` is its line in the list of all, its own help says `more`, too."""
        about = textwrap.fill(f"{text[0].upper()}{text[1:]}.", _WIDTH)
        parser: CommandParser = self._parsers.add_parser(name, help=text, text=about)
        if run is not None:
            parser.runs(run, more)
        return parser


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
    """Return the seconds since the epoch that are meant; an argument's type.

    `30m`, `2h`, `3d`, `1w` ago; `2026-11-20`, `2026-11-20T18:30` in local time; `18:30` today.
    """
    return _seconds(text, -1)


def deadline(text: str) -> str:
    """Return a time to come as the wire has it, in RFC 3339; as `moment`, but `2h` from now."""
    then = _seconds(text, 1)
    if then <= time.time():
        raise argparse.ArgumentTypeError(f"that time is over: {text}")
    try:
        return f"{datetime.fromtimestamp(then, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"there is no such time: {text}") from None


def _seconds(text: str, sign: int) -> float:
    if found := _SPAN.match(text.strip()):
        return time.time() + sign * float(found[1]) * _SECONDS[found[2]]
    try:
        if re.fullmatch(r"\d\d?:\d\d", text.strip()):
            hour, minute = map(int, text.split(":"))
            now = datetime.now().astimezone()
            return now.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"expected a span such as 2h or 3d, or a time such as 2026-11-20T18:30, got {text!r}"
        ) from None


def add_port(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--port", type=port, metavar="N", default=argparse.SUPPRESS, help=text)


def add_attach(parser: argparse.ArgumentParser) -> None:
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
