"""A table for live rows: painted line by line, columns that fit, a selection that stays put."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tapui.text import safe_text
from tapui.tower.columns import (
    CELL_CHARS,
    GAP,
    Cell,
    Column,
    Row,
    Widths,
    fit,
    lines_of,
    row_widths,
    widths,
)
from tapui.tower.emphasis import split
from tapui.tower.keys.bindings import bindings
from tapui.tower.selecting import extracted, selectable
from tapui.tower.textual_inside import set_virtual_size

TONES = ("muted", "primary", "success", "warning", "error", "accent", "strong")
_KEPT_STRIPS = 600
_LEAST_TEXT = (8, 16, 32)
"""Cells that a cell's own text has before what stands behind it is left out: before the last piece
of that is, the last but one, and each one before it."""
EDGES = 2
"""Cells of the cursor before a row and of the blank behind it."""


class Table(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows under a line of titles. Up, down and the usual letters move; Enter opens.

    The selection follows its row's key when rows come and go, and that row stays on its line of the
    screen where the rows above and below it allow: nothing but a key or the mouse brings another
    row under the cursor, while its row is there. Narrower than `two_lines_below`, a row has two
    lines if it has a column for the second one. The head of a group (`Row.under`) stays in sight
    above the rows of the group.
    """

    DEFAULT_CSS = "Table { scrollbar-gutter: stable; overflow-x: hidden; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--title",
        "table--heading",
        "table--cursor",
        "table--match",
        *(f"table--{tone}" for tone in TONES),
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "open", "up", "down", "page-up", "page-down", "first", "last"
    )

    class Moved(Message):
        """Another row is selected. `is_own`: by a key or the mouse, here."""

        def __init__(self, *, is_own: bool) -> None:
            super().__init__()
            self.is_own = is_own

    class Opened(Message):
        """Enter on a row, or a second click."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class TitleChosen(Message):
        """The title of a column was clicked."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        has_titles: bool = True,
        two_lines_below: int = 0,
        opens_on_click: bool = False,
    ) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.rows: list[Row] = []
        self.sorted_by: tuple[int, bool] | None = None
        self._titles_high = int(has_titles)
        self._two_lines_below = two_lines_below
        self._opens_on_click = opens_on_click
        self._cursor = 0
        self._below = 0
        self._layout: Widths = ()
        self._layout_for: tuple[int, int] = (-1, -1)
        self._version = 0
        self._tones: dict[str, Style] = {}
        self._strips: dict[tuple[object, ...], Strip] = {}
        self._blank_below = 0

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def row_lines(self) -> int:
        """How many lines a row has, at the width that there is."""
        return lines_of(self.columns, self._width, below=self._two_lines_below)

    @property
    def selected(self) -> str | None:
        """The key of the selected row."""
        if 0 <= self._cursor < len(self.rows):
            return self.rows[self._cursor].key or None
        return None

    @property
    def cursor(self) -> int:
        """The index of the selected row."""
        return self._cursor

    @property
    def is_on_first(self) -> bool:
        """Whether the first row that can be selected is."""
        return self._cursor == self._nearest(0, 1)

    @property
    def spans(self) -> list[tuple[int, int, int]]:
        """(index, first cell, end) of the columns that are shown, in the table's content."""
        found: list[tuple[int, int, int]] = []
        x = 1
        for index, size in self._fitted(self._width - EDGES):
            found.append((index, x, x + size))
            x += size + GAP
        return found

    def set_rows(self, rows: list[Row], *, holds_line: bool = False) -> None:
        """Show these rows; only what is on screen is painted, and nothing if they are the same.

        Where rows come above the selected one, it stays on its line as far as those below it allow;
        with `holds_line` always: blank lines follow the last row then, until the person moves.
        """
        if self._version and rows == self.rows:
            return
        before, was_at = self.selected, self._cursor
        shown, placed = self.rows, self._placed()
        self.rows = rows
        self._version += 1
        self._cursor = self._place(before)
        moved_by = self._cursor - was_at if self.selected == before else 0
        top = self.scroll_offset.y + moved_by * self.row_lines
        height = len(rows) * self.row_lines + self._titles_high
        self._blank_below = max(top + self.size.height - height, 0) if holds_line and top else 0
        self._measure()
        if moved_by and before is not None:
            self.scroll_to(y=top, animate=False, force=True)
        if self._cursor != was_at:
            self._show_cursor()
        if self.size and len(shown) == len(rows) and self._placed() == placed:
            self._refresh_rows(shown)
        else:
            self.refresh()
        if self.selected != before:
            self.post_message(self.Moved(is_own=False))

    def _placed(self) -> tuple[object, ...]:
        """Return what all lines depend on: with the same, a row that is the same looks the same."""
        return (
            self._fitted(self._width - EDGES),
            self._width,
            self.row_lines,
            self.scroll_offset,
            self._cursor,
            self._pinned,
        )

    def _refresh_rows(self, shown: list[Row]) -> None:
        """Have the lines of those rows painted again that are others than the `shown` ones."""
        high, top = self.row_lines, self.scroll_offset.y
        first, width = top // high, self.size.width
        pinned = self._pinned
        if pinned is not None and shown[pinned] != self.rows[pinned]:
            self.refresh(Region(0, self._titles_high, width, high))
        for index in range(first, min(first + self.size.height // high + 2, len(shown))):
            if shown[index] != self.rows[index]:
                self.refresh(Region(0, self._titles_high + index * high - top, width, high))

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns from now on; rows that fit them are to follow."""
        if columns != self.columns:
            self.columns = tuple(columns)
            self.rows = []
            self._version += 1

    def _measure(self) -> None:
        """Take the number of rows over into the scroll bar."""
        height = len(self.rows) * self.row_lines + self._titles_high + self._blank_below
        size = Size(self._width, height)
        if size != self.virtual_size:
            set_virtual_size(self, size)

    def select(self, key: str, *, below: int = 0) -> None:
        """Select the row of this key, if there is one; so many rows below it come into sight."""
        for index, row in enumerate(self.rows):
            if row.key == key:
                self._go(index, below=below)
                break

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

    def _go(self, index: int, step: int = 1, *, below: int = 0) -> None:
        index = self._nearest(index, step)
        if not self.rows or index == self._cursor:
            return
        self._cursor, self._below = index, below
        if self._blank_below:
            self._blank_below = 0
            self._measure()
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved(is_own=True))

    @property
    def _pinned(self) -> int | None:
        """The index of the row that stands in the first line in place of one of its group: its
        head, which has gone beyond the edge. None where the first line has its own row."""
        first, line = divmod(self.scroll_offset.y, self.row_lines)
        if line or first == self._cursor or not 0 < first < len(self.rows):
            return None
        under = self.rows[first].under
        heads = range(first - 1, -1, -1) if under else ()
        return next((index for index in heads if self.rows[index].key == under), None)

    def _show_cursor(self) -> None:
        """Scroll the selected row into sight, with what stands above it, and `_below` rows more."""
        if not self.size.height:
            return  # it has no place yet: `on_resize` comes
        high = self.row_lines
        is_under = 0 <= self._cursor < len(self.rows) and bool(self.rows[self._cursor].under)
        pinned = high if is_under else 0  # the head of its group stands above it
        room = self.size.height - self._titles_high - high - pinned
        below = max(min(self._below * high, room), 0)
        self.scroll_to_region(
            Region(0, self._cursor * high - pinned, 1, high + pinned + self._titles_high + below),
            animate=False,
            immediate=True,
            force=True,
            x_axis=False,
        )

    def action_move(self, step: int) -> None:
        """Select the next or previous row."""
        self._go(self._cursor + step, step)

    def action_page(self, step: int) -> None:
        """Move by a screenful."""
        page = (self.size.height - self._titles_high) // self.row_lines - 1
        self._go(self._cursor + step * max(page, 1), step)

    def action_edge(self, index: int) -> None:
        """Select the first or last row."""
        self._go(len(self.rows) - 1 if index else 0, -1 if index else 1)

    def action_open(self) -> None:
        """Open the selected row."""
        if self.selected is not None:
            self.post_message(self.Opened(self.selected))

    def on_click(self, event: events.Click) -> None:
        """Select the row under the mouse; a double click opens it. A title sorts."""
        if event.y < self._titles_high:
            for index, start, end in self.spans:
                if start <= event.x < end + GAP:
                    self.post_message(self.TitleChosen(index))
                    return
            return
        line = event.y - self._titles_high
        pinned = self._pinned if line < self.row_lines else None
        index = (line + self.scroll_offset.y) // self.row_lines if pinned is None else pinned
        if index < len(self.rows) and not self.rows[index].is_heading:
            self._go(index)
            is_on_mark = event.x < self.rows[index].opens_within
            if is_on_mark or event.chain == 2 or self._opens_on_click:
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

    def selection_updated(self, selection: Selection | None) -> None:
        """Show what is selected by the mouse."""
        super().selection_updated(selection)
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text that is selected by the mouse."""
        top = self.scroll_offset.y
        lines = [self._painted(y).text for y in range(self._titles_high)]
        rest = range(len(self.rows) * self.row_lines)
        lines += [self._painted(self._titles_high + y - top).text for y in rest]
        return extracted(selection, lines)

    def row_text(self, key: str) -> str:
        """Return the cells of a row as one line, whole."""
        for row in self.rows:
            if row.key == key:
                cells = (" ".join(cell.whole.split()) for cell in row.cells)
                return "  ".join(text for text in cells if text)
        return ""

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

    def _fitted(self, width: int) -> Widths:
        """Return (column, width) of the columns that fit, in order."""
        if self._layout_for != (self._version, width):
            self._layout_for = (self._version, width)
            self._layout = widths(
                self.columns, self.rows, max(width, 1), has_second=self.row_lines > 1
            )
        return self._layout

    def render_line(self, y: int) -> Strip:
        """Paint one line of the screen."""
        place = y if y < self._titles_high else y + self.scroll_offset.y
        return selectable(self, self._painted(y), 0, place)

    def _painted(self, y: int) -> Strip:
        """Return a line: the titles, a heading or a row's. Lines that did not change are kept."""
        is_title = y < self._titles_high
        at = y - self._titles_high + self.scroll_offset.y
        index, line = (-1, 0) if is_title else divmod(at, self.row_lines)
        if y - self._titles_high < self.row_lines and not is_title and self._pinned is not None:
            index = self._pinned
        row = self.rows[index] if 0 <= index < len(self.rows) else None
        width = self._width
        fitted = self._fitted(width - EDGES)
        is_selected = row is not None and index == self._cursor
        cells = (row.cells, row.indent) if row else None
        key = (is_title, cells, line, is_selected, width, fitted, is_title and self.sorted_by)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.clear()
            if is_title:
                strip = self._titles(width, fitted)
            elif row is None or (row.is_heading and line):
                strip = Strip.blank(width, self._style(""))
            elif row.is_heading:
                strip = self._heading(row, width)
            elif line:
                strip = self._second_line(row, width, is_selected=is_selected)
            else:
                strip = self._row(row, width, fitted, is_selected=is_selected)
            self._strips[key] = strip
        return strip

    def _titles(self, width: int, fitted: Widths) -> Strip:
        text = " " + (" " * GAP).join(
            fit(self._title(index), size, right=self.columns[index].right) for index, size in fitted
        )
        return Strip([Segment(fit(text, width), self._style("title"))], width)

    def _title(self, index: int) -> str:
        title = self.columns[index].title
        if self.sorted_by is not None and self.sorted_by[0] == index and title:
            return f"{title}{'▼' if self.sorted_by[1] else '▲'}"
        return title

    def _heading(self, row: Row, width: int) -> Strip:
        text = f" {_safe(row.cells[0].text)}"
        return Strip([Segment(fit(text, width), self._style("heading"))], width)

    def _row(self, row: Row, width: int, fitted: Widths, *, is_selected: bool) -> Strip:
        over = self._style("cursor") if is_selected else Style.null()
        plain = self._style("") + over
        segments = [Segment("▌" if is_selected else " ", plain)]
        for position, (index, size) in enumerate(row_widths(self.columns, row, fitted)):
            cell = row.cells[index]
            before = " " * (GAP if position else row.indent)
            room = size if position else size - row.indent
            segments.append(Segment(before, self._style(cell.glyph_tone or cell.tone) + over))
            segments += self._cell(cell, self.columns[index], room, over)
        return Strip(segments).adjust_cell_length(width, plain)

    def _cell(self, cell: Cell, column: Column, room: int, over: Style) -> list[Segment]:
        """Paint a cell, exactly `room` cells wide."""
        lead = [(f"{cell.glyph} ", cell.glyph_tone), *cell.lead] if cell.glyph else cell.lead
        segments: list[Segment] = []
        for text, tone in lead:
            safe = _safe(text)
            safe = safe if cell_len(safe) <= room else fit(safe, room)
            room -= cell_len(safe)
            segments.append(Segment(safe, self._style(tone) + over))
        rest = [(_safe(text), tone) for text, tone in cell.rest]
        text = _safe(cell.text)
        wide = sum(cell_len(text) for text, _ in rest)
        while rest:
            least = _LEAST_TEXT[min(len(rest), len(_LEAST_TEXT)) - 1]
            if room - wide >= min(cell_len(text), least):
                break
            wide -= cell_len(rest.pop(0)[0])
        room -= wide
        spare = max(room - cell_len(text), 0) if rest else 0
        text = fit(text, room - spare, right=column.right, cuts_middle=column.cuts_middle)
        segments += self._text(text, cell, over)
        segments += [Segment(text, self._style(tone) + over) for text, tone in rest]
        return [*segments, Segment(" " * spare, self._style("") + over)] if spare else segments

    def _text(self, text: str, cell: Cell, over: Style) -> list[Segment]:
        """Return a cell's text as it was fitted, with what is to be emphasised in it."""
        style = self._style(cell.tone) + over
        if not cell.marks:
            return [Segment(text, style)]
        match = style + self.get_component_rich_style("table--match", partial=True)
        return [
            Segment(part, match if is_mark else style) for part, is_mark in split(text, cell.marks)
        ]

    def _second_line(self, row: Row, width: int, *, is_selected: bool) -> Strip:
        over = self._style("cursor") if is_selected else Style.null()
        cell = next(
            cell for cell, column in zip(row.cells, self.columns, strict=False) if column.below
        )
        text = _safe(cell.text)
        edge = " " * (4 + row.indent)
        text = fit(text, max(width - cell_len(edge) - 2, 0))
        segments = [
            Segment(" " + edge, self._style("") + over),
            *self._text(text, cell, over),
        ]
        return Strip(segments).adjust_cell_length(width, self._style("") + over)


def _safe(text: str) -> str:
    return safe_text(text, limit=CELL_CHARS)
