"""A line that changes many times a second must not lay the screen out each time."""

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tapui.tower.statics import show_in


class One(App[None]):
    CSS = "Static { width: 20; height: auto; max-height: 5; }"

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts layouts."""
    found: list[int] = []
    original = Screen._refresh_layout

    def counted(self: Screen[None], *args: object, **kwargs: object) -> None:
        found.append(1)
        original(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Screen, "_refresh_layout", counted)
    return found


async def test_only_another_height_costs_a_layout(layouts: list[int]) -> None:
    app = One()
    async with app.run_test() as pilot:
        static = app.query_one(Static)
        show_in(static, Content("12 lines"))
        await pilot.pause()
        before = len(layouts)
        show_in(static, Content("13 lines"))
        show_in(static, Content.styled("13 lines", "bold"))
        await pilot.pause()
        assert len(layouts) == before
        assert static.render_line(0).text.rstrip() == "13 lines"
        style = static.render_line(0)._segments[0].style
        assert style is not None
        assert style.bold
        show_in(static, Content("13 lines and a longer story"))
        await pilot.pause()
        assert len(layouts) > before
        assert static.size.height == 2


async def test_what_is_shown_already_is_not_painted_again() -> None:
    app = One()
    async with app.run_test() as pilot:
        static = app.query_one(Static)
        content = Content.styled("same", "bold")
        show_in(static, content)
        await pilot.pause()
        show_in(static, Content.styled("same", "bold"))
        assert static.content is content
