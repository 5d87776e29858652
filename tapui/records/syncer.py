"""The thread that makes records durable: syncs in groups, or at once when someone waits for it."""

import fcntl
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal

from tapui.records.record_file import Handle

Report = Callable[[str, Literal["info", "warning", "error"]], None]
"""Takes a line for the person. Called on the writing thread and on the syncing thread."""

GROUP_INTERVAL = 0.1
"""Seconds between a write and the group sync that covers it."""
_CROWD = 64
"""Retired handles that may wait for their last sync with an open descriptor."""

_log = logging.getLogger(__name__)

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


def datasync(fd: int) -> None:
    """Put the file's bytes on the disk; where the system has a stronger sync, use that."""
    if _FULL_SYNC is not None:
        fcntl.fcntl(fd, _FULL_SYNC)
    else:
        os.fdatasync(fd)


class Syncer:
    """Syncs and closes handles in its own thread, which runs from the first handle on."""

    def __init__(
        self,
        report: Report,
        interval: float = GROUP_INTERVAL,
        sync: Callable[[int], None] = datasync,
    ) -> None:
        self._report = report
        self._interval = interval
        self._datasync = sync
        self._wake = threading.Condition()
        self._dirty: list[Handle] = []
        self._retired: list[Handle] = []
        self._busy: set[Handle] = set()
        """Handles that the thread is at work on; only they must not be closed by the writer."""
        self._has_closed_early = False
        self._folders: list[int] = []
        self._chores: deque[Callable[[], None]] = deque()
        self._requests: deque[tuple[list[Handle] | None, bool, Callable[[bool], None]]] = deque()
        self._closing = False
        self._group_at: float | None = None
        self._thread: threading.Thread | None = None

    def touch(self, handle: Handle) -> None:
        """Sync `handle`, which has just become dirty, within the interval."""
        with self._wake:
            self._dirty.append(handle)
            self._notify()

    def retire(self, handle: Handle) -> None:
        """Sync `handle` a last time and close it.

        When very many wait for that already, the oldest is closed at once, so that a flood of files
        cannot take all descriptors; the thread then syncs whole file systems instead.
        """
        handle.retired = True
        with self._wake:
            self._retired.append(handle)
            if len(self._retired) > _CROWD:
                self._close_early()
            self._notify()

    def _close_early(self) -> None:
        oldest = next((one for one in self._retired if one not in self._busy), None)
        if oldest is None:
            return
        self._retired.remove(oldest)
        if oldest in self._dirty:
            self._dirty.remove(oldest)
        fd, oldest.fd = oldest.fd, -1
        _close(fd)
        _close_all(oldest.dirs)
        self._has_closed_early = True

    def settle(self, folders: Iterable[int]) -> None:
        """Sync the folders behind these descriptors ahead of anything else, then close them."""
        with self._wake:
            self._folders += folders
            self._notify()

    def run(self, chore: Callable[[], None]) -> None:
        """Do something that may take a while in the thread, within the interval."""
        with self._wake:
            self._chores.append(chore)
            self._notify()

    def request(
        self, handles: Iterable[Handle] | None, ok: bool, done: Callable[[bool], None]
    ) -> None:
        """Sync `handles` (None: all that are dirty) at once, then call `done` in the thread.

        `done` gets False when `ok` was False or one of them could not be synced.
        """
        with self._wake:
            self._requests.append((None if handles is None else list(handles), ok, done))
            self._notify()

    def close(self, timeout: float) -> bool:
        """Sync and close everything; return whether that was done within `timeout` seconds."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()
            thread = self._thread
        if thread is None:
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def _notify(self) -> None:
        if self._thread is None and not self._closing:
            self._thread = threading.Thread(target=self._run, name="tapui-records", daemon=True)
            self._thread.start()
        self._wake.notify_all()

    def _is_urgent(self) -> bool:
        return bool(self._requests) or self._closing or len(self._retired) >= _CROWD

    def _has_work(self) -> bool:
        waiting = self._dirty or self._retired or self._folders or self._chores
        return bool(waiting) or self._is_urgent()

    def _run(self) -> None:
        ended = False
        while not ended:
            with self._wake:
                self._wake.wait_for(self._has_work)
                now = time.monotonic()
                if self._group_at is None:
                    self._group_at = now + self._interval
                self._wake.wait_for(self._is_urgent, max(self._group_at - now, 0))
                requests, self._requests = self._requests, deque()
                dirty = list(self._dirty)
                retired: list[Handle] = []
                for_group = not requests or any(handles is None for handles, _, _ in requests)
                if for_group or time.monotonic() >= self._group_at:
                    self._group_at = None
                    self._dirty, retired = [], list(self._retired)
                self._busy.update(dirty, retired, *(handles or () for handles, _, _ in requests))
                folders, self._folders = self._folders, []
                chores, self._chores = self._chores, deque()
                ended = self._closing and not requests
            for fd in folders:
                self._do(partial(_sync_folder, fd))
            for handles, ok, done in requests:
                self._answer(dirty if handles is None else handles, ok, done)
            if self._group_at is None:
                self._do(partial(self._sync_group, dirty, retired))
            for chore in chores:
                self._do(chore)
            with self._wake:
                self._busy.clear()

    def _do(self, chore: Callable[[], None]) -> None:
        try:
            chore()
        except OSError as error:
            self._report(f"{error.filename or 'the records'}: {error.strerror}", "warning")
        except Exception:  # noqa: BLE001 - logged; the thread must live on for the records
            _log.exception("a chore of the records failed")

    def _answer(self, handles: list[Handle], ok: bool, done: Callable[[bool], None]) -> None:
        for handle in handles:
            ok = self._sync(handle) and ok
        try:
            done(ok)
        except RuntimeError as error:
            # The event loop that waits may be closed by now; the others still get their answer.
            self._report(
                f"The answer that records are safe could not be delivered: {error}", "warning"
            )
        except Exception:  # noqa: BLE001 - logged; the thread must live on for the records
            _log.exception("an answer about %d files of records was not taken", len(handles))

    def _sync_group(self, dirty: list[Handle], retired: list[Handle]) -> None:
        self._sync_closed()
        for handle in dirty:
            self._sync(handle)
        for handle in retired:
            self._sync(handle)
            fd, handle.fd = handle.fd, -1
            _close(fd)
            _close_all(handle.dirs)
        if retired:
            with self._wake:
                self._retired = [one for one in self._retired if one not in retired]

    def _sync_closed(self) -> None:
        if self._has_closed_early:
            self._has_closed_early = False
            os.sync()

    def _sync(self, handle: Handle) -> bool:
        if handle.fd < 0:
            self._sync_closed()
        elif handle.dirty:
            # Cleared first: a write during the sync makes it dirty again.
            handle.dirty = False
            try:
                self._datasync(handle.fd)
                for fd in handle.dirs:
                    os.fsync(fd)
                deleted = not handle.retired and os.fstat(handle.fd).st_nlink == 0
            except OSError as error:
                handle.stale = f"cannot be synced to the disk ({error.strerror})"
            else:
                _close_all(handle.dirs)
                if deleted:
                    handle.stale = "was deleted while it was in use"
            if handle.stale is not None:
                self._report(f"{handle.path} {handle.stale}; its last records may be lost", "error")
        return handle.stale is None


def _sync_folder(fd: int) -> None:
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _close_all(fds: list[int]) -> None:
    while fds:
        _close(fds.pop())


def _close(fd: int) -> None:
    """Close a descriptor. It is closed also when that fails, so it is not tried again."""
    try:
        os.close(fd)
    except OSError as error:
        _log.warning("a descriptor of the records could not be closed in order: %s", error)
