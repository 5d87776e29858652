"""Files written by order of the person: one is put back to what it was, or one hunk of it.

Nothing is written where the file, or what it would become, is another one than was shown. A file is
replaced as a whole or not at all; no link is followed, neither on the way nor at its end. What
gives way is looked at once more when nothing can reach it by its name any more, and has its place
again where it is another one by then. Nothing is started: a file that git's filters would change is
not put back. What gives way is kept in a folder of tapui's: no commit may have it.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import secrets
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tapui.core.effects import FileIsBack, FilePlace
from tapui.core.proof.folder_states import StatePair
from tapui.files import private_file
from tapui.files.foreign_file import reason
from tapui.runtime.folders import comparison
from tapui.runtime.folders.comparison import (
    DIRTY,
    FROM_LFS,
    LARGE,
    POINTER,
    FileComparison,
    FileSide,
)
from tapui.runtime.folders.git_folders import RepositoryError
from tapui.runtime.folders.patches import Content, hunk_of, line_changes
from tapui.runtime.folders.repository import LINK, MODULE, PROGRAM, is_gits
from tapui.runtime.folders.work_tree import path_bytes
from tapui.wire import limits
from tapui.wire.changes import DiffHunk

OTHER = "the file is another one than shown: look again"
OTHER_BEFORE = "what it would become is another one than shown: look again"
WRITTEN = "another program has it open to write: try again once that is done"
SAME = "it is as it was already"
KEPT_OTHERWISE = "git keeps it in another form than in the folder (a filter): git restore does it"
NOT_KEPT = (
    "no commit has it as it was then; compared with the newest commit it can be put back, and "
    "removed where it is new"
)
A_LINK = "it is a link, or was one: put it back with git restore"
A_MODULE = "it is a submodule: put it back with git submodule update"
MIXED = "its lines end in different ways, which are not shown: put the whole file back"
TAKEN = "there is a file again where it was: move that away first"
LINKED = "a folder on the way is a link or a file by now: look again"
IN_GIT = "it lies in git's own folder"
NOT_LINES = "a binary file has no hunks: put the whole file back"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})
"""Of a kernel or a file system that has no such rename."""
_SWAPS, _IS_NEW = (2, 4) if sys.platform == "darwin" else (2, 1)
"""What a rename does besides: exchange both, or replace none."""
KEPT_FILES, KEPT_BYTES = 200, 256 * 1024 * 1024
"""What was there before, of the newest files that were put back."""
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_KEPT_NAME = 100


class NotPutBackError(Exception):
    """Why nothing is written, in words."""


def put_back(
    pair: StatePair,
    file: FilePlace,
    state_id: str,
    hunk: DiffHunk | None,
    is_late: Callable[[], bool],
    *,
    kept_in: str = "",
) -> FileIsBack:
    """Put a file or a hunk back. It never raises for what it finds there.

    What was there is kept in the folder `kept_in`; with "" nowhere.
    """
    done = _Done([])
    try:
        for path in filter(None, (file.path, file.old_path)):
            if any(is_gits(part) for part in path_bytes(path).split(b"/")):
                raise NotPutBackError(IN_GIT)
        root = path_bytes(pair.root)
        _check_place(root, os.stat(root))  # noqa: PTH116 - bytes
        with comparison.opened(pair) as compared:
            _check_place(root, os.fstat(compared.root))  # a link may have been there meanwhile
            work = _PutBack(compared, file, state_id, done, kept_in)
            if hunk is None:
                work.whole()
            else:
                work.hunk(hunk, is_late)
    except NotPutBackError as error:
        fault = str(error)
    except RepositoryError as error:
        fault = str(error)
    except OSError as error:
        fault = f"it cannot be written: {reason(error)}"
    except ValueError:
        fault = "no file can have this name"
    else:
        fault = ""
    return FileIsBack(tuple(done.paths), fault, done.kept)


@dataclass(slots=True)
class _Done:
    """The paths that were written, and the file that has what was there."""

    paths: list[str]
    kept: str = ""


def _check_place(root: bytes, found: os.stat_result) -> None:
    """Check that a folder is the one of this path, without a link on the way. Raises
    `NotPutBackError`, `OSError`."""
    is_there = os.path.samestat(os.stat(root), found)  # noqa: PTH116 - bytes
    if os.path.realpath(root) != root or not is_there:
        raise NotPutBackError(LINKED)


class _PutBack:
    """One file that is to be put back. What was written is noted in `done`."""

    def __init__(
        self,
        compared: FileComparison,
        file: FilePlace,
        state_id: str,
        done: _Done,
        kept_in: str,
    ) -> None:
        self._compared = compared
        self._file = file
        self._path, self._former = path_bytes(file.path), path_bytes(file.old_path)
        self._state_id = state_id
        self._done = done
        self._kept_in = kept_in
        found = compared.sides(self._path, self._former)
        if found is None:
            raise NotPutBackError("it is not changed")
        self._before, self._now = found
        if file.old_state_id and file.old_state_id != comparison.state_of(self._before):
            raise NotPutBackError(OTHER_BEFORE)

    @property
    def _is_as_shown(self) -> bool:
        return bool(self._state_id) and self._state_id == comparison.state_of(self._now)

    def whole(self) -> None:
        """Put all of the file back."""
        if not self._is_as_shown:
            raise NotPutBackError(OTHER)
        base = self._base()
        now = self._content(self._now)
        if self._former:
            self._move_back(base, now)
        elif not base.mode:
            self._remove(self._path, now)
        elif not now.mode:
            self._create(self._path, base)
        elif (base.data, base.mode) == (now.data, now.mode):
            raise NotPutBackError(SAME)
        else:
            self._replace(base.data, now, mode=base.mode)

    def hunk(self, shown: DiffHunk, is_late: Callable[[], bool]) -> None:
        """Put one hunk back: it must be exactly what it was as it was shown."""
        base, now = self._base(), self._content(self._now)
        if base.is_binary or now.is_binary:
            raise NotPutBackError(NOT_LINES)
        if not now.mode or not base.mode:
            raise NotPutBackError("a file that came or went has no hunks: put the whole file back")
        if max(len(base.data), len(now.data)) > limits.MAX_DIFF_BYTES:
            raise NotPutBackError(LARGE)
        (old, new), _ = comparison.lined(self._content(self._before), now, "")
        is_crlf = new is not now  # its other ends of lines are left out of what is shown
        real = now.lines
        if is_crlf and not all(line.endswith(b"\r\n") for line in real if line.endswith(b"\n")):
            raise NotPutBackError(MIXED)
        olds, news = old.lines, new.lines
        changes, _ = line_changes(olds, news, is_late)
        found = hunk_of(olds, news, changes, shown)
        if found is None or not (found.is_exact or self._is_as_shown):
            raise NotPutBackError(OTHER)
        lines = list(real)
        for change in reversed(found.changes):
            back = olds[change.first : change.last]
            if is_crlf:
                back = _with_crlf(back)
            lines[change.start : change.end] = back
        self._replace(b"".join(lines), now, mode=None)

    # What it was and is

    def _base(self) -> Content:
        """Return what the file was, as it lay in the folder. Raises `NotPutBackError`."""
        before = self._before
        if MODULE in (before.mode, self._now.mode):
            raise NotPutBackError(A_MODULE)
        if LINK in (before.mode, self._now.mode):
            raise NotPutBackError(A_LINK)
        if before.note == DIRTY:
            raise NotPutBackError(NOT_KEPT)
        content = self._content(before)
        if content.data.startswith(POINTER):
            raise NotPutBackError(FROM_LFS)
        size = self._compared.checked_out_size(self._former or self._path, content.oid)
        is_stored = not content.mode or (size is None and not self._compared.has_filters)
        if is_stored or size == len(content.data):
            return content
        converted = b"".join(_with_crlf(content.lines))
        if b"\r\n" not in content.data and size == len(converted):
            return Content(converted, content.mode, content.oid)
        raise NotPutBackError(KEPT_OTHERWISE)

    @staticmethod
    def _content(side: FileSide) -> Content:
        if side.content is None or (side.note and side.note != DIRTY):
            raise NotPutBackError(side.note or "it was not read")
        return side.content

    # What is written

    def _replace(self, data: bytes, now: Content, mode: int | None) -> None:
        """Put other content into the place of the file that is there, which must still be `now`.

        With `mode`, git's, it is a program or none; else that stays.
        """
        with self._folder(self._path) as (folder, name):
            info = self._require(folder, name, now)
            bits = stat.S_IMODE(info.st_mode) & 0o777
            if mode is not None:
                bits = _program(bits) if mode == PROGRAM else bits & ~0o111
            if data == now.data and info.st_nlink == 1:
                self._change_mode(folder, name, info, bits)
            else:  # also of a file with other names: they keep what it is
                with _fresh(folder, data, bits) as fresh, _unwritten(folder, name) as check:
                    self._keep(now)
                    self._require(folder, name, now, info)
                    check()
                    give_way = partial(self._give_way, folder, fresh.name, now, info, check)
                    _put(folder, fresh, name, give_way)
                    os.fsync(folder)
        self._done.paths.append(self._file.path)

    def _give_way(
        self,
        folder: int,
        aside: bytes,
        now: Content,
        info: os.stat_result,
        check: Callable[[], None],
    ) -> None:
        """Raise `NotPutBackError` where what was moved aside is not what was to give way."""
        self._require(folder, aside, now, info)
        check()

    @staticmethod
    def _change_mode(folder: int, name: bytes, info: os.stat_result, bits: int) -> None:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            if not os.path.samestat(os.fstat(fd), info):
                raise NotPutBackError(OTHER)
            os.fchmod(fd, bits)
        finally:
            os.close(fd)

    def _create(self, path: bytes, base: Content) -> None:
        """Put a file where there is none; folders on the way are made."""
        bits = 0o666 & ~_umask()
        with self._folder(path, makes=True) as (folder, name):
            with _fresh(folder, base.data, _program(bits) if base.mode == PROGRAM else bits) as new:
                try:
                    _name_anew(folder, new.name, name)
                except FileExistsError:
                    raise NotPutBackError(TAKEN) from None
            os.fsync(folder)
        self._done.paths.append(self._file.old_path or self._file.path)

    def _remove(self, path: bytes, now: Content) -> None:
        with self._folder(path) as (folder, name), _unwritten(folder, name) as check:
            info = self._require(folder, name, now)
            self._keep(now)
            aside = _new_name()
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            try:
                self._give_way(folder, aside, now, info, check)
            except BaseException:
                with contextlib.suppress(FileExistsError):  # one is there again: then both stay
                    _name_anew(folder, aside, name)
                raise
            os.unlink(aside, dir_fd=folder)
            os.fsync(folder)
        self._done.paths.append(self._file.path)

    def _move_back(self, base: Content, now: Content) -> None:
        if not base.mode or not now.mode:
            raise NotPutBackError(OTHER)
        self._create(self._former, base)
        self._remove(self._path, now)

    def _keep(self, now: Content) -> None:
        """Keep the content that the file has. Raises `NotPutBackError` where that cannot be: then
        nothing of it is lost."""
        if not self._kept_in:
            return
        try:
            self._done.kept = _kept(Path(self._kept_in), self._path, now.data)
        except OSError as error:
            text = f"what is there cannot be kept in {self._kept_in}: {reason(error)}"
            raise NotPutBackError(text) from None

    def _require(
        self, folder: int, name: bytes, now: Content, info: os.stat_result | None = None
    ) -> os.stat_result:
        """Return what the file is that is there, if it is still what was read."""
        found = self._compared.read_in(folder, name)
        try:
            seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            raise NotPutBackError(OTHER) from None
        is_same = found.content is not None and found.content == now
        if not is_same or not stat.S_ISREG(seen.st_mode):
            raise NotPutBackError(OTHER)
        if info is not None and not os.path.samestat(info, seen):
            raise NotPutBackError(OTHER)
        return seen

    @contextmanager
    def _folder(self, path: bytes, *, makes: bool = False) -> Iterator[tuple[int, bytes]]:
        """Open the folder of a path, and yield it with the file's name. None of it is a link."""
        *folders, name = path.split(b"/")
        if {b"", b".", b".."} & {*folders, name}:
            raise NotPutBackError("no file can have this name")
        fd = os.dup(self._compared.root)
        try:
            for folder in folders:
                if makes:
                    with contextlib.suppress(FileExistsError):  # what it is shows when it is opened
                        os.mkdir(folder, dir_fd=fd)
                inner = os.open(folder, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = inner
            yield fd, name
        except NotADirectoryError:
            raise NotPutBackError(LINKED) from None
        finally:
            os.close(fd)


class _Fresh(NamedTuple):
    """A file that was written here, and what tells whether it is as it was written."""

    name: bytes
    stamp: tuple[int, int, int]

    def is_at(self, folder: int, name: bytes) -> bool:
        """Return whether it has this name, and has nothing else in it."""
        try:
            return self.stamp == _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return False


def _stamp(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_size, info.st_mtime_ns


@contextmanager
def _fresh(folder: int, data: bytes, bits: int) -> Iterator[_Fresh]:
    """Write a file beside the one that it is for, and yield it. At the end it has no name of its
    own; another one that has that name by then stays."""
    name = _new_name()
    fd = os.open(name, _NEW, 0o600, dir_fd=folder)
    fresh = _Fresh(name, _stamp(os.fstat(fd)))
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
            try:
                file.write(data)
                os.fchmod(fd, bits)
                file.flush()
                os.fsync(fd)
            finally:
                fresh = _Fresh(name, _stamp(os.fstat(fd)))
        yield fresh
    finally:
        if fresh.is_at(folder, name):
            os.unlink(name, dir_fd=folder)


def _new_name() -> bytes:
    return b".tapui-" + secrets.token_hex(8).encode()


@contextmanager
def _unwritten(folder: int, name: bytes) -> Iterator[Callable[[], None]]:
    """Yield what raises `NotPutBackError` once another program has opened a file to write.

    Linux tells it of a lease: one that opens the file waits until then. macOS and file systems over
    a network have no leases, so it is not known there.
    """
    lease = getattr(fcntl, "F_SETLEASE", None)
    if lease is None:
        yield lambda: None
        return
    try:
        fd = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except OSError:
        raise NotPutBackError(OTHER) from None
    try:
        has_lease = _take_lease(fd)

        def check() -> None:
            if has_lease and fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK:
                raise NotPutBackError(WRITTEN)

        yield check
    finally:
        os.close(fd)


def _take_lease(fd: int) -> bool:
    """Return whether leases are known here. Raises `NotPutBackError` for a file that is written."""
    try:
        # The signal that tells of others is one that is ignored: the lease is asked instead.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        raise NotPutBackError(WRITTEN) from None
    except OSError:
        return False
    return True


def _put(folder: int, fresh: _Fresh, name: bytes, give_way: Callable[[], None]) -> None:
    """Put a file in the place of another, which has the fresh one's name then. `give_way` raises
    where that one is to have its place again: it has, unless its place was written to since."""
    if not _rename(folder, fresh.name, name, _SWAPS):
        os.rename(fresh.name, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    try:
        give_way()
    except BaseException:
        if fresh.is_at(folder, name):
            _rename(folder, fresh.name, name, _SWAPS)
        raise
    os.unlink(fresh.name, dir_fd=folder)


def _name_anew(folder: int, name: bytes, other: bytes) -> None:
    """Give a file another name, which no file has. Raises `OSError`."""
    if not _rename(folder, name, other, _IS_NEW):
        os.link(name, other, src_dir_fd=folder, dst_dir_fd=folder)
        os.unlink(name, dir_fd=folder)


def _rename(folder: int, one: bytes, other: bytes, flag: int) -> bool:
    """Rename a file in a way that `os.rename` does not have; return False where the system has
    none. Raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    if call is None:
        return False
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if not call(folder, one, folder, other, flag):
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number))


def _kept(folder: Path, path: bytes, data: bytes) -> str:
    """Write what a file holds into a private folder, where the oldest of too many go; return the
    file's path. Raises `OSError`."""
    private_file.private_folder(folder)
    last = os.fsdecode(path.rsplit(b"/", 1)[-1])
    named = _UNUSUAL.sub("_", last)[-_KEPT_NAME:]
    at = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    name = f"{at}-{secrets.token_hex(4)}-{named}"
    fd = os.open(folder, _FOLDER)
    try:
        _make_room(fd, len(data))
        private_file.write(fd, name, data)
    finally:
        os.close(fd)
    return str(folder / name)


def _make_room(folder: int, size: int) -> None:
    """Remove the oldest files, which have their time in their names, until another one fits."""
    with os.scandir(folder) as entries:
        there = sorted(
            (entry.name, entry.stat(follow_symlinks=False).st_size)
            for entry in entries
            if entry.is_file(follow_symlinks=False)
        )
    total = size + sum(one for _name, one in there)
    for number, (name, one) in enumerate(there):
        if len(there) - number < KEPT_FILES and total <= KEPT_BYTES:
            return
        os.unlink(name, dir_fd=folder)
        total -= one


def _with_crlf(lines: Sequence[bytes]) -> list[bytes]:
    return [line[:-1] + b"\r\n" if line.endswith(b"\n") else line for line in lines]


def _program(bits: int) -> int:
    """Return permissions with the right to run it for all that may read it."""
    return bits | (bits & 0o444) >> 2


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
