"""The gateway's socket in its run folder, for programs of the same user on the same machine.

The system says which process is at the other end, and other users cannot open the folder.
"""

import contextlib
import errno
import logging
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tapui.files.locked_folder import FILE_MODE

_log = logging.getLogger(__name__)

SOCKET_FILE = "gateway.sock"

_BACKLOG = 256
_ROOM_PAUSE = 0.02
"""Seconds between two tries of a socket with many connections that wait to be accepted."""
_MAX_PATH = 103
"""Bytes of a socket's path: 107 on Linux, 103 on macOS."""
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_LOCAL_PEERPID = 2
_XUCRED = struct.Struct("=IIh")
"""The begin of macOS's `struct xucred`: version, user, number of groups."""
_XUCRED_SIZE = 76
_UCRED = struct.Struct("=iII")
"""Linux's `struct ucred`: process, user, group."""


_SO_PEERPIDFD = 77
"""Since Linux 6.5; Python does not name it."""
_PIDFD = struct.Struct("=i")
NO_DESCRIPTOR = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors that say nothing of what was to be opened."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end of a connection, as the system names it; None: not known."""

    pid: int | None
    uid: int | None
    start: float | None = field(default=None, compare=False)
    """When the process of this id had begun, as soon as the connection was accepted."""
    line: socket.socket | None = field(default=None, compare=False, repr=False)
    """The connection itself, of a Unix socket."""

    def handle(self) -> int | None:
        """Return a descriptor of the very process that connected, for the caller to close.

        An id can be used again once its process has ended, a descriptor cannot. None: the system
        has none of these. Raises `ProcessLookupError` where it has ended, other errors where no
        descriptor is left.
        """
        if sys.platform != "linux" or self.line is None:
            return None
        try:
            came = self.line.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, _PIDFD.size)
        except OSError as error:
            if error.errno == errno.ENOPROTOOPT:
                return None
            if error.errno in NO_DESCRIPTOR:
                raise
            raise ProcessLookupError(errno.ESRCH, "it has ended") from error
        (handle,) = _PIDFD.unpack(came)
        return int(handle)


UNKNOWN = Peer(None, None)


def peer_of(connected: socket.socket) -> Peer:
    """Return the process at the other end of a connected Unix socket, as of its connecting."""
    try:
        if sys.platform == "linux":
            pid, uid, _ = _UCRED.unpack(
                connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
            )
        else:
            came = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE)
            _, uid, _ = _XUCRED.unpack_from(came)
            came = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4)
            (pid,) = struct.unpack("=i", came)
    except (OSError, struct.error):
        return UNKNOWN
    return Peer(pid if pid > 0 else None, uid, line=connected)  # 0: of another pid namespace


def listen(folder: Path) -> socket.socket:
    """Listen on a socket (0600) in a private folder, in place of what has its name.

    Raises `OSError`.
    """
    with contextlib.suppress(FileNotFoundError):  # a gateway that was killed left none behind
        (folder / SOCKET_FILE).unlink()
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        with _short(folder / SOCKET_FILE) as path:
            opened.bind(str(path))
            path.chmod(FILE_MODE)
        opened.listen(_BACKLOG)
    except BaseException:
        opened.close()
        raise
    return opened


def connect(path: Path) -> socket.socket:
    """Return a socket that is connected to the gateway at `path`; it does not block.

    Raises `OSError` where nothing listens, and where the socket is not this user's own: it is a
    link, or its folder is open to others, or another user listens.
    """
    _check(path)
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        with _short(path) as short:
            opened.connect(str(short))
        if peer_of(opened).uid not in (None, os.geteuid()):
            raise PermissionError(errno.EPERM, "another user listens", str(path))
    except BaseException:
        opened.close()
        raise
    return opened


async def reach(path: Path, seconds: float) -> socket.socket | None:
    """Return a socket as `connect` does, waiting while too many others connect, too.

    None: the gateway at `path` can be reached by TCP alone.
    """
    import asyncio  # what looks at a gateway once has no loop, and would wait for the import

    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    return connect(path)
                except BlockingIOError:
                    await asyncio.sleep(_ROOM_PAUSE)
    except (OSError, TimeoutError) as error:
        _log.info("not by the socket %s: %s", path, error)
        return None


def _check(path: Path) -> None:
    folder, end = path.parent.stat(), path.lstat()
    if not stat.S_ISSOCK(end.st_mode):
        raise OSError(errno.ENOTSOCK, "not a socket", str(path))
    if {folder.st_uid, end.st_uid} != {os.geteuid()} or folder.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "the socket is not only this user's", str(path))


@contextlib.contextmanager
def _short(path: Path) -> Iterator[Path]:
    """Name a socket's path so that it fits an address: through a link, where it is too long.

    The link is in a folder that only this user can open, and gone at the end of the block.
    """
    if len(os.fsencode(path)) <= _MAX_PATH:
        yield path
        return
    import tempfile

    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > _MAX_PATH // 2:
        base = "/tmp"  # noqa: S108 - the folder that is made in it is private
    with tempfile.TemporaryDirectory(prefix="tapui-", dir=base) as private:
        link = Path(private, "run")
        link.symlink_to(path.parent, target_is_directory=True)
        yield link / path.name
