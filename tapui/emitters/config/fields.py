"""The keys of one object, read with all their spellings and checked; what is wrong is collected,
bounded, and safe to show."""

import contextlib
import math
import re
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from tapui.emitters.config.entries import (
    MAX_DESCRIPTION,
    MAX_PROBLEMS,
    MAX_VALUE,
    MAX_VARIABLES,
    ConfigProblem,
)
from tapui.text import safe_text
from tapui.wire.emitters import Ownership
from tapui.wire.limits import MAX_PATH

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
        name = entry.get("name", entry.get("title")) if isinstance(entry, dict) else None
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


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_OURS = re.compile(r"TAP_PROVIDER_TOKEN|TAPUI_.*", re.DOTALL)
_OWNERS: dict[str, Ownership] = {
    "userowned": "userOwned",
    "user": "userOwned",
    "modelowned": "modelOwned",
    "model": "modelOwned",
}
_MOST_RUNS = 2**53


class Fields:
    """An object of the file. A value of null is one that is not given.

    Where a key has several spellings, the first that is asked for wins. Methods raise
    `EntryRefusedError` for what an entry cannot do without, and add a warning for the rest.
    """

    def __init__(self, values: dict[str, Any], path: JsonPath, problems: Problems) -> None:
        self.values = values
        self.path = path
        self.problems = problems
        self._known: set[str] = set()

    def refuse(self, key: str | None, text: str) -> EntryRefusedError:
        """Return the error that refuses the entry, for a key of it or the whole."""
        return EntryRefusedError(self.path if key is None else (*self.path, key), text)

    def warn(self, key: str, text: str) -> None:
        self.problems.warning((*self.path, key), text)

    def key(self, *names: str) -> str | None:
        """Return the spelling that is used, of those that mean the same."""
        self._known.update(names)
        given = [name for name in names if self.values.get(name) is not None]
        for other in given[1:]:
            if self.values[other] != self.values[given[0]]:
                self.warn(other, f"not used: {given[0]} means the same and goes first")
        return given[0] if given else None

    def value(self, *names: str) -> Any:
        """Return a value unchecked, None where it is not given."""
        key = self.key(*names)
        return None if key is None else self.values[key]

    def text(self, *names: str, most: int, what: str) -> str | None:
        """Return a text that the entry cannot do without; a blank one is not given."""
        key = self.key(*names)
        if key is None:
            return None
        return self._checked(key, self.values[key], most, what) if not self._blank(key) else None

    def _blank(self, key: str) -> bool:
        value = self.values[key]
        return isinstance(value, str) and not value.strip()

    def _checked(self, key: str, value: Any, most: int, what: str) -> str:
        if not isinstance(value, str):
            raise self.refuse(key, f"{what} is a text, not {quoted(value)}")
        if len(value) > most:
            raise self.refuse(key, f"{what} has at most {most:,} characters")
        if "\0" in value:
            raise self.refuse(key, f"{what} cannot hold the character NUL")
        return value

    def flag(self, *names: str) -> bool:
        """Return what is true unless it is literally `false`."""
        key = self.key(*names)
        if key is None:
            return True
        if not isinstance(self.values[key], bool):
            self.warn(key, f"neither true nor false: {quoted(self.values[key])} counts as true")
        return self.values[key] is not False

    def description(self) -> str:
        value = self.value("description")
        if value is None:
            return ""
        if not isinstance(value, str):
            self.warn("description", f"a description is a text, not {quoted(value)}")
            return ""
        if len(value) > MAX_DESCRIPTION:
            self.warn("description", f"cut at {MAX_DESCRIPTION} characters")
        return value[:MAX_DESCRIPTION]

    def ownership(self, default: Ownership) -> Ownership:
        """Return who may change it: `userOwned`, `modelOwned`, or the old `user` and `model`."""
        key = self.key("ownership", "managedBy")
        if key is None:
            return default
        value = self.values[key]
        owner = _OWNERS.get(value.strip().lower()) if isinstance(value, str) else None
        if owner is None:
            self.warn(key, f"neither userOwned nor modelOwned: {quoted(value)} counts as userOwned")
            return "userOwned"
        return owner

    def folder(self) -> str | None:
        """Return `cwd` as it was written."""
        return self.text("cwd", most=MAX_PATH, what="cwd")

    def env(self) -> dict[str, str]:
        given = self.value("env")
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise self.refuse("env", "env is an object of variables and their texts")
        if len(given) > MAX_VARIABLES:
            raise self.refuse("env", f"env has at most {MAX_VARIABLES} variables")
        inner = Fields(given, (*self.path, "env"), self.problems)
        found = {}
        for name, value in given.items():
            if not _VARIABLE.fullmatch(name):
                raise inner.refuse(name, "this is no name of a variable")
            if _OURS.fullmatch(name):
                raise inner.refuse(name, "this variable belongs to tapui")
            found[name] = inner._checked(name, value, MAX_VALUE, "a variable")
        return found

    def max_runs(self) -> int | None:
        """Return how often it runs, at least once; None where there is no limit."""
        value = self.value("maxRuns")
        if isinstance(value, str):
            with contextlib.suppress(ValueError):  # no number: said below
                value = float(value)
        if value is None:
            return None
        is_no_number = isinstance(value, bool) or not isinstance(value, int | float)
        if is_no_number or (isinstance(value, float) and math.isnan(value)):
            self.warn("maxRuns", f"no number: {quoted(self.values['maxRuns'])} counts as no limit")
            return None
        if value > _MOST_RUNS:
            return None
        return max(1, int(max(value, 1)))

    def tell_unknown(self, also: Collection[str] = ()) -> None:
        """Warn of unknown keys: they are kept in the file, and not used."""
        for name in self.values:
            if name not in self._known and name not in also:
                self.warn(name, "this key is not known: it is kept, and not used")
