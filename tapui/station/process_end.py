"""The end of this process: the signals that ask for it, and an end that takes too long.

Signals are caught in the main thread and sent on as a message. Past a deadline, what each thread is
doing goes into the log, and the process ends.
"""

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from tapui.station import terminal
from tapui.text import safe_text

_log = logging.getLogger(__name__)

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
STOP_REFUSED = "not suspended: a stopped gateway would freeze every call and every gate"
END_SECONDS = 30.0
"""How long the gateway's end may take, providers' time included."""
_LAST_SECONDS = 5.0
"""How long the report of it may take: the disk of the log may be what hangs."""
_BEGUN = b"\0"
"""Tells the watch that the end has begun. No signal has this number."""


def refuse_stop(tell: Callable[[str], None]) -> None:
    """From now on a stop signal is only reported and logged; call it on a running loop."""

    def refuse() -> None:
        _log.warning(STOP_REFUSED)
        tell(STOP_REFUSED)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, refuse)


class Signals:
    """From `with` to its end each ending signal is given to `receive`, on the running loop.

    Nothing is lost in between: while the block lasts no such signal ends the process by itself.
    """

    def __init__(self, receive: Callable[[signal.Signals], None]) -> None:
        self._receive = receive
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        for number in ENDING:
            self._loop.add_signal_handler(number, self._receive, number)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in ENDING:
            self._loop.remove_signal_handler(number)


def give_up(log: Path, what: str, remove_files: Callable[[], None]) -> NoReturn:
    """End this process at once, because `what` has not ended in time.

    `log` is where the faults of this process are logged; `remove_files` removes what others find
    the gateway by.
    """
    faulthandler.dump_traceback_later(_LAST_SECONDS, exit=True)
    try:
        _log.critical("%s did not end; all threads were doing:", what)
        with log.open("a") as file:
            faulthandler.dump_traceback(file, all_threads=True)
        remove_files()
        terminal.tell(f"tapui: the gateway did not end in time; see {safe_text(str(log))}")
    finally:
        os._exit(1)


def _no_files() -> None:
    """No gateway has been started."""


class EndWatch(terminal.WatchThread):
    """Gives up on an end that was asked for and takes longer than `END_SECONDS`.

    It sees the signals as they arrive: the event loop may be blocked. Used around the whole life
    of the loop, on the main thread.
    """

    def __init__(self, log: Path, what: str) -> None:
        super().__init__("watch the end")
        self._tells.setblocking(False)
        self._log = log
        self._what = what
        self._loop_fd = -1
        self.remove_files: Callable[[], None] = _no_files

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """See the signals that arrive during the block; the running loop gets them as before.

        No signal handler may be added during the block: asyncio would take the signals for
        itself again.
        """
        self._loop_fd = signal.set_wakeup_fd(self._tells.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(self._loop_fd)
            self._loop_fd = -1

    def begin(self) -> None:
        self._tells.send(_BEGUN)

    def _watch(self) -> None:
        deadline: float | None = None
        while True:
            try:
                self._ends.settimeout(deadline and max(0.001, deadline - time.monotonic()))
                came = self._ends.recv(4096)
            except TimeoutError:
                give_up(self._log, self._what, self.remove_files)
            if not came:
                return
            self._pass_on(came.replace(_BEGUN, b""))
            if deadline is None and (_BEGUN in came or set(came) & set(ENDING)):
                deadline = time.monotonic() + END_SECONDS

    def _pass_on(self, signals: bytes) -> None:
        loop_fd = self._loop_fd
        if signals and loop_fd >= 0:
            with contextlib.suppress(OSError):  # its pipe is full or closed: it wakes up, or ended
                os.write(loop_fd, signals)
