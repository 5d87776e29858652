"""A scrolled widget that paints its own lines as they are asked for, with text to select."""

from rich.style import Style
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget


def marked(strip: Strip, selection: Selection, x: int, y: int, style: Style) -> Strip:
    """Return a painted line, what is selected in it shown as such.

    `x` and `y` are the line's place in the widget's content.
    """
    span = selection.get_span(y)
    if span is None:
        return strip
    start, end = max(span[0] - x, 0), strip.cell_length if span[1] < 0 else span[1] - x
    end = min(end, strip.cell_length)
    if start >= end:
        return strip
    return Strip.join(
        [strip.crop(0, start), strip.crop(start, end).apply_style(style), strip.crop(end)]
    )


def extracted(selection: Selection, lines: list[str]) -> tuple[str, str]:
    """Return the selected part of a widget's lines, without the blanks at their ends."""
    text = selection.extract("\n".join(lines))
    return "\n".join(line.rstrip() for line in text.splitlines()), "\n"


def selection_style(widget: Widget) -> Style:
    return widget.screen.get_component_rich_style("screen--selection")


class LineView(ScrollView):
    """Subclasses return the lines of the screen from `painted`, and keep those that do not change.

    Without a border, and without padding but at the right, its lines go to the screen without the
    work that Textual does for each line of any widget: that took as long as painting them.
    """

    def action_edge(self, index: int) -> None:
        """Go to the first line, or with another index than 0 to the last one."""
        raise NotImplementedError

    def action_newest(self) -> None:
        self.action_edge(0)

    def painted(self, y: int) -> Strip:
        raise NotImplementedError

    def place_of(self, y: int) -> tuple[int, int]:
        """Return where a line of the screen begins in the content, as (x, y)."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        return self._shown(y, self.text_selection).apply_offsets(*self.place_of(y))

    def render_lines(self, crop: Region) -> list[Strip]:
        gutter = self.styles.gutter
        if gutter.top or gutter.bottom or gutter.left:
            return super().render_lines(crop)
        filters = self.get_line_filters()
        width = self.outer_size.width
        background = self.background_colors[1]
        edge = Style(bgcolor=background.rich_color)
        selection = self.text_selection
        shown = (self._shown(y, selection) for y in crop.line_range)
        strips = [strip.adjust_cell_length(width, edge) for strip in shown]
        for line_filter in filters:
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        start, end = crop.column_span
        return [strip.crop(start, end) for strip in strips]

    def selection_updated(self, selection: Selection | None) -> None:
        super().selection_updated(selection)
        self.refresh()

    def _shown(self, y: int, selection: Selection | None) -> Strip:
        strip = self.painted(y)
        if selection is None:
            return strip
        return marked(strip, selection, *self.place_of(y), selection_style(self))
