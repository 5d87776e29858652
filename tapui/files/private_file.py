"""Files of tapui's own: small secret ones, for their owner only, and sealed ones.

A sealed file stands in `COPILOT_HOME`. Its last line has a digest of what was written before it: a
file that a person has changed is known, and left alone.
"""

import contextlib
import errno
import hmac
import os
import re
import stat
from pathlib import Path
from typing import Literal

from tapui import __version__

_MAX_BYTES = 64 * 1024
_SEALED_BYTES = 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY


def check_own(fd: int) -> os.stat_result:
    """Return what an open file is; raises `OSError` for anything but a file with a single name.

    What is written to a hard link changes a file elsewhere, which may be another program's.
    """
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "it is not a plain file")
    if info.st_nlink > 1:
        raise OSError(errno.EMLINK, "it is a hard link: the same file has another name")
    return info


def private_folder(base: Path, *parts: str) -> Path:
    """Make a folder below `base`: 0700, no part of it a link. Raises `OSError`."""
    with contextlib.suppress(FileExistsError):  # a file in its way shows when it is opened
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            with contextlib.suppress(FileExistsError):  # what it is shows when it is opened
                os.mkdir(part, 0o700, dir_fd=fd)
            child = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = child
        info = os.fstat(fd)
        if stat.S_IMODE(info.st_mode) != 0o700:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)
    return base.joinpath(*parts)


def unwritable(folder: Path) -> str | None:
    """Return why no file can be written into a folder of the person's, which need not be there yet;
    None where one can. Nothing is changed."""
    here = folder
    while not os.path.lexists(here) and here != here.parent:
        here = here.parent
    if here == folder and here.is_symlink():
        return f"{here} is a link"
    if not here.is_dir():
        return f"{here} is no folder"
    if not os.access(here, os.W_OK | os.X_OK):
        return f"{here} cannot be written"
    disk = os.statvfs(here)
    return f"the disk of {here} is full" if disk.f_blocks and not disk.f_bavail else None


def write(folder: int, name: str, data: bytes, *, is_lasting: bool = True) -> None:
    """Put a file of mode 0600 into the open folder, replacing what has the name.

    A reader sees the old file or the new one, never a part. That holds after a power cut, too,
    where it `is_lasting`: then this waits for the disk. A link of that name is replaced, not
    followed. The caller is the folder's only writer. Raises `OSError`, which names the file.
    """
    fresh = f"{name}.new"
    with contextlib.suppress(FileNotFoundError):  # no earlier attempt was interrupted
        os.unlink(fresh, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fd = os.open(fresh, flags, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
            os.fchmod(fd, 0o600)
            file.write(data)
            file.flush()
            if is_lasting:
                os.fsync(fd)
        os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):  # it has its new name already
            os.unlink(fresh, dir_fd=folder)
        raise OSError(error.errno, error.strerror, name) from None


def write_in(folder: Path, name: str, data: bytes, *, is_lasting: bool = True) -> None:
    """Put a file into a folder, as `write` does. Raises `OSError`."""
    fd = os.open(folder, _FOLDER)
    try:
        write(fd, name, data, is_lasting=is_lasting)
    finally:
        os.close(fd)


def remove_if_holds(folder: int, name: str, data: bytes) -> bool:
    """Remove the file if its content is `data`; return whether it was. Raises `OSError`."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False  # a link was put in its place
        raise
    with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
        found = file.read(_MAX_BYTES)
    if not hmac.compare_digest(found, data):
        return False
    with contextlib.suppress(FileNotFoundError):  # another process was faster
        os.unlink(name, dir_fd=folder)
    return True


SealedState = Literal["missing", "installed", "outdated", "edited"]


class EditedError(Exception):
    """The file is not as tapui wrote it, so it is left alone. The text says what to do."""


class SealedFile:
    """One such file. `comment` is how its language begins and ends a comment on one line."""

    def __init__(
        self, copilot_home: Path, folder: tuple[str, ...], name: str, comment: tuple[str, str]
    ) -> None:
        self.copilot_home = copilot_home
        self._folder = folder
        self._name = name
        self._comment = tuple(one.encode() for one in comment)

    def body(self) -> bytes:
        """Return what is in it above its last line."""
        raise NotImplementedError

    @property
    def path(self) -> Path:
        """Where Copilot CLI looks for it."""
        return self.copilot_home.joinpath(*self._folder, self._name)

    def content(self) -> bytes:
        body = self.body()
        return body + self._seal(__version__.encode(), _digest(body))

    def state(self) -> SealedState:
        """Return what there is; `edited` is also a file that tapui did not write."""
        try:
            found = self._read()
        except FileNotFoundError:
            return "missing"
        except OSError:
            return "edited"
        if found == self.content():
            return "installed"
        above, _, last = found.removesuffix(b"\n").rpartition(b"\n")
        seal = re.search(rb"written by tapui (\S{1,40}), sha256 ([0-9a-f]{64})", last)
        if seal is None or above + b"\n" + self._seal(seal[1], _digest(above + b"\n")) != found:
            return "edited"
        return "outdated"

    def check(self) -> None:
        """Raise `EditedError` if the file is not ours to write or remove."""
        if self.state() == "edited":
            raise EditedError(
                f"{self.path} was not written by tapui, or was changed since; "
                "move it away first: tapui does not touch it"
            )

    def install(self) -> None:
        """Put it in its place; raises `EditedError` and `OSError`."""
        self.check()
        write_in(private_folder(self.copilot_home, *self._folder), self._name, self.content())

    def uninstall(self) -> None:
        """Take it away, and its folders unless something is in them.

        Raises `EditedError` and `OSError`.
        """
        self.check()
        self.path.unlink(missing_ok=True)
        for folder in self.folders():
            with contextlib.suppress(OSError):  # something is in it, or it was not there
                folder.rmdir()

    def folders(self) -> tuple[Path, ...]:
        """Return the folders that are this file's, the inner ones first."""
        return (self.path.parent,)

    def _seal(self, version: bytes, digest: bytes) -> bytes:
        begin, end = self._comment
        return begin + b"written by tapui " + version + b", sha256 " + digest + end + b"\n"

    def _read(self) -> bytes:
        fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(0, "it is not a file")
            return file.read(_SEALED_BYTES)


def _digest(body: bytes) -> bytes:
    import hashlib  # here: OpenSSL takes milliseconds, and commands that run often seal nothing

    return hashlib.sha256(body).hexdigest().encode()
