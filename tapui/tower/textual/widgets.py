"""Text that reaches a widget: made safe, and never read as markup."""

from typing import Any

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tapui.text import NAME_LENGTH, safe_text
from tapui.tower.wording.marks import Mark


def plain(text: object, style: str = "", *, limit: int | None = None) -> Content:
    """Return `text` as content that shows it literally on one line, in `style`."""
    return Content.styled(safe_text(str(text), limit=limit), style)


def plain_lines(text: object, style: str = "") -> Content:
    """Return `text` as `plain` does, with its line feeds kept."""
    return Content.styled(safe_text(str(text), newlines=True), style)


def tone_style(tone: str) -> str:
    """Return the style of content for a tone of `marks`."""
    return {"": "", "muted": "$text-muted", "strong": "bold"}.get(tone, f"${tone}")


def headline(mark: Mark, name: str, rest: str) -> Content:
    return Content("").join(
        [
            plain(f"{mark.text}  ", tone_style(mark.tone)),
            plain(name, "bold", limit=2 * NAME_LENGTH + 1),
            plain(f"  {rest}", "$text-muted"),
        ]
    )


def upper_edge(
    left: Content, note: str, tone: str, width: int, *, line: str = "$primary"
) -> Content:
    """Return what stands in the upper edge of a frame that is `width` cells wide: a title, and a
    note at its right; `line` is the colour of the edge between."""
    room = max(width - 6, 8)
    right = plain(f" {note}", tone_style(tone), limit=60) if note else plain("")
    left = left.truncate(max(room - right.cell_length - 1, 8), ellipsis=True)
    gap = room - left.cell_length - right.cell_length
    edge = plain(f" {'─' * max(gap - 1, 0)}", "$warning" if tone == "warning" else line)
    return left + edge + right if note and gap > 0 else left


def show_in(static: Static, content: Content) -> None:
    """Show `content` in `static`. Nothing happens if it shows that already, and the screen is laid
    out anew only if it takes another number of lines (a layout costs more than a frame)."""
    shown = static.content
    if not isinstance(shown, Content):
        static.update(content)
        return
    if content.is_same(shown):
        return
    if not static.is_on_screen:
        static.update(content, layout=False)  # it is laid out when it comes into sight
        return
    width = static.size.width
    is_as_high = width > 0 and content.get_height({}, width) == shown.get_height({}, width)
    static.update(content, layout=not is_as_high)


class TextLine(Widget):
    """One line of text, painted anew only when it changes. Parts of it can be clicked."""

    def __init__(self) -> None:
        super().__init__()
        self._line = Content("")
        self._spans: list[tuple[int, int, str]] = []

    def set_line(self, line: Content, spans: list[tuple[int, int, str]] | None = None) -> None:
        """Show a line; `spans` are (first cell, end, what a click there does)."""
        self._spans = spans or []
        if not line.is_same(self._line):
            self._line = line
            self.refresh()

    def at(self, x: int) -> str:
        """Return what a click on this cell does, "" for nothing."""
        return next((act for start, end, act in self._spans if start <= x < end), "")

    def render(self) -> Content:
        return self._line


class SafeInput(Input):
    """An input that makes everything that enters it safe for the screen. Its cursor stands still:
    nothing on the screen moves by itself."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.set_reactive(Input.cursor_blink, False)

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a part of the value by safe text: this is the way of keys and pastes alike."""
        super().replace(safe_text(text), start, end)
