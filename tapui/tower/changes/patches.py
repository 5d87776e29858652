"""Patches of changed files: read one by one, then written where the person wants, or copied."""

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tapui.projection.changed_files import no_patch_words
from tapui.tower.app.tower import Tower
from tapui.tower.changes.folder_changes import LINK_LOST
from tapui.tower.textual.dialogs import AskLineScreen
from tapui.tower.textual.sheet import ask, confirm
from tapui.tower.wording.words import quantity, size_of
from tapui.wire.changes import ChangedFile, FileDiff

MOST_BYTES = 64 * 1024 * 1024
"""Of one patch."""
_MOST_PATH = 4_096
_SHOWN_MISSING = 3


class PatchWriting:
    """Writes or copies the patch of files that a session changed."""

    def __init__(self, tower: Tower, session_id: str) -> None:
        self._tower = tower
        self._session_id = session_id

    def ask(self, files: Sequence[ChangedFile]) -> None:
        """Ask where the patch of these files is to be written, and write it there."""
        label = self._tower.view.session_name(self._session_id)
        name = re.sub(r"[^\w.-]+", "-", label, flags=re.ASCII).strip("-.")[:60] or "changes"
        question = f"Write a patch of {quantity(len(files), 'file')} to"
        screen = AskLineScreen(question, f"{name}.patch", f"In {Path.cwd()}.", most=_MOST_PATH)
        ask(self._tower, screen, partial(self._to, files))

    def _to(self, files: Sequence[ChangedFile], text: str) -> None:
        path = Path(text).expanduser()
        if not os.path.lexists(path):
            self._read(files, partial(self._write, path, overwrites=False))
        elif path.is_file():
            lines = ["What stands there now is lost."]
            read = partial(self._read, files, partial(self._write, path, overwrites=True))
            confirm(self._tower, f"Write over {path}?", lines, "write over it", read)
        else:
            self._tower.notify(f"{path} is there, and is no regular file.", severity="error")

    def copy(self, files: Sequence[ChangedFile]) -> None:
        self._read(files, self._copied)

    def _copied(self, text: str, missing: Sequence[str]) -> None:
        if text:
            self._tower.copy(text, "The patch", keeps_lines=True)
        self._say_missing(missing)

    def _write(self, path: Path, text: str, missing: Sequence[str], *, overwrites: bool) -> None:
        if text:
            writing = self._written(path, text, "w" if overwrites else "x")
            self._tower.run_worker(writing, group="patch")
        self._say_missing(missing)

    async def _written(self, path: Path, text: str, mode: str) -> None:
        data = text.encode()
        try:
            await asyncio.to_thread(_write, path, data, f"{mode}b")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            self._tower.notify(f"{path} was not written: {why}", severity="error")
        else:
            self._tower.notify(f"Written: {path}, {size_of(len(data))}")

    def _say_missing(self, missing: Sequence[str]) -> None:
        if missing:
            more = len(missing) - _SHOWN_MISSING
            said = "; ".join(missing[:_SHOWN_MISSING]) + (f"; and {more} more" if more > 0 else "")
            self._tower.notify(f"Not in the patch: {said}", severity="warning", timeout=20)

    def _read(
        self, files: Sequence[ChangedFile], on_patch: Callable[[str, Sequence[str]], None]
    ) -> None:
        """Read the patches of files one after the other; `on_patch` gets all of them, and what is
        missing there."""
        left = list(files)
        root = left[0].root if left else ""
        texts: list[str] = []
        missing: list[str] = []
        room = MOST_BYTES

        def go_on() -> None:
            if self._tower.view.link.state != "up":
                missing.extend(f"{one.path}: {LINK_LOST}" for one in left)
                left.clear()
            while left:
                file = left.pop(0)
                if gap := no_patch_words(file, root):
                    missing.append(gap)
                elif room <= 0:
                    missing.append(f"{file.path}: the patch has {size_of(MOST_BYTES)} already")
                else:
                    changes = self._tower.changes
                    on_diff = partial(came, file)
                    changes.ask_diff(self._session_id, file, on_diff, as_patch=True)
                    return
            on_patch("".join(texts), missing)

        def came(file: ChangedFile, answer: FileDiff | str) -> None:
            nonlocal room
            if isinstance(answer, FileDiff) and answer.patch:
                texts.append(answer.patch)
                room -= len(answer.patch)
            elif isinstance(answer, FileDiff):
                missing.append(f"{file.path}: {'; '.join(answer.notes) or 'it was not read'}")
            else:
                missing.append(f"{file.path}: {answer}")
            go_on()

        go_on()


def _write(path: Path, data: bytes, mode: str) -> None:
    with path.open(mode) as file:
        file.write(data)
