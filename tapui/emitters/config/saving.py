"""Writing into a folder's configuration: one entry at a time, and nothing else changes.

The file is read again under a lock and replaced in one step; what cannot be read is never
replaced. An old file is never written: its entries go into a new one.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tapui.emitters.config.document import JsonDocument
from tapui.emitters.config.edits import (
    EditError,
    changed_entry,
    emitter_values,
    index_of,
    new_entry,
    provider_values,
    renamed,
    stream_values,
    with_value,
    without,
)
from tapui.emitters.config.entries import (
    MAX_FILE,
    Configuration,
    EmitterEntry,
    ProviderEntry,
    StreamEntry,
)
from tapui.emitters.config.reading import (
    EMITTER_LISTS,
    NEW_FILE,
    PROVIDER_LISTS,
    STREAM_LISTS,
    FoundFile,
    configuration_of,
    find,
    list_key,
    real_folder,
)
from tapui.files.foreign_file import reason
from tapui.files.locked_folder import locked
from tapui.wire.emitters import Delivery, Injector, Ownership
from tapui.wire.provider import FilterRule

_TRIES = 3
"""How often a change is made anew when the file was written meanwhile."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SaveError(Exception):
    """The configuration is as it was; the text says why."""


_Entry = EmitterEntry | StreamEntry | ProviderEntry


def save_emitter(folder: str | Path, entry: EmitterEntry) -> Configuration:
    """Write an emitter, in the place of one with the same name; return what the file says then.

    Raises `SaveError`. Files are read and written, and the lock is waited for: not on a loop.
    """
    return _Saving(folder, EMITTER_LISTS, entry.name, lambda _known: entry).save()


def remove_emitter(folder: str | Path, name: str) -> Configuration:
    """Take an emitter out of the file; one that is not there is no error. Raises `SaveError`."""
    return _Saving(folder, EMITTER_LISTS, name, lambda _known: None).save()


def save_stream(folder: str | Path, entry: StreamEntry) -> Configuration:
    """Write a stream, in the place of one with the same name. Raises `SaveError`."""
    return _Saving(folder, STREAM_LISTS, entry.name, lambda _known: entry).save()


def save_provider(folder: str | Path, entry: ProviderEntry) -> Configuration:
    """Write a provider, in the place of one with the same name. Raises `SaveError`."""
    return _Saving(folder, PROVIDER_LISTS, entry.name, lambda _known: entry).save()


def set_injector(
    folder: str | Path,
    stream: str,
    injector: Injector,
    *,
    delivery: Delivery = "surface",
    ownership: Ownership = "userOwned",
) -> Configuration:
    """Set the injector of a stream, which is added if it is not there. Raises `SaveError`."""

    def wanted(known: _Entry | None) -> _Entry:
        return msgspec.structs.replace(
            known or StreamEntry(name=stream),
            injector=injector,
            delivery=delivery,
            ownership=ownership,
        )

    return _Saving(folder, STREAM_LISTS, stream, wanted).save()


def set_filter(
    folder: str | Path, emitter: str, rules: tuple[FilterRule, ...], ownership: Ownership
) -> Configuration:
    """Set the filter of an emitter that is in the file. Raises `SaveError`."""

    def wanted(known: _Entry | None) -> _Entry:
        if known is None:
            raise SaveError(f"there is no emitter {emitter} in the file")
        return msgspec.structs.replace(known, rules=rules, filter_ownership=ownership)

    return _Saving(folder, EMITTER_LISTS, emitter, wanted).save()


class _Saving:
    """One change: `wanted` returns the new entry, or None to remove it."""

    def __init__(
        self,
        folder: str | Path,
        lists: tuple[str, ...],
        name: str,
        wanted: Callable[[_Entry | None], _Entry | None],
    ) -> None:
        self._folder = folder
        self._lists = lists
        self._name = name
        self._wanted = wanted

    def save(self) -> Configuration:
        """Carry it out. Raises `SaveError`."""
        try:
            real = real_folder(self._folder)
            with locked(real):
                for _ in range(_TRIES):
                    if (saved := self._tried(real)) is not None:
                        return saved
        except OSError as error:
            raise SaveError(f"it cannot be written: {reason(error)}") from None
        except EditError as error:
            raise SaveError(str(error)) from None
        except UnicodeEncodeError:
            raise SaveError("it holds a character that no file can hold") from None
        raise SaveError("another program writes the file all the time")

    def _tried(self, folder: str) -> Configuration | None:
        """Change the current file; None when it was changed meanwhile."""
        found = find(folder)
        name = NEW_FILE if found is None or found.is_old else found.name
        with _parent(folder, name) as (parent, base):
            seen = _seen(parent, base)
            if (found is None or found.is_old) != (seen is None) or found != find(folder):
                return None
            before = Configuration(folder) if found is None else configuration_of(found)
            if not before.is_readable:
                raise SaveError(f"it is not changed: {before.problems[0]}")
            document = JsonDocument((found and found.data) or _EMPTY)
            if found is not None and found.is_old:
                document = _with_new_names(document)
            changed, wanted = self._changed(document, before)
            if changed.text == document.text:
                self._check(before, before, wanted)
                return before
            data = changed.mark + changed.text
            target = FoundFile(folder, name, data, mode=found.mode if found else 0)
            if len(data) > MAX_FILE:
                raise SaveError(f"the file would be larger than {MAX_FILE:,} bytes")
            after = configuration_of(target)
            self._check(before, after, wanted)
            mode = target.mode if seen is not None else None
            return after if _replaced(parent, base, data, seen, mode) else None

    def _changed(
        self, document: JsonDocument, before: Configuration
    ) -> tuple[JsonDocument, _Entry | None]:
        known = _entries(before, self._lists).get(self._name)
        wanted = self._wanted(known)
        key = list_key(document.value, self._lists)
        if key is not None and not isinstance(document.value[key], list):
            raise SaveError(f"{key} is not a list")
        if wanted is None:
            while key is not None and (at := index_of(document, key, self._name)) is not None:
                document = without(document, (key, at))
            return document, None
        values = _values(wanted)
        if key is None:
            return with_value(document, (self._lists[0],), [new_entry(values)]), wanted
        if known is not None and known.index is not None:
            path = (key, known.index)
            return changed_entry(document, path, _values(known), values), wanted
        at = index_of(document, key, self._name)  # one that is refused as it stands
        place = len(document.value[key]) if at is None else at
        return with_value(document, (key, place), new_entry(values)), wanted

    def _check(self, before: Configuration, after: Configuration, wanted: _Entry | None) -> None:
        """Raise `SaveError` unless the file says what is wanted, and all else as before."""
        expected = {**_entries(before, self._lists), self._name: wanted}
        found = {**_entries(after, self._lists)}
        found.setdefault(self._name, None)  # type: ignore[arg-type]
        if {name: _bare(one) for name, one in found.items()} == {
            name: _bare(one) for name, one in expected.items()
        }:
            return
        new = [problem for problem in after.problems if problem.is_error]
        why = next((str(one) for one in new if one not in before.problems), "a value is refused")
        raise SaveError(f"its meaning would change: {why}")


_EMPTY = b"{\n}\n"


def _entries(configuration: Configuration, lists: tuple[str, ...]) -> dict[str, _Entry]:
    entries: tuple[_Entry, ...] = configuration.emitters
    if lists is STREAM_LISTS:
        entries = configuration.streams
    elif lists is PROVIDER_LISTS:
        entries = configuration.providers
    return {one.name: one for one in entries}


def _values(entry: _Entry) -> dict[str, Any]:
    if isinstance(entry, ProviderEntry):
        return provider_values(entry)
    return emitter_values(entry) if isinstance(entry, EmitterEntry) else stream_values(entry)


def _bare(entry: _Entry | None) -> _Entry | None:
    """Return an entry without what depends on where it stands."""
    if entry is None:
        return None
    entry = msgspec.structs.replace(entry, line=None, index=None)
    if isinstance(entry, EmitterEntry):
        return msgspec.structs.replace(entry, lifespan="persistent")
    return entry


def _with_new_names(document: JsonDocument) -> JsonDocument:
    """Return what an old file says with the names that the lists have today."""
    for new, old in (EMITTER_LISTS, STREAM_LISTS):
        if new not in document.value and old in document.value:
            document = renamed(document, old, new)
    return document


@contextlib.contextmanager
def _parent(folder: str, name: str) -> Iterator[tuple[int, str]]:
    """Open the folder of the file, which is no link. Raises `OSError` and `SaveError`."""
    *above, base = name.split("/")
    fd = os.open(folder, _FOLDER)
    try:
        for part in above:
            try:
                inner = os.open(part, _FOLDER, dir_fd=fd)
            except NotADirectoryError:
                raise SaveError(f"{part} is a link or no folder: it is not written to") from None
            os.close(fd)
            fd = inner
        yield fd, base
    finally:
        os.close(fd)


def _seen(parent: int, name: str) -> tuple[int, int, int] | None:
    """Return what changes with the file; None where there is none. Raises `SaveError`."""
    try:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(info.st_mode):
        raise SaveError(f"{name} is a link: it is not written to")
    return info.st_mtime_ns, info.st_size, info.st_ino


def _replaced(
    parent: int, name: str, data: bytes, seen: tuple[int, int, int] | None, mode: int | None
) -> bool:
    """Put the file in the place of the one that was seen; False when that is another one now."""
    fresh = f".{name}.{secrets.token_hex(6)}"
    fd = os.open(fresh, _NEW, 0o666, dir_fd=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, mode)
            file.write(data)
            file.flush()
            os.fsync(fd)
        if _seen(parent, name) != seen:
            os.unlink(fresh, dir_fd=parent)
            return False
        os.rename(fresh, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # it has its new name already
            os.unlink(fresh, dir_fd=parent)
        raise
    os.fsync(parent)
    return True
