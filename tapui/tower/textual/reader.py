"""Long text from outside, to scroll through: every line made safe, wrapped, painted as needed."""

from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip

from tapui.projection.paragraphs import Paragraph
from tapui.text import revealed, safe_text
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import fit
from tapui.tower.table.table import TONES
from tapui.tower.textual.line_view import LineView, extracted


def wrap(text: str, width: int) -> list[str]:
    """Split one line into pieces of at most `width` cells: after a space if one is near, else after
    a slash."""
    lines: list[str] = []
    start = 0
    while start < len(text):
        end = _room(text, start, width)
        if end < len(text):
            near = start + (end - start) * 2 // 3
            gap = max(text.rfind(" ", near, end), 0) or text.rfind("/", near, end)
            end = gap + 1 if gap > 0 else end
        lines.append(text[start:end])
        start = end
    return lines or [""]


def _room(text: str, start: int, width: int) -> int:
    """Return where a piece that begins at `start` ends, with no regard to words."""
    piece = text[start : start + width]
    if piece.isascii():
        return start + len(piece)
    used = 0
    for offset, char in enumerate(piece):
        used += cell_len(char)
        if used > width:
            return start + max(offset, 1)
    return start + len(piece)


class Reader(LineView, can_focus=True, inherit_bindings=False):
    """Shows parts, all of them, however long.

    With `reveals`, values are something to decide on: everything in them is made visible.
    """

    # Lines are wrapped at the width that a scrollbar leaves: none is ever covered or cut.
    DEFAULT_CSS = "Reader { scrollbar-gutter: stable; overflow-x: hidden; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "reader--heading",
        "reader--margin",
        *(f"reader--{tone}" for tone in TONES),
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "up", "down", "page-up", "page-down", "first", "last"
    )

    def __init__(self, *, reveals: bool = False) -> None:
        super().__init__()
        self._reveals = reveals
        self._was_at_end = False
        self.parts: list[Paragraph] = []
        self._lines: list[Paragraph] = []
        self._wrapped_at = 0

    def set_parts(self, parts: Iterable[Paragraph]) -> None:
        """Show these parts; nothing happens if they are the ones on show."""
        shown = list(parts)
        if shown != self.parts:
            self.parts = shown
            self._wrapped_at = 0
            self._was_at_end = False
            self._wrap()
            self._look()

    @property
    def was_read(self) -> bool:
        self._look()
        return self._was_at_end

    def _look(self) -> None:
        if self.size.height > 0 and self.lines_below == 0:
            self._was_at_end = True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._look()

    @property
    def lines_below(self) -> int:
        return max(len(self._lines) - self.scroll_offset.y - self.size.height, 0)

    @property
    def text(self) -> str:
        return "\n".join(line.margin + line.text for line in self._lines)

    @property
    def plain_text(self) -> str:
        """The parts as they came, without margins: what is copied."""
        return "\n".join(part.text for part in self.parts)

    def on_resize(self) -> None:
        self._wrap()
        self._look()

    def action_move(self, step: int) -> None:
        self.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        self.scroll_relative(y=step * max(self.size.height - 1, 1), animate=False)

    def action_edge(self, index: int) -> None:
        self.scroll_to(y=self.max_scroll_y if index else 0, animate=False)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return extracted(selection, [line.margin + line.text for line in self._lines])

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def _wrap(self) -> None:
        width = max(self.scrollable_content_region.width, 8)
        if self._wrapped_at == width:
            return
        self._wrapped_at = width
        self._lines = []
        for part in self.parts:
            room = width - cell_len(part.margin)
            shown = (
                revealed if self._reveals and part.margin and not part.is_laid_out else safe_text
            )
            for line in shown(part.text, newlines=True).split("\n"):
                self._lines.extend(part._replace(text=piece) for piece in wrap(line, room))
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def place_of(self, y: int) -> tuple[int, int]:
        return 0, y + self.scroll_offset.y

    def painted(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        base = self.rich_style
        index = y + self.scroll_offset.y
        if index >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[index]
        style = base + self.get_component_rich_style(f"reader--{line.tone}") if line.tone else base
        segments = []
        if line.margin:
            margin = base + self.get_component_rich_style("reader--margin")
            segments.append(Segment(line.margin, margin))
        segments.append(Segment(fit(line.text, max(width - cell_len(line.margin), 0)), style))
        return Strip(segments).adjust_cell_length(width, Style.null() + base)
