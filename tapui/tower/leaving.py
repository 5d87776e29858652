"""How the app ends, and how it makes room for a shell: never a gateway without a question."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tapui.tower.terminal import RESET_TITLE
from tapui.tower.words import losses_of

if TYPE_CHECKING:
    from tapui.tower.base_app import BaseApp

GOODBYE_SECONDS = 10.0
"""How long an embedded gateway waits for its providers at the end."""

Outcome = Literal["quit", "go-on", "start-here", "demo"]
"""How the app ended: the person quit, let the gateway go on, wants one started here, or wants the
demonstration."""


class Leaving:
    """Ends the app in order. `on_start_here` and `on_demo` are told what shall begin then."""

    def __init__(
        self,
        app: "BaseApp",
        *,
        on_start_here: Callable[[], None] | None,
        on_demo: Callable[[], None] | None,
        can_go_on: bool,
    ) -> None:
        self._app = app
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
        """Whether the demonstration can be shown in place of this tower."""
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
        from tapui.tower.screens.leaving import LeavingScreen

        app = self._app
        if isinstance(app.screen, LeavingScreen):
            app.screen.action_force()
            return
        losses = losses_of(app.view) if app.feed.is_embedded else []
        if not losses:
            self._begin("quit")
            return
        from tapui.tower.screens.confirm import ConfirmScreen

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._begin("quit")

        if self._can_go_on and any(one.headless for one in app.view.open_sessions):
            from tapui.tower.screens.quitting import QuitScreen

            app.push_screen(QuitScreen(losses, lambda: app.leave("go-on")), answered)
        else:
            app.push_screen(ConfirmScreen("Quit and end the gateway?", losses, "quit"), answered)

    def _begin(self, outcome: Outcome) -> None:
        """Stop the feed, counting down while providers are still there."""
        from tapui.tower.screens.leaving import LeavingScreen

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
        from tapui.tower.shell import run_shell

        fault = ""
        with app.suspend():
            try:
                run_shell()
            except OSError as error:
                fault = error.strerror or str(error)
        if fault:
            app.notify(f"The shell could not be started: {fault}", severity="error")
