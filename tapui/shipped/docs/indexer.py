"""Starts the process that indexes packages, and another one when a package has ended it."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tapui.shipped.docs.packages import Package

_PATIENCE = 50.0
"""Seconds that a question waits for the index of a package."""
_LOOK = 0.02
_AWAITED, _AHEAD = "0", "10"
"""How nice the process is: a question waits for what it asked about, and for nothing else."""
_MOST_DEATHS = 20
"""Packages that may end the process before the rest is left for later."""


class Indexer:
    """Of one state folder. A package that ends the process is not tried again."""

    def __init__(self, state: Path, program: Sequence[str] = ()) -> None:
        """`program` is what is started, in place of the module's own `__main__`."""
        own = (sys.executable, "-P", "-m", "tapui.shipped.docs")
        self._argv = (*(program or own), str(state))
        self._hopeless: set[Package] = set()

    def make(self, package: Package, wait: Callable[[float], bool]) -> str | None:
        """Make the index of one package; return why there is none. Blocks, in a thread.

        `wait` waits so many seconds, and returns whether the call was given up.
        """
        if package in self._hopeless:
            return "its files end the process that reads them"
        process = subprocess.Popen(
            (*self._argv, _AWAITED),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended: its exit code tells
                process.stdin.write(_line(package))
                process.stdin.close()
            end = time.monotonic() + _PATIENCE
            while process.poll() is None:
                if wait(_LOOK):
                    return "the call was given up"
                if time.monotonic() > end:
                    return "it takes too long"
            if process.returncode:
                self._hopeless.add(package)
                return "its files end the process that reads them"
            told = process.stdout.read().decode().strip()
            return told.removeprefix("- ") if told.startswith("-") else None
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def run(self, packages: Sequence[Package]) -> "IndexRun":
        return IndexRun((*self._argv, _AHEAD), packages, self._hopeless)


class IndexRun:
    """Makes the indexes of many packages, one by one; `work()` blocks, and `end()` ends it."""

    def __init__(
        self, argv: Sequence[str], packages: Sequence[Package], hopeless: set[Package]
    ) -> None:
        self._argv = argv
        self._left = [one for one in packages if one not in hopeless]
        self._hopeless = hopeless
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def work(self) -> None:
        for _ in range(_MOST_DEATHS):
            if not self._left or not self._start():
                return
            done = self._feed()
            if self._is_over or done == len(self._left):
                return
            self._hopeless.add(self._left[done])
            self._left = self._left[done + 1 :]

    def end(self) -> None:
        """End the process, in any thread; `work()` returns then."""
        with self._lock:
            self._is_over = True
            if self._process is not None:
                self._process.kill()

    def _start(self) -> bool:
        with self._lock:
            if not self._is_over:
                self._process = subprocess.Popen(
                    self._argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
        return not self._is_over

    def _feed(self) -> int:
        """Return how many are done: all, or those before the one that ended the process."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        done = 0
        try:
            for package in self._left:
                process.stdin.write(_line(package))
                process.stdin.flush()
                if not process.stdout.readline():
                    break
                done += 1
        except BrokenPipeError:
            pass  # it has ended: what is done is counted
        finally:
            with contextlib.suppress(BrokenPipeError):  # likewise
                process.stdin.close()
            process.kill()
            process.wait()
            process.stdout.close()
        return done


def _line(package: Package) -> bytes:
    return msgspec.json.encode(package) + b"\n"
