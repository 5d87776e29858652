"""Finding the running CLIs of this user, and the ways into their sessions.

A session in use has a lock file that names its process; a port counts when this very process
listens on it. Each session of a CLI with tapui's extension (`extension.mjs`) also has a file
`tapui/doors/<pid of the CLI>-<pid>.json` in Copilot's folder, private to its user: it names the
session, a port on loopback, and the token that opens it. Only files are read and the process table
is asked: nothing is connected to.
"""

import contextlib
import os
import re
import stat
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil
from msgspec import Struct

from tapui.runtime.processes.sights import system
from tapui.secret import Secret
from tapui.wire import limits

DOORS = ("tapui", "doors")
_MAX_BYTES = 4096
_MAX_PORT = 65535


class _DoorFile(Struct):
    port: int
    token: str
    pid: int
    session: str


@dataclass(frozen=True, slots=True)
class ExtensionDoor:
    """A way into the session `session`: the process `pid` listens on `port` for `token`."""

    port: int
    token: Secret = field(compare=False)
    pid: int
    session: str


def doors_of(copilot_home: Path, cli: int, uid: int) -> tuple[ExtensionDoor, ...]:
    """Return the ways into the sessions of the CLI with the process id `cli`.

    A file that is not private, or whose process is not a child of this very CLI, does not count.
    """
    folder = copilot_home.joinpath(*DOORS)
    try:
        paths = sorted(folder.glob(f"{cli}-*.json"))
    except OSError:
        return ()  # no extension has ever run here
    found = (_door(path, cli, uid) for path in paths)
    return tuple(one for one in found if one is not None)


def _door(path: Path, cli: int, uid: int) -> ExtensionDoor | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != uid or info.st_mode & 0o077:
            return None
        text = file.read(_MAX_BYTES)
    try:
        said = msgspec.json.decode(text, type=_DoorFile)
        is_its = psutil.Process(said.pid).ppid() == cli
    except (msgspec.MsgspecError, psutil.Error, ValueError, OverflowError):
        return None
    if not is_its or not 0 < said.port <= _MAX_PORT:
        return None
    return ExtensionDoor(said.port, Secret(said.token), said.pid, said.session)


LOOPBACK = "127.0.0.1"
"""Where a CLI listens for others to attach, and the only address that is connected to."""
_LOCK = re.compile(r"inuse\.(\d{1,10})\.lock\Z")
_LOG = re.compile(r"process-(\d{13})-(\d{1,10})\.log")
_HIGHEST_PID = 2**22
"""The highest process id that Linux gives out; what is named by a higher one is no process."""
_LOG_TIME = 60.0
"""Seconds from a CLI's start to the time in its log's name, at most."""
_CLOCK_SLACK = 2.0
"""Seconds that a lock file may be older than its process's start is recorded to be."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told apart from a later one with the same id by when it started."""

    pid: int
    started: float

    def is_alive(self) -> bool:
        """Return whether it still runs (a zombie does not)."""
        try:
            process = psutil.Process(self.pid)
            is_same: bool = process.create_time() == self.started
            return is_same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False


@dataclass(frozen=True, slots=True)
class Cli:
    """A running CLI: its sessions (newest lock first), its loopback ports, its folder."""

    process: Process
    sessions: tuple[str, ...]
    ports: tuple[int, ...]
    cwd: str
    doors: tuple[ExtensionDoor, ...] = ()
    """The ways into its sessions that tapui's extension opens, where it is installed."""
    is_headless: bool = False
    """Whether it is the server of another program, which has its sessions to itself."""
    listens: tuple[int, ...] = ()
    """Its loopback ports, as far as they were looked up, also where none counts as a way in."""

    @property
    def is_attachable(self) -> bool:
        return bool(self.ports or self.doors)

    @property
    def age(self) -> float:
        return max(time.time() - self.process.started, 0.0)


@dataclass(frozen=True, slots=True)
class _Lock:
    session: str
    pid: int
    written: float


@dataclass(slots=True)
class Discovery:
    """Looks for CLIs of the user `uid` in `copilot_home`.

    Folders that have not changed since the last look are not opened again, so that a look costs
    a `stat` per session that ever was. Without `with_ports`, no port counts as a way in.
    """

    copilot_home: Path
    uid: int = field(default_factory=os.getuid)
    with_ports: bool = True
    _known: dict[str, tuple[int, list[_Lock]]] = field(default_factory=dict)
    _logged: tuple[int, dict[int, float]] = (0, {})
    """When the folder of logs changed, and who writes there since when."""
    _listening: dict[Process, tuple[int, ...]] = field(default_factory=dict)
    """The ports of the processes of the last look."""

    def scan(self, *, known: Collection[Process] = ()) -> list[Cli]:
        """Return the CLIs that run now, those on a terminal also before they open a session. Of
        those in `known`, the ports are not looked up."""
        held: dict[int, list[_Lock]] = {}
        for lock in self._locks():
            held.setdefault(lock.pid, []).append(lock)
        found = []
        for pid, locks in held.items():
            cli = self._inspect(pid, locks, known)
            if cli is not None:
                found.append(cli)
        for pid, since in self._logs():
            cli = None if pid in held else self._begun(pid, since)
            if cli is not None:
                found.append(cli)
        self._listening = {one.process: one.listens for one in found}
        return found

    def _locks(self) -> list[_Lock]:
        seen: dict[str, tuple[int, list[_Lock]]] = {}
        locks: list[_Lock] = []
        try:
            with os.scandir(self.copilot_home / "session-state") as folders:
                for folder in folders:
                    try:
                        if not folder.is_dir(follow_symlinks=False):
                            continue
                        changed = folder.stat(follow_symlinks=False).st_mtime_ns
                        known = self._known.get(folder.name)
                        if known is None or known[0] != changed:
                            known = (changed, self._locks_in(folder))
                    except OSError:
                        continue  # removed while we looked
                    seen[folder.name] = known
                    locks += known[1]
        except OSError:
            return []  # no CLI has ever run here, or it is not ours to read
        self._known = seen
        return locks

    def _locks_in(self, folder: "os.DirEntry[str]") -> list[_Lock]:
        locks = []
        with os.scandir(folder.path) as files:
            for file in files:
                name = _LOCK.fullmatch(file.name)
                if name is None:
                    continue
                status = file.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and status.st_uid == self.uid:
                    locks.append(_Lock(folder.name, int(name[1]), status.st_mtime))
        return locks

    def _logs(self) -> list[tuple[int, float]]:
        """Return the processes that may be CLIs by the names of their logs, and since when."""
        folder = self.copilot_home / "logs"
        try:
            changed = folder.stat().st_mtime_ns
            if changed != self._logged[0]:
                names = [_LOG.fullmatch(log.name) for log in folder.iterdir()]
                began: dict[int, float] = {}
                for name in names:
                    if name is not None and (pid := int(name[2])) <= _HIGHEST_PID:
                        began[pid] = max(int(name[1]) / 1000, began.get(pid, 0.0))
                self._logged = changed, began
        except OSError:
            return []
        began = self._logged[1]
        for pid in [pid for pid in began if not psutil.pid_exists(pid)]:
            del began[pid]
        return list(began.items())

    def _begun(self, pid: int, logs_since: float) -> Cli | None:
        """Return a CLI without a session, which waits in its terminal: for the choice of one, or
        the first prompt of one that it resumes."""
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                this = Process(pid, process.create_time())
                is_its = -_CLOCK_SLACK <= logs_since - this.started <= _LOG_TIME
                if not is_its or process.uids().real != self.uid:
                    return None
                status = system.status(pid)
                if status is None or status.terminal == 0 or "--headless" in process.cmdline():
                    return None
                if status.parent in self._logged[1]:
                    return None  # an extension, which a CLI runs with its own program
                return Cli(this, (), (), process.cwd())
        except (psutil.Error, OSError):
            return None

    def _inspect(self, pid: int, locks: list[_Lock], known: Collection[Process]) -> Cli | None:
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                started = process.create_time()
                if process.uids().real != self.uid or process.status() == psutil.STATUS_ZOMBIE:
                    return None
                # A lock older than the process is another's, whose id was given out again.
                locks = [one for one in locks if one.written >= started - _CLOCK_SLACK]
                if not locks:
                    return None
                cwd = process.cwd()
                is_headless = "--headless" in process.cmdline()
            this = Process(pid, started)
            is_known = this in known
            listens = self._listening.get(this, ()) if is_known else listening_ports(pid)
        except psutil.Error:
            return None
        locks.sort(key=lambda lock: lock.written, reverse=True)
        sessions = tuple(lock.session for lock in locks)
        doors = doors_of(self.copilot_home, pid, self.uid)
        ports = listens if self.with_ports and not is_known else ()
        return Cli(this, sessions, ports, cwd, doors, is_headless, listens)


def ports_of(found: Iterable[Cli]) -> list[int]:
    """Return the ports by which these CLIs can be told to do things."""
    ports = {port for cli in found for port in cli.listens}
    ports |= {door.port for cli in found for door in cli.doors}
    return sorted(ports)[: limits.MAX_SEEN_PORTS]


def holders(copilot_home: Path, session_id: str) -> list[int]:
    """Return the processes of this user that have a session open, by its lock files."""
    found = []
    with contextlib.suppress(OSError):  # the session has no folder (yet)
        for path in (copilot_home / "session-state" / session_id).iterdir():
            name = _LOCK.fullmatch(path.name)
            if name is not None and _holds(int(name[1]), path):
                found.append(int(name[1]))
    return sorted(found)


def _holds(pid: int, lock: Path) -> bool:
    """Return whether the process of a lock is alive, and no later one with the same id."""
    try:
        process = psutil.Process(pid)
        is_own: bool = process.create_time() - _CLOCK_SLACK <= lock.stat().st_mtime
        return is_own and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def listening_ports(pid: int) -> tuple[int, ...]:
    """Return the TCP ports of 127.0.0.1 that the process `pid` itself listens on.

    Raises `psutil.Error` when the process is gone or not ours.
    """
    ports = set()
    for socket in psutil.Process(pid).net_connections("tcp"):
        if socket.status == psutil.CONN_LISTEN and socket.laddr.ip == LOOPBACK:
            ports.add(int(socket.laddr.port))
    return tuple(sorted(ports))
