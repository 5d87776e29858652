"""`tapui sessions`: the sessions that Copilot has stored, and what can be done with one."""

import argparse
import os
import shlex
import time
from pathlib import Path

from tapui import times
from tapui.cli import output
from tapui.cli.agreeing import is_agreed
from tapui.cli.context import home
from tapui.cli.failure import FAILED, Failure
from tapui.cli.meant import session_meant
from tapui.hosts.copilot.finding.stored import StoredSession, stored_sessions
from tapui.invocation import command
from tapui.station.session_store import PaneFault, panes_around

LAST = 20
"""Sessions that are listed when `--last` does not say how many."""
_TITLE = 60


def run(args: argparse.Namespace) -> int:
    """Carry the action out."""
    copilot_home = home().copilot
    if args.action == "list":
        return _list(copilot_home, args)
    session = _named(stored_sessions(copilot_home), args.session)
    if args.action == "resume":
        return _resume(session, only_prints=args.print)
    if args.action == "go":
        return _go(session)
    return _delete(copilot_home, session, is_asked=not args.yes)


def _list(copilot_home: Path, args: argparse.Namespace) -> int:
    words = " ".join(args.text).lower().split()
    found = [one for one in stored_sessions(copilot_home) if one.matches(words)]
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


def _named(every: list[StoredSession], wanted: str) -> StoredSession:
    by_id = {one.id: one for one in every}
    none = f"Copilot has stored no session {wanted}; see: {command('sessions list')}"
    return by_id[session_meant(by_id, wanted, otherwise=none)]


def _resume(session: StoredSession, *, only_prints: bool) -> int:
    """Open the session in a pane, or print the line that opens it in any terminal."""
    _refuse_held(session, f"`{command(f'sessions go {session.id}')}` goes to its terminal")
    folder = session.cwd or str(Path.home())
    words = ("copilot", "--resume", session.id)
    panes = None if only_prints else panes_around(os.environ)
    if panes is None:
        output.say(f"cd {shlex.quote(folder)} && {command(shlex.join(words))}")
        return 0
    try:
        panes.open([*shlex.split(command()), *words], folder)
    except PaneFault as fault:
        raise Failure(str(fault)) from None
    output.note(f"{session.id} is opened in a pane of {panes.name}")
    return 0


def _go(session: StoredSession) -> int:
    if session.pid is None:
        raise Failure(
            f"no program has session {session.id} open; "
            f"to resume it: {command(f'sessions resume {session.id}')}"
        )
    panes = panes_around(os.environ)
    if panes is None:
        raise Failure(
            f"session {session.id} is open in process {session.pid}; "
            "inside tmux this command goes to its pane"
        )
    try:
        panes.go_to(session.pid)
    except PaneFault as fault:
        raise Failure(str(fault)) from None
    return 0


def _delete(copilot_home: Path, session: StoredSession, *, is_asked: bool) -> int:
    _refuse_held(session, "end it first")
    name = f"{session.id} “{session.title}”" if session.title else session.id
    from tapui.hosts.copilot.errors import AttachError
    from tapui.hosts.copilot.own.deletion import delete_session
    from tapui.hosts.copilot.own.server import found_program

    try:
        found_program(os.environ)
        if is_asked and not is_agreed(f"delete session {name} ({session.size:,} bytes) for good?"):
            output.note("nothing was deleted")
            return FAILED
        delete_session(copilot_home, session.id)
    except AttachError as error:
        raise Failure(str(error)) from None
    output.note(f"deleted {session.id} ({session.size:,} bytes)")
    return 0


def _refuse_held(session: StoredSession, hint: str) -> None:
    if session.pid is not None:
        raise Failure(f"session {session.id} is open in process {session.pid}; {hint}")
