"""What is found wrong while a configuration is read: collected, bounded, and safe to show."""

from collections.abc import Callable
from typing import Any

import msgspec

from tapui.emitters.config.bounds import MAX_PROBLEMS
from tapui.emitters.config.entries import ConfigProblem
from tapui.text import safe_text

JsonPath = tuple[str | int, ...]
"""A value by the keys and the indices that lead to it."""
Place = Callable[[JsonPath], tuple[int, int]]
"""Where a value begins in the file: line and column, from 1."""

_QUOTED = 60
_KEY = 200
_TEXT = 500


class EntryRefusedError(Exception):
    """An entry that cannot be used, and the value of it that is wrong."""

    def __init__(self, path: JsonPath, text: str) -> None:
        super().__init__(text)
        self.path = path


class Problems:
    """Those of one file. `place` says where a value is; `file` is how the person knows it.

    `whole` is all of the file, which has the names of its entries.
    """

    def __init__(self, file: str, place: Place, whole: Any = None) -> None:
        self._whole = whole
        self._file = safe_text(file)
        self._place = place
        self._found: list[ConfigProblem] = []
        self._more = 0

    def error(self, path: JsonPath, text: str) -> None:
        """Add what costs the entry."""
        self._add(path, text, is_error=True)

    def warning(self, path: JsonPath, text: str) -> None:
        """Add what costs nothing but itself."""
        self._add(path, text, is_error=False)

    def _add(self, path: JsonPath, text: str, *, is_error: bool) -> None:
        if len(self._found) >= MAX_PROBLEMS:
            self._more += 1
            return
        line, column = self._place(path)
        shown = safe_text(text, limit=_TEXT)
        key, name = key_text(path), self._name(path)
        self._found.append(ConfigProblem(self._file, line, column, key, shown, is_error, name))

    def _name(self, path: JsonPath) -> str:
        """Return the name of the entry that a value is in; "" for none."""
        if len(path) < 2 or not isinstance(self._whole, dict):
            return ""
        if isinstance(path[1], str):  # an object by names
            return safe_text(path[1], limit=_QUOTED)
        entries = self._whole.get(path[0])
        entry = entries[path[1]] if isinstance(entries, list) and path[1] < len(entries) else None
        name = entry.get("name") if isinstance(entry, dict) else None
        return safe_text(name, limit=_QUOTED) if isinstance(name, str) else ""

    def all(self) -> tuple[ConfigProblem, ...]:
        """Return them in the order of their finding, and how many more there are."""
        if not self._more:
            return tuple(self._found)
        rest = ConfigProblem(self._file, 1, 1, "", f"and {self._more:,} more problems", False)
        return (*self._found, rest)


def key_text(path: JsonPath) -> str:
    """Return a path as people write it: `emitters[0].command`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return safe_text(text, limit=_KEY)


def quoted(value: Any) -> str:
    """Return a value of the file for a message: its JSON, cut."""
    return safe_text(msgspec.json.encode(value).decode(), limit=_QUOTED)
