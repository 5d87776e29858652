"""Text that reaches a widget: made safe, and never read as markup."""

from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea
from textual.widgets.text_area import Edit, EditResult

from tapui.text import NAME_LENGTH, safe_text
from tapui.tower.keys.bindings import bindings
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


class SafeArea(TextArea):
    """A field for a text of several lines, as high as that, which makes everything that enters it
    safe for the screen. Enter submits it, and so no paste does; Alt and Enter, or Ctrl+J, begin a
    line."""

    DEFAULT_CSS = """
    SafeArea { height: auto; min-height: 1; max-height: 5; padding: 0; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", show=False),
        *bindings("new-line"),
    ]

    class Submitted(Message):
        """Enter was pressed."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    def __init__(
        self,
        text: str = "",
        *,
        max_length: int,
        select_on_focus: bool = False,
        **options: Any,
    ) -> None:
        self._most = max_length
        self._selects = select_on_focus
        safe = safe_text(text, newlines=True)
        super().__init__(safe, compact=True, highlight_cursor_line=False, **options)
        self.set_reactive(TextArea.cursor_blink, False)
        self.move_cursor(self.document.end)

    @property
    def value(self) -> str:
        return self.text

    @value.setter
    def value(self, text: str) -> None:
        self.load_text(safe_text(text, newlines=True)[: self._most])
        self.move_cursor(self.document.end)

    def edit(self, edit: Edit) -> EditResult:
        """Change the text: keys and pastes alike come this way."""
        replaced = len(self.get_text_range(edit.top, edit.bottom))
        room = max(self._most - len(self.text) + replaced, 0)
        text = edit.text[: 2 * room].replace("\r\n", "\n").replace("\r", "\n")
        edit.text = safe_text(text[:room], newlines=True)[:room]
        return super().edit(edit)

    def on_focus(self) -> None:
        if self._selects:
            self.select_all()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Up in the first line and down in the last one are keys of what is around it."""
        if action == "cursor_up":
            return not self.navigator.is_first_wrapped_line(self.cursor_location)
        if action == "cursor_down":
            return not self.navigator.is_last_wrapped_line(self.cursor_location)
        return super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()  # no line feed

    def on_paste(self, event: events.Paste) -> None:
        event.stop()

    def action_submit(self) -> None:
        self.post_message(self.Submitted(self.value))

    def action_new_line(self) -> None:
        self.insert("\n", maintain_selection_offset=False)
