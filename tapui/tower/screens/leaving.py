"""The gateway is ending: how long that may still take."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.tower.plain import plain
from tapui.tower.screens.live import LiveScreen
from tapui.tower.view import View
from tapui.tower.words import quantity


class LeavingScreen(LiveScreen[bool]):
    """Counts down while providers disconnect. `q` waits no longer: the result is then True."""

    CSS_PATH = "dialog.tcss"
    TOPICS = frozenset({"providers", "calls", "clock"})
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "force", "Quit now")]

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._since: float | None = None

    def compose(self) -> ComposeResult:
        """What is waited for, and the key."""
        with Vertical(classes="dialog"):
            yield Static(plain("Closing the gateway", "bold"), markup=False)
            yield Static("", classes="left", markup=False)
            yield Static(plain("q quit now", "$text-muted"), classes="keys", markup=False)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what is left."""
        del dirty
        now = self.tower.ticks()
        self._since = self._since if self._since is not None else now
        left = times.countdown(max(self._seconds - (now - self._since), 0.0))
        who = quantity(len(view.providers), "provider")
        self.query_one(".left", Static).update(plain(f"waiting for {who}, {left} left"))

    def action_force(self) -> None:
        """Wait no longer."""
        self.dismiss(True)

    def action_close(self) -> None:
        """It cannot be undone: Escape does nothing."""
