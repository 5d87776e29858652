"""Which process is behind a connection.

What takes more than a few reads of `/proc` is done in a thread of its own, one thing after the
other: a look sees the agents that were noted before it.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psutil

from tapui.core.effects import ConnectionId, Identified, Identify, NoteAgent
from tapui.home.local_socket import Peer
from tapui.runtime.agents import Agents
from tapui.runtime.ports import Port
from tapui.runtime.processes.sights import PeerProcess, begun, look
from tapui.runtime.tasks import in_thread

_log = logging.getLogger(__name__)

_AGAIN = 1.0
"""Seconds until an agent is noted that could not be looked at."""

Address = tuple[str, int]
"""An IP address and a port."""
End = tuple[Address, Address]
"""A client's socket: its own address, and the gateway's."""


class Askers:
    """Answers `Identify`, and carries out `NoteAgent`."""

    def __init__(
        self,
        ports: Mapping[ConnectionId, Port],
        loop: asyncio.AbstractEventLoop,
        answer: Callable[[int, Identified], None],
        agents: Agents,
    ) -> None:
        self._ports = ports
        self._loop = loop
        self._answer = answer
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
            partial(self._answer, effect.ticket),
            otherwise=lambda: Identified(None),  # the sender is refused
            about=effect,
            executor=self._thread,
        )

    def failed(self, effect: Identify) -> None:
        """The look could not begin: no process was found."""
        self._answer(effect.ticket, Identified(None))

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
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

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
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:  # macOS tells of all processes to root alone
        for process in psutil.process_iter():
            try:
                if process.uids().real == os.getuid():
                    yield from ((process.pid, one) for one in process.net_connections("tcp"))
            except psutil.Error:
                continue  # it has ended, or is not ours
    else:
        yield from ((one.pid, one) for one in connections if one.pid is not None)
