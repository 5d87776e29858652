"""Long text from outside, to scroll through: every line made safe, wrapped, painted as needed."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from tapui.projection.paragraphs import Paragraph
from tapui.text import revealed, safe_text
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import fit
from tapui.tower.table.table import TONES
from tapui.tower.textual.diff_paint import SYNTAX, DiffPaint, DiffSpan
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


def side_by_side(part: Paragraph, width: int, columns: int) -> Paragraph | None:
    """Return the lines of a value in so many columns, each from top to bottom, with their numbers;
    None where one of them is too long for that."""
    lines = revealed(part.text, newlines=True).split("\n")
    digits, high = len(str(len(lines))), -(-len(lines) // columns)
    each = (width - cell_len(part.margin) - len(_BETWEEN) * (columns - 1)) // columns - digits - 2
    if high < 2 or any(cell_len(line) > each for line in lines):
        return None
    cells = [f"{number:>{digits}}  {fit(line, each)}" for number, line in enumerate(lines, 1)]
    rows = [_BETWEEN.join(cells[at::high]).rstrip() for at in range(high)]
    return part._replace(text="\n".join(rows), is_laid_out=True)


def _part_of(piece: "_Piece") -> int:
    return piece.part


_TAB = "    "
_BETWEEN = " │ "
_SIDES = {"+": "added", "-": "removed"}


class _Piece(NamedTuple):
    """A line of the screen: the index of its part, and where it begins in the part's safe text."""

    part: int
    start: int


def _pieces(line: str, room: int, hang: int) -> list[str]:
    """Split a line of a part into those of the screen, the further ones less wide by `hang`."""
    first, *rest = wrap(line, room)
    return [first, *(wrap(line[len(first) :], room - hang) if rest and hang else rest)]


def _continued(margin: str) -> str:
    """Return the margin of a line's further pieces: without its numbers."""
    return f"{'':{max(cell_len(margin) - 2, 0)}}{margin[-2:]}"


def _safe_spans(
    text: str, spans: Sequence[DiffSpan], shown: Callable[[str], str]
) -> Sequence[DiffSpan]:
    """Return the spans of a text, moved to their places in the safe text that `shown` makes of it;
    none where the pieces between them do not add up to that."""
    whole = shown(text)
    if whole == text or not spans:
        return spans
    edges = sorted({0, len(text), *(place for one in spans for place in one[:2])})
    moved, at, parts = {0: 0}, 0, []
    for start, end in pairwise(edges):
        parts.append(shown(text[start:end]))
        at += len(parts[-1])
        moved[end] = at
    if "".join(parts) != whole:
        return ()
    return [DiffSpan(moved[one.start], moved[one.end], one.look) for one in spans]


class Reader(LineView, can_focus=True, inherit_bindings=False):
    """Shows parts, all of them, however long. Lines of a diff have the words that changed in them
    and their language marked.

    With `reveals`, values are something to decide on: everything in them is made visible.
    """

    # Lines are wrapped at the width that a scrollbar leaves: none is ever covered or cut.
    DEFAULT_CSS = "Reader { scrollbar-gutter: stable; overflow-x: hidden; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "reader--heading",
        "reader--margin",
        *(f"reader--{tone}" for tone in TONES),
        *(f"reader--{sign}{of}" for sign in ("added", "removed") for of in ("", "-word")),
        *(f"reader--{look}" for look in SYNTAX),
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "up", "down", "page-up", "page-down", "first", "newest", "last"
    )

    class Scrolled(Message):
        """More or fewer lines are below what is shown."""

    def __init__(self, *, reveals: bool = False) -> None:
        super().__init__()
        self._reveals = reveals
        self._was_at_end = False
        self._to_be_read: int | None = None
        """How many of the parts are to be read before something is allowed; None: all."""
        self.parts: list[Paragraph] = []
        self._lines: list[Paragraph] = []
        self._pieces: list[_Piece] = []
        """By line of the screen."""
        self._diff = DiffPaint(())
        self._wrapped_at = 0

    def set_parts(self, parts: Iterable[Paragraph]) -> None:
        """Show these parts; nothing happens if they are the ones on show."""
        shown = list(parts)
        if shown != self.parts:
            self.parts = shown
            self._diff = DiffPaint(shown)
            self._lines, self._pieces, self._wrapped_at = [], [], 0
            self._was_at_end = False
            self._wrap()
            self._moved()

    def set_asked(self, asked: Sequence[Paragraph], more: Sequence[Paragraph] = ()) -> None:
        """Show something that is to be read before it is allowed, and below it what is known."""
        if self._to_be_read != len(asked):
            self._to_be_read = len(asked)
            self._was_at_end = False
        self.set_parts([*asked, *more])

    @property
    def was_read(self) -> bool:
        self._look()
        return self._was_at_end

    def _look(self) -> None:
        if self._wrapped_at and self.size.height > 0 and self.lines_below == 0:
            self._was_at_end = True

    def _moved(self) -> None:
        self._look()
        if self._reveals:
            self.post_message(self.Scrolled())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._moved()

    @property
    def lines_below(self) -> int:
        """How many lines that are to be read are below those in sight."""
        if self.parts and not self._wrapped_at:
            return len(self.parts)  # none of them is on the screen
        end = len(self._lines)
        if self._to_be_read is not None:
            end = bisect_left(self._pieces, self._to_be_read, key=_part_of)
        return max(end - self.scroll_offset.y - self.size.height, 0)

    @property
    def text(self) -> str:
        return "\n".join(line.margin + line.text for line in self._lines)

    @property
    def plain_text(self) -> str:
        """The parts as they came, without margins: what is copied."""
        return "\n".join(part.text for part in self.parts)

    def on_resize(self) -> None:
        self._wrap()
        self._moved()

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
        here = self.scrollable_content_region.width
        width = max(here, 8)
        if not here or self._wrapped_at == width:
            return  # without a place yet, `on_resize` comes
        self._wrapped_at = width
        wrapped = self._wrapped(self.parts, width)
        self._lines = [line for line, _piece in wrapped]
        self._pieces = [piece for _line, piece in wrapped]
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def _wrapped(self, parts: Iterable[Paragraph], width: int) -> list[tuple[Paragraph, _Piece]]:
        lines: list[tuple[Paragraph, _Piece]] = []
        for index, part in enumerate(parts):
            room = max(width - cell_len(part.margin), 1)  # a margin may take all of a narrow one
            hang = part.hang if part.hang * 3 <= room else 0
            start = 0
            for line in self._shown_text(part)(part.text).split("\n"):
                for piece in _pieces(line, room, hang):
                    margin = part.margin
                    if start and part.diff is not None:
                        margin = _continued(margin)
                    elif start:
                        margin += " " * hang
                    lines.append((part._replace(text=piece, margin=margin), _Piece(index, start)))
                    start += len(piece)
        return lines

    def lines_of(self, parts: Iterable[Paragraph], width: int | None = None) -> int:
        """Return how many lines these parts would have here, or in another width."""
        here = self.scrollable_content_region.width if width is None else width
        return len(self._wrapped(parts, max(here, 8)))

    def _shown_text(self, part: Paragraph) -> Callable[[str], str]:
        """Return what makes the text of a part safe, or a piece of it."""
        if self._reveals and part.margin and not part.is_laid_out:
            return partial(revealed, newlines=True)
        if part.diff is not None:
            return lambda text: safe_text(text.replace("\t", _TAB), newlines=True)
        return partial(safe_text, newlines=True)

    def place_of_part(self, part: int) -> tuple[int, int]:
        """Return the first and the last line of the screen that a part stands on."""
        first = bisect_left(self._pieces, part, key=_part_of)
        return first, max(bisect_right(self._pieces, part, key=_part_of) - 1, first)

    def part_at(self, y: int) -> int:
        """Return the index of the part on a line of the content, or of the one next to it."""
        return self._pieces[max(0, min(y, len(self._pieces) - 1))].part if self._pieces else 0

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
        text = fit(line.text, max(width - cell_len(line.margin), 0))
        if line.diff is not None:
            segments += self._diff_segments(self._pieces[index], text, style, line.diff.sign)
        else:
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, Style.null() + base)

    def _diff_segments(self, piece: _Piece, text: str, style: Style, sign: str) -> list[Segment]:
        """Return a line of a diff; `text` is what of it stands on this line of the screen."""
        side = _SIDES.get(sign, "")
        tint = self._background(side) if side else Style.null()
        has_tint = not side or tint.bgcolor is not None
        part = self.parts[piece.part]
        spans = _safe_spans(part.text, self._diff.spans(piece.part), self._shown_text(part))
        cuts = {0, len(text)} | ({1} if piece.start == 0 else set())
        cuts.update(
            place - piece.start
            for span in spans
            for place in (span.start, span.end)
            if 0 < place - piece.start < len(text)
        )
        edges = sorted(cuts)
        has_language = self._diff.has_language(piece.part)
        segments = []
        for start, end in pairwise(edges):
            at = start + piece.start
            looks = [one.look for one in spans if one.start <= at < one.end]
            is_plain = not at or sign in "@\\" or not has_language or not has_tint
            shown = (style if is_plain else self.rich_style) + tint
            for look in looks:
                if look == "word":
                    shown += self._background(f"{side}-word")
                elif has_tint:
                    shown += self._foreground(look)
            segments.append(Segment(text[start:end], shown))
        return segments

    def _foreground(self, look: str) -> Style:
        style = self.get_component_rich_style(f"reader--{look}", partial=True)
        return Style(color=style.color, bold=style.bold, italic=style.italic)

    def _background(self, look: str) -> Style:
        """Return a style with a mixed colour behind the text. With a terminal's own colours there
        is none: words are underlined there, and the text has the colour of its sign."""
        style = self.get_component_rich_style(f"reader--{look}")
        color = style.bgcolor
        is_mixed = color is not None and color.triplet is not None
        is_word = look.endswith("-word")
        return Style(
            bgcolor=color if is_mixed else None,
            bold=style.bold,
            underline=(is_word and not is_mixed) or None,
        )
