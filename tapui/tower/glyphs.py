"""Plain characters in place of glyphs, for terminals that draw those with another width."""

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_ASCII = str.maketrans(
    {
        "●": "*",
        "○": "o",
        "◌": "o",
        "◆": "#",
        "▲": "^",
        "▼": "v",
        "▸": ">",
        "▾": "v",
        "✓": "+",
        "✗": "x",
        "⊘": "-",
        "↻": "@",
        "·": ".",
        "…": "~",
        "→": ">",
        "←": "<",
        "↑": "^",
        "↓": "v",
        "⏎": "<",
        "‖": "=",
        "┊": ":",
        "▌": ">",
        "└": "`",
        "−": "-",
        "×": "x",
        "“": '"',
        "”": '"',
        **dict.fromkeys("─━═", "-"),
        **dict.fromkeys("│┃║", "|"),
        **dict.fromkeys("╭╮╰╯┌┐┘├┤┬┴┼", "+"),
        **dict.fromkeys("█▇▆▅▄▃▂▁", "#"),
    }
)


class AsciiGlyphs(LineFilter):
    """Draws everything with ASCII characters where the tower's own are others."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line with other characters."""
        del background
        return [
            Segment(text.translate(_ASCII), style, control) for text, style, control in segments
        ]
