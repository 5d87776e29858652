"""The command line: the commands of `tapui.cli.commands`, found without importing them."""

import argparse
import functools
import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tapui import __version__
from tapui.cli import commands
from tapui.cli.arguments import EXIT_CODES, CommandParser, Commands, add_attach, add_port

_ENVIRONMENT = """\
environment:
  TAPUI_HOME      one folder for configuration, state and tokens
  TAPUI_PORT, TAPUI_THEME, TAPUI_ATTACH, ...
                  a setting each (`tapui config` lists them)
  COPILOT_HOME    where Copilot CLI keeps its sessions (~/.copilot)
  NO_COLOR        no colour in any output"""

_HEADER = re.compile(rb'^COMMANDS = """\\?\n(.*?)^"""$', re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"(?P<place>\d+) (?P<name>[a-z][a-z-]*): (?P<text>.+)")


class CommandModule(NamedTuple):
    """A module with commands, by its dotted name, and the lines of its `COMMANDS`."""

    name: str
    lines: tuple["CommandLine", ...]


class CommandLine(NamedTuple):
    """A command's place in the list of all, its name, and what it does."""

    place: int
    name: str
    text: str


def command_modules(folders: Iterable[str]) -> list[CommandModule]:
    """Return the modules with commands in the folders of a package.

    They are read, not imported: importing all takes 30 times as long as `tapui --help`.
    """
    found = []
    for folder in folders:
        for path in Path(folder).iterdir():
            source = path / "__init__.py" if path.is_dir() else path
            if source.suffix != ".py" or path.name == "__init__.py" or not source.is_file():
                continue
            if (header := _HEADER.search(source.read_bytes())) is not None:
                read = (_LINE.fullmatch(line) for line in header[1].decode().splitlines())
                lines = tuple(CommandLine(int(one[1]), one[2], one[3]) for one in read if one)
                found.append(CommandModule(f"{commands.__name__}.{path.stem}", lines))
    return found


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse a command line; `run` is the function that carries the command out.

    Ends the process for `--help`, and for wrong use.
    """
    args, unknown = build(is_whole=False).parse_known_args(argv)
    if unknown:
        # Told by the command's own parser, as its help is the one to read.
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}{_nearest(args, unknown)}")
    return args


def _nearest(args: argparse.Namespace, unknown: list[str]) -> str:
    """Name the option of the same command that an unknown one comes nearest to."""
    import difflib

    known = [option for action in args.parser._actions for option in action.option_strings]  # noqa: SLF001
    for word in unknown:
        option = word.partition("=")[0]
        if option.startswith("--") and (near := difflib.get_close_matches(option, known, n=1)):
            return f"; did you mean {near[0]}?"
    return ""


def build(*, is_whole: bool = True) -> CommandParser:
    """Return the parser of the whole command line. Unless it is to be whole, a command's module is
    imported, and gives its arguments, when the command is parsed."""
    parser = CommandParser(
        "tapui",
        "The control tower for GitHub Copilot sessions.\n\n"
        "Without a command: the tower on this terminal, with the gateway in it, or as a\n"
        "second tower on the gateway that already runs.",
        epilog=f"{_ENVIRONMENT}\n\n{EXIT_CODES}",
    )
    parser.add_argument("--version", action="version", version=f"tapui {__version__}")
    add_attach(parser)
    add_port(parser, "the gateway's port (9400); 0 takes a free one")
    parser.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the tower's theme"
    )
    parser.set_defaults(run=_default_command)
    listed = Commands(parser, "commands")
    modules = command_modules(commands.__path__)
    parsers = {
        line.name: listed.add(line.name, line.text)
        for line in sorted(line for module in modules for line in module.lines)
    }
    for module in modules:
        of_module = [parsers[line.name] for line in module.lines]
        for one in of_module:
            one.on_use = functools.partial(_add_arguments, module.name, of_module)
        if is_whole:
            _add_arguments(module.name, of_module)
    return parser


def _add_arguments(module: str, parsers: list[CommandParser]) -> None:
    for one in parsers:
        one.on_use = None
    importlib.import_module(module).arguments(*parsers)


def _default_command(args: argparse.Namespace) -> int:
    from tapui.cli import default_command

    return default_command.run(args)
