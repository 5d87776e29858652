"""Notices that a terminal has vanished where no signal tells of it."""

import os
import select
from collections.abc import Callable

from tapui.station.watch_thread import WatchThread

_GONE = select.POLLHUP | select.POLLERR


class TerminalWatch(WatchThread):
    """From `with` to its end, calls `vanished` once when a terminal of this process is gone.

    SIGHUP goes to the processes that a terminal controls only: not to one in a session of its own
    (`setsid`, a container whose shell died). `vanished` is called on the watching thread.
    """

    def __init__(self, vanished: Callable[[], None]) -> None:
        super().__init__("watch the terminal")
        self._vanished = vanished
        self._terminals = [fd for fd in (0, 1, 2) if os.isatty(fd)]

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._ends, select.POLLIN)
        for fd in self._terminals:
            poll.register(fd, 0)  # nothing but its end
        while self._terminals:
            for fd, what in poll.poll():
                if fd == self._ends.fileno():
                    return
                if what & _GONE:
                    self._vanished()
                    return
                poll.unregister(fd)  # this system cannot watch it: SIGHUP is all there is
                self._terminals.remove(fd)
