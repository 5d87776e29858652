"""The answers that a request can have, each with its letter; the chosen one stands out."""

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tapui.tower.plain import plain


class Letter(NamedTuple):
    """A letter: the answer it chooses, the key as the person reads it, what it does."""

    answer: str
    key: str
    does: str


class Letters(Static):
    """One line each; a click chooses like the key."""

    class Clicked(Message):
        """An answer was clicked."""

        def __init__(self, answer: str) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._shown: tuple[Letter, ...] = ()
        self._chosen: str | None = None

    def set_letters(self, letters: Sequence[Letter], chosen: str | None) -> None:
        """Show these letters."""
        shown = (tuple(letters), chosen)
        if shown != (self._shown, self._chosen):
            self._shown, self._chosen = shown
            self.update(Content("\n").join([self._line(one) for one in self._shown]))

    def on_click(self, event: events.Click) -> None:
        """Choose what is under the mouse."""
        if 0 <= event.y < len(self._shown):
            self.post_message(self.Clicked(self._shown[event.y].answer))

    def _line(self, letter: Letter) -> Content:
        is_chosen = letter.answer == self._chosen
        mark = plain("▌", "$warning") if is_chosen else plain(" ")
        does = plain(letter.does, "bold" if is_chosen else "")
        return mark + plain(f"{letter.key:<3}", "bold $accent") + does
