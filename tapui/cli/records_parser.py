"""The arguments of the commands that read what was recorded."""

from typing import TYPE_CHECKING

from tapui.cli.arguments import CommandParser, add_command, count, moment

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands


def add_records(commands: "Commands") -> None:
    """Add `records` with its actions."""
    records = add_command(
        commands,
        "records",
        "commands.records",
        "print what was recorded",
        "Reads the files: no gateway needs to run.",
    )
    records.add_argument("--session", metavar="ID", help="only this session's (all sessions)")
    records.add_argument(
        "--collection", metavar="NAME", help="only this collection, such as calls or approvals"
    )
    records.add_argument("--last", type=count, metavar="N", help="only the newest N (20)")
    records.add_argument("--json", action="store_true", help="print the records as they are")
    actions = records.add_subparsers(title="removing", metavar="ACTION", parser_class=CommandParser)
    purge = add_command(
        actions,
        "purge",
        "commands.records_removal",
        "remove the records of all sessions that have ended",
        "What is indexed of them goes, too. Sessions that tapui records now stay.",
    )
    purge.add_argument(
        "--before",
        type=moment,
        metavar="TIME",
        help="only those that ended before: 30d, 2026-11-20",
    )
    delete = add_command(
        actions,
        "delete",
        "commands.records_removal",
        "remove the records of one session",
        "What is indexed of them goes, too.",
    )
    delete.add_argument(
        "session", metavar="SESSION", help="its id, or a beginning that fits only one"
    )
    for name, parser in (("purge", purge), ("delete", delete)):
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.set_defaults(action=name)


def add_finding(commands: "Commands") -> None:
    """Add `search`, `why`, `why-allowed` and `usage`."""
    search = add_command(
        commands,
        "search",
        "commands.search",
        "find words in everything that was recorded",
        "Prompts, messages, calls with arguments and results, lines of streams,\n"
        "approvals, errors. All words must be there:\n"
        '  word  beginning*  "one after the other"  changed:FILE\n'
        "No gateway needs to run; what is not indexed yet is indexed first.",
    )
    search.add_argument("text", metavar="TEXT", nargs="+", help="what to look for")
    search.add_argument("--session", metavar="ID", help="only this session (all sessions)")
    search.add_argument("--last", type=count, metavar="N", help="only the newest N (20)")
    why = add_command(
        commands,
        "why",
        "commands.why",
        "show which turn, prompt and diff changed a file, or a line of it",
        "With a line: the last change that touches it. Changes by commands are marked\n*probably*.",
    )
    why.add_argument("file", metavar="FILE[:LINE]", help="the file, as it is now")
    why.add_argument("--last", type=count, metavar="N", help="only the newest N changes (5)")
    for parser in (search, why):
        parser.add_argument(
            "--since", type=moment, metavar="TIME", help="only since then: 2h, 3d, 2026-11-20"
        )
        parser.add_argument("--json", action="store_true", help="print a JSON object a line")
    allowed = add_command(
        commands,
        "why-allowed",
        "commands.why_allowed",
        "tell who allowed a call: you, a rule, a rule of Copilot's own, allow-all",
        "Read from the records; `tapui records --collection calls` lists calls with ids.",
    )
    allowed.add_argument("call", metavar="CALL", help="the id of a call, or of a request")
    allowed.add_argument("--session", metavar="ID", help="only this session (all sessions)")
    allowed.add_argument("--json", action="store_true", help="print a JSON object")
    usage = add_command(
        commands,
        "usage",
        "commands.usage",
        "show what sessions used: tokens, and cost or premium requests where they are told",
        "A row for each session and model. The sums hold what a session used before\n"
        "tapui came, or while it was away; with --since that is left out: it has no time.\n"
        "No gateway needs to run.",
    )
    usage.add_argument("--session", metavar="ID", help="only this session (all sessions)")
    usage.add_argument(
        "--since", type=moment, metavar="TIME", help="only since then: 2h, 3d, 2026-11-20"
    )
    usage.add_argument("--json", action="store_true", help="print it as JSON")


def _replay_keys() -> str:
    from tapui.tower.keys.names import key_names
    from tapui.tower.keys.table import replay_keys

    keys = [f"  {key_names(one.keys):<3} {one.does}" for one in replay_keys()]
    return "\n".join(["keys, beside the tower's own:", *keys])


def add_replay(commands: "Commands") -> None:
    """Add `replay`."""
    replay = add_command(
        commands,
        "replay",
        "commands.replay",
        "go through what a session did, on the tower's screens",
        "Reads the files: no gateway needs to run, and nothing can be changed.",
    )
    replay.details = _replay_keys
    replay.add_argument(
        "session",
        metavar="SESSION|DIR",
        nargs="?",
        help="the session, or a folder with records (the session that was recorded last)",
    )
