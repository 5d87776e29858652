"""The arguments of `tapui emitters`."""

from typing import TYPE_CHECKING

from tapui.cli.arguments import CommandParser, add_command, add_port, count

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands

_MODULE = "commands.emitters.orders"
_ORDERS = (
    ("start", "start one that does not run"),
    ("stop", "stop one, with all of its processes"),
    ("pause", "let one begin no further run; what runs all the time ends"),
    ("resume", "go on with one that is paused"),
    ("run", "begin its next run now"),
    ("keep", "write one into its folder's tap.config.json, with its filter"),
)


def add_emitters(commands: "Commands") -> None:
    """Add `emitters` with its actions."""
    emitters = add_command(
        commands,
        "emitters",
        _MODULE,
        "list what runs beside sessions; allow, start, stop, pause or run one, read its lines",
        "A folder's emitters and providers are in its tap.config.json. Nothing of that\n"
        "runs before you allowed it. Where no gateway runs, `list`, `allow` and `revoke`\n"
        "read the file, and `logs` the records.",
    )
    emitters.set_defaults(action="list", name=None, session=None, folder=None, json=False)
    actions = emitters.add_subparsers(title="actions", metavar="ACTION", parser_class=CommandParser)
    listing = add_command(
        actions, "list", _MODULE, "list them, with what each does (also without an action)"
    )
    allow = add_command(
        actions,
        "allow",
        _MODULE,
        "show each that waits for you in full, and allow it",
        "Only you may: a command without a terminal, or below a session, is refused, as\n"
        "`tapui approve` is.",
    )
    revoke = add_command(
        actions,
        "revoke",
        _MODULE,
        "forget what you allowed in a folder: what runs there stops, and waits for you",
    )
    logs = add_command(actions, "logs", _MODULE, "print the last lines of one")
    every = [("list", listing), ("allow", allow), ("revoke", revoke), ("logs", logs)]
    for name, text in _ORDERS:
        every.append((name, add_command(actions, name, _MODULE, text)))
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
