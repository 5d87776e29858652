"""A process that adopts what its descendants leave behind, so that none of it gets away from it.

On Linux it is the reaper of its descendants (`PR_SET_CHILD_SUBREAPER`): what loses its parent
becomes a child of it, with or without the environment that it was started with. Elsewhere the first
process adopts it.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_REST = 1.0
"""Seconds between two looks for dead children."""
_TASKS = Path("/proc/self/task")


def become_reaper() -> bool:
    """Make this process the reaper of its descendants; return whether it is."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have this process killed when the one that started it dies, where the system can."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to a process group, whose leader was started here."""
    # Not there: all of it has ended. Not permitted: macOS, for a group that has ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def kill_tree(leader: int) -> None:
    """Kill a process group, whose leader was started here, and what its leader has started and has
    left it. Reads the list of processes: not for an event loop."""
    import psutil

    try:
        left = psutil.Process(leader).children(recursive=True)
    except psutil.Error:
        left = []  # the leader has ended: its children have another parent by now
    signal_group(leader, signal.SIGKILL)
    for process in left:
        with contextlib.suppress(psutil.Error):  # it went with the group
            process.kill()


def children() -> list[int]:
    """Return this process's children, the dead ones too; none without `/proc`."""
    if sys.platform != "linux" or not _TASKS.exists():
        return []
    try:
        listed = b" ".join((task / "children").read_bytes() for task in _TASKS.iterdir())
    except FileNotFoundError:  # a kernel without these lists, or a thread that has just ended
        from tapui.runtime.processes import linux

        return [one.pid for one in linux.children(os.getpid())]
    return [int(pid) for pid in listed.split()]


class Orphans:
    """Reaps adopted children one second after they died. The wait leaves asyncio time to collect
    the exit codes of its own children."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._dead: set[int] = set()
        """Those that were dead at the last look."""
        self._next: asyncio.TimerHandle | None = None

    def adopt(self) -> None:
        """Become their reaper, and wait for their ends."""
        if become_reaper():
            self._loop.add_signal_handler(signal.SIGCHLD, self._soon)

    def _soon(self) -> None:
        if self._next is None:
            self._next = self._loop.call_later(_REST, self._look)

    def _look(self) -> None:
        self._next = None
        dead = {pid for pid in children() if _is_dead(pid)}
        for pid in dead & self._dead:
            # No `ChildProcessError`: asyncio would have reaped one of its own a second ago.
            os.waitpid(pid, os.WNOHANG)
        self._dead = dead - self._dead
        if self._dead:
            self._soon()


def _is_dead(pid: int) -> bool:
    try:
        peek = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, pid, peek) is not None
    except ChildProcessError:  # its exit code was asked for meanwhile
        return False


def _load_prctl() -> Callable[[int, int], int] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = (ctypes.c_int, ctypes.c_ulong)
    return lambda option, value: int(prctl(option, value))


_loaded = _load_prctl()  # before any process is forked


def _prctl(option: int, value: int) -> bool:
    return _loaded is not None and _loaded(option, value) == 0
