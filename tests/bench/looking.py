"""The look at the process behind a connection, beside few processes and beside very many."""

import os
import pty
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tapui.runtime.processes.sights import look

CROWD = 5_000
"""Processes beside the one that is looked at."""
_LOOKS = 50


@contextmanager
def crowd(size: int) -> Iterator[None]:
    """Have many processes that do nothing."""
    idle = [subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL) for _ in range(size)]
    try:
        yield
    finally:
        for one in idle:
            one.kill()
        for one in idle:
            one.wait()


@contextmanager
def terminal() -> Iterator[int]:
    """Run a program on a new terminal."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("sleep", ["sleep", "600"])
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


def took(pid: int) -> float:
    """Return the milliseconds of a look, the median of fifty."""
    times = []
    for _ in range(_LOOKS):
        begun = time.perf_counter()
        look(pid)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)
