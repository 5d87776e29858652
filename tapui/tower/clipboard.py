"""Copying out of the tower: by tmux, else by asking the terminal; and always into a private file.

Terminals do not say whether they took a copy (OSC 52), and many do not.
"""

import asyncio
import os
from pathlib import Path

from textual.app import App

from tapui.files import private_file
from tapui.text import safe_text

MAX_CHARS = 64 * 1024
"""Characters that are copied: terminals drop what is much longer."""
FILE_NAME = "copied.txt"
_TMUX_SECONDS = 2.0


class Clipboard:
    """Copies texts of an app. `folder` has the file with the last one; None keeps no file."""

    def __init__(self, app: App[str], folder: Path | None) -> None:
        self._app = app
        self._folder = folder

    def put(self, text: str, what: str, *, keeps_lines: bool = False) -> None:
        """Copy a text, made safe: what is pasted into a shell shows itself, and is one line unless
        its line feeds are to be kept. `what` is its name in the notice."""
        kept = safe_text(text, limit=MAX_CHARS, newlines=keeps_lines)
        if kept:
            said = f"{what} was copied"
            if len(text) > MAX_CHARS:
                said = f"{MAX_CHARS:,} of {len(text):,} characters were copied"
            self._app.run_worker(self._put(kept, said), group="copy")

    async def _put(self, kept: str, said: str) -> None:
        if not await _tmux_takes(kept):
            self._app.copy_to_clipboard(kept)
        if self._folder is not None:
            try:
                said += f"; also in {_write(self._folder, kept)}"
            except OSError as error:
                said += f"; not in a file: {error.strerror or type(error).__name__}"
        self._app.notify(said, markup=False, timeout=4)


async def _tmux_takes(text: str) -> bool:
    """Give a text to tmux and through it to the terminal; return whether tmux took it."""
    if not os.environ.get("TMUX"):
        return False
    nothing = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "load-buffer", "-w", "-"),
            stdin=asyncio.subprocess.PIPE,
            stdout=nothing,
            stderr=nothing,
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_TMUX_SECONDS):
            await process.communicate(text.encode())
    except TimeoutError:
        process.kill()
        await process.wait()
    return process.returncode == 0


def _write(folder: Path, text: str) -> Path:
    """Write the file, for its owner only. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        private_file.write(fd, FILE_NAME, text.encode())
    finally:
        os.close(fd)
    return folder / FILE_NAME
