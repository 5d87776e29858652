"""A call as a line for the shell: what is pasted makes the same call."""

import shlex
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from tapui import invocation
from tapui.text import cut, json_text, safe_text


def shell_text(value: object) -> str:
    """Return a decoded JSON value as JSON on one line for single quotes of any shell: it has no
    quote and no backslash but those of JSON's own escapes, which all shells leave alone."""
    text = json_text(value)
    return text.replace("\\\\", "\\u005c").replace("'", "\\u0027")


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
