"""Rotated files of a folder of records: numbering them, and dropping what is too much."""

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from tapui.files.locked_folder import LockedFolder

RESULTS_FOLDER = "results"
"""Holds the copies of results that providers left in files."""
RESULT_GRACE = 60
"""Seconds for which a result is kept whatever the total."""

_ROTATED = re.compile(r"(?P<collection>[a-z]+)\.(?P<number>[0-9]{1,18})\.jsonl\Z")


def rotate(folder: LockedFolder, collection: str) -> str:
    """Rename the collection's file to the next number: 1 is the oldest, none is reused.

    Returns its new name. Raises `OSError`. No other thread may list the folder by this descriptor,
    or one duplicated from it: they share one position in the list, and each would miss names.
    """
    numbers = [
        int(found["number"])
        for name in os.listdir(folder.fd)  # noqa: PTH208 - of a descriptor
        if (found := _ROTATED.match(name)) and found["collection"] == collection
    ]
    target = f"{collection}.{max(numbers, default=0) + 1}.jsonl"
    with contextlib.suppress(FileNotFoundError):  # it has a number already: see `put_back`
        os.rename(f"{collection}.jsonl", target, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    return target


def put_back(folder: LockedFolder, collection: str, name: str) -> None:
    """Give a rotated file its former name again: no other could be begun.

    An empty one that was begun is replaced. Where this fails the file keeps its number, and is
    written to until the next rotation; it is read in the right order in any case.
    """
    with contextlib.suppress(OSError):  # see above
        os.rename(name, f"{collection}.jsonl", src_dir_fd=folder.fd, dst_dir_fd=folder.fd)


def trim(folder: int, total: int) -> list[str]:
    """Drop the oldest rotated files and results while all files together exceed `total` bytes.

    `folder` is an open descriptor of its own. Returns the names of those dropped. Files that are
    written to are never dropped, nor is a result of the last minute, which its caller may not have
    read.
    """
    size = 0
    droppable: list[tuple[int, int, str, int]] = []
    for name in os.listdir(folder):
        if not name.endswith(".jsonl"):
            continue
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue  # rotated meanwhile
        size += info.st_size
        if found := _ROTATED.match(name):
            droppable.append((info.st_mtime_ns, int(found["number"]), name, info.st_size))
    newest = time.time_ns() - RESULT_GRACE * 1_000_000_000
    for name, info in _results(folder):
        size += info.st_size
        if info.st_mtime_ns < newest:
            droppable.append((info.st_mtime_ns, 0, f"{RESULTS_FOLDER}/{name}", info.st_size))
    dropped = []
    for _, _, name, taken in sorted(droppable):
        if size <= total:
            break
        with contextlib.suppress(FileNotFoundError):  # the person was faster
            os.unlink(name, dir_fd=folder)
            dropped.append(name)
        size -= taken
    return dropped


def _results(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    try:
        results = os.open(
            RESULTS_FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder
        )
    except FileNotFoundError:
        return
    try:
        for name in os.listdir(results):  # noqa: PTH208 - of a descriptor
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                yield name, os.stat(name, dir_fd=results, follow_symlinks=False)
    finally:
        os.close(results)


def files_of(folder: Path, collection: str) -> list[Path]:
    """Return the rotated files of `collection` in `folder`, oldest first (the live one not)."""
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # there are no records
        found = [
            (int(match["number"]), path)
            for path in folder.iterdir()
            if (match := _ROTATED.match(path.name)) and match["collection"] == collection
        ]
    return [path for _, path in sorted(found)]
