"""What a server prints and logs, on its way to streams of the sessions: bounded lines, a bounded
rate.

`stderr@NAME` has what it writes to standard error; `log@NAME` what it writes to standard output
that is no message, and what it logs by the protocol.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from tapui.emitters.runner.line_reader import LineReader

Stream = Literal["stderr", "log"]
Sink = Callable[[Stream, str], None]

MAX_LINE = 2_000
"""Characters of a line; it is cut there."""
LINES_PER_SECOND = 5
BURST = 4
"""Lines of both streams together: `BURST` at once, and so many a second. A provider may push ten in
a second."""
MAX_WAITING = 50
"""Lines that wait for their turn; the oldest go first, and are counted."""
LAST_WORDS = 5


class ServerOutput:
    """Takes lines from anywhere in the process, and gives them to `sink` at a bounded rate."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._waiting: deque[tuple[Stream, str]] = deque()
        self._dropped = 0
        self._allowed = float(BURST)
        self._counted_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self.last_words: deque[str] = deque(maxlen=LAST_WORDS)
        """The newest lines of standard error: why a server ended is among them."""
        self.spoke_at = 0.0
        """When the newest of them came, as `time.monotonic()` has it."""

    def put(self, stream: Stream, text: str) -> None:
        line = text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}…"
        if stream == "stderr":
            self.last_words.append(line)
            self.spoke_at = time.monotonic()
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self._dropped += 1
        self._waiting.append((stream, line))
        if self._timer is None:
            self._flow()

    def _flow(self) -> None:
        self._timer = None
        now = time.monotonic()
        self._allowed = min(BURST, self._allowed + (now - self._counted_at) * LINES_PER_SECOND)
        self._counted_at = now
        while self._waiting and self._allowed >= 1:
            self._allowed -= 1
            if self._dropped:
                stream, dropped = self._waiting[0][0], self._dropped
                self._dropped = 0
                self._sink(stream, f"({dropped} lines were left out: too many at once)")
                continue
            self._sink(*self._waiting.popleft())
        if self._waiting:
            wait = (1 - self._allowed) / LINES_PER_SECOND
            self._timer = asyncio.get_running_loop().call_later(wait, self._flow)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def printed(data: bytes) -> str:
    """Return what of one line shows: no control characters, no terminal codes."""
    reader = LineReader()
    reader.feed(data + b"\n", 0.0)
    return " ".join(reader.take())


async def read_lines(reader: asyncio.StreamReader, stream: Stream, output: ServerOutput) -> None:
    lines = LineReader()
    while data := await reader.read(64 * 1024):
        lines.feed(data, time.monotonic())
        while taken := lines.take():
            for line in taken:
                output.put(stream, line)
    for line in lines.rest():
        output.put(stream, line)
