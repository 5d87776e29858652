"""Which processes are agents', and when the first of them began."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock

import msgspec
import psutil
from msgspec import Struct

from tapui.core.effects import AgentProcess, Identified, Sight
from tapui.files import private_file
from tapui.files.foreign_file import text_of
from tapui.files.private_file import private_folder
from tapui.home.local_socket import NO_DESCRIPTOR
from tapui.runtime.processes.sights import system
from tapui.runtime.processes.status import Status

_log = logging.getLogger(__name__)

FILE = "agents.json"
"""In the state folder: when the first agent began, and which ones run. A restarted gateway and
another one of the same person know them, whether or not they come to it. Each gateway makes it
before anything else."""
_VERSION = 1
_RECORDS = ("sessions.jsonl", "sessions", "sessions/*")
"""What every gateway writes: where this is newer than the boot and the file is not there, the file
was removed."""
_SHELLS = frozenset(
    ("ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "sh")
) | {"tcsh", "yash", "zsh"}
"""Programs that the person types into. An agent cannot change which program a process runs."""
_LOST = "an agent that cannot be read from the state folder"

Key = tuple[int, float]
"""A process: its id, and when it began."""
_SHOWS = "what shows terminals of yours"


class _Running(Struct, frozen=True):
    """An agent's process that ran when the file was written."""

    pid: int
    start: float
    what: str


class _First(Struct):
    """The earliest start of any agent since a boot, in seconds since it, and which agent it was;
    None where there was none."""

    boot: str
    start: float | None
    what: str
    version: int = _VERSION
    running: list[_Running] = []


class Agents:
    """The processes that belong to agents. May be used from any thread.

    A file that cannot be read, or was removed, means that every terminal is younger than the first
    agent: then the person is asked. `own` is the process of the gateway. `on_odd` gets what the
    person should know.
    """

    def __init__(
        self, state: Path, own: int | None = None, on_odd: Callable[[str], None] = _log.warning
    ) -> None:
        self._state = state
        self._own = own
        self.on_odd = on_odd
        self._start: float | None = None
        """When the first one began, in seconds since boot."""
        self._what = ""
        self._known: dict[Key, str] = {}
        self._unfit: set[Key] = set()
        """What was named as an agent and is none."""
        self._fault = ""
        self._is_kept = False
        """Whether there was a file of this boot."""
        self._lock = Lock()

    def begin(self) -> None:
        """Make the file, so that its absence can be told from its removal. Raises `OSError`."""
        with self._lock:
            self._read()
            if not self._is_kept and not self._fault:
                self._put()

    def note(self, pid: int, what: str, is_still: Callable[[], bool] = lambda: True) -> None:
        """Remember a process for as long as it runs, and when it began for good.

        `is_still` is asked whether the id is still that of the process that is meant. Raises
        `OSError` where it cannot be looked at now.
        """
        with self._lock:
            self._read()
            process = system.status(pid)
            if process is not None and self._known.get(process.key) != what and is_still():
                self._take(process, what)

    def identified(self, sight: Sight | None) -> Identified:
        with self._lock:
            self._read()
            return Identified(sight, tuple(self._running()), self._start, self._what, system.now())

    def _take(self, found: Status, what: str) -> None:
        if found.key not in self._known and not self._is_fit(found, what):
            return
        self._known[found.key] = what
        self._began(found.start, what)
        self._write()

    def _began(self, start: float, what: str) -> None:
        if self._start is None or start < self._start:
            self._start, self._what = start, what

    def _is_fit(self, found: Status, what: str) -> bool:
        """Return whether a process can be an agent's: who reads the internal token, writes the file
        or a lock of Copilot's can name any."""
        if found.key in self._unfit:
            return False
        why = self._why_not(found)
        if why is None:
            return True
        self._unfit.add(found.key)
        odd = (
            f"{what} names process {found.pid} ({found.name}) as its own, which is {why}: "
            "it is not taken as an agent"
        )
        if why == _SHOWS:
            odd += f", but terminals count as opened after it; {self._way_out()}"
            self._began(found.start, what)  # it may be one: what it opens is asked about
            self._write()
        self.on_odd(odd)
        return False

    def _why_not(self, found: Status) -> str | None:
        """Return what a process is instead of an agent, or None."""
        if found.pid == 1 or system.uid(found.pid) != os.getuid():
            return "none of your processes"
        if found.pid == self._own:
            return "this gateway"
        if found.terminal:
            return "a shell of yours" if system.program(found.pid) in _SHELLS else None
        return _SHOWS if any(map(_is_shown_shell, system.children(found.pid))) else None

    def _way_out(self) -> str:
        return (
            "you are asked for each in the tower; where no agent was there, end the gateway, write "
            f'"start":null into {self._state / FILE}, and start `tapui`'
        )

    def _running(self) -> Iterator[AgentProcess]:
        for key, what in list(self._known.items()):
            process = system.status(key[0])
            if process is None or process.key != key:
                del self._known[key]
            else:
                yield AgentProcess(process.pid, process.start, process.group, what, process.session)

    def _read(self) -> None:
        """Take what is in the file, which other gateways write, too.

        Raises `OSError` where no descriptor is left to read it with.
        """
        kept, fault = None, ""
        try:
            kept = msgspec.json.decode(text_of(self._state / FILE, os.getuid()), type=_First)
            fault = "" if kept.version == _VERSION else f"it is of version {kept.version}"
        except (FileNotFoundError, NotADirectoryError):
            pass  # none was made yet, or it was removed, or no state can be kept at all
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            if isinstance(error, OSError) and error.errno in NO_DESCRIPTOR:
                raise
            fault = str(error)
        if fault:
            self._start, self._what = 0.0, _LOST
            if fault != self._fault:
                _log.error("%s cannot be read, remove it: %s", self._state / FILE, fault)
        self._fault = fault
        if fault:
            return
        if kept is not None and kept.boot == system.boot():
            self._merge(kept)
        elif self._is_kept or self._start is not None:
            self._write()  # it was removed, or an old one put in its place
        elif _has_records_of_this_boot(self._state):
            self._start, self._what = 0.0, _LOST
            self.on_odd(
                f"{self._state / FILE} is not there though a gateway has run since this machine "
                f"started: every terminal counts as opened after an agent began; {self._way_out()}"
            )
            self._write()

    def _merge(self, kept: _First) -> None:
        self._is_kept = True
        if kept.start is not None:
            self._began(kept.start, kept.what)
        there = {(one.pid, one.start): one.what for one in kept.running}
        for (pid, start), what in there.items():
            process = system.status(pid) if (pid, start) not in self._known else None
            if process is not None and process.start == start and self._is_fit(process, what):
                self._known[process.key] = what
        if kept.start != self._start or any(
            (one.pid, one.start) not in there for one in self._running()
        ):
            self._write()  # an older copy was put in its place

    def _write(self) -> None:
        if self._fault:
            return
        try:
            self._put()
        except OSError as error:
            _log.error("%s cannot be written: %s", self._state / FILE, error)

    def _put(self) -> None:
        running = [_Running(one.pid, one.start, one.what) for one in self._running()]
        kept = _First(system.boot(), self._start, self._what, running=running)
        folder = os.open(private_folder(self._state), os.O_RDONLY | os.O_DIRECTORY)
        try:
            # It tells of this boot alone, and the gateway's loop does not wait for a disk.
            private_file.write(folder, FILE, msgspec.json.encode(kept), is_lasting=False)
        finally:
            os.close(folder)
        self._is_kept = True


def _is_shown_shell(child: Status) -> bool:
    """Return whether a process is a shell on a terminal of its own that no agent has started."""
    leads = child.session == child.pid and child.terminal != 0
    return leads and system.program(child.pid) in _SHELLS and not system.is_marked(child.pid)


def _has_records_of_this_boot(state: Path) -> bool:
    """Return whether a gateway has written between the boot and the start of this process."""
    this = system.status(os.getpid())
    boot, own = psutil.boot_time(), time.time() - system.now() + (this.start if this else 0.0)
    for pattern in _RECORDS:
        for path in state.glob(pattern):
            try:
                if boot < path.lstat().st_ctime < own:
                    return True
            except OSError:
                continue  # it was removed meanwhile
    return False
