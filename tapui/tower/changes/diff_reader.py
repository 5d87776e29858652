"""The lines of a diff with a cursor: what is done there is about the line under it."""

from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from tapui.projection.paragraphs import DiffMark, Paragraph
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.reader import Reader


class DiffReader(Reader):
    """While it has the keys, up and down move the cursor over the lines of the diff; Enter opens.

    The cursor stays at its line when the diff is read again. Above the first line it is on the
    title, which stands outside of what is scrolled here.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"reader--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = bindings("open")

    class Opened(Message):
        """Enter on a line of the diff, or a second click."""

    class TitleReached(Message):
        """The cursor has come to the title, or has left it."""

    def __init__(self) -> None:
        super().__init__()
        self._cursor: int | None = None
        """The index of a part, None where no part is a line of a diff."""
        self.is_on_title = False

    @property
    def line(self) -> Paragraph | None:
        """The line under the cursor, or under the title; its `diff` is not None."""
        return self.parts[self._cursor] if self._cursor is not None else None

    def set_parts(self, parts: Iterable[Paragraph]) -> None:
        before = self.line.diff if self.line is not None else None
        super().set_parts(parts)
        known = self._cursor is not None and self._cursor < len(self.parts)
        if not known or self.line is None or self.line.diff != before:
            self._cursor = self._near(before)
            self.refresh()

    def _near(self, before: DiffMark | None) -> int | None:
        """Return the line that stands where the one of `before` stood; the first that changed
        without one."""
        lines = [(index, part.diff) for index, part in enumerate(self.parts) if part.diff]
        if before is None or not lines or lines[0][1].path != before.path:
            changed = (index for index, mark in lines if mark.sign in ("+", "-"))
            return next(changed, lines[0][0] if lines else None)
        place = before.new or before.old

        def away(one: tuple[int, DiffMark]) -> tuple[bool, int, bool]:
            mark = one[1]
            return mark.sign == "@", abs((mark.new or mark.old) - place), mark.sign != before.sign

        return min(lines, key=away)[0]

    def begin(self) -> None:
        """Another diff comes: the cursor goes to its first change."""
        self._cursor = None
        self._go_to_title(is_there=False)

    # The cursor

    @property
    def _first(self) -> int | None:
        return next((index for index, part in enumerate(self.parts) if part.diff), None)

    def _go_to_title(self, *, is_there: bool) -> None:
        if self.is_on_title != is_there:
            self.is_on_title = is_there
            self.post_message(self.TitleReached())
            self.refresh()

    def _go(self, index: int, step: int) -> None:
        """Go to the line of a diff at or next to a part, in this direction or back."""
        self._go_to_title(is_there=False)
        last = len(self.parts) - 1
        for direction in (step, -step):
            at = max(0, min(index, last))
            while 0 <= at <= last:
                if self.parts[at].diff is not None:
                    self._cursor = at
                    self._show_cursor()
                    self.refresh()
                    return
                at += direction

    def _show_cursor(self) -> None:
        if self._cursor is None or not self.size.height:
            return
        first, last = self.place_of_part(self._cursor)
        if self._cursor == self._first:
            first = 0  # what stands above it is not below any other line
        top, height = self.scroll_offset.y, self.size.height
        if first < top or last - first >= height:
            self.scroll_to(y=first, animate=False)
        elif last >= top + height:
            self.scroll_to(y=last - height + 1, animate=False)

    def action_move(self, step: int) -> None:
        if self._cursor is None:
            super().action_move(step)
        elif self._cursor == self._first and step < 0:
            self._go_to_title(is_there=True)
            self._show_cursor()
        elif self.is_on_title:
            self._go(self._cursor, 1)
        else:
            self._go(self._cursor + step, step)

    def action_page(self, step: int) -> None:
        if self._cursor is None:
            super().action_page(step)
            return
        y = self.place_of_part(self._cursor)[0] + step * max(self.size.height - 1, 1)
        self._go(self.part_at(y), step)

    def action_edge(self, index: int) -> None:
        if self._cursor is None:
            super().action_edge(index)
        else:
            self._go(len(self.parts) - 1 if index else 0, -1 if index else 1)

    def action_open(self) -> None:
        if self._cursor is not None and not self.is_on_title:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        at = self.part_at(event.y + self.scroll_offset.y)
        if self.parts and self.parts[at].diff is not None:
            self._go(at, 1)
            if event.chain == 2:
                self.action_open()

    def on_focus(self) -> None:
        self._show_cursor()
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def painted(self, y: int) -> Strip:
        strip = super().painted(y)
        line = y + self.scroll_offset.y
        if not self.has_focus or self._cursor is None or self.is_on_title:
            return strip
        first, last = self.place_of_part(self._cursor)
        if not first <= line <= last:
            return strip
        cursor = self.get_component_rich_style("reader--cursor")
        over = Style(bgcolor=cursor.bgcolor, bold=cursor.bold)
        return Strip(Segment.apply_style(strip, post_style=over), strip.cell_length)
