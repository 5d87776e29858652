"""What a table shows, how its columns share the width, and the order of its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise, zip_longest
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from tapui.text import safe_text

GAP = 2
GLYPH = 2
"""Cells of a glyph and the blank behind it."""
CELL_CHARS = 400
"""A cell holds no more of its text: no screen is wider."""

Widths = tuple[tuple[int, int], ...]
"""(index of a column, its width) of the columns that are shown."""


Marks = tuple[tuple[int, int], ...]
"""Places in a text, as (start, end), in order."""
Piece = tuple[str, str]
"""A text from anywhere, and its tone."""


class Cell(NamedTuple):
    """Text from anywhere (the table makes it safe) and a tone; a glyph may stand before it.

    `marks` are places in `text` to emphasise: for text that is safe already (`emphasis`).
    `lead` stands before the text, `rest` right behind it, in tones of their own. Where room is
    short the text is cut, then pieces of the rest go, the first ones first.
    """

    text: str
    tone: str = ""
    glyph: str = ""
    glyph_tone: str = ""
    marks: Marks = ()
    lead: tuple[Piece, ...] = ()
    rest: tuple[Piece, ...] = ()

    @property
    def whole(self) -> str:
        """All of its text, without the glyph."""
        if not self.lead and not self.rest:
            return self.text
        parts = (text for text, _tone in (*self.lead, (self.text, ""), *self.rest))
        return "".join(parts)


@dataclass(frozen=True, slots=True)
class Column:
    """A column between `least` and `most` cells wide, as its content needs.

    Where the table is too narrow, the column of the highest `rank` goes first; rank 0 stays. One
    that `is_spare` goes as soon as another would be cut for it. One that `grows` takes what the
    others leave, and `half` of the table at least where that can be (a quarter, if it is spare).
    `is_common`: it is not shown while it is the same in all rows. `cuts_middle`: where a text is
    too long its middle is left out, not its end, and only where its row is full: it takes what the
    growing column right of it leaves there. `below`: where rows have two lines, this column is the
    second one.
    """

    title: str
    least: int
    most: int = 0
    rank: int = 0
    is_spare: bool = False
    right: bool = False
    grows: bool = False
    half: bool = False
    is_common: bool = False
    cuts_middle: bool = False
    below: bool = False


@dataclass(frozen=True)
class Row:
    """A row by its key; without cells for all columns it is a heading: its first cell, alone.

    `indent` moves the first column and the second line to the right: the row belongs to the one
    above it. `values` are what it is sorted by, one for each column that can be sorted by. `under`
    is the key of the row that heads its group: it stays in sight above the group's rows. One click
    on the first `opens_within` cells opens it: there is a mark of what that does.
    """

    key: str
    cells: tuple[Cell, ...]
    is_heading: bool = False
    indent: int = 0
    under: str = ""
    opens_within: int = 0
    values: Mapping[int, str | float] = field(default_factory=dict, compare=False)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple([cell.whole for cell in self.cells])

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The width of each cell on the screen, with its glyph; of the first, with the indent."""
        sizes = [
            _width_of(text) + (GLYPH if cell.glyph else 0)
            for text, cell in zip(self.texts, self.cells, strict=True)
        ]
        sizes[0] += self.indent
        return tuple(sizes)


def heading(text: str) -> Row:
    return Row("", (Cell(text),), is_heading=True)


def first_key(rows: Sequence[Row]) -> str | None:
    """Return the key of the first row that can be selected, None where there is none."""
    return next((row.key for row in rows if not row.is_heading), None)


def fit(text: str, width: int, *, right: bool = False, cuts_middle: bool = False) -> str:
    """Return `text` exactly `width` cells wide, with a `…` where it was cut."""
    length = cell_len(text)
    if length > width:
        if width <= 0:
            return ""
        if cuts_middle and width > 4:
            tail = (width - 1) // 2
            return set_cell_size(text, width - 1 - tail) + "…" + _last_cells(text, tail)
        return set_cell_size(text, width - 1) + "…"
    pad = " " * (width - length)
    return pad + text if right else text + pad


def _last_cells(text: str, width: int) -> str:
    """Return the end of `text`, exactly `width` cells wide."""
    end = text[-width:]
    while cell_len(end) > width:
        end = end[1:]
    return " " * (width - cell_len(end)) + end


def lines_of(columns: Sequence[Column], width: int, *, below: int) -> int:
    """Return how many lines a row has: two where the table is narrower than `below` and has a
    column for the second one."""
    return 2 if width < below and any(column.below for column in columns) else 1


def widths(
    columns: Sequence[Column], rows: Sequence[Row], width: int, *, has_second: bool
) -> Widths:
    """Return which columns are shown and how wide they are; with a second line, without its
    column.

    Columns go while not even the least widths fit, then spare ones that would cut others. The rest
    have what their content wants, less what is too much; what is left goes to the growing one.
    """
    counted = [row for row in rows if not row.is_heading]
    texts = list(zip_longest(*[row.texts for row in counted], fillvalue=""))
    sizes = zip_longest(*[row.widths for row in counted], [0] * len(columns), fillvalue=0)
    longest = list(map(max, sizes))
    shown = [
        index
        for index, column in enumerate(columns)
        if not (has_second and column.below)
        and not _is_hidden(column, index, texts[index] if index < len(texts) else (), rows)
    ]
    wants = {index: _want(columns[index], longest[index]) for index in shown}
    least = {
        index: min(wants[index], width // 2) if columns[index].half else columns[index].least
        for index in shown
    }
    _drop_ranked(columns, shown, least, width)
    _drop_spare(columns, shown, wants, width)
    growing = [index for index in shown if columns[index].grows]
    for index in growing:
        wants[index] = max(columns[index].least, min(wants[index], least[index]))
    over = sum(wants[index] for index in shown) + GAP * (len(shown) - 1) - width
    by_rank = sorted(shown, key=lambda index: -columns[index].rank)
    for index in sorted(by_rank, key=lambda index: columns[index].grows):
        over -= _shrink(wants, index, over, columns[index].least)
    for index in by_rank:  # narrower than all of them can be
        over -= _shrink(wants, index, over, 1)
    takes_rest = growing or shown[:has_second]
    if over < 0 and takes_rest:
        wants[takes_rest[0]] -= over
    return tuple((index, wants[index]) for index in shown)


def _shrink(wants: dict[int, int], index: int, over: int, least: int) -> int:
    """Take what is too much from a column, down to its least width; return how much that was."""
    taken = min(max(over, 0), max(wants[index] - least, 0))
    wants[index] -= taken
    return taken


def _drop_ranked(
    columns: Sequence[Column], shown: list[int], least: Mapping[int, int], width: int
) -> None:
    """Take columns from `shown`, of the highest rank first, until their least widths fit."""
    while len(shown) > 1:
        needed = sum(least[index] for index in shown) + GAP * (len(shown) - 1)
        worst = max(shown, key=lambda index: columns[index].rank)
        if needed <= width or columns[worst].rank == 0:
            return
        shown.remove(worst)


def _drop_spare(
    columns: Sequence[Column], shown: list[int], wants: Mapping[int, int], width: int
) -> None:
    """Take the spare columns from `shown` that would cut others, or be cut themselves."""

    def need(index: int) -> int:
        if not columns[index].grows:
            return wants[index]
        return min(wants[index], width // (4 if columns[index].is_spare else 2))

    spare = [index for index in shown if columns[index].is_spare]
    for index in sorted(spare, key=lambda index: -columns[index].rank):
        if sum(map(need, shown)) + GAP * (len(shown) - 1) <= width:
            break
        shown.remove(index)


def row_widths(columns: Sequence[Column], row: Row, fitted: Widths) -> Widths:
    """Return the widths of a row's cells: those of the columns, but what the growing one leaves in
    this row goes to names left of it that would be cut."""
    at = next((at for at, (index, _) in enumerate(fitted) if columns[index].grows), 0)
    sizes = [size for _, size in fitted]
    for name in range(at):
        index = fitted[name][0]
        if columns[index].cuts_middle:
            lacks = row.widths[index] - sizes[name]
            if lacks > 0:
                taken = max(min(lacks, sizes[at] - row.widths[fitted[at][0]]), 0)
                sizes[name] += taken
                sizes[at] -= taken
    return tuple((index, size) for (index, _), size in zip(fitted, sizes, strict=True))


def _want(column: Column, longest: int) -> int:
    """Return the width that a column has for content of this width, within its bounds."""
    most = max(column.most, column.least) if not column.grows else CELL_CHARS
    return max(column.least, min(most, max(longest, cell_len(column.title))))


def _is_hidden(column: Column, index: int, texts: Sequence[str], rows: Sequence[Row]) -> bool:
    """Return whether a column says nothing: it is empty, or common and the same in several rows."""
    if not any(texts):
        return bool(rows) and index > 0 and not column.grows
    return column.is_common and len(rows) > 1 and len(set(texts)) == 1


@lru_cache(maxsize=8192)
def _width_of(text: str) -> int:
    return cell_len(safe_text(text, limit=CELL_CHARS))


def emphasis(text: str, marks: Marks) -> tuple[str, Marks]:
    """Return a text made safe, and where its marked parts are in that.

    Where a text cannot be made safe part by part, nothing of it is marked.
    """
    safe = safe_text(text)
    if safe == text:
        return safe, marks
    parts: list[str] = []
    moved: list[tuple[int, int]] = []
    at = 0
    for part, is_mark in split(text, marks):
        shown = safe_text(part)
        parts.append(shown)
        if is_mark:
            moved.append((at, at + len(shown)))
        at += len(shown)
    return safe, tuple(moved) if "".join(parts) == safe else ()


def split(text: str, marks: Marks) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with whether it is marked; marks beyond its end are cut."""
    at = 0
    for start, end in marks:
        if not at <= start < len(text):
            continue
        if at < start:
            yield text[at:start], False
        yield text[start:end], True
        at = end
    if at < len(text):
        yield text[at:], False


def sorted_rows(rows: list[Row], column: int, *, is_reversed: bool) -> list[Row]:
    """Return rows sorted by their values of a column; headings are left out."""
    groups = _groups([row for row in rows if not row.is_heading])
    groups.sort(key=lambda group: _value(group[0], column), reverse=is_reversed)
    return [row for group in groups for row in group]


def held(rows: list[Row], key: str | None, at: int, *, crosses: bool = False) -> list[Row]:
    """Return rows in this order, except that the one of `key` stays as near to the index `at` as
    it can: within its part of the rows, which headings divide, or beyond if it `crosses` them."""
    groups = _groups(rows)
    mine = next((group for group in groups if any(row.key == key for row in group)), None)
    if key is None or mine is None or (len(rows) > at and rows[at].key == key):
        return rows
    within = next(index for index, row in enumerate(mine) if row.key == key)
    place = groups.index(mine)
    others = [group for group in groups if group is not mine]
    starts = [0]
    for group in others:
        starts.append(starts[-1] + len(group))
    headings = [number for number, group in enumerate(others) if group[0].is_heading]
    first, last = 0, len(others)
    if not crosses:
        first = max((one + 1 for one in headings if one < place), default=first)
        last = min((one for one in headings if one >= place), default=last)
    best = min(range(first, last + 1), key=lambda one: abs(starts[one] + within - at))
    ordered = [*others[:best], mine, *others[best:]]
    return [row for group in ordered for row in group]


def _groups(rows: list[Row]) -> list[list[Row]]:
    starts = [index for index, row in enumerate(rows) if not row.indent or index == 0]
    return [rows[start:end] for start, end in pairwise([*starts, len(rows)])]


def _value(row: Row, column: int) -> tuple[bool, float, str]:
    """Return what a row is sorted by: numbers before texts, and what has none last."""
    value = row.values.get(column)
    if value is None:
        return True, 0.0, ""
    if isinstance(value, str):
        return False, 0.0, value.casefold()
    return False, float(value), ""
