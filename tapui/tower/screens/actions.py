"""What can be done to a row, each with its letter."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.widgets import Static

from tapui.tower.app_protocol import RowAction
from tapui.tower.columns import Cell, Column, Row
from tapui.tower.plain import plain
from tapui.tower.screens.live import LiveScreen
from tapui.tower.table import Table


class ActionsScreen(LiveScreen[None]):
    """A menu; a letter acts, and so does Enter."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, subject: str, actions: Sequence[RowAction]) -> None:
        super().__init__()
        self._subject = subject
        self._actions = {one.letter: one for one in actions}

    def compose(self) -> ComposeResult:
        """The letters with their words."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._subject, "bold", limit=200), markup=False)
            yield Table((Column("", 1), Column("", 12, 60, grows=True)), has_titles=False)
            yield Static(
                plain("a letter acts    Esc back", "$text-muted"), classes="keys", markup=False
            )

    def on_mount(self) -> None:
        """Fill the list."""
        table = self.query_one(Table)
        table.styles.height = max(len(self._actions), 1)
        table.set_rows(
            [
                Row(one.letter, (Cell(one.letter, "accent"), Cell(one.does)))
                for one in self._actions.values()
            ]
        )
        table.focus()

    def on_key(self, event: Key) -> None:
        """A letter of the menu acts, whatever else it does elsewhere."""
        if event.character in self._actions:
            event.prevent_default()
            event.stop()
            self._act(event.character)

    def on_table_opened(self, event: Table.Opened) -> None:
        """Enter acts."""
        event.stop()
        self._act(event.key)

    def _act(self, letter: str) -> None:
        self.dismiss(None)
        self.app.call_later(self._actions[letter].act)
