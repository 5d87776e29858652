"""The terminal under the tower, which may vanish at any time."""

import contextlib
import errno
import io
import os
import signal
import sys
import termios
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


def is_gone() -> bool:
    """Return whether the terminal has vanished from under this process, or was let go."""
    return not os.isatty(0) or any(map(_has_vanished, (0, 1, 2)))


def _has_vanished(fd: int) -> bool:
    try:
        termios.tcgetattr(fd)
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)  # what is no terminal says something else
    return False


def let_go() -> None:
    """Give the terminal up: standard input, output and error lead nowhere from now on."""
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


class _Screen(io.FileIO):
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
        io.BufferedWriter(_Screen(2, "wb", closefd=False)),
        encoding="utf-8",
        errors="backslashreplace",
    )
    sys.__stderr__ = screen  # type: ignore[misc]
    try:
        yield
    finally:
        screen.flush()
        sys.__stderr__ = before  # type: ignore[misc]
