"""Text that is selected by dragging, in widgets that paint their own lines."""

from rich.style import Style
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
    """Return how selected text looks."""
    return widget.screen.get_component_rich_style("screen--selection")
