"""Processes on macOS, out of libproc. Not tried on a Mac."""

import ctypes
import os
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import psutil

from tapui.runtime.processes.status import MARKS, Status

_PIDTBSDINFO = 3


class _Info(ctypes.Structure):
    """`struct proc_bsdinfo` of `sys/proc_info.h`."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("flags", "status", "xstatus", "pid", "ppid")),
        *((name, ctypes.c_uint32) for name in ("uid", "gid", "ruid", "rgid", "svuid", "svgid")),
        ("rfu", ctypes.c_uint32),
        ("comm", ctypes.c_char * 16),
        ("name", ctypes.c_char * 32),
        *((name, ctypes.c_uint32) for name in ("nfiles", "pgid", "jobs", "tdev", "tpgid")),
        ("nice", ctypes.c_int32),
        ("start_seconds", ctypes.c_uint64),
        ("start_micros", ctypes.c_uint64),
    ]


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _info(pid: int) -> _Info | None:
    info = _Info()
    size = ctypes.sizeof(info)
    read = _libc().proc_pidinfo(pid, _PIDTBSDINFO, ctypes.c_uint64(0), ctypes.byref(info), size)
    return info if read == size else None


def status(pid: int) -> Status | None:
    """Return a process; None where there is none of this id."""
    info = _info(pid)
    if info is None:
        return None
    try:
        session = os.getsid(pid)
    except OSError:
        return None
    return Status(
        pid,
        (info.name or info.comm).decode("utf-8", "replace"),
        parent=info.ppid,
        group=info.pgid,
        session=session,
        terminal=0 if info.tdev == 0xFFFFFFFF else info.tdev,
        foreground=info.tpgid,
        start=info.start_seconds + info.start_micros / 1_000_000,
    )


def uid(pid: int) -> int:
    """Return the real user id; -1 where the process has ended."""
    info = _info(pid)
    return -1 if info is None else int(info.ruid)


def program(pid: int) -> str:
    """Return the name of the file that a process runs; "" where that is not shown."""
    try:
        return Path(psutil.Process(pid).exe()).name
    except (psutil.Error, OSError):
        return ""


def children(pid: int) -> Iterator[Status]:
    """Return the processes whose parent this one is."""
    return (one for one in map(status, psutil.pids()) if one is not None and one.parent == pid)


def is_marked(pid: int) -> bool:
    """Return whether the environment of a process says that an agent started it."""
    try:
        environment = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return False
    return any(name in environment for name in MARKS)


def terminal_name(device: int) -> str:
    """Return the path of a terminal by its device number."""
    for path in Path("/dev").glob("tty*"):
        try:
            if path.stat().st_rdev == device:
                return str(path)
        except OSError:  # it was closed meanwhile
            continue
    return f"/dev/tty-{device}"


def holder(leaders: Sequence[Status], first: Status) -> int | None:  # noqa: ARG001 - as on Linux
    """Return the parent of a terminal's leader: macOS does not say which terminal a master has."""
    return leaders[1].pid if len(leaders) > 1 else None


def now() -> float:
    """Return the time on the scale of `Status.start`, which counts from 1970 here."""
    return time.time()


def boot() -> str:
    """Return what tells this run of the machine from every other. Raises `OSError`."""
    text = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(text))
    if _libc().sysctlbyname(b"kern.bootsessionuuid", text, ctypes.byref(size), None, 0) != 0:
        raise OSError(ctypes.get_errno(), "kern.bootsessionuuid")
    return text.value.decode()
