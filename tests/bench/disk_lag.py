"""How late the gateway's loop is while the disk is busy with its records.

    python -m tests.bench.disk_lag [--seconds 4] [--folder DIR …]

A turn with a real core and a real journal, without sockets. Twenty times a second a session with a
workspace of its own opens, a provider says hello (whose `persistDir` is made) and the oldest of 40
sessions closes; every 5 ms each of five sessions gets two lines, so that group syncs always have
work. Every 2 ms a timer asks how late it is. `blocked` is the part of a turn in which it waited,
for the disk or for a processor; run it in a folder in memory, too, to tell one from the other.
"""

import argparse
import asyncio
import shutil
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from tapui.files.private_file import private_folder
from tapui.runtime import tuning
from tests.runtime.house import House, Port

PROBE_SECONDS = 0.002
LINES_SECONDS = 0.005
SESSION_SECONDS = 0.05
OPEN_SESSIONS = 40
BUSY_SESSIONS = 5
WARM_SECONDS = 0.5
MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class DiskLag:
    """What one run showed, in milliseconds."""

    p50: float
    p99: float
    longest: float
    blocked_p99: float
    blocked_longest: float
    sessions: int
    records: int


class Traffic:
    """Sessions that come and go, and lines in some of them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.house = House(root / "state", lambda name: private_folder(root, "providers", name))
        self._host = self.house.connect("itk-1")
        self.house.say(self._host, type="host.hello", name="bench", kind="b", protocolVersion=2)
        self._open: deque[tuple[str, Port]] = deque()
        self.count = 0

    def come_and_go(self) -> None:
        """One session opens with its provider, the oldest closes."""
        self.count += 1
        name = f"s{self.count}"
        workspace = self._root / "workspaces" / name
        workspace.mkdir(parents=True)
        session = {"id": name, "label": name, "cwd": "/", "workspace": str(workspace)}
        self.house.say(self._host, type="session.open", session=session)
        provider = self.house.connect("ptk-1")
        self.house.say(
            provider, type="hello", name=f"p{self.count}", protocolVersion=2, session=name, tools=[]
        )
        self._open.append((name, provider))
        if len(self._open) > OPEN_SESSIONS:
            old, port = self._open.popleft()
            self.house.turn.closed(port)
            self.house.say(self._host, type="session.close", sessionId=old)

    def lines(self) -> None:
        """Two lines in each of the newest sessions."""
        for _, provider in list(self._open)[-BUSY_SESSIONS:]:
            for _ in range(2):
                self.house.say(provider, type="push", level="keep", event="line " + "x" * 80)

    def forget(self) -> None:
        """Drop what the ends were sent."""
        self._host.sent.clear()


async def _measure(root: Path, seconds: float) -> DiskLag:
    traffic = Traffic(root)
    loop = asyncio.get_running_loop()
    lags: list[float] = []
    blocked: list[float] = []
    journal, write = traffic.house.journal, traffic.house.journal.write
    is_counted = False
    written = 0

    def timed(entries):  # type: ignore[no-untyped-def]
        nonlocal written
        wall, cpu = time.perf_counter(), time.thread_time()
        lost = write(entries)
        if is_counted:
            written += len(entries)
            blocked.append((time.perf_counter() - wall) - (time.thread_time() - cpu))
        return lost

    journal.write = timed  # type: ignore[method-assign]
    began = loop.time()
    end = began + WARM_SECONDS + seconds
    next_lines, next_session = began, began
    while (now := loop.time()) < end:
        is_counted = now > began + WARM_SECONDS
        if now >= next_session:
            next_session += SESSION_SECONDS
            traffic.come_and_go()
        if now >= next_lines:
            next_lines += LINES_SECONDS
            traffic.lines()
        traffic.forget()
        due = loop.time() + PROBE_SECONDS
        await asyncio.sleep(PROBE_SECONDS)
        if is_counted:
            lags.append(loop.time() - due)
    traffic.house.turn.close()
    journal.close(10)
    lags.sort()
    blocked.sort()
    return DiskLag(
        p50=lags[len(lags) // 2] * 1e3,
        p99=lags[int(len(lags) * 0.99)] * 1e3,
        longest=lags[-1] * 1e3,
        blocked_p99=blocked[int(len(blocked) * 0.99)] * 1e3,
        blocked_longest=blocked[-1] * 1e3,
        sessions=traffic.count,
        records=written,
    )


def measure(seconds: float, folder: Path | None = None) -> DiskLag:
    """Measure with records in `folder` (None: the temp folder)."""
    root = Path(tempfile.mkdtemp(prefix="tapui-bench-", dir=folder))
    try:
        with tuning.settled():
            return asyncio.run(_measure(root, seconds))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    """Print one line a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--folder", type=Path, action="append", default=[])
    arguments = parser.parse_args()
    for folder in arguments.folder or [Path(tempfile.gettempdir()), MEMORY]:
        print(folder, measure(arguments.seconds, folder))


if __name__ == "__main__":
    main()
