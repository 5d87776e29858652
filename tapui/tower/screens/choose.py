"""One of several."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tapui.tower.columns import Cell, Column, Row
from tapui.tower.plain import plain
from tapui.tower.screens.live import LiveScreen
from tapui.tower.table import Table


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to choose: its key, its name and what there is to know about it."""

    key: str
    name: str
    about: str = ""


class ChooseScreen(LiveScreen[str]):
    """A short list; Enter chooses. The result is the key, or None."""

    CSS_PATH = "dialog.tcss"

    def __init__(self, title: str, choices: Sequence[Choice], *, selected: str | None) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._selected = selected

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._title, "bold", limit=200), markup=False)
            yield Table((Column("", 12, 64), Column("", 8, 40)))
            yield Static(
                plain("Enter choose    Esc back", "$text-muted"), classes="keys", markup=False
            )

    def on_mount(self) -> None:
        """Fill the list; what is in force is selected."""
        table = self.query_one(Table)
        table.styles.height = min(len(self._choices), 12) + 1
        table.set_rows(
            [
                Row(one.key, (Cell(one.name, "strong"), Cell(one.about, "muted")))
                for one in self._choices
            ]
        )
        if self._selected is not None:
            table.select(self._selected)
        table.focus()

    def on_table_opened(self, event: Table.Opened) -> None:
        """Close with the choice."""
        event.stop()
        self.dismiss(event.key)
