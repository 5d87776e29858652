"""Processes on Linux, out of `/proc`.

psutil is not used: it keeps the map of terminals for the life of the process, so that a terminal
which was opened later has no name there.
"""

import contextlib
import os
import socket
import time
from collections.abc import Container, Iterator

from tapui.invocation import MARKS
from tapui.runtime.processes.status import Address, Status

_MARKS = tuple(f"{name}=".encode() for name in MARKS)
_MAX_ENVIRONMENT = 4 * 1024 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")
_PTS = range(136, 144)
"""Major device numbers of pseudo-terminals; each has 256 of them."""
_TTY = 4
_MAX_ARGV = 16 * 1024
_ENDED = (FileNotFoundError, ProcessLookupError)


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


def is_first(pid: int) -> bool:
    """Return whether a process is the first of its pid namespace, be it one below this process's.

    A kernel without `NSpid` (before 4.1) tells of this process's alone.
    """
    ids = _field(pid, b"NSpid")
    return ids[-1] == b"1" if ids else pid == 1


def uid(pid: int) -> int:
    """Return the real user id; -1 where the process has ended.

    The owner of `/proc/PID` would be root for a process that cannot be dumped.
    """
    ids = _field(pid, b"Uid")
    return int(ids[0]) if ids else -1


def _field(pid: int, name: bytes) -> list[bytes]:
    """Return the words of a line of `/proc/PID/status`; none where the process has ended."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
            text = file.read(4_096)
    except OSError:
        return []
    return text.partition(b"\n%b:" % name)[2].partition(b"\n")[0].split()


def argv(pid: int) -> list[str]:
    """Return the command line of a process, as it has it; empty where it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            text = file.read(_MAX_ARGV)
    except (PermissionError, *_ENDED):
        return []
    return text.decode("utf-8", "replace").split("\0")[:-1]


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


def children(pid: int) -> Iterator[Status]:
    """Return the processes whose parent this one is."""
    return (one for one in map(status, _pids()) if one is not None and one.parent == pid)


def socket_holders(client: Address, ours: Address) -> Iterator[int]:
    """Return the processes of this user that have the socket `client` open, connected to `ours`,
    and those that do not show what they have open.

    Reads what all processes of this user have open: not for an event loop.
    """
    links = {f"socket:[{inode}]" for inode in _inodes(client, ours)}
    for pid in _pids() if links else ():
        if pid != 1 and uid(pid) == os.getuid() and _may_hold(pid, links):
            yield pid


def _may_hold(pid: int, links: Container[str]) -> bool:
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - thousands of times
        for number in numbers:
            with contextlib.suppress(*_ENDED):  # closed meanwhile
                if os.readlink(f"/proc/{pid}/fd/{number}") in links:  # noqa: PTH115
                    return True
    except PermissionError:
        return True
    except _ENDED:
        pass  # it holds nothing any more
    return False


def _inodes(client: Address, ours: Address) -> Iterator[str]:
    """Return the inodes of a socket in the kernel's tables: one of IPv6 may have IPv4 addresses."""
    for table in ("tcp", "tcp6"):
        ends = [f"{_hex(host, table)}:{port:04X}".encode() for host, port in (client, ours)]
        with contextlib.suppress(FileNotFoundError), open(f"/proc/net/{table}", "rb") as file:  # noqa: PTH123
            for line in file:
                fields = line.split()
                if fields[1:3] == ends:
                    yield fields[9].decode()


def _hex(host: str, table: str) -> str:
    """Return an IP address as a table of the kernel has it: words of four bytes, each reversed."""
    if table == "tcp6" and ":" not in host:
        host = f"::ffff:{host}"
    packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    return "".join(packed[at : at + 4][::-1].hex() for at in range(0, len(packed), 4)).upper()


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208


def now() -> float:
    """Return the time in seconds since boot, those in sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
