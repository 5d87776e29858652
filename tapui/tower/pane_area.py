"""The part of the main screen that the panes share, placed by the table of layouts."""

from typing import TYPE_CHECKING, cast

from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.widget import Widget

from tapui.tower.layouts import PanePlace, ScreenLayout, layout_for, places, seen_panes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapui.tower.panes.pane import Pane


class Tiles(Layout):
    """Puts each pane where the area says."""

    name = "tiles"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> list[WidgetPlacement]:
        """Return the places of the panes in sight."""
        del greedy
        found = cast("PaneArea", parent).places(size)
        return [
            WidgetPlacement(Region(*found[pane.kind.id]), NULL_OFFSET, NULL_SPACING, pane)
            for pane in cast("list[Pane]", children)
            if pane.kind.id in found
        ]


class PaneArea(Widget):
    """Holds all panes; `recent` are those that the person went to, the last one last, `bare` those
    that have had nothing to show yet."""

    def __init__(self, panes: "Sequence[str]") -> None:
        super().__init__()
        self._tiles = Tiles()
        self.pane_ids = tuple(panes)
        self.recent = [self.pane_ids[0]]
        self.is_zoomed = False
        self.bare: set[str] = set()

    @property
    def layout(self) -> Layout:
        """Return the layout by the table."""
        return self._tiles

    @property
    def screen_layout(self) -> ScreenLayout:
        """The table's entry for this terminal."""
        return layout_for(self.app.size.width, self.app.size.height)

    @property
    def seen(self) -> list[str]:
        """The ids of the panes in sight."""
        return seen_panes(
            self.screen_layout,
            self.pane_ids,
            self.recent,
            is_zoomed=self.is_zoomed,
            bare=self.bare,
        )

    def places(self, size: Size) -> dict[str, PanePlace]:
        """Return the places of the panes in sight in an area of this size."""
        return places(
            self.screen_layout,
            self.pane_ids,
            self.recent,
            size.width,
            size.height,
            is_zoomed=self.is_zoomed,
            bare=self.bare,
        )

    def go_to(self, pane_id: str) -> None:
        """Make a pane the one that was gone to last."""
        if pane_id in self.recent:
            self.recent.remove(pane_id)
        self.recent.append(pane_id)
