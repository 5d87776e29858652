"""A table for live rows: painted line by line, columns that fit, a selection that stays put."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tapui.text import safe_text
from tapui.tower.textual_inside import set_virtual_size

TONES = ("muted", "primary", "success", "warning", "error", "accent", "strong")
_GAP = 2
_KEPT_STRIPS = 600
_CELL_CHARS = 400
"""A cell holds no more of its text: no screen is wider."""


Layout = list[tuple[int, int]]
"""(index of a column, its width) of the columns that are shown."""


class Cell(NamedTuple):
    """Text from anywhere (the table makes it safe) and a tone."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column between `least` and `most` cells wide, as its content needs.

    Where the table is too narrow, the column of the highest `rank` goes first; rank 0 stays.
    """

    title: str
    least: int
    most: int = 0
    rank: int = 0
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row by its key; without cells for all columns it is a heading: its first cell, alone."""

    key: str
    cells: tuple[Cell, ...]
    is_heading: bool = False


def heading(text: str) -> Row:
    """Return a row that divides others and cannot be selected."""
    return Row("", (Cell(text),), is_heading=True)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` exactly `width` cells wide, ending in `…` where it was cut."""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    pad = " " * (width - length)
    return pad + text if right else text + pad


@lru_cache(maxsize=8192)
def _width_of(text: str, most: int) -> int:
    return cell_len(safe_text(text, limit=most))


class Table(ScrollView, can_focus=True):
    """Rows under a line of titles. Up, down and the usual letters move; Enter opens.

    The selection follows its row's key when rows come and go: nothing but a key or the mouse brings
    another row under the cursor, while its row is there.
    """

    DEFAULT_CSS = "Table { scrollbar-gutter: stable; overflow-x: hidden; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--title",
        "table--heading",
        "table--cursor",
        *(f"table--{tone}" for tone in TONES),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(0)", "First", show=False),
        Binding("end,G", "edge(-1)", "Last", show=False),
        Binding("enter", "open", "Details"),
    ]

    class Moved(Message):
        """Another row is selected."""

    class Opened(Message):
        """Enter on a row, or a second click."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, columns: Sequence[Column], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.rows: list[Row] = []
        self._cursor = 0
        self._layout: Layout = []
        self._layout_for: tuple[int, int] = (-1, -1)
        self._version = 0
        self._tones: dict[str, Style] = {}
        self._strips: dict[tuple[object, ...], Strip] = {}

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def selected(self) -> str | None:
        """The key of the selected row."""
        if 0 <= self._cursor < len(self.rows):
            return self.rows[self._cursor].key or None
        return None

    def set_rows(self, rows: list[Row]) -> None:
        """Show these rows; only what is on screen is painted, and nothing if they are the same."""
        if self._version and rows == self.rows:
            return
        before, was_at = self.selected, self._cursor
        self.rows = rows
        self._version += 1
        self._cursor = self._place(before)
        self._measure()
        if self._cursor != was_at:
            self._show_cursor()
        self.refresh()
        if self.selected != before:
            self.post_message(self.Moved())

    def _measure(self) -> None:
        """Take the number of rows over into the scroll bar."""
        size = Size(self._width, len(self.rows) + 1)
        if size != self.virtual_size:
            set_virtual_size(self, size)

    def select(self, key: str) -> None:
        """Select the row of this key, if there is one."""
        for index, row in enumerate(self.rows):
            if row.key == key:
                self._go(index)

    def _place(self, key: str | None) -> int:
        if key is not None:
            for index, row in enumerate(self.rows):
                if row.key == key:
                    return index
        return self._nearest(min(self._cursor, len(self.rows) - 1), 1)

    def _nearest(self, index: int, step: int) -> int:
        """Return the first row that can be selected, from `index` on in this direction, or back."""
        last = len(self.rows) - 1
        for direction in (step, -step):
            at = max(0, min(index, last))
            while 0 <= at <= last:
                if not self.rows[at].is_heading:
                    return at
                at += direction
        return 0

    def _go(self, index: int, step: int = 1) -> None:
        index = self._nearest(index, step)
        if not self.rows or index == self._cursor:
            return
        self._cursor = index
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def _show_cursor(self) -> None:
        """Scroll the selected row, and the titles above it, into sight."""
        self.scroll_to_region(
            Region(0, self._cursor, 1, 2), animate=False, immediate=True, force=True, x_axis=False
        )

    def action_move(self, step: int) -> None:
        """Select the next or previous row."""
        self._go(self._cursor + step, step)

    def action_page(self, step: int) -> None:
        """Move by a screenful."""
        self._go(self._cursor + step * max(self.size.height - 2, 1), step)

    def action_edge(self, index: int) -> None:
        """Select the first or last row."""
        self._go(len(self.rows) - 1 if index else 0, -1 if index else 1)

    def action_open(self) -> None:
        """Open the selected row."""
        if self.selected is not None:
            self.post_message(self.Opened(self.selected))

    def on_click(self, event: events.Click) -> None:
        """Select the row under the mouse; a double click opens it."""
        index = event.y - 1 + self.scroll_offset.y
        if event.y > 0 and index < len(self.rows) and not self.rows[index].is_heading:
            self._go(index)
            if event.chain == 2:
                self.action_open()

    def notify_style_update(self) -> None:
        """The theme changed: look its colours up again."""
        super().notify_style_update()
        self._tones.clear()
        self._strips.clear()

    def on_resize(self) -> None:
        """Keep the selection in sight."""
        self._measure()
        self._show_cursor()

    def _style(self, name: str) -> Style:
        """Return the style of a tone or part; "" is the plain one."""
        style = self._tones.get(name)
        if style is None:
            style = self.rich_style
            if name == "cursor":
                cursor = self.get_component_rich_style("table--cursor")
                style = Style(bgcolor=cursor.bgcolor, bold=cursor.bold)  # tones keep their colours
            elif name:
                style += self.get_component_rich_style(f"table--{name}")
            self._tones[name] = style
        return style

    def _fitted(self, width: int) -> Layout:
        """Return (column, width) of the columns that fit, in order."""
        if self._layout_for == (self._version, width):
            return self._layout
        self._layout_for = (self._version, width)
        wants = [
            max(column.least, min(column.most, self._content_width(index)))
            for index, column in enumerate(self.columns)
        ]
        shown = list(range(len(self.columns)))
        while True:
            gaps = _GAP * (len(shown) - 1)
            if sum(self.columns[index].least for index in shown) + gaps <= width:
                break
            worst = max(shown, key=lambda index: self.columns[index].rank)
            if self.columns[worst].rank == 0:
                break
            shown.remove(worst)
        over = sum(wants[index] for index in shown) + _GAP * (len(shown) - 1) - width
        for index in sorted(shown, key=lambda index: -self.columns[index].rank):
            give = min(max(over, 0), wants[index] - self.columns[index].least)
            wants[index] -= give
            over -= give
        self._layout = [(index, wants[index]) for index in shown]
        return self._layout

    def _content_width(self, index: int) -> int:
        column = self.columns[index]
        longest = cell_len(column.title)
        if column.most > column.least:
            for row in self.rows:
                if not row.is_heading and index < len(row.cells):
                    longest = max(longest, _width_of(row.cells[index].text, column.most))
        return longest

    def render_line(self, y: int) -> Strip:
        """Paint one line: the titles, a heading or a row. Lines that did not change are kept."""
        index = y - 1 + self.scroll_offset.y if y else -1
        row = self.rows[index] if 0 <= index < len(self.rows) else None
        width = self._width
        fitted = self._fitted(width - 1)
        is_selected = row is not None and index == self._cursor
        key = (y == 0, row.cells if row else None, is_selected, width, tuple(fitted))
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.clear()
            if y == 0:
                strip = self._titles(width, fitted)
            elif row is None:
                strip = Strip.blank(width, self._style(""))
            elif row.is_heading:
                strip = self._heading(row, width)
            else:
                strip = self._row(row, width, fitted, is_selected=is_selected)
            self._strips[key] = strip
        return strip

    def _titles(self, width: int, fitted: Layout) -> Strip:
        text = " " + (" " * _GAP).join(
            fit(self.columns[index].title, size, right=self.columns[index].right)
            for index, size in fitted
        )
        return Strip([Segment(fit(text, width), self._style("title"))], width)

    def _heading(self, row: Row, width: int) -> Strip:
        text = f" {safe_text(row.cells[0].text, limit=_CELL_CHARS)}"
        return Strip([Segment(fit(text, width), self._style("heading"))], width)

    def _row(self, row: Row, width: int, fitted: Layout, *, is_selected: bool) -> Strip:
        over = self._style("cursor") if is_selected else Style.null()
        segments = [Segment("▌" if is_selected else " ", self._style("") + over)]
        for position, (column, size) in enumerate(fitted):
            cell = row.cells[column]
            text = safe_text(cell.text, limit=_CELL_CHARS)
            gap = " " * _GAP if position else ""
            text = gap + fit(text, size, right=self.columns[column].right)
            segments.append(Segment(text, self._style(cell.tone) + over))
        return Strip(segments).adjust_cell_length(width, self._style("") + over)
