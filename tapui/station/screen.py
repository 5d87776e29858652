"""The app on this terminal, from its first frame to its last."""

import asyncio
import signal
from typing import TYPE_CHECKING

from tapui import invocation
from tapui.station import terminal
from tapui.station.terminal_watch import TerminalWatch
from tapui.text import safe_text

if TYPE_CHECKING:
    from tapui.tower.app.app import TowerApp

_WANTED = (None, "quit", "go-on", "start-here", "demo")
"""What the app returns when the person left it."""


class Screen:
    """Runs the app; signals end it in order and leave the terminal as it was."""

    def __init__(self, app: "TowerApp") -> None:
        self._app = app
        self._reasons: list[signal.Signals] = []
        self.is_shown = True
        """Whether the app has not ended."""
        self.is_lost = False
        """Whether the terminal has vanished, or a signal said so, and no other asked to end."""
        self.is_left_on = False
        """Whether the person left the screen alone: the gateway is to go on."""

    def leave(self, number: signal.Signals) -> None:
        """A signal came: end the app."""
        if number is signal.SIGHUP and terminal.is_gone():
            terminal.let_go()
        self._reasons.append(number)
        self._app.leave(number.name)

    def _vanished(self) -> None:
        """The terminal is gone without a signal: as if SIGHUP had come."""
        self._loop.call_soon_threadsafe(self.leave, signal.SIGHUP)

    async def show(self) -> int:
        """Run the app to its end; return the exit code."""
        self._loop = asyncio.get_running_loop()
        said: str | None = None
        try:
            with TerminalWatch(self._vanished), terminal.writes_that_cannot_fail():
                said = await self._app.run_async()
        except OSError:
            if not terminal.is_gone():
                raise
        finally:
            self.is_shown = False
            signal.signal(signal.SIGCONT, signal.SIG_DFL)  # nothing is left to be entered again
        is_gone = terminal.is_gone()
        if is_gone:
            terminal.let_go()
        reasons = self._reasons
        self.is_lost = (is_gone or bool(reasons)) and set(reasons) <= {signal.SIGHUP}
        if is_gone or reasons:
            return 130 if reasons[:1] == [signal.SIGINT] else 0
        if self._app.return_code:
            return 1  # it has told why, and where the log is
        self.is_left_on = said == "go-on"
        if said not in _WANTED:
            terminal.tell(f"tapui: {safe_text(str(said))}")
        return 0

    def give_up(self) -> None:
        """The gateway goes on without this terminal; say so if it is still there, and let go."""
        shows = invocation.command()
        terminal.tell(f"tapui: the gateway goes on without a screen; `{shows}` shows it again")
        terminal.let_go()
