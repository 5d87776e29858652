"""The last line: the keys that work here and now, each once; a click presses one."""

from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen

from tapui.tower.keys.key_table import BY_ID, TABLE
from tapui.tower.keys.names import key_name
from tapui.tower.textual.widgets import TextLine, plain

_RANKS = {one.id: rank for rank, one in enumerate(TABLE)}
_LAST = "commands"
LEAST = Size(40, 8)
"""Of a terminal in which rows and answers can be read."""
_KEPT = ("help", "quit")
"""Offered in every room that there is, as is the way to all commands."""


class Offer(NamedTuple):
    """A key that works: Textual's name for it, what is shown, its words, the rank among others."""

    key: str
    shown: str
    words: str
    brief: str
    rank: int
    id: str | None


class FooterLine(TextLine):
    """Made anew when the keys change that work on its screen."""

    def __init__(self) -> None:
        super().__init__()
        self._offers: list[Offer] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self._changed(self.screen)

    def on_resize(self) -> None:
        self.fill()

    def _changed(self, screen: Screen[object]) -> None:
        if screen is self.screen:
            self._offers = offers(screen)
            self.fill()

    def fill(self) -> None:
        """Show the keys, or that the terminal is too small. The line itself keeps its size when
        only the height of the terminal changes."""
        size = self.app.size
        if size.width < LEAST.width or size.height < LEAST.height:
            told = f"needs {LEAST.width}×{LEAST.height} or more"
            self.set_line(plain(told, "bold $warning"), [])
            return
        width = self.size.width - 2
        last = [one for one in self._offers if one.id == _LAST]
        others = [one for one in self._offers if one.id != _LAST]
        for is_brief, gap in ((False, 3), (False, 2), (True, 2)):
            if _width(others, is_brief, gap) + _width(last, is_brief, gap) + gap <= width:
                break
        while others and _width(others, True, 2) + _width(last, True, 2) + 2 > width:
            dropped = [one for one in others if one.id not in _KEPT] or others
            others.remove(max(dropped, key=lambda one: one.rank))
        parts: list[Content] = []
        spans: list[tuple[int, int, str]] = []
        at = 1
        for number, one in enumerate([*others, *last]):
            if number:
                space = gap
                if one.id == _LAST:
                    space = max(width + 1 - at - _width([one], is_brief, gap), gap)
                parts.append(plain(" " * space))
                at += space
            words = _words(one, is_brief)
            parts += [plain(one.shown, "bold $accent"), plain(f" {words}" if words else "")]
            wide = _width([one], is_brief, gap)
            spans.append((at, at + wide, one.key))
            at += wide
        self.set_line(Content("").join(parts), spans)

    def on_click(self, event: events.Click) -> None:
        if key := self.at(event.x):
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))


def offers(screen: Screen[object]) -> list[Offer]:
    """Return the keys that work on this screen now and are worth a place in the footer."""
    offered: dict[str, Offer] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if not active.enabled or not binding.show or not binding.description:
            continue
        name = binding.id or binding.action
        known = BY_ID.get(binding.id or "")
        if name not in offered:
            words = binding.description
            brief = (known.brief or words) if known and known.offer == words else words
            rank = _RANKS.get(name, len(TABLE) if binding.id else -1)
            shown = (binding.key_display or key_name(key)) if not known else key_name(key)
            offered[name] = Offer(key, shown, words, brief, rank, binding.id)
    return sorted(offered.values(), key=lambda one: one.rank)


def _words(one: Offer, is_brief: bool) -> str:
    if is_brief and one.id == _LAST:
        return ""
    return one.brief if is_brief else one.words


def _width(offers: list[Offer], is_brief: bool, gap: int) -> int:
    total = gap * max(len(offers) - 1, 0)
    for one in offers:
        words = _words(one, is_brief)
        total += cell_len(one.shown) + (cell_len(words) + 1 if words else 0)
    return total
