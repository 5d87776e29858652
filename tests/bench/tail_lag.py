"""How late the event loop is while lines pour into a visible tail.

    python -m tests.bench.tail_lag [--seconds 4] [--size 120x36] [--rates 0,100,1000,10000]

The tower runs in a process of its own on a pty that is read as a terminal would, with a feed in
its own event loop, as the embedded gateway's is. Every 5 ms a timer asks how late it is; the first
second does not count. Printed: lag (p50, p99, max in ms), CPU of the process, what a frame costs
(ms of CPU), how many there are a second and the share of the time that they take, events posted
and seen, and how far the tail's last row is behind the stream's last line.
"""

import argparse
import asyncio
import fcntl
import os
import pty
import struct
import sys
import tempfile
import termios
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
from textual.events import Key

from tapui.tower.app import TowerApp
from tapui.tower.feed import FeedItem, Link
from tapui.tower.pace import Pace
from tapui.tower.panes.tail import Tail
from tapui.wire.events import Entry, SessionOpened, StreamPosted
from tapui.wire.message import Level, Line, Message
from tapui.wire.subjects import Session
from tapui.wire.tower import Snapshot, TowerSnapshot
from tests.rig.waiting import until_async

BATCH_SECONDS = 0.01
PROBE_SECONDS = 0.005
WARM_SECONDS = 1.0
TARGET_MS = 10.0
"""p99 at 10,000 events/s."""
LEVELS: tuple[Level, ...] = ("keep", "keep", "surface", "inject")
TS = "2026-11-18T08:26:40.000000Z"


class Measured(msgspec.Struct):
    """What one run showed. Lags are milliseconds."""

    rate: int
    p50: float
    p99: float
    longest: float
    cpu: float
    frame: float
    frames: float
    painting: float
    posted: int
    seen: int
    behind: int


class CountedPace(Pace):
    """Notes what each frame cost."""

    def __init__(self) -> None:
        super().__init__()
        self.costs: list[float] = []

    def end(self, cost: float) -> None:
        """A frame was painted."""
        self.costs.append(cost)
        super().end(cost)


class PouringFeed:
    """Posts lines to one stream at a steady rate, in batches as loop turns make them."""

    address = "ws://localhost:9400"
    is_embedded = True

    def __init__(self, rate: int) -> None:
        self.rate = rate
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
        yield [self._entry(SessionOpened(session_id="s1", session=session))]
        yield [self._entry(self._line())]
        began = time.perf_counter()
        while not self._is_over.is_set():
            await asyncio.sleep(BATCH_SECONDS)
            due = int((time.perf_counter() - began) * self.rate) + 1
            while self.posted < due:
                size = min(due - self.posted, 1000)
                yield [self._entry(self._line()) for _ in range(size)]
        await asyncio.Event().wait()

    def end(self) -> None:
        """Post nothing any more."""
        self._is_over.set()

    def send(self, message: Message) -> None:
        """Nobody answers."""

    async def stop(self, deadline: float) -> None:
        """Nothing to stop."""

    def _line(self) -> StreamPosted:
        self.posted += 1
        number = self.posted
        text = f"build {number}: step {number % 7} of 7, {'x' * (number % 60)} done"
        level = LEVELS[number % 4]
        line = Line(seq=number, ts=TS, level=level, event=text, metadata=msgspec.Raw(b'{"a":1}'))
        return StreamPosted(session_id="s1", stream="ci-watch@ci", line=line)

    def _entry(self, event: SessionOpened | StreamPosted) -> Entry:
        self._seq += 1
        return Entry(run="r1", seq=self._seq, ts=TS, event=event)


async def probe(lags: list[float]) -> None:
    """Note how late a timer is, over and over."""
    while True:
        due = time.perf_counter() + PROBE_SECONDS
        await asyncio.sleep(PROBE_SECONDS)
        lags.append((time.perf_counter() - due) * 1000)


async def watch(app: TowerApp, feed: PouringFeed, seconds: float, out: Path) -> None:
    """Measure the running app, write the result and leave."""
    lags: list[float] = []
    await until_async(lambda: app.view.state.streams, what="the first line is there")
    app.post_message(Key("3", "3"))
    await asyncio.sleep(WARM_SECONDS)
    pace = app._frames._pace = CountedPace()
    cpu, began = time.process_time(), time.perf_counter()
    probing = asyncio.create_task(probe(lags))
    await asyncio.sleep(seconds)
    probing.cancel()
    cpu, spent = time.process_time() - cpu, time.perf_counter() - began
    costs = list(pace.costs)
    feed.end()
    await asyncio.sleep(2.5)  # frames that are far apart have their time, too
    rows = app.query_one(Tail).rows
    lags.sort()
    found = Measured(
        rate=feed.rate,
        p50=lags[len(lags) // 2],
        p99=lags[int(len(lags) * 0.99)],
        longest=lags[-1],
        cpu=cpu / spent,
        frame=sum(costs) / len(costs) * 1000 if costs else 0.0,
        frames=len(costs) / spent,
        painting=sum(costs) / spent,
        posted=feed.posted,
        seen=app.view.events - 1,
        behind=feed.posted - (rows[-1].seq if rows else 0),
    )
    await asyncio.to_thread(out.write_bytes, msgspec.json.encode(found))
    app.exit()


def run_app(rate: int, seconds: float, out: Path) -> None:
    """Be the tower."""

    async def main() -> None:
        feed = PouringFeed(rate)
        app = TowerApp(feed)
        watching = asyncio.create_task(watch(app, feed, seconds, out))
        await app.run_async()
        await watching

    asyncio.run(main())


def measure(rate: int, seconds: float, size: tuple[int, int]) -> Measured:
    """Run the tower on a pty and return what it measured."""
    columns, lines = size
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.json"
        pid, fd = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
            run_app(rate, seconds, out)
            os._exit(0)
        shown = bytearray()
        reading = threading.Thread(target=_drain, args=(fd, shown))
        reading.start()
        os.waitpid(pid, 0)
        os.close(fd)
        reading.join()
        if not out.exists():
            sys.exit(f"the tower ended without a result:\n{shown[-3000:].decode(errors='replace')}")
        return msgspec.json.decode(out.read_bytes(), type=Measured)


def _drain(fd: int, shown: bytearray) -> None:
    """Read what the tower paints, as fast as it comes."""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            return
        if not data:
            return
        shown += data
        del shown[:-16384]


def main() -> int:
    """Print the table; 1 if the target was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--size", default="120x36")
    parser.add_argument("--rates", default="0,100,1000,10000")
    options = parser.parse_args()
    columns, _, lines = options.size.partition("x")
    missed = False
    print(f"loop lag of a visible tail, {options.size}, {options.seconds:g} s a rate")
    titles = ("p50 ms", "p99 ms", "max ms")
    lags = " ".join(f"{one:>7}" for one in titles)
    print(f"{'events/s':>9} {lags}   CPU  frame ms    /s  painting  seen / posted  behind")
    for rate in map(int, options.rates.split(",")):
        found = measure(rate, options.seconds, (int(columns), int(lines)))
        print(
            f"{rate:>9,} {found.p50:>7.2f} {found.p99:>7.2f} {found.longest:>7.2f} "
            f"{found.cpu:>5.0%} {found.frame:>9.1f} {found.frames:>5.1f} {found.painting:>9.0%}  "
            f"{found.seen:,} / {found.posted:,}  {found.behind}",
            flush=True,
        )
        missed |= found.p99 > TARGET_MS or found.seen != found.posted or found.behind != 0
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
