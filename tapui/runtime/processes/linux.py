"""Processes on Linux, out of `/proc`.

psutil is not used: it keeps the map of terminals for the life of the process, so that a terminal
which was opened later has no name there.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence

from tapui.runtime.processes.status import MARKS, Status

_MARKS = tuple(f"{name}=".encode() for name in MARKS)
_MAX_ENVIRONMENT = 4 * 1024 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")
_PTS = range(136, 144)
"""Major device numbers of pseudo-terminals; each has 256 of them."""
_TTY = 4
_ENDED = (FileNotFoundError, ProcessLookupError)
_PTMX = ("/dev/ptmx", "/dev/pts/ptmx")


def status(pid: int) -> Status | None:
    """Return a process; None where there is none of this id.

    Raises `OSError` where it cannot be read, for example because no descriptor is left: an agent
    must not look ended then.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - this is read very often
            text = file.read(4_096)
    except (PermissionError, *_ENDED):  # /proc may hide what is another user's (hidepid)
        return None
    head, _, rest = text.rpartition(b")")  # a name may have any character in it
    fields = rest.split()
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    return Status(
        pid,
        name,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        terminal=int(fields[4]),
        foreground=int(fields[5]),
        start=int(fields[19]) / _TICKS,
    )


def uid(pid: int) -> int:
    """Return the real user id; -1 where the process has ended.

    The owner of `/proc/PID` would be root for a process that cannot be dumped.
    """
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
            text = file.read(4_096)
    except OSError:
        return -1
    return int(text.partition(b"\nUid:")[2].split(None, 1)[0])


def program(pid: int) -> str:
    """Return the name of the file that a process runs; "" where that is not shown."""
    try:
        path = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
    except OSError:
        return ""
    return os.path.basename(path.removesuffix(" (deleted)"))  # noqa: PTH119


def children(pid: int) -> Iterator[Status]:
    """Return the processes whose parent this one is."""
    return (one for one in map(status, _pids()) if one is not None and one.parent == pid)


def is_marked(pid: int) -> bool:
    """Return whether the environment of a process says that an agent started it.

    Raises `OSError` where no descriptor is left.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            text = file.read(_MAX_ENVIRONMENT)
    except (PermissionError, *_ENDED):
        return False  # another user's: not started by an agent of ours
    return any(text.startswith(mark) or b"\0" + mark in text for mark in _MARKS)


def terminal_name(device: int) -> str:
    """Return the path of a terminal by its device number."""
    major, minor = os.major(device), os.minor(device)
    if major in _PTS:
        return f"/dev/pts/{(major - _PTS.start) * 256 + minor}"
    return f"/dev/tty{minor}" if major == _TTY else f"/dev/char/{major}:{minor}"


def holder(leaders: Sequence[Status], first: Status) -> int | None:
    """Return the process that holds the other end of the terminal of `first`.

    It is nearly always above the leader, where it is found by a few files. Otherwise all processes
    of this user are looked at. The leader's parent stands for the holder where it is root's: a
    login does not show its files to other users.
    """
    major, minor = os.major(first.terminal), os.minor(first.terminal)
    if major in _PTS:
        index = (major - _PTS.start) * 256 + minor
        place = _devpts(first.pid)
        for one in leaders[1:]:
            if _holds(one.pid, index, place):
                return one.pid
    parent = leaders[1].pid if len(leaders) > 1 else None
    is_roots = parent is not None and uid(parent) == 0
    if major in _PTS and (not is_roots or os.getuid() == 0):
        owner = next((pid for pid in _pids() if _holds(pid, index, place)), None)
        if owner is not None:
            return owner
    return parent if is_roots else None


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208


def _holds(pid: int, index: int, place: int | None) -> bool:
    """Return whether a process holds the master of pseudo-terminal `index` of a devpts."""
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - thousands of times
    except OSError:
        return False  # another user's, or it has ended
    for number in numbers:
        with contextlib.suppress(OSError):  # closed, or its process has ended
            if os.readlink(f"/proc/{pid}/fd/{number}") not in _PTMX:  # noqa: PTH115
                continue
            with open(f"/proc/{pid}/fdinfo/{number}", "rb") as file:  # noqa: PTH123
                text = file.read(4_096)
            if int(text.partition(b"tty-index:")[2].split()[0]) == index:
                return _devpts(pid) == place
    return False


def _devpts(pid: int) -> int | None:
    """Return the device of the `/dev/pts` that a process sees: each container has its own."""
    try:
        return os.stat(f"/proc/{pid}/root/dev/pts").st_dev  # noqa: PTH116
    except OSError:
        return None


def now() -> float:
    """Return the time in seconds since boot, those in sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot() -> str:
    """Return what tells this run of the machine from every other. Raises `OSError`."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
        return file.read().strip()
