"""The main screen: the panes where the table of layouts has them, a detail, and what waits."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.widget import Widget

from tapui.tower.app.detail_area import DetailArea
from tapui.tower.app.footer import FooterLine
from tapui.tower.app.header import HeaderLine, Note, PaneTabs
from tapui.tower.app.layouts import (
    DETAIL,
    PanePlace,
    ScreenLayout,
    layout_for,
    places,
    slot_of,
)
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.requests.waiting_band import SHARE as BAND_SHARE
from tapui.tower.requests.waiting_band import WaitingBand
from tapui.tower.sessions.tell_line import TellLine
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.textual.inside import LeanScreen
from tapui.tower.textual.sheet import Sheet
from tapui.tower.textual.widgets import plain

if TYPE_CHECKING:
    from tapui.tower.requests.request_detail import RequestDetail

_CALL_LINES = (2, 5)
"""Calls in flight that have a line below the detail, at least and at most."""
_FRAME_LINES = 2
_SHRINKS_AFTER = 10.0
"""Seconds that fewer calls were in flight before their pane has fewer lines."""


class Tiles(Layout):
    """Puts each pane and the detail where the area says, the band over their last lines."""

    name = "tiles"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> list[WidgetPlacement]:
        del greedy
        area = cast("PaneArea", parent)
        placed = area.places(size)
        tiles = []
        for child in cast("list[Pane | DetailArea]", children):
            if child is area.band:
                lines = min(area.band.lines, size.height)
                place = Region(0, size.height - lines, size.width, lines)
                tiles.append(WidgetPlacement(place, NULL_OFFSET, NULL_SPACING, child, order=1))
            elif child.place_id in placed:
                place = Region(*placed[child.place_id])
                tiles.append(WidgetPlacement(place, NULL_OFFSET, NULL_SPACING, child))
        return tiles


class PaneArea(Widget):
    """Holds all panes, the detail and the band; `recent` are the panes that the person went to, the
    last one last, `bare` those that have had nothing to show yet."""

    def __init__(self, panes: "Sequence[str]") -> None:
        super().__init__()
        self._tiles = Tiles()
        self.pane_ids = tuple(panes)
        self.recent = [self.pane_ids[0]]
        self.is_zoomed = False
        self.bare: set[str] = set()
        self.heights: dict[str, int] = {}
        """Of panes below the detail, in lines."""
        self.band = WaitingBand()
        self.detail_area = DetailArea()
        self._asked: tuple[object, ...] = ()
        """What the places depend on that were worked out last."""
        self._places: dict[str, PanePlace] = {}

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

    @property
    def has_detail(self) -> bool:
        return DETAIL in self.places(self.size)

    def places(self, size: Size) -> dict[str, PanePlace]:
        """Return where the panes and the detail are. It is asked for many times a frame."""
        layout, heights = self.screen_layout, tuple(self.heights.items())
        asked = (layout, size, *self.recent, self.is_zoomed, frozenset(self.bare), heights)
        if asked != self._asked:
            self._asked = asked
            self._places = places(
                layout,
                (*self.pane_ids, DETAIL),
                self.recent,
                size.width,
                size.height - layout.has_band,
                is_zoomed=self.is_zoomed,
                bare=self.bare,
                heights=self.heights,
            )
        return self._places

    def slot_of(self, pane_id: str) -> list[str]:
        """Return the panes that take turns in one place with this one."""
        return slot_of(self.screen_layout, self.pane_ids, pane_id)

    def go_to(self, pane_id: str) -> None:
        if pane_id in self.recent:
            self.recent.remove(pane_id)
        self.recent.append(pane_id)


class MainScreen(LeanScreen[object]):
    """Header, the tabs where panes are out of sight, panes and detail, what waits, keys.

    A pane is made when it is seen for the first time.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "next-pane", "previous-pane", "zoom", "into-detail", "close"
    )
    AUTO_FOCUS = ""

    def __init__(self, address: str, note: Note, kinds: Sequence[PaneKind]) -> None:
        super().__init__()
        self.kinds = tuple(kinds)
        self.panes: dict[str, Pane] = {}
        self.area = PaneArea([kind.id for kind in self.kinds])
        self.area.bare = {kind.id for kind in self.kinds if kind.has_rows is not None}
        self.band = self.area.band
        self.detail_area = self.area.detail_area
        self.tell_line = TellLine()
        self._header = HeaderLine(address, note)
        self._tabs = PaneTabs(self.kinds, self.sign_of)
        self._arranged: tuple[object, ...] = ()
        self._making = asyncio.Lock()
        self._left: str | None = None
        """The request that had the keys in the detail when another screen came over this one."""
        self._calls_fewer_since: float | None = None
        """When fewer calls were in flight than Calls has lines for."""

    def compose(self) -> ComposeResult:
        """In the first frame only the current pane: it is what one reads first, and each pane adds
        to the time until then."""
        yield self._header
        yield self._tabs
        with self.area:
            yield self._make(self.current_kind)
            yield self.detail_area
            yield self.band
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
        return 1

    @property
    def lines_below(self) -> int:
        """How many lines stay in sight below a sheet, its keys included."""
        return int(self.area.screen_layout.has_band)

    def sign_of(self, kind: PaneKind, view: View) -> str:
        """Return what a tab says beside its title: what the pane says, once it is made."""
        pane = self.panes.get(kind.id)
        return kind.sign(view) if pane is None else pane.sign(view)

    def kind(self, pane_id: str) -> PaneKind:
        return next(one for one in self.kinds if one.id == pane_id)

    def show(self, view: View, *, start_key: str) -> None:
        """Paint the lines at the top; panes that have something to show now take their place."""
        self._header.show(view, start_key=start_key)
        self._take_places(view)
        self._fit_calls(view)
        self._show_tabs()

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

    def _fit_calls(self, view: View) -> None:
        """Give Calls below the detail a line for each call in flight: more at once, fewer only once
        that has lasted; neither while the person is in a pane that would move."""
        least, most = _CALL_LINES
        wanted = min(max(len(view.state.calls), least), most) + _FRAME_LINES
        known = self.area.heights.get("calls", 0)
        if wanted >= known:
            self._calls_fewer_since = None
        elif self._calls_fewer_since is None:
            self._calls_fewer_since = view.now
        since = self._calls_fewer_since
        has_lasted = since is not None and view.now - since >= _SHRINKS_AFTER
        is_read = self.area.has_detail and self.current_kind.id not in ("sessions", "turns")
        if known and (wanted == known or is_read or (wanted < known and not has_lasted)):
            return
        self._calls_fewer_since = None
        self.area.heights["calls"] = wanted
        if known and self.area.has_detail:
            self.area.refresh(layout=True)
            self._mark_covered()

    def seen_panes(self) -> list[Pane]:
        """Return the panes that are on the screen, the band with what waits first."""
        made = (self.panes.get(kind.id) for kind in self.seen_kinds)
        panes = [pane for pane in made if pane is not None and pane.is_mounted]
        return [self.band, *panes] if self.band.display else panes

    async def go_to(self, pane_id: str) -> None:
        """Make a pane the current one; the first time, make the pane."""
        self._mark_current(self.kind(pane_id))
        await self._make_missing()

    def show_detail(self, view: View, dirty: frozenset[str]) -> None:
        """Show what is under the cursor of the list that has the keys."""
        if self.area.has_detail:
            self.detail_area.follow(self.current, dirty)
            self.detail_area.show(view, dirty)

    # The detail

    async def action_into_detail(self) -> None:
        await self.detail_area.enter()

    async def answer(self, approval_id: str, *, is_chosen: bool = False) -> None:
        """Show a request in the detail, with the keys; where that has no place, or is too low for
        it, in a sheet.

        A request that stands in the detail already, and waits, is the one that is answered. One
        that the person has chosen has a sheet then, and the detail stays.
        """
        from tapui.tower.requests.request_detail import RequestDetail

        detail, known = RequestDetail(approval_id), self.detail_area.detail
        stands = isinstance(known, RequestDetail) and known.is_open
        is_other = is_chosen and known is not None and known.key != approval_id
        if self.area.has_detail and stands and not is_other:
            await self.detail_area.enter()
        elif self.area.has_detail and not stands:
            await self.detail_area.enter(detail)
        else:
            self.app.push_screen(Sheet(self._for_sheet(approval_id)))
        if isinstance(shown := self.detail_area.detail, RequestDetail) and self.area.has_detail:
            shown.seek_room()

    def on_request_detail_too_low(self, event: "RequestDetail.TooLow") -> None:
        event.stop()
        if self.app.screen is self and self._answered == event.approval_id:
            self._open_request(event.approval_id)

    def _open_request(self, approval_id: str) -> None:
        """Open a request that had the keys in the detail as a sheet; then the list has them."""
        sheet = Sheet(self._for_sheet(approval_id))
        self.current_pane.focus_inside()
        self.app.push_screen(sheet)

    def _for_sheet(self, approval_id: str) -> "RequestDetail":
        """Return a request for a sheet, with what was written in the detail and not sent."""
        from tapui.tower.requests.request_detail import RequestDetail

        known = self.detail_area.detail
        if not (isinstance(known, RequestDetail) and known.key == approval_id and known.is_open):
            return RequestDetail(approval_id)
        return known.moved() if known.is_mounted else RequestDetail(approval_id)

    @property
    def _answered(self) -> str | None:
        """The request that waits in the detail with the keys of this screen; None for none."""
        detail = self.detail_area.detail
        if detail is None or not self.detail_area.has_keys:
            return None  # also before the first frame, which loads nothing for it
        from tapui.tower.requests.request_detail import RequestDetail

        return detail.key if isinstance(detail, RequestDetail) and detail.is_open else None

    async def on_waiting_band_answering(self, event: WaitingBand.Answering) -> None:
        """A letter was pressed in the band: the request on show is answered where it stands."""
        from tapui.tower.requests.request_detail import RequestDetail

        self.detail_area.follow(self.band)  # the cursor may have moved since the last frame
        detail = await self.detail_area.made()
        if not self.area.has_detail:
            self.band.open_shown()
        elif isinstance(detail, RequestDetail):
            detail.focus_inside()
            if event.answer is None:
                detail.action_one_by_one()
            else:
                detail.action_choose(event.answer)

    def on_screen_suspend(self) -> None:
        self._left = self._answered
        self.band.set_covered(self.lines_below)

    async def on_screen_resume(self) -> None:
        self.band.set_covered(0)
        answered, self._left = self._left, None
        if answered is not None:  # the window may have become smaller meanwhile
            await self._fit(answered)

    def on_waiting_band_grown(self) -> None:
        self.area.refresh(layout=True)
        self._mark_covered()

    def on_detail_area_left(self) -> None:
        self.current_pane.focus_inside()

    def keep_focus(self) -> None:
        if self.focused is None and self.current_pane.is_mounted:
            self.current_pane.focus_inside()

    async def action_next_pane(self, step: int) -> None:
        """Go to the next or previous pane; what waits is one of them while it has rows to go to."""
        ids = [kind.id for kind in self.kinds]
        has_band = self.band.display and self.band.has_requests
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
        if action == "into_detail":
            has_detail = self.area.has_detail and self.detail_area.detail is not None
            return has_detail and not self.detail_area.has_keys
        if action == "zoom":
            return self.area.is_zoomed or len(self.area.seen) > 1
        return super().check_action(action, parameters)

    async def action_close_topmost(self) -> None:
        if self.detail_area.has_keys:
            self.detail_area.close_topmost()
        elif self.current is self.band:
            self.current_pane.focus_inside()
        elif not self.current_pane.close_topmost() and self.area.is_zoomed:
            await self.action_zoom()

    async def on_resize(self) -> None:
        for footer in self.query(FooterLine):  # none while the app leaves
            footer.fill()
        await self._fit(self._answered if self.app.screen is self else None)

    async def _fit(self, answered: str | None) -> None:
        """Give all its place. A request with the keys that has none beside the lists any more
        becomes a sheet."""
        self._arrange()
        if answered is not None and not self.area.has_detail:
            self._open_request(answered)
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
        pane.sign_of = self.sign_of
        # Until it is laid out and knows its width: the first frame has the names of the panes.
        style = pane.title_style(is_current=False)
        pane.border_title = plain(f"{kind.key} {kind.title}", style)
        return pane

    async def _make_missing(self) -> None:
        """Make the panes that this layout shows and that were not seen before. Those that another
        one has begun to make are there, too, when it returns: a resize and a key come together."""
        async with self._making:
            missing = [kind for kind in self.seen_kinds if kind.id not in self.panes]
            if missing:
                await self.area.mount(*[self._make(kind) for kind in missing])
        self._arrange()
        self._show_tabs()
        cast("Tower", self.app).wake()

    def _mark_current(self, kind: PaneKind) -> None:
        self.area.go_to(kind.id)
        self._arrange()
        self._show_tabs()

    def _show_tabs(self) -> None:
        if self._tabs.display:
            self._tabs.show(cast("Tower", self.app).view, self.current_kind)

    def _arrange(self) -> None:
        layout = self.area.screen_layout
        self.band.display = layout.has_band
        self.band.room = max(self.area.size.height // BAND_SHARE, 1)
        self._tabs.display = layout.has_tabs
        seen, has_detail = self.area.seen, self.area.has_detail
        arranged = (layout, seen, len(self.panes), has_detail)
        if arranged != self._arranged:
            self._arranged = arranged
            self.detail_area.display = has_detail
            for pane in self.panes.values():
                slot = () if layout.has_tabs else self.area.slot_of(pane.kind.id)
                pane.slot = tuple(self.kind(one) for one in slot)
                pane.set_class(pane.kind.id not in seen, "-unseen")
                pane.refresh(layout=True)
        self._mark_covered()
        self._mark_frames()

    def _mark_covered(self) -> None:
        """Tell each pane how many of its last lines the band lies over."""
        height = self.area.size.height
        placed = self.area.places(self.area.size)
        top = height - self.band.lines if self.band.display else height
        for pane in self.panes.values():
            place = placed.get(pane.kind.id)
            if pane.is_mounted:
                pane.set_covered(max(place.y + place.height - top, 0) if place is not None else 0)
        detail = placed.get(DETAIL)
        free = top - (detail.y + detail.height) if detail is not None else top
        for rack in self.query("ToastRack"):
            rack.styles.margin = (0, 0, height - top + 1, 0)
            rack.styles.max_height = max(free, 1)  # the letters of a request stay in sight

    def _mark_frames(self) -> None:
        is_band = self.band.has_pseudo_class("focus-within")
        current = self.band if is_band else self.panes.get(self.current_kind.id)
        for pane in (*self.panes.values(), self.band):
            pane.set_class(pane is current, "-current")
            if pane.is_mounted:
                pane.show_frame()
