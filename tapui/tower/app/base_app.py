"""The app with its main screen, and how it ends: never a gateway without a question."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from tapui.tower.app.exit import (
    GOODBYE_SECONDS,
    LeavingScreen,
    Outcome,
    QuitScreen,
    run_in_front,
    run_shell,
)
from tapui.tower.app.feed import Feed
from tapui.tower.app.header import Note
from tapui.tower.app.main_screen import MainScreen
from tapui.tower.app.registry import PANES
from tapui.tower.app.tower import Tower
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.tower.textual.terminal import RESET_TITLE
from tapui.tower.wording.words import losses_of
from tapui.wire import events as ev


class BaseApp(Tower):
    """`panes` are those of the registry, unless others are wanted; `note` stands in the header.

    `on_start_here`, where given, makes a tower that lost its gateway offer to start one; `on_demo`
    makes an empty tower offer the demonstration; with `can_go_on` the gateway inside can go on
    without its screen. `is_demo`: this is the demonstration, which ends without a question, as its
    sessions and calls are played. The rest is `Tower`'s.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("demo", "start-here", "quit"),
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+c", "how_to_leave", show=False, system=True),
        Binding("ctrl+z", "to_shell", "To the shell", show=False, priority=True),
    ]

    def __init__(
        self,
        feed: Feed,
        *,
        panes: Sequence[PaneKind] = PANES,
        note: Note = "",
        on_start_here: Callable[[], None] | None = None,
        on_demo: Callable[[], None] | None = None,
        can_go_on: bool = False,
        is_demo: bool = False,
        **shared: Any,
    ) -> None:
        super().__init__(feed, **shared)
        self.is_demo = is_demo
        self.is_ending = False
        self._on_start_here = on_start_here
        self._on_demo = on_demo
        self._can_go_on = can_go_on
        self.note = note
        self.pane_kinds = tuple(panes)
        for kind in self.pane_kinds:
            self.bind(kind.key, f"pane('{kind.id}')", show=False)
        self._main: MainScreen | None = None

    def get_default_screen(self) -> Screen[object]:
        self._main = MainScreen(self.feed.address, self.note, self.pane_kinds)
        return self._main

    @property
    def main(self) -> MainScreen:
        assert self._main is not None, "the app is not running"
        return self._main

    @property
    def panes(self) -> list[Pane]:
        """The panes that were made so far, in the order of their keys."""
        made = self.main.panes
        return [made[kind.id] for kind in self.pane_kinds if kind.id in made]

    @property
    def lines_above(self) -> int:
        return self.main.lines_above

    @property
    def lines_below(self) -> int:
        return self.main.lines_below

    @property
    def has_detail(self) -> bool:
        return self.main.area.has_detail

    def frame_begins(self, news: Sequence[ev.Event], dirty: frozenset[str]) -> None:
        """A frame begins: `news` happened since the one before, the topics `dirty` changed."""

    def frame_ends(self) -> None:
        """All of a frame was given to the screen."""

    # The end

    @property
    def can_start_here(self) -> bool:
        """Whether a gateway can be started in place of one that is gone."""
        can_start = self._on_start_here is not None and not self.feed.is_embedded
        return can_start and self.view.link.state != "up"

    @property
    def can_show_demo(self) -> bool:
        return self._on_demo is not None and not self.is_demo

    def action_start_here(self) -> None:
        """End this tower so that one with its own gateway can begin."""
        if self.can_start_here and self._on_start_here is not None:
            self._on_start_here()
            self.leave("start-here")

    def action_demo(self) -> None:
        """End this tower so that the demonstration can be shown."""
        if self.can_show_demo and self._on_demo is not None:
            self._on_demo()
            self._end("demo")

    def action_leave(self) -> None:
        """Quit: at once where nothing ends with it, else after a question."""
        if isinstance(self.screen, LeavingScreen):
            self.screen.action_force()
            return
        losses = losses_of(self.view) if self.feed.is_embedded and not self.is_demo else []
        if not losses:
            self._end("quit")
            return

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._end("quit")

        if self._can_go_on and any(one.headless for one in self.view.open_sessions):
            self.push_screen(QuitScreen(losses, lambda: self.leave("go-on")), answered)
        else:
            self.push_screen(ConfirmScreen("Quit and end the gateway?", losses, "quit"), answered)

    def _end(self, outcome: Outcome) -> None:
        """Stop the feed, counting down while providers are still there."""

        def closed(is_forced: bool | None) -> None:
            if is_forced:
                self.leave(outcome)

        async def stop() -> None:
            await self.feed.stop(GOODBYE_SECONDS)
            self.leave(outcome)

        if self.feed.is_embedded and self.view.providers:
            self.push_screen(LeavingScreen(GOODBYE_SECONDS), closed)
        self.is_ending = True
        self.run_worker(stop(), group="stop", name="stop", exclusive=True)

    def action_how_to_leave(self) -> None:
        """Control-C is for copying; say how to quit."""
        self.notify(f"{self.key_of('quit')} quits.", timeout=3)

    def action_to_shell(self) -> None:
        """Give the terminal to a shell until it brings the tower back.

        A second tower stops like any program. A stopped gateway would freeze every call and gate:
        with the gateway inside, a shell of our own runs in front of it.
        """
        self.write_terminal(RESET_TITLE)
        if not self.feed.is_embedded:
            self.action_suspend_process()
            return
        self._in_front(run_shell, "The shell")

    def run_in_terminal(self, command: Sequence[str]) -> None:
        name = PurePath(command[0]).name
        code = self._in_front(partial(run_in_front, command), name)
        if code:
            self.notify(f"{name} ended with exit code {code}", severity="warning")

    def _in_front(self, run: Callable[[], int | None], name: str) -> int | None:
        """Give the terminal away until `run` returns; say where that could not be started."""
        code, fault = None, ""
        with self.suspend():
            try:
                code = run()
            except OSError as error:
                fault = error.strerror or str(error)
        if fault:
            self.notify(f"{name} could not be started: {fault}", severity="error")
        return code
