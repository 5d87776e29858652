"""Which gateways run: `run/<port>/gateway.json`, and the lock that shows that it is true.

A gateway holds the lock of its `run/<port>/` for as long as it lives; the system lets go of it
when the process ends, however it ends. So a folder whose lock is free is stale, even when another
process has that pid by now.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tapui.files.locked_folder import FolderHeldError, LockedFolder
from tapui.files.private_file import write
from tapui.home import local_socket
from tapui.home.local_socket import SOCKET_FILE
from tapui.home.paths import Home
from tapui.secret import Secret

GATEWAY_FILE = "gateway.json"
INTERNAL_TOKEN_FILE = "internal-token"  # noqa: S105 - a file's name
PROVIDER_TOKEN_FILE = "provider-token"  # noqa: S105
LOCK_FILE = ".lock"

_FILES = (GATEWAY_FILE, INTERNAL_TOKEN_FILE, PROVIDER_TOKEN_FILE, SOCKET_FILE)
_MAX_FILE = 64 * 1024
_CLAIM_SECONDS = 0.5
_CLAIM_PAUSE = 0.01
_CLOCK_SLACK = 2.0


class GatewayFile(Struct, frozen=True, rename="camel"):
    """What `run/<port>/gateway.json` says about a running gateway."""

    url: str
    port: int
    pid: int
    version: str
    started_at: str
    """RFC 3339, UTC."""
    token_file: str
    """Where providers find their token; only its owner can read it."""
    internal_token_file: str
    """Where hosts, towers and commands find theirs."""
    socket: str | None = None
    """The Unix socket on which it listens as well; None: it has none."""
    settings: dict[str, Any] | None = None
    """Those with which it began, by their names; None: they are too large, or it is older."""
    was_updated: bool | UnsetType = UNSET
    """Whether the files of tapui were replaced under it: it should be started again."""


_decoder = msgspec.json.Decoder(GatewayFile)


class PortClaimedError(Exception):
    """Another gateway of this home says that it has the port. The text says what to do."""


class RunFolder:
    """This gateway's `run/<port>/`, claimed for as long as it runs."""

    def __init__(self, home: Home, port: int, folder: LockedFolder) -> None:
        self._home = home
        self._folder = folder
        self.port = port
        self.path = folder.path

    @classmethod
    def claim(cls, home: Home, port: int) -> "RunFolder":
        """Make the folder and hold its lock; remove what dead gateways left behind.

        Raises `PortClaimedError` when a live gateway of this home holds it (one in a container,
        say, as it cannot have the same port), `OSError` when it cannot be made.
        """
        folder = _claim(home, port)
        claimed = cls(home, port, folder)
        try:
            claimed._empty()
            remove_stale(home)
        except BaseException:
            _remove(folder)
            raise
        return claimed

    @property
    def internal_token_path(self) -> Path:
        return self.path / INTERNAL_TOKEN_FILE

    def write_internal_token(self, token: Secret) -> Path:
        """Write the internal token (0600) and return its path; raises `OSError`."""
        write(self._folder.fd, INTERNAL_TOKEN_FILE, token.reveal().encode())
        return self.internal_token_path

    def write_provider_token(self, token: Secret) -> Path:
        """Write a copy of the provider token (0600) and return its path; raises `OSError`."""
        write(self._folder.fd, PROVIDER_TOKEN_FILE, token.reveal().encode())
        return self.path / PROVIDER_TOKEN_FILE

    def listen(self) -> socket.socket:
        """Listen on the folder's Unix socket; raises `OSError`."""
        return local_socket.listen(self.path)

    def announce(
        self,
        url: str,
        version: str,
        token_file: Path,
        end: Path | None = None,
        settings: dict[str, Any] | None = None,
    ) -> GatewayFile:
        """Write `gateway.json`: from now on clients find this gateway. Raises `OSError`."""
        said = self.describe(url, version, token_file, end)
        data = msgspec.json.encode(replace(said, settings=settings))
        if len(data) > _MAX_FILE:
            data = msgspec.json.encode(said)
        write(self._folder.fd, GATEWAY_FILE, data)
        return said

    def mark_updated(self) -> None:
        """Say in `gateway.json` that this gateway should be started again. Raises `OSError`."""
        said = _read(self.path)
        if said is not None:
            write(
                self._folder.fd, GATEWAY_FILE, msgspec.json.encode(replace(said, was_updated=True))
            )

    def describe(
        self, url: str, version: str, token_file: Path, end: Path | None = None
    ) -> GatewayFile:
        """Return what clients need to know of this gateway; `end` is its Unix socket."""
        return GatewayFile(
            url=url,
            port=self.port,
            pid=os.getpid(),
            version=version,
            started_at=datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            token_file=str(token_file),
            internal_token_file=str(self.internal_token_path),
            socket=None if end is None else str(end),
        )

    def release(self) -> None:
        """Remove the folder and let the lock go. Calling it again does nothing.

        Raises `OSError` when a file could not be removed; the others are removed all the same.
        """
        if self._folder.fd < 0:
            return
        try:
            self._empty()
        finally:
            _remove(self._folder)

    def _empty(self) -> None:
        fault: OSError | None = None
        for name in _FILES:
            try:
                os.unlink(name, dir_fd=self._folder.fd)
            except FileNotFoundError:
                pass  # it was not written yet
            except OSError as error:
                fault = error
        if fault is not None:
            raise fault


def _claim(home: Home, port: int) -> LockedFolder:
    deadline = time.monotonic() + _CLAIM_SECONDS
    while True:
        folder = LockedFolder(home.state, "run", str(port), makes_base=True)
        try:
            folder.open()
            here = folder.path.lstat()
            if os.path.samestat(here, os.fstat(folder.fd)):
                return folder
            folder.close()  # it was stale, and removed while we opened it
        except FolderHeldError:
            # A client that looks whether the folder is stale holds the lock for a moment, too.
            if time.monotonic() > deadline:
                raise PortClaimedError(
                    f"a tapui gateway holds {folder.path}; choose another port with --port N"
                ) from None
        except FileNotFoundError:
            folder.close()
            if time.monotonic() > deadline:
                raise
        except OSError:
            folder.close()
            raise
        time.sleep(_CLAIM_PAUSE)


def _remove(folder: LockedFolder) -> None:
    """Remove an emptied folder whose lock we hold; what else is in there stays."""
    try:
        with contextlib.suppress(FileNotFoundError):  # it is to go
            os.unlink(LOCK_FILE, dir_fd=folder.fd)
        with contextlib.suppress(OSError):  # a file of another program is in it: it may stay
            folder.path.rmdir()
    finally:
        folder.close()


def remove_stale(home: Home) -> list[int]:
    """Remove the run folders of gateways that have died; return their ports."""
    removed = []
    for port, path in _run_folders(home):
        if is_alive(path):
            continue
        folder = LockedFolder(home.state, "run", str(port))
        try:
            folder.open()
            RunFolder(home, port, folder).release()
        except OSError:
            continue  # another process claimed it, or it is not ours to remove
        removed.append(port)
    return removed


def is_alive(run_folder: Path) -> bool:
    """Return whether the gateway of a run folder lives: whether its lock is held."""
    try:
        lock = os.open(run_folder / LOCK_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            return _process_lives(run_folder)
        raise
    finally:
        os.close(lock)
    return False


def _process_lives(run_folder: Path) -> bool:
    """Judge by the process id where there are no locks; a reused pid is a younger process."""
    import psutil

    said = _read(run_folder)
    if said is None:
        return False
    try:
        born: float = psutil.Process(said.pid).create_time()
    except psutil.Error:
        return False
    return born <= datetime.fromisoformat(said.started_at).timestamp() + _CLOCK_SLACK


def gateways(home: Home) -> list[GatewayFile]:
    """Return the gateways of this home that run, by port."""
    found = [_read(path) for _, path in _run_folders(home) if is_alive(path)]
    return [said for said in found if said is not None]


def find_gateway(home: Home, port: int | None = None) -> GatewayFile | None:
    """Return the running gateway on `port`; without one, the only gateway that runs. Or None."""
    if port is None:
        found = gateways(home)
        return found[0] if len(found) == 1 else None
    path = home.run_folder(port)
    return _read(path) if is_alive(path) else None


def _run_folders(home: Home) -> Iterator[tuple[int, Path]]:
    try:
        entries = sorted((home.state / "run").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    ports = [(int(path.name), path) for path in entries if path.name.isdecimal()]
    yield from sorted(ports)


def _read(run_folder: Path) -> GatewayFile | None:
    """Return what a run folder's `gateway.json` says; None without one that can be read."""
    try:
        fd = os.open(run_folder / GATEWAY_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        text = file.read(_MAX_FILE)
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        return None
