"""Quitting while sessions without a screen are there: they end, or go on without the tower."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from tapui.tower.screens.confirm import ConfirmScreen


class QuitScreen(ConfirmScreen):
    """Asks as `ConfirmScreen` does; the third answer, `g`, calls `go_on`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "go_on", "Go on without the screen")]

    def __init__(self, losses: Sequence[str], go_on: Callable[[], None]) -> None:
        lines = [*losses, "Or all of it goes on without this screen; tapui shows it again."]
        super().__init__("Quit and end the gateway?", lines, "quit")
        self._go_on = go_on

    def _keys(self) -> str:
        return "y quit    g go on without the screen    n back"

    def action_go_on(self) -> None:
        """Leave the screen alone."""
        if self.hears():
            self.dismiss(False)
            self._go_on()
