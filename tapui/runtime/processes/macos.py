"""Processes on macOS, out of libproc. Not tried on a Mac."""

import contextlib
import ctypes
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import psutil

from tapui.invocation import MARKS
from tapui.runtime.processes.status import Address, Status

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


def is_first(pid: int) -> bool:
    """Return whether a process is given all orphans."""
    return pid == 1


def argv(pid: int) -> list[str]:
    """Return the command line of a process; empty where that is not shown."""
    try:
        return list(psutil.Process(pid).cmdline())
    except (psutil.Error, OSError):
        return []


def socket_owner(_client: Address, _ours: Address) -> None:
    """Not known of one socket without listing those of all processes."""


def socket_holders(client: Address, ours: Address) -> Iterator[int]:
    """As on Linux."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            info = _info(process.pid)
            if info is None or info.ruid != os.getuid():
                continue
            try:
                connections = process.net_connections("tcp")
            except psutil.AccessDenied:  # it may have it
                yield process.pid
                continue
            ends = [tuple(map(_plain, (one.laddr, one.raddr))) for one in connections]
            if (client, ours) in ends:
                yield process.pid


def _plain(end: tuple[str, int] | tuple[()]) -> Address | None:
    """Return one end of a socket, with an IPv4 address where it is mapped into IPv6."""
    return (end[0].removeprefix("::ffff:"), end[1]) if end else None


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


def now() -> float:
    """Return the time on the scale of `Status.start`, which counts from 1970 here."""
    return time.time()
