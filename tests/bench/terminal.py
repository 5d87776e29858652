"""Programs on a pty whose output is read as fast as it comes: first frames and memory."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self

import psutil

from tests.rig.gateway import Home, tapui_argv

_ESCAPES = re.compile(rb"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[\[?][0-9;?<=>]*[ -/]*[@-~]|.)")
BARE = ((sys.executable, "-m", "tests.bench.bare_app"), b"bare app on screen")
TOWER_MARK = b"Sessions"


@dataclass(frozen=True)
class Start:
    """How long a program took until its first frame, in milliseconds, and its CPU time."""

    wall: float
    cpu: float


class OnPty:
    """A program on a pty, drained by a thread; used as a context manager."""

    def __init__(
        self, argv: Sequence[str], home: Home, mark: bytes, size: tuple[int, int] = (120, 36)
    ) -> None:
        home.root.mkdir(parents=True, exist_ok=True)
        self._master, slave = pty.openpty()
        columns, lines = size
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        began = time.perf_counter()
        self.process = subprocess.Popen(
            argv,
            env=home.env(COLORTERM="truecolor"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._wait_painted(mark)
        wall = (time.perf_counter() - began) * 1e3
        whole = psutil.Process(self.process.pid)
        cpu = [one.cpu_times() for one in (whole, *whole.children())]
        self.start = Start(wall, sum(one.user + one.system for one in cpu) * 1e3)
        self._draining = threading.Thread(target=self._drain, daemon=True)
        self._draining.start()

    def _wait_painted(self, mark: bytes) -> None:
        shown = b""
        deadline = time.monotonic() + 20
        while mark not in _ESCAPES.sub(b"", shown):
            if not select.select([self._master], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise RuntimeError(f"nothing painted: {shown[-2000:]!r}")
            shown += os.read(self._master, 65536)

    def _drain(self) -> None:
        while True:
            try:
                if not os.read(self._master, 65536):
                    return
            except OSError:
                return

    @property
    def tower(self) -> psutil.Process:
        """The process that paints: the only child of the one that was started, where it has one."""
        started = psutil.Process(self.process.pid)
        return next(iter(started.children()), started)

    def press(self, keys: bytes) -> None:
        """Send keys to the program."""
        os.write(self._master, keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        self._draining.join(5)


def rss(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    return float(psutil.Process(pid).memory_info().rss) / 1e6


def cpu_of_tree(pid: int, seconds: float) -> dict[str, float]:
    """Return the CPU of a process and of those that it has now, by their parts of tapui, as shares
    of a core. What an emitter runs is no part of tapui."""
    whole = psutil.Process(pid)
    parts = {}
    for process in (whole, *whole.children(recursive=True)):
        names = [Path(word).name for word in process.cmdline()]
        if words := [name for name in names if name.startswith("tapui")]:
            parts[process] = words[0]
    began, before = time.perf_counter(), {process: _cpu(process) for process in parts}
    time.sleep(seconds)
    took = time.perf_counter() - began
    used: dict[str, float] = {}
    for process, name in parts.items():
        used[name] = used.get(name, 0.0) + (_cpu(process) - before[process]) / took
    return used


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def tower(home: Home, *args: str, size: tuple[int, int] = (120, 36)) -> Iterator[OnPty]:
    """Run `tapui` with `args` and a free port on a pty."""
    with OnPty(tapui_argv("--port", "0", *args), home, TOWER_MARK, size) as running:
        yield running


def first_frames(home: Home, rounds: int) -> tuple[Start, Start]:
    """Start the bare app and the tower by turns; return the medians (bare, tower)."""
    bare, towers = [], []
    for _ in range(rounds):
        with OnPty(BARE[0], home, BARE[1]) as running:
            bare.append(running.start)
        with tower(home, "--no-attach") as running:
            towers.append(running.start)
    return _median(bare), _median(towers)


def _median(starts: list[Start]) -> Start:
    return Start(median(one.wall for one in starts), median(one.cpu for one in starts))
