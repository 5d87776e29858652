"""The screens on the way out, and the shell that gets the terminal for a while."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.tower.app.view import View
from tapui.tower.textual.sheet import DIALOG_CSS, ConfirmScreen, LiveScreen
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
        return f"y quit    g go on without the screen    n no    {self.way_back}"

    def action_go_on(self) -> None:
        if self.hears():
            self.dismiss(False)
            self._go_on()


ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals to this process that end the shell too: their sender waits for this process to end."""


def run_shell() -> None:
    """Run the person's shell as `run_in_front` does."""
    sys.stderr.write("tapui: the gateway goes on; `exit` brings the tower back\n")
    sys.stderr.flush()
    run_in_front([os.environ.get("SHELL") or "/bin/sh", "-i"])


def run_in_front(command: Sequence[str]) -> int:
    """Run a command on the terminal until it ends, and take the terminal back; return its exit
    code.

    Blocks the main thread. The terminal must be in its normal state. Raises `OSError` where the
    command cannot be started.
    """
    with subprocess.Popen(command, stdin=0, stdout=1, stderr=2) as process:

        def end(_number: int, _frame: FrameType | None) -> None:
            process.send_signal(signal.SIGHUP)

        before = {number: signal.signal(number, end) for number in ENDING}
        # Who sets the terminal from the background is stopped, and the gateway with us.
        before[signal.SIGTTOU] = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            return process.wait()
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
