"""Text that is selected by dragging, in widgets that paint their own lines."""

from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget


def selectable(widget: Widget, strip: Strip, x: int, y: int) -> Strip:
    """Return a painted line so that the mouse can select in it, what is selected shown as such.

    `x` and `y` are the line's place in the widget's content.
    """
    selection = widget.text_selection
    span = selection.get_span(y) if selection is not None else None
    if span is not None:
        start, end = max(span[0] - x, 0), strip.cell_length if span[1] < 0 else span[1] - x
        end = min(end, strip.cell_length)
        if start < end:
            strip = _marked(strip, start, end, _style(widget))
    return strip.apply_offsets(x, y)


def extracted(selection: Selection, lines: list[str]) -> tuple[str, str]:
    """Return the selected part of a widget's lines, without the blanks at their ends."""
    text = selection.extract("\n".join(lines))
    return "\n".join(line.rstrip() for line in text.splitlines()), "\n"


def _marked(strip: Strip, start: int, end: int, style: Style) -> Strip:
    parts = [strip.crop(0, start), strip.crop(start, end), strip.crop(end)]
    parts[1] = parts[1].apply_style(style)
    return Strip.join(parts)


def _style(widget: Widget) -> Style:
    return widget.screen.get_component_rich_style("screen--selection")
