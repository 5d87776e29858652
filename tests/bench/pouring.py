"""A tower on a pty, a process of its own, with a feed in its own loop that pours lines into it."""

import asyncio
import fcntl
import os
import pty
import struct
import sys
import termios
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self

import msgspec

from tapui.projection.feed import FeedItem, Link
from tapui.runtime import tuning
from tapui.wire.events import Entry, Event, SessionOpened, StreamPosted
from tapui.wire.message import Level, Line, Message
from tapui.wire.subjects import Session
from tapui.wire.tower import Snapshot, TowerSnapshot

BATCH_SECONDS = 0.01
LEVELS: tuple[Level, ...] = ("keep", "keep", "surface", "inject")
TS = "2026-11-18T08:26:40.000000Z"
_KEPT_BYTES = 65536


class PouringFeed:
    """Posts lines at a steady rate, in batches as loop turns make them: one to each of so many
    streams by turns."""

    address = "ws://localhost:9400"
    is_embedded = True

    def __init__(self, rate: int, streams: int = 1) -> None:
        self.rate = rate
        self.streams = streams
        self.posted = 0
        self._seq = 0
        self._is_over = asyncio.Event()

    async def items(self) -> AsyncIterator[FeedItem]:
        """A session, then lines until the feed is ended."""
        empty = Snapshot(sessions=[], providers=[], calls=[], streams=[], approvals=[])
        yield Link("up")
        yield TowerSnapshot(seq=0, run="r1", state=empty, towers=1)
        session = Session(
            id="s1",
            label="bench",
            cwd="/",
            state="idle",
            host="copilot",
            providers=[],
            opened_at=TS,
        )
        yield [self.entry(SessionOpened(session_id="s1", session=session))]
        yield [self.entry(self.line()) for _ in range(self.streams)]
        began = time.perf_counter()
        while not self._is_over.is_set():
            await asyncio.sleep(BATCH_SECONDS)
            due = int((time.perf_counter() - began) * self.rate) + self.streams
            while self.posted < due:
                size = min(due - self.posted, 1000)
                yield [self.entry(self.line()) for _ in range(size)]
        await asyncio.Event().wait()

    def end(self) -> None:
        """Post nothing any more."""
        self._is_over.set()

    def send(self, message: Message) -> None:
        """Nobody answers."""

    async def stop(self, deadline: float) -> None:
        """Nothing to stop."""

    def line(self) -> StreamPosted:
        """Return the next line."""
        turn, stream = divmod(self.posted, self.streams)
        self.posted += 1
        number = self.posted
        text = f"build {number}: step {number % 7} of 7, {'x' * (number % 60)} done"
        level = LEVELS[number % 4]
        line = Line(seq=turn + 1, ts=TS, level=level, event=text, metadata=msgspec.Raw(b'{"a":1}'))
        return StreamPosted(session_id="s1", stream=f"ci-watch-{stream}@ci", line=line)

    def entry(self, event: Event) -> Entry:
        """Return an event as the next one."""
        self._seq += 1
        return Entry(run="r1", seq=self._seq, ts=TS, event=event)


class Forked:
    """A copy of this process that runs `work` on a pty; what it paints is read as fast as it comes.
    Used as a context manager: it ends with the block."""

    def __init__(self, work: Callable[[], None], size: tuple[int, int]) -> None:
        columns, lines = size
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
            try:
                with tuning.settled():  # as a tower is run
                    work()
            finally:
                if sys.exception() is not None:
                    traceback.print_exc()
                os._exit(0)
        self._painted = bytearray()
        self._came = threading.Condition()
        self._is_over = False
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self._fd)
        self._reading.join()

    @property
    def shown(self) -> str:
        """What it painted last."""
        return self._painted.decode(errors="replace")

    def press(self, keys: bytes) -> None:
        """Send keys."""
        os.write(self._fd, keys)

    def until_painted(self, text: bytes, within: float = 20.0) -> None:
        """Wait until it has painted a text since the last call."""
        with self._came:
            if not self._came.wait_for(lambda: text in self._painted or self._is_over, within):
                raise TimeoutError(f"{text!r} was not painted in {within:g} s")
            if self._is_over:
                raise RuntimeError(f"the tower ended:\n{self.shown[-3000:]}")
            del self._painted[: self._painted.index(text)]

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                data = b""
            with self._came:
                self._painted += data
                del self._painted[:-_KEPT_BYTES]
                self._is_over = not data
                self._came.notify_all()
            if not data:
                return
