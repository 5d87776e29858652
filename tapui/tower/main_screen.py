"""The screen with the panes: one, two columns or all five, as the terminal is wide."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer

from tapui.tower.header import HeaderLine, LinkBanner, PaneTabs
from tapui.tower.panes.approvals import ApprovalsPane
from tapui.tower.panes.calls import CallsPane
from tapui.tower.panes.pane import Pane
from tapui.tower.panes.providers import ProvidersPane
from tapui.tower.panes.sessions import SessionsPane
from tapui.tower.panes.streams import StreamsPane
from tapui.tower.plain import plain
from tapui.tower.view import View

_FIRST_PANES = {"-narrow": 1, "-medium": 3, "-wide": 5}
"""How many panes the first frame shows in a layout."""


class MainScreen(Screen[object]):
    """Below 100 columns one pane at a time; from 100 on two columns; from 160 on all of them."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-medium"),
        (160, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next_pane(1)", "Next pane", show=False),
        Binding("shift+tab", "next_pane(-1)", "Former pane", show=False),
    ]
    AUTO_FOCUS = ""

    def __init__(self, address: str, note: str) -> None:
        super().__init__()
        self._header = HeaderLine(address, note)
        self._banner = LinkBanner("", markup=False)
        self.panes: list[Pane] = [
            SessionsPane(),
            ProvidersPane(),
            CallsPane(),
            StreamsPane(),
            ApprovalsPane(),
        ]
        self._tabs = PaneTabs([pane.TITLE for pane in self.panes])
        self._number = 1

    def compose(self) -> ComposeResult:
        """Header, keys and the panes of the first frame, in its final layout."""
        width = self.app.size.width
        layout = max(one for one in self.HORIZONTAL_BREAKPOINTS if one[0] <= width)[1]
        self.add_class(layout)
        first = _FIRST_PANES[layout]
        for number, pane in enumerate(self.panes, 1):
            pane.border_title = plain(f"{number} {pane.TITLE}")
        self.panes[0].add_class("-current")
        self.panes[2].add_class("-shown")
        yield self._header
        yield self._banner
        yield self._tabs
        with Container(id="panes"):
            with Vertical(id="who", classes="-current"):
                yield from self.panes[: min(first, 2)]
            with Vertical(id="what"):
                yield from self.panes[2:first]
        yield Footer(compact=True, show_command_palette=True)

    def on_mount(self) -> None:
        """Make the panes that the first frame does not show, after it."""
        self.call_after_refresh(self._complete)

    async def _complete(self) -> None:
        who, what = self.panes[:2], self.panes[2:]
        await self.query_one("#who").mount_all(one for one in who if not one.is_attached)
        await self.query_one("#what").mount_all(one for one in what if not one.is_attached)

    @property
    def current(self) -> Pane:
        """The pane that the person last went to."""
        return self.panes[self._number - 1]

    def show(self, view: View, *, can_start: bool) -> None:
        """Paint the lines at the top."""
        self._header.show(view)
        self._banner.show(view, can_start=can_start)
        self._tabs.show(view, self._number)

    def can_see(self, pane: Pane) -> bool:
        """Return whether a pane is on the screen in this layout."""
        return pane.is_mounted and all(
            node.display for node in pane.ancestors_with_self if isinstance(node, Widget)
        )

    def go_to(self, number: int) -> None:
        """Make a pane the current one and give it the keys."""
        self._mark_current(number)
        self.set_focus(None)
        self.call_after_refresh(self.keep_focus)

    def keep_focus(self) -> None:
        """Give the current pane the keys when nothing has them: an empty pane cannot."""
        if self.focused is None and self.current.is_mounted:
            self.current.focus_inside()

    def action_next_pane(self, step: int) -> None:
        """Go to the next or former pane."""
        self.go_to((self._number - 1 + step) % len(self.panes) + 1)

    def on_descendant_focus(self) -> None:
        """A pane becomes current when the mouse brings the focus there."""
        focused = self.focused
        for number, pane in enumerate(self.panes, 1):
            if focused is not None and pane in focused.ancestors_with_self:
                if number != self._number:
                    self._mark_current(number)
                return

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        """A tab was clicked."""
        self.go_to(event.number)

    def _mark_current(self, number: int) -> None:
        self._number = number
        current = self.current
        for pane in self.panes:
            pane.set_class(pane is current, "-current")
        for column in self.query("#who, #what"):
            column.set_class(column in current.ancestors_with_self, "-current")
        if number > 2:
            for pane in self.panes[2:]:
                pane.set_class(pane is current, "-shown")
        self._tabs.show(current.tower.view, number)
