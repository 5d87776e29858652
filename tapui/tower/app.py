"""The app: it folds what its feed yields, paints what changed, and sends the person's decisions."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.binding import Binding, BindingType
from textual.events import Event, Key, MouseDown, Paste
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.worker import Worker

from tapui.projection.turns.programs import has_failed
from tapui.text import safe_text
from tapui.tower.bodies import Bodies
from tapui.tower.clipboard import Clipboard
from tapui.tower.feed import Feed, Link
from tapui.tower.glyphs import AsciiGlyphs
from tapui.tower.keys.bindings import bindings
from tapui.tower.keys.chosen import keymap
from tapui.tower.keys.names import key_name, key_names
from tapui.tower.keys.queue import KeyQueue, without_alt
from tapui.tower.keys.table import BY_ID, TABLE
from tapui.tower.main_screen import MainScreen
from tapui.tower.meter import Meter
from tapui.tower.notices import Notices, notice_words
from tapui.tower.pace import Pace
from tapui.tower.panes.pane import Pane, PaneKind
from tapui.tower.panes.registry import PANES
from tapui.tower.screens.live import LiveScreen
from tapui.tower.table import Table
from tapui.tower.terminal import RESET_TITLE, notice_sequence, title_sequence
from tapui.tower.textual_inside import PlainApp
from tapui.tower.theme_choice import OnChoice, ThemeChoice
from tapui.tower.theme_files import builtin_folder
from tapui.tower.urgency import requests
from tapui.tower.view import ALL_TOPICS, View
from tapui.tower.words import losses_of, name_of
from tapui.wire import events as ev
from tapui.wire.message import Error, Message
from tapui.wire.tower import GatewayStopping, Notice, ProviderMove

if TYPE_CHECKING:
    from textual.command import Provider

    from tapui.tower.commands import Command

GOODBYE_SECONDS = 10.0
"""How long an embedded gateway waits for its providers at the end."""

Outcome = Literal["quit", "start-here", "demo"]
"""How the app ended: the person quit, wants a gateway started here, or wants the demonstration."""


def _palette() -> "type[Provider]":
    """Return the palette's commands; its module is read when it opens."""
    from tapui.tower.commands import TowerCommands

    return TowerCommands


def _go_on() -> None:
    """Nobody is to be let go first."""


class TowerApp(PlainApp):
    """The tower over one feed. `run()` returns an `Outcome` or the reason given to `leave`.

    `theme_folders` are read for themes, later ones win; `on_theme` is told a theme that the person
    chose. `on_start_here`, where given, makes a tower that lost its gateway offer to start one.
    `on_shown` is called once, after the first frame. `give_way` is called between the pieces of
    longer work, and may wait a moment there. `log_file` is where the caller's logging
    `on_shown` is called once, after the first frame, `on_notice` with each notice that something
    waits. `log_file` is where the caller's logging
    writes: a crash names it. `panes` are those of the registry, unless others are wanted. `keys`
    are the person's own, by action, without faults. `glyphs` is `ascii` for terminals that draw
    others wrongly. `copies` is the folder of the file with what was copied last. `on_demo`, where
    given, makes an empty tower offer the demonstration.
    The caller ends the feed (`Feed.stop`) after the app, in any case; stopping twice is harmless.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = ["app.tcss", "panes/streams.tcss"]
    TITLE = "tapui"
    COMMANDS: ClassVar[set["type[Provider] | Callable[[], type[Provider]]"]] = {_palette}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    NOTIFICATION_TIMEOUT = 6
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "answer",
            "next-failure",
            "demo",
            "undo-move",
            "start-here",
            "help",
            "quit",
            "commands",
        ),
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+c", "how_to_leave", show=False, system=True),
        Binding("ctrl+z", "to_shell", "To the shell", show=False, priority=True),
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
        on_theme: OnChoice | None = None,
        on_start_here: Callable[[], None] | None = None,
        on_shown: Callable[[], None] | None = None,
        give_way: Callable[[], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
        log_file: Path | None = None,
        token_file: str = "~/.copilot/extensions/tap/.provider-token",  # noqa: S107 - a path
        is_demo: bool = False,
        on_demo: Callable[[], None] | None = None,
        keys: Mapping[str, str] | None = None,
        glyphs: str = "unicode",
        copies: Path | None = None,
        panes: Sequence[PaneKind] = PANES,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        super().__init__()
        self.log_file = log_file
        self.token_file = token_file
        self.is_demo = is_demo
        self._on_demo = None if is_demo else on_demo
        self.can_show_demo = self._on_demo is not None
        self._keys = keymap(keys or {})
        self.set_keymap(self._keys)
        if glyphs == "ascii":
            self.add_line_filter(AsciiGlyphs())
        self._copies = Clipboard(self, copies)
        self.was_touched = False
        self.pane_kinds = tuple(panes)
        for kind in self.pane_kinds:
            self.bind(kind.key, f"pane('{kind.id}')", show=False)
        self.typed = KeyQueue(self, super().on_event)
        self.feed = feed
        self.view = View()
        self.bodies = Bodies(self.view, self.send)
        self.clock = clock
        self.ticks = ticks
        self.note = note
        folders = [builtin_folder()] if theme_folders is None else theme_folders
        self.themes = ThemeChoice(self, folders, on_theme)
        self._rings = bell
        self._notices = list(notices)
        self._on_start_here = on_start_here
        self._on_shown = on_shown
        self.give_way = give_way or _go_on
        self._on_notice = on_notice
        self._calls = Notices()
        self._visible: set[Pane] = set()
        self._waiting = -1
        self._failure: str | None = None
        self._offered: tuple[object, ...] = ()
        self._meter = Meter()
        self._pace = Pace()
        self._cpu = cpu
        self._folding = 0.0
        self._is_woken = False
        self._own_moves: set[tuple[str, str]] = set()
        self._undo: ev.ProviderMoved | None = None
        self._stopping: Worker[None] | None = None
        self._main: MainScreen | None = None
        self._notices += self.themes.begin(theme)

    @property
    def address(self) -> str:
        """The gateway's URL."""
        return self.feed.address

    @property
    def lines_above(self) -> int:
        """How many lines of the screen stand above the panes."""
        return self.main.lines_above

    # Start

    def get_default_screen(self) -> Screen[object]:
        """The screen with the panes."""
        self._main = MainScreen(self.feed.address, self.note, self.pane_kinds)
        return self._main

    def on_mount(self) -> None:
        """Begin to listen and to paint."""
        self.write_terminal(title_sequence(0))
        self.view.looked_at = self.clock()
        for notice in self._notices:
            self.notify(notice, severity="warning", timeout=12)
        self.app_resume_signal.subscribe(self, self._came_back)
        self._take_keys()
        self._listen()
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        """The first frame is on screen."""
        for problem in self.themes.complete():
            self.notify(problem, severity="warning", timeout=12)
        self._clock_ticked()
        if self._on_shown is not None:
            self._on_shown()

    @property
    def main(self) -> MainScreen:
        """The screen with the panes, whatever is on top of it."""
        assert self._main is not None, "the app is not running"
        return self._main

    @property
    def panes(self) -> list[Pane]:
        """The panes that were made so far, in the order of their keys."""
        made = self.main.panes
        return [made[kind.id] for kind in self.pane_kinds if kind.id in made]

    async def on_event(self, event: Event) -> None:
        """Keys and pastes wait for the one before; everything else is handled at once."""
        if isinstance(event, (Key, Paste)) and not event.is_forwarded:
            self._looked()
            for one in without_alt(event, self.screen.active_bindings):
                self.typed.put(one)
        else:
            if isinstance(event, MouseDown):
                self._looked()
            await super().on_event(event)

    def _looked(self) -> None:
        """The person is here: what failed until now was seen."""
        self.was_touched = True
        if self.view.unseen_failures:
            self.view.touch("link")
            self.wake()
        self.view.looked_at = self.clock()

    @work(group="keys", name="keys")
    async def _take_keys(self) -> None:
        await self.typed.run()

    # What comes

    @work(group="feed", name="feed")
    async def _listen(self) -> None:
        async for item in self.feed.items():
            began = self._cpu()
            self.view.apply(item)
            self._folding += self._cpu() - began
            self.give_way()
            if isinstance(item, Message):
                self._told(item)
            self.wake()
        if self.view.link.state != "ended":
            self.view.apply(Link("ended"))
            self.wake()

    def _told(self, message: Message) -> None:
        if isinstance(message, Notice):
            levels: dict[str, SeverityLevel] = {"warning": "warning", "error": "error"}
            self.notify(message.message, severity=levels.get(message.level, "information"))
        elif isinstance(message, Error):
            self.notify(f"{message.code}: {message.message}", severity="error")
            if isinstance(self.screen, LiveScreen):
                self.screen.refused(message)
        elif isinstance(message, GatewayStopping) and self._stopping is None:
            self.notify("The gateway is shutting down.", severity="warning")

    # Frames

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters. It asks before it renders each widget: between two of them
        others may go first."""
        self.give_way()
        return super().get_line_filters()

    def wake(self) -> None:
        """Something changed: paint it in the next frame, which comes as soon as `Pace` allows."""
        if self._is_woken:
            return
        self._is_woken = True
        wait = self._pace.wait(self.ticks())
        if wait > 0:
            self.set_timer(wait, self._frame)
        else:
            self.call_later(self._frame)

    def _frame(self) -> None:
        self._is_woken = False
        self._paint()

    def _clock_ticked(self) -> None:
        """A second has begun: the clock and the ages that are shown change."""
        self.wake()
        self.set_timer(1.001 - self.clock() % 1, self._clock_ticked)

    def _paint(self) -> None:
        """Paint what changed, where it can be seen."""
        if not self.is_running or not self.main.is_mounted:
            return  # the panes are still being made, or are gone
        spent = self._cpu() - self._folding
        self._pace.begin(self.ticks())
        view = self.view
        view.now = self.clock()
        self._tick()
        dirty = view.take_dirty()
        for event in view.take_news():
            self._announce(event)
        self._call_person()
        main = self.main
        seen = main.seen_panes()
        with self.batch_update():
            if dirty:
                self._show_waiting(view)
                main.show(view, start_key=self.key_of("start-here") if self._can_start else "")
            for pane in seen:
                news = dirty if pane in self._visible else ALL_TOPICS
                if news & pane.TOPICS:
                    pane.show(view, news)
                    pane.show_frame()
                    self.give_way()
            for screen in self.screen_stack:
                if isinstance(screen, LiveScreen) and screen.is_mounted and dirty & screen.TOPICS:
                    screen.show(view, dirty)
        self._visible = set(seen)
        main.keep_focus()
        offers = self._offers()
        if offers != self._offered:
            self._offered = offers
            main.refresh_bindings()
        self.call_after_refresh(self._painted, spent)
        if view.is_dirty:
            self.wake()

    def _painted(self, spent: float) -> None:
        """The frame is on the terminal: `spent` was the processor time before it."""
        self._pace.end(self._cpu() - self._folding - spent)

    def _offers(self) -> tuple[object, ...]:
        """Return what the keys can do now: the footer is made anew only when this changes."""
        return tuple(
            (one.binding.action, one.enabled) for one in self.main.active_bindings.values()
        )

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
            self._calls.asked(event.approval.id)
        elif isinstance(event, ev.ModeChanged):
            reason = f": {event.error}" if event.error else ""
            self.notify(f"The mode could not be set to {event.mode}{reason}", severity="error")
        elif isinstance(event, ev.InjectPaused):
            self.notify(
                f"{event.provider} prompted the session three times without your input; further "
                "messages are held. Under Providers, the actions of its row send them.",
                severity="warning",
            )
        elif isinstance(event, ev.ProviderMoved):
            self._announce_move(event)

    def _call_person(self) -> None:
        """Ring, and tell the terminal and the person's own program, if that is due."""
        if not self.view.is_first:
            self._calls.forget()  # another tower of the same gateway calls
            return
        waiting = {one.id: one for one in self.view.waiting}
        due = self._calls.due(self.clock(), waiting)
        if not due:
            return
        if self._rings:
            self.bell()
        text = notice_words(self.view.state, [waiting[id_] for id_ in due])
        self.write_terminal(notice_sequence(text, os.environ))
        if self._on_notice is not None:
            self._on_notice(text)

    def _announce_move(self, event: ev.ProviderMoved) -> None:
        move = (event.provider.id, event.session_id)
        if move in self._own_moves:
            self._own_moves.discard(move)
            return
        self._undo = event
        name = self.view.session_name(event.session_id)
        self.notify(
            f"{name_of(event.provider)} moved to {name} ({event.reason}). "
            f"{self.key_of('undo-move')} moves it back.",
            timeout=20,
        )

    def _show_waiting(self, view: View) -> None:
        waiting = len(view.waiting)
        if waiting != self._waiting:
            self._waiting = waiting
            self.write_terminal(title_sequence(waiting))

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
        if action == "answer":
            return bool(self.view.waiting)
        if action == "next_failure":
            return any(has_failed(one) for one in self.view.state.recent_calls.values())
        if action == "demo":
            return self.can_show_demo and self.view.is_empty
        is_covered = len(self.screen_stack) > 1
        if action in ("pane", "help") and is_covered:
            return False
        return super().check_action(action, parameters)

    async def show_pane(self, pane_id: str) -> None:
        """Make a pane the current one, painted and with the keys."""
        await self.main.go_to(pane_id)
        self._paint()
        self.main.current_pane.focus_inside()

    async def action_pane(self, pane_id: str) -> None:
        """Go to a pane."""
        await self.show_pane(pane_id)

    async def act_in(self, kind: PaneKind, action: str) -> None:
        """Go to a pane and do something there (the palette)."""
        await self.show_pane(kind.id)
        pane = self.main.current_pane
        if pane.check_action(action.partition("(")[0], ()):
            await self.run_action(action, pane)

    def action_answer(self) -> None:
        """Open the most urgent request itself."""
        waiting = requests(self.view)
        if waiting:
            from tapui.tower.screens.approval import ApprovalScreen

            self.push_screen(ApprovalScreen(waiting[0].approval.id))

    async def action_next_failure(self) -> None:
        """Go to what failed last; pressed again, to what failed before that."""
        failed = [
            one.id for one in reversed(self.view.state.recent_calls.values()) if has_failed(one)
        ]
        if not failed or "calls" not in self.main.area.pane_ids:
            return
        at = failed.index(self._failure) + 1 if self._failure in failed else 0
        self._failure = failed[at % len(failed)]
        await self.show_pane("calls")
        self.main.current_pane.query_one(Table).select(self._failure)

    def action_demo(self) -> None:
        """End this tower so that the demonstration can be shown."""
        if self._on_demo is not None:
            self._on_demo()
            self._end_feed(reason="demo")

    def copy(self, text: str, what: str, *, keeps_lines: bool = False) -> None:
        """Copy a text, or what is selected by the mouse."""
        selected = self.screen.get_selected_text()
        if selected:
            self._copies.put(selected, "The selected text", keeps_lines=True)
        else:
            self._copies.put(text, what, keeps_lines=keeps_lines)

    def key_of(self, action_id: str) -> str:
        """Return the key of an action as the person reads it."""
        return key_name((self._keys.get(action_id) or BY_ID[action_id].keys).split(",")[0])

    def keys_of(self, action_id: str) -> str:
        """Return all keys of an action as the person reads them."""
        return key_names(self._keys.get(action_id) or BY_ID[action_id].keys)

    def action_undo_move(self) -> None:
        """Move a provider back to where it was."""
        if self._undo is not None:
            self.move(self._undo.provider.id, self._undo.source)
            self._undo = None

    def action_help(self) -> None:
        """Show the keys."""
        from tapui.tower.screens.help import HelpScreen, sections

        told = sections(self.main.current_kind, self.pane_kinds, self.keys_of)
        self.push_screen(HelpScreen(told))

    def commands(self) -> "Iterator[Command]":
        """Yield what the palette offers: every action that can be done now."""
        for kind in self.pane_kinds:
            yield f"Go to {kind.title}", f"key {kind.key}", partial(self.show_pane, kind.id)
        yield from self._row_commands()
        for one in TABLE:
            run = self._runner(one.action)
            if run is not None and one.id != "commands":
                yield one.does[:1].upper() + one.does[1:], f"key {self.keys_of(one.id)}", run
        yield "Next theme", "", self.themes.next
        for name in self.themes.names:
            yield f"Theme: {name}", "", partial(self.themes.choose, name)

    def _row_commands(self) -> "Iterator[Command]":
        """Yield what can be done to the row under the cursor."""
        pane = self.main.current_pane
        for one in pane.row_actions():
            about = f"{pane.subject}, keys {self.key_of('actions')} {one.letter}"
            yield one.does[:1].upper() + one.does[1:], safe_text(about, limit=100), one.act

    def _runner(self, action: str) -> "Callable[[], object] | None":
        """Return what does an action where it can be done now: in the pane, on the screen, here."""
        name, _, arguments = action.partition("(")
        given = tuple(filter(None, [arguments.rstrip(")")]))
        for place in (self.main.current_pane, self.main, self):
            if hasattr(place, f"action_{name}") and place.check_action(name, given):
                return partial(self.run_action, action, place)
        return None

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

    def action_to_shell(self) -> None:
        """Give the terminal to a shell until it brings the tower back.

        A second tower stops like any program. A stopped gateway would freeze every call and gate:
        with the gateway inside, a shell of our own runs in front of it.
        """
        if not self.feed.is_embedded:
            self.write_terminal(RESET_TITLE)
            self.action_suspend_process()
            return
        from tapui.tower.shell import run_shell

        self.write_terminal(RESET_TITLE)
        fault = ""
        with self.suspend():
            try:
                run_shell()
            except OSError as error:
                fault = error.strerror or str(error)
        if fault:
            self.notify(f"The shell could not be started: {fault}", severity="error")

    def _came_back(self, _app: object) -> None:
        """The terminal is the tower's again: paint all of it."""
        self._waiting = -1  # the title is named anew
        self.refresh(layout=True)
        self.wake()

    def enter_again(self) -> None:
        """The process was stopped and goes on: the shell may have set the terminal meanwhile."""
        with self.suspend():
            pass

    def action_how_to_leave(self) -> None:
        """Control-C is for copying; say how to quit."""
        self.notify(f"{self.key_of('quit')} quits.", timeout=3)

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

    def _end_feed(self, reason: Outcome = "quit") -> None:
        """Stop the feed, counting down while providers are still there."""
        from tapui.tower.screens.leaving import LeavingScreen

        def closed(is_forced: bool | None) -> None:
            if is_forced:
                self.leave(reason)

        if self.feed.is_embedded and self.view.providers:
            self.push_screen(LeavingScreen(GOODBYE_SECONDS), closed)
        self._stopping = self._stop_feed(reason)

    @work(group="stop", name="stop", exclusive=True)
    async def _stop_feed(self, reason: Outcome) -> None:
        await self.feed.stop(GOODBYE_SECONDS)
        self.leave(reason)

    def leave(self, reason: str) -> None:
        """End the app now and give the terminal back; `run()` returns `reason`.

        It does not wait for the gateway: that is for the caller to end.
        """
        self.write_terminal(RESET_TITLE)
        self.exit(reason)
