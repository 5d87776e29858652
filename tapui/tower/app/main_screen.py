"""The main screen: what waits, and the panes where the table of layouts has them."""

from collections.abc import Sequence
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.widget import Widget

from tapui.tower.app.footer import FooterLine
from tapui.tower.app.header import HeaderLine, Note, PaneTabs
from tapui.tower.app.layouts import PanePlace, ScreenLayout, layout_for, places
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.requests.waiting_band import WaitingBand
from tapui.tower.sessions.tell_line import TellLine
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.textual.inside import LeanScreen
from tapui.tower.textual.widgets import plain


class Tiles(Layout):
    """Puts each pane where the area says."""

    name = "tiles"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> list[WidgetPlacement]:
        del greedy
        placed = cast("PaneArea", parent).places(size)
        return [
            WidgetPlacement(Region(*placed[pane.kind.id]), NULL_OFFSET, NULL_SPACING, pane)
            for pane in cast("list[Pane]", children)
            if pane.kind.id in placed
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
        return self._tiles

    @property
    def screen_layout(self) -> ScreenLayout:
        return layout_for(self.app.size.width, self.app.size.height)

    @property
    def seen(self) -> list[str]:
        placed = self.places(self.size)
        return [pane for pane in self.pane_ids if pane in placed]

    def places(self, size: Size) -> dict[str, PanePlace]:
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
        if pane_id in self.recent:
            self.recent.remove(pane_id)
        self.recent.append(pane_id)


class MainScreen(LeanScreen[object]):
    """Header, what waits, the tabs where panes are out of sight, panes, keys.

    A pane is made when it is seen for the first time.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("next-pane", "previous-pane", "zoom", "close")
    AUTO_FOCUS = ""

    def __init__(self, address: str, note: Note, kinds: Sequence[PaneKind]) -> None:
        super().__init__()
        self.kinds = tuple(kinds)
        self.panes: dict[str, Pane] = {}
        self.area = PaneArea([kind.id for kind in self.kinds])
        self.area.bare = {kind.id for kind in self.kinds if kind.has_rows is not None}
        self.band = WaitingBand()
        self.tell_line = TellLine()
        self._header = HeaderLine(address, note)
        self._tabs = PaneTabs(self.kinds)
        self._arranged: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """In the first frame only the current pane: it is what one reads first, and each pane adds
        to the time until then."""
        yield self._header
        yield self.band
        yield self._tabs
        with self.area:
            yield self._make(self.current_kind)
        yield self.tell_line
        yield FooterLine()
        self._arrange()

    def on_mount(self) -> None:
        self.call_after_refresh(self._make_missing)

    @property
    def current_kind(self) -> PaneKind:
        return self.kind(self.area.recent[-1])

    @property
    def current(self) -> Pane:
        return self.band if self.band.has_pseudo_class("focus-within") else self.current_pane

    @property
    def current_pane(self) -> Pane:
        return self.panes[self.current_kind.id]

    @property
    def seen_kinds(self) -> list[PaneKind]:
        return [self.kind(one) for one in self.area.seen]

    @property
    def lines_above(self) -> int:
        """How many lines stand above the panes and their tabs."""
        return 1 + self.area.screen_layout.waiting

    def kind(self, pane_id: str) -> PaneKind:
        return next(one for one in self.kinds if one.id == pane_id)

    def show(self, view: View, *, start_key: str) -> None:
        """Paint the lines at the top; panes that have something to show now take their place."""
        self._header.show(view, start_key=start_key)
        self._take_places(view)
        if self._tabs.display:
            self._tabs.show(view, self.current_kind)

    def _take_places(self, view: View) -> None:
        """Give panes their place with the first that they show. They keep it: nothing vanishes."""
        bare = self.area.bare
        filled = {
            kind.id
            for kind in self.kinds
            if kind.id in bare and kind.has_rows is not None and kind.has_rows(view)
        }
        if filled:
            bare -= filled
            self._arrange()
            self.call_later(self._make_missing)

    def seen_panes(self) -> list[Pane]:
        """Return the panes that are on the screen, the band with what waits first."""
        made = (self.panes.get(kind.id) for kind in self.seen_kinds)
        panes = [pane for pane in made if pane is not None and pane.is_mounted]
        return [self.band, *panes] if self.band.display else panes

    async def go_to(self, pane_id: str) -> None:
        """Make a pane the current one; the first time, make the pane."""
        self._mark_current(self.kind(pane_id))
        await self._make_missing()

    def keep_focus(self) -> None:
        if self.focused is None and self.current_pane.is_mounted:
            self.current_pane.focus_inside()

    async def action_next_pane(self, step: int) -> None:
        """Go to the next or previous pane; what waits is one of them while it has rows to go to."""
        ids = [kind.id for kind in self.kinds]
        has_band = self.band.display and not (
            self.band.has_class("-bare") or self.band.has_class("-quiet")
        )
        round_trip = ["", *ids] if has_band else ids
        here = "" if self.current is self.band else self.current_kind.id
        at = round_trip.index(here) if here in round_trip else 0
        there = round_trip[(at + step) % len(round_trip)]
        if there:
            await cast("Tower", self.app).show_pane(there)
        else:
            self.band.focus_inside()

    async def action_zoom(self) -> None:
        self.area.is_zoomed = not self.area.is_zoomed
        self._arrange()
        await self._make_missing()
        self.current_pane.focus_inside()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "zoom":
            return self.area.is_zoomed or len(self.area.seen) > 1
        return super().check_action(action, parameters)

    async def action_close_topmost(self) -> None:
        if self.current is self.band:
            self.current_pane.focus_inside()
        elif not self.current_pane.close_topmost() and self.area.is_zoomed:
            await self.action_zoom()

    async def on_resize(self) -> None:
        self._arrange()
        await self._make_missing()

    def on_descendant_focus(self) -> None:
        focused = self.focused
        if focused is None:
            return
        for pane in self.panes.values():
            if pane in focused.ancestors_with_self and pane.kind is not self.current_kind:
                self._mark_current(pane.kind)
        self._mark_frames()
        cast("Tower", self.app).wake()

    def on_tell_line_closed(self) -> None:
        self.current_pane.focus_inside()

    async def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        await cast("Tower", self.app).show_pane(event.pane_id)

    def _make(self, kind: PaneKind) -> Pane:
        pane = self.panes[kind.id] = kind.load()()
        pane.kind = kind
        # Until it is laid out and knows its width: the first frame has the names of the panes.
        style = pane.title_style(is_current=False)
        pane.border_title = plain(f"{kind.key} {kind.title}", style)
        return pane

    async def _make_missing(self) -> None:
        """Make the panes that this layout shows and that were not seen before."""
        missing = [kind for kind in self.seen_kinds if kind.id not in self.panes]
        if missing:
            await self.area.mount(*[self._make(kind) for kind in missing])
        self._arrange()
        cast("Tower", self.app).wake()

    def _mark_current(self, kind: PaneKind) -> None:
        self.area.go_to(kind.id)
        self._arrange()
        if self._tabs.display:
            self._tabs.show(cast("Tower", self.app).view, kind)

    def _arrange(self) -> None:
        layout = self.area.screen_layout
        self.band.set_lines(layout.waiting)
        self._tabs.display = layout.has_tabs
        seen = self.area.seen
        arranged = (layout, seen, len(self.panes))
        if arranged != self._arranged:
            self._arranged = arranged
            for pane in self.panes.values():
                pane.set_class(pane.kind.id not in seen, "-unseen")
                pane.refresh(layout=True)
        self._mark_frames()

    def _mark_frames(self) -> None:
        is_band = self.band.has_pseudo_class("focus-within")
        current = self.band if is_band else self.panes.get(self.current_kind.id)
        for pane in (*self.panes.values(), self.band):
            pane.set_class(pane is current, "-current")
            if pane.is_mounted:
                pane.show_frame()
