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
_NARROW = 40
"""Cells of the only table of a very narrow terminal; none beside others has less."""
_LEAST_NAME = 8
"""Cells of the first column for which others go there."""
_LEAST_CUT = 6
"""Cells to which each column is cut before one is cut to nothing."""
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
    short the text is cut, then pieces of the rest go, the first ones first. Where the lead has no
    room, the first of `briefer` that has stands instead of it, in the tone of its first piece.
    """

    text: str
    tone: str = ""
    glyph: str = ""
    glyph_tone: str = ""
    marks: Marks = ()
    lead: tuple[Piece, ...] = ()
    rest: tuple[Piece, ...] = ()
    briefer: tuple[str, ...] = ()

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
    second one. `is_fixed`: its width does not depend on what its cells hold: it has `most`, or
    what the width of the table leaves of that. `stays`: where a very narrow table leaves too little
    of the first one, those go that do not stay. `flows`: where the cell right of it is empty, a
    longer text goes on in that; no column moves.
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
    is_fixed: bool = False
    stays: bool = False
    flows: bool = False


@dataclass(frozen=True)
class Row:
    """A row by its key; without cells for all columns it is a heading: its first cell, alone.

    A heading that `heads_rows` is shown only above a row; others say something by themselves.
    `indent` moves the first column and the second line to the right: the row belongs to the one
    above it. `values` are what it is sorted by, one for each column that can be sorted by. `under`
    is the key of the row that heads its group: it stays in sight above the group's rows. One click
    on the first `opens_within` cells opens it: there is a mark of what that does. `calls_out` is
    what the frame says of it while it stands above the window: what asks, or failed. One that
    `is_marked` has a sign in the cell before the first column. In one that `is_wide` the first two
    cells have all of the line.
    """

    key: str
    cells: tuple[Cell, ...]
    is_heading: bool = False
    heads_rows: bool = False
    indent: int = 0
    under: str = ""
    opens_within: int = 0
    calls_out: Piece | None = None
    is_marked: bool = False
    is_wide: bool = False
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


def heading(text: str, *, heads_rows: bool = False) -> Row:
    return Row("", (Cell(text),), is_heading=True, heads_rows=heads_rows)


def without_bare_headings(rows: list[Row]) -> list[Row]:
    """Return the rows without headings of rows that have none below them."""
    if not any(row.heads_rows for row in rows):
        return rows
    ends = (row is None or row.heads_rows for row in [*rows[1:], None])
    return [
        row for row, is_last in zip(rows, ends, strict=True) if not (row.heads_rows and is_last)
    ]


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
    Where a very narrow table has too little of the first one, it and those that stay are alone.
    """
    fitted = _fitted(columns, rows, width, range(len(columns)), has_second=has_second)
    staying = [at for at, column in enumerate(columns) if column.stays or at == 0]
    if width >= _NARROW or not any(column.stays for column in columns):
        return fitted
    if fitted[0][1] >= _LEAST_NAME and set(staying) <= {index for index, _ in fitted}:
        return fitted
    return _fitted(columns, rows, width, staying, has_second=has_second, all_stay=True)


def _fitted(
    columns: Sequence[Column],
    rows: Sequence[Row],
    width: int,
    among: Sequence[int],
    *,
    has_second: bool,
    all_stay: bool = False,
) -> Widths:
    """Return the widths of the columns `among` these that have room, or of all of these."""
    counted = [row for row in rows if not (row.is_heading or row.is_wide)]
    texts = list(zip_longest(*[row.texts for row in counted], fillvalue=""))
    sizes = zip_longest(*[row.widths for row in counted], [0] * len(columns), fillvalue=0)
    longest = list(map(max, sizes))
    shown = [
        index
        for index, column in enumerate(columns)
        if index in among
        and not (has_second and column.below)
        and not _is_hidden(column, index, texts[index] if index < len(texts) else (), rows)
    ]
    wants = {index: _want(columns[index], longest[index]) for index in shown}
    least = {
        index: min(wants[index], width // 2) if columns[index].half else columns[index].least
        for index in shown
    }
    if not all_stay:
        _drop_ranked(columns, shown, least, width)
        _drop_spare(columns, shown, wants, width)
    growing = [index for index in shown if columns[index].grows]
    for index in growing:
        wants[index] = max(columns[index].least, min(wants[index], least[index]))
    over = sum(wants[index] for index in shown) + GAP * (len(shown) - 1) - width
    by_rank = sorted(shown, key=lambda index: -columns[index].rank)
    for index in sorted(by_rank, key=lambda index: columns[index].grows):
        over -= _shrink(wants, index, over, columns[index].least)
    for cut_to in (_LEAST_CUT, 1) if width < _NARROW else (1,):  # narrower than all can be
        for index in by_rank:
            over -= _shrink(wants, index, over, cut_to)
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
    this row goes to names left of it that would be cut. A fixed one gets it only where no column
    stands between that would move."""
    at = next((at for at, (index, _) in enumerate(fitted) if columns[index].grows), 0)
    sizes = [size for _, size in fitted]
    if row.is_wide:
        room = sum(sizes) + GAP * (len(sizes) - 1)
        left = room - row.widths[0] - GAP
        has_both = left > 0 and any(index == 1 for index, _ in fitted)
        return ((0, row.widths[0]), (1, left)) if has_both else ((0, room),)
    for name in range(at):
        index = fitted[name][0]
        if columns[index].cuts_middle and (name == at - 1 or not columns[index].is_fixed):
            lacks = row.widths[index] - sizes[name]
            if lacks > 0:
                taken = max(min(lacks, sizes[at] - row.widths[fitted[at][0]]), 0)
                sizes[name] += taken
                sizes[at] -= taken
    given = tuple((index, size) for (index, _), size in zip(fitted, sizes, strict=True))
    index, size = given[at]
    if columns[index].flows and row.widths[index] > size and at + 1 < len(given):
        beside, more = given[at + 1]
        if not row.widths[beside]:
            return (*given[:at], (index, size + GAP + more), *given[at + 2 :])
    return given


def _want(column: Column, longest: int) -> int:
    """Return the width that a column has for content of this width, within its bounds."""
    most = max(column.most, column.least) if not column.grows else CELL_CHARS
    if column.is_fixed:
        return most
    return max(column.least, min(most, max(longest, cell_len(column.title))))


def _is_hidden(column: Column, index: int, texts: Sequence[str], rows: Sequence[Row]) -> bool:
    """Return whether a column says nothing: it is empty, or common and the same in several rows."""
    if column.is_fixed:
        return False
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
