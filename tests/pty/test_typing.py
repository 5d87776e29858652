"""Whatever is typed before the screen has followed goes where the person means it to go."""

from collections.abc import Callable

from tests.rig.provider_process import ProviderProcess
from tests.rig.tower import TowerProcess

ROUNDS = 10


def test_what_is_typed_in_one_read_opens_and_closes_what_it_should(
    start_tower: Callable[..., TowerProcess],
) -> None:
    tower = start_tower(size=(80, 24))
    with ProviderProcess(tower.url, tower.token, name="ci"):
        tower.screen.type("4")
        tower.screen.wait_for("● ci")
        opens_and_closes = "4\r" + "q" + "1\r" + "q" + "?q"
        tower.screen.type(opens_and_closes * ROUNDS + "4\r")
        tower.screen.wait_for("connected .*ago")
        tower.screen.type("q" + opens_and_closes * ROUNDS + "3")
        tower.screen.wait_for("No stream yet")
        assert not tower.screen.is_dead
