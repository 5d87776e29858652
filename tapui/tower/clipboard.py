"""Copying out of the tower, also over ssh: the terminal itself is asked to (OSC 52)."""

from textual.dom import DOMNode

from tapui.text import safe_text
from tapui.wire.message import Line

MAX_CHARS = 64 * 1024
"""Characters that are copied: terminals drop what is much longer."""


def copy_line(where: DOMNode, line: Line) -> None:
    """Copy a line's text, made safe: what is pasted into a shell is one line and shows itself."""
    text = safe_text(line.event, limit=MAX_CHARS)
    where.app.copy_to_clipboard(text)
    length = len(line.event)
    said = f"{MAX_CHARS:,} of {length:,} characters copied" if length > MAX_CHARS else "Line copied"
    where.app.notify(said, markup=False, timeout=2)
