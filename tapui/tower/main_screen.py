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
        """Header, panes, keys; the first frame has its final layout already."""
        width = self.app.size.width
        self.add_class(max(one for one in self.HORIZONTAL_BREAKPOINTS if one[0] <= width)[1])
        yield self._header
        yield self._banner
        yield self._tabs
        with Container(id="panes"):
            with Vertical(id="who"):
                yield from self.panes[:2]
            with Vertical(id="what"):
                yield from self.panes[2:]
        yield Footer(compact=True, show_command_palette=True)

    def on_mount(self) -> None:
        """Name the panes and begin with the sessions."""
        for number, pane in enumerate(self.panes, 1):
            pane.border_title = plain(f"{number} {pane.TITLE}")
        self.panes[2].add_class("-shown")
        self.go_to(1)

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
        return all(node.display for node in pane.ancestors_with_self if isinstance(node, Widget))

    def go_to(self, number: int) -> None:
        """Make a pane the current one and give it the keys."""
        self._mark_current(number)
        self.call_after_refresh(self.current.focus_inside)

    def keep_focus(self) -> None:
        """Give the current pane the keys when nothing has them: an empty pane cannot."""
        if self.focused is None:
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
            pane.is_current = pane is current
        for column in self.query("#who, #what"):
            column.set_class(column in current.ancestors_with_self, "-current")
        if number > 2:
            for pane in self.panes[2:]:
                pane.set_class(pane is current, "-shown")
        self._tabs.show(current.tower.view, number)
