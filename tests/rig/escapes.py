"""How a program leaves the one that started it: `python escapes.py WAY COMMAND…` runs a command so.

Each way is a function of that name; it knows nothing of tapui.
"""

import fcntl
import os
import pty
import signal
import sys
import termios
import time
from collections.abc import Callable

Command = list[str]


def _run(command: Command) -> None:
    os.execvp(command[0], command)


def _orphaned() -> None:
    """Go on in a grandchild whose parent has ended."""
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        time.sleep(0.002)


def _hold(command: Command) -> None:
    """Run a command on a terminal of its own, and hold that."""
    pid, master = pty.fork()
    if not pid:
        _run(command)
    try:
        while os.read(master, 4096):
            pass
    except OSError:  # the last program on the terminal has ended
        pass
    os.waitpid(pid, 0)


def terminal(command: Command) -> None:
    """Below a terminal of its own."""
    _hold(command)


def orphan(command: Command) -> None:
    """As an orphan in the session and group of the one that started it."""
    _orphaned()
    _run(command)


def group(command: Command) -> None:
    """As an orphan in a group of its own, in the background of the terminal."""
    _orphaned()
    os.setpgid(0, 0)
    _run(command)


def foreground(command: Command) -> None:
    """As an orphan that takes the foreground of the terminal, and gives it back."""
    _orphaned()
    device = os.open("/dev/tty", os.O_RDWR)
    former = os.tcgetpgrp(device)
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(device, os.getpgrp())
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        _run(command)
    os.waitpid(child, 0)
    os.tcsetpgrp(device, former)


def front(command: Command) -> None:
    """In a group of its own that takes the foreground of the terminal."""
    device = os.open("/dev/tty", os.O_RDWR)
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(device, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    _run(command)


def daemon(command: Command) -> None:
    """As an orphan in a session of its own, without a terminal."""
    _orphaned()
    os.setsid()
    _run(command)


def daemon_terminal(command: Command) -> None:
    """As an orphan below a terminal of its own."""
    _orphaned()
    os.setsid()
    _hold(command)


def deep(command: Command) -> None:
    """Below 70 processes."""
    for _ in range(70):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            os._exit(0)
    _run(command)


def shown(command: Command) -> None:
    """Below a terminal of its own, which is shown on the one that there is."""
    pty.spawn(command)


def typed(command: Command) -> None:
    """As keys of a terminal (the first word): its line, as if the person had typed it."""
    device = os.open(command[0], os.O_RDWR | os.O_NOCTTY)
    for letter in (" ".join(command[1:]) + "\n").encode():
        fcntl.ioctl(device, termios.TIOCSTI, bytes([letter]))


WAYS: dict[str, Callable[[Command], None]] = {
    one.__name__: one
    for one in (
        terminal,
        orphan,
        group,
        foreground,
        front,
        daemon,
        daemon_terminal,
        deep,
        shown,
        typed,
    )
}

if __name__ == "__main__":
    WAYS[sys.argv[1]](sys.argv[2:])
