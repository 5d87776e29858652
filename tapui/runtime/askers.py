"""Which process is behind a connection: the one that holds the other end of its socket.

A Unix socket names it. For the others the table of open sockets is read, in a thread: that takes
some 10 ms.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping

import psutil

from tapui.core.effects import ConnectionId, Identified, Identify
from tapui.core.gateway import Gateway
from tapui.runtime.ports import Port
from tapui.text import safe_name
from tapui.wire.subjects import Asker, Program

_log = logging.getLogger(__name__)

_ANCESTORS = 64
"""Ancestors that are told; a chain of processes is hardly ever longer than ten. Of a longer one it
cannot be told who asks: somebody may hide behind its length."""

Address = tuple[str, int]
"""An IP address and a port."""
End = tuple[Address, Address]
"""A client's socket: its own address, and the gateway's."""


class Askers:
    """Answers `Identify`."""

    def __init__(
        self,
        gateway: Gateway,
        ports: Mapping[ConnectionId, Port],
        loop: asyncio.AbstractEventLoop,
        into_core: Callable[[Callable[[float], None]], None],
        runner: Callable[[], int | None],
    ) -> None:
        self._gateway = gateway
        self._ports = ports
        self._loop = loop
        self._into_core = into_core
        self._runner = runner

    def begin(self, effect: Identify) -> None:
        """Look for the processes; the answer comes later."""
        ends, named = {}, {}
        for number in (effect.connection, *effect.others):
            port = self._ports.get(number)
            if port is not None and port.peer.pid is not None:
                named[number] = port.peer.pid
            elif port is not None and port.client_end is not None:
                ends[number] = port.client_end

        def done(finding: "asyncio.Future[Identified]") -> None:
            self._answer(effect, finding.result())

        self._loop.run_in_executor(
            None, _identified, effect.connection, ends, named, self._runner()
        ).add_done_callback(done)

    def failed(self, effect: Identify) -> None:
        """The look could not begin: nobody was found."""
        self._answer(effect, Identified(None, {}))

    def _answer(self, effect: Identify, found: Identified) -> None:
        self._into_core(lambda now: self._gateway.identified(effect.ticket, now, found))


def _identified(
    number: ConnectionId,
    ends: Mapping[ConnectionId, End],
    named: Mapping[ConnectionId, int],
    runner: int | None,
) -> Identified:
    try:
        holders = _holders() if ends else {}
        pids = {one: holders[end] for one, end in ends.items() if end in holders}
        pids.update(named)
        asker = pids.pop(number, None)
        return Identified(_asker(asker) if asker is not None else None, pids, runner)
    except (psutil.Error, OSError) as error:
        _log.warning("the process behind connection %d cannot be found: %s", number, error)
        return Identified(None, {})


def _holders() -> dict[End, int]:
    """Return the processes of this user that hold sockets, by the socket's two ends."""
    return {
        ((one.laddr.ip, one.laddr.port), (one.raddr.ip, one.raddr.port)): pid
        for pid, one in _sockets()
        if one.raddr
    }


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


def _asker(pid: int) -> Asker | None:
    process = psutil.Process(pid)
    parents = process.parents()
    if len(parents) > _ANCESTORS:
        return None
    ancestors = []
    for parent in parents:
        try:
            ancestors.append(Program(parent.pid, safe_name(parent.name())))
        except psutil.Error:
            break  # it has ended meanwhile, and what was above it is not known
    return Asker(pid, safe_name(process.name()), ancestors, process.terminal())
