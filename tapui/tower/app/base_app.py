"""The app with its main screen, before its actions: what frames and the palette need of it."""

from collections.abc import Sequence
from typing import Any

from textual.screen import Screen

from tapui.tower.app.feed import Feed
from tapui.tower.app.header import Note
from tapui.tower.app.main_screen import MainScreen
from tapui.tower.app.registry import PANES
from tapui.tower.app.tower import Tower
from tapui.tower.table.pane import Pane, PaneKind
from tapui.wire import events as ev


class BaseApp(Tower):
    """`panes` are those of the registry, unless others are wanted; `note` stands in the header.

    The rest is `Tower`'s.
    """

    def __init__(
        self, feed: Feed, *, panes: Sequence[PaneKind] = PANES, note: Note = "", **shared: Any
    ) -> None:
        super().__init__(feed, **shared)
        self.note = note
        self.pane_kinds = tuple(panes)
        for kind in self.pane_kinds:
            self.bind(kind.key, f"pane('{kind.id}')", show=False)
        self._main: MainScreen | None = None

    def get_default_screen(self) -> Screen[object]:
        self._main = MainScreen(self.feed.address, self.note, self.pane_kinds)
        return self._main

    @property
    def main(self) -> MainScreen:
        assert self._main is not None, "the app is not running"
        return self._main

    @property
    def panes(self) -> list[Pane]:
        """The panes that were made so far, in the order of their keys."""
        made = self.main.panes
        return [made[kind.id] for kind in self.pane_kinds if kind.id in made]

    @property
    def lines_above(self) -> int:
        return self.main.lines_above

    def frame_begins(self, news: Sequence[ev.Event], dirty: frozenset[str]) -> None:
        """A frame begins: `news` happened since the one before, the topics `dirty` changed."""

    def frame_ends(self) -> None:
        """All of a frame was given to the screen."""
