"""Changes of configurations, and of the files that their commands name.

Each look asks for the state of at most four files a folder, and of those that are covered by its
consents: some microseconds. A program that waits for the system's notices would need a thread and
watches on folders that come and go, and would miss those behind links and on network drives.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tapui.emitters.config.entries import Configuration
from tapui.emitters.config.reading import FILES, OLD_FILES, Signature, read, signature
from tapui.folder_tools.files import Mark, mark_of

_log = logging.getLogger(__name__)

SETTLED_SECONDS = 0.5
"""How long a file must be unchanged before it is reported."""
UNREADABLE_SECONDS = 2.0
"""How long a file must be unreadable before that is reported: it may be half written."""
MAX_FOLDERS = 300


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """A folder's configuration says something else, or cannot be read any more."""

    folder: str
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class NamedFilesChanged:
    """Files that commands name may hold something else: ask for the standing of their entries.

    Names are not safe to show.
    """

    folder: str
    names: tuple[str, ...]


ConfigChange = ConfigChanged | NamedFilesChanged


_Look = tuple[Signature, Mark]
"""What changes with a configuration: with its files, and with those of `tools/`."""


@dataclass(slots=True)
class _Watched:
    folder: str
    told: Configuration
    signature: _Look
    """Of what was told."""
    seen: _Look
    since: float
    """When `seen` was seen first."""
    names: tuple[str, ...] = ()
    files: Signature = ()
    files_seen: Signature = ()
    files_since: float = 0.0
    paths: list[str] = field(default_factory=list)


class ConfigWatch:
    """The folders whose configurations are in use, at most `most`: beyond, the folder that was
    added longest ago is left out. One thread at a time may use it, none on a loop.

    `now` is the time of a monotonic clock, in seconds. A change is reported once it has settled.
    """

    def __init__(
        self, *, most: int = MAX_FOLDERS, reads: Callable[[str | Path], Configuration] = read
    ) -> None:
        self._most = most
        self._reads = reads
        self._folders: OrderedDict[str, _Watched] = OrderedDict()

    def add(self, folder: str | Path, now: float) -> Configuration:
        """Read a folder's configuration, and watch it from now on."""
        paths = _paths(str(folder))
        before = _look_of(str(folder), paths)
        found = self._reads(folder)
        watched = _Watched(str(folder), found, before, before, now, paths=paths)
        self._folders[str(folder)] = watched
        self._folders.move_to_end(str(folder))
        while len(self._folders) > self._most:
            self._folders.popitem(last=False)
        return found

    def remove(self, folder: str | Path) -> None:
        self._folders.pop(str(folder), None)

    def watch_files(self, folder: str | Path, names: Iterable[str], now: float) -> None:
        """Watch these files of a folder, by their paths in it, and no others."""
        if (watched := self._folders.get(str(folder))) is not None:
            watched.names = tuple(dict.fromkeys(names))
            watched.files = watched.files_seen = _files(watched)
            watched.files_since = now

    def look(self, now: float) -> list[ConfigChange]:
        found: list[ConfigChange] = []
        for watched in self._folders.values():
            try:
                if (changed := self._changed(watched, now)) is not None:
                    found.append(ConfigChanged(watched.folder, changed))
                if names := _look_at_files(watched, now):
                    found.append(NamedFilesChanged(watched.folder, names))
            except Exception:  # noqa: BLE001 - logged; the other folders are looked at
                _log.exception("a look at the configuration of a folder failed")
                watched.signature = watched.seen  # until it changes again
        return found

    def _changed(self, watched: _Watched, now: float) -> Configuration | None:
        seen = _look_of(watched.folder, watched.paths)
        if seen != watched.seen:
            watched.seen, watched.since = seen, now
        if seen == watched.signature or now - watched.since < SETTLED_SECONDS:
            return None
        found = self._reads(watched.folder)
        if _look_of(watched.folder, watched.paths) != seen:
            return None  # it is being written; the next look sees the rest
        if not found.is_readable and now - watched.since < UNREADABLE_SECONDS:
            return None
        watched.signature = seen
        before, watched.told = watched.told, found
        return None if _is_same(before, found) else found


def _paths(folder: str) -> list[str]:
    return [str(Path(folder, name)) for name in (*FILES, *OLD_FILES)]


def _look_of(folder: str, paths: list[str]) -> _Look:
    return signature(paths), mark_of(folder)


def _files(watched: _Watched) -> Signature:
    return signature([str(Path(watched.folder, name)) for name in watched.names])


def _is_same(before: Configuration, found: Configuration) -> bool:
    """Return whether nothing needs telling: the same file with the same bytes, and readable so."""
    kept = (before.path, before.digest, before.is_readable, before.problems, before.providers)
    now = (found.path, found.digest, found.is_readable, found.problems, found.providers)
    return kept == now


def _look_at_files(watched: _Watched, now: float) -> tuple[str, ...]:
    if not watched.names:
        return ()
    seen = _files(watched)
    if seen != watched.files_seen:
        watched.files_seen, watched.files_since = seen, now
    if seen == watched.files or now - watched.files_since < SETTLED_SECONDS:
        return ()
    changed = [
        name
        for name, before, after in zip(watched.names, watched.files, seen, strict=True)
        if before != after
    ]
    watched.files = seen
    return tuple(changed)
