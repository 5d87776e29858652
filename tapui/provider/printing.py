"""Standard output and error that neither block nor raise, whoever reads them or does not."""

import io
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

MAX_WAITING = 4 * 1024 * 1024
"""Characters that wait for a reader; further ones are dropped, and counted."""
PATIENCE = 1.0
"""Seconds that a thread of a tool waits for room, and that the end waits for what is left."""
_BLOCK = 64 * 1024


class PatientStream(io.TextIOBase):
    """Takes text at once; a thread of its own writes it to `under`."""

    def __init__(self, under: TextIO) -> None:
        self._under = under
        self._waiting: deque[str] = deque()
        self._size = 0
        self._dropped = 0
        self._changed = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="printing", daemon=True)
        self._thread.start()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # it is the other's
        """The encoding of what is below."""
        return self._under.encoding

    def fileno(self) -> int:
        """The descriptor of what is below."""
        return self._under.fileno()

    def isatty(self) -> bool:
        """Whether what is below is a terminal."""
        return self._under.isatty()

    def writable(self) -> bool:
        """Text may be written."""
        return True

    def write(self, text: str) -> int:
        """Take text; wait a moment for room, unless this is the loop's thread."""
        is_in_loop = threading.current_thread() is threading.main_thread()
        with self._changed:
            for start in range(0, len(text), _BLOCK):
                part = text[start : start + _BLOCK]
                while self._size + len(part) > MAX_WAITING and not self._is_over:
                    if is_in_loop or not self._changed.wait(PATIENCE):
                        self._dropped += len(text) - start
                        return len(text)
                self._waiting.append(part)
                self._size += len(part)
            self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Nothing waits here for a flush."""

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._dropped:
                    if self._is_over:
                        return
                    self._changed.wait()
                text = "".join(self._waiting)
                if self._dropped:
                    text += f"\n[{self._dropped} characters were not printed: nobody read them]\n"
                self._waiting.clear()
                self._size = self._dropped = 0
                self._changed.notify_all()
            data = memoryview(text.encode(self._under.encoding, "replace"))
            try:
                # Not by way of `under`: a thread that is stuck in it would hang the program's end.
                while data:
                    data = data[os.write(self._under.fileno(), data) :]
            except (OSError, ValueError):
                continue  # it was closed: what is printed now goes nowhere

    def end(self) -> None:
        """Write what is left, as far as somebody reads it soon."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._thread.join(PATIENCE)


@contextmanager
def patient_printing() -> Iterator[None]:
    """Print through `PatientStream`s meanwhile."""
    before = sys.stdout, sys.stderr
    streams = [PatientStream(one) for one in before if one is not None]
    if len(streams) == len(before):
        sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in streams:
            stream.end()
