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
        """Return what to do while there are no rows, as (line, style). Empty lines divide it into
        parts; where it does not fit, whole parts are left out, the last ones first."""
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
            self._show_first_steps()
        self.query_one(Table).set_rows(rows)
        self._show_about()

    def on_table_moved(self) -> None:
        """Another row is selected."""
        self._show_about()
        self.tower.wake()  # other keys may work on it

    def on_resize(self) -> None:
        """Other lines about the row may fit."""
        if self.has_class("-empty"):
            self._show_first_steps()
        elif self.tower.view.run:
            self._show_about()

    def action_open(self) -> None:
        """Open the selected row."""
        self.query_one(Table).action_open()

    def main_widget(self) -> Table:
        """Return the table."""
        return self.query_one(Table)

    def _show_first_steps(self) -> None:
        """Show as many whole parts of the first steps as fit."""
        width, room = max(self.size.width - 4, 1), self.size.height - 2  # less the padding
        parts: list[list[Content]] = [[]]
        for text, style in self.first_steps():
            if text:
                parts[-1].append(plain(text, style))
            else:
                parts.append([])
        shown = Content("\n").join(parts[0])
        for part in parts[1:]:
            longer = Content("\n").join([shown, Content(""), *part])
            if longer.get_height({}, width) <= room or room < 0:
                shown = longer
        show_in(self.query_one(".empty", Static), shown)

    def _show_about(self) -> None:
        lines = self.about(self.tower.view, self.selected) if self.selected else []
        show_in(self.query_one(".about", Static), Content("\n").join(lines))
