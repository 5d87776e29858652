"""A folder's configuration, found, read and checked.

Only the folder itself is looked into, never those above. The first file that is there counts,
whole, also when it cannot be read: nothing of another one comes in its place.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from tapui.emitters.config.document import JsonDocument, UnreadableError
from tapui.emitters.config.entries import (
    MAX_EMITTERS,
    MAX_FILE,
    MAX_FILE_GOALS,
    MAX_PROVIDERS,
    MAX_STREAMS,
    ConfigProblem,
    Configuration,
    EmitterEntry,
    GoalEntry,
    ProviderEntry,
    StreamEntry,
)
from tapui.emitters.config.entry_keys import PatternCheck, emitter_of, provider_of, stream_of
from tapui.emitters.config.fields import EntryRefusedError, Fields, JsonPath, Problems, quoted
from tapui.emitters.config.goal_keys import goal_of
from tapui.emitters.config.tool_files import with_tools
from tapui.files.foreign_file import open_within, read_up_to, real_path, reason
from tapui.text import safe_text

NEW_FILE = "tap.config.json"
"""What is written where a folder has no configuration yet."""
FILES = (NEW_FILE, f".github/{NEW_FILE}")
OLD_FILES = ("copilot-channels.config.json", ".github/copilot-channels.config.json")
"""Those of an earlier version: they are read, and never written."""

Signature = tuple[tuple[int, int, int, int, int] | None, ...]
"""What of files changes with them, in their order; None for one that is not there."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A configuration's file. `data` is None when it could not be read, which `fault` says why."""

    folder: str
    """Without links."""
    name: str
    """Relative to the folder."""
    data: bytes | None
    fault: str = ""
    mode: int = 0

    @property
    def path(self) -> str:
        return f"{self.folder.rstrip('/')}/{self.name}"

    @property
    def is_old(self) -> bool:
        """Whether it is never written."""
        return self.name in OLD_FILES


def find(folder: str) -> FoundFile | None:
    """Return the configuration of a folder, whose path has no links; None where it has none."""
    for name in (*FILES, *OLD_FILES):
        if os.path.lexists(Path(folder, name)):
            return _read(folder, name)
    return None


def real_folder(folder: str | Path) -> str:
    """Return a folder's path without links. Raises `OSError` when there is no such folder."""
    real = real_path(Path(folder))
    fd = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.close(fd)
    return real


def _read(folder: str, name: str) -> FoundFile:
    try:
        fd, info = open_within(folder, name)
    except OSError as error:
        return FoundFile(folder, name, None, f"it cannot be read: {reason(error)}")
    try:
        data = None if info.st_size > MAX_FILE else read_up_to(fd, MAX_FILE + 1)
    except OSError as error:
        return FoundFile(folder, name, None, f"it cannot be read: {reason(error)}")
    finally:
        os.close(fd)
    if data is None or len(data) > MAX_FILE:
        return FoundFile(folder, name, None, f"it is larger than {MAX_FILE:,} bytes")
    return FoundFile(folder, name, data, mode=info.st_mode & 0o777)


def signature(paths: list[str]) -> Signature:
    """Return what of files changes with them; links are followed."""
    found: list[tuple[int, int, int, int, int] | None] = []
    for path in paths:
        try:
            info = os.stat(path)  # noqa: PTH116 - text in, at each look
        except (OSError, ValueError):
            found.append(None)
        else:
            found.append(
                (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, info.st_dev)
            )
    return tuple(found)


EMITTER_LISTS = ("emitters", "monitors")
STREAM_LISTS = ("streams", "channels")
"""The documented key, and the old one."""
PROVIDER_LISTS = ("providers",)
GOAL_LISTS = ("goals",)

_Entry = TypeVar("_Entry", EmitterEntry, StreamEntry, ProviderEntry, GoalEntry)


def read(folder: str | Path) -> Configuration:
    """Read the configuration of a session's folder, its `tools/` too.

    Every fault is among its problems. Files are read: call it in a thread.
    """
    try:
        real = real_folder(folder)
    except OSError as error:
        what = f"the folder cannot be read: {reason(error)}"
        problem = ConfigProblem(safe_text(str(folder)), 1, 1, "", what)
        return Configuration(str(folder), problems=(problem,), is_readable=False)
    found = find(real)
    return with_tools(Configuration(real) if found is None else configuration_of(found))


def configuration_of(found: FoundFile) -> Configuration:
    if found.data is None:
        return _unreadable(found, 1, 1, found.fault)
    try:
        document = JsonDocument(found.data)
    except UnreadableError as error:
        return _unreadable(found, error.line, error.column, str(error))
    if not isinstance(document.value, dict):
        what = f"a configuration is an object, not {quoted(document.value)}"
        return _unreadable(found, 1, 1, what)
    return read_document(document, found)


def read_document(document: JsonDocument, found: FoundFile) -> Configuration:
    problems = Problems(found.name, document.place, document.value)
    reader = _Lists(document, problems)
    patterns = PatternCheck()
    streams = reader.entries(STREAM_LISTS, MAX_STREAMS, stream_of)
    emitters = reader.entries(
        EMITTER_LISTS, MAX_EMITTERS, lambda given: emitter_of(given, patterns)
    )
    providers = reader.entries(PROVIDER_LISTS, MAX_PROVIDERS, provider_of)
    goals = reader.entries(
        GOAL_LISTS, MAX_FILE_GOALS, goal_of, name_key="title", short_key="criteria"
    )
    reader.tell_misspelled()
    return Configuration(
        folder=found.folder,
        path=found.path,
        is_old=found.is_old,
        streams=streams,
        emitters=emitters,
        providers=providers,
        goals=goals,
        problems=problems.all(),
        digest=_digest(found.data or b""),
    )


def list_key(value: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the key of a list of entries, as this file spells it."""
    return next((name for name in names if value.get(name) is not None), None)


class _Lists:
    """The lists of entries of a file."""

    def __init__(self, document: JsonDocument, problems: Problems) -> None:
        self._document = document
        self._problems = problems
        self._top = Fields(document.value, (), problems)

    def entries(
        self,
        names: tuple[str, ...],
        most: int,
        read_one: Callable[[Fields], _Entry],
        *,
        name_key: str = "name",
        short_key: str | None = None,
    ) -> tuple[_Entry, ...]:
        """Read a list. With `short_key` an entry may be a text, which stands for an object with
        this key alone."""
        key = self._top.key(*names)
        if key is None:
            return ()
        listed = self._top.values[key]
        if not isinstance(listed, list):
            self._problems.error((key,), f"{key} is a list, not {quoted(listed)}")
            return ()
        found: dict[str, _Entry] = {}
        for at, value in enumerate(listed[:most]):
            path: JsonPath = (key, at)
            is_short = short_key is not None and isinstance(value, str)
            fields = {short_key: value} if is_short else value
            try:
                if not isinstance(fields, dict):
                    raise EntryRefusedError(path, f"this is an object, not {quoted(value)}")
                line, _ = self._document.place(path)
                entry = read_one(Fields(fields, path, self._problems))
                if (other := found.get(entry.name)) is not None:
                    what = f"{entry.name} is there already, in line {other.line}"
                    raise EntryRefusedError((*path, name_key), what)
                found[entry.name] = replace(entry, line=line, index=at)
            except EntryRefusedError as error:
                self._problems.error(error.path, str(error))
        if len(listed) > most:
            self._problems.error(
                (key, most),
                f"{key} has at most {most} entries: the rest of {len(listed):,} is not used",
            )
        return tuple(found.values())

    def tell_misspelled(self) -> None:
        """Warn of keys that look like one of ours; all others belong to other programs."""
        import difflib

        known = (*EMITTER_LISTS, *STREAM_LISTS, *PROVIDER_LISTS, *GOAL_LISTS)
        for name in list(self._top.values)[:100]:
            if name in known or len(name) > 20:
                continue
            if close := difflib.get_close_matches(name.lower(), known, 1, 0.8):
                self._problems.warning((name,), f"this key is not known: is it {close[0]}?")


def _unreadable(found: FoundFile, line: int, column: int, text: str) -> Configuration:
    problem = ConfigProblem(safe_text(found.name), line, column, "", safe_text(text))
    return Configuration(
        folder=found.folder,
        path=found.path,
        is_old=found.is_old,
        problems=(problem,),
        digest=_digest(found.data or b"") if found.data is not None else "",
        is_readable=False,
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
