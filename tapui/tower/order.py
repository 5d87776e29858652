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


def held(rows: list[Row], key: str | None, at: int) -> list[Row]:
    """Return rows in this order, except that the one of `key` stays as near to the index `at` as
    it can. Below the first heading nothing is moved."""
    end = next((index for index, row in enumerate(rows) if row.is_heading), len(rows))
    groups = _groups(rows[:end])
    mine = next((group for group in groups if any(row.key == key for row in group)), None)
    if key is None or mine is None:
        return rows
    within = next(index for index, row in enumerate(mine) if row.key == key)
    others = [group for group in groups if group is not mine]
    starts = [0]
    for group in others:
        starts.append(starts[-1] + len(group))
    best = min(range(len(starts)), key=lambda place: abs(starts[place] + within - at))
    ordered = [*others[:best], mine, *others[best:]]
    return [row for group in ordered for row in group] + rows[end:]


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
