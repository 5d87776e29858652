"""Saves of an author's files."""

import asyncio
from collections.abc import AsyncIterator, Collection
from pathlib import Path

from watchfiles import Change, awatch

STEP_MS = 20
"""Milliseconds without a further change after which those before count as one save."""
LONGEST_MS = 200
"""... and how long changes that go on are collected at most."""


class Saves:
    """Yields each time that one of the files was saved.

    The folders are watched, not the files: most editors put a new file into the old one's place.
    """

    def __init__(self, files: Collection[Path]) -> None:
        self._folders: set[str] = set()
        self._has_other_folders = asyncio.Event()
        self.watch(files)

    def watch(self, files: Collection[Path], *, others_too: bool = False) -> None:
        """Take other files from now on; with `others_too`, any Python file beside them, and beside
        those before, counts: one that is missing may come."""
        self._files = {str(file) for file in files}
        folders = {str(file.parent) for file in files}
        if others_too:
            folders |= {folder for folder in self._folders if Path(folder).is_dir()}
        if folders != self._folders:
            self._folders = folders
            self._has_other_folders.set()
        self._others_too = others_too

    def _counts(self, change: Change, path: str) -> bool:
        if change is Change.deleted:
            return False
        return path in self._files or (self._others_too and path.endswith(".py"))

    async def __aiter__(self) -> AsyncIterator[None]:
        while True:
            self._has_other_folders.clear()
            async for _ in awatch(
                *self._folders,
                watch_filter=self._counts,
                step=STEP_MS,
                debounce=LONGEST_MS,
                recursive=False,
                ignore_permission_denied=True,
                stop_event=self._has_other_folders,
            ):
                yield
