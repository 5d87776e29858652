"""The process behind a connection, while it is looked at: its id may be used again."""

import os
from dataclasses import replace
from pathlib import Path

from tapui.home.local_socket import Peer
from tapui.runtime.processes.sights import system


def begun(peer: Peer) -> Peer:
    """Return a peer with the start of its process, which has connected just now."""
    try:
        found = None if peer.pid is None else system.status(peer.pid)
    except OSError:  # no descriptor is left: then it is never the same
        found = None
    return peer if found is None else replace(peer, start=found.start)


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
            found = system.status(self.pid)
            return found is not None and found.start == self._start
        text = Path(f"/proc/self/fdinfo/{self._handle}").read_bytes()
        return int(text.partition(b"\nPid:")[2].split()[0]) == self.pid  # -1: it has ended

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
