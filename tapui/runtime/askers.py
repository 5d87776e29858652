"""Which process is behind a connection, and which processes are agents'.

What takes more than a few reads of `/proc` is done in a thread of its own, one thing after the
other: a look sees the agents that were noted before it.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec
import psutil
from msgspec import Struct

from tapui.core.effects import AgentProcess, ConnectionId, Identified, Identify, NoteAgent, Sight
from tapui.home import private_file
from tapui.home.foreign_file import text_of
from tapui.home.local_socket import NO_DESCRIPTOR, Peer
from tapui.home.paths import private_folder
from tapui.runtime.ports import Port
from tapui.runtime.processes.peers import PeerProcess, begun
from tapui.runtime.processes.sights import look, system
from tapui.runtime.tasks import in_thread

if TYPE_CHECKING:
    from tapui.core.gateway import Gateway

_log = logging.getLogger(__name__)

FILE = "agents.json"
"""In the state folder: when the first agent began, and which ones run. A restarted gateway and
another one of the same person know them, whether or not they come to it."""
_VERSION = 1
_AGAIN = 1.0
"""Seconds until an agent is noted that could not be looked at."""

Address = tuple[str, int]
"""An IP address and a port."""
End = tuple[Address, Address]
"""A client's socket: its own address, and the gateway's."""


class _Running(Struct, frozen=True):
    """An agent's process that ran when the file was written."""

    pid: int
    start: float
    what: str


class _First(Struct):
    """The earliest start of any agent since a boot, in seconds since it, and which agent it was."""

    boot: str
    start: float
    what: str
    version: int = _VERSION
    running: list[_Running] = []


class Agents:
    """The processes that belong to agents. May be used from any thread.

    A file that cannot be read means that every terminal is younger than the first agent: then the
    person is asked.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._start: float | None = None
        """When the first one began, in seconds since boot."""
        self._what = ""
        self._known: dict[tuple[int, float], str] = {}
        self._fault = ""
        self._lock = Lock()

    def note(self, pid: int, what: str, is_still: Callable[[], bool] = lambda: True) -> None:
        """Remember a process for as long as it runs, and when it began for good.

        `is_still` is asked whether the id is still that of the process that is meant. Raises
        `OSError` where it cannot be looked at now.
        """
        with self._lock:
            self._note(pid, what, is_still)

    def _note(self, pid: int, what: str, is_still: Callable[[], bool]) -> None:
        self._read()
        found = system.status(pid)
        if found is None or self._known.get(found.key) == what or not is_still():
            return
        self._known[found.key] = what
        if self._start is None or found.start < self._start:
            self._start, self._what = found.start, what
        if not self._fault:
            self._write(self._start)

    def identified(self, sight: Sight | None) -> Identified:
        """Return what is known beside a sight."""
        with self._lock:
            self._read()
            return Identified(sight, tuple(self._running()), self._start, self._what, system.now())

    def _running(self) -> Iterator[AgentProcess]:
        for key, what in list(self._known.items()):
            found = system.status(key[0])
            if found is None or found.key != key:
                del self._known[key]
            else:
                yield AgentProcess(found.pid, found.start, found.group, what, found.session)

    def _read(self) -> None:
        """Take what is in the file, which other gateways write, too.

        Raises `OSError` where no descriptor is left to read it with.
        """
        try:
            kept = msgspec.json.decode(text_of(self._state / FILE), type=_First)
            fault = "" if kept.version == _VERSION else f"it is of version {kept.version}"
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            if isinstance(error, OSError) and error.errno in NO_DESCRIPTOR:
                raise
            fault = str(error)
        if fault:
            self._start, self._what = 0.0, "an agent that cannot be read from the state folder"
            if fault != self._fault:
                _log.error("%s cannot be read, remove it: %s", self._state / FILE, fault)
            self._fault = fault
        elif kept.boot == system.boot():
            if self._start is None or kept.start < self._start:
                self._start, self._what = kept.start, kept.what
            for one in kept.running:
                self._known.setdefault((one.pid, one.start), one.what)

    def _write(self, first: float) -> None:
        running = [_Running(one.pid, one.start, one.what) for one in self._running()]
        kept = _First(system.boot(), first, self._what, running=running)
        try:
            folder = os.open(private_folder(self._state), os.O_RDONLY | os.O_DIRECTORY)
            try:
                private_file.write(folder, FILE, msgspec.json.encode(kept))
            finally:
                os.close(folder)
        except OSError as error:
            _log.error("%s cannot be written: %s", self._state / FILE, error)


class Askers:
    """Answers `Identify`, and carries out `NoteAgent`."""

    def __init__(
        self,
        gateway: "Gateway",
        ports: Mapping[ConnectionId, Port],
        loop: asyncio.AbstractEventLoop,
        into_core: Callable[[Callable[[float], None]], None],
        agents: Agents,
    ) -> None:
        self._gateway = gateway
        self._ports = ports
        self._loop = loop
        self._into_core = into_core
        self._agents = agents
        self._thread = ThreadPoolExecutor(1, "askers")
        self._is_closed = False

    def begin(self, effect: Identify) -> None:
        """Look for the process; the answer comes later."""
        find = self._finder(effect.connection)

        def work() -> Identified:
            process = find()
            if process is None:
                return self._agents.identified(None)
            with contextlib.closing(process):
                sight = look(process.pid)
                return self._agents.identified(sight if process.is_still() else None)

        in_thread(
            self._loop,
            work,
            lambda found: self._answer(effect, found),
            otherwise=lambda: Identified(None),  # the sender is refused
            about=effect,
            executor=self._thread,
        )

    def failed(self, effect: Identify) -> None:
        """The look could not begin: no process was found."""
        self._answer(effect, Identified(None))

    def note(self, effect: NoteAgent) -> None:
        """Remember a process as an agent's.

        One that is named by its id is kept before the effects that follow: a session that was told
        that it is open is known to the next gateway, too.
        """
        if self._is_closed:
            return
        try:
            if effect.connection is None:
                if effect.pid is not None:
                    self._agents.note(effect.pid, effect.what)
                return
            find = self._finder(effect.connection)
        except OSError as error:
            self._again(effect, error)
            return

        def work() -> OSError | None:
            try:
                process = find()
                if process is not None:
                    with contextlib.closing(process):
                        self._agents.note(process.pid, effect.what, process.is_still)
            except OSError as error:
                return error
            return None

        in_thread(
            self._loop,
            work,
            lambda error: None if error is None else self._again(effect, error),
            otherwise=lambda: None,
            about=effect,
            executor=self._thread,
        )

    def _again(self, effect: NoteAgent, error: OSError) -> None:
        """Note it later: an agent that is not known could pass for the person."""
        _log.warning("not noted yet: %s: %s", effect.what, error)
        self._loop.call_later(_AGAIN, self.note, effect)

    def close(self) -> None:
        """Look for nothing more."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _answer(self, effect: Identify, found: Identified) -> None:
        self._into_core(lambda now: self._gateway.identified(effect.ticket, now, found))

    def _finder(self, number: ConnectionId) -> Callable[[], PeerProcess | None]:
        """Return what finds the process behind a connection, in the thread. Raises `OSError`."""
        port = self._ports.get(number)
        if port is None:
            return lambda: None
        peer, end = port.peer, port.client_end
        if peer.pid is not None:
            try:
                process = PeerProcess(peer)
            except ProcessLookupError:
                return lambda: None
            return lambda: process
        return (lambda: _holder(end)) if end is not None else lambda: None


def _holder(end: End) -> PeerProcess | None:
    """Return the process of this user that holds a TCP socket; None also where there are several:
    any of them may have written to it."""
    holders = {
        pid
        for pid, one in _sockets()
        if one.raddr and ((one.laddr.ip, one.laddr.port), (one.raddr.ip, one.raddr.port)) == end
    }
    return PeerProcess(begun(Peer(holders.pop(), None))) if len(holders) == 1 else None


def _sockets() -> "Iterator[tuple[int, psutil._common.sconn]]":
    try:
        found = psutil.net_connections("tcp")
    except psutil.AccessDenied:  # macOS tells of all processes to root alone
        for process in psutil.process_iter():
            try:
                if process.uids().real == os.getuid():
                    yield from ((process.pid, one) for one in process.net_connections("tcp"))
            except psutil.Error:
                continue  # it has ended, or is not ours
    else:
        yield from ((one.pid, one) for one in found if one.pid is not None)
