"""What the person has allowed to run, folder by folder: emitters, a project's providers, MCP
servers. Each kind has a file in the state folder: private, replaced in one step, bounded. A damaged
one allows nothing.

The way is: `standing()` says what is allowed; what is not is a proposal, which is shown and handed
to `allow()` unchanged; then `standing()` is asked again, and what it gives is started. So what was
shown is what is allowed, and what is allowed is what is started.
"""

import contextlib
import errno
import hashlib
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from tapui.files import private_file
from tapui.files.foreign_file import read_up_to, reason
from tapui.files.locked_folder import locked
from tapui.files.private_file import private_folder
from tapui.policies.rules import is_within
from tapui.text import safe_text

if TYPE_CHECKING:  # it takes commands apart, which a reader of consents does without
    from tapui.consents.named_files import NamedFiles

FILE = "consents.json"
MAX_CONSENTS = 1_000
MAX_BYTES = 4 * 1024 * 1024
"""Of the file; the consents that were used longest ago are dropped."""
_NAMES = 300
"""Characters of the names of files that have changed."""
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
    """Reads and writes the file. `damage` says why it cannot be read, so that nothing is allowed;
    it is "" while it can. `place` is the folder of the file, below the state folder.
    """

    def __init__(
        self, state: Path, place: str, decoder: "msgspec.json.Decoder[ConsentFile[E]]"
    ) -> None:
        self.most, self.most_bytes = MAX_CONSENTS, MAX_BYTES
        self._state = state
        self._place = place
        self._path = state / place / FILE
        self._decoder = decoder
        self._seen: _Seen | None = None
        self._folders: dict[str, list[Kept[E]]] = {}
        self.damage = ""

    @property
    def mark(self) -> tuple[int, int, int] | None:
        """What changes with each consent that any process gives or revokes; None where there is no
        file, or it cannot be looked at."""
        try:
            info = self._path.lstat()
        except OSError:
            return None
        return info.st_ino, info.st_size, info.st_mtime_ns

    def one(self, folder: str, kind: str, name: str) -> Kept[E] | None:
        """Return what is kept of an entry of a folder, whose path has no links."""
        listed = self._read().get(folder, ())
        return next((one for one in listed if _is(one, kind, name)), None)

    def _put(self, folder: str, kept: Kept[E]) -> None:
        """Keep a consent in the place of one of the same name. Raises `OSError`."""
        with locked(private_folder(self._state, self._place)) as fd:
            folders = self._read()
            name = kept.entry.name
            others = [one for one in folders.get(folder, ()) if not _is(one, kept.entry.kind, name)]
            self._write(fd, {**folders, folder: [*others, kept]})

    def _used(self, folder: str, kept: Kept[E], now: float) -> None:
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

    def _remove(self, folder: str, kind: str | None, name: str | None) -> int:
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
            data = _bounded(folders, self.most, self.most_bytes)
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
        data = read_up_to(fd, self.most_bytes + 1)
        if len(data) > self.most_bytes:
            raise _DamagedError(f"it is larger than {self.most_bytes:,} bytes")
        try:
            file = self._decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise _DamagedError(f"it is damaged: {error}") from None
        if file.version != _VERSION:
            raise _DamagedError(f"it is of another version of tapui ({file.version})")
        return file.folders


def _is(kept: Kept[E], kind: str, name: str) -> bool:
    return kept.entry.kind == kind and kept.entry.name == name


def _bounded(folders: dict[str, list[Kept[E]]], most: int, most_bytes: int) -> bytes:
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
        if number >= most or sizes > most_bytes:
            break
        left.setdefault(folder, []).append(kept)
    if by_use and not left:
        raise OSError(errno.EFBIG, "it is too large to be kept")
    return msgspec.json.encode(ConsentFile(_VERSION, left))


@dataclass(frozen=True, slots=True)
class Proposal(Generic[E]):
    """What the person is shown, and what `allow()` keeps."""

    folder: str
    entry: E
    files: tuple[tuple[str, str], ...]
    """Files of the folder that it names, with a digest of each. Their paths are as they are: not
    safe to show."""
    uncovered: tuple[str, ...]
    """What it names besides: a change there is not noticed."""
    doubts: tuple[str, ...]
    """Why the command may run programs that it does not name."""
    why: str = ""
    """What has changed since it was allowed, in words; empty when it never was."""

    @property
    def digest(self) -> str:
        """A digest over all that is shown: two proposals with the same are the same."""
        said = msgspec.to_builtins((self.folder, self.entry, self.files))
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def is_outside(self) -> bool:
        """Whether it runs in another folder than that of the session."""
        cwd = self.entry.cwd
        return cwd is not None and not is_within(cwd, self.folder)


@dataclass(frozen=True, slots=True)
class Consented(Generic[E]):
    """It may be started: exactly `entry`."""

    entry: E
    files: tuple[str, ...] = ()
    """Files whose contents are covered; none when later versions are, too."""


Changes = dict[str, str | Callable[[Any, Any], str]]
"""What differs between two entries, in words that are safe to show: by field, from what it was and
is."""


def was(words: str, shown: Callable[[Any], str]) -> Callable[[Any, Any], str]:
    return lambda before, now: f"{words} {shown(now)} (it was {shown(before)})"


def names_of(words: str, name: Callable[[Any], str], most: int) -> Callable[[Any, Any], str]:
    """Return words with the names of those that differ, in at most so many characters."""

    def named(before: Iterable[Any], now: Iterable[Any]) -> str:
        names = sorted({name(one) for one in {*before} ^ {*now}})
        return f"{words}: {safe_text(', '.join(names), limit=most)}"

    return named


class Consents(KeptConsents[E]):
    """All consents to one kind of thing. Several processes may use them; not on a loop: files are
    read.

    `place` is their folder below the state folder.
    """

    def __init__(
        self,
        state: Path,
        place: str,
        decoder: "msgspec.json.Decoder[ConsentFile[E]]",
        changes: Changes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(state, place, decoder)
        self._changes = changes
        self._clock = clock

    def of(
        self, folder: str, wanted: E, named: "Callable[[], NamedFiles]"
    ) -> Consented[E] | Proposal[E]:
        """Return whether an entry of a folder may be started. `named` reads the files that it
        names, where these decide."""
        kept = self.one(folder, wanted.kind, wanted.name)
        is_same = kept is not None and kept.entry == wanted
        if kept is not None and is_same and kept.later_versions:
            self._used(folder, kept, self._clock())
            return Consented(wanted)
        found = named()
        files = tuple(sorted(found.digests.items()))
        why = ""
        if kept is not None and not is_same:
            why = "; ".join(
                words if isinstance(words, str) else words(before, now)
                for name, words in self._changes.items()
                if (before := getattr(kept.entry, name)) != (now := getattr(wanted, name))
            )
        elif kept is not None and (names := {name for name, _ in {*kept.files} ^ {*files}}):
            words = ", ".join(safe_text(name) for name in sorted(names))
            why = f"files that it names: {safe_text(words, limit=_NAMES)}"
        elif kept is not None:
            self._used(folder, kept, self._clock())
            return Consented(wanted, tuple(name for name, _ in files))
        return Proposal(folder, wanted, files, tuple(found.uncovered), tuple(found.doubts), why)

    def allow(self, proposal: Proposal[E], *, later_versions: bool = False) -> None:
        """Keep the consent to what was shown. Raises `OSError`: it is not kept then.

        With `later_versions` the files that it names may change.
        """
        now = self._clock()
        kept = Kept(
            entry=proposal.entry,
            files=proposal.files,
            later_versions=later_versions,
            allowed_at=now,
            used_at=now,
        )
        self._put(proposal.folder, kept)

    def revoke(self, folder: str, name: str | None = None, kind: str | None = None) -> int:
        """Forget the consents of a folder with this name and kind, None for any; return how many.
        Raises `OSError`."""
        return self._remove(os.path.realpath(folder), kind, name)

    def listed(self, folder: str | None = None) -> list[tuple[str, Kept[E]]]:
        """Return what is allowed, with its folder, in the order in which it was."""
        only = None if folder is None else os.path.realpath(folder)
        found = [
            (one, kept)
            for one, listed in self._read().items()
            if only in (None, one)
            for kept in listed
        ]
        return sorted(found, key=lambda one: one[1].allowed_at)
