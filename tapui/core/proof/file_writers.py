"""By whom files were changed, as looks at the folder found it."""

import posixpath
from collections.abc import Iterator, Sequence

from tapui.core.proof.facts import FilesWritten
from tapui.core.proof.folder_states import FolderState, pair_of
from tapui.wire import limits
from tapui.wire.changes import FileWriter

MOST_FILES = 20_000
"""Files of which the writers are remembered; the one that was changed longest ago goes first."""


class FileWriters:
    """The newest writers of each file, by root and path, with the numbers of their facts."""

    def __init__(self) -> None:
        self._by_file: dict[tuple[str, str], tuple[tuple[int, FileWriter], ...]] = {}

    def add(self, number: int, root: str, path: str, writer: FileWriter) -> None:
        known = self._by_file.pop((root, path), ())
        if known and _is_again(known[0][1], writer):
            known = known[1:]
        newest = ((number, writer), *known)[: limits.FILE_WRITERS]
        self._by_file[root, path] = newest
        if len(self._by_file) > MOST_FILES:
            del self._by_file[next(iter(self._by_file))]

    def of(self, root: str, path: str, since: int = 0) -> list[FileWriter]:
        """Return who changed a file after the fact `since`, the newest first."""
        known = self._by_file.get((root, path), ())
        return [writer for number, writer in known if number > since]


def _is_again(one: FileWriter, other: FileWriter) -> bool:
    """Return whether the same writer has written once more: then the newest time is enough."""
    same = ("kind", "what", "turn", "is_probable")
    return all(getattr(one, name) == getattr(other, name) for name in same)


def changed_paths(before: FolderState | None, now: FolderState) -> Iterator[tuple[str, bool]]:
    """Yield the paths that two looks at a root have with other contents, and whether both looked
    at them: else it may have been so before."""
    if before is None or before.head != now.head:
        yield from ((path, False) for path in now.files)
        return
    pair = pair_of(before, now)
    for path in sorted({*pair.before, *pair.now}):
        if now.is_whole or path in pair.now:
            yield path, before.is_whole or path in pair.before


def wrote(facts: Sequence[FilesWritten], root: str, path: str) -> FilesWritten | None:
    """Return the newest of some facts in which a tool wrote this file.

    A host may name it by another way to the same folder, through a link.
    """
    full = posixpath.join(root, path)
    for told in reversed(facts):
        for one in told.paths:
            if one in (full, path):
                return told
            is_within = not one.startswith("/") or one.startswith(f"{root}/")
            if posixpath.normpath(one) == full or (not is_within and one.endswith(f"/{path}")):
                return told
    return None
