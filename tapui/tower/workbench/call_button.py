"""The last line of a form: Enter calls, and beside it what is to be known before."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tapui.tower.plain import plain


class CallButton(Static, can_focus=True):
    """Enter or a click presses it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "press", "call it")]

    class Pressed(Message):
        """It was pressed."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._key = ""
        self._fitness = Content("")

    def show(self, key: str, fitness: Content) -> None:
        """Show the key that calls from anywhere, and what is to be known."""
        if key != self._key or not fitness.is_same(self._fitness):
            self._key, self._fitness = key, fitness
            self.refresh(layout=True)

    def render(self) -> Content:
        """Return the line."""
        style = "bold reverse $accent" if self.has_focus else "bold $accent"
        return plain(f" {self._key} call ", style) + plain("  ") + self._fitness

    def on_click(self) -> None:
        """Press it."""
        self.post_message(self.Pressed())

    def action_press(self) -> None:
        """Press it."""
        self.post_message(self.Pressed())
