"""The text of the configuration file: on which line a key stands, and one careful edit."""

import contextlib
import json
import os
import re
import tempfile
import tomllib
from pathlib import Path

KeyPath = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING_ENDS = ('"""', "'''", '"', "'")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line (from 1) of every key and table of valid TOML.

    Keys inside an inline table or an array are not listed: they stand on the line of the key
    that holds them.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for start, statement in _statements(text):
        line = text.count("\n", 0, start) + 1
        if statement.startswith("["):
            table = _key(statement.lstrip("["))
            lines.setdefault(table, line)
        else:
            path = table + _key(statement)
            for length in range(len(table) + 1, len(path) + 1):
                lines.setdefault(path[:length], line)
    return lines


def _statements(text: str) -> list[tuple[int, str]]:
    """Split TOML into its statements (headers and key = value), each with its offset."""
    found: list[tuple[int, str]] = []
    start, at, depth = None, 0, 0
    while at < len(text):
        char = text[at]
        if char == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        if char == "\n" and depth == 0:
            if start is not None:
                found.append((start, text[start:at]))
            start = None
        elif not char.isspace() and start is None:
            start = at
        if char in "\"'":
            at = _after_string(text, at)
            continue
        depth += (char in "[{") - (char in "]}")
        at += 1
    if start is not None:
        found.append((start, text[start:]))
    return found


def _after_string(text: str, at: int) -> int:
    mark = next(mark for mark in _STRING_ENDS if text.startswith(mark, at))
    at += len(mark)
    while at < len(text) and not text.startswith(mark, at):
        at += 2 if text[at] == "\\" and mark[0] == '"' else 1
    at += len(mark)
    while len(mark) == 3 and text[at : at + 1] == mark[0]:
        at += 1  # a multi-line string may end in quotes of its own
    return at


def _key(statement: str) -> KeyPath:
    """Read the (dotted, perhaps quoted) key that a statement begins with."""
    parts: list[str] = []
    at = 0
    while at < len(statement):
        char = statement[at]
        if char in "=]":
            break
        if char in "\"'":
            end = _after_string(statement, at)
            parts.append(next(iter(tomllib.loads(f"{statement[at:end]} = 0"))))
            at = end
        elif bare := _BARE.match(statement, at):
            parts.append(bare[0])
            at = bare.end()
        else:
            at += 1
    return tuple(parts)


def remember_theme(path: Path, name: str) -> None:
    """Set `theme` in the configuration file and leave every other character as it is.

    The file is created where there is none, and replaced in one step. Raises `OSError` when it
    cannot be read or written, and `ValueError` when it is not valid TOML (it is then left alone).
    """
    path = path.resolve()  # a link (to a folder of dot-files, say) stays a link
    text = path.read_bytes().decode() if path.exists() else ""
    before = tomllib.loads(text)
    after = _with_theme(text, name)
    if tomllib.loads(after) != {**before, "theme": name}:
        raise ValueError(f"{path}: theme could not be set without touching other settings")
    if after != text:
        _replace(path, after)


def _with_theme(text: str, name: str) -> str:
    value = json.dumps(name, ensure_ascii=False)
    for start, statement in _statements(text):
        if statement.startswith("["):
            break
        if _key(statement) == ("theme",):
            equals = start + statement.index("=") + 1
            end = start + len(_without_comment(statement))
            return f"{text[:equals]} {value}{text[end:]}"
    return f"theme = {value}\n{text}"


def _without_comment(statement: str) -> str:
    at = 0
    while at < len(statement) and statement[at] != "#":
        at = _after_string(statement, at) if statement[at] in "\"'" else at + 1
    return statement[:at].rstrip()


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
