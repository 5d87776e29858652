"""The terminal under the tower, which may vanish at any time, and the app on it.

`Screen` runs the app from its first frame to its last; `TerminalWatch` sees a terminal vanish where
no signal comes.
"""

import asyncio
import contextlib
import errno
import io
import os
import select
import signal
import socket
import sys
import termios
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tapui import invocation
from tapui.text import safe_text

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tapui.tower.app.app import TowerApp

_GONE = select.POLLHUP | select.POLLERR
_WANTED = (None, "quit", "go-on", "start-here", "demo")
"""What the app returns when the person left it."""


def is_gone() -> bool:
    """Return whether the terminal has vanished from under this process, or was let go."""
    return not os.isatty(0) or any(map(_has_vanished, (0, 1, 2)))


def _has_vanished(fd: int) -> bool:
    try:
        termios.tcgetattr(fd)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)  # what is no terminal says something else
    return False


def redirect_to_null() -> None:
    """Give up the terminal: standard input, output and error lead nowhere from now on."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        for fd in (0, 1, 2):
            os.dup2(nowhere, fd)
    finally:
        os.close(nowhere)
    # Textual stops and continues its screen on these, and there is none any more.
    for number in (signal.SIGCONT, signal.SIGTTOU, signal.SIGTTIN):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # the gateway may go on


def tell(text: str) -> None:
    """Write a line for the person; a terminal that has gone is no reason to fail."""
    with contextlib.suppress(OSError):  # see above
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class _Descriptor(io.FileIO):
    """Writes to a descriptor; what a vanished terminal does not take is dropped."""

    def write(self, data: "Buffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


@contextlib.contextmanager
def writes_that_cannot_fail() -> Iterator[None]:
    """Let Textual write to a terminal that may vanish, until the end of the block.

    Its writing thread takes `sys.__stderr__` and would die with the terminal; the app would then
    wait for it for ever, at its next frame or at its end.
    """
    before = sys.__stderr__
    screen = io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(2, "wb", closefd=False)),
        encoding="utf-8",
        errors="backslashreplace",
    )
    sys.__stderr__ = screen  # type: ignore[misc]
    try:
        yield
    finally:
        screen.flush()
        sys.__stderr__ = before  # type: ignore[misc]


class WatchThread(ABC):
    """Runs `_watch` on a daemon thread, from `with` to its end.

    `_ends` becomes readable at the end (a read gives no bytes): `_watch` waits on it beside what
    it watches, and returns. `_tells` is its other side; what is sent there before is read, too.
    """

    def __init__(self, name: str) -> None:
        self._ends, self._tells = socket.socketpair()
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)

    @abstractmethod
    def _watch(self) -> None: ...

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tells.close()
        self._thread.join()
        self._ends.close()


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


class Screen:
    """Runs the app; signals end it in order and leave the terminal as it was."""

    def __init__(self, app: "TowerApp") -> None:
        self._app = app
        self._reasons: list[signal.Signals] = []
        self.is_shown = True
        """Whether the app has not ended."""
        self.is_lost = False
        """Whether the terminal has vanished (or SIGHUP came), and no other signal asked to end."""
        self.is_left_on = False
        """Whether the person closed only the screen: the gateway is to keep running."""

    def leave(self, number: signal.Signals) -> None:
        """A signal came: end the app."""
        if number is signal.SIGHUP and is_gone():
            redirect_to_null()
        self._reasons.append(number)
        self._app.leave(number.name)

    def _vanished(self) -> None:
        """The terminal is gone without a signal: as if SIGHUP had come."""
        self._loop.call_soon_threadsafe(self.leave, signal.SIGHUP)

    async def show(self) -> int:
        """Run the app to its end; return the exit code."""
        self._loop = asyncio.get_running_loop()
        said: str | None = None
        try:
            with TerminalWatch(self._vanished), writes_that_cannot_fail():
                said = await self._app.run_async()
        except OSError:
            if not is_gone():
                raise
        finally:
            self.is_shown = False
            signal.signal(signal.SIGCONT, signal.SIG_DFL)  # nothing is left to be entered again
        gone = is_gone()
        if gone:
            redirect_to_null()
        reasons = self._reasons
        self.is_lost = (gone or bool(reasons)) and set(reasons) <= {signal.SIGHUP}
        if gone or reasons:
            return 130 if reasons[:1] == [signal.SIGINT] else 0
        if self._app.return_code:
            return 1  # it has shown why, and where the log is
        self.is_left_on = said == "go-on"
        if said not in _WANTED:
            tell(f"tapui: {safe_text(str(said))}")
        return 0

    def detach(self) -> None:
        """Leave the gateway running without this terminal: say so if that is still there."""
        shows = invocation.command()
        tell(f"tapui: the gateway goes on without a screen; `{shows}` shows it again")
        redirect_to_null()
