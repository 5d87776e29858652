"""A pane that is a table, to be filtered and sorted, and the first steps while it is empty."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tapui.text import safe_text
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import (
    CELL_CHARS,
    Column,
    Row,
    first_key,
    fit,
    held,
    sorted_rows,
)
from tapui.tower.table.filter import Filter, FilterBar, FilterError, parse
from tapui.tower.table.pane import FrameNote, ListPlace, Pane
from tapui.tower.table.table import Table
from tapui.tower.textual.widgets import plain, show_in, tone_style

CALLED = 18
"""Cells of what the frame names above the window, at most."""


class TablePane(Pane):
    """Subclasses say which rows there are and what is said while there are none."""

    DEFAULT_CLASSES: ClassVar[str] = "-empty"
    """Without rows yet. A class that is set later styles all that is in it anew."""
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "filter", "next-match", "previous-match", "sort", "reverse", "copy"
    )
    COLUMNS: tuple[Column, ...] = ()
    HAS_TITLES = True
    TWO_LINES_BELOW = 0
    CROSSES_HEADINGS = False
    """Whether the selected row stays where it is even when it belongs below another heading."""
    HOLDS_LINE = True
    """Whether the selected row keeps its line also at the cost of rows above it that had room."""
    HOLDS_ORDER = True
    """Whether the selected row keeps its line when the order changes, against the order."""
    GROWS = ""
    """What rows above the window are called (`newer`), of a list that grows at its top."""
    ROWS_BELOW = 0
    """Rows that stay in sight below the one that is followed."""

    def __init__(self) -> None:
        super().__init__()
        self.order_by: tuple[int, bool] | None = None
        self._filter: Filter | None = None
        self._searched: Filter | None = None
        self._left = ""
        """The row that was selected when a filter was begun: it is again where none is set."""
        self._count = 0
        self._told: tuple[list[tuple[str, str]], int, int] | None = None
        """The first steps that are shown, and the room that they were fitted to."""
        self._is_sorting = False
        """The order that was asked for is the order, also of the selected row."""
        self.table = Table(
            self.COLUMNS, has_titles=self.HAS_TITLES, two_lines_below=self.TWO_LINES_BELOW
        )

    def compose(self) -> ComposeResult:
        with Vertical(classes="filled"):
            yield self.table
            yield FilterBar()
        yield Static("", classes="empty", markup=False)

    def followed(self, rows: list[Row]) -> str | None:
        """Return the key of the row among `rows` that the cursor goes to, None to leave it."""
        del rows
        return None

    def rows(self, view: View) -> list[Row]:
        raise NotImplementedError

    def first_steps(self) -> list[tuple[str, str]]:
        """Return what to do while there are no rows, as (line, style). Empty lines divide it into
        parts; where it does not fit, whole parts are left out, the last ones first."""
        raise NotImplementedError

    def shown_keys(self) -> list[str]:
        return [row.key for row in self.table.rows if row.key]

    @property
    def selected(self) -> str:
        """The key of the selected row; "" for none."""
        return self.table.selected or "" if self.is_mounted else ""

    @property
    def cursor_key(self) -> str | None:
        return self.selected

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        rows = self.rows(view)
        self._count = sum(not row.is_heading for row in rows)
        self.set_empty(not rows)
        if not rows:
            self._show_first_steps()
        was_first = self.table.is_on_first
        ordered = self._ordered(rows)
        self.tower.give_way()
        at = self.followed(ordered)
        if at is None and was_first and not self.holds_place:
            at = first_key(ordered)  # the person has gone to no row yet
        holds_line = self.HOLDS_LINE and self.holds_place
        self.table.set_rows(ordered, at=at, below=self.ROWS_BELOW, holds_line=holds_line)
        self.show_frame()

    def _ordered(self, rows: list[Row]) -> list[Row]:
        if self._filter is not None:
            rows = self.filtered(rows, self._filter)
        if self.order_by is not None:
            column, is_reversed = self.order_by
            rows = sorted_rows(rows, column, is_reversed=is_reversed)
        if self.HOLDS_ORDER and self.holds_place and not self._is_sorting:
            table = self.table
            return held(rows, table.selected, table.cursor, crosses=self.CROSSES_HEADINGS)
        return rows

    @property
    def holds_place(self) -> bool:
        """Whether the selected row keeps its line when the order changes: the person went there."""
        return self.tower.was_touched and self.has_class("-current")

    def filtered(self, rows: list[Row], wanted: Filter) -> list[Row]:
        return [row for row in rows if not row.is_heading and self.finds(wanted, row)]

    def finds(self, wanted: Filter, row: Row) -> bool:
        return wanted.is_in("  ".join(cell.whole for cell in row.cells))

    def parsed(self, text: str) -> Filter | None:
        """Return the filter that is typed, None for none. Raises `FilterError`."""
        return parse(text)

    def show_again(self) -> None:
        """Paint the rows after the order or the filter changed."""
        self.show(self.tower.view, self.TOPICS)
        self.tower.wake()

    def on_table_moved(self, event: Table.Moved) -> None:
        self.moved(is_own=event.is_own)
        if event.is_own:
            self.show_frame()  # else it was, with the rows
        self.tower.wake(is_moving=event.is_own)  # other keys may work on it

    def moved(self, *, is_own: bool) -> None:
        """Another row is selected. `is_own`: by a key or the mouse in the table."""

    def on_resize(self) -> None:
        if self.has_class("-empty"):
            self._show_first_steps()

    def main_widget(self) -> Table:
        return self.table

    def set_covered(self, lines: int) -> None:
        self.table.set_covered(max(lines - 1, 0))  # the frame is covered first

    def show_frame(self) -> None:
        if self.table.is_attached:  # it comes after the frame, and goes before it
            super().show_frame()

    def frame_notes(self) -> list[FrameNote]:
        """Return the filter in force, with what it leaves."""
        if self._filter is None:
            return []
        left = sum(not row.is_heading for row in self.table.rows)
        return [
            FrameNote(f"/ {self._filter.text[:24]}", "bold", "filter"),
            FrameNote(f"{left} of {self._count}"),
        ]

    def place(self) -> ListPlace | None:
        """Return where the list is; None for one that does not grow, or with nothing to say."""
        first, _end = self.table.in_sight
        above = sum(not row.is_heading for row in self.table.rows[:first])
        if not self.GROWS or self.order_by is not None:
            return None
        return ListPlace(not above, above, noun=self.GROWS)

    def place_notes(self) -> list[FrameNote]:
        if self.has_class("-empty") or not self.table.size:
            return []
        place, called = self.place(), self._called_out()
        notes = [] if place is None else [place.note]
        if called is not None and called.calls_out is not None:
            text, tone = called.calls_out
            short = fit(safe_text(text, limit=CELL_CHARS), CALLED).rstrip()
            notes.append(FrameNote(f"↑ {short}", tone_style(tone), "go_above"))
        return notes

    def _called_out(self) -> Row | None:
        """Return the row above the window that the frame names: one that asks, else the nearest."""
        nearest = None
        for row in reversed(self.table.rows[: self.table.in_sight[0]]):
            if row.calls_out and row.calls_out[1] == "warning":
                return row
            nearest = nearest or (row if row.calls_out else None)
        return nearest

    def action_go_above(self) -> None:
        """Go to the row that the frame names."""
        called = self._called_out()
        if called is not None:
            self.table.select(called.key)

    def on_table_scrolled(self) -> None:
        self.show_frame()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done now is not offered."""
        if action in ("filter", "copy", "sort", "reverse"):
            return not self.has_class("-empty")
        if action == "match":
            return self._searched is not None
        return super().check_action(action, parameters)

    def action_copy(self) -> None:
        self.tower.copy(self.table.row_text(self.selected), "The row")

    def action_filter(self) -> None:
        self._left = self.selected
        self.query_one(FilterBar).open(self._filter.text if self._filter else "")

    def on_filter_bar_typed(self, event: FilterBar.Typed) -> None:
        event.stop()
        bar = self.query_one(FilterBar)
        try:
            self._filter = self.parsed(event.text)
        except FilterError as error:
            bar.refuse(error)
            return
        bar.refuse(None)
        self._searched = self._filter or self._searched
        if event.is_done:
            bar.close()
            self.screen.set_focus(self.table)
        self.show_again()
        if event.is_done and self._filter is None:
            self.table.select(self._left)

    def filter_by(self, chosen: Filter) -> None:
        self._filter = self._searched = chosen
        self.show_again()

    def action_match(self, step: int) -> None:
        searched, rows = self._searched, self.table.rows
        if searched is None or not rows:
            return
        count = len(rows)
        for away in range(1, count + 1):
            row = rows[(self.table.cursor + step * away) % count]
            if not row.is_heading and self.finds(searched, row):
                self.table.select(row.key)
                return

    def close_topmost(self) -> bool:
        if self._filter is None:
            return False
        self._filter = None
        self.show_again()
        return True

    def sort_columns(self) -> list[int]:
        known = {column for row in self.table.rows for column in row.values}
        return sorted(known)

    def action_sort(self) -> None:
        """Sort by the next column; after the last, in the rows' own order."""
        columns = self.sort_columns()
        now = None if self.order_by is None else self.order_by[0]
        later = columns[columns.index(now) + 1 :] if now in columns else columns
        self.sort_by((later[0], False) if later else None)

    def action_reverse(self) -> None:
        columns = self.sort_columns()
        if self.order_by is not None:
            self.sort_by((self.order_by[0], not self.order_by[1]))
        elif columns:
            self.sort_by((columns[0], True))

    def sort_by(self, sort: tuple[int, bool] | None) -> None:
        """Sort by (column, whether reversed); None is the rows' own order."""
        self.order_by = self.table.sorted_by = sort
        self.table.refresh()  # the title says it, also where the rows stand as before
        self._is_sorting = True
        self.show_again()
        self._is_sorting = False

    def on_table_title_chosen(self, event: Table.TitleChosen) -> None:
        """A title was clicked: sort by it, or the other way round."""
        event.stop()
        self.sort_by_click(event.column)

    def sort_by_click(self, column: int) -> None:
        """Sort by this column; if it is sorted by already, the other way round, then not at all."""
        if column not in self.sort_columns():
            return
        if self.order_by is None or self.order_by[0] != column:
            self.sort_by((column, False))
        else:
            self.sort_by(None if self.order_by[1] else (column, True))

    def _show_first_steps(self) -> None:
        width, room = max(self.size.width - 4, 1), self.size.height - 2  # less the padding
        steps = self.first_steps()
        if self._told == (steps, width, room):
            return
        self._told = (steps, width, room)
        parts: list[list[Content]] = [[]]
        for text, style in steps:
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
