"""The screen with the panes: one, two columns or all of them, as the terminal is wide."""

from collections.abc import Sequence
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer

from tapui.tower.header import HeaderLine, LinkBanner, PaneTabs
from tapui.tower.panes.pane import COLUMNS, Pane, PaneKind, Tower
from tapui.tower.plain import plain
from tapui.tower.view import View


class MainScreen(Screen[object]):
    """Below 100 columns one pane at a time; from 100 on two columns; from 160 on all of them.

    A pane is made when it is seen for the first time.
    """

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-medium"),
        (160, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next_pane(1)", "Next pane", show=False),
        Binding("shift+tab", "next_pane(-1)", "Previous pane", show=False),
    ]
    AUTO_FOCUS = ""

    def __init__(self, address: str, note: str, kinds: Sequence[PaneKind]) -> None:
        super().__init__()
        self.kinds = tuple(kinds)
        self.panes: dict[str, Pane] = {}
        self.current_kind = self.kinds[0]
        self._beside = next((one for one in self.kinds if one.column), self.current_kind)
        self._header = HeaderLine(address, note)
        self._banner = LinkBanner("", markup=False)
        self._tabs = PaneTabs(self.kinds)
        self._columns = [Vertical(classes=f"column-{number}") for number in range(COLUMNS)]

    def compose(self) -> ComposeResult:
        """Header, tabs, columns, and in the first frame only the current pane: it is what one reads
        first, and each pane adds to the time until then."""
        self.add_class(self._layout)
        yield self._header
        yield self._banner
        yield self._tabs
        first = self._make(self.current_kind)
        with Horizontal(id="panes"):
            for number, column in enumerate(self._columns):
                with column:
                    if number == self.current_kind.column:
                        yield first
        yield Footer(compact=True, show_command_palette=True)
        self._arrange()

    def on_mount(self) -> None:
        """Make the other panes right after the first frame."""
        self.call_after_refresh(self._make_missing)

    @property
    def _layout(self) -> str:
        width = self.app.size.width
        return max(one for one in self.HORIZONTAL_BREAKPOINTS if one[0] <= width)[1]

    @property
    def seen_kinds(self) -> list[PaneKind]:
        """The panes that this layout shows."""
        if self._layout == "-narrow":
            return [self.current_kind]
        if self._layout == "-wide":
            return list(self.kinds)
        return [one for one in self.kinds if one.column == 0 or one is self._beside]

    @property
    def current(self) -> Pane:
        """The pane that the person last went to."""
        return self.panes[self.current_kind.id]

    def kind(self, pane_id: str) -> PaneKind:
        """Return a pane's entry in the registry."""
        return next(one for one in self.kinds if one.id == pane_id)

    def show(self, view: View, *, can_start: bool) -> None:
        """Paint the lines at the top."""
        self._header.show(view)
        self._banner.show(view, can_start=can_start)
        self._tabs.show(view, self.current_kind)

    def seen_panes(self) -> list[Pane]:
        """Return the panes that are on the screen."""
        made = (self.panes.get(kind.id) for kind in self.seen_kinds)
        return [pane for pane in made if pane is not None and pane.is_mounted]

    async def go_to(self, pane_id: str) -> None:
        """Make a pane the current one; the first time, make the pane."""
        self._mark_current(self.kind(pane_id))
        await self._make_missing()

    def keep_focus(self) -> None:
        """Give the current pane the keys when nothing has them."""
        if self.focused is None and self.current.is_mounted:
            self.current.focus_inside()

    async def action_next_pane(self, step: int) -> None:
        """Go to the next or previous pane."""
        at = (self.kinds.index(self.current_kind) + step) % len(self.kinds)
        await cast("Tower", self.app).show_pane(self.kinds[at].id)

    async def on_resize(self) -> None:
        """A wider terminal shows more panes."""
        await self._make_missing()

    def on_descendant_focus(self) -> None:
        """A pane becomes current when the mouse brings the focus there."""
        focused = self.focused
        for pane in self.panes.values():
            if focused is not None and pane in focused.ancestors_with_self:
                if pane.kind is not self.current_kind:
                    self._mark_current(pane.kind)
                    cast("Tower", self.app).wake()
                return

    async def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        """A tab was clicked."""
        await cast("Tower", self.app).show_pane(event.pane_id)

    def _make(self, kind: PaneKind) -> Pane:
        pane = self.panes[kind.id] = kind.load()()
        pane.kind = kind
        pane.border_title = plain(f"{kind.key} {kind.title}")
        pane.styles.height = f"{kind.share}fr"
        return pane

    async def _make_missing(self) -> None:
        """Make the panes that this layout shows and that were not seen before."""
        for kind in self.seen_kinds:
            if kind.id not in self.panes:
                pane = self._make(kind)
                column = self._columns[kind.column]
                rank = self.kinds.index(kind)
                later = (
                    child
                    for child in column.children
                    if isinstance(child, Pane) and self.kinds.index(child.kind) > rank
                )
                await column.mount(pane, before=next(later, None))
        self._arrange()
        cast("Tower", self.app).wake()

    def _mark_current(self, kind: PaneKind) -> None:
        self.current_kind = kind
        if kind.column:
            self._beside = kind
        self._arrange()
        self._tabs.show(cast("Tower", self.app).view, kind)

    def _arrange(self) -> None:
        """Show the panes of this layout and the columns that hold them, and no others."""
        seen = self.seen_kinds
        for pane in self.panes.values():
            pane.set_class(pane.kind is self.current_kind, "-current")
            pane.set_class(pane.kind not in seen, "-unseen")
        for number, column in enumerate(self._columns):
            column.set_class(not any(one.column == number for one in seen), "-unseen")
