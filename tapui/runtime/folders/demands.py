"""Holds files of a session's folder against demands, and reads what its checks do.

The agent writes there: no link leads out of the folder, nothing but regular files is opened, and
everything is bounded in bytes and time. It blocks, and is called in a thread of its own.
"""

import hashlib
import json
import os
import stat
import time
import tomllib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from tapui import times
from tapui.core.effects import (
    FileSeen,
    FilesSeen,
    LinesRead,
    LinesWanted,
    LookAtFiles,
    SurfaceRead,
    SurfaceWanted,
    TextsTried,
)
from tapui.core.hooks.matching import Pattern, PatternError
from tapui.files.foreign_file import decoded
from tapui.runtime.system import RegexMatcher
from tapui.wire import limits
from tapui.wire.criteria import FileIs, JsonValue
from tapui.wire.goals import CheckStatus

SECONDS = 2.0
"""How long one look takes at most; what it did not come to is unknown."""
MAX_CONTENT = 20 * 1024 * 1024
_MAX_ENTRIES = 100_000
"""Names in the folders that are searched for what checks do: 0.4 s."""
_MAX_SURFACE_FILES = 200
_MAX_SURFACE_FILE = 1024 * 1024
_MAX_TEXT, _MAX_TEXTS = 16 * 1024, 64 * 1024
_NAMED_FAULTS = 3
_AROUND = 20
"""Lines above and below the first one of a finding that are read: blank ones do not count as its
neighbours."""
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target"})
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PACKAGE_KEYS = ("scripts", "jest", "mocha", "ava", "vitest", "type")
_TYPES: tuple[tuple[str, type | tuple[type, ...]], ...] = (
    ("boolean", bool),
    ("number", (int, float)),
    ("string", str),
    ("array", list),
    ("object", dict),
)
Masked = Callable[[str], str]


class FileError(Exception):
    """A file may not be looked at, or cannot be; the text says why."""


class DemandReader:
    """Looks at files. `forbidden` are tapui's own folders; `masked` leaves secrets out of texts."""

    def __init__(
        self,
        forbidden: Sequence[Path] = (),
        masked: Masked = str,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._forbidden = tuple(forbidden)
        self._masked = masked
        self._now = now
        self._matcher = RegexMatcher()
        self._until = 0.0

    def look(self, effect: LookAtFiles) -> FilesSeen:
        """Carry out an effect. It never raises."""
        self._until = self._now() + SECONDS
        base = os.path.realpath(effect.folder) if effect.folder else ""
        return FilesSeen(
            tuple(self._file(base, one) for one in effect.demands),
            tuple(self._surface(base, one) for one in effect.surfaces),
            tuple(self._tried(one) for one in effect.texts),
            tuple(self._lines(base, one) for one in effect.lines),
        )

    def _is_late(self) -> bool:
        return self._now() > self._until

    # Patterns

    def _pattern(self, pattern: str) -> Pattern | None:
        try:
            return self._matcher.compile(pattern) if len(pattern) <= limits.MAX_PATTERN else None
        except PatternError:
            return None

    def _tried(self, wanted: TextsTried) -> tuple[bool | None, ...]:
        pattern = self._pattern(wanted.pattern)
        return tuple(
            None if pattern is None else self._found(pattern, text) for text in wanted.texts
        )

    def _found(self, pattern: Pattern, text: str) -> bool | None:
        """Return whether a pattern matches; of a long text, in a line. None: it takes too long."""
        pieces = [text] if len(text) <= limits.MAX_SUBJECT else text.splitlines()
        for piece in pieces:
            if len(piece) > limits.MAX_SUBJECT or self._is_late():
                return None
            found = pattern.found_in(piece)
            if found is not False:
                return found
        return False

    def _matches(self, pattern: str, text: str) -> bool:
        """Return whether a pattern matches. Raises `FileError`."""
        compiled = self._pattern(pattern)
        if compiled is None:
            raise FileError("the pattern is none")
        found = self._found(compiled, text)
        if found is None:
            raise FileError("the pattern takes too long, or a line is too long for it")
        return found

    # Files

    def _file(self, base: str, demand: FileIs) -> FileSeen:
        if self._is_late():
            return FileSeen("unknown", "", "the look took too long")
        try:
            fd = self._open(base, demand.path)
        except FileNotFoundError:
            status: CheckStatus = "fail" if demand.exists else "pass"
            return FileSeen(status, "it is not there")
        except FileError as error:
            return FileSeen("error", "", str(error))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it cannot be opened"
            return FileSeen("error", "", str(reason))
        try:
            return self._held_against(fd, demand)
        except FileError as error:
            return FileSeen("unknown", "", str(error))
        except OSError as error:
            return FileSeen("error", "", error.strerror or "it cannot be read")
        finally:
            os.close(fd)

    def _open(self, base: str, path: str) -> int:
        """Open a file of the folder, or below a link that stays in it; what is opened is what was
        found, as no link is followed on the way."""
        if not base or not path or "\0" in path:
            raise FileError("no file is named")
        target = os.path.realpath(Path(base, path))
        prefix = base if base.endswith("/") else f"{base}/"
        if not target.startswith(prefix):
            raise FileError("it is not in the session's folder")
        if any(Path(target).is_relative_to(one) for one in self._forbidden):
            raise FileError("it is tapui's own")
        *folders, name = target[len(prefix) :].split("/")
        parent = os.open(base, _FOLDER_FLAGS)
        try:
            for folder in folders:
                child = os.open(folder, _FOLDER_FLAGS, dir_fd=parent)
                os.close(parent)
                parent = child
            info = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISREG(info.st_mode):  # a device or a pipe is not even opened
                raise FileError("it is no regular file")
            fd = os.open(name, _FILE_FLAGS, dir_fd=parent)
        finally:
            os.close(parent)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise FileError("it is no regular file")
        return fd

    def _held_against(self, fd: int, demand: FileIs) -> FileSeen:
        info = os.fstat(fd)
        size = info.st_size
        if not demand.exists:
            return FileSeen("fail", "it is there", size=size)
        actual = f"{size:,} bytes"
        if demand.min_bytes is not None and size < demand.min_bytes:
            return FileSeen("fail", actual, f"at least {demand.min_bytes:,} are wanted", size=size)
        if demand.max_bytes is not None and size > demand.max_bytes:
            return FileSeen("fail", actual, f"at most {demand.max_bytes:,} are wanted", size=size)
        if demand.modified_since is not None:
            since = times.instant(demand.modified_since)
            if since is None:
                return FileSeen("unknown", actual, "modifiedSince is no time", size=size)
            if info.st_mtime < since:
                said = f"modified {datetime.fromtimestamp(info.st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}"
                return FileSeen("fail", said, f"not since {demand.modified_since}", size=size)
        if size > MAX_CONTENT:
            if not _reads_content(demand):
                return FileSeen("pass", actual, size=size)
            most = MAX_CONTENT // 1024**2
            return FileSeen("error", actual, f"it has more than {most} MiB", size=size)
        data = self._content(fd)
        digest = hashlib.sha256(data).hexdigest()
        fault = self._content_fault(data, digest, demand)
        status: CheckStatus = "fail" if fault else "pass"
        shown = self._masked(fault)[: limits.MAX_CHECK_ACTUAL]
        return FileSeen(status, actual, shown, digest, len(data))

    def _content(self, fd: int) -> bytes:
        parts, size = [], 0
        while part := os.read(fd, 1024 * 1024):
            size += len(part)
            if size > MAX_CONTENT or self._is_late():
                raise FileError("it grows, or takes too long to be read")
            parts.append(part)
        return b"".join(parts)

    def _content_fault(self, data: bytes, digest: str, demand: FileIs) -> str:
        """Say what a file lacks; "" where it lacks nothing."""
        if demand.sha256 is not None and demand.sha256 != digest:
            return f"its sha256 is {digest}"
        if not _reads_text(demand):
            return ""
        try:
            text = decoded(data)
        except UnicodeDecodeError:
            raise FileError("it is no text") from None
        if "\0" in text:
            raise FileError("it is no text")
        for wanted in demand.contains:
            if wanted not in text:
                return f"it does not have: {wanted}"
        for unwanted in demand.not_contains:
            if unwanted in text:
                return f"it has: {unwanted}"
        if demand.matches is not None and not self._matches(demand.matches, text):
            return "nothing in it matches"
        if demand.not_matches is not None and self._matches(demand.not_matches, text):
            return "something in it matches"
        return self._json_fault(text, demand.json) if demand.json is not None else ""

    def _json_fault(self, text: str, wanted: JsonValue) -> str:
        try:
            found = _at(json.loads(text), wanted.pointer)
        except (ValueError, RecursionError):
            return "it is no JSON, or the pointer is none"
        except LookupError:
            return "" if wanted.exists is False else f"nothing is at {wanted.pointer}"
        if wanted.exists is False:
            return f"something is at {wanted.pointer}"
        if wanted.type is not None and _type(found) != wanted.type:
            return f"it is of the type {_type(found)}"
        if wanted.equals is not None:
            equal = msgspec.json.decode(wanted.equals)
            if not _is_same(found, equal):
                return f"it is {json.dumps(found)[: limits.MAX_SUMMARY]}"
        if wanted.contains is not None:
            is_in = isinstance(found, str | list | dict) and wanted.contains in found
            if not is_in:
                return f"it does not have: {wanted.contains}"
        if wanted.matches is None or (
            isinstance(found, str) and self._matches(wanted.matches, found)
        ):
            return ""
        return "it does not match"

    # Lines that a finding is about

    def _lines(self, base: str, wanted: LinesWanted) -> LinesRead:
        if self._is_late():
            return LinesRead(fault="the look took too long")
        try:
            fd = self._open(base, wanted.path)
        except (OSError, ValueError, FileError) as error:
            return LinesRead(fault=getattr(error, "strerror", None) or str(error))
        try:
            data = self._content(fd)
        except (OSError, FileError) as error:
            return LinesRead(fault=getattr(error, "strerror", None) or str(error))
        finally:
            os.close(fd)
        if b"\0" in data:
            return LinesRead(fault="it is no text")
        lines = data.split(b"\n")
        first = max(wanted.first - 1 - _AROUND, 0)
        around = lines[first : wanted.first + _AROUND]
        quoted = lines[wanted.first - 1 : min(wanted.last, wanted.first + _AROUND)]
        quote = "\n".join(map(self._line, quoted))[: limits.MAX_NOTE_QUOTE]
        return LinesRead(quote, tuple(map(self._line, around)), wanted.first - first)

    def _line(self, line: bytes) -> str:
        text = line[: limits.MAX_DIFF_LINE].decode("utf-8", "replace").rstrip("\r")
        return self._masked(text)

    # What a check does

    def _surface(self, base: str, wanted: SurfaceWanted) -> SurfaceRead:
        if not base:
            return SurfaceRead("", fault="the session has no folder")
        start = Path(os.path.realpath(Path(base, _expanded(wanted.folder))))
        root = _root_above(start, Path(base))
        found: set[str] = set()
        faults: list[str] = []
        try:
            self._find_surface(start, root, wanted.globs, found)
            if len(found) > _MAX_SURFACE_FILES:
                raise FileError("it has too many files")
        except FileError as error:
            faults.append(str(error))
        except OSError as error:
            faults.append(error.strerror or "it cannot be searched")
        hashed = hashlib.sha256("\n".join(faults).encode())
        files = {".": f"not all was read: {faults[0]}"} if faults else {}
        room = _MAX_TEXTS
        for path in sorted(found)[:_MAX_SURFACE_FILES]:
            try:
                data = self._surface_content(root, path)
            except (FileError, OSError) as error:
                digest = text = f"not read: {getattr(error, 'strerror', None) or error}"
                faults.append(f"{path}: {text}")
            else:
                if data is None:
                    continue
                digest, text = hashlib.sha256(data).hexdigest(), data.decode("utf-8", "replace")
            if len(text) > min(_MAX_TEXT, room):
                text = f"sha256 {digest}"
            room -= len(text)
            hashed.update(f"{path}\0{digest}\n".encode("utf-8", "surrogateescape"))
            files[path.encode("utf-8", "replace").decode()] = self._masked(text)
        digest = "" if faults and self._is_late() else hashed.hexdigest()
        fault = "; ".join(faults[:_NAMED_FAULTS]).encode("utf-8", "replace").decode()
        return SurfaceRead(digest, files, fault)

    def _find_surface(self, start: Path, root: Path, globs: Sequence[str], found: set[str]) -> None:
        """Add the paths, relative to the root. Raises `FileError` where there may be more."""
        here = [one for one in globs if not one.startswith("**/")]
        folders = [start, *start.parents] if here else []
        for folder in folders:
            names = self._names(folder)
            for glob in here:
                if "/" in glob or not any(sign in glob for sign in "*?["):
                    if os.path.lexists(folder / glob):
                        found.add(os.path.relpath(folder / glob, root))
                else:
                    found.update(
                        os.path.relpath(folder / name, root)
                        for name in names
                        if fnmatchcase(name, glob)
                    )
            if folder == root:
                break
        below = [one.removeprefix("**/") for one in globs if one.startswith("**/")]
        if below:
            self._find_below(root, below, found)

    def _names(self, folder: Path) -> list[str]:
        names: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if len(names) >= _MAX_ENTRIES or self._is_late():
                        raise FileError("a folder has too many entries")
                    names.append(entry.name)
        except FileNotFoundError:
            return []
        return names

    def _find_below(self, root: Path, globs: Sequence[str], found: set[str]) -> None:
        seen = 0
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(one for one in folders if one not in _SKIPPED)
            seen += len(folders) + len(names)
            if seen > _MAX_ENTRIES or self._is_late():
                raise FileError("the folder has too many files")
            found.update(
                os.path.relpath(Path(folder, name), root)
                for name in names
                if any(fnmatchcase(name, glob) for glob in globs)
            )

    def _surface_content(self, root: Path, path: str) -> bytes | None:
        """Return what of a file says what a check does; None of one that is not there."""
        try:
            fd = self._open(str(root), path)
        except FileNotFoundError:
            return None
        try:
            if os.fstat(fd).st_size > _MAX_SURFACE_FILE:
                raise FileError(f"it has more than {_MAX_SURFACE_FILE // 1024**2} MiB")
            return _part_of(Path(path).name, self._content(fd))
        finally:
            os.close(fd)


def _expanded(folder: str) -> Path:
    if not folder.startswith("~/"):
        return Path(folder)
    try:
        return Path(folder).expanduser()
    except RuntimeError:  # without a home folder it is a name
        return Path(folder)


def _root_above(start: Path, base: Path) -> Path:
    """Return the root of the repository around `start`; without one, the folder itself."""
    for folder in (start, *start.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    return base if start.is_relative_to(base) else start


def _part_of(name: str, data: bytes) -> bytes:
    """Return the part of a manifest that is about checks: a version in it is none of that."""
    try:
        if name == "package.json":
            found = json.loads(data)
            part = {key: found[key] for key in _PACKAGE_KEYS if key in found}
        elif name == "pyproject.toml":
            part = tomllib.loads(decoded(data)).get("tool", {})
        else:
            return data
        return json.dumps(part, indent=1, sort_keys=True, default=str).encode()
    except (ValueError, TypeError, RecursionError, AttributeError):
        return data


def _reads_text(demand: FileIs) -> bool:
    wanted = (demand.matches, demand.not_matches, demand.json)
    return bool(demand.contains or demand.not_contains or any(one is not None for one in wanted))


def _reads_content(demand: FileIs) -> bool:
    return demand.sha256 is not None or _reads_text(demand)


def _at(value: Any, pointer: str) -> Any:
    """Return what a JSON pointer (RFC 6901) leads to. Raises `LookupError`, or `ValueError`."""
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            is_index = name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")
            if not is_index or len(name) > 9:
                raise LookupError(name)
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value[name]
        else:
            raise LookupError(name)  # noqa: TRY004 - nothing is there
    return value


def _type(value: Any) -> str:
    return next((name for name, kind in _TYPES if isinstance(value, kind)), "null")


def _is_same(one: Any, other: Any) -> bool:
    """Compare JSON values: 1 is not true, and 1 is 1.0."""
    if _type(one) != _type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    return bool(one == other)
