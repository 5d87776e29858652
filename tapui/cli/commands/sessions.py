"""`tapui sessions`: the sessions that Copilot has stored, and what can be done with one."""

import argparse
import os
import shlex
import time
from pathlib import Path

from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands, count
from tapui.cli.context import home, id_of
from tapui.cli.failure import FAILED, Failure
from tapui.hosts.copilot.finding.stored_sessions import StoredSession, stored_sessions
from tapui.invocation import command
from tapui.station.terminal_panes import PaneFault, go_to_process, panes_around

COMMANDS = """
100 sessions: list the sessions that Copilot has stored; resume, go to or delete one
"""

LAST = 20
"""Sessions that are listed when `--last` does not say how many."""
_TITLE = 60


def arguments(sessions: CommandParser) -> None:
    sessions.runs(_list, "Reads Copilot's files: no gateway and no CLI needs to run.")
    sessions.set_defaults(text=[], last=None, json=False)
    actions = Commands(sessions)
    listing = actions.add(
        "list", "list them, the one used last first (also without an action)", _list
    )
    listing.add_argument(
        "text", metavar="TEXT", nargs="*", help="words of a title, folder, branch or id"
    )
    listing.add_argument("--last", type=count, metavar="N", help="only the newest N (20)")
    listing.add_argument("--json", action="store_true", help="print a JSON object a line")
    resume = actions.add(
        "resume",
        "open one again, so that tapui can attach to it",
        _resume,
        "In a new pane of tmux, zellij, kitty or wezterm, else the line that does it is\nprinted.",
    )
    resume.add_argument("--print", action="store_true", help="print the line in any case")
    go = actions.add("go", "go to the terminal in which one is open, or say where that is", _go)
    delete = actions.add("delete", "delete one for good, after a question", _delete)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    for parser in (resume, go, delete):
        parser.add_argument(
            "session", metavar="SESSION", help="its id, or a beginning that fits only one"
        )


def _list(args: argparse.Namespace) -> int:
    words = " ".join(args.text).lower().split()
    found = [one for one in stored_sessions(home().copilot) if one.matches(words)]
    shown = found[: args.last or LAST]
    if args.json:
        for session in shown:
            output.say_json(_all(session))
    elif shown:
        now = time.time()
        rows = [
            (
                times.age(now - one.used_at.timestamp()),
                one.title[:_TITLE],
                output.path_text(one.cwd),
                one.branch,
                f"{one.size:,}",
                one.id,
                "" if one.pid is None else f"open (pid {one.pid})",
            )
            for one in shown
        ]
        output.table(("USED", "TITLE", "FOLDER", "BRANCH", "BYTES", "ID", ""), rows)
    if not found:
        output.note("there are no such sessions" if words else "Copilot has stored no session")
    elif len(found) > len(shown):
        output.note(f"{len(found) - len(shown)} more: --last {len(found)}")
    return 0


def _all(session: StoredSession) -> dict[str, object]:
    return {
        "id": session.id,
        "title": session.title,
        "cwd": session.cwd,
        "branch": session.branch,
        "client": session.client,
        "usedAt": session.used_at,
        "bytes": session.size,
        "pid": session.pid,
    }


def _named(wanted: str) -> StoredSession:
    by_id = {one.id: one for one in stored_sessions(home().copilot)}
    none = f"Copilot has stored no session {wanted}; see: {command('sessions list')}"
    return by_id[id_of(by_id, wanted, otherwise=none)]


def _resume(args: argparse.Namespace) -> int:
    """Open the session in a pane, or print the line that opens it in any terminal."""
    session = _named(args.session)
    _refuse_held(session, f"`{command(f'sessions go {session.id}')}` goes to its terminal")
    folder = session.cwd or str(Path.home())
    words = ("copilot", "--resume", session.id)
    panes = None if args.print else panes_around(os.environ)
    if panes is None:
        output.say(f"cd {shlex.quote(folder)} && {command(shlex.join(words))}")
        return 0
    try:
        panes.open([*shlex.split(command()), *words], folder)
    except PaneFault as fault:
        raise Failure(str(fault)) from None
    output.note(f"{session.id} is opened in a pane of {panes.name}")
    return 0


def _go(args: argparse.Namespace) -> int:
    session = _named(args.session)
    if session.pid is None:
        raise Failure(
            f"no program has session {session.id} open; "
            f"to resume it: {command(f'sessions resume {session.id}')}"
        )
    try:
        go_to_process(session.pid, os.environ)
    except PaneFault as fault:
        raise Failure(str(fault)) from None
    return 0


def _delete(args: argparse.Namespace) -> int:
    session = _named(args.session)
    _refuse_held(session, "end it first")
    name = f"{session.id} “{session.title}”" if session.title else session.id
    from tapui.hosts.copilot.connection import AttachError
    from tapui.hosts.copilot.own.server import delete_session, found_program

    try:
        found_program(os.environ)
        if not args.yes and not output.is_agreed(
            f"delete session {name} ({session.size:,} bytes) for good?"
        ):
            output.note("nothing was deleted")
            return FAILED
        delete_session(home().copilot, session.id)
    except AttachError as error:
        raise Failure(str(error)) from None
    output.note(f"deleted {session.id} ({session.size:,} bytes)")
    return 0


def _refuse_held(session: StoredSession, hint: str) -> None:
    if session.pid is not None:
        raise Failure(f"session {session.id} is open in process {session.pid}; {hint}")
