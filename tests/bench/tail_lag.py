"""How late the event loop is while lines pour into a visible tail.

    python -m tests.bench.tail_lag [--seconds 4] [--size 120x36] [--rates 0,100,1000,10000]
                                   [--streams 1]

The tower runs in a process of its own on a pty that is read as a terminal would, with a feed in
its own event loop, as the embedded gateway's is. Every 5 ms a timer asks how late it is; the first
second does not count. Printed: lag (p50, p99, max in ms), CPU of the process, what a frame costs
(ms of CPU), how many there are a second and the share of the time that they take, events posted
and seen, and how far the tail's last row is behind the last line.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from textual.events import Key

from tapui.tower.app.app import TowerApp
from tapui.tower.app.frames import Pace
from tapui.tower.streams.sources import TailRow
from tapui.tower.streams.streams_pane import StreamsPane
from tapui.tower.streams.tail import Tail
from tests.bench.pouring import Forked, PouringFeed
from tests.rig.waiting import until_async

PROBE_SECONDS = 0.005
WARM_SECONDS = 1.0
TARGET_MS = 10.0
"""p99 at 10,000 events/s."""


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


async def probe(lags: list[float]) -> None:
    """Note how late a timer is, over and over."""
    while True:
        due = time.perf_counter() + PROBE_SECONDS
        await asyncio.sleep(PROBE_SECONDS)
        lags.append((time.perf_counter() - due) * 1000)


async def watch(app: TowerApp, feed: PouringFeed, seconds: float, out: Path) -> None:
    """Measure the running app, write the result and leave."""
    lags: list[float] = []
    await until_async(
        lambda: len(app.view.state.streams) == feed.streams, what="the first lines are there"
    )
    app.post_message(Key("3", "3"))
    if feed.streams > 1:
        await until_async(lambda: list(app.query(Tail)), what="the tail is there")
        app.call_later(_mark_all, app)
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
        behind=feed.posted - (_last(rows) if rows else 0),
    )
    await asyncio.to_thread(out.write_bytes, msgspec.json.encode(found))
    app.exit()


def _mark_all(app: TowerApp) -> None:
    """Show all streams together."""
    pane = app.query_one(StreamsPane)
    for key in list(app.view.state.streams):
        pane.selected = key
        pane.action_mark()


def _last(rows: list[TailRow]) -> int:
    """Return the number of the newest line among these rows, over all streams."""
    return max(int(row.line.event.split()[1].rstrip(":")) for row in rows)


def run_app(rate: int, streams: int, seconds: float, out: Path) -> None:
    """Be the tower."""

    async def main() -> None:
        feed = PouringFeed(rate, streams)
        app = TowerApp(feed)
        watching = asyncio.create_task(watch(app, feed, seconds, out))
        await app.run_async()
        await watching

    asyncio.run(main())


def measure(rate: int, seconds: float, size: tuple[int, int], streams: int = 1) -> Measured:
    """Run the tower on a pty and return what it measured; of several streams in one tail."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.json"
        with Forked(lambda: run_app(rate, streams, seconds, out), size) as running:
            pass
        if not out.exists():
            sys.exit(f"the tower ended without a result:\n{running.shown[-3000:]}")
        return msgspec.json.decode(out.read_bytes(), type=Measured)


def main() -> int:
    """Print the table; 1 if the target was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--size", default="120x36")
    parser.add_argument("--rates", default="0,100,1000,10000")
    parser.add_argument("--streams", type=int, default=1, help="shown together in one tail")
    options = parser.parse_args()
    columns, _, lines = options.size.partition("x")
    missed = False
    print(f"loop lag of a visible tail, {options.size}, {options.seconds:g} s a rate")
    titles = ("p50 ms", "p99 ms", "max ms")
    lags = " ".join(f"{one:>7}" for one in titles)
    print(f"{'events/s':>9} {lags}   CPU  frame ms    /s  painting  seen / posted  behind")
    for rate in map(int, options.rates.split(",")):
        found = measure(rate, options.seconds, (int(columns), int(lines)), options.streams)
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
