"""The tail of a stream: lines painted as they come into sight, following or standing still."""

from typing import ClassVar, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tapui import times
from tapui.text import safe_text
from tapui.tower.app_protocol import Tower
from tapui.tower.filter import Filter
from tapui.tower.keys.bindings import bindings
from tapui.tower.levels import LEVEL
from tapui.tower.lines import Lines
from tapui.tower.rings import Ring
from tapui.tower.textual_inside import set_virtual_size
from tapui.wire.message import Line

SHOWN_CHARS = 2000
"""Characters of a line that its row shows; all of it is in the line's details."""
COLUMNS = 8
"""How far left and right move the text."""
_GO_ON_SECONDS = 0.02

_LEVEL_WIDTH = 9
_GUTTER = 1 + 9 + _LEVEL_WIDTH + 1
"""Cells before a row's text: the cursor, the time and the level."""


class Tail(ScrollView, can_focus=True):
    """The lines of one stream. It follows until the person moves up, and again at its end."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tail--time",
        "tail--muted",
        "tail--strong",
        "tail--accent",
        "tail--cursor",
        "tail--match",
        "tail--gap",
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "up", "down", "page-up", "page-down", "first", "last", "left", "right"
    )

    class Changed(Message):
        """It follows, stands still, or lines were filtered: what is said about it has changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.lines = Lines()
        self._cursor_seq: int | None = None
        self._top_seq: int | None = None
        self._is_placing = False
        self._is_going_on = False
        self._widest = 0
        self._strips: LRUCache[tuple[int, bool, bool], Strip] = LRUCache(512)
        self._styles: dict[str, Style] = {}

    @property
    def rows(self) -> list[Line]:
        """The lines that can be scrolled through."""
        return self.lines.rows

    @property
    def cursor(self) -> int:
        """The index of the row that the cursor is on; following, the last. -1 without rows."""
        rows = self.rows
        if self._cursor_seq is None or not rows:
            return len(rows) - 1
        return min(self.lines.row_of(self._cursor_seq), len(rows) - 1)

    @property
    def line(self) -> Line | None:
        """The line that the cursor is on."""
        return self.rows[self.cursor] if self.rows else None

    def open(self, ring: Ring) -> None:
        """Show another stream, from its end."""
        self.lines.open(ring)
        self._cursor_seq = self._top_seq = None
        self._forget()
        self._scroll(x=0)
        self._work()

    def take(self, ring: Ring) -> None:
        """Show what happened to the ring; call it when it is time to paint.

        `Changed` is not posted for it.
        """
        self.lines.take(ring)
        self._paint()

    def set_filter(self, new: Filter | None) -> None:
        """Show what `new` lets through. Raises FilterError, and keeps the old one, if it is too
        slow."""
        self.lines.set_filter(new)
        self._forget()
        self._work()

    def action_toggle_pause(self) -> None:
        """Stop painting, or go on."""
        if self.lines.is_paused:
            self.lines.resume()
        else:
            self.lines.pause()
        self._work()

    def action_follow(self) -> None:
        """Go to the end and follow."""
        self._follow()
        self._work()

    def action_edge(self, index: int) -> None:
        """Go to the oldest line, or to the newest one and follow."""
        if index:
            self.action_follow()
        elif self.rows:
            self._go(0)

    def action_move(self, step: int) -> None:
        """Go to the next or previous line; past the last one, follow."""
        if self.rows:
            self._go(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Go by a screenful."""
        if self.rows:
            self._go(self.cursor + step * max(self.size.height - 1, 1))

    def action_shift(self, step: int) -> None:
        """Move the text sideways."""
        self._scroll(x=self.scroll_offset.x + step * COLUMNS)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the line under the mouse."""
        index = event.y + self.scroll_offset.y
        if index < len(self.rows):
            self._go(index)

    def on_resize(self) -> None:
        """Keep the place: the end while following, else the cursor in sight."""
        self._place()

    def watch_has_focus(self, value: bool) -> None:
        """The cursor shows only while its keys work."""
        super().watch_has_focus(value)
        self.refresh()

    def notify_style_update(self) -> None:
        """The theme changed."""
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The person scrolled by mouse: stand still, or follow again at the end."""
        super().watch_scroll_y(old_value, new_value)
        if self._is_placing or not self.rows or round(old_value) == round(new_value):
            return
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        self._top_seq = self.rows[min(top, len(self.rows) - 1)].seq
        if new_value > old_value and top >= self.max_scroll_y:
            self._follow()
            self.call_next(self._work)
            return
        if new_value < old_value and top < self.max_scroll_y:
            self._stop()
        if not self.lines.is_following:  # else a larger window scrolled, not the person
            at = max(top, min(self.cursor, top + height - 1))
            self._cursor_seq = self.rows[min(at, len(self.rows) - 1)].seq

    def _stop(self) -> None:
        if self.lines.is_following:
            line = self.line
            self._cursor_seq = line.seq if line else None
            self.lines.stop()
            self.post_message(self.Changed())

    def _follow(self) -> None:
        self._cursor_seq = self._top_seq = None
        self.lines.follow()
        self.post_message(self.Changed())

    def _go(self, index: int) -> None:
        """Put the cursor on this row, in sight; beyond the last one, follow."""
        if index >= len(self.rows) or (index == len(self.rows) - 1 and self.lines.is_following):
            self.action_follow()
            return
        self._stop()
        index = max(index, 0)
        self._cursor_seq = self.rows[index].seq
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        self._scroll(y=max(min(top, index), index - height + 1))
        self._top_seq = self.rows[min(self.scroll_offset.y, len(self.rows) - 1)].seq
        self.refresh()

    def _work(self) -> None:
        self._paint()
        self.post_message(self.Changed())

    def _paint(self) -> None:
        """Filter what waits for it, a little at a time, and paint."""
        is_unfinished = self.lines.work()
        if is_unfinished and not self._is_going_on:
            self._is_going_on = True
            self.set_timer(_GO_ON_SECONDS, self._go_on)
        self._place()

    def _go_on(self) -> None:
        self._is_going_on = False
        self._work()

    def _place(self) -> None:
        """Size the scrolled area and put it where the person left it, or at the end."""
        rows = self.rows
        self._measure()
        size = Size(self._widest, len(rows))
        if size != self.virtual_size:
            self._is_placing = True
            set_virtual_size(self, size)
            self._is_placing = False
        if self.lines.is_following or self._top_seq is None:
            self._scroll(y=self.max_scroll_y)
        else:
            self._scroll(y=self.lines.row_of(self._top_seq))
        self.refresh()

    def _scroll(self, *, x: int | None = None, y: int | None = None) -> None:
        """Scroll at once, without taking it for the person's scrolling."""
        self._is_placing = True
        try:
            self.scroll_to(x, y, animate=False, force=True)
        finally:
            self._is_placing = False

    def _measure(self) -> None:
        """Make room for the widest of the lines in sight; the room never shrinks, so that the
        place to the side is kept."""
        top = max(len(self.rows) - self.size.height, 0) if self.lines.is_following else None
        start = self.scroll_offset.y if top is None else top
        for line in self.rows[start : start + self.size.height]:
            self._widest = max(self._widest, min(len(line.event), SHOWN_CHARS) + _GUTTER)

    def _forget(self) -> None:
        self._strips.clear()
        self._widest = 0

    def _style(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = self.get_component_rich_style(
                f"tail--{name}", partial=True
            )
        return style

    def render_line(self, y: int) -> Strip:
        """Paint one row of the screen."""
        scroll_x, scroll_y = self.scroll_offset
        width = self.size.width
        base = self.rich_style
        index = scroll_y + y
        if index >= len(self.rows):
            return Strip.blank(width, base)
        line = self.rows[index]
        is_cursor = self.has_focus and index == self.cursor
        is_gap = self._is_gap(index)
        key = (line.seq, is_cursor, is_gap)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._strip(line, base, is_cursor=is_cursor, is_gap=is_gap)
            cast("Tower", self.app).give_way()
            if strip.cell_length > self._widest:
                self._widest = strip.cell_length
                self.call_next(self._place)
        end = base + self._style("cursor") if is_cursor else base
        return strip.crop_extend(scroll_x, scroll_x + width, end)

    def _is_gap(self, index: int) -> bool:
        """Whether lines before this one never came here."""
        if self.lines.filter is not None or index == 0:
            return False
        return self.rows[index].seq != self.rows[index - 1].seq + 1

    def _strip(self, line: Line, base: Style, *, is_cursor: bool, is_gap: bool) -> Strip:
        mark = LEVEL[line.level]
        over = self._style("cursor") if is_cursor else Style.null()
        edge = "▌" if is_cursor else "┊" if is_gap else " "
        segments = [
            Segment(edge, base + (over if is_cursor else self._style("gap"))),
            Segment(f"{times.moment(line.ts):<8} ", base + self._style("time") + over),
            Segment(f"{mark.text:<{_LEVEL_WIDTH}} ", base + self._style(mark.tone) + over),
        ]
        text = safe_text(line.event, limit=SHOWN_CHARS)
        for piece, is_match in self._pieces(text):
            style = base + over
            segments.append(Segment(piece, style + self._style("match") if is_match else style))
        return Strip(segments, sum(cell_len(segment.text) for segment in segments))

    def _pieces(self, text: str) -> list[tuple[str, bool]]:
        """Split a row's text at what the filter looks for."""
        needle = self.lines.filter.needle if self.lines.filter else ""
        folded = text.casefold()
        if not needle or len(folded) != len(text):
            return [(text, False)]
        pieces: list[tuple[str, bool]] = []
        at = 0
        while (found := folded.find(needle, at)) >= 0:
            pieces += [(text[at:found], False), (text[found : found + len(needle)], True)]
            at = found + len(needle)
        return [*((piece, hit) for piece, hit in pieces if piece), (text[at:], False)]
