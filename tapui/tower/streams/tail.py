"""The tail of streams: lines painted as they come into sight, following or standing still."""

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from tapui.projection.state import StreamKey
from tapui.tower.app.buffers import Ring
from tapui.tower.app.tower import Tower
from tapui.tower.keys.bindings import bindings
from tapui.tower.streams.lines import Lines
from tapui.tower.streams.sources import TailRow
from tapui.tower.streams.tail_paint import (
    SHOWN_CHARS,
    RowLook,
    gutter_text,
    gutter_width,
    row_strip,
    shown_text,
    wrapped,
)
from tapui.tower.table.filter import Filter
from tapui.tower.textual.inside import after, set_virtual_size
from tapui.tower.textual.line_view import LineView
from tapui.wire.message import Level, Line

COLUMNS = 8
"""How far left and right move the text."""
_GO_ON_SECONDS = 0.02
_CUT = "…"
"""Ends a row of which more is to the right: that is seen by moving, or in the detail."""


class _Sight(NamedTuple):
    """What all lines of the screen depend on: the cells of a row and of a line, and which part of
    which row each shows."""

    row: int
    line: int
    placed: list[tuple[int, int]]


class Tail(LineView, can_focus=True):
    """The lines of one or more streams. It follows until the person moves up, and again at its end.

    The cursor stays on its row when others come before or behind it. Wrapped, a row takes as many
    lines as it needs; it still scrolls by rows.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tail--time",
        "tail--muted",
        "tail--strong",
        "tail--accent",
        "tail--error",
        "tail--link",
        "tail--figure",
        "tail--cursor",
        "tail--match",
        "tail--gap",
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "up", "down", "page-up", "page-down", "first", "newest", "last", "left", "right"
    )

    class Changed(Message):
        """It follows, stands still, or lines were filtered: what is said about it has changed."""

    class Edge(Message):
        """The person came near the first or last row that is here."""

        def __init__(self, *, is_older: bool) -> None:
            super().__init__()
            self.is_older = is_older

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.lines = Lines()
        self.is_wrapped = False
        self._look = RowLook({}, {})
        self._cursor_row: TailRow | None = None
        self._top_row: TailRow | None = None
        self._is_placing = False
        self._is_going_on = False
        self._widest = 0
        self._strips: LRUCache[tuple[int, int, bool, bool, int], list[Strip]] = LRUCache(512)
        self._styles: dict[str, Style] = {}
        self._placed: list[tuple[int, int]] | None = None
        self._placed_in = Size(0, 0)
        """The size that they were placed in: it changes before `on_resize` comes."""
        self._painted: list[object] = []
        self._seen: _Sight | None = None
        """While lines are rendered."""

    @property
    def rows(self) -> list[TailRow]:
        return self.lines.rows

    @property
    def cursor(self) -> int:
        """The index of the row that the cursor is on; following, the last. -1 without rows."""
        rows = self.rows
        if self._cursor_row is None or not rows:
            return len(rows) - 1
        return min(self.lines.row_of(self._cursor_row), len(rows) - 1)

    @property
    def row(self) -> TailRow | None:
        return self.rows[self.cursor] if self.rows else None

    @property
    def line(self) -> Line | None:
        row = self.row
        return row.line if row else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "shift":
            return not cast("Tower", self.app).has_detail
        return super().check_action(action, parameters)

    # What is shown

    def open(self, rings: Mapping[StreamKey, Ring]) -> None:
        self.lines.open(rings)
        self._cursor_row = self._top_row = None
        self._forget()
        self._scroll(x=0)
        self._work()

    def set_look(self, look: RowLook) -> None:
        if look != self._look:
            self._look = look
            self._forget()
            self._show_changes()

    def take(self, rings: Mapping[StreamKey, Ring]) -> None:
        """Show what happened to the rings; call it when it is time to paint.

        `Changed` is not posted for it.
        """
        self.lines.take(rings)
        self._paint()

    def set_filter(self, new: Filter | None) -> None:
        """Show what `new` lets through. Raises FilterError, and keeps the old one, if it is too
        slow."""
        self.lines.set_filter(new)
        self._forget()
        self._work()

    def set_levels(self, levels: frozenset[Level]) -> None:
        self.lines.set_levels(levels)
        self._work()

    def hide_above(self) -> None:
        """Hide what is above the cursor, and following all lines so far; or show it again."""
        lines = self.lines
        lines.hide_above(None if lines.is_following else self.row)
        self._cursor_row = self._top_row = None if lines.is_following else self._cursor_row
        self.screen.clear_selection()
        self._forget()
        self._work()

    def changed(self) -> None:
        """Pages were put into `lines`: show them, and keep the reader's place."""
        self.screen.clear_selection()
        self._work()

    def stand(self) -> None:
        """Follow no longer; the place stays."""
        self._stop()
        self._work()

    def go_to(self, index: int) -> None:
        """Put the cursor on a row, in sight, without following."""
        if self.rows:
            self._go(max(0, min(index, len(self.rows) - 1)), is_following=False)

    def find(self, step: int, wanted: Callable[[Line], bool]) -> bool:
        """Go to the next or previous row with such a line; return whether there is one."""
        at = self.cursor + step
        while 0 <= at < len(self.rows):
            if wanted(self.rows[at].line):
                self._go(at, is_following=False)
                return True
            at += step
        return False

    # Keys

    def action_toggle_pause(self) -> None:
        if self.lines.is_paused:
            self.lines.resume()
        else:
            self.lines.pause()
        self._work()

    def action_toggle_wrap(self) -> None:
        self.is_wrapped = not self.is_wrapped
        self.screen.clear_selection()
        self._scroll(x=0)
        self._forget()
        self._work()
        if not self.lines.is_following and self.rows:
            self._go(self.cursor, is_following=False)

    def action_follow(self) -> None:
        self._follow()
        self._work()

    def action_edge(self, index: int) -> None:
        if index:
            self.action_follow()
        elif self.rows:
            self._go(0)

    def action_move(self, step: int) -> None:
        """Go to the next or previous line; past the last one, follow."""
        if self.rows:
            self._go(self.cursor + step)

    def action_page(self, step: int) -> None:
        if self.rows:
            self._go(self.cursor + step * max(self.size.height - 1, 1))

    def action_shift(self, step: int) -> None:
        if not self.is_wrapped:
            self._scroll(x=self.scroll_offset.x + step * COLUMNS)

    # The mouse and the terminal

    def on_click(self, event: events.Click) -> None:
        placed = self._screen_lines()
        if event.y < len(placed) and not self.screen.get_selected_text():
            self._go(placed[event.y][0])

    def on_resize(self) -> None:
        """Keep the place: the end while following, else the cursor in sight."""
        self._forget()
        self._place()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._show_changes()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()
        self._painted = []

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The person scrolled by mouse: stand still, or follow again at the end."""
        super().watch_scroll_y(old_value, new_value)
        self._placed = None
        if self._is_placing or not self.rows or round(old_value) == round(new_value):
            return
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        self._top_row = self.rows[min(top, len(self.rows) - 1)]
        if new_value > old_value and top >= self.max_scroll_y:
            if self.lines.has_newer:
                self.post_message(self.Edge(is_older=False))
                return
            self._follow()
            self.call_next(self._work)
            return
        if new_value < old_value and top < self.max_scroll_y:
            self._stop()
        if not self.lines.is_following:  # else a larger window scrolled, not the person
            at = max(top, min(self.cursor, top + height - 1))
            self._cursor_row = self.rows[min(at, len(self.rows) - 1)]
            if new_value < old_value and top < height:
                self.post_message(self.Edge(is_older=True))

    def selection_updated(self, selection: Selection | None) -> None:
        """Show what is selected by the mouse; nothing moves under it."""
        super().selection_updated(selection)
        if selection is not None and self.lines.is_following:
            self.stand()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text that is selected by the mouse. Lines that are selected to their end are
        whole, also where the screen cuts them."""
        texts: list[str] = []
        width = self.scrollable_content_region.width
        placed = self._screen_lines()
        first = self.scroll_offset.y
        start, end = selection.start, selection.end
        top = start.y if start is not None else first
        bottom = end.y if end is not None else first + len(placed) - 1
        if self.is_wrapped:
            top, bottom = max(top, first), min(bottom, first + len(placed) - 1)
        for y in range(max(top, 0), bottom + 1):
            span = selection.get_span(y)
            if span is None:
                continue
            if self.is_wrapped:
                index, part = placed[y - first]
                strip = self._row_strips(index)[part]
            elif y < len(self.rows):
                index, part = y, 0
                row = self.rows[index]
                text = " " + gutter_text(row, self._look)
                text += shown_text(row, self._look, width, None)
                strip = Strip([Segment(text)])
            else:
                break
            stop = strip.cell_length if span[1] < 0 else span[1]
            text_ = strip.crop(max(span[0], 0), stop).text
            if self.is_wrapped and part:
                text_ = text_[gutter_width(self._look) :] if not span[0] else text_
                texts[-1:] = ["".join([*texts[-1:], text_])]
            else:
                texts.append(text_)
        return "\n".join(text.rstrip() for text in texts), "\n"

    # Within

    def _stop(self) -> None:
        if self.lines.is_following:
            row = self.row
            self._cursor_row = row
            if self.rows:
                self._top_row = self.rows[min(self.scroll_offset.y, len(self.rows) - 1)]
            self.lines.stop()
            self.post_message(self.Changed())

    def _follow(self) -> None:
        self._cursor_row = self._top_row = None
        self.lines.follow()
        self.post_message(self.Changed())

    def _go(self, index: int, *, is_following: bool = True) -> None:
        """Put the cursor on this row, in sight; beyond the last one, follow."""
        last = len(self.rows) - 1
        if index > last and self.lines.has_newer:
            self.post_message(self.Edge(is_older=False))
            index = last
        elif is_following and (index > last or (index == last and self.lines.is_following)):
            self.action_follow()
            return
        step = index - self.cursor
        self._stop()
        index = max(index, 0)
        self._cursor_row = self.rows[index]
        self._scroll(y=self._top_for(index))
        top = self.scroll_offset.y
        self._top_row = self.rows[min(top, last)]
        self._show_changes()
        if step <= 0 and top < self.size.height:
            self.post_message(self.Edge(is_older=True))

    def _top_for(self, index: int) -> int:
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if not self.is_wrapped:
            return max(min(top, index), index - height + 1)
        if index < top:
            return index
        used, least = 0, index
        for at in range(index, -1, -1):
            used += len(self._row_strips(at))
            if used > height:
                break
            least = at
        return max(top, least)

    def _work(self) -> None:
        self._paint()
        self.post_message(self.Changed())

    def _paint(self) -> None:
        is_unfinished = self.lines.work()
        if is_unfinished and not self._is_going_on:
            self._is_going_on = True
            after(_GO_ON_SECONDS, self, self._go_on)
        self._place()

    def _go_on(self) -> None:
        self._is_going_on = False
        self._work()

    def _place(self) -> None:
        """Size the scrolled area and put it where the person left it, or at the end."""
        self._placed = None
        self._measure()
        size = Size(self._widest, self._virtual_height())
        if size != self.virtual_size:
            self._is_placing = True
            set_virtual_size(self, size)
            self._is_placing = False
        if self.lines.is_following or self._top_row is None:
            self._scroll(y=self.max_scroll_y)
        else:
            self._scroll(y=self.lines.row_of(self._top_row))
        self._show_changes()

    def _show_changes(self) -> None:
        self._placed = None
        rows, cursor = self.rows, self.cursor if self.has_focus else -1
        shown: list[object] = [
            (rows[index], part, index == cursor) for index, part in self._screen_lines()
        ]
        shown = [(self._look, self.scroll_offset.x, self.size, self.lines.filter), *shown]
        before, self._painted = self._painted, shown
        if len(before) != len(shown) or before[0] != shown[0]:
            self.refresh()
            return
        pairs = zip(shown[1:], before[1:], strict=True)
        changed = [y for y, (one, other) in enumerate(pairs) if one != other]
        if len(changed) > len(shown) // 2:
            self.refresh()  # one region costs less than many
            return
        for y in changed:
            self.refresh(Region(0, y, self.size.width, 1))

    def _virtual_height(self) -> int:
        """Return the height with which the last row is at the bottom when scrolled to the end."""
        rows, height = self.rows, self.size.height
        if not self.is_wrapped:
            return len(rows)
        used = fitting = 0
        for index in range(len(rows) - 1, -1, -1):
            used += len(self._row_strips(index))
            if used > height and fitting:
                break
            fitting += 1
            if used >= height:
                break
        return len(rows) - fitting + height if used >= height else len(rows)

    def _screen_lines(self) -> list[tuple[int, int]]:
        if self._placed is not None and self._placed_in == self.size:
            return self._placed
        top, height, count = self.scroll_offset.y, self.size.height, len(self.rows)
        placed: list[tuple[int, int]] = []
        if not self.is_wrapped:
            placed = [(index, 0) for index in range(top, min(top + height, count))]
        elif top >= self.max_scroll_y:
            for index in range(count - 1, -1, -1):
                placed[:0] = [(index, part) for part in range(len(self._row_strips(index)))]
                if len(placed) >= height:
                    break
            placed = placed[-height:] if height else []
        else:
            for index in range(top, count):
                placed += [(index, part) for part in range(len(self._row_strips(index)))]
                if len(placed) >= height:
                    break
            placed = placed[:height]
        self._placed, self._placed_in = placed, self.size
        return placed

    def _scroll(self, *, x: int | None = None, y: int | None = None) -> None:
        """Scroll at once, without taking it for the person's scrolling."""
        self._is_placing = True
        try:
            self.scroll_to(x, y, animate=False, force=True)
        finally:
            self._is_placing = False
        self._placed = None

    def _measure(self) -> None:
        """Make room for the widest of the lines in sight; the room never shrinks, so that the
        place to the side is kept."""
        if self.is_wrapped:
            self._widest = self.size.width
            return
        top = max(len(self.rows) - self.size.height, 0) if self.lines.is_following else None
        start = self.scroll_offset.y if top is None else top
        gutter = gutter_width(self._look)
        for row in self.rows[start : start + self.size.height]:
            self._widest = max(self._widest, min(len(row.line.event), SHOWN_CHARS) + gutter)

    def _forget(self) -> None:
        self._strips.clear()
        self._widest = 0
        self._placed = None
        self._painted = []

    @property
    def _base(self) -> Style:
        style = self._styles.get("")
        if style is None:
            style = self._styles[""] = self.rich_style
        return style

    def _style(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = self.get_component_rich_style(
                f"tail--{name}", partial=True
            )
        return style

    def _row_strips(self, index: int, *, is_cursor: bool = False) -> list[Strip]:
        row = self.rows[index]
        # The scroll bar lies over the last cell.
        width = self._seen.row if self._seen else self.scrollable_content_region.width
        key = (row.order, row.seq, is_cursor, row.is_gap, width)
        strips = self._strips.get(key)
        if strips is None:
            strip = row_strip(
                row,
                self._look,
                self._style,
                base=self._base,
                width=width,
                used=self.lines.filter,
                is_cursor=is_cursor,
            )
            gutter = gutter_width(self._look)
            strips = wrapped(strip, gutter, width) if self.is_wrapped else [strip]
            self._strips[key] = strips
            cast("Tower", self.app).give_way()
        return strips

    def place_of(self, y: int) -> tuple[int, int]:
        x, top = self.scroll_offset
        return x, top + y

    def _sight(self) -> _Sight:
        return _Sight(self.scrollable_content_region.width, self.size.width, self._screen_lines())

    def render_lines(self, crop: Region) -> list[Strip]:
        self._seen = self._sight()
        try:
            return super().render_lines(crop)
        finally:
            self._seen = None

    def painted(self, y: int) -> Strip:
        scroll_x = self.scroll_offset.x
        row, width, placed = self._seen or self._sight()
        base = self._base
        if y >= len(placed):
            return Strip.blank(width, base)
        index, part = placed[y]
        is_cursor = self.has_focus and index == self.cursor
        strip = self._row_strips(index, is_cursor=is_cursor)[part]
        if strip.cell_length > self._widest:
            self._widest = strip.cell_length
            self.call_next(self._place)
        end = base + self._style("cursor") if is_cursor else base
        if strip.cell_length <= scroll_x + row or row < len(_CUT):
            return strip.crop_extend(scroll_x, scroll_x + width, end)
        left = strip.crop_extend(scroll_x, scroll_x + row - len(_CUT), end)
        cut = Segment(_CUT, end + self._style("muted"))
        return Strip.join([left, Strip([cut], len(_CUT))]).crop_extend(0, width, end)
