"""What reaches the terminal besides the screen: its title, and a crash."""

from collections.abc import Mapping
from pathlib import Path

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
