"""Processes on Linux, out of `/proc`.

psutil is not used: it keeps the map of terminals for the life of the process, so that a terminal
which was opened later has no name there.
"""

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator

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
_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_HEADER = struct.Struct("=IHHII")
"""`nlmsghdr`: length, type, flags, sequence number, port."""
_REQUEST = struct.Struct("=BBBxI")
"""The begin of `inet_diag_req_v2`: family, protocol, extensions, states."""
_PORTS = struct.Struct("!HH")
_REST_OF_ID = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
"""The end of `inet_diag_sockid`: any interface, any cookie."""
_OWNER = struct.Struct("=II")
"""User and inode, in the answer."""
_OWNER_AT = _HEADER.size + 4 + 48 + 12
"""Behind the header, four bytes, `inet_diag_sockid` and three numbers."""
_ANSWER = 4096


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


def socket_owner(client: Address, ours: Address) -> int | None:
    """Return the user whose socket `client` is, connected to `ours`; None where it is not known.

    Of a socket that its process has closed it is 0.
    """
    return _socket(client, ours)[0]


def socket_holders(client: Address, ours: Address) -> Iterator[int]:
    """Return the processes of this user that have the socket `client` open, connected to `ours`,
    and those that do not show what they have open.

    Reads what all processes of this user have open: not for an event loop.
    """
    inode = _socket(client, ours)[1]
    for pid in _pids() if inode else ():
        if pid != 1 and uid(pid) == os.getuid() and _may_hold(pid, f"socket:[{inode}]"):
            yield pid


def _may_hold(pid: int, link: str) -> bool:
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - thousands of times
        for number in numbers:
            with contextlib.suppress(*_ENDED):  # closed meanwhile
                if os.readlink(f"/proc/{pid}/fd/{number}") == link:  # noqa: PTH115
                    return True
    except PermissionError:
        return True
    except _ENDED:
        pass  # it holds nothing any more
    return False


def _socket(client: Address, ours: Address) -> tuple[int | None, int]:
    """Return the user and the inode of a TCP socket, also of one of IPv6 with IPv4 addresses; None
    and 0 where it is not found.

    The kernel is asked for this one, which takes 14 µs; reading `/proc/net/tcp` takes 4 ms.
    """
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    try:
        ends = b"".join(socket.inet_pton(family, end[0]).ljust(16, b"\0") for end in (client, ours))
        id_ = _PORTS.pack(client[1], ours[1]) + ends + _REST_OF_ID
        request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + id_
        head = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as line:
            line.setblocking(False)
            line.send(head + request)
            answer = line.recv(_ANSWER)
    except OSError:
        return None, 0  # a system that does not tell
    if _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None, 0  # an error: there is no such socket any more
    user, inode = _OWNER.unpack_from(answer, _OWNER_AT)
    return user, inode


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208


def now() -> float:
    """Return the time in seconds since boot, those in sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
