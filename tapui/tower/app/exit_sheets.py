"""What is shown while the gateway ends, and the question what becomes of headless sessions."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.tower.app.view import View
from tapui.tower.textual.live_screen import DIALOG_CSS, ConfirmScreen, LiveScreen
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.words import quantity


class LeavingScreen(LiveScreen[bool]):
    """Counts down while providers disconnect. `q` waits no longer: the result is then True."""

    CSS_PATH = DIALOG_CSS
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


class QuitScreen(ConfirmScreen):
    """Asks as `ConfirmScreen` does; the third answer, `g`, calls `go_on`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "go_on", "Go on without the screen")]

    def __init__(self, losses: Sequence[str], go_on: Callable[[], None]) -> None:
        lines = [*losses, "Or all of it goes on without this screen; tapui shows it again."]
        super().__init__("Quit and end the gateway?", lines, "quit")
        self._go_on = go_on

    def _keys(self) -> str:
        return "y quit    g go on without the screen    n back"

    def action_go_on(self) -> None:
        if self.hears():
            self.dismiss(False)
            self._go_on()
