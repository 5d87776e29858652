"""Changing what a `Static` shows without laying the whole screen out for it."""

from textual.content import Content
from textual.widgets import Static


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
