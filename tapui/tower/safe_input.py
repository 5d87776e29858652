"""The input for everything that is typed or pasted."""

from typing import Any

from textual.widgets import Input

from tapui.text import safe_text


class SafeInput(Input):
    """An input that makes everything that enters it safe for the screen. Its cursor stands still:
    nothing on the screen moves by itself."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.set_reactive(Input.cursor_blink, False)

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a part of the value by safe text: this is the way of keys and pastes alike."""
        super().replace(safe_text(text), start, end)
