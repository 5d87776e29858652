"""TOML files: the lines of keys, to say where something is wrong, and edits that keep comments."""

import contextlib
import fcntl
import logging
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tapui.files.foreign_file import decoded, encoding_fault, rewritten

_AT_LINE = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")

TomlPath = tuple[str | int, ...]
"""A key by its tables; the tables of an array are counted from 0."""

_log = logging.getLogger(__name__)


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


def keep_theme(path: Path, name: str) -> str | None:
    """Remember a theme; return why it will not be there the next time, or None. It is logged."""
    try:
        remember_theme(path, name)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        _log.warning("the theme %s could not be written to %s: %s", name, path, why)
        return f"{path}: the theme cannot be remembered: {why}"
    return None


def remember_theme(path: Path, name: str) -> None:
    """Set `theme` in the configuration file; other settings, comments and their order stay.

    The file is created where there is none, and replaced in one step. Raises `OSError` when it
    cannot be read or written, and `ValueError` when it is not valid TOML (it is then left alone).
    """
    path = path.resolve()  # a link (to a folder of dot-files, say) stays a link
    with _locked(path):
        _set_theme(path, name)


def _set_theme(path: Path, name: str) -> None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    data, text = _read(path)
    before = tomllib.loads(text)
    if before.get("theme") == name:
        return
    try:
        document = tomlkit.parse(text)
        document["theme"] = name
        after = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ValueError(f"{path}: theme could not be set: {error}") from None
    if tomllib.loads(after) != {**before, "theme": name}:
        raise ValueError(f"{path}: theme could not be set without a change to other settings")
    _replace(path, rewritten(after, data))


def keep_rules(path: Path, rules: str) -> str | None:
    """Write rules to the end of the file; return why they could not be, or None. It is logged."""
    try:
        add_rules(path, rules)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        _log.warning("rules could not be written to %s: %s", path, why)
        return f"{path}: the rule cannot be written: {why}"
    return None


def add_rules(path: Path, rules: str) -> None:
    """Add `[[rules]]` tables, as TOML, behind all that the configuration file has.

    Everything else stays. Raises `OSError`, and `ValueError` when the file is not valid
    TOML or its rules are written in another form (it is then left alone).
    """
    path = path.resolve()
    with _locked(path):
        data, text = _read(path)
        before = tomllib.loads(text)
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        after = text + gap + rules
        added = tomllib.loads(rules)["rules"]
        try:
            found = tomllib.loads(after)
        except tomllib.TOMLDecodeError:
            raise ValueError("its rules are not written as [[rules]]") from None
        if found != {**before, "rules": [*before.get("rules", []), *added]}:
            raise ValueError("a rule could not be added without a change to other settings")
        _replace(path, rewritten(after, data))


def _read(path: Path) -> tuple[bytes, str]:
    """Return a file and its text. Raises `OSError`, and `ValueError` where it is not UTF-8."""
    data = path.read_bytes() if path.exists() else b""
    try:
        return data, decoded(data)
    except UnicodeDecodeError as error:
        raise ValueError(encoding_fault(error)[1]) from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other towers of this person from writing the file at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    import tempfile  # only what writes needs it: every command reads the settings

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # it has its new name already
            Path(name).unlink()
        raise
