"""A pane that is a table, the selected row in full below it, and the first steps while empty."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tapui.tower.panes.pane import Pane
from tapui.tower.plain import plain
from tapui.tower.statics import show_in
from tapui.tower.table import Column, Row, Table
from tapui.tower.view import View


class TablePane(Pane):
    """Subclasses say which rows there are and what there is to know about one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Details", tooltip="Open the selected row", show=False)
    ]
    COLUMNS: tuple[Column, ...] = ()

    def compose(self) -> ComposeResult:
        """The table with its lines, and what stands there instead while it is empty."""
        with Vertical(classes="filled"):
            yield Table(self.COLUMNS)
            yield Static("", classes="about", markup=False)
        yield Static("", classes="empty", markup=False)

    def rows(self, view: View) -> list[Row]:
        """Return the rows, in order."""
        raise NotImplementedError

    def about(self, view: View, key: str) -> list[Content]:
        """Return the lines about the row of this key; the first has its name, state and age."""
        raise NotImplementedError

    def first_steps(self) -> list[tuple[str, str]]:
        """Return what to do while there are no rows, as (line, style)."""
        raise NotImplementedError

    @property
    def selected(self) -> str:
        """The key of the selected row; "" for none."""
        return self.query_one(Table).selected or "" if self.is_mounted else ""

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint the rows that there are now."""
        del dirty
        rows = self.rows(view)
        self.set_empty(not rows)
        if not rows:
            lines = [plain(text, style) for text, style in self.first_steps()]
            show_in(self.query_one(".empty", Static), Content("\n").join(lines))
        self.query_one(Table).set_rows(rows)
        self._show_about()

    def on_table_moved(self) -> None:
        """Another row is selected."""
        self._show_about()
        self.tower.wake()  # other keys may work on it

    def on_resize(self) -> None:
        """Other lines about the row may fit."""
        if self.tower.view.run:
            self._show_about()

    def action_open(self) -> None:
        """Open the selected row."""
        self.query_one(Table).action_open()

    def main_widget(self) -> Table:
        """Return the table."""
        return self.query_one(Table)

    def _show_about(self) -> None:
        lines = self.about(self.tower.view, self.selected) if self.selected else []
        show_in(self.query_one(".about", Static), Content("\n").join(lines))
