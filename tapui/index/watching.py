"""Which folders somebody writes to now: told cheaply, also where there are a thousand."""

import contextlib
import time
from pathlib import Path

from tapui.index.sources import record_folders
from tapui.records import register
from tapui.records.reader import ALL_COLLECTIONS

_ACTIVE_SECONDS = 10.0
"""A folder is looked at often for so long after something was written to it."""
_RECENT_SECONDS = 3600.0
_NEWEST = 32
"""Folders that were registered last: what a gateway begins to write to is registered first."""


class Watch:
    """The folders of records of a home. `survey()` looks at all of them, `active()` at few."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._signature: tuple[int, ...] = ()
        self._folders: list[Path] = []
        self._recent: list[Path] = []

    def survey(self) -> list[Path]:
        self._signature = self._signed()
        self._folders = record_folders(self._state_dir)
        newest = time.time() - _RECENT_SECONDS
        self._recent = [path for path in self._folders if _touched(path) > newest]
        return self._folders

    def active(self) -> list[Path]:
        if self._signed() != self._signature:
            self._signature = self._signed()
            self._folders = record_folders(self._state_dir)
        gateway = register.gateway_folders(self._state_dir)
        looked_at = dict.fromkeys((*gateway, *self._recent, *self._folders[-_NEWEST:]))
        newest = time.time() - _ACTIVE_SECONDS
        return [path for path in looked_at if _touched(path) > newest]

    def _signed(self) -> tuple[int, ...]:
        try:
            info = (self._state_dir / register.REGISTER_FILE).stat()
        except OSError:  # nothing was recorded yet
            return ()
        return info.st_ino, info.st_size, info.st_mtime_ns


def _touched(folder: Path) -> float:
    """Return when a folder's files were written last, 0 if it is gone."""
    last = 0.0
    for collection in ALL_COLLECTIONS:
        with contextlib.suppress(OSError):  # most folders lack most files
            last = max(last, (folder / f"{collection}.jsonl").lstat().st_mtime)
    return last
