"""A call as a line for the shell: what is pasted makes the same call."""

import json
import re
import shlex
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from tapui import invocation
from tapui.text import cut, safe_text

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MAX_DIGITS = 400
_ODD = re.compile(r"[^ -~\n]")


def is_number(text: str, *, is_whole: bool = False) -> bool:
    """Return whether a text is a JSON number, a whole one if need be."""
    number = _NUMBER.match(text) if len(text) <= _MAX_DIGITS else None
    return number is not None and not (is_whole and (number[2] or number[3]))


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a decoded JSON value as JSON in which a screen shows every character itself.

    On one line unless `indent` is given. Raises `ValueError` or `RecursionError` for a value that
    is no JSON (a lone surrogate is escaped, not refused).
    """
    separators = (", ", ": ") if indent is None else (",", ": ")
    return escaped(
        json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, separators=separators)
    )


def escaped(text: str) -> str:
    """Return a JSON text, whole or not, with what a screen would not show itself as `\\uXXXX`.

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
    return char if safe_text(f"a{char * 3}") == f"a{char * 3}" else _code(char)


def _code(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


MAX_CHARS = 60_000
"""Characters of a line: systems take no longer argument."""
_MASK = "********"
_SHORT = 200


class NoLine(Exception):  # noqa: N818 - a state of the call, not a fault
    """There is no such line; the text says why."""


class ShellLine(NamedTuple):
    """The line, and how it is shown: with its secrets masked."""

    line: str
    shown: str


def shell_line(
    address: str, session_id: str, tool: str, arguments: Raw, secrets: frozenset[str] = frozenset()
) -> ShellLine:
    """Return the `tapui call` that calls `tool` in this session of the gateway at `address`.

    `secrets` are the arguments that are masked. Raises `NoLine`.
    """
    if len(memoryview(arguments)) > MAX_CHARS:
        raise NoLine("these arguments are too long for a line")
    value = msgspec.json.decode(arguments)
    both = (value, _masked(value, secrets))
    made = [_line(address, session_id, tool, one) for one in both]
    if any(safe_text(one) != one for one in made):
        raise NoLine("this session's id cannot be typed")
    if len(made[0]) > MAX_CHARS:
        raise NoLine("these arguments are too long for a line")
    return ShellLine(*made)


def in_short(arguments: Raw, secrets: frozenset[str] = frozenset()) -> str:
    """Return the beginning of the arguments, their secrets masked, for one line of a list."""
    if len(memoryview(arguments)) > MAX_CHARS:
        return f"{len(memoryview(arguments)):,} bytes"
    return cut(json_text(_masked(msgspec.json.decode(arguments), secrets)), _SHORT)


def _masked(value: dict[str, object], secrets: frozenset[str]) -> dict[str, object]:
    return {name: _MASK if name in secrets else one for name, one in value.items()}


def _line(address: str, session_id: str, tool: str, value: object) -> str:
    port = urlsplit(address).port
    words = ["call", tool, "--session", session_id, *(["--port", str(port)] if port else [])]
    quoted = " ".join(shlex.quote(one) for one in words)
    return invocation.command(f"{quoted} --args '{shell_text(value)}'")
