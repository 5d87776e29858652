"""A few hundred seeds of the simulator; `python -m tests.simulator --seeds A:B` tells more."""

import pytest

from tests.simulator import world
from tests.simulator.run import StoryError, run

SEEDS = 300
STEPS = 200


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_seeds_hold(first: int) -> None:
    told = [run(seed, STEPS) for seed in range(first, first + 50)]
    # Stories in which nothing happens prove nothing.
    assert sum(one.outcomes for one in told) > 200
    assert sum(one.events for one in told) > 2000


def test_a_seed_always_tells_the_same_story(monkeypatch: pytest.MonkeyPatch) -> None:
    stories = []

    class Kept(world.World):
        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            stories.append(self)

    monkeypatch.setattr("tests.simulator.run.World", Kept)
    for _ in range(2):
        run(7, STEPS)
    assert stories[0].story() == stories[1].story()
    assert stories[0].ledger.seq == stories[1].ledger.seq > 0


def _run_all(seeds: range) -> None:
    for seed in seeds:
        run(seed, STEPS)


def test_a_fault_is_found_and_names_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator sees a gateway that forgets to give a call its outcome."""
    from tapui.core.calls import Calls

    monkeypatch.setattr(Calls, "due", lambda self, call: self._absorb(call))
    with pytest.raises(StoryError, match="--seed"):
        _run_all(range(200))
