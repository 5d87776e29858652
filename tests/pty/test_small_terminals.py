"""The tower and the demo on terminals with little room: usable, or said to be too small."""

from collections.abc import Callable

import pytest

from tests.rig.gateway import Home, tapui_argv
from tests.rig.provider_process import ProviderProcess
from tests.rig.tmux import Screen, Tmux
from tests.rig.tower import TowerProcess

TOO_SMALL = "needs 40×8 or more"
SIZES = [(60, 15), (20, 5)]


def goes_through(screen: Screen, *, is_small: bool) -> None:
    """Open panes and sheets, and go back; each has a whole frame, and the last line says what can
    be done."""
    for key, seen in (("2", "2 Tu"), ("7", "7 C"), ("1", "1 Se"), ("?", "Help")):
        screen.keys(key)
        screen.wait_for(TOO_SMALL if is_small and key == "7" else seen)
        screen.wait_for(r"╭.*╮")
        screen.wait_for(r"╰.*╯")
    screen.wait_for(TOO_SMALL if is_small else "Esc back")
    screen.keys("Escape")
    screen.wait_gone("Help")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_tower(start_tower: Callable[..., TowerProcess], size: tuple[int, int]) -> None:
    tower = start_tower(size=size)
    is_small = size == (20, 5)
    with ProviderProcess(tower.url, tower.token, name="ci") as provider:
        provider.push("line 1", stream="builds")
        goes_through(tower.screen, is_small=is_small)
        tower.screen.keys("3")
        tower.screen.resize(100, 30)
        tower.screen.wait_for("line 1")
        if is_small:
            tower.screen.wait_gone(TOO_SMALL)
        tower.screen.resize(100, 5)  # the width alone does not tell
        tower.screen.wait_for(TOO_SMALL)
        tower.screen.resize(100, 30)
        tower.screen.wait_gone(TOO_SMALL)
        tower.screen.wait_for("4 Prov.*✓1")
    tower.screen.wait_gone("4 Prov.*✓1")  # while it is there, quitting asks first
    tower.screen.keys("q")
    assert tower.screen.wait_dead() == 0


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_demo(tmux: Tmux, home: Home, size: tuple[int, int]) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    screen = tmux.start(tapui_argv("demo"), env=home.env(), cwd=home.root, size=size)
    screen.wait_for("Sess")
    goes_through(screen, is_small=size == (20, 5))
    screen.keys("q")
    assert screen.wait_dead() == 0
