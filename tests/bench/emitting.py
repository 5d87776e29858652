"""The runner of emitters' commands: filters, floods, many that are idle, memory.

The benchmark's own process is the gateway's: it takes the events, and does nothing with them.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psutil

from tapui.core.runs.reports import (
    RunCounted,
    RunEnded,
    RunLines,
    RunReport,
    RunStarted,
)
from tapui.emitters.runner.line_sender import LineFilter, SearchAlarm
from tapui.emitters.runner.messages import (
    RunStart,
)
from tapui.emitters.runner.runner import Runner
from tapui.wire.provider import FilterRule
from tests.bench.filtering import LINE, RULES
from tests.bench.roundtrip import cpu_seconds
from tests.rig.waiting import until_async

WANTED = 20_000
"""Lines a second."""
EMITTERS = 200
LINE_RULES = tuple(FilterRule(rule["match"], rule["outcome"]) for rule in RULES)  # type: ignore[arg-type]
KEEPING = (
    *LINE_RULES[:5],
    FilterRule(r"\bkept\b", "keep"),
    *LINE_RULES[6:9],
    FilterRule(".", "drop"),
)
"""Ten rules, the last of which drops what the others leave: 1 % of what `POURS` puts out is kept.
"""
POURS = """
import os, sys, time
line, rate = sys.argv[1] + "\\n", float(sys.argv[2])
block = (line * 99 + "kept: " + line).encode()
began, sent = time.monotonic(), 0
while True:
    os.write(1, block)
    sent += 100
    if rate:
        time.sleep(max(began + sent / rate - time.monotonic(), 0))
"""


@dataclass(frozen=True)
class Poured:
    """What went through one emitter; CPU is the part of a core of each process."""

    per_second: float
    kept: float
    helper: float
    gateway: float
    memory: list[float]
    """MB of the helper's, at the first third of the lines and at their end."""


@dataclass(frozen=True)
class Crowded:
    """What `EMITTERS` commands take: CPU as part of a core, `run` is milliseconds of the helper's
    CPU for a start and an end."""

    helper: float
    gateway: float
    run: float
    memory: float


class _Events:
    """Counts what a runner tells."""

    def __init__(self) -> None:
        self.counted: RunCounted | None = None
        self.counted_at = 0.0
        self.kept = 0
        """Lines that had come by then."""
        self.lines = self.started = self.ended = 0
        self.first: float | None = None

    def __call__(self, event: RunReport) -> None:
        if isinstance(event, RunLines):
            self.lines += len(event.lines)
        elif isinstance(event, RunCounted):
            self.counted, self.counted_at, self.kept = event, time.perf_counter(), self.lines
        elif isinstance(event, RunStarted):
            self.started += 1
            self.first = self.first or time.perf_counter()
        elif isinstance(event, RunEnded):
            self.ended += 1

    @property
    def seen(self) -> int:
        return self.counted.counts.lines if self.counted else 0


@asynccontextmanager
async def _runner() -> AsyncIterator[tuple[Runner, _Events]]:
    events = _Events()
    runner = Runner(events, lambda fault: print(fault, file=sys.stderr), environ=os.environ)
    yield runner, events
    await runner.close()


def _start(runner: Runner, run: str, command: str, rules: tuple[FilterRule, ...] = ()) -> None:
    environ = {"PATH": os.environ["PATH"], "LINE": LINE, "POURS": POURS}
    runner.start(RunStart(run, command, "/", environ, shell="sh", rules=rules))


async def _wait(look: Callable[[], object], what: str) -> None:
    await until_async(look, within=60, what=what)


def filters(seconds: float) -> tuple[float, float]:
    """Return µs of CPU a line, searched together and one by one, where no rule matches."""
    lines = LineFilter(LINE_RULES, SearchAlarm())
    texts = [LINE] * 10_000

    def together() -> None:
        at = 0
        while at < len(texts):
            at += len(lines.decide(texts, at))

    def apart() -> None:
        for text in texts[:2_000]:
            lines.decide_one(text)

    return _best(together, 10_000, seconds), _best(apart, 2_000, seconds)


def _best(work: Callable[[], None], lines: int, seconds: float) -> float:
    found = []
    until = time.perf_counter() + seconds / 2
    while time.perf_counter() < until:
        began = time.process_time()
        work()
        found.append((time.process_time() - began) / lines * 1e6)
    return min(found)


async def _poured(rate: float, seconds: float, rules: tuple[FilterRule, ...]) -> Poured:
    async with _runner() as (runner, events):
        command = f'exec {sys.executable} -c "$POURS" "$LINE" {rate}'
        _start(runner, "pour", command, rules)
        await _wait(lambda: events.seen, "lines")
        assert runner.pid is not None
        helper = psutil.Process(runner.pid)
        began = time.perf_counter()
        first, lines, kept = events.counted_at, events.seen, events.kept
        used, own = cpu_seconds(runner.pid), time.process_time()
        memory = []
        for part in (1, 2):
            await asyncio.sleep(seconds / 3 * part)
            memory.append(helper.memory_info().rss / 1e6)
        took = time.perf_counter() - began
        return Poured(
            (events.seen - lines) / (events.counted_at - first),
            (events.kept - kept) / max(events.seen - lines, 1),
            (cpu_seconds(runner.pid) - used) / took,
            (time.process_time() - own) / took,
            memory,
        )


def poured(rate: float, seconds: float, rules: tuple[FilterRule, ...]) -> Poured:
    """Pour lines through one emitter, as many as it takes for a rate of 0."""
    return asyncio.run(_poured(rate, seconds, rules))


async def _crowded(seconds: float) -> Crowded:
    async with _runner() as (runner, events):
        _start(runner, "first", "exec sleep 1000")
        await _wait(lambda: events.started == 1, "the first")
        assert runner.pid is not None
        used = cpu_seconds(runner.pid)
        for number in range(EMITTERS):
            _start(runner, f"short {number}", "exit 0")
        await _wait(lambda: events.ended == EMITTERS, "ends")
        run = (cpu_seconds(runner.pid) - used) / EMITTERS * 1e3
        for number in range(EMITTERS):
            _start(runner, f"long {number}", "exec sleep 1000")
        await _wait(lambda: events.started == 2 * EMITTERS + 1, "all run")
        used, own, began = cpu_seconds(runner.pid), time.process_time(), time.perf_counter()
        await asyncio.sleep(2 * seconds)
        took = time.perf_counter() - began
        return Crowded(
            (cpu_seconds(runner.pid) - used) / took,
            (time.process_time() - own) / took,
            run,
            psutil.Process(runner.pid).memory_info().rss / 1e6,
        )


def crowded(seconds: float) -> Crowded:
    """Start many commands that end at once, and as many that are silent."""
    return asyncio.run(_crowded(seconds))


async def _began() -> tuple[float, float]:
    async with _runner() as (runner, events):
        began = time.perf_counter()
        _start(runner, "first", "exec sleep 1000", KEEPING)
        await _wait(lambda: events.started, "the first")
        assert runner.pid is not None
        assert events.first is not None
        memory = psutil.Process(runner.pid).memory_info().rss / 1e6
        return (events.first - began) * 1e3, memory


def began() -> tuple[float, float]:
    """Return the milliseconds from nothing to a command that runs, and the helper's MB."""
    return asyncio.run(_began())
