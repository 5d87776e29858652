"""The arguments of `tapui mcp`."""

from typing import TYPE_CHECKING

from tapui.cli.arguments import CommandParser, add_arguments_of_a_call, add_command, add_port

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands

_MODULE = "commands.mcp.command"
BEHIND = "server_command"
"""Where what stands behind `--` is in the arguments of `mcp add`."""


def server_command(argv: list[str]) -> tuple[list[str], list[str]]:
    """Return a command line, and what stands behind `--` in `tapui mcp add NAME … -- COMMAND …`:
    that is a program's, options too."""
    if argv[:2] != ["mcp", "add"] or "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def add_mcp(commands: "Commands") -> None:
    """Add `mcp` with its actions."""
    mcp = add_command(
        commands,
        "mcp",
        _MODULE,
        "offer the tools of MCP servers in sessions: add, list, test, allow or remove one",
        "Your servers are in mcp.json beside config.toml, and are offered in every\n"
        "session of Copilot, and in the session local while there is no other. Those of\n"
        "a folder's .mcp.json and .vscode/mcp.json are offered in its sessions, once you\n"
        "allowed them. What a session's own CLI runs is left to it.",
    )
    mcp.set_defaults(action="list", name=None, folder=None, json=False, all=False)
    actions = mcp.add_subparsers(title="actions", metavar="ACTION", parser_class=CommandParser)
    add = add_command(
        actions,
        "add",
        _MODULE,
        "add a server of yours: a program, or an address",
        "tapui mcp add files -- npx -y @acme/files-server@1.2.3 ~/notes\n"
        "tapui mcp add search --url https://mcp.example.com/mcp \\\n"
        "    --header 'Authorization=Bearer ${env:SEARCH_TOKEN}'\n\n"
        "Values may name a variable, ${env:NAME}, or a file, ${file:PATH}: secrets are\n"
        "not written in clear.",
    )
    add.usage = (
        "tapui mcp add NAME [--json] [--env NAME=VALUE] [--cwd DIR] -- COMMAND ...\n"
        "       tapui mcp add NAME [--json] --url URL [--header NAME=VALUE]"
    )
    add.add_argument("--url", metavar="URL", help="the address of a server over HTTP")
    add.add_argument(
        "--header", metavar="NAME=VALUE", action="append", default=[], help="a header for it"
    )
    add.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable of the program"
    )
    add.add_argument("--cwd", metavar="DIR", help="where the program runs (your home)")
    listing = add_command(
        actions, "list", _MODULE, "list the servers, with what each offers (also without an action)"
    )
    test = add_command(
        actions,
        "test",
        _MODULE,
        "start a server, and list its tools with the time that took, or call one of them",
        "tapui mcp test files list_directory path=.",
    )
    allow = add_command(
        actions,
        "allow",
        _MODULE,
        "show in full each server and each changed tool that waits for you, and allow it",
        "Only you may: a command without a terminal, or below a session, is refused, as\n"
        "`tapui approve` is.",
    )
    allow.add_argument("--yes", action="store_true", help="do not ask")
    allow.add_argument(
        "--later-versions",
        action="store_true",
        help="also when the files that it names change later",
    )
    remove = add_command(
        actions,
        "remove",
        _MODULE,
        "remove a server of yours, or take back what you allowed of a folder's: it stops",
    )
    every = {"add": add, "list": listing, "test": test, "allow": allow, "remove": remove}
    for name, parser in every.items():
        parser.set_defaults(action=name)
        _add_name(parser, is_optional=name in ("list", "allow"))
        if name == "test":
            parser.add_argument("tool", metavar="TOOL", nargs="?", help="call this tool, too")
            add_arguments_of_a_call(parser)
        if name != "add":
            parser.add_argument(
                "--folder", metavar="DIR", help="the servers of this folder (the current one)"
            )
        if name in ("list", "test"):
            parser.add_argument("--all", action="store_true", help="each tool, however many")
        if name in ("list", "allow"):
            add_port(parser, "the gateway's port")
        parser.add_argument(
            "--json",
            action="store_true",
            help="print a JSON object a line" if name == "list" else "print it as JSON",
        )


def _add_name(parser: CommandParser, *, is_optional: bool) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?" if is_optional else None,
        help="only this one" if is_optional else "its name",
    )
