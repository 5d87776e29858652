"""A person at a terminal whose keys are counted, with a tape of what stood there and pictures."""

import html
import json
import re
import time
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tapui.tower.requests.request_detail import DEAF_SECONDS
from tests.rig.tmux import Screen

WITHIN = 30.0
"""Seconds that what the person waits for may take."""
PACE = 0.12
"""Seconds between what the person sees and their key: those of a fast typist. Keys that are read
together are no answer."""
AT_ONCE = 10.0
"""Seconds that the effect of a key may take."""


_CELL, _LINE, _FONT = 8.43, 18, 14
_TEXT, _GROUND = "#c8ccd4", "#0e1116"
"""Where a program names no colours."""


def picture_of(shown: str, columns: int) -> str:
    """Return an SVG of a terminal's lines with their escape sequences.

    Each word has its own place: not every program that draws SVGs knows `textLength`, without
    which runs of blanks move what is behind them.
    """
    console, lines = Console(width=columns, color_system="truecolor"), shown.splitlines()
    drawn = []
    for number, line in enumerate(lines):
        x = 0
        for text, style, _ in console.render(Text.from_ansi(line, no_wrap=True, end="")):
            drawn += _run(text, style or Style.null(), x, number)
            x += cell_len(text)
    size = f'width="{columns * _CELL:.0f}" height="{len(lines) * _LINE}"'
    font = f"font:{_FONT}px 'DejaVu Sans Mono',monospace;white-space:pre"
    ground = f'<rect width="100%" height="100%" fill="{_GROUND}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{font}">'
    return "\n".join([head, ground, *drawn, "</svg>\n"])


def _run(text: str, style: Style, column: int, line: int) -> list[str]:
    """Return what draws a piece of a line that has one style."""
    front, back = _colour(style.color, _TEXT), _colour(style.bgcolor, _GROUND)
    if style.reverse:
        front, back = back, front
    top, drawn = line * _LINE, []
    if back != _GROUND:
        place = f'x="{column * _CELL:.1f}" y="{top}"'
        size = f'width="{cell_len(text) * _CELL:.1f}" height="{_LINE}"'
        drawn.append(f'<rect {place} {size} fill="{back}"/>')
    looks = ' font-weight="bold"' if style.bold else ""
    looks += ' font-style="italic"' if style.italic else ""
    looks += ' text-decoration="underline"' if style.underline else ""
    for word in re.finditer(r"\S+", text):
        x = (column + cell_len(text[: word.start()])) * _CELL
        place = f'x="{x:.1f}" y="{top + _FONT}"'
        drawn.append(f'<text {place} fill="{front}"{looks}>{html.escape(word[0])}</text>')
    return drawn


def _colour(colour: Color | None, default: str) -> str:
    is_named = colour is not None and not colour.is_default
    return colour.get_truecolor().hex if colour is not None and is_named else default


class Tape:
    """What stood on a terminal after each key, with the keys, and pictures of it."""

    def __init__(self, folder: Path, size: tuple[int, int]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._width = size[0]
        self._began = time.monotonic()
        self._pictures = 0
        self._last = ""
        self._file = folder / "tape.cast"
        self._file.write_text(f'{{"version": 2, "width": {size[0]}, "height": {size[1]}}}\n')

    def key(self, name: str) -> None:
        self._write("i", name)

    def frame(self, screen: Screen) -> str:
        """Keep what stands there, if it is another frame than before; return it."""
        shown = screen.text(colours=True)
        if shown != self._last:
            self._last = shown
            self._write("o", "\x1b[H\x1b[2J" + shown.rstrip("\n").replace("\n", "\r\n"))
        return shown

    def picture(self, screen: Screen, name: str) -> None:
        self._pictures += 1
        stem = self.folder / f"{self._pictures:02}-{name}"
        shown = self.frame(screen)
        stem.with_suffix(".txt").write_text(screen.text())
        stem.with_suffix(".svg").write_text(picture_of(shown, self._width))

    def _write(self, kind: str, data: str) -> None:
        with self._file.open("a") as file:
            file.write(json.dumps([round(time.monotonic() - self._began, 3), kind, data]) + "\n")


class Person:
    """The person at a tower: presses keys, and looks."""

    def __init__(self, screen: Screen, tape: Tape) -> None:
        self.screen = screen
        self.tape = tape
        self.keys = 0

    def looks(self, pattern: str, picture: str = "", within: float = WITHIN) -> re.Match[str]:
        """Wait until something is on the screen."""
        found = self.screen.wait_for(pattern, within=within)
        if picture:
            self.tape.picture(self.screen, picture)
        else:
            self.tape.frame(self.screen)
        return found

    def presses(self, key: str, shows: str, picture: str = "") -> None:
        """Press a key, which counts, and look for its effect."""
        self.keys += 1
        self.moves(key, shows, picture)

    def moves(self, key: str, shows: str, picture: str = "") -> None:
        """Press a key by which the person reads."""
        time.sleep(PACE)
        self.tape.key(key)
        self.screen.keys(key)
        self.looks(shows, picture, within=AT_ONCE)

    def answers(self, letter: str, armed: str, then: str, picture: str = "") -> None:
        """Choose an answer of the request that has just come up, and decide."""
        time.sleep(1.5 * DEAF_SECONDS)
        self.presses(letter, armed)
        self.presses("Enter", then, picture)

    def types(self, text: str) -> None:
        self.tape.key(text)
        self.screen.type(text)
        self.looks(re.escape(text[-12:]), within=AT_ONCE)

    def focus(self, sequence: str) -> None:
        """Go to another window, or come back."""
        self.screen.type(sequence)

    def rest(self) -> None:
        """Close what is open, and go to the first row of Sessions."""
        for key in ("Escape", "Escape", "Escape", "1", "Home"):
            self.tape.key(key)
            self.screen.keys(key)
            time.sleep(0.15)  # Esc and what follows at once is another key
