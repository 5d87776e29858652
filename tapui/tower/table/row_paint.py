"""How the lines of a table look: its titles, headings, rows and their second lines."""

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tapui.text import safe_text
from tapui.tower.table.columns import (
    CELL_CHARS,
    GAP,
    GLYPH,
    Cell,
    Column,
    Piece,
    Row,
    Widths,
    fit,
    row_widths,
    split,
)

_LEAST_TEXT = (8, 16, 32)
"""Cells that a cell's own text has before what stands behind it is left out: before the last piece
of that is, the last but one, and each one before it."""

_EDGES = {(False, False): " ", (False, True): "▌", (True, False): "+", (True, True): "╋"}
"""The first cell of a row, by whether it is marked and selected: colour is not the only sign."""


class RowPaint:
    """Paints lines in the styles of one table.

    `style(tone or part, is_selected)` returns a whole style, "" is the plain one; `match()` what is
    added to it where a text matches.
    """

    def __init__(self, style: Callable[[str, bool], Style], match: Callable[[], Style]) -> None:
        self._style = style
        self._match = match

    def titles(
        self,
        columns: Sequence[Column],
        fitted: Widths,
        width: int,
        *,
        sorted_by: tuple[int, bool] | None,
    ) -> Strip:
        """Return the line of titles; `sorted_by` is (column, whether the largest comes first)."""
        text = " " + (" " * GAP).join(
            fit(_title(columns, index, sorted_by), size, right=columns[index].right)
            for index, size in fitted
        )
        return Strip([Segment(fit(text, width), self._style("title", False))], width)

    def heading(self, row: Row, width: int) -> Strip:
        cell = row.cells[0]
        text = f" {_safe(cell.text)}"
        return Strip([Segment(fit(text, width), self._style(cell.tone or "heading", False))], width)

    def blank(self, width: int) -> Strip:
        return Strip.blank(width, self._style("", False))

    def row(
        self,
        columns: Sequence[Column],
        row: Row,
        fitted: Widths,
        width: int,
        *,
        is_selected: bool,
    ) -> Strip:
        """Return the line of a row, its first if it has two."""
        plain = self._style("", is_selected)
        edge = _EDGES[row.is_marked, is_selected]
        segments = [Segment(edge, self._style("accent" if row.is_marked else "", is_selected))]
        for position, (index, size) in enumerate(row_widths(columns, row, fitted)):
            cell = row.cells[index]
            before = " " * (GAP if position else row.indent)
            room = size if position else size - row.indent
            tone = cell.glyph_tone or cell.tone
            segments.append(Segment(before, self._style(tone, is_selected)))
            segments += self._cell(cell, columns[index], room, is_selected=is_selected)
        return Strip(segments).adjust_cell_length(width, plain)

    def second_line(
        self, columns: Sequence[Column], row: Row, width: int, *, is_selected: bool
    ) -> Strip:
        """Return the second line of a row: the cell of the column that stands below."""
        plain = self._style("", is_selected)
        cell = next(cell for cell, column in zip(row.cells, columns, strict=False) if column.below)
        edge = " " * (4 + row.indent)
        room = max(width - cell_len(edge) - 2, 0)
        segments = [
            Segment(" " + edge, plain),
            *self._cell(cell, Column("", 0), room, is_selected=is_selected),
        ]
        return Strip(segments).adjust_cell_length(width, plain)

    def _cell(self, cell: Cell, column: Column, room: int, *, is_selected: bool) -> list[Segment]:
        """Paint a cell, exactly `room` cells wide."""
        lead = _lead(cell, room - (GLYPH if cell.glyph else 0))
        lead = [(f"{cell.glyph} ", cell.glyph_tone), *lead] if cell.glyph else lead
        segments: list[Segment] = []
        for text, tone in lead:
            safe = _safe(text)
            safe = safe if cell_len(safe) <= room else fit(safe, room)
            room -= cell_len(safe)
            segments.append(Segment(safe, self._style(tone, is_selected)))
        rest = [(_safe(text), tone) for text, tone in cell.rest]
        text = _safe(cell.text)
        wide = sum(cell_len(text) for text, _ in rest)
        while rest:
            least = _LEAST_TEXT[min(len(rest), len(_LEAST_TEXT)) - 1]
            if room - wide >= min(cell_len(text), least):
                break
            wide -= cell_len(rest.pop(0)[0])
        room -= wide
        spare = max(room - cell_len(text), 0) if rest else 0
        text = fit(text, room - spare, right=column.right, cuts_middle=column.cuts_middle)
        segments += self._text(text, cell, is_selected=is_selected)
        segments += [Segment(text, self._style(tone, is_selected)) for text, tone in rest]
        if spare:
            segments.append(Segment(" " * spare, self._style("", is_selected)))
        return segments

    def _text(self, text: str, cell: Cell, *, is_selected: bool) -> list[Segment]:
        style = self._style(cell.tone, is_selected)
        if not cell.marks:
            return [Segment(text, style)]
        match = style + self._match()
        return [
            Segment(part, match if is_mark else style) for part, is_mark in split(text, cell.marks)
        ]


def _lead(cell: Cell, room: int) -> Sequence[Piece]:
    """Return what stands before a cell's text, in its longest form that fits."""
    if not cell.briefer or sum(cell_len(_safe(text)) for text, _ in cell.lead) <= room:
        return cell.lead
    fits = (text for text in cell.briefer if cell_len(_safe(text)) <= room)
    return [(next(fits, cell.briefer[-1]), cell.lead[0][1])]


def _title(columns: Sequence[Column], index: int, sorted_by: tuple[int, bool] | None) -> str:
    title = columns[index].title
    if sorted_by is not None and sorted_by[0] == index and title:
        return f"{title}{'▼' if sorted_by[1] else '▲'}"
    return title


def _safe(text: str) -> str:
    return safe_text(text, limit=CELL_CHARS)
