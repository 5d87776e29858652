"""A soak: the members on a real `tapui serve`, samples of what it uses, and a verdict."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.rig.faults import errors_in
from tests.rig.gateway import Gateway, Home
from tests.soak.members import Meeting, members
from tests.soak.samples import Sample, Trend, descriptors, sample, trends
from tests.soak.wire import GONE, connected

SETTLING = 25.0
"""Seconds in which everything of those who have left is over: cleaning up after a session takes 10,
a call 5 and a cancelled one 5 more."""
SPARE_DESCRIPTORS = 4
"""Descriptors other than records that may be open more than at the beginning."""


@dataclass
class Soaked:
    """What a soak showed. `faults` are what should not be, besides a trend that is not flat."""

    samples: list[Sample] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    trends: list[Trend] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def is_flat(self) -> bool:
        """Whether nothing rose and nothing failed."""
        return not self.faults and all(trend.is_flat for trend in self.trends)


@contextmanager
def _home() -> Iterator[Home]:
    root = Path(tempfile.mkdtemp(prefix="tapui-soak-"))
    try:
        yield Home(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def soak(
    seconds: float,
    connections: int,
    every: float,
    rate: float,
    show: Callable[[str], None] = lambda _line: None,
) -> Soaked:
    """Run a soak; `rate` is calls a second in all, `show` takes a line for each sample."""
    with _home() as home, Gateway(home, "--no-attach") as gateway:
        done = asyncio.run(_soak(gateway, seconds, connections, every, rate, show))
        code = gateway.stop()
        if code != 0:
            done.faults.append(f"tapui serve ended with {code}")
        logs = [gateway.stderr, *(one.read_text() for one in home.tapui.rglob("*.log*"))]
        done.faults += [str(fault) for text in logs for fault in errors_in(text, "log")]
    return done


async def _soak(
    gateway: Gateway,
    seconds: float,
    connections: int,
    every: float,
    rate: float,
    show: Callable[[str], None],
) -> Soaked:
    done = Soaked()
    meeting = Meeting(gateway.url, gateway.token, gateway.internal_token)
    who = members(meeting, connections, rate)
    before = sample(gateway.pid, 0.0, 0, [])
    before_all = descriptors(gateway.pid)
    show(str(before))
    begun = time.monotonic()
    async with asyncio.TaskGroup() as group:
        lives = [group.create_task(member.run()) for member in who]
        while (passed := time.monotonic() - begun) < seconds:
            await asyncio.sleep(min(every, seconds - passed))
            now = time.monotonic() - begun
            done.samples.append(sample(gateway.pid, now, meeting.connected, meeting.sample()))
            show(str(done.samples[-1]))
        for life in lives:
            life.cancel()
    over = time.monotonic() + SETTLING
    while left := [*await _left(gateway), *_open(gateway, before_all)]:
        if time.monotonic() > over:
            break
        await asyncio.sleep(1)
    after = sample(gateway.pid, time.monotonic() - begun, 0, [])
    show(str(after))
    done.counts = dict(sorted(meeting.counts.items()))
    done.trends = trends(done.samples)
    done.faults = [*meeting.faults, *left]
    return done


def _open(gateway: Gateway, before: list[str]) -> list[str]:
    """Return what is open that was not at the beginning and is not the journal's by right.

    That is the records of `local`, which is open, and of what belongs to no session.
    """
    state = gateway.home.tapui
    local = str(state / "sessions" / "local")
    now = descriptors(gateway.pid)
    records = [one for one in now if one.startswith(str(state / "sessions"))]
    faults = [f"{one} is open when all have left" for one in records if not one.startswith(local)]
    first, last = (sum(not one.startswith(str(state)) for one in found) for found in (before, now))
    if last > first + SPARE_DESCRIPTORS:
        faults.append(f"{last} descriptors are open when all have left, {first} at the beginning")
    return faults


async def _left(gateway: Gateway) -> list[str]:
    """Return what is there although everybody has left."""
    try:
        async with connected(gateway.url, gateway.internal_token) as wire:
            await wire.say(type="tower.hello", protocolVersion=2)
            state = (await wire.hear_one("tower.snapshot"))["state"]
    except GONE as error:
        return [f"the gateway takes no tower at the end: {error!r}"]
    over = ("ended", "disconnected", "done", "failed", "cancelled")
    return [
        f"{what} {one['id']} is left behind: {one['state']}"
        for what in ("sessions", "providers", "calls")
        for one in state[what]
        if one["state"] not in over and one["id"] != "local"
    ]
