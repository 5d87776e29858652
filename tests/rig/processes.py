"""What other processes do, where each of them may end between two looks."""

import contextlib
from collections.abc import Callable

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
