"""`tapui replay`: go through what a session did, on the tower's screens."""

import argparse
from pathlib import Path

from tapui.cli.commands.records import folders_of
from tapui.cli.context import home, need_terminal, options
from tapui.cli.failure import FAILED, Failure
from tapui.home.paths import typed_path
from tapui.index.sources import record_files
from tapui.records import register


def run(args: argparse.Namespace) -> int:
    """Show the records of a session, or of a folder, until the person leaves."""
    name, folders = _meant(args.session)
    if not any(one.size for folder in folders for one in record_files(folder)):
        raise Failure(f"there are no records of {name}", FAILED)
    need_terminal()
    from tapui.station import tower

    return tower.run_replay(options(args), folders, name)


def _meant(given: str | None) -> tuple[str, list[Path]]:
    """Return what is replayed, in words, and its folders: of a session by its id or the beginning
    of it, of a folder, or of the session that was recorded last."""
    if given is None:
        return _newest()
    path = typed_path(given)
    if path.is_dir() and not register.folders(home().state, given):
        inside = path / "files" / "tap"  # a session's workspace
        return str(path), [inside if inside.is_dir() else path]
    ((name, folders),) = folders_of(given)
    return f"session {name}", folders


def _newest() -> tuple[str, list[Path]]:
    known = register.sessions(home().state)
    if not known:
        raise Failure("there are no records of any session yet", FAILED)
    name = max(known, key=lambda one: max(map(_changed, known[one])))
    return f"session {name}", known[name]


def _changed(folder: Path) -> float:
    """Return when a folder's records were written last."""
    return max((one.path.stat().st_mtime for one in record_files(folder)), default=0.0)
