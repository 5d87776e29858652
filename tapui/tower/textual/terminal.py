"""What reaches the terminal besides the screen: its title, copied text, a crash, plain glyphs."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter

from tapui.files import private_file
from tapui.text import safe_text

MESSAGE_CHARS = 300
"""Characters of an error's message that the line about a crash shows."""


def title_sequence(waiting: int) -> str:
    """Return the bytes that name the window. No text from outside is in it."""
    return f"\x1b]2;{f'({waiting}) ' if waiting else ''}tapui\x07"


def notice_sequence(text: str, environ: Mapping[str, str]) -> str:
    """Return the bytes with which the terminal program shows a notice; none inside of tmux and
    screen, which would drop them or show them. `text` is made safe."""
    if environ.get("TMUX") or environ.get("STY"):
        return ""
    text = safe_text(text, limit=MESSAGE_CHARS)
    name = environ.get("TERM", "")
    if environ.get("VTE_VERSION") or name.startswith(("foot", "rxvt")):
        return f"\x1b]777;notify;tapui;{text}\x1b\\"
    return f"\x1b]9;{text}\x1b\\"


RESET_TITLE = "\x1b]2;\x07"
"""Leaves the naming of the window to the shell again."""


def crash_line(error: BaseException, log_file: Path | None) -> str:
    """Return what is printed about a crash, safe to print: one line that names the log file."""
    message = safe_text(str(error), limit=MESSAGE_CHARS)
    where = f" (log: {safe_text(str(log_file))})" if log_file is not None else ""
    return f"tapui: internal error: {type(error).__name__}: {message}{where}"


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
            notice = f"{what} was copied"
            if len(text) > MAX_CHARS:
                notice = f"{MAX_CHARS:,} of {len(text):,} characters were copied"
            self._app.run_worker(self._put(kept, notice), group="copy")

    async def _put(self, kept: str, notice: str) -> None:
        if not await _tmux_takes(kept):
            self._app.copy_to_clipboard(kept)
        if self._folder is not None:
            try:
                notice += f"; also in {_write(self._folder, kept)}"
            except OSError as error:
                notice += f"; not in a file: {error.strerror or type(error).__name__}"
        self._app.notify(notice, markup=False, timeout=4)


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
    private_file.write_in(folder, FILE_NAME, text.encode())
    return folder / FILE_NAME


_ASCII = str.maketrans(
    {
        "●": "*",
        "○": "o",
        "◌": "o",
        "◆": "#",
        "▲": "^",
        "▼": "v",
        "▸": ">",
        "▾": "v",
        "✓": "+",
        "✗": "x",
        "⊘": "-",
        "↻": "@",
        "·": ".",
        "…": "~",
        "→": ">",
        "←": "<",
        "↑": "^",
        "↓": "v",
        "⏎": "<",
        "‖": "=",
        "┊": ":",
        "▌": ">",
        "╋": "#",
        "└": "`",
        "⎇": "@",
        "−": "-",
        "×": "x",
        "“": '"',
        "”": '"',
        **dict.fromkeys("─━═", "-"),
        **dict.fromkeys("│┃║", "|"),
        **dict.fromkeys("╭╮╰╯┌┐┘├┤┬┴┼", "+"),
        **dict.fromkeys("█▇▆▅▄▃▂▁", "#"),
    }
)


class AsciiGlyphs(LineFilter):
    """Draws everything with ASCII characters where the tower's own are others."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [
            Segment(text.translate(_ASCII), style, control) for text, style, control in segments
        ]
