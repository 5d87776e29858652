"""Notices that a terminal has vanished where no signal tells of it."""

import os
import select
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

_GONE = select.POLLHUP | select.POLLERR


class TerminalWatch:
    """From `with` to its end, calls `vanished` once when a terminal of this process is gone.

    SIGHUP goes to the processes that a terminal controls only: not to one in a session of its own
    (`setsid`, a container whose shell died). `vanished` is called on the watching thread.
    """

    def __init__(self, vanished: Callable[[], None]) -> None:
        self._vanished = vanished
        self._end, self._ended = socket.socketpair()
        self._terminals = [fd for fd in (0, 1, 2) if os.isatty(fd)]
        self._thread = threading.Thread(target=self._watch, name="watch the terminal", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.close()
        self._thread.join()
        self._ended.close()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._ended, select.POLLIN)
        for fd in self._terminals:
            poll.register(fd, 0)  # nothing but its end
        while self._terminals:
            for fd, what in poll.poll():
                if fd == self._ended.fileno():
                    return
                if what & _GONE:
                    self._vanished()
                    return
                poll.unregister(fd)  # this system cannot watch it: SIGHUP is all there is
                self._terminals.remove(fd)
