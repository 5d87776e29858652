"""The files of records that are open, and what is reported when they cannot be written."""

import os
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tapui.files.locked_folder import LockedFolder
from tapui.records.record_file import RecordFile, put_back, rotate, trim
from tapui.records.syncer import Report, Syncer
from tapui.settings.settings import Records
from tapui.text import safe_text

MAX_OPEN_FILES = 256
"""Open files of records at most; the least recently used is closed for the next one."""


_SETTLED = 1.0


class Trouble:
    """The files that cannot be written, and why; `lost` counts the records that are missing."""

    def __init__(self, report: Report, clock: Callable[[], float]) -> None:
        self._report = report
        self._clock = clock
        self._failing: dict[Path, tuple[int | None, float]] = {}
        self.lost = 0

    def __bool__(self) -> bool:
        return bool(self._failing)

    def fail(self, path: Path, error: OSError) -> None:
        """Say that the file cannot be written, unless another fails for the same reason."""
        if all(number != error.errno for number, _ in self._failing.values()):
            self._report(
                f"Records cannot be written to {shown(path)}: {error.strerror}. The gateway goes "
                "on without; approvals are refused until this works again",
                "warning",
            )
        self._failing[path] = (error.errno, self._clock())

    def works(self, path: Path) -> None:
        """Say that all files can be written again, when that has lasted a second.

        On a full disk small records fit now and then; that is not worth a line each time.
        """
        known = self._failing.get(path)
        if known is None or self._clock() - known[1] < _SETTLED:
            return
        del self._failing[path]
        if not self._failing:
            self._report(f"Records are written again; {self.lost:,} are missing", "info")
            self.lost = 0

    def moved(self, source: Path, target: Path) -> None:
        """The records that failed at `source` go to `target` from now on."""
        known = self._failing.pop(source, None)
        if known is not None:
            self._failing[target] = known

    def forget(self, folder: Path) -> None:
        """Nothing is written to `folder` any more."""
        for path in [path for path in self._failing if path.parent == folder]:
            del self._failing[path]


def shown(path: Path) -> str:
    return safe_text(str(path))


class OpenFiles:
    """The journal's open files. `routes` is which of them takes an event: (session id, type)."""

    def __init__(
        self, limits: Records, syncer: Syncer, trouble: Trouble, report: Report, most_open: int
    ) -> None:
        self._limits = limits
        self._syncer = syncer
        self._trouble = trouble
        self._report = report
        self.routes: dict[tuple[str | None, type], RecordFile] = {}
        self._folders: dict[Path, tuple[LockedFolder, dict[str, RecordFile]]] = {}
        self._untrimmed: set[Path] = set()
        """Folders that wait to be kept within their total. Both threads change it, one item at a
        time."""
        # A file costs up to three descriptors (itself, its folder, its lock).
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._room = most_open if descriptors < 0 else min(most_open, descriptors // 8)

    def close(self) -> None:
        for path in list(self._folders):
            self.close_folder(path)

    def open(self, folder: LockedFolder, collection: str) -> RecordFile:
        """Return a collection's file in a folder, open; raises `OSError`."""
        known = self._folders.get(folder.path)
        if known is None:
            folder.open()
            known = self._folders[folder.path] = (folder, {})
            if not folder.is_locked:
                self._report(
                    f"{shown(folder.path)}: this file system has no locks; let no second gateway "
                    "write there",
                    "warning",
                )
        folder, files = known
        file = files.get(collection)
        if file is None:
            self._make_room(folder)
            try:
                file = RecordFile(folder, collection, self._limits.file)
            except OSError:
                if not files:
                    self.close_folder(folder.path)
                raise
            files[collection] = file
            if file.cut:
                self._report(
                    f"{shown(file.path)}: an incomplete last record ({file.cut:,} bytes) was cut "
                    "off; its writer was stopped in the middle",
                    "warning",
                )
        return file

    def _make_room(self, keep: LockedFolder) -> None:
        opened = [file for _, files in self._folders.values() for file in files.values()]
        for file in sorted(opened, key=lambda one: one.used)[: len(opened) - self._room + 1]:
            self._close_file(file)
            if file.folder is not keep and not self._folders[file.folder.path][1]:
                self.close_folder(file.folder.path)

    def _close_file(self, file: RecordFile) -> None:
        del self._folders[file.folder.path][1][file.collection]
        for key in [key for key, routed in self.routes.items() if routed is file]:
            del self.routes[key]
        self._syncer.retire(file.handle)

    def close_folder(self, path: Path) -> None:
        self._trouble.forget(path)
        known = self._folders.get(path)
        if known is None:
            return
        folder, files = known
        for file in list(files.values()):
            self._close_file(file)
        folder.close()
        del self._folders[path]

    def forget_routes(self, session_id: str | None) -> None:
        for key in [key for key in self.routes if key[0] == session_id]:
            del self.routes[key]

    def rotate(self, file: RecordFile) -> None:
        """Rotate; on failure keep writing to the full file, up to twice its size."""
        former = file.handle
        try:
            numbered = rotate(file.folder, file.collection)
            try:
                file.reopen()
            except OSError:
                put_back(file.folder, file.collection, numbered)
                raise
        except OSError as error:
            self._report(f"{shown(file.path)}: cannot be rotated: {error.strerror}", "warning")
            file.rotate_at = file.size + self._limits.file
            return
        self._syncer.retire(former)
        file.rotate_at = self._limits.file
        self.trim_later(file.folder)

    def trim_later(self, folder: LockedFolder) -> None:
        """Keep a folder within its total, on the journal's thread: once for all that asked for it
        before it began, since each time lists the whole folder."""
        if folder.path in self._untrimmed:
            return
        try:
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder.fd)
        except OSError as error:  # the next rotation trims it
            self._report(f"{shown(folder.path)}: {error.strerror}", "warning")
            return
        self._untrimmed.add(folder.path)
        self._syncer.run(partial(self._trim, fd, folder.path))

    def _trim(self, folder: int, path: Path) -> None:
        """Keep a folder within its total; runs in the journal's thread and closes `folder`."""
        self._untrimmed.discard(path)
        try:
            dropped = trim(folder, self._limits.session)
        except OSError as error:
            self._report(f"{shown(path)}: {error.strerror}", "warning")
            return
        finally:
            os.close(folder)
        for name in dropped:
            self._report(
                f"{shown(path / name)} was dropped: the session's records exceeded "
                f"{self._limits.session:,} bytes",
                "info",
            )
