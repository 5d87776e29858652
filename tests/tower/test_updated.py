"""A screen, or an action, whose module is gone since tapui was updated: the tower goes on."""

from typing import ClassVar

import pytest
from textual.app import ComposeResult
from textual.widgets import Button, Static

from tapui import update
from tapui.tower.textual.inside import PlainApp


class _Missing(Button):
    """A button whose handler is in a module that is not there any more."""

    def on_button_pressed(self) -> None:
        raise update.UpdatedError("tapui.tower.gone")


class _App(PlainApp):
    BINDINGS: ClassVar = [("x", "missing", "missing"), ("w", "work", "work"), ("q", "well", "well")]
    done = 0

    def compose(self) -> ComposeResult:
        yield Static("up")
        yield _Missing("gone")

    def action_missing(self) -> None:
        raise update.UpdatedError("tapui.tower.gone")

    def action_work(self) -> None:
        self.run_worker(self._work())

    async def _work(self) -> None:
        raise update.UpdatedError("tapui.tower.gone")

    def action_well(self) -> None:
        self.done += 1


@pytest.fixture(autouse=True)
def no_update_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is noticed here from the gateways of later tests in this process."""
    monkeypatch.setattr(update, "_watch", update._Watch())


async def test_what_cannot_be_loaded_is_told_and_all_else_goes_on() -> None:
    app = _App()
    async with app.run_test() as pilot:
        for keys in ("x", "w", "x"):
            await pilot.press(keys, "q")
        for _ in range(2):
            app.query_one(_Missing).press()
            await pilot.pause()
        assert app.done == 3
        assert app.is_running
        told = [one.message for one in app._notifications]
        assert told == [update.RESTART] * 5
    assert app.crash is None
