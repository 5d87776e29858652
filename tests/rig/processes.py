"""What other processes do, where each of them may end, and remove files, between two looks."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import psutil


def status_of(pid: int) -> str | None:
    """Return a process's status by psutil's names, None once it is gone."""
    try:
        return psutil.Process(pid).status()
    except psutil.NoSuchProcess:
        return None


def has_ended(pid: int) -> bool:
    """Whether a process has ended; its parent may not have noticed yet."""
    return status_of(pid) in (None, psutil.STATUS_ZOMBIE)


def below(pid: int, is_wanted: Callable[[list[str]], bool]) -> list[psutil.Process]:
    """Return the processes below one, at any depth, whose command line `is_wanted`."""
    found = []
    for one in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if is_wanted(one.cmdline()):
                found.append(one)
    return found


def files_of(folder: Path, *patterns: str) -> list[Path]:
    """Return the files of a folder that match, by path.

    A folder in it that is removed in the middle of the search ends that of `Path.glob`.
    """
    while True:
        with contextlib.suppress(FileNotFoundError):
            return sorted({found for pattern in patterns for found in folder.glob(pattern)})
