"""How long records are kept: which may go, and removing them. What is written to stays."""

import contextlib
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tapui.files.locked_folder import FolderHeldError, LockedFolder
from tapui.records import ledger_files, register
from tapui.records.reader import ALL_COLLECTIONS
from tapui.records.record_file import RESULTS_FOLDER

_OURS = re.compile(
    rf"(?:{'|'.join(ALL_COLLECTIONS)})(?:\.\d{{1,18}})?\.jsonl\Z|{re.escape(ledger_files.NAME)}\Z"
    rf"|{ledger_files.ALTERED_NAMES}\Z"
)
_LOCK = ".lock"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptSession:
    """The records of one session and its ledger: their folders, their bytes, and when they were
    written last."""

    session_id: str
    folders: tuple[Path, ...]
    bytes: int
    written: float


def kept_sessions(state_dir: Path) -> list[KeptSession]:
    """Return the sessions that have records, those that were written to last at the end."""
    found = []
    for session_id, recorded in register.sessions(state_dir).items():
        folders = [*recorded, ledger_files.folder_of(state_dir, session_id)]
        infos = [info for folder in folders for info in _infos(folder)]
        if infos:
            size = sum(info.st_size for info in infos)
            written = max(info.st_mtime for info in infos)
            found.append(KeptSession(session_id, tuple(folders), size, written))
    return sorted(found, key=lambda one: one.written)


def _infos(folder: Path) -> list[os.stat_result]:
    infos = []
    for path in _files(folder):
        with contextlib.suppress(OSError):  # it went since it was listed
            infos.append(path.lstat())
    return infos


def _files(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):  # a folder that is gone has no files
        records = [path for path in folder.iterdir() if _OURS.match(path.name)]
        results = folder / RESULTS_FOLDER
        if results.is_dir() and not results.is_symlink():
            records += results.iterdir()
        return records
    return []


def remove(folders: Iterable[Path]) -> None:
    """Remove the records in folders, and the folders when nothing else is in them.

    Raises `FolderHeldError` for one that is written to, and `OSError`.
    """
    for path in folders:
        if not path.is_dir():
            continue
        folder = LockedFolder(path.parent, path.name)
        folder.open()
        try:
            for file in _files(path):
                file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not there, a link, or something else is in it
                (path / RESULTS_FOLDER).rmdir()
            if not [one for one in path.iterdir() if one.name != _LOCK]:
                (path / _LOCK).unlink(missing_ok=True)
                path.rmdir()
        finally:
            folder.close()


def expire(state_dir: Path, days: int, now: float | None = None) -> list[str]:
    """Remove the records of sessions that ended at least `days` days ago; return their ids.

    Of what belongs to no session the files that are as old go, too. What is written to stays for
    the next time, and so does what cannot be removed, which is logged.
    """
    before = (time.time() if now is None else now) - days * 86_400
    removed = []
    for session in kept_sessions(state_dir):
        if session.written < before:
            with _told_if_impossible(f"the records of session {session.session_id}"):
                remove(session.folders)
                removed.append(session.session_id)
    for path in (state_dir / ledger_files.FOLDER).glob("*"):
        if all(info.st_mtime < before for info in _infos(path)):
            with _told_if_impossible(f"the old ledger in {path}"):
                remove([path])
    for path in register.gateway_folders(state_dir):
        with _told_if_impossible(f"the old records in {path}"):
            _expire_files(path, before)
    return removed


@contextlib.contextmanager
def _told_if_impossible(what: str) -> Iterator[None]:
    """Keep what cannot be removed now; the next day tries again."""
    try:
        yield
    except FolderHeldError:
        pass  # another process writes there
    except OSError as error:
        _log.warning("%s cannot be removed: %s", what, error)


def _expire_files(path: Path, before: float) -> None:
    folder = LockedFolder(path.parent, path.name)
    try:
        folder.open()
    except FolderHeldError:
        live = {f"{collection}.jsonl" for collection in ALL_COLLECTIONS}
    else:
        live = set()
    try:
        for file in _files(path):
            if file.name not in live and file.lstat().st_mtime < before:
                file.unlink(missing_ok=True)
    finally:
        folder.close()
