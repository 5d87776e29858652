"""The app as panes and sheets know it: the model, what goes to the gateway, keys, clipboard."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from textual.filter import LineFilter
from textual.notifications import SeverityLevel

from tapui.projection.state import StreamKey
from tapui.text import safe_text
from tapui.tower.app.feed import Feed
from tapui.tower.app.services import (
    EarlierRequests,
    Finder,
    FoundRecord,
    LastFind,
    RecordQuestions,
    RuleSuggestions,
    SessionStore,
)
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import Bodies
from tapui.tower.changes.folder_changes import FolderChanges
from tapui.tower.keys.bindings import KeyQueue
from tapui.tower.keys.key_table import BY_ID, keymap
from tapui.tower.keys.names import key_name, key_names
from tapui.tower.sessions.folder_heads import FolderHeads, HeadsRead
from tapui.tower.sessions.proof_copies import ProofCopies
from tapui.tower.sessions.sent_orders import SentOrders
from tapui.tower.textual.inside import PlainApp
from tapui.tower.textual.terminal import RESET_TITLE, AsciiGlyphs, Clipboard
from tapui.tower.themes.theme_files import builtin_folder
from tapui.tower.themes.themes import OnChoice, ThemeChoice
from tapui.tower.turns.checks_run import ChecksRun
from tapui.tower.workbench.calls_made import CallsMade
from tapui.wire.message import Message
from tapui.wire.subjects import Session

OnRule = Callable[[str], str | None]
"""Writes rules that come as TOML; returns why that failed, or None."""


class RowAction(NamedTuple):
    """Something that can be done to what is under the cursor: its letter, its words."""

    letter: str
    does: str
    act: Callable[[], object]


class Tower(PlainApp):
    """All of the app but its main screen, which is made of panes: those import this class.

    `theme_folders` are read for themes, later ones win; `on_theme` gets a theme that the person
    chose. `give_way` is called between the pieces of longer work, and may wait a moment there.
    `log_file` is where the caller's logging writes: a crash names it. `keys` are the person's own,
    by action, without faults. `glyphs` is `ascii` for terminals that draw others wrongly. `copies`
    is the folder of the file with what was copied last. `finder` makes what looks in the records,
    on the thread that calls it; None: nothing can be found here. `questions` makes what asks the
    records. `earlier_requests` are those that the records have, `suggestions` the rules that
    answers suggest. `store` has the stored sessions, None where there are none. `token_file` is
    where providers find their token. `clock` is seconds since the epoch, `ticks` seconds that only
    go forward.
    """

    is_replay = False
    """Whether this is the tower over records."""
    is_demo = False
    """Whether this is the demonstration already."""
    was_touched = False
    """Whether the person has pressed a key or the mouse here."""
    typed: KeyQueue

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
        questions: Callable[[], RecordQuestions] | None = None,
        earlier_requests: EarlierRequests | None = None,
        suggestions: RuleSuggestions | None = None,
        store: SessionStore | None = None,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(ticks)
        self.log_file = log_file
        self.token_file = token_file
        self.give_way = give_way or (lambda: None)
        self.clock = clock
        self.began = clock()
        self._keys = keymap(keys or {})
        self.set_keymap(self._keys)
        if glyphs == "ascii":
            self.add_line_filter(AsciiGlyphs())
        self.finder = finder
        self.earlier_requests = earlier_requests
        self.suggestions = suggestions
        self.store = store
        self.last_find = LastFind()
        self.questions = questions
        self.last_question = ""
        self._copies = Clipboard(self, copies)
        self.feed = feed
        self.view = View()
        self.bodies = Bodies(self.view, self.send)
        self.calls_made = CallsMade(self.send, lambda: self.view.touch("calls"), clock)
        self.orders = SentOrders(self.send, lambda: self.view.touch("sessions"))
        self.checks = ChecksRun(self.send, lambda: self.view.touch("checks"))
        self.changes = FolderChanges(self.view, self.send, ticks, is_replay=self.is_replay)
        self.proofs = ProofCopies(self.view, self.send, self._copy_proof, is_replay=self.is_replay)
        self.heads = FolderHeads(self.post_message)
        self.on_rule = on_rule
        folders = [builtin_folder()] if theme_folders is None else theme_folders
        self.themes = ThemeChoice(self, folders, on_theme)
        self.theme_faults = self.themes.begin(theme)
        """What was wrong with the theme that was wanted."""

    @property
    def can_call(self) -> bool:
        """Whether the person can call tools now."""
        return self.view.link.state == "up" and bool(self.view.open_sessions)

    def on_heads_read(self, event: HeadsRead) -> None:
        """Show which branches the sessions are on, from any thread."""
        if self.heads.take(event.read):
            self.view.touch("sessions")
            self.wake()

    def send(self, message: Message) -> None:
        self.feed.send(message)

    # What the screens are asked for

    @property
    def lines_above(self) -> int:
        """How many lines of the screen stand above the panes."""
        raise NotImplementedError

    @property
    def has_detail(self) -> bool:
        """Whether what is under the cursor is shown in full beside the lists."""
        raise NotImplementedError

    @property
    def lines_below(self) -> int:
        """How many lines stay in sight between a sheet and its keys."""
        raise NotImplementedError

    @property
    def can_show_demo(self) -> bool:
        """Whether a key shows the demonstration."""
        raise NotImplementedError

    def wake(self, *, is_moving: bool = False) -> None:
        """Something changed that the next frame shows, such as the selected row; it comes sooner
        where the person has moved to another row."""
        raise NotImplementedError

    async def show_pane(self, pane_id: str) -> None:
        """Make a pane the current one, painted and with the keys."""
        raise NotImplementedError

    async def show_stream(self, key: StreamKey) -> None:
        """Show a stream, alone, in Streams."""
        raise NotImplementedError

    async def act_on(self, session_id: str, what: str) -> None:
        """Close what is open, and do with a session what a key of the main screen does."""
        raise NotImplementedError

    def way_to(self, record: FoundRecord) -> Callable[[], object] | None:
        """Return what goes to the turn of a record, None where it is not one of those here."""
        raise NotImplementedError

    def ask_records(self, text: str) -> None:
        """Ask the records; without a text, show what can be asked."""
        raise NotImplementedError

    def tell_notes(self, session_id: str) -> None:
        """Let the person send the notes that they kept on a session's changes."""
        raise NotImplementedError

    def run_in_terminal(self, command: Sequence[str]) -> None:
        """Run a program of the person's on the terminal, which the tower leaves until it ends."""
        raise NotImplementedError

    def move(self, provider_id: str, session_id: str) -> None:
        """Move a provider to another session, as the person wants it: no notice then."""
        raise NotImplementedError

    def ask_stop(self, session: Session) -> None:
        """Ask whether the turn of a session is to be stopped, and what it is to do instead."""
        raise NotImplementedError

    def end_session(self, session: Session) -> None:
        """Ask whether a session that was started here is to end; end it on *yes*."""
        raise NotImplementedError

    def hand_over(self, session: Session) -> None:
        """Ask whether such a session is to go on in a terminal; close it first on *yes*."""
        raise NotImplementedError

    # Frames

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters. It asks before it renders each widget: between two of them
        others may go first."""
        self.give_way()
        return super().get_line_filters()

    # What the person reads and copies

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
        """Copy a text, or what is selected by the mouse. The notice about it calls it `what`."""
        selected = self.screen.get_selected_text()
        if selected:
            self._copies.put(selected, "The selected text", keeps_lines=True)
        else:
            self._copies.put(text, what, keeps_lines=keeps_lines)

    def _copy_proof(self, text: str) -> None:
        self._copies.put(text, "The report", keeps_lines=True)

    def key_of(self, action_id: str) -> str:
        """Return the key of an action as the person reads it."""
        return key_name((self._keys.get(action_id) or BY_ID[action_id].keys).split(",")[0])

    def is_key_of(self, key: str, *action_ids: str) -> bool:
        """Return whether a key, by Textual's name, is one of these actions'."""
        keys = (self._keys.get(one) or BY_ID[one].keys for one in action_ids)
        return any(key in one.split(",") for one in keys)

    def keys_of(self, action_id: str) -> str:
        return key_names(self._keys.get(action_id) or BY_ID[action_id].keys)

    def leave(self, reason: str) -> None:
        """End the app now and give the terminal back; `run()` returns `reason`.

        It does not wait for the gateway: that is for the caller to end.
        """
        self.write_terminal(RESET_TITLE)
        self.exit(reason)
