"""The detail beside the lists: what the list that has the keys has under its cursor."""

from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widget import AwaitMount, Widget
from textual.widgets import Static

from tapui.tower.app.layouts import DETAIL
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import ALL_TOPICS, View
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.pane import Pane
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.widgets import plain

_NOTHING = "What a list has under its cursor is shown here."


class DetailArea(Widget):
    """It follows the cursor of the list with the keys, and stands still while it has them itself.

    `Left` is posted when the person goes back to the list that they came from.
    """

    place_id = DETAIL
    BINDINGS: ClassVar[list[BindingType]] = bindings("out-of-detail", "copy")

    class Left(Message):
        """The person goes back to the list."""

    def __init__(self) -> None:
        super().__init__()
        self.detail: DetailView | None = None
        self._mounting: AwaitMount | None = None
        """Of that one."""
        self._is_entered = False
        """The keys are on their way into it."""
        self._followed: tuple[Pane, str | None] | None = None
        """The pane whose detail stands here, and what it had under its cursor."""

    def compose(self) -> ComposeResult:
        yield Static(plain(_NOTHING, "$text-muted"), classes="nothing", markup=False)

    @property
    def tower(self) -> Tower:
        return cast("Tower", self.app)

    @property
    def has_keys(self) -> bool:
        return self.has_pseudo_class("focus-within")

    def follow(self, pane: Pane, dirty: frozenset[str] = ALL_TOPICS) -> None:
        """Show what `pane` has under its cursor; before it is on the screen, with a later frame.

        The pane is asked where its cursor has moved, or a topic of its own is `dirty`.
        """
        if not self.is_attached or self.has_keys or self._is_entered:
            self._followed = None
            return
        under = (pane, pane.cursor_key)
        if under != self._followed or under[1] is None or dirty & pane.TOPICS:
            self._followed = under
            self._put(pane.shown())

    async def made(self) -> DetailView | None:
        """Wait until what it shows can be given the keys, and return it."""
        while (mounting := self._mounting) is not None:
            await mounting
            if mounting is self._mounting:
                self._mounting = None
        return self.detail

    def _put(self, wanted: DetailView | None) -> None:
        """Show this one, or what it would show in the one that is there."""
        known = self.detail
        if known is not None and wanted is not None and known.may_become(wanted):
            if not known.is_same(wanted):
                if known.is_mounted:
                    known.become(wanted)
                else:
                    self._followed = None  # asked again with the next frame
            return
        self.detail = wanted
        self.set_class(wanted is not None, "-filled")
        if known is not None:
            known.remove()
        self._mounting = self.mount(wanted) if wanted is not None else None

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed."""
        detail = self.detail
        is_made = detail is not None and detail.is_mounted and detail.is_attached
        if detail is not None and is_made and dirty & detail.TOPICS:
            detail.show(view, dirty)

    async def enter(self, wanted: DetailView | None = None) -> None:
        """Give the keys to what it shows, or to this one."""
        self._is_entered, self._followed = True, None
        try:
            await self.made()
            if wanted is not None:
                self._put(wanted)
            detail = await self.made()
            if detail is not None:
                detail.focus_inside()
        finally:
            self._is_entered = False

    def close_topmost(self) -> None:
        """Close what is open within the detail, else go back to the list."""
        if self.detail is None or not self.detail.close_topmost():
            self.post_message(self.Left())

    def action_out_of_detail(self) -> None:
        self.post_message(self.Left())

    def action_copy(self) -> None:
        if self.detail is not None:
            self.tower.copy(self.detail.copied(), "The text", keeps_lines=True)

    def on_detail_view_left(self, event: DetailView.Left) -> None:
        event.stop()
        self.post_message(self.Left())
