"""What all sheets share: one frame with a title, a text to read, and the ways out of it."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from tapui.projection.paragraphs import Paragraph
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.live_screen import SHEET_CSS, LiveScreen
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.widgets import plain, tone_style
from tapui.tower.wording.marks import Mark

Keys = Callable[[], Sequence[str]]
"""Returns the keys of all items of the list that a sheet was opened from, in its order."""

_NAME_WIDTH = 11


def alone() -> Sequence[str]:
    """Return that there are no other items."""
    return ()


class Sheet(LiveScreen[None]):
    """One item of a list, in full. The previous and next one are a key away.

    `key` is the item on show, `keys` are all of the list. Subclasses paint it in `show`.
    """

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = SHEET_CSS
    BINDINGS: ClassVar[list[BindingType]] = bindings("previous-item", "next-item")
    CLOSES = "closes"
    """What Escape does, in a word."""

    REVEALS = False
    """Whether what is shown is to be decided on."""

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__()
        self.key = key
        self._keys = keys

    def compose(self) -> ComposeResult:
        """The text, and below it what the sheet needs besides."""
        with Vertical(classes="sheet"):
            yield Reader(reveals=self.REVEALS)
            yield from self.below()

    def below(self) -> Iterable[Widget]:
        return ()

    @property
    def reader(self) -> Reader:
        return self.query_one(Reader)

    def on_mount(self) -> None:
        """Paint for the first time; the footer offers what works by then."""
        super().on_mount()
        self.call_after_refresh(self.refresh_bindings)

    def on_resize(self) -> None:
        super().on_resize()
        if self.is_mounted:
            self.show(self.tower.view, self.TOPICS)

    # The frame

    def set_frame(self, mark: Mark, name: str, note: str, tone: str = "muted") -> None:
        """Show state and name in the upper edge and a note at its right; the ways out below."""
        frame = self.query_one(".sheet", Vertical)
        left = plain(f"{mark.glyph} ", tone_style(mark.tone)) + plain(name, "bold", limit=400)
        frame.border_title = upper_edge(left, note, tone, self.app.size.width)
        frame.border_subtitle = self._ways_out()

    def _ways_out(self) -> Content:
        keys = list(self._keys())
        said = []
        if self.key in keys and len(keys) > 1:
            back, on = self.tower.key_of("previous-item"), self.tower.key_of("next-item")
            said.append(f"{back} {keys.index(self.key) + 1} of {len(keys)} {on}")
        said.append(f"{self.tower.key_of('close-sheet')} {self.CLOSES}")
        return plain("   ".join(said), "$text-muted")

    # Other items

    def neighbour(self, step: int) -> str | None:
        """Return the key of the item so many places away; None where there is none."""
        keys = list(self._keys())
        if self.key in keys:
            there = keys.index(self.key) + step
        else:
            there = 0 if step > 0 else len(keys) - 1
        return keys[there] if 0 <= there < len(keys) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn":
            return isinstance(parameters[0], int) and self.neighbour(parameters[0]) is not None
        return super().check_action(action, parameters)

    def action_turn(self, step: int) -> None:
        there = self.neighbour(step)
        if there is not None:
            self.go_to(there)

    def go_to(self, key: str) -> None:
        """Show another item, from its beginning."""
        self.key = key
        self.reader.scroll_to(y=0, animate=False)
        self.show(self.tower.view, self.TOPICS)
        self.refresh_bindings()


def upper_edge(left: Content, note: str, tone: str, width: int) -> Content:
    """Return what stands in the upper edge of a frame that is `width` cells wide: a title, and a
    note at its right."""
    room = max(width - 6, 8)
    right = plain(f" {note}", tone_style(tone), limit=60) if note else plain("")
    left = left.truncate(max(room - right.cell_length - 1, 8), ellipsis=True)
    gap = room - left.cell_length - right.cell_length
    line = plain(f" {'─' * max(gap - 1, 0)}", "$warning" if tone == "warning" else "$primary")
    return left + line + right if note and gap > 0 else left


def fact(name: str, found: str | None) -> list[Paragraph]:
    """Return a line with the name of a fact and what it is; nothing for none."""
    if not found:
        return []
    return [Paragraph(f"{name:<{_NAME_WIDTH}}{' '.join(found.splitlines())}", "muted")]
