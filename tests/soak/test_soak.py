"""A short soak; `python -m tests.soak` takes an hour. Trends need that hour, faults do not."""

import pytest

from tests.soak.run import soak
from tests.soak.samples import Sample, trends


def test_a_short_soak_leaves_no_fault() -> None:
    done = soak(seconds=12, connections=24, every=1, rate=60)
    assert done.faults == []
    kinds = ("echo", "fail", "silent", "slow", "large", "sink")
    assert all(done.counts.get(f"calls to {kind}") for kind in kinds), done.counts
    assert done.counts["garbage frames"] > 0


def _sample(at: int, memory: float, descriptors: int) -> Sample:
    return Sample(at, memory, descriptors, threads=3, connections=5, calls=9, p50=1.0, p99=2.0)


@pytest.mark.parametrize(
    ("memory", "descriptors", "risen"),
    [(0.0, 0.0, []), (0.05, 0.0, []), (0.5, 0.0, ["memory (MB)"]), (0.0, 0.2, ["descriptors"])],
)
def test_what_rises_is_not_flat(memory: float, descriptors: float, risen: list[str]) -> None:
    samples = [_sample(at, 50 + memory * at, 40 + int(descriptors * at)) for at in range(100)]
    assert [trend.what for trend in trends(samples) if not trend.is_flat] == risen
