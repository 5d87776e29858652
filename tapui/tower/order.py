"""The order of a table's rows: sorted as the person wants it, without moving what they are on.

A row and the indented ones below it are a group, which stays together.
"""

from itertools import pairwise

from tapui.tower.columns import Row


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
