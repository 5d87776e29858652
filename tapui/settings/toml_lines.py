"""The lines of keys in a TOML file, to say where something is wrong."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

_AT_LINE = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")

TomlPath = tuple[str | int, ...]
"""A key by its tables; the tables of an array are counted from 0."""


def key_lines(text: str) -> dict[TomlPath, int]:
    """Return the line (from 1) on which each key and table of valid TOML begins.

    Keys of tables that are written within a value are not listed.
    """
    found: dict[TomlPath, int] = {}
    table: TomlPath = ()
    counts: dict[TomlPath, int] = {}
    for line, statement in _statements(text):
        parsed = tomllib.loads(statement)
        if statement.startswith("["):
            table = max(_paths(parsed), key=len)
        if statement.startswith("[["):
            found.setdefault(table, line)
            counts[table] = counts.get(table, -1) + 1
            table = (*table, counts[table])
            found[table] = line
            continue
        for path in _paths(parsed):
            whole = path if statement.startswith("[") else table + path
            found.setdefault(whole, line)
    return found


def line_of(lines: dict[TomlPath, int], path: TomlPath) -> int:
    """Return the line of a key, or of the nearest table around it that is known."""
    return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), 1)


def syntax_fault(text: str, error: str) -> tuple[int | None, str]:
    """Return the line (from 1) that an error of the parser names, and what is wrong there."""
    where = _AT_LINE.search(error)
    if where is None:
        return None, error
    number = int(where["line"] or len(text.splitlines() or [""]))
    return number, error[: where.start()]


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Split valid TOML into its headers and its `key = value`s, each with its line.

    A statement ends with the first line up to which it is valid by itself.
    """
    begun, statement = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not statement and line.strip()[:1] in ("", "#"):
            continue
        begun, statement = (begun if statement else number), f"{statement}{line.lstrip()}\n"
        if _is_valid(statement):
            yield begun, statement
            statement = ""


def _is_valid(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _paths(table: dict[str, Any], prefix: TomlPath = ()) -> Iterator[TomlPath]:
    for name, value in table.items():
        yield (*prefix, name)
        if isinstance(value, dict):
            yield from _paths(value, (*prefix, name))
