"""What a process uses, sample by sample, and whether it stays flat."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

MEGABYTE = 1024 * 1024
WARM_UP = 0.1
"""The part of all samples that is left out at the beginning: caches and pools fill then."""
MEMORY_SLACK = (1.10, 8.0)
"""Memory may rise by this factor and this many megabytes."""
COUNT_SLACK = (1.10, 4.0)
"""The same for descriptors and threads."""


@dataclass(frozen=True)
class Sample:
    """One look. Memory is the resident set in megabytes, latencies are milliseconds."""

    at: float
    memory: float
    descriptors: int
    threads: int
    connections: int
    calls: int
    p50: float | None
    p99: float | None

    def __str__(self) -> str:
        p50, p99 = (" -" if one is None else f"{one:8.2f}" for one in (self.p50, self.p99))
        return (
            f"{self.at:7.0f} s  {self.memory:7.1f} MB  {self.descriptors:4} fds  "
            f"{self.threads:3} threads  {self.connections:3} conns  {self.calls:6} calls  "
            f"p50 {p50}  p99 {p99} ms"
        )


def sample(pid: int, at: float, connections: int, latencies: list[float]) -> Sample:
    """Look at a process; `latencies` (seconds) are those of the calls since the last look."""
    process = Path(f"/proc/{pid}")
    pages = int(process.joinpath("statm").read_text().split()[1])
    parts = quantiles(latencies, n=100) if len(latencies) > 1 else []
    return Sample(
        at=at,
        memory=pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE,
        descriptors=len(list(process.joinpath("fd").iterdir())),
        threads=len(list(process.joinpath("task").iterdir())),
        connections=connections,
        calls=len(latencies),
        p50=parts[49] * 1000 if parts else None,
        p99=parts[98] * 1000 if parts else None,
    )


def descriptors(pid: int) -> list[str]:
    """Return what each open descriptor of a process stands for."""
    found = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.append(str(one.readlink()))
    return found


@dataclass(frozen=True)
class Trend:
    """The medians of the first and the last third of the samples, and whether that is flat."""

    what: str
    first: float
    last: float
    limit: float

    @property
    def is_flat(self) -> bool:
        """Whether the last third is within what the first one allows."""
        return self.last <= self.limit

    def __str__(self) -> str:
        return (
            f"{self.what:12} first third {self.first:8.1f}  last third {self.last:8.1f}  "
            f"at most {self.limit:8.1f}: {'flat' if self.is_flat else 'NOT FLAT'}"
        )


RULE = (
    "flat: without the first tenth of the samples, the median of the last third is at most that of "
    "the first third times 1.1, or 8 MB more of memory, or 4 more descriptors or threads"
)
_MEASURES: tuple[tuple[str, Callable[[Sample], float], tuple[float, float]], ...] = (
    ("memory (MB)", lambda one: one.memory, MEMORY_SLACK),
    ("descriptors", lambda one: one.descriptors, COUNT_SLACK),
    ("threads", lambda one: one.threads, COUNT_SLACK),
)


def trends(samples: list[Sample]) -> list[Trend]:
    """Compare the first third with the last, by `RULE`. Needs ten samples at least."""
    samples = samples[int(len(samples) * WARM_UP) :]
    third = len(samples) // 3
    found = []
    for what, measure, (factor, more) in _MEASURES:
        first = median(map(measure, samples[:third]))
        last = median(map(measure, samples[-third:]))
        found.append(Trend(what, first, last, max(first * factor, first + more)))
    return found
