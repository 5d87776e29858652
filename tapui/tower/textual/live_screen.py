"""What all screens over the panes share, and the smallest of them: a question with two answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tapui.tower.app.app_protocol import Tower
from tapui.tower.app.footer import FooterLine
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.inside import OverScreen, PlainApp
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.widgets import plain
from tapui.wire.message import Error, Message

Result = TypeVar("Result")
# Absolute: Textual reads a relative path from the module of the screen's own class.
DIALOG_CSS = Path(__file__).with_name("dialog.tcss")
SHEET_CSS = Path(__file__).with_name("sheet.tcss")


class LiveScreen(OverScreen[Result]):
    """A screen over the panes, and over all of them: the header and what waits stay in sight.

    The app calls `show` as for panes; Escape or `q` closes it.
    """

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = bindings("close-sheet", "copy")

    @property
    def tower(self) -> Tower:
        """The app, as screens know it."""
        return cast("Tower", self.app)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed."""

    def send(self, message: Message) -> None:
        self.tower.send(message)

    async def on_event(self, event: events.Event) -> None:
        """Begin nothing while the app leaves: a screen that comes then has no children."""
        if isinstance(event, events.Mount) and cast("PlainApp", self.app).has_left:
            return
        await super().on_event(event)

    def on_mount(self) -> None:
        """Paint for the first time."""
        if not self.query(FooterLine):
            self.mount(FooterLine())
        self._cover_panes()
        self.show(self.tower.view, self.TOPICS)

    def on_resize(self) -> None:
        self._cover_panes()

    def _cover_panes(self) -> None:
        # Padding of the screen itself would be painted over what stands above the panes.
        for frame in self.query_children(".sheet, .dialog"):
            frame.styles.margin = (self.tower.lines_above, 0, 0, 0)

    def action_close(self) -> None:
        """Close it without a result."""
        self.dismiss(None)

    def copied(self) -> str:
        """Return what the key for copying takes: the text of the sheet."""
        return "\n".join(reader.plain_text for reader in self.query(Reader))

    def action_copy(self) -> None:
        """Copy the text of the sheet, or what is selected."""
        self.tower.copy(self.copied(), "The text", keeps_lines=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A sheet without a text has nothing to copy."""
        if action == "copy":
            return bool(self.copied())
        return super().check_action(action, parameters)

    def refused(self, error: Error) -> bool:
        """The gateway refused something; return whether the screen shows that itself."""
        del error
        return False


class ConfirmScreen(LiveScreen[bool]):
    """Asks; `y` or Enter is yes, `n` or Escape is no. The result is True for yes.

    A key that came in one read with others, or in a paste, is no yes: the question was not read.
    """

    CSS_PATH = DIALOG_CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Yes"),
        Binding("n", "answer(False)", "No"),
    ]

    def __init__(self, question: str, lines: Sequence[str], verb: str) -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._verb = verb

    def compose(self) -> ComposeResult:
        """The question, its consequences, the keys."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._question, "bold", limit=300), markup=False)
            yield Static(
                Content("\n").join([plain(line, limit=300) for line in self._lines]), markup=False
            )
            yield Static(plain(self._keys(), "$text-muted"), classes="keys", markup=False)
            yield Static("", classes="trouble", markup=False)

    def _keys(self) -> str:
        return f"y {self._verb}    n back"

    def action_answer(self, is_sure: bool) -> None:
        if not is_sure or self.hears():
            self.dismiss(is_sure)

    def hears(self) -> bool:
        """Return whether the key counts; say why where it does not."""
        if not self.tower.typed.is_alone:
            self._refuse("Pressed with other keys, so it does not count.")
        return self.tower.typed.is_alone

    def on_paste(self, event: events.Paste) -> None:
        """A paste is no answer."""
        event.stop()
        self._refuse("A paste is not an answer.")

    def _refuse(self, why: str) -> None:
        self.query_one(".trouble", Static).update(plain(why, "$warning"))
