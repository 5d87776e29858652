"""Which process is behind a connection.

What takes more than a few reads of `/proc` is done in a thread of its own, one thing after the
other: a look sees the agents that were noted before it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from tapui.core.effects import AgentProcess, ConnectionId, Identified, Identify, NoteAgent
from tapui.home.local_socket import Peer
from tapui.runtime.ports import Port
from tapui.runtime.processes.sights import PeerProcess, begun, look, system
from tapui.runtime.processes.status import Address, Key
from tapui.runtime.tasks import in_thread

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

End = tuple[Address, Address]
"""A client's socket: its own address, and the gateway's."""


class Askers:
    """Answers `Identify`, and carries out `NoteAgent`."""

    def __init__(
        self,
        ports: Mapping[ConnectionId, Port],
        loop: asyncio.AbstractEventLoop,
        answer: Callable[[int, Identified], None],
        own: Collection[Key] = (),
    ) -> None:
        self._ports = ports
        self._loop = loop
        self._answer = answer
        self._own = own
        """The gateway and its ancestors, the person's shell and terminal among them: none is an
        agent, under any name that a host or a lock of Copilot's gives it."""
        self._thread = ThreadPoolExecutor(1, "askers")
        self._agents: dict[Key, str] = {}
        """What is known as an agent's and ran at the last look; used in the thread alone."""
        self._is_closed = False

    def begin(self, effect: Identify) -> None:
        """Look for the process; the answer comes later."""
        find = self._finder(effect.connection)

        def work() -> Identified:
            return Identified(_read(find(), look), self._running(), system.now())

        in_thread(
            self._loop,
            work,
            partial(self._answer, effect.ticket),
            otherwise=lambda: Identified(None),  # the sender is refused
            about=effect,
            executor=self._thread,
        )

    def failed(self, effect: Identify) -> None:
        """The look could not begin: no process was found."""
        self._answer(effect.ticket, Identified(None))

    def note(self, effect: NoteAgent) -> None:
        """Remember a process as an agent's, for as long as it runs."""
        if self._is_closed:
            return
        pid, find = effect.pid, self._finder(effect.connection or 0)

        def work() -> None:
            process = _read(find(), system.status) if pid is None else system.status(pid)
            if process is not None and process.key not in self._own:
                self._agents[process.key] = effect.what

        in_thread(
            self._loop,
            work,
            lambda _: None,
            otherwise=lambda: None,
            about=effect,
            executor=self._thread,
        )

    def _running(self) -> tuple[AgentProcess, ...]:
        running = []
        for (pid, start), what in list(self._agents.items()):
            process = system.status(pid)
            if process is not None and process.start == start:
                running.append(AgentProcess(pid, start, what, process.session))
            else:
                self._agents.pop((pid, start), None)
        return tuple(running)

    def close(self) -> None:
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _finder(self, number: ConnectionId) -> Callable[[], PeerProcess | None]:
        """Return what finds the process behind a connection, in the thread; 0 is none."""
        port = self._ports.get(number)
        if port is None:
            return lambda: None
        peer, end = port.peer, port.client_end
        if peer.pid is None:
            return (lambda: _holder(end)) if end is not None else lambda: None
        try:
            process = PeerProcess(peer)
        except ProcessLookupError:  # it has ended
            return lambda: None
        except OSError as error:  # no descriptor is left
            _log.warning("the process of connection %d is not looked at: %s", number, error)
            return lambda: None
        return lambda: process


def _holder(end: End) -> PeerProcess | None:
    """Return the process of this user that holds a TCP socket. None also where there are several,
    or one that cannot be looked at: any of them may have written to it."""
    holders = set(system.socket_holders(*end))
    return PeerProcess(begun(Peer(holders.pop(), None))) if len(holders) == 1 else None


def _read(process: PeerProcess | None, read: Callable[[int], _T | None]) -> _T | None:
    """Return what is read of a process by its id; None where that is another's by then."""
    if process is None:
        return None
    with contextlib.closing(process):
        found = read(process.pid)
        return found if process.is_still() else None
