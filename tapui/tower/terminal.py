"""What reaches the terminal besides the screen: its title, and a crash."""

import traceback

from tapui.text import safe_text


def title_sequence(waiting: int) -> str:
    """Return the bytes that name the window. The text is ours alone: nothing comes from outside."""
    return f"\x1b]2;{f'({waiting}) ' if waiting else ''}tapui\x07"


RESET_TITLE = "\x1b]2;\x07"
"""Leaves the naming of the window to the shell again."""


def crash_text(error: BaseException | None) -> str:
    """Return a traceback without any values: they may be secrets. Safe to print."""
    if error is None:
        return "tapui ended for an unknown reason."
    return safe_text("".join(traceback.format_exception(error)), newlines=True)
