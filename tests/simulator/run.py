"""One seed: a story of some steps, then silence, then everybody's end."""

from dataclasses import dataclass

from tests.core.harness import ORIGIN
from tests.simulator.host import HostActor
from tests.simulator.invariants import check, check_nothing_is_left, check_nothing_waits
from tests.simulator.provider import ProviderActor
from tests.simulator.shell import ShellWorld
from tests.simulator.tool_host import ToolHostActor
from tests.simulator.tower import TowerActor
from tests.simulator.world import World

STEPS = 300
SETTLING = 100_000
"""More steps than any silence takes."""


@dataclass(frozen=True)
class Told:
    """What a story held: steps, events of the gateway, outcomes of calls, faults inside, runs of
    emitters."""

    steps: int
    events: int
    outcomes: int
    faults: int
    runs: int


class StoryError(AssertionError):
    """Something did not hold; the text says what happened before."""

    def __init__(self, world: World, steps: int, error: BaseException) -> None:
        super().__init__(
            f"{world.story()}\n\nseed {world.seed} failed: {type(error).__name__}: {error}\n"
            f"again with: python -m tests.simulator --seed {world.seed} --steps {steps}"
            f"{' --inside' if isinstance(world, ShellWorld) else ''}"
        )


def run(seed: int, steps: int = STEPS, *, inside: bool = False) -> Told:
    """Tell the story of a seed, with faults `inside` the gateway or not. Raises `StoryError`."""
    world = ShellWorld(seed) if inside else World(seed)
    try:
        taken = _tell(world, steps)
    except Exception as error:
        raise StoryError(world, steps, error) from error
    finally:
        world.end()
    runs = world.emitters.started
    return Told(taken, world.ledger.seq, world.ledger.outcomes, world.faults, runs)


def _tell(world: World, steps: int) -> int:
    dice = world.dice
    _gather(world)
    for _ in range(steps):
        world.step()
        _look(world)
    taken = steps
    world.is_over = True
    world.emitters.over()
    world.turn()
    taken += _settle(world)
    check_nothing_waits(world)
    for link in dice.sample([*world.links.values()], len(world.links)):
        link.cut()
        check(world)
    world.everybody_leaves()
    taken += _settle(world)
    check_nothing_is_left(world)
    world.check_records()
    return taken


def _look(world: World) -> None:
    """Check what must hold, if anything can have changed."""
    if world.is_touched:
        world.is_touched = False
        check(world)


def _gather(world: World) -> None:
    dice = world.dice
    for _ in range(dice.randint(1, 3)):
        HostActor(world)
    for _ in range(dice.randint(1, 4)):
        ProviderActor(world)
    for _ in range(dice.randint(0, 2)):
        TowerActor(world)
    if not isinstance(world, ShellWorld):  # what its shell does with them has tests of its own
        for _ in range(dice.randint(0, 2)):
            ToolHostActor(world)
    if dice.random() < 0.5:
        ProviderActor(world, ORIGIN)


def _settle(world: World) -> int:
    """Let everything that is under way come to its end."""
    for taken in range(SETTLING):
        if not world.step():
            return taken
        _look(world)
    raise AssertionError("it does not come to an end")
