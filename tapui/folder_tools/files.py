"""The files of a folder's `tools/`, read once: what is hashed is what is imported.

A hostile folder costs bounded time: links, pipes and devices are not opened, and a folder with more
files than can be covered is refused as a whole. Nothing is parsed here.
"""

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from tapui.files.foreign_file import read_up_to, reason
from tapui.text import safe_text

TOOLS = "tools"
"""The folder, and the package that its files are in."""
MAX_FILES = 500
MAX_DEPTH = 8
MAX_SOURCE = 256 * 1024
"""Bytes of a Python file that is imported; a larger one is left out."""
MAX_WHOLE = 8 * 1024 * 1024
MAX_ALL = 64 * 1024 * 1024
"""Bytes of a file, and of all, that are hashed; of what is larger the size, the times and the
beginning count."""
MAX_HEAD = 64 * 1024
_MAX_UNCOVERED = 20
_SHOWN = 120
_LEFT_OUT = frozenset({"__pycache__"})
"""Folders that are not looked into: what Python keeps there is not loaded either."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SCHEMA = re.compile(rb"^(?:SCHEMA\b\s*[:=]|from\s.*\bimport\b.*\bSCHEMA\b)", re.MULTILINE)
_EXECUTE = re.compile(
    rb"^(?:(?:async\s+)?def\s+execute\b|execute\b\s*[:=]|from\s.*\bimport\b.*\bexecute\b)",
    re.MULTILINE,
)
_IMPORTS = re.compile(
    rb"^[ \t]*(?:from[ \t]+([A-Za-z_][\w.]*)[ \t]+import\b"
    rb"|import[ \t]+([A-Za-z_][\w.]*(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*"
    rb"(?:[ \t]+as[ \t]+\w+)?)*)[ \t]*(?:[#;].*)?$)",
    re.MULTILINE,
)


class FolderRefusedError(Exception):
    """The files cannot be covered; the text says why."""


@dataclass(slots=True)
class FolderFiles:
    """What is in `tools/`. Paths are relative to the folder that holds it, with `/`: they are as
    they are, not safe to show.

    `sources` has the bytes of Python files; `faults` says, by path, why a file is left out.
    """

    folder: str
    digests: dict[str, str] = field(default_factory=dict)
    sources: dict[str, bytes] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    oversized: list[str] = field(default_factory=list)
    """Paths of files that would be tools by their beginning, and are too large to be imported."""
    uncovered: list[str] = field(default_factory=list)
    """What is not covered by the digests, in words that are safe to show."""
    read: int = 0

    def tool_files(self) -> list[str]:
        """Return the paths of files that have a `SCHEMA` and an `execute`, by the looks of them."""
        return [
            path
            for path, source in self.sources.items()
            if is_tool_path(path) and _SCHEMA.search(source) and _EXECUTE.search(source)
        ]


def is_tool_path(path: str) -> bool:
    """Return whether a file at this path may be a tool: directly in the folder, no `_` first."""
    name = path.removeprefix(f"{TOOLS}/")
    return name != path and "/" not in name and name.endswith(".py") and name[0] not in "_."


def read_files(folder: str) -> FolderFiles | None:
    """Read `tools/` of a folder whose path has no links; None where it has none.

    Raises `FolderRefusedError` where not all of it can be covered. Not on a loop.
    """
    found = FolderFiles(folder)
    try:
        fd = os.open(os.path.join(folder, TOOLS), _FOLDER)  # noqa: PTH118 - text, as below
    except (OSError, ValueError):
        return None  # none, or a link: what is elsewhere is not this folder's
    try:
        _read_folder(found, fd, TOOLS, 0)
    except OSError as error:
        raise FolderRefusedError(f"{TOOLS}/ cannot be read: {reason(error)}") from None
    finally:
        os.close(fd)
    _name_imports(found)
    return found


def _read_folder(found: FolderFiles, fd: int, path: str, depth: int) -> None:
    found.folders.append(path)
    if depth >= MAX_DEPTH or len(found.folders) > MAX_FILES:
        raise FolderRefusedError(f"{TOOLS}/ has more folders than can be covered")
    names = sorted(os.listdir(fd))
    for name in names:
        place = f"{path}/{name}"
        info = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            if name not in _LEFT_OUT:
                inner = os.open(name, _FOLDER, dir_fd=fd)
                try:
                    _read_folder(found, inner, place, depth + 1)
                finally:
                    os.close(inner)
            continue
        if len(found.digests) >= MAX_FILES:
            raise FolderRefusedError(
                f"{TOOLS}/ has more than {MAX_FILES} files: all of them are covered by your consent"
            )
        if stat.S_ISREG(info.st_mode):
            _read_file(found, fd, name, place)
        else:
            what = "a link" if stat.S_ISLNK(info.st_mode) else "no file"
            found.digests[place] = f"other:{info.st_mode}:{info.st_ino}:{info.st_mtime_ns}"
            found.faults[place] = f"it is {what}, and is not followed"
            _uncover(found, f"{place}: {what}, what is behind it is not followed")


def _read_file(found: FolderFiles, folder: int, name: str, place: str) -> None:
    try:
        fd = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        found.digests[place] = "unreadable"
        found.faults[place] = f"it cannot be read: {reason(error)}"
        return
    try:
        info = os.fstat(fd)
        is_source = name.endswith(".py")
        is_whole = info.st_size <= min(MAX_WHOLE, MAX_ALL - found.read)
        data = read_up_to(fd, MAX_WHOLE + 1 if is_whole else MAX_HEAD)
        found.read += len(data)
        digest = hashlib.sha256(data).hexdigest()
        if is_whole and len(data) <= MAX_WHOLE:
            found.digests[place] = f"sha256:{digest}"
        else:
            times = f"{info.st_mtime_ns}:{info.st_ctime_ns}"
            found.digests[place] = f"large:{info.st_size}:{times}:{digest}"
        if is_source and len(data) <= MAX_SOURCE and is_whole:
            found.sources[place] = data
        elif is_source:
            found.faults[place] = f"it has more than {MAX_SOURCE:,} bytes"
            if is_tool_path(place) and _SCHEMA.search(data):
                found.oversized.append(place)
    except OSError as error:
        found.digests[place] = "unreadable"
        found.faults[place] = f"it cannot be read: {reason(error)}"
    finally:
        os.close(fd)


def _name_imports(found: FolderFiles) -> None:
    """Name what Python files import from elsewhere: a change there is not noticed."""
    by_module: dict[str, str] = {}
    for path, source in found.sources.items():
        for module in _imported(source):
            top = module.partition(".")[0]
            if top != TOOLS and top not in sys.stdlib_module_names:
                by_module.setdefault(top, path)
    for module, path in sorted(by_module.items()):
        _uncover(found, f"{module}: {path} imports it from elsewhere")


def _imported(source: bytes) -> Iterator[str]:
    for match in _IMPORTS.finditer(source):
        named = match[1] or match[2]
        for one in named.decode("ascii", "replace").split(","):
            yield one.split()[0]


def _uncover(found: FolderFiles, words: str) -> None:
    shown = safe_text(words, limit=_SHOWN)
    if len(found.uncovered) == _MAX_UNCOVERED:
        found.uncovered.append("and more")
    elif len(found.uncovered) < _MAX_UNCOVERED and shown not in found.uncovered:
        found.uncovered.append(shown)


Mark = tuple[tuple[str, int, int, int, int], ...]


def mark_of(folder: str) -> Mark:
    """Return what changes with the files of `tools/`, by `stat` alone; empty without them."""
    found: list[tuple[str, int, int, int, int]] = []
    waiting = [TOOLS]
    while waiting and len(found) <= 2 * MAX_FILES:
        path = waiting.pop()
        try:
            entries = list(os.scandir(os.path.join(folder, path)))  # noqa: PTH118
        except (OSError, ValueError):
            continue
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it has gone since
            if entry.is_dir(follow_symlinks=False) and entry.name not in _LEFT_OUT:
                waiting.append(f"{path}/{entry.name}")
            elif not entry.is_dir(follow_symlinks=False):
                place = f"{path}/{entry.name}"
                times = info.st_mtime_ns, info.st_ctime_ns
                found.append((place, *times, info.st_size, info.st_ino))
    return tuple(sorted(found))
