"""What the rule about the person needs to know of a process, read anew each time.

`look`: a process, its ancestors and its terminal. `PeerProcess`: the one behind a connection, whose
id may be used again.
"""

import os
import signal
import sys
from dataclasses import replace

from tapui.core.effects import SeenProcess, Sight
from tapui.home.local_socket import Peer
from tapui.runtime.processes.status import Status, is_tapui
from tapui.text import safe_name

if sys.platform == "darwin":
    from tapui.runtime.processes import macos as system
else:
    from tapui.runtime.processes import linux as system

__all__ = ["PeerProcess", "begun", "look", "system"]

_MAX_LINE = 4_096
"""Processes of a line at most: above that it is a circle of ids that were used again."""
_LOOKS = 3
"""Times that a line is read at most while it changes."""


def look(pid: int) -> Sight | None:
    """Return a process with its ancestors and its terminal; None where that cannot be found.

    All of it is read twice: an id that is used again meanwhile does not pass for the process.
    """
    for _ in range(_LOOKS):
        seen = _line_of(pid)
        sight = _sight(seen) if seen else None
        if [one.key for one in _line_of(pid)] == [one.key for one in seen]:
            return sight
    return None


def _line_of(pid: int) -> list[Status]:
    """Return a process, its parent and so on, up to the first process; empty where it has ended."""
    line: list[Status] = []
    while pid > 0 and len(line) < _MAX_LINE:
        one = system.status(pid)
        if one is None:
            break
        line.append(one)
        pid = one.parent
    return line


def _sight(seen: list[Status]) -> Sight:
    first = seen[0]
    leaders = next((seen[at:] for at, one in enumerate(seen) if one.pid == first.session), None)
    if leaders is None:
        leaders = _line_of(first.session)
        if leaders and leaders[0].session != first.session:
            leaders = []  # the leader has ended, and its id was used again
    below = seen[: len(seen) - len(leaders)] if leaders and leaders[0] in seen else seen
    marked = next((one for one in (*below, *leaders[:1]) if system.is_marked(one.pid)), None)
    return Sight(
        line=tuple(_process(one, is_near=one.session == first.session) for one in seen),
        group=first.group,
        session=first.session,
        leader_line=tuple(map(_process, leaders)),
        terminal=system.terminal_name(first.terminal) if first.terminal else None,
        foreground=first.foreground,
        marked=_process(marked) if marked is not None else None,
    )


def _process(one: Status, *, is_near: bool = False) -> SeenProcess:
    """Return a process as the core knows it; its command line is read where it `is_near`."""
    is_own = is_near and is_tapui(system.argv(one.pid))
    return SeenProcess(one.pid, safe_name(one.name), one.start, is_own, system.is_first(one.pid))


def begun(peer: Peer) -> Peer:
    """Return a peer with the start of its process, which has connected just now."""
    try:
        process = None if peer.pid is None else system.status(peer.pid)
    except OSError:  # no descriptor is left: then it is never the same
        process = None
    return peer if process is None else replace(peer, start=process.start)


class PeerProcess:
    """The process that connected, to be looked at by its id, and closed after that.

    Made on the loop's thread, used in any. Raises `ProcessLookupError` where it has ended, other
    errors where no descriptor is left.
    """

    def __init__(self, peer: Peer) -> None:
        assert peer.pid is not None, "it is known"
        self.pid = peer.pid
        self._start = peer.start
        self._handle = peer.handle()

    def is_still(self) -> bool:
        """Return whether the id is still that of this process: ask after what was read by it.

        Linux says it of the descriptor. Without one the start has to be that at the connect, which
        misses an id that was used again between the connect and the accept. Raises `OSError`.
        """
        if self._handle is None:
            process = system.status(self.pid)
            return process is not None and process.start == self._start
        try:
            signal.pidfd_send_signal(self._handle, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it is there, and another user's
            pass
        return True

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
