"""The files that the server knows by the text it was given, not by what is on disk.

What is written for it is given to it at once (`textDocument/didOpen`, `didChange`). From then on it
reads such a file no more, so each change by a command or the person is given to it, too.
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapui.files.foreign_file import open_within, read_up_to
from tapui.hosts.language_server.client_tools import MAX_FILE, FileWrite

_MOST = 100
"""Files that are open at once; the server reads others itself."""
_CREATED, _CHANGED = 1, 2
Stamp = tuple[int, int, int]


def uri_of(path: str | Path) -> str:
    """Return a file's address, its unusual characters as percent signs."""
    return Path(path).as_uri()


class ServerFiles:
    """Those of one folder, which has no links in it. `tell` sends a notification."""

    def __init__(self, folder: str, tell: Callable[[str, Any], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._open: OrderedDict[str, tuple[int, Stamp | None]] = OrderedDict()
        """The version of each file that the server has, and how the file was then."""

    def wrote(self, written: FileWrite) -> None:
        """Give the server the text that a file has now."""
        self._give(written.path, written.text, _stamp(written.path))
        kind = _CREATED if written.before is None else _CHANGED
        change = {"uri": uri_of(written.path), "type": kind}
        self._tell("workspace/didChangeWatchedFiles", {"changes": [change]})
        if len(self._open) > _MOST:
            self._close(next(iter(self._open)))

    async def renew(self) -> None:
        """Give the server what has changed of these files; it reads one that is gone itself."""
        for path, text, stamp in await asyncio.to_thread(self._changed):
            if path not in self._open:
                continue  # it was closed meanwhile
            if text is None:
                self._close(path)
            else:
                self._give(path, text, stamp)

    def _changed(self) -> list[tuple[str, str | None, Stamp | None]]:
        found = []
        for path, (_, known) in list(self._open.items()):
            stamp = _stamp(path)
            if stamp is None or stamp != known:
                found.append((path, self._text(path), stamp))
        return found

    def _text(self, path: str) -> str | None:
        try:
            fd, _ = open_within(self._folder, path)
        except OSError:
            return None
        try:
            data = read_up_to(fd, MAX_FILE + 1)
        except OSError:
            return None
        finally:
            os.close(fd)
        try:
            return data.decode() if len(data) <= MAX_FILE else None
        except UnicodeDecodeError:
            return None

    def _give(self, path: str, text: str, stamp: Stamp | None) -> None:
        uri, (version, _) = uri_of(path), self._open.get(path, (0, None))
        self._open[path] = version + 1, stamp
        self._open.move_to_end(path)
        about = {"uri": uri, "version": version + 1}
        if version == 0:
            document = {**about, "languageId": "plaintext", "text": text}
            self._tell("textDocument/didOpen", {"textDocument": document})
        else:
            changed = {"textDocument": about, "contentChanges": [{"text": text}]}
            self._tell("textDocument/didChange", changed)

    def _close(self, path: str) -> None:
        del self._open[path]
        self._tell("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})


def _stamp(path: str) -> Stamp | None:
    try:
        info = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - the name's own
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns
