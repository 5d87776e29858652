"""`tapui emitters`: what runs beside sessions."""

import argparse

from tapui.cli.arguments import CommandParser, Commands, add_port, count

COMMANDS = """
120 emitters: list what runs beside sessions; allow, start, stop, pause or run one, read its lines
"""

_ORDERS = (
    ("start", "start one that does not run"),
    ("stop", "stop one, with all of its processes"),
    ("pause", "let one begin no further run; what runs all the time ends"),
    ("resume", "go on with one that is paused"),
    ("run", "begin its next run now"),
    ("keep", "write one into its folder's tap.config.json, with its filter"),
)


def arguments(emitters: CommandParser) -> None:
    emitters.runs(
        run,
        "A folder's emitters, providers and goals are in its tap.config.json. Nothing of\n"
        "that runs, and no goal is opened, before you allowed it. Where no gateway runs,\n"
        "`list`, `allow` and `revoke` read the file, and `logs` the records.",
    )
    emitters.set_defaults(action="list", name=None, session=None, folder=None, json=False)
    actions = Commands(emitters)
    listing = actions.add("list", "list them, with what each does (also without an action)", run)
    allow = actions.add(
        "allow",
        "show each that waits for you in full, and allow it",
        run,
        "Only you may: a command without a terminal, or below a session, is refused, as\n"
        "`tapui approve` is.",
    )
    revoke = actions.add(
        "revoke",
        "forget what you allowed in a folder: what runs there stops, and waits for you",
        run,
    )
    logs = actions.add("logs", "print the last lines of one", run)
    every = [("list", listing), ("allow", allow), ("revoke", revoke), ("logs", logs)]
    every += [(name, actions.add(name, text, run)) for name, text in _ORDERS]
    for name, parser in every:
        parser.set_defaults(action=name)
        is_optional = name in ("list", "allow", "revoke")
        parser.add_argument(
            "name",
            metavar="NAME",
            nargs="?" if is_optional else None,
            help="only this one" if is_optional else "its name",
        )
        if name != "revoke":
            parser.add_argument("--session", metavar="ID", help="those of this session")
        parser.add_argument("--folder", metavar="DIR", help="those of this folder")
        parser.add_argument(
            "--json",
            action="store_true",
            help="print a JSON object a line" if name in ("list", "logs") else "print it as JSON",
        )
        if name != "revoke":
            add_port(parser, "the gateway's port")
    allow.add_argument("--yes", action="store_true", help="do not ask")
    allow.add_argument(
        "--later-versions",
        action="store_true",
        help="also when the files that they name change later",
    )
    logs.add_argument("--last", type=count, metavar="N", help="only the newest N (20)")


def run(args: argparse.Namespace) -> int:
    from tapui.cli.commands.emitters import allow, logs, orders, table

    actions = {
        "list": table.run,
        "allow": allow.run,
        "revoke": allow.revoke,
        "logs": logs.run,
        "keep": orders.keep,
    }
    return actions.get(args.action, orders.run)(args)
