"""The app without its actions: what its parts share, from the model to the keys."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen

from tapui.text import safe_text
from tapui.tower.app.app_protocol import OnRule
from tapui.tower.app.feed import Feed
from tapui.tower.app.header import Note
from tapui.tower.app.main_screen import MainScreen
from tapui.tower.app.registry import PANES
from tapui.tower.app.services import EarlierRequests, Finder, LastFind, SessionStore
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import Bodies
from tapui.tower.keys.names import key_name, key_names
from tapui.tower.keys.table import AREAS, BY_ID, Area, keymap
from tapui.tower.sessions.sent_orders import OrdersGiven
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.textual.inside import PlainApp
from tapui.tower.textual.terminal import RESET_TITLE, AsciiGlyphs, Clipboard
from tapui.tower.themes.theme_files import builtin_folder
from tapui.tower.themes.themes import OnChoice, ThemeChoice
from tapui.tower.workbench.calls_made import CallsMade
from tapui.wire import events as ev
from tapui.wire.message import Message


def _go_on() -> None:
    """No other thread waits for the interpreter's lock."""


class BaseApp(PlainApp):
    """One feed's model, its main screen, keys, themes, notices and clipboard.

    `theme_folders` are read for themes, later ones win; `on_theme` gets a theme that the person
    chose. `give_way` is called between the pieces of longer work, and may wait a moment there.
    `log_file` is where the caller's logging writes: a crash names it. `panes` are those of the
    registry, unless others are wanted. `keys` are the person's own, by action, without faults.
    `glyphs` is `ascii` for terminals that draw others wrongly. `copies` is the folder of the file
    with what was copied last. `finder` makes what looks in the records, on the thread that calls
    it; None: nothing can be found here. `earlier_requests` are those that the records have. `store`
    has the stored sessions, None where there are none. `note` stands in the header. `clock` is
    seconds since the epoch, `ticks` seconds that only go forward.
    """

    def __init__(
        self,
        feed: Feed,
        *,
        theme: str = "tapui-dark",
        theme_folders: Sequence[Path] | None = None,
        on_theme: OnChoice | None = None,
        on_rule: OnRule | None = None,
        give_way: Callable[[], None] | None = None,
        log_file: Path | None = None,
        token_file: str = "~/.copilot/extensions/tap/.provider-token",  # noqa: S107 - a path
        keys: Mapping[str, str] | None = None,
        glyphs: str = "unicode",
        copies: Path | None = None,
        finder: Callable[[], Finder] | None = None,
        earlier_requests: EarlierRequests | None = None,
        store: SessionStore | None = None,
        panes: Sequence[PaneKind] = PANES,
        note: Note = "",
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.log_file = log_file
        self.token_file = token_file
        self.note = note
        self.give_way = give_way or _go_on
        self.clock = clock
        self.ticks = ticks
        self._keys = keymap(keys or {})
        self.set_keymap(self._keys)
        if glyphs == "ascii":
            self.add_line_filter(AsciiGlyphs())
        self.finder = finder
        self.earlier_requests = earlier_requests
        self.store = store
        self.last_find = LastFind()
        self._copies = Clipboard(self, copies)
        self.pane_kinds = tuple(panes)
        for kind in self.pane_kinds:
            self.bind(kind.key, f"pane('{kind.id}')", show=False)
        self.feed = feed
        self.view = View()
        self.bodies = Bodies(self.view, self.send)
        self.calls_made = CallsMade(self.send, self._calls_changed, clock)
        self.orders = OrdersGiven(self.send)
        self._main: MainScreen | None = None
        folders = [builtin_folder()] if theme_folders is None else theme_folders
        self.on_rule = on_rule
        self.themes = ThemeChoice(self, folders, on_theme)
        self.theme_faults = self.themes.begin(theme)
        """What was wrong with the theme that was wanted."""

    @property
    def address(self) -> str:
        return self.feed.address

    # The screen

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
        """How many lines of the screen stand above the panes."""
        return self.main.lines_above

    # Frames

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters. It asks before it renders each widget: between two of them
        others may go first."""
        self.give_way()
        return super().get_line_filters()

    def frame_begins(self, news: Sequence[ev.Event], dirty: frozenset[str]) -> None:
        """A frame begins: `news` happened since the one before, the topics `dirty` changed."""

    def frame_ends(self) -> None:
        """All of a frame was given to the screen."""

    # What goes

    @property
    def can_call(self) -> bool:
        return self.view.link.state == "up" and bool(self.view.open_sessions)

    def _calls_changed(self) -> None:
        self.view.touch("calls")

    def send(self, message: Message) -> None:
        self.feed.send(message)

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

    def copy(self, text: str, what: str, *, keeps_lines: bool = False) -> None:
        """Copy a text, or what is selected by the mouse."""
        selected = self.screen.get_selected_text()
        if selected:
            self._copies.put(selected, "The selected text", keeps_lines=True)
        else:
            self._copies.put(text, what, keeps_lines=keeps_lines)

    # The keys

    @property
    def key_areas(self) -> tuple[Area, ...]:
        return tuple(one for one in AREAS if one != "replay")

    def key_of(self, action_id: str) -> str:
        return key_name((self._keys.get(action_id) or BY_ID[action_id].keys).split(",")[0])

    def keys_of(self, action_id: str) -> str:
        return key_names(self._keys.get(action_id) or BY_ID[action_id].keys)

    # The end

    def leave(self, reason: str) -> None:
        """End the app now and give the terminal back; `run()` returns `reason`.

        It does not wait for the gateway: that is for the caller to end.
        """
        self.write_terminal(RESET_TITLE)
        self.exit(reason)
