"""Tells an author where a coroutine holds up the loop, and with it all of the provider."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import FrameType

log = logging.getLogger("tapui.provider")

BEAT = 1.0
"""Seconds between two signs of life of the loop, and between two looks for them."""
PATIENCE = 3.0
"""Seconds without one after which it is held up. A gate's answer is late after five."""
_OURS = ("tapui.testing", "tapui.provider", "asyncio", "threading", "queue", "pytest_asyncio")
"""Modules whose lines tell an author nothing."""


def own_line(frame: FrameType | None) -> str | None:
    """Return the innermost line of the author's own code in a stack, or None."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not module.startswith(_OURS):
            summary = traceback.extract_stack(frame, limit=1)[0]
            return f"{summary.filename}:{summary.lineno} in {summary.name}: {summary.line}"
        frame = frame.f_back
    return None


class LoopWatch:
    """Looks at the loop from a thread of its own, until `close`. Made in the loop's thread."""

    def __init__(self, *, beat: float = BEAT, patience: float = PATIENCE) -> None:
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._beat = beat
        self._patience = patience
        self._is_over = threading.Event()
        self._sign()
        threading.Thread(target=self._watch, name="loop watch", daemon=True).start()

    def _sign(self) -> None:
        self._seen = time.monotonic()
        if not self._is_over.is_set():
            self._loop.call_later(self._beat, self._sign)

    def _watch(self) -> None:
        told, looked = 0.0, time.monotonic()
        while not self._is_over.wait(self._beat):
            seen, before, looked = self._seen, looked, time.monotonic()
            held = looked - seen
            has_slept = looked - before > self._beat + self._patience / 2
            if held < self._patience or told == seen or has_slept:  # the whole process was stopped
                continue
            told = seen
            frames = sys._current_frames()  # noqa: SLF001 - the one way to another thread's stack
            log.warning(
                "nothing has been answered for %.0f s: a coroutine does not let go, at %s; "
                "await there, or make it a plain function, which runs in a thread",
                held,
                own_line(frames.get(self._watched)) or "an unknown line",
            )

    def close(self) -> None:
        self._is_over.set()
