"""`tapui replay`: go through what a session did, on the tower's screens."""

import argparse
from pathlib import Path

from tapui.cli.arguments import EXIT_CODES, CommandParser
from tapui.cli.context import home, need_terminal, options
from tapui.cli.failure import Failure
from tapui.cli.journals import folders_of
from tapui.home.paths import typed_path
from tapui.index.sources import record_files
from tapui.records import register

COMMANDS = """
230 replay: go through what a session did, on the tower's screens
"""


def arguments(replay: CommandParser) -> None:
    from tapui.tower.keys.key_table import replay_keys
    from tapui.tower.keys.names import key_names

    replay.runs(run, "Reads the files: no gateway needs to run, and nothing can be changed.")
    keys = [f"  {key_names(one.keys):<3} {one.does}" for one in replay_keys()]
    replay.epilog = "\n".join(["keys, beside the tower's own:", *keys, "", EXIT_CODES])
    replay.add_argument(
        "session",
        metavar="SESSION|DIR",
        nargs="?",
        help="the session, or a folder with records (the session that was recorded last)",
    )


def run(args: argparse.Namespace) -> int:
    """Show the records of a session, or of a folder, until the person leaves."""
    name, folders = _recorded(args.session)
    if not any(one.size for folder in folders for one in record_files(folder)):
        raise Failure(f"there are no records of {name}")
    need_terminal()
    from tapui.station import tower

    return tower.run_replay(options(args), folders, name)


def _recorded(given: str | None) -> tuple[str, list[Path]]:
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
        raise Failure("there are no records of any session yet")
    name = max(known, key=lambda one: max(map(_changed, known[one])))
    return f"session {name}", known[name]


def _changed(folder: Path) -> float:
    """Return when a folder's records were written last."""
    return max((one.path.stat().st_mtime for one in record_files(folder)), default=0.0)
