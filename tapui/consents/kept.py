"""A file of consents: private, replaced in one step, bounded. A damaged one allows nothing.

There is one for emitters and one for MCP servers; what is kept of each differs.
"""

import contextlib
import errno
import logging
import os
import stat
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from tapui.files import private_file
from tapui.files.foreign_file import read_up_to, reason
from tapui.files.locked_folder import locked
from tapui.files.private_file import private_folder
from tapui.text import safe_text

FILE = "consents.json"
MAX_CONSENTS = 1_000
MAX_BYTES = 4 * 1024 * 1024
"""Of the file; the consents that were used longest ago are dropped."""
_USED_SECONDS = 24 * 3600
"""How exactly it is kept when something was last started."""
_VERSION = 1
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_log = logging.getLogger(__name__)


class AllowedEntry(Protocol):
    """What is allowed: two of different kinds may have the same name."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def cwd(self) -> str | None: ...


E = TypeVar("E", bound=AllowedEntry)


class Kept(Struct, Generic[E], frozen=True, kw_only=True):
    """That an entry was allowed; times are seconds since the epoch."""

    files: tuple[tuple[str, str], ...]
    """What the files that it names held, by their paths in the folder."""
    later_versions: bool
    """Whether these files may change."""
    allowed_at: float
    used_at: float
    entry: E


class ConsentFile(Struct, Generic[E], forbid_unknown_fields=True):
    """What is in the file; consents by folder."""

    version: int
    folders: dict[str, list[Kept[E]]]


class _DamagedError(Exception):
    """The file holds something else than we have written."""


_Seen = tuple[int, int, int]


class KeptConsents(Generic[E]):
    """Reads and writes the file. `damage` says why it cannot be read, "" while it can.

    `place` is the folder of the file, below the state folder.
    """

    def __init__(
        self, state: Path, place: str, decoder: "msgspec.json.Decoder[ConsentFile[E]]"
    ) -> None:
        self._state = state
        self._place = place
        self._path = state / place / FILE
        self._decoder = decoder
        self._seen: _Seen | None = None
        self._folders: dict[str, list[Kept[E]]] = {}
        self.damage = ""

    @property
    def mark(self) -> tuple[int, int, int] | None:
        """What changes with the file; None where there is none, or it cannot be looked at."""
        try:
            info = self._path.lstat()
        except OSError:
            return None
        return info.st_ino, info.st_size, info.st_mtime_ns

    def one(self, folder: str, kind: str, name: str) -> Kept[E] | None:
        listed = self._read().get(folder, ())
        return next((one for one in listed if _is(one, kind, name)), None)

    def all(self) -> list[tuple[str, Kept[E]]]:
        return [(folder, one) for folder, listed in self._read().items() for one in listed]

    def put(self, folder: str, kept: Kept[E]) -> None:
        """Keep a consent in the place of one of the same name. Raises `OSError`."""
        with locked(private_folder(self._state, self._place)) as fd:
            folders = self._read()
            name = kept.entry.name
            others = [one for one in folders.get(folder, ()) if not _is(one, kept.entry.kind, name)]
            self._write(fd, {**folders, folder: [*others, kept]})

    def used(self, folder: str, kept: Kept[E], now: float) -> None:
        """Keep, from time to time, that one is in use: the others are forgotten first.

        It holds also where this cannot be written, which is logged.
        """
        if abs(now - kept.used_at) < _USED_SECONDS:
            return
        try:
            self._mark_used(folder, kept, now)
        except OSError as error:
            what = safe_text(f"{kept.entry.kind} {kept.entry.name}", limit=100)
            _log.warning("the use of the consent to %s could not be kept: %s", what, error)

    def _mark_used(self, folder: str, kept: Kept[E], now: float) -> None:
        """Write when one was used, if it is still there as it was. Raises `OSError`."""
        with locked(private_folder(self._state, self._place)) as fd:
            folders = self._read()
            listed = folders.get(folder, [])
            used = [
                msgspec.structs.replace(one, used_at=now) if one == kept else one for one in listed
            ]
            if used != listed:
                self._write(fd, {**folders, folder: used})

    def remove(self, folder: str, kind: str | None, name: str | None) -> int:
        """Forget those of a folder with this kind and name, None for any. Raises `OSError`."""
        with locked(private_folder(self._state, self._place)) as fd:
            folders = self._read()
            listed = folders.get(folder, [])
            others = [
                one
                for one in listed
                if kind not in (None, one.entry.kind) or name not in (None, one.entry.name)
            ]
            if len(others) < len(listed):
                self._write(fd, {**folders, folder: others})
            return len(listed) - len(others)

    def _read(self) -> dict[str, list[Kept[E]]]:
        try:
            fd = os.open(self._path, _OPEN)
        except FileNotFoundError:
            self._folders, self._seen, self.damage = {}, None, ""
            return {}
        except OSError as error:
            return self._damaged(f"it cannot be read: {reason(error)}")
        try:
            info = os.fstat(fd)
            seen = (info.st_ino, info.st_size, info.st_mtime_ns)
            if seen != self._seen:
                self._folders = self._decoded(fd, info)
                self._seen, self.damage = seen, ""
        except OSError as error:
            return self._damaged(f"it cannot be read: {reason(error)}")
        except _DamagedError as error:
            return self._damaged(str(error))
        finally:
            os.close(fd)
        return self._folders

    def _damaged(self, why: str) -> dict[str, list[Kept[E]]]:
        self._folders, self._seen = {}, None
        what = (
            f"{self._path}: nothing that it allowed is allowed any more: {why}. Mend it, or allow"
            f" anew what you need: the file is then kept as {FILE}.damaged"
        )
        if what != self.damage:
            _log.warning("%s", what)
        self.damage = what
        return {}

    def _write(self, fd: int, folders: dict[str, list[Kept[E]]]) -> None:
        """Write what fits; a damaged file is kept beside it."""
        try:
            data = _bounded(folders)
        except UnicodeEncodeError:
            raise OSError(errno.EILSEQ, "a path in it is not valid UTF-8") from None
        if self.damage:
            with contextlib.suppress(FileNotFoundError):  # it was mended meanwhile
                os.rename(FILE, f"{FILE}.damaged", src_dir_fd=fd, dst_dir_fd=fd)
        private_file.write(fd, FILE, data)
        self.damage = ""
        self._seen = None

    def _decoded(self, fd: int, info: os.stat_result) -> dict[str, list[Kept[E]]]:
        if not stat.S_ISREG(info.st_mode):
            raise _DamagedError("it is not a file")
        if info.st_nlink > 1:
            raise _DamagedError("it is a hard link: the same file has another name")
        if info.st_uid != os.geteuid() or info.st_mode & 0o022:
            raise _DamagedError("others can write it")
        data = read_up_to(fd, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise _DamagedError(f"it is larger than {MAX_BYTES:,} bytes")
        try:
            file = self._decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise _DamagedError(f"it is damaged: {error}") from None
        if file.version != _VERSION:
            raise _DamagedError(f"it is of another version of tapui ({file.version})")
        return file.folders


def _is(kept: Kept[E], kind: str, name: str) -> bool:
    return kept.entry.kind == kind and kept.entry.name == name


def _bounded(folders: dict[str, list[Kept[E]]]) -> bytes:
    """Return the file's bytes without the consents that were used longest ago, where it must be.

    Raises `OSError` when not even the last one fits.
    """
    by_use = sorted(
        ((kept.used_at, folder, kept) for folder, listed in folders.items() for kept in listed),
        key=lambda one: one[0],
        reverse=True,
    )
    sizes = 0
    left: dict[str, list[Kept[E]]] = {}
    for number, (_, folder, kept) in enumerate(by_use):
        sizes += len(msgspec.json.encode(kept)) + len(folder.encode("utf-8", "replace")) + 100
        if number >= MAX_CONSENTS or sizes > MAX_BYTES:
            break
        left.setdefault(folder, []).append(kept)
    if by_use and not left:
        raise OSError(errno.EFBIG, "it is too large to be kept")
    return msgspec.json.encode(ConsentFile(_VERSION, left))
