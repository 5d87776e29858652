"""How the app ends, never a gateway without a question, and gives the terminal to a shell."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.tower.app.view import View
from tapui.tower.textual.sheet import DIALOG_CSS, ConfirmScreen, LiveScreen
from tapui.tower.textual.terminal import RESET_TITLE
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.words import losses_of, quantity

if TYPE_CHECKING:
    from tapui.tower.app.tower import Tower


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


ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals to this process that end the shell too: their sender waits for this process to end."""


def run_shell() -> None:
    """Run the person's shell until it ends, and take the terminal back.

    Blocks the main thread. The terminal must be in its normal state. Raises `OSError` where the
    shell cannot be started.
    """
    sys.stderr.write("tapui: the gateway goes on; `exit` brings the tower back\n")
    sys.stderr.flush()
    shell = os.environ.get("SHELL") or "/bin/sh"
    with subprocess.Popen([shell, "-i"], stdin=0, stdout=1, stderr=2) as process:

        def end(_number: int, _frame: FrameType | None) -> None:
            process.send_signal(signal.SIGHUP)

        before = {number: signal.signal(number, end) for number in ENDING}
        # Who sets the terminal from the background is stopped, and the gateway with us.
        before[signal.SIGTTOU] = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            process.wait()
        finally:
            with contextlib.suppress(OSError):  # there is no terminal any more
                os.tcsetpgrp(0, os.getpgrp())
            for number, handler in before.items():
                signal.signal(number, handler)


GOODBYE_SECONDS = 10.0
"""How long an embedded gateway waits for its providers at the end."""

Outcome = Literal["quit", "go-on", "start-here", "demo"]
"""How the app ended: the person quit, let the gateway go on, wants one started here, or wants the
demonstration."""


class AppExit:
    """Ends the app in order. `on_start_here` and `on_demo` get what shall begin then.

    The demonstration ends without a question: its sessions and calls are played.
    """

    def __init__(
        self,
        app: "Tower",
        *,
        on_start_here: Callable[[], None] | None,
        on_demo: Callable[[], None] | None,
        can_go_on: bool,
        is_demo: bool,
    ) -> None:
        self._app = app
        self._is_demo = is_demo
        self._on_start_here = on_start_here
        self._on_demo = on_demo
        self._can_go_on = can_go_on
        self.has_begun = False

    @property
    def can_start_here(self) -> bool:
        """Whether a gateway can be started in place of one that is gone."""
        app = self._app
        return (
            self._on_start_here is not None
            and not app.feed.is_embedded
            and app.view.link.state != "up"
        )

    @property
    def can_show_demo(self) -> bool:
        return self._on_demo is not None

    def start_here(self) -> None:
        """End this tower so that one with its own gateway can begin."""
        if self.can_start_here and self._on_start_here is not None:
            self._on_start_here()
            self._app.leave("start-here")

    def demo(self) -> None:
        """End this tower so that the demonstration can be shown."""
        if self._on_demo is not None:
            self._on_demo()
            self._begin("demo")

    def ask(self) -> None:
        """Quit: at once where nothing ends with it, else after a question."""

        app = self._app
        if isinstance(app.screen, LeavingScreen):
            app.screen.action_force()
            return
        losses = losses_of(app.view) if app.feed.is_embedded and not self._is_demo else []
        if not losses:
            self._begin("quit")
            return
        from tapui.tower.textual.sheet import ConfirmScreen

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._begin("quit")

        if self._can_go_on and any(one.headless for one in app.view.open_sessions):
            app.push_screen(QuitScreen(losses, lambda: app.leave("go-on")), answered)
        else:
            app.push_screen(ConfirmScreen("Quit and end the gateway?", losses, "quit"), answered)

    def _begin(self, outcome: Outcome) -> None:
        """Stop the feed, counting down while providers are still there."""

        app = self._app

        def closed(is_forced: bool | None) -> None:
            if is_forced:
                app.leave(outcome)

        if app.feed.is_embedded and app.view.providers:
            app.push_screen(LeavingScreen(GOODBYE_SECONDS), closed)
        self.has_begun = True
        app.run_worker(self._stop_feed(outcome), group="stop", name="stop", exclusive=True)

    async def _stop_feed(self, outcome: Outcome) -> None:
        await self._app.feed.stop(GOODBYE_SECONDS)
        self._app.leave(outcome)

    def to_shell(self) -> None:
        """Give the terminal to a shell until it brings the tower back.

        A second tower stops like any program. A stopped gateway would freeze every call and gate:
        with the gateway inside, a shell of our own runs in front of it.
        """
        app = self._app
        app.write_terminal(RESET_TITLE)
        if not app.feed.is_embedded:
            app.action_suspend_process()
            return

        fault = ""
        with app.suspend():
            try:
                run_shell()
            except OSError as error:
                fault = error.strerror or str(error)
        if fault:
            app.notify(f"The shell could not be started: {fault}", severity="error")
