"""The person's own editor, at a line of a changed file."""

import asyncio
import contextlib
import contextvars
import os
import shlex
import shutil
import subprocess
import threading
from pathlib import Path

from tapui.tower.app.tower import Tower

_OWN_WINDOW = frozenset(
    {"code", "code-insiders", "codium", "cursor", "windsurf", "subl", "zed", "gvim", "mate", "kate",
     "gedit", "xed", "bbedit"}
)  # fmt: skip
"""Editors that do not need the terminal."""
_WITH_GOTO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
_WITH_COLON = frozenset({"subl", "zed", "hx", "helix", "kak", "micro", "bbedit"})
_OTHERWISE = ("vim", "vi", "nano")


class NoFile(Exception):  # noqa: N818 - in words, for the person
    """A file cannot be opened; the text says why."""


def file_in(root: str, path: str) -> Path:
    """Return the regular file of a repository at `path`. Raises `NoFile`, also for one that a link
    leads to: what stands in a repository cannot have another file opened."""
    if path.startswith("//"):
        raise NoFile("its name is not UTF-8")
    if "\0" in path or "\0" in root:
        raise NoFile("there is no file of this name")
    try:
        top = Path(root).resolve(strict=True)
        found = (top / path).resolve(strict=True)
    except OSError as error:
        raise NoFile(error.strerror or str(error)) from None
    if found != top / os.path.normpath(path) or not found.is_relative_to(top):
        raise NoFile("a link leads to it")
    if not found.is_file():
        raise NoFile("it is no regular file")
    return found


def editor_line(path: Path, line: int | None, chosen: str | None) -> tuple[list[str], bool]:
    """Return the command that opens a file at a line, and whether it needs the terminal.

    `chosen` is what the person's VISUAL or EDITOR says. Raises `NoFile`.
    """
    try:
        words = shlex.split(chosen or "")
    except ValueError:
        raise NoFile("VISUAL or EDITOR has a quote without its end") from None
    if not words:
        known = next((one for one in _OTHERWISE if shutil.which(one)), None)
        if known is None:
            raise NoFile("no editor is known: set VISUAL or EDITOR")
        words = [known]
    name = Path(words[0]).name.removesuffix(".exe")
    place = [str(path)]
    if line is not None and name in _WITH_GOTO:
        place = ["-g", f"{path}:{line}"]
    elif line is not None and name in _WITH_COLON:
        place = [f"{path}:{line}"]
    elif line is not None:
        place = [f"+{line}", str(path)]
    return [*words, *place], name not in _OWN_WINDOW


def open_in_editor(tower: Tower, root: str, path: str, line: int | None) -> None:
    """Open a file of a repository in the person's editor; say why where that cannot be done."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    try:
        command, needs_terminal = editor_line(file_in(root, path), line, chosen)
    except NoFile as fault:
        tower.notify(f"{path} cannot be opened: {fault}", severity="warning")
        return
    if needs_terminal:
        tower.run_in_terminal(command)
        return
    tower.notify(f"{path} opens in {Path(command[0]).name}.")
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()

    def ended(fault: str) -> None:
        if tower.is_running:
            tower.notify(fault, severity="error")

    def run() -> None:
        fault = _run_beside(command)
        if fault:
            with contextlib.suppress(RuntimeError):  # the tower has ended before
                loop.call_soon_threadsafe(ended, fault, context=context)

    # No thread of the loop's: the tower ends without waiting for an editor.
    threading.Thread(target=run, name="editor", daemon=True).start()


def _run_beside(command: list[str]) -> str:
    """Run an editor that has a window of its own to its end; return where it failed."""
    nothing = subprocess.DEVNULL
    name = Path(command[0]).name
    try:
        ran = subprocess.run(
            command, stdin=nothing, stdout=nothing, stderr=nothing,
            start_new_session=True, check=False,
        )  # fmt: skip
    except OSError as error:
        return f"{name} could not be started: {error.strerror or error}"
    return f"{name} ended with exit code {ran.returncode}" if ran.returncode else ""
