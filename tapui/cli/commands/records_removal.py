"""`tapui records purge|delete`: removes records, and what is indexed of them."""

import argparse
import sqlite3
import time

from tapui.cli import output
from tapui.cli.agreeing import is_agreed
from tapui.cli.context import home
from tapui.cli.failure import FAILED, Failure
from tapui.cli.journals import SECONDS
from tapui.cli.meant import session_meant
from tapui.files.locked_folder import FolderHeldError
from tapui.records.keeping import KeptSession, kept_sessions, remove


def run(args: argparse.Namespace) -> int:
    """Ask, then remove; 1 when the answer is no or something could not be removed."""
    state = home().state
    every = kept_sessions(state)
    if args.action == "delete":
        chosen = [_named(every, args.session)]
        what = f"the records of session {chosen[0].session_id}"
    else:
        before = time.time() if args.before is None else args.before
        chosen = [one for one in every if one.written < before]
        what = f"the records of {len(chosen)} ended sessions"
    if not chosen:
        output.note("there are no such records")
        return 0
    size = sum(one.bytes for one in chosen)
    if not args.yes and not is_agreed(f"remove {what} ({size:,} bytes)?"):
        output.note("nothing was removed")
        return FAILED
    outcomes = [_is_removed(one, told=args.action == "delete") for one in chosen]
    _unindex()
    return 0 if all(outcomes) else FAILED


def _named(every: list[KeptSession], wanted: str) -> KeptSession:
    by_id = {one.session_id: one for one in every}
    return by_id[
        session_meant(by_id, wanted, otherwise=f"there are no records of session {wanted}")
    ]


def _is_removed(session: KeptSession, *, told: bool) -> bool:
    """Remove a session's records. One that is still written to is told only where it was named."""
    try:
        remove(session.folders)
    except FolderHeldError as error:
        if told:
            raise Failure(
                f"session {session.session_id} is recorded now ({error.strerror}); "
                "end it first, or tapui"
            ) from None
        return True
    except OSError as error:
        where = error.filename or session.folders[0]
        output.note(f"tapui: {where}: {error.strerror}")
        return False
    output.note(f"removed {session.session_id} ({session.bytes:,} bytes)")
    return True


def _unindex() -> None:
    """Take what was removed out of the index. A running tapui does so itself within a minute."""
    from tapui.index.current import bring_up_to_date

    try:
        bring_up_to_date(home().state, SECONDS)
    except (OSError, sqlite3.Error) as error:
        output.note(f"the index could not be brought up to date: {error}")
