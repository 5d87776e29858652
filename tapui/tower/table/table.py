"""A table for live rows: painted line by line, columns that fit, a selection that stays put."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, cast

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from tapui.tower.app.tower import Tower
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import (
    GAP,
    Column,
    Row,
    Widths,
    lines_of,
    widths,
    without_bare_headings,
)
from tapui.tower.table.row_paint import RowPaint
from tapui.tower.textual.inside import set_virtual_size
from tapui.tower.textual.line_view import LineView, extracted

TONES = ("muted", "primary", "success", "warning", "error", "accent", "strong")
_KEPT_STRIPS = 600
EDGES = 2
"""Cells of the cursor before a row and of the blank behind it."""


class _Look(NamedTuple):
    """What all lines depend on: with the same, a row that is the same looks the same.

    `high` is the number of lines of a row, `top` the first line in sight below the titles, `end`
    the first line below those in sight, `pinned` the index of the row that stands in the first line
    in place of one of its group.
    """

    fitted: Widths
    width: int
    high: int
    top: int
    end: int
    cursor: int
    pinned: int | None


class Table(LineView, can_focus=True, inherit_bindings=False):
    """Rows under a line of titles. Up, down and the usual letters move; Enter opens.

    The selection follows its row's key when rows come and go, and that row stays on its line of the
    screen where the rows above and below it allow: nothing but a key or the mouse brings another
    row under the cursor, while its row is there. Narrower than `two_lines_below`, a row has two
    lines if it has a column for the second one. The head of a group (`Row.under`) stays in sight
    above the rows of the group. With `hides_cursor` the selected row stands out only while the
    table has the keys.
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
        "open", "up", "down", "page-up", "page-down", "first", "newest", "last"
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

    class Scrolled(Message):
        """Other rows are in sight, or in other columns."""

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
        hides_cursor: bool = False,
    ) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.rows: list[Row] = []
        self.sorted_by: tuple[int, bool] | None = None
        self.on_newest: Callable[[], None] | None = None
        """Goes to the newest row, where that is not the first one."""
        self._titles_high = int(has_titles)
        self._two_lines_below = two_lines_below
        self._opens_on_click = opens_on_click
        self._hides_cursor = hides_cursor
        self._covered = 0
        self._cursor = 0
        self._below = 0
        self._layout: Widths = ()
        self._layout_for: tuple[int, int] = (-1, -1)
        self._version = 0
        self._tones: dict[tuple[str, bool], Style] = {}
        self._strips: dict[tuple[object, ...], Strip] = {}
        self._paint = RowPaint(
            self._style, partial(self.get_component_rich_style, "table--match", partial=True)
        )
        self._blank_below = 0
        self._seen: _Look | None = None

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def row_lines(self) -> int:
        below = self._two_lines_below
        return lines_of(self.columns, self._width, below=below) if below else 1

    @property
    def selected(self) -> str | None:
        if 0 <= self._cursor < len(self.rows):
            return self.rows[self._cursor].key or None
        return None

    @property
    def cursor(self) -> int:
        return self._cursor

    @property
    def in_sight(self) -> tuple[int, int]:
        """The rows that can be seen whole, from (index) to (index behind the last), without one in
        place of which the head of its group stands."""
        high, room = self.row_lines, self.size.height - self._titles_high - self._covered
        top = self.scroll_offset.y
        first = min(-(-top // high) + (self._pinned(top, high) is not None), len(self.rows))
        return first, max(min((top + room) // high, len(self.rows)), first)

    @property
    def is_on_first(self) -> bool:
        return self._cursor == self._nearest(0, 1)

    @property
    def spans(self) -> list[tuple[int, int, int]]:
        """(index, first cell, end) of the columns that are shown, in the table's content."""
        spans: list[tuple[int, int, int]] = []
        x = 1
        for index, size in self._fitted(self._width - EDGES, self.row_lines):
            spans.append((index, x, x + size))
            x += size + GAP
        return spans

    def set_rows(
        self, rows: list[Row], *, at: str | None = None, below: int = 0, holds_line: bool = False
    ) -> None:
        """Show these rows; only what is on screen is painted, and nothing if they are the same.

        The selection goes to the row of the key `at`, if there is one, and so many rows below it
        come into sight. Else it stays on its row, and where rows come above that, it stays on its
        line as far as those below it allow; with `holds_line` always: blank lines follow the last
        row then, until the person moves. Without it all rows are in sight where there is room.
        """
        rows = without_bare_headings(rows)
        if self._version and rows == self.rows and at in (None, self.selected):
            return
        before, was_at = self.selected, self._cursor
        shown, look = self.rows, self._look()
        self.rows = rows
        self._version += 1
        goes = self._index_of(at)
        self._cursor = self._place(before) if goes is None else goes
        moved_by = self._cursor - was_at if goes is None and self.selected == before else 0
        top = self.scroll_offset.y + moved_by * self.row_lines
        height = len(rows) * self.row_lines + self._titles_high
        if not holds_line and height + self._covered <= self.size.height:
            top = 0
        self._blank_below = max(top + self.size.height - height, 0) if holds_line and top else 0
        self._measure()
        if before is not None and top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)
        if goes is not None:
            self._below = below
        if self._cursor != was_at or goes is not None:
            self._show_cursor()
        if self.size and len(shown) == len(rows) and self._look() == look:
            self._refresh_rows(shown, look)
        else:
            self.refresh()
        if self.selected != before:
            self.post_message(self.Moved(is_own=False))

    def _look(self) -> _Look:
        width, high, top = self._width, self.row_lines, self.scroll_offset.y
        return _Look(
            self._fitted(width - EDGES, high),
            width,
            high,
            top,
            self.size.height - self._covered,
            -1 if self._hides_cursor and not self.has_focus else self._cursor,
            self._pinned(top, high),
        )

    def _refresh_rows(self, shown: list[Row], look: _Look) -> None:
        """Have the lines of those rows painted again that are others than the `shown` ones."""
        high, top, pinned = look.high, look.top, look.pinned
        first, width = top // high, self.size.width
        changed: list[Region] = []
        if pinned is not None and shown[pinned] != self.rows[pinned]:
            changed.append(Region(0, self._titles_high, width, high))
        end = min(first + self.size.height // high + 2, len(shown))
        for start, stop in _changes(shown, self.rows, first, end):
            y = self._titles_high + start * high - top
            changed.append(Region(0, y, width, (stop - start) * high))
        if changed:
            self.refresh(*changed)

    def set_titles(self, has_titles: bool) -> None:
        """Show a line with the columns' titles, or give it to the rows."""
        if self._titles_high != has_titles:
            self._titles_high = int(has_titles)
            self._strips.clear()
            self._measure()
            self._show_cursor()
            self.refresh()

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns from now on; rows that fit them are to follow."""
        if columns != self.columns:
            self.columns = tuple(columns)
            self.rows = []
            self._version += 1
            self._strips.clear()
            self._measure()
            self.refresh()  # what follows may be no rows at all, which changes nothing more

    def _measure(self) -> None:
        """Take the number of rows over into the scroll bar."""
        height = len(self.rows) * self.row_lines + self._titles_high + self._blank_below
        if height > self.size.height - self._covered:
            height += self._covered  # the last rows can be scrolled out from under the cover
        size = Size(self._width, height)
        if size != self.virtual_size:
            set_virtual_size(self, size)

    def set_covered(self, lines: int) -> None:
        """Something lies over so many of the last lines: the cursor does not go below it."""
        if lines != self._covered:
            self._covered = lines
            self._measure()
            self.refresh()  # a heading may have lost its rows, or have them again

    def select(self, key: str, *, below: int = 0) -> None:
        """Select the row of this key, if there is one; so many rows below it come into sight."""
        index = self._index_of(key)
        if index is not None:
            self._go(index, below=below)

    def _index_of(self, key: str | None) -> int | None:
        if key is None:
            return None
        return next((index for index, row in enumerate(self.rows) if row.key == key), None)

    def _place(self, key: str | None) -> int:
        index = self._index_of(key)
        return self._nearest(min(self._cursor, len(self.rows) - 1), 1) if index is None else index

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

    def _pinned(self, top: int, high: int) -> int | None:
        """The index of the row that stands in the first line in place of one of its group: its
        head, which has gone beyond the edge. None where the first line has its own row."""
        first, line = divmod(top, high)
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
        least = high + pinned + self._titles_high
        below = max(min(self._below * high + self._covered, self.size.height - least), 0)
        self.scroll_to_region(
            Region(0, self._cursor * high - pinned, 1, least + below),
            animate=False,
            immediate=True,
            force=True,
            x_axis=False,
        )

    def action_move(self, step: int) -> None:
        self._go(self._cursor + step, step)

    def action_page(self, step: int) -> None:
        page = (self.size.height - self._titles_high) // self.row_lines - 1
        self._go(self._cursor + step * max(page, 1), step)

    def action_edge(self, index: int) -> None:
        self._go(len(self.rows) - 1 if index else 0, -1 if index else 1)

    def action_newest(self) -> None:
        if self.on_newest is not None:
            self.on_newest()
        else:
            self.action_edge(0)

    def action_open(self) -> None:
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
        high, top = self.row_lines, self.scroll_offset.y
        pinned = self._pinned(top, high) if line < high else None
        index = (line + top) // high if pinned is None else pinned
        if index < len(self.rows) and not self.rows[index].is_heading:
            self._go(index)
            is_on_mark = event.x < self.rows[index].opens_within
            if is_on_mark or event.chain == 2 or self._opens_on_click:
                self.action_open()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Scrolled())

    def notify_style_update(self) -> None:
        """The theme changed: look its colours up again."""
        super().notify_style_update()
        self._tones.clear()
        self._strips.clear()

    def on_resize(self) -> None:
        self._measure()
        self._show_cursor()
        self.post_message(self.Scrolled())

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        high = len(self.rows) * self.row_lines + self._titles_high
        whole = self._look()._replace(top=0, end=high + 1, pinned=None)
        lines = range(high)
        return extracted(selection, [self._line(y, whole).text for y in lines])

    def row_text(self, key: str) -> str:
        """Return the cells of a row as one line, whole."""
        for row in self.rows:
            if row.key == key:
                cells = (" ".join(cell.whole.split()) for cell in row.cells)
                return "  ".join(text for text in cells if text)
        return ""

    def _style(self, name: str, is_selected: bool) -> Style:
        style = self._tones.get((name, is_selected))
        if style is None:
            if is_selected:
                cursor = self.get_component_rich_style("table--cursor")
                # Tones keep their colours.
                style = self._style(name, False) + Style(bgcolor=cursor.bgcolor, bold=cursor.bold)
            elif name:
                style = self._style("", False) + self.get_component_rich_style(f"table--{name}")
            else:
                style = self.rich_style
            self._tones[name, is_selected] = style
        return style

    def _fitted(self, width: int, high: int) -> Widths:
        if self._layout_for != (self._version, width):
            self._layout_for = (self._version, width)
            self._layout = widths(self.columns, self.rows, max(width, 1), has_second=high > 1)
        return self._layout

    def render_lines(self, crop: Region) -> list[Strip]:
        self._seen = self._look()
        try:
            return super().render_lines(crop)
        finally:
            self._seen = None

    def place_of(self, y: int) -> tuple[int, int]:
        return 0, y if y < self._titles_high else y + self.scroll_offset.y

    def painted(self, y: int) -> Strip:
        """Return a line of the screen: the titles, a heading or a row's."""
        return self._line(y, self._seen or self._look())

    def _line(self, y: int, look: _Look) -> Strip:
        """Paint a line of the screen. Lines that did not change are kept."""
        is_title = y < self._titles_high
        at = y - self._titles_high + look.top
        index, line = (-1, 0) if is_title else divmod(at, look.high)
        if look.pinned is not None and not is_title and y - self._titles_high < look.high:
            index = look.pinned
        row = self.rows[index] if 0 <= index < len(self.rows) else None
        if row is not None and row.heads_rows and y + look.high >= look.end:
            row = None  # the first of its rows is out of sight
        width, fitted = look.width, look.fitted
        is_selected = row is not None and index == look.cursor
        cells = (row.cells, row.indent, row.is_marked) if row else None
        key = (is_title, cells, line, is_selected, width, fitted, is_title and self.sorted_by)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.clear()
            paint, columns = self._paint, self.columns
            if is_title:
                strip = paint.titles(columns, fitted, width, sorted_by=self.sorted_by)
            elif row is None or (row.is_heading and line):
                strip = paint.blank(width)
            elif row.is_heading:
                strip = paint.heading(row, width)
            elif line:
                strip = paint.second_line(columns, row, width, is_selected=is_selected)
            else:
                strip = paint.row(columns, row, fitted, width, is_selected=is_selected)
            self._strips[key] = strip
            cast("Tower", self.app).give_way()
        return strip


def _changes(before: list[Row], now: list[Row], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the rows from `first` to `end` that are others now, next to each other
    as one."""
    start = None
    for index in range(first, end):
        if before[index] != now[index]:
            start = index if start is None else start
        elif start is not None:
            yield start, index
            start = None
    if start is not None:
        yield start, end
