"""A question with two answers."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tapui.tower.plain import plain
from tapui.tower.screens.live import LiveScreen


class ConfirmScreen(LiveScreen[bool]):
    """Asks; `y` or Enter is yes, `n` or Escape is no. The result is True for yes."""

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
            yield Static(
                plain(f"y {self._verb}    n back", "$text-muted"), classes="keys", markup=False
            )

    def action_answer(self, is_sure: bool) -> None:
        """Close with the answer."""
        self.dismiss(is_sure)
