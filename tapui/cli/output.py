"""What the commands print: data on stdout, notes on stderr, nothing raw from outside."""

import os
import re
import shutil
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from tapui.cli.failure import WRONG_USE, Failure, silence
from tapui.text import safe_text

_NOT_ASCII = re.compile(r"[^\x20-\x7e]")
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def has_colour(stream: TextIO) -> bool:
    env = os.environ
    return not env.get("NO_COLOR") and env.get("TERM") != "dumb" and stream.isatty()


def note(text: str) -> None:
    """Tell the person something that is not data."""
    try:
        sys.stderr.write(f"{safe_text(text, newlines=True)}\n")
        sys.stderr.flush()
    except OSError:  # its reader has gone; the exit code tells the rest
        silence(sys.stderr)


def fail(text: str) -> None:
    """Tell the person what went wrong, one `tapui:` line a line of text."""
    for line in text.split("\n"):
        note(f"tapui: {line}")


def say(text: str, *, newlines: bool = False) -> None:
    sys.stdout.write(f"{safe_text(text, newlines=newlines)}\n")


def say_exactly(text: str) -> None:
    """Print text unchanged into a file or a pipe, in UTF-8; made safe where a terminal shows it."""
    if sys.stdout.isatty():
        sys.stdout.write(safe_text(text, newlines=True))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())


def heading(text: str) -> None:
    text, bold = safe_text(text), has_colour(sys.stdout)
    sys.stdout.write(f"{_BOLD}{text}{_RESET}\n" if bold else f"{text}\n")


def json_text(value: object, *, indent: int = 0) -> str:
    """Return JSON in printable ASCII: on one line, or indented by that many spaces.

    Structs, `Raw` and plain values are taken; numbers keep the digits they came with.
    """
    return _ascii(msgspec.json.format(msgspec.json.encode(value), indent=indent or -1))


def _ascii(data: bytes) -> str:
    # Outside of strings, JSON is ASCII; line feeds stand only between its parts.
    text = data.decode()
    return "\n".join(_NOT_ASCII.sub(_escape, line) for line in text.split("\n"))


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def say_json(value: object, *, indent: int = 0) -> None:
    sys.stdout.write(f"{json_text(value, indent=indent)}\n")


def say_json_bytes(line: bytes) -> None:
    """Print one line of valid JSON that was read somewhere."""
    sys.stdout.write(f"{_ascii(line)}\n")


def all_fields(struct: msgspec.Struct) -> dict[str, Any]:
    """Return a Struct's fields for JSON, those that are empty too, but not what was cut of it."""
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return {key: getattr(struct, name) for key, name in names if name != "cuts"}


def path_text(path: Path | str) -> str:
    """Return a path as text; bytes in it that are not UTF-8 become replacement characters."""
    return os.fsencode(path).decode("utf-8", "replace")


def flush() -> None:
    """Let what was printed leave the process now (a reader at a pipe waits for it)."""
    sys.stdout.flush()


def is_agreed(question: str) -> bool:
    """Ask the person, and return whether they say yes; raises `Failure` without a terminal."""
    if not sys.stdin.isatty():
        raise Failure(f"{question} Say so with --yes", WRONG_USE)
    sys.stderr.write(f"{safe_text(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def terminal_width() -> int:
    """Return the width of the terminal; 0 for a pipe, and where it is not known."""
    return shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0


def table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    margin: str = "  ",
    numbers: Collection[int] = (),
    is_cut: bool = False,
) -> None:
    """Print rows under titles in columns as wide as they need; cells come from outside.

    `numbers` are the columns that stand at the right of their place. With `is_cut` a row ends with
    the terminal's width; into a pipe it goes whole.
    """
    from rich.cells import cell_len, set_cell_size

    room = terminal_width() if is_cut else 0

    cells = [[safe_text(cell) for cell in row] for row in rows]
    columns = range(len(titles))
    widths = [max(cell_len(row[at]) for row in [titles, *cells]) for at in columns]

    def line(row: Sequence[str]) -> str:
        padded = []
        for at in columns:
            space = " " * (widths[at] - cell_len(row[at]))
            padded.append(space + row[at] if at in numbers else row[at] + space)
        text = f"{margin}{'  '.join(padded)}".rstrip()
        return f"{set_cell_size(text, room - 1)}…" if 0 < room < cell_len(text) else text

    dim = has_colour(sys.stdout)
    sys.stdout.write(f"{_DIM}{line(titles)}{_RESET}\n" if dim else f"{line(titles)}\n")
    for row in cells:
        sys.stdout.write(f"{line(row)}\n")
