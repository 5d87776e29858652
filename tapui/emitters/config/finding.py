"""Which file is a folder's configuration, and its bytes.

Only the folder itself is looked into, never those above. The first file that is there counts,
whole, also when it cannot be read: nothing of another one comes in its place.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tapui.emitters.config.bounds import MAX_FILE
from tapui.files.foreign_file import open_within, read_up_to, real_path, reason

NEW_FILE = "tap.config.json"
"""What is written where a folder has no configuration yet."""
FILES = (NEW_FILE, f".github/{NEW_FILE}")
OLD_FILES = ("copilot-channels.config.json", ".github/copilot-channels.config.json")
"""Those of an earlier version: they are read, and never written."""

Signature = tuple[tuple[int, int, int, int, int] | None, ...]
"""What of files changes with them, in their order; None for one that is not there."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A configuration's file. `data` is None when it could not be read, which `fault` says why."""

    folder: str
    """Without links."""
    name: str
    """Relative to the folder."""
    data: bytes | None
    fault: str = ""
    mode: int = 0

    @property
    def path(self) -> str:
        """The whole path."""
        return f"{self.folder.rstrip('/')}/{self.name}"

    @property
    def is_old(self) -> bool:
        """Whether it is never written."""
        return self.name in OLD_FILES


def find(folder: str) -> FoundFile | None:
    """Return the configuration of a folder, whose path has no links; None where it has none."""
    for name in (*FILES, *OLD_FILES):
        if os.path.lexists(Path(folder, name)):
            return _read(folder, name)
    return None


def real_folder(folder: str | Path) -> str:
    """Return a folder's path without links. Raises `OSError` when there is no such folder."""
    real = real_path(Path(folder))
    fd = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.close(fd)
    return real


def _read(folder: str, name: str) -> FoundFile:
    try:
        fd, info = open_within(folder, name)
    except OSError as error:
        return FoundFile(folder, name, None, f"it cannot be read: {reason(error)}")
    try:
        data = None if info.st_size > MAX_FILE else read_up_to(fd, MAX_FILE + 1)
    except OSError as error:
        return FoundFile(folder, name, None, f"it cannot be read: {reason(error)}")
    finally:
        os.close(fd)
    if data is None or len(data) > MAX_FILE:
        return FoundFile(folder, name, None, f"it is larger than {MAX_FILE:,} bytes")
    return FoundFile(folder, name, data, mode=info.st_mode & 0o777)


def signature(paths: list[str]) -> Signature:
    """Return what of files changes with them; links are followed."""
    found: list[tuple[int, int, int, int, int] | None] = []
    for path in paths:
        try:
            info = os.stat(path)  # noqa: PTH116 - text in, at each look
        except (OSError, ValueError):
            found.append(None)
        else:
            found.append(
                (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, info.st_dev)
            )
    return tuple(found)
