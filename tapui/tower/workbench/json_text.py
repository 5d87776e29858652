"""JSON as text that is safe on every screen and in every shell, and still the same value."""

import json
import re
from functools import lru_cache

from tapui.text import safe_text

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MAX_DIGITS = 400
_ODD = re.compile(r"[^ -~\n]")


def is_number(text: str, *, is_whole: bool = False) -> bool:
    """Return whether a text is a JSON number, a whole one if need be."""
    found = _NUMBER.match(text) if len(text) <= _MAX_DIGITS else None
    return found is not None and not (is_whole and (found[2] or found[3]))


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a decoded JSON value as JSON in which a screen shows every character as it is.

    On one line unless `indent` is given. Raises `ValueError` or `RecursionError` for a value that
    is no JSON (a lone surrogate is escaped, not refused).
    """
    separators = (", ", ": ") if indent is None else (",", ": ")
    return escaped(
        json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, separators=separators)
    )


def escaped(text: str) -> str:
    """Return a JSON text, whole or not, with what a screen would not show as it is as `\\uXXXX`.

    Line feeds stay, a tab becomes two blanks: outside of strings, JSON does not tell them apart.
    """
    text = text.replace("\r\n", "\n").replace("\t", "  ")
    if safe_text(text, newlines=True) == text:
        return text
    return _ODD.sub(lambda found: _shown(found[0]), text)


def shell_text(value: object) -> str:
    """Return a decoded JSON value as JSON on one line for single quotes of any shell: it has no
    quote and no backslash but those of JSON's own escapes, which all shells leave alone."""
    text = json_text(value)
    return text.replace("\\\\", "\\u005c").replace("'", "\\u0027")


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    """Return a character as it is where a screen shows it, whatever stands before it."""
    return char if safe_text(f"a{char * 3}") == f"a{char * 3}" else _code(char)


def _code(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
