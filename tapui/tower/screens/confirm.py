"""A question with two answers."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tapui.tower.plain import plain
from tapui.tower.screens.live import LiveScreen


class ConfirmScreen(LiveScreen[bool]):
    """Asks; `y` or Enter is yes, `n` or Escape is no. The result is True for yes.

    A key that came in one read with others, or in a paste, is no yes: nobody had read the question.
    """

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Yes"),
        Binding("n", "answer(False)", "No"),
    ]

    def __init__(self, question: str, lines: Sequence[str], verb: str) -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._verb = verb

    def compose(self) -> ComposeResult:
        """The question, its consequences, the keys."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._question, "bold", limit=300), markup=False)
            yield Static(
                Content("\n").join([plain(line, limit=300) for line in self._lines]), markup=False
            )
            yield Static(plain(self._keys(), "$text-muted"), classes="keys", markup=False)
            yield Static("", classes="trouble", markup=False)

    def _keys(self) -> str:
        return f"y {self._verb}    n back"

    def action_answer(self, is_sure: bool) -> None:
        """Close with the answer."""
        if not is_sure or self.hears():
            self.dismiss(is_sure)

    def hears(self) -> bool:
        """Return whether the key counts; say why where it does not."""
        if not self.tower.typed.is_alone:
            self._refuse("That key came together with others, so it does not count.")
        return self.tower.typed.is_alone

    def on_paste(self, event: events.Paste) -> None:
        """A paste is no answer."""
        event.stop()
        self._refuse("A paste is not an answer.")

    def _refuse(self, why: str) -> None:
        self.query_one(".trouble", Static).update(plain(why, "$warning"))
