"""`tapui changes`: which files a session changed, by whom, and a patch of them."""

import argparse
import asyncio
from typing import NamedTuple

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, session_here, session_of
from tapui.cli.failure import FAILED
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, Refused
from tapui.projection.changed_files import (
    as_markdown,
    file_name,
    file_notes,
    line_counts,
    no_patch_words,
    writers_words,
)
from tapui.text import safe_text
from tapui.wire.changes import ChangedFile, ChangesList, ChangesRead, DiffRead, FileDiff, Since

_ID = "changes"
_EXIT_CODES = """\
exit codes:
  0 printed, 1 failed, also where a file is missing in a patch, 2 wrong use,
  3 no gateway, 130 interrupted"""


class _Base(NamedTuple):
    since: Since
    turn: int | None = None


def arguments(changes: CommandParser) -> None:
    changes.runs(
        run,
        "The files of the session's folder that are not as they were when it began, or\n"
        "since a turn or the newest commit; those that git ignores are left out. By whom:\n"
        "as its tools and its commands changed them while tapui looked.\n"
        "A patch can be applied to what was there, with git apply.",
    )
    changes.epilog = _EXIT_CODES
    changes.add_argument(
        "session",
        metavar="SESSION",
        nargs="?",
        help="its id, or a beginning that fits only one (the one in this folder)",
    )
    changes.add_argument(
        "--since",
        type=_base,
        default=_Base("start"),
        metavar="WHAT",
        help="start (as without), commit (the newest), turn (the newest), or a turn's number",
    )
    form = changes.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON object")
    form.add_argument("--patch", action="store_true", help="print a patch for git apply")
    form.add_argument("--md", action="store_true", help="print a table in Markdown")
    add_port(changes, "the gateway's port")


def _base(text: str) -> _Base:
    """Return what is compared with: an argument's type."""
    match text:
        case "start" | "commit" | "turn":
            return _Base(text)
        case _ if text.isascii() and text.isdigit() and int(text[:9]) > 0:
            return _Base("turn", int(text[:9]))
    raise argparse.ArgumentTypeError(f"expected start, commit, turn or a turn's number: {text!r}")


def run(args: argparse.Namespace) -> int:
    """Print what changed."""
    return asyncio.run(_run(gateway(args), args))


async def _run(chosen: FoundGateway, args: argparse.Namespace) -> int:
    async with await GatewayConnection.open(
        chosen, name="tapui changes", on_waits=output.note
    ) as connection:
        sessions = connection.snapshot.state.sessions
        session = session_of(sessions, args.session) if args.session else session_here(sessions)
        base: _Base = args.since
        asked = ChangesRead(_ID, session.id, base.since, base.turn)
        found = await connection.answer(asked, ChangesList)
        if args.patch:
            return await _print_patch(connection, found, base)
    folder = session.cwd or ""
    if args.json:
        output.say_json(_told(found, base), indent=2)
    elif args.md:
        for line in as_markdown(found.files, found.more, folder):
            output.say(safe_text(line))
    else:
        _print_table(found, folder)
    return 0


def _print_table(found: ChangesList, folder: str) -> None:
    if found.files:
        rows = [
            (
                file_name(one, folder),
                one.state,
                *line_counts(one),
                writers_words(one),
                "; ".join(file_notes(one)),
            )
            for one in found.files
        ]
        output.table(("FILE", "CHANGE", "+", "−", "BY", ""), rows, margin="", numbers=(2, 3))
    else:
        output.note("no file is changed")
    if found.more:
        output.note(f"{found.more:,} more files are changed")
    for text in found.notes:
        output.note(text)


def _told(found: ChangesList, base: _Base) -> dict[str, object]:
    return {
        "session": found.session_id,
        "since": base.since,
        "turn": base.turn,
        "began": found.began,
        "files": [_all(one) for one in found.files],
        "more": found.more,
        "notes": found.notes,
    }


def _all(file: ChangedFile) -> dict[str, object]:
    return output.all_fields(file) | {"by": [output.all_fields(one) for one in file.by]}


async def _print_patch(connection: GatewayConnection, found: ChangesList, base: _Base) -> int:
    """Print the patches of all files, one after the other; say which are missing."""
    missing = [f"{found.more:,} more files are not in the patch"] if found.more else []
    root = found.files[0].root if found.files else ""
    for one in found.files:
        if gap := no_patch_words(one, root):
            missing.append(gap)
            continue
        asked = DiffRead(
            _ID, found.session_id, one.root, one.path, one.old_path, *base, as_patch=True
        )
        try:
            diff = await connection.answer(asked, FileDiff)
        except Refused as refused:
            missing.append(f"{one.path}: {refused}")
            continue
        if diff.patch:
            output.say_exactly(diff.patch)
        else:
            diff_notes = "; ".join(diff.notes) or "it was not read"
            missing.append(f"{one.path}: {diff_notes}")
        for text in diff.notes if diff.patch else ():
            output.note(f"{one.path}: {text}")
    for text in [*found.notes, *missing]:
        output.note(text)
    return FAILED if missing else 0
