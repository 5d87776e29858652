"""Which branches are checked out in the sessions' folders, read on a thread."""

import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from textual.message import Message

from tapui.tower.app.services import FolderHead, SessionStore

EVERY = 5.0
"""Seconds after which the folders are read again."""
MOST = 200
"""Folders that are read."""


class HeadsRead(Message):
    """What is checked out in folders was read."""

    def __init__(self, read: Mapping[str, FolderHead]) -> None:
        super().__init__()
        self.read = read


class FolderHeads:
    """What is known of each folder. `post` is called on the reading thread with what it read.

    The thread is the process' own to end: a folder on a server that is away may hold it for ever.
    """

    def __init__(self, post: Callable[[HeadsRead], object]) -> None:
        self._post = post
        self._known: Mapping[str, FolderHead] = {}
        self._read_at = float("-inf")
        self._is_reading = False

    def of(self, folder: str) -> FolderHead:
        return self._known.get(folder, FolderHead())

    def look(self, store: SessionStore, folders: Iterable[str], now: float) -> None:
        """Read these folders, if it is time and none is being read. `now` is in seconds."""
        wanted = set(islice(folders, MOST))
        is_due = not 0 <= now - self._read_at < EVERY or not wanted <= self._known.keys()
        if is_due and wanted and not self._is_reading:
            self._read_at, self._is_reading = now, True
            threading.Thread(
                target=lambda: self._post(HeadsRead({one: store.head(one) for one in wanted})),
                name="folder heads",
                daemon=True,
            ).start()

    def take(self, read: Mapping[str, FolderHead]) -> bool:
        """Take what was read; return whether anything is other than before."""
        is_other = read != self._known
        self._known, self._is_reading = read, False
        return is_other
