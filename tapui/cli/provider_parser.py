"""The arguments of `tapui provider`."""

import argparse
from typing import TYPE_CHECKING

from tapui.cli.arguments import CommandParser, add_arguments_of_a_call, add_command, add_port

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands

_FILES = {
    "bash": "_shtab_compgen_files",
    "zsh": "_files",
    "fish": "(__fish_complete_path (commandline -ct))",
}
"""As `shtab.FILE`, which takes time to import."""
LANGUAGES = ("python", "javascript", "browser")


def add_provider(commands: "Commands") -> None:
    """Add `provider` with its actions."""
    provider = add_command(
        commands,
        "provider",
        "commands.provider",
        "write a provider: start one from a template, run it, reload it on save, check it",
        "A provider is a file of yours with tools for live sessions:\n"
        "  tapui provider new greeter      makes a folder with one, and a test\n"
        "  tapui provider dev greeter.py   runs it, and takes over what you save",
    )
    actions = provider.add_subparsers(
        title="actions", metavar="ACTION", parser_class=CommandParser, required=True
    )
    _add_new(actions)
    _add_running(actions)
    _add_looking(actions)


def _file(parser: CommandParser, text: str = "the Python file with the provider") -> None:
    argument = parser.add_argument("file", metavar="FILE", help=text)
    argument.complete = _FILES  # type: ignore[attr-defined]  # what shtab looks for


def _add_new(actions: "Commands") -> None:
    new = add_command(
        actions,
        "new",
        "commands.provider.new",
        "make a folder with a provider that runs, and its test",
    )
    new.add_argument("name", metavar="NAME", help="the provider's name, which the folder gets, too")
    new.add_argument(
        "--lang", choices=LANGUAGES, default="python", help="what it is written in (python)"
    )


def _add_running(actions: "Commands") -> None:
    run = add_command(
        actions,
        "run",
        "commands.provider.run",
        "run a file with tapui's own Python",
        "Its provider is in the session in front until Ctrl-C. A file that calls `run()`\n"
        "itself, or that is a test, runs as it is. ARGS are passed on to it: a provider\n"
        "takes --session ID, the session by its id or label, --port N, and --prefix TEXT,\n"
        "which stands in front of the names of its tools.",
    )
    _file(run, "the Python file")
    run.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="passed on to the file")
    dev = add_command(
        actions,
        "dev",
        "commands.provider.dev",
        "run a file, and take over each save of it; show calls, errors and output",
        "Its tools stay in the session meanwhile: a call under way ends in the program\n"
        "that it began in, new calls go to the new one. A file with an error changes\n"
        "nothing.",
    )
    _file(dev)
    dev.add_argument("--session", metavar="ID", help="the session (the foreground one)")
    add_port(dev, "the gateway's port")
    dev.add_argument(
        "--prefix",
        metavar="TEXT",
        default="",
        help="what stands in front of each tool's name, where another provider has the names",
    )


def _add_looking(actions: "Commands") -> None:
    check = add_command(
        actions,
        "check",
        "commands.provider.check",
        "find what a model would not understand: names, descriptions and schemas of tools",
        "For each: where, what is wrong, what mends it. The exit code is 1 if there is\nanything.",
    )
    _file(check)
    check.add_argument("--json", action="store_true", help="print a JSON object a line")
    check.add_argument("--all", action="store_true", help="each fault, however many")
    describe = add_command(
        actions,
        "describe",
        "commands.provider.describe",
        "print what a provider offers, for people",
    )
    _file(describe)
    form = describe.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print it as a Markdown document")
    form.add_argument("--json", action="store_true", help="print it as JSON")
    describe.add_argument("--all", action="store_true", help="each tool, however many")
    call = add_command(
        actions,
        "call",
        "commands.provider.call",
        "call a tool of a file and print its result as JSON, without a gateway",
    )
    _file(call)
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    add_arguments_of_a_call(call)
    mcp = add_command(
        actions,
        "mcp",
        "commands.provider.mcp",
        "give the tools of a file to an MCP client, on standard input and output",
        "MCP clients start it; no gateway needs to run. It needs the extra `tapui[mcp]`.",
    )
    _file(mcp)
