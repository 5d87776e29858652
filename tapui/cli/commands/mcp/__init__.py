"""`tapui mcp`: MCP servers whose tools are offered in sessions."""

import argparse

from tapui.cli.arguments import CommandParser, Commands, add_arguments_of_a_call, add_port

COMMANDS = """
140 mcp: offer the tools of MCP servers in sessions: add, list, test, allow or remove one
"""


def arguments(mcp: CommandParser) -> None:
    mcp.runs(
        run,
        "Your servers are in mcp.json beside config.toml, and are offered in every\n"
        "session of Copilot, and in the session local while there is no other. Those of\n"
        "a folder's .mcp.json and .vscode/mcp.json are offered in its sessions, once you\n"
        "allowed them. What a session's own CLI runs is left to it.",
    )
    mcp.set_defaults(action="list", name=None, folder=None, json=False, all=False)
    actions = Commands(mcp)
    add = actions.add(
        "add",
        "add a server of yours: a program, or an address",
        run,
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
    add.foreign = _server_command
    add.add_argument("--url", metavar="URL", help="the address of a server over HTTP")
    add.add_argument(
        "--header", metavar="NAME=VALUE", action="append", default=[], help="a header for it"
    )
    add.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable of the program"
    )
    add.add_argument("--cwd", metavar="DIR", help="where the program runs (your home)")
    listing = actions.add(
        "list", "list the servers, with what each offers (also without an action)", run
    )
    test = actions.add(
        "test",
        "start a server, and list its tools with the time that took, or call one of them",
        run,
        "tapui mcp test files list_directory path=.",
    )
    allow = actions.add(
        "allow",
        "show in full each server and each changed tool that waits for you, and allow it",
        run,
        "Only you may: a command without a terminal, or below a session, is refused, as\n"
        "`tapui approve` is.",
    )
    allow.add_argument("--yes", action="store_true", help="do not ask")
    allow.add_argument(
        "--later-versions",
        action="store_true",
        help="also when the files that it names change later",
    )
    remove = actions.add(
        "remove",
        "remove a server of yours, or take back what you allowed of a folder's: it stops",
        run,
    )
    every = {"add": add, "list": listing, "test": test, "allow": allow, "remove": remove}
    for name, parser in every.items():
        parser.set_defaults(action=name)
        is_optional = name in ("list", "allow")
        parser.add_argument(
            "name",
            metavar="NAME",
            nargs="?" if is_optional else None,
            help="only this one" if is_optional else "its name",
        )
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


def _server_command(words: list[str]) -> int:
    """Behind `--` stands the server's program, with its options."""
    return words.index("--") if "--" in words else len(words)


def run(args: argparse.Namespace) -> int:
    from tapui.cli.commands.mcp import allow, own_file, table, trial

    actions = {
        "add": own_file.add,
        "remove": own_file.remove,
        "list": table.run,
        "test": trial.run,
        "allow": allow.run,
    }
    return actions[args.action](args)
