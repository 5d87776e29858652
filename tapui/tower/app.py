"""The app: it folds what its feed yields, paints what changed, and sends the person's decisions."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import Worker

from tapui.text import safe_text
from tapui.tower.feed import Feed, Link
from tapui.tower.main_screen import MainScreen
from tapui.tower.meter import Meter
from tapui.tower.panes.pane import Pane
from tapui.tower.plain import plain
from tapui.tower.screens.live import LiveScreen
from tapui.tower.terminal import RESET_TITLE, crash_text, title_sequence
from tapui.tower.theme_choice import ThemeChoice
from tapui.tower.themes import builtin_folder
from tapui.tower.view import ALL_TOPICS, View
from tapui.tower.words import losses_of, name_of, quantity
from tapui.wire import events as ev
from tapui.wire.message import Error, Message
from tapui.wire.tower import GatewayStopping, Notice, ProviderMove

if TYPE_CHECKING:
    from textual.command import Provider

    from tapui.tower.commands import Command

FRAMES_PER_SECOND = 12
"""How often the screen is painted at most."""
GOODBYE_SECONDS = 10.0
"""How long an embedded gateway waits for its providers at the end."""

Outcome = Literal["quit", "start-here"]
"""How the app ended: the person quit, or wants a gateway started here."""


def _palette() -> "type[Provider]":
    """Return the palette's commands; its module is read when it opens."""
    from tapui.tower.commands import TowerCommands

    return TowerCommands


class TowerApp(App[str]):
    """The tower over one feed. `run()` returns an `Outcome` or the reason given to `leave`.

    `theme_folders` are read for themes, later ones win; `on_theme` is told a theme that the person
    chose. `on_start_here`, where given, makes a tower that lost its gateway offer to start one.
    `on_shown` is called once, after the first frame.
    The caller ends the feed (`Feed.stop`) after the app, in any case; stopping twice is harmless.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = ["app.tcss", "panes/streams.tcss"]
    TITLE = "tapui"
    COMMANDS: ClassVar[set["type[Provider] | Callable[[], type[Provider]]"]] = {_palette}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    NOTIFICATION_TIMEOUT = 6
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"pane({number})", show=False) for number in range(1, 6)),
        Binding("u", "undo_move", "Undo move", tooltip="Move the provider back"),
        Binding("S", "start_here", "Start a gateway", tooltip="Start a gateway in this terminal"),
        Binding("t", "next_theme", "Theme", show=False, tooltip="Switch to the next theme"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "leave", "Quit"),
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+c", "how_to_leave", show=False, system=True),
    ]

    def __init__(
        self,
        feed: Feed,
        *,
        theme: str = "tapui-dark",
        theme_folders: Sequence[Path] | None = None,
        bell: bool = True,
        note: str = "",
        notices: Sequence[str] = (),
        on_theme: Callable[[str], None] | None = None,
        on_start_here: Callable[[], None] | None = None,
        on_shown: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.feed = feed
        self.view = View()
        self.clock = clock
        self.ticks = ticks
        self.note = note
        folders = [builtin_folder()] if theme_folders is None else theme_folders
        self.themes = ThemeChoice(self, folders, on_theme)
        self._rings = bell
        self._notices = list(notices)
        self._on_start_here = on_start_here
        self._on_shown = on_shown
        self._visible: set[Pane] = set()
        self._waiting = -1
        self._offered: tuple[object, ...] = ()
        self._meter = Meter()
        self._own_moves: set[tuple[str, str]] = set()
        self._undo: ev.ProviderMoved | None = None
        self._stopping: Worker[None] | None = None
        self._main: MainScreen | None = None
        self._notices += self.themes.begin(theme)

    # Start

    def get_default_screen(self) -> Screen[object]:
        """The screen with the panes."""
        self._main = MainScreen(self.feed.address, self.note)
        return self._main

    def on_mount(self) -> None:
        """Begin to listen and to paint."""
        self._tell_terminal(title_sequence(0))
        for notice in self._notices:
            self.notify(notice, severity="warning", timeout=12)
        self._listen()
        self.set_interval(1 / FRAMES_PER_SECOND, self._paint)
        self.call_after_refresh(self._paint)
        if self._on_shown is not None:
            self.call_after_refresh(self._on_shown)

    @property
    def main(self) -> MainScreen:
        """The screen with the panes, whatever is on top of it."""
        assert self._main is not None, "the app is not running"
        return self._main

    @property
    def panes(self) -> list[Pane]:
        """The panes by number."""
        return self.main.panes

    # What comes

    @work(group="feed", name="feed")
    async def _listen(self) -> None:
        async for item in self.feed.items():
            self.view.apply(item)
            if isinstance(item, Message):
                self._told(item)
        if self.view.link.state != "ended":
            self.view.apply(Link("ended"))

    def _told(self, message: Message) -> None:
        if isinstance(message, Notice):
            levels: dict[str, SeverityLevel] = {"warning": "warning", "error": "error"}
            self.notify(message.message, severity=levels.get(message.level, "information"))
        elif isinstance(message, Error):
            self.notify(f"{message.code}: {message.message}", severity="error")
            if isinstance(self.screen, LiveScreen):
                self.screen.refused(message)
        elif isinstance(message, GatewayStopping) and self._stopping is None:
            self.notify("The gateway is ending.", severity="warning")

    def _paint(self) -> None:
        """Paint what changed, where it can be seen."""
        if not self.is_running or not self.main.is_mounted:
            return  # the panes are still being made, or are gone
        view = self.view
        view.now = self.clock()
        self._tick()
        dirty = view.take_dirty()
        for event in view.take_news():
            self._announce(event)
        main = self.main
        visible = {pane for pane in main.panes if main.can_see(pane)}
        with self.batch_update():
            if dirty:
                self._show_waiting(view)
                main.show(view, can_start=self._can_start)
            for pane in main.panes:
                if pane not in visible:
                    continue
                news = ALL_TOPICS if pane not in self._visible else dirty
                if news & pane.TOPICS:
                    pane.show(view, news)
            for screen in self.screen_stack:
                if isinstance(screen, LiveScreen) and screen.is_mounted and dirty & screen.TOPICS:
                    screen.show(view, dirty)
        self._visible = visible
        main.keep_focus()
        offers = self._offers()
        if offers != self._offered:
            self._offered = offers
            self.main.refresh_bindings()

    def _offers(self) -> tuple[object, ...]:
        """Return what the keys can do now: the footer is made anew only when this changes."""
        pane = self.main.current
        can = [pane.check_action(one.action, ()) for one in pane.own_bindings()]
        return (pane.TITLE, *can, self._undo is not None, self._can_start)

    def _tick(self) -> None:
        """Once a second: ages go on, and the events are counted."""
        rate = self._meter.tick(self.view.now, self.view.events)
        if rate is None:
            return
        self.view.rate = rate
        self.view.touch("clock")
        for problem in self.themes.reload():
            self.notify(problem, severity="warning")

    def _announce(self, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            if self._rings:
                self.bell()
        elif isinstance(event, ev.ModeChanged):
            reason = f": {event.error}" if event.error else ""
            self.notify(f"The mode could not be set to {event.mode}{reason}", severity="error")
        elif isinstance(event, ev.InjectPaused):
            self.notify(
                f"{event.provider} woke its session again and again: its injects are held. "
                "Under Providers, r lets them through.",
                severity="warning",
            )
        elif isinstance(event, ev.ProviderMoved):
            self._announce_move(event)

    def _announce_move(self, event: ev.ProviderMoved) -> None:
        move = (event.provider.id, event.session_id)
        if move in self._own_moves:
            self._own_moves.discard(move)
            return
        self._undo = event
        name = self.view.session_name(event.session_id)
        self.notify(
            f"{name_of(event.provider)} moved to {name} ({event.reason}). Press u to move it back.",
            timeout=20,
        )

    def _show_waiting(self, view: View) -> None:
        waiting = len(view.waiting)
        if waiting == self._waiting:
            return
        self._waiting = waiting
        text = f"! {quantity(waiting, 'approval')} waiting: 5" if waiting else ""
        for pane in self.panes:
            pane.set_class(bool(waiting), "-waiting")
            pane.border_subtitle = plain(text) if text else None
        self._tell_terminal(title_sequence(waiting))

    def _tell_terminal(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    # What goes

    def send(self, message: Message) -> None:
        """Send a message to the gateway."""
        self.feed.send(message)

    def move(self, provider_id: str, session_id: str) -> None:
        """Move a provider to another session, as the person wants it: no notice then."""
        self._own_moves.add((provider_id, session_id))
        self.send(ProviderMove(provider_id=provider_id, session_id=session_id))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notice. The text is made safe, and markup is never read."""
        del markup
        super().notify(
            safe_text(message, limit=400),
            title=safe_text(title, limit=64),
            severity=severity,
            timeout=timeout,
            markup=False,
        )

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done now is not offered."""
        if action == "undo_move":
            return self._undo is not None
        if action == "start_here":
            return self._can_start
        is_covered = len(self.screen_stack) > 1
        if action in ("pane", "help", "next_pane") and is_covered:
            return False
        return super().check_action(action, parameters)

    def action_pane(self, number: int) -> None:
        """Go to a pane."""
        self.main.go_to(number)
        self._paint()

    def act_in(self, pane: Pane, action: str) -> None:
        """Go to a pane and do something there (the palette)."""
        self.main.go_to(self.panes.index(pane) + 1)
        self._paint()
        self.call_later(self.run_action, action, pane)

    def action_undo_move(self) -> None:
        """Move a provider back to where it was."""
        if self._undo is not None:
            self.move(self._undo.provider.id, self._undo.source)
            self._undo = None

    def action_help(self) -> None:
        """Show the keys."""
        from tapui.tower.screens.help import HelpScreen, sections

        self.push_screen(HelpScreen(sections(self.main.current, self.panes)))

    def commands(self) -> "Iterator[Command]":
        """Yield what the palette offers: every action of the panes, and the app's own."""
        for number, pane in enumerate(self.panes, 1):
            yield f"Go to {pane.TITLE}", f"key {number}", partial(self.action_pane, number)
            for binding in pane.own_bindings():
                about = f"{binding.tooltip or pane.TITLE}, key {binding.key}"
                act = partial(self.act_in, pane, binding.action)
                yield f"{pane.TITLE}: {binding.description}", about, act
        yield "Help", "key ?", self.action_help
        yield "Quit", "key q", self.action_leave
        if self._undo is not None:
            yield "Undo the last move of a provider", "key u", self.action_undo_move
        if self._can_start:
            yield "Start a gateway here", "key S", self.action_start_here
        for name in self.themes.names:
            yield f"Theme: {name}", "key t goes round", partial(self.themes.choose, name)

    # Themes

    def get_theme(self, theme_name: str) -> Theme | None:
        """Return a theme by name; Textual asks for every painted line, so without a search."""
        return self._registered_themes.get(theme_name) or super().get_theme(theme_name)

    def action_next_theme(self) -> None:
        """Switch to the next theme."""
        self.themes.next()

    # The end

    @property
    def _can_start(self) -> bool:
        return (
            self._on_start_here is not None
            and not self.feed.is_embedded
            and self.view.link.state != "up"
        )

    def action_start_here(self) -> None:
        """End this tower so that one with its own gateway can begin."""
        if self._can_start and self._on_start_here is not None:
            self._on_start_here()
            self.leave("start-here")

    def action_how_to_leave(self) -> None:
        """Control-C is for copying; say how to quit."""
        self.notify("Press q to quit.", timeout=3)

    def action_leave(self) -> None:
        """Quit: at once where nothing ends with it, else after a question."""
        from tapui.tower.screens.leaving import LeavingScreen

        if isinstance(self.screen, LeavingScreen):
            self.screen.action_force()
            return
        losses = losses_of(self.view) if self.feed.is_embedded else []
        if not losses:
            self._end_feed()
            return
        from tapui.tower.screens.confirm import ConfirmScreen

        def answered(is_sure: bool | None) -> None:
            if is_sure:
                self._end_feed()

        question = ConfirmScreen("Quit and end the gateway?", losses, "quit")
        self.push_screen(question, answered)

    def _end_feed(self) -> None:
        """Stop the feed, counting down while providers are still there."""
        from tapui.tower.screens.leaving import LeavingScreen

        def closed(is_forced: bool | None) -> None:
            if is_forced:
                self.leave("quit")

        if self.feed.is_embedded and self.view.providers:
            self.push_screen(LeavingScreen(GOODBYE_SECONDS), closed)
        self._stopping = self._stop_feed()

    @work(group="stop", name="stop", exclusive=True)
    async def _stop_feed(self) -> None:
        await self.feed.stop(GOODBYE_SECONDS)
        self.leave("quit")

    def leave(self, reason: str) -> None:
        """End the app now and give the terminal back; `run()` returns `reason`.

        It does not wait for the gateway: that is for the caller to end.
        """
        self._tell_terminal(RESET_TITLE)
        self.exit(reason)

    def _fatal_error(self) -> None:
        """Leave with a traceback that shows no values: they may be secrets."""
        from rich.segment import Segments
        from rich.text import Text

        text = Text(crash_text(sys.exception() or self._exception))
        self._exit_renderables.append(Segments(self.console.render(text, self.console.options)))
        self._close_messages_no_wait()
