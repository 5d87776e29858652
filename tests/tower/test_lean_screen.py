"""What is painted of a frame: what changed, all of it, and nothing else."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset, Region
from textual.widget import Widget

from tapui.projection.state import State
from tapui.tower.app.app import TowerApp
from tapui.tower.table.table import Table
from tapui.tower.textual.inside import ChopsUpdate, uncovered
from tapui.wire import events as ev
from tests.tower.running import running
from tests.tower.scripted import approval, at, call, lines, provider, session

WIDE = (200, 50)


def world() -> State:
    state = State()
    for number in range(3):
        one = session(f"s{number}", f"session {number}", state="busy")
        state.sessions[one.id] = one
    state.providers["p1"] = provider("p1", "ci-watcher")
    return state


class Terminal:
    """The characters that a terminal shows that gets each update of the screen."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._lines = [[" "] * size[0] for _ in range(size[1])]
        self.painted = 0

    @property
    def text(self) -> str:
        return "\n".join("".join(line) for line in self._lines)

    def show(self, update: Any) -> None:
        """Take an update: of the whole screen, or of spans of lines."""
        if not isinstance(update, ChopsUpdate):
            for y, strips in enumerate(update.strips):
                self._lines[y] = list("".join(strip.text for strip in strips))
            return
        for y, start, end in update.spans:
            for x, strip in update.chops[y].items():
                if strip is None:
                    continue
                for at_, char in enumerate(strip.text, x):
                    if start <= at_ < end:
                        self._lines[y][at_] = char
                        self.painted += 1


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    shown = Terminal(WIDE)

    def display(self: TowerApp, screen: object, update: object) -> None:
        if update is not None and not self._batch_count and screen is self.screen:
            shown.show(update)

    monkeypatch.setattr(TowerApp, "_display", display)
    return shown


def happenings() -> Iterator[list[ev.AnyEvent]]:
    for number in range(12):
        one = call(f"c{number}", f"tool{number}", session_id=f"s{number % 3}")
        yield [ev.CallStarted(session_id=one.session_id, call=one)]
        if number % 2:
            done = call(f"c{number}", one.tool, session_id=one.session_id, state="done", duration=3)
            yield [ev.CallFinished(session_id=done.session_id, call=done)]
    for line in lines(40):
        yield [ev.StreamPosted(session_id="s0", stream="build@ci", line=line)]
    yield [ev.ApprovalRequested(approval=approval("a1", "bind-all", {}))]


async def test_a_terminal_shows_the_whole_screen_after_updates_of_parts(
    terminal: Terminal,
) -> None:
    async with running(world(), size=WIDE) as rig:
        for events in happenings():
            rig.feed.happen(*events)
            rig.clock.turn(1)
            await rig.settle()
            assert terminal.text == rig.text
        for key in ("2", "down", "3", "up", "5", "t", "?", "escape", "1", "z", "z"):
            await rig.press(key)
            assert terminal.text == rig.text, key
    assert terminal.painted


async def test_widgets_between_two_changes_are_not_rendered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered: list[Widget] = []
    render_lines = Widget.render_lines

    def counted(self: Widget, crop: Region) -> Any:
        rendered.append(self)
        return render_lines(self, crop)

    async with running(world(), size=WIDE) as rig:
        monkeypatch.setattr(Widget, "render_lines", counted)
        seen = [pane.kind.id for pane in rig.app.main.seen_panes()]
        assert {"sessions", "turns", "streams", "calls"} <= set(seen)
        sessions, calls = (rig.app.main.panes[one] for one in ("sessions", "calls"))
        table = sessions.query_one(Table)
        table.refresh(Region(0, 0, 10, 1))
        first_steps = calls.query_one(".empty")
        first_steps.refresh(Region(0, 0, 10, 1))
        compositor = rig.app.main._compositor
        compositor.update_widgets({table, first_steps})
        assert compositor.render_partial_update() is not None
    assert rendered == [first_steps]


async def test_the_mouse_finds_the_place_in_a_table_that_was_scrolled() -> None:
    state = world()
    for number in range(60):
        one = call(f"c{number}", f"tool-{number}", state="done", duration=5, started_at=at(number))
        state.recent_calls[one.id] = one
    async with running(state, size=WIDE) as rig:
        table = rig.app.main.panes["calls"].query_one(Table)
        table.scroll_to(y=7, animate=False)
        await rig.pilot.pause()
        x, y = table.content_region.offset
        found, place = rig.app.screen.get_widget_and_offset_at(x + 3, y + 2)
        assert found is table
        assert place == Offset(3, 2 + 7)


def cells(region: Region) -> set[tuple[int, int]]:
    return {(x, y) for x in region.column_range for y in region.line_range}


@given(
    st.builds(Region, *[st.integers(0, 9)] * 2, *[st.integers(1, 9)] * 2),
    st.builds(Region, *[st.integers(0, 9)] * 2, *[st.integers(0, 9)] * 2),
)
def test_what_a_cover_leaves_is_everything_beside_it_once(region: Region, cover: Region) -> None:
    parts = list(uncovered(region, cover))
    assert set().union(*map(cells, parts)) == cells(region) - cells(cover)
    assert sum(part.area for part in parts) == len(cells(region) - cells(cover))
