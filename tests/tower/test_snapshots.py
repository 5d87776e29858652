"""Pictures of every pane in three sizes, populated and empty, and of the screens over them."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tapui.tower.app import TowerApp
from tapui.wire import events as ev
from tapui.wire.tower import RevealedCode
from tests.tower.running import settle
from tests.tower.scripted import HandClock, ScriptedFeed, at, lines, posts, world

PANES = ("sessions", "providers", "calls", "streams", "approvals")
SIZES = ((80, 24), (120, 36), (200, 50))
Compare = Callable[..., bool]


def compare(
    snap_compare: Compare,
    size: tuple[int, int],
    keys: list[str],
    *,
    is_empty: bool = False,
    theme: str = "tapui-dark",
    then: Callable[[ScriptedFeed], None] | None = None,
) -> None:
    feed, clock = ScriptedFeed(), HandClock()
    app = TowerApp(feed, clock=clock, ticks=clock, theme=theme)

    async def prepare(pilot: Pilot[str]) -> None:
        await settle(pilot, feed)
        feed.begin(None if is_empty else world())
        if not is_empty:
            feed.happen(*posts(("s1", "ci-watch@ci-watcher"), lines(60)[48:]))
        await settle(pilot, feed)
        await pilot.press(*keys)
        if then is not None:
            then(feed)
        await settle(pilot, feed)
        clock.turn(1)
        await settle(pilot, feed)

    assert snap_compare(app, terminal_size=size, run_before=prepare)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("number", range(1, 6), ids=lambda number: PANES[number - 1])
def test_populated(snap_compare: Compare, number: int, size: tuple[int, int]) -> None:
    compare(snap_compare, size, [str(number)])


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("number", range(1, 6), ids=lambda number: PANES[number - 1])
def test_empty(snap_compare: Compare, number: int, size: tuple[int, int]) -> None:
    compare(snap_compare, size, [str(number)], is_empty=True)


@pytest.mark.parametrize("theme", ["tapui-light", "tapui-high-contrast"])
def test_theme(snap_compare: Compare, theme: str) -> None:
    compare(snap_compare, (120, 36), ["3"], theme=theme)


def test_permission(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["5", "enter"])


def test_pairing(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["5", "down", "enter"])


def test_pairing_code(snap_compare: Compare) -> None:
    def reveal(feed: ScriptedFeed) -> None:
        asked = world().approvals["a2"]
        feed.put(RevealedCode(approval_id="a2", code="847293", expires_at=at(-120)))
        revealed = replace(asked, state="revealed", expires_at=at(-120))
        feed.happen(ev.ApprovalRevealed(approval=revealed))

    compare(snap_compare, (80, 24), ["5", "down", "enter"], then=reveal)


def test_call(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["3", "enter"])


def test_quit(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["q"])


def test_help(snap_compare: Compare) -> None:
    compare(snap_compare, (80, 24), ["question_mark"])
