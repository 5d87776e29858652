"""The forms of an answer: values as texts, comma-separated values, JSON, a table in Markdown."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from tapui.index.asking import AnswerTable
from tapui.text import safe_text

_MARKDOWN = str.maketrans({"|": "\\|", "\n": " ", "\r": " ", "`": "\\`", "<": "&lt;"})


def objects(table: AnswerTable) -> list[dict[str, Any]]:
    """Return a row as an object; columns of one name are numbered."""
    names = _unique(table.columns)
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def as_json(table: AnswerTable) -> str:
    """Return one array of objects, in ASCII."""
    return json.dumps(objects(table), indent=2) + "\n"


def as_csv(table: AnswerTable) -> str:
    """Return the values as they were recorded, not made safe for a screen."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def as_markdown(table: AnswerTable) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *texts(table)]
    lines = []
    for at, row in enumerate(rows):
        cells = row if at == 1 else [safe_text(one).translate(_MARKDOWN) for one in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def texts(table: AnswerTable) -> list[list[str]]:
    """Return the values as a person reads them, not made safe for a screen."""
    return [[_text(value) for value in row] for row in table.rows]


def number_columns(table: AnswerTable) -> set[int]:
    """Return the columns of numbers."""
    return {
        at
        for at in range(len(table.columns))
        if all(isinstance(row[at], int | float | None) for row in table.rows)
    }


def _unique(columns: Sequence[str]) -> list[str]:
    found: list[str] = []
    for column in columns:
        name, number = column, 2
        while name in found:
            name, number = f"{column}_{number}", number + 1
        found.append(name)
    return found


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return str(value)
