"""What all screens over the panes share: their place, their keys, one frame with a text to read."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any, ClassVar, TypeVar, cast

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tapui.projection.paragraphs import Paragraph
from tapui.tower.app.footer import FooterLine
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.inside import OverScreen, PlainApp
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.widgets import plain, tone_style
from tapui.tower.wording.marks import Mark
from tapui.wire.message import Error

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
        return cast("Tower", self.app)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint what changed."""

    async def on_event(self, event: events.Event) -> None:
        """Begin nothing while the app leaves: a screen that comes then has no children."""
        if isinstance(event, events.Mount) and cast("PlainApp", self.app).has_left:
            return
        await super().on_event(event)

    def on_mount(self) -> None:
        if not self.query(FooterLine):
            self.mount(FooterLine())
        self._cover_panes()
        self.show(self.tower.view, self.TOPICS)

    def on_resize(self) -> None:
        self._cover_panes()
        if self.is_mounted:
            self.show(self.tower.view, self.TOPICS)

    def _cover_panes(self) -> None:
        # Padding of the screen itself would be painted over what stands above the panes.
        for frame in self.query_children(".sheet, .dialog"):
            frame.styles.margin = (self.tower.lines_above, 0, 0, 0)

    def action_close(self) -> None:
        self.dismiss(None)

    def copied(self) -> str:
        """Return what the key for copying takes: the text of the sheet."""
        return "\n".join(reader.plain_text for reader in self.query(Reader))

    def action_copy(self) -> None:
        self.tower.copy(self.copied(), "The text", keeps_lines=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
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
        event.stop()
        self._refuse("A paste is not an answer.")

    def _refuse(self, why: str) -> None:
        self.query_one(".trouble", Static).update(plain(why, "$warning"))


def ask(app: App[Any], screen: LiveScreen[Result], on_answer: Callable[[Result], object]) -> None:
    """Push a screen that asks; `on_answer` is not called where the person leaves it."""

    def closed(answer: Result | None) -> None:
        if answer is not None:
            on_answer(answer)

    app.push_screen(screen, closed)


def confirm(
    app: App[Any], question: str, lines: Sequence[str], verb: str, on_yes: Callable[[], object]
) -> None:
    """Ask with a `ConfirmScreen`; `on_yes` is called for *yes* alone."""

    def closed(is_sure: bool | None) -> None:
        if is_sure:
            on_yes()

    app.push_screen(ConfirmScreen(question, lines, verb), closed)


Keys = Callable[[], Sequence[str]]
"""Returns the keys of all items of the list that a sheet was opened from, in its order."""

_NAME_WIDTH = 11


def alone() -> Sequence[str]:
    return ()


class Sheet(LiveScreen[None]):
    """One item of a list, in full. The previous and next one are a key away.

    `key` is the item on show, `keys` are all of the list. Subclasses paint it in `show`.
    """

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = SHEET_CSS
    BINDINGS: ClassVar[list[BindingType]] = bindings("previous-item", "next-item")
    CLOSES = "closes"
    """What Escape does, in a word."""

    REVEALS = False
    """Whether what is shown is to be decided on."""

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__()
        self.key = key
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            yield Reader(reveals=self.REVEALS)
            yield from self.below()

    def below(self) -> Iterable[Widget]:
        return ()

    @property
    def reader(self) -> Reader:
        return self.query_one(Reader)

    def on_mount(self) -> None:
        """Paint for the first time; the footer offers what works by then."""
        super().on_mount()
        self.call_after_refresh(self.refresh_bindings)

    # The frame

    def set_frame(self, mark: Mark, name: str, note: str, tone: str = "muted") -> None:
        """Show state and name in the upper edge and a note at its right; the ways out below."""
        frame = self.query_one(".sheet", Vertical)
        left = plain(f"{mark.glyph} ", tone_style(mark.tone)) + plain(name, "bold", limit=400)
        frame.border_title = upper_edge(left, note, tone, self.app.size.width)
        frame.border_subtitle = self._ways_out()

    def _ways_out(self) -> Content:
        keys = list(self._keys())
        ways = []
        if self.key in keys and len(keys) > 1:
            back, on = self.tower.key_of("previous-item"), self.tower.key_of("next-item")
            ways.append(f"{back} {keys.index(self.key) + 1} of {len(keys)} {on}")
        ways.append(f"{self.tower.key_of('close-sheet')} {self.CLOSES}")
        return plain("   ".join(ways), "$text-muted")

    # Other items

    def neighbour(self, step: int) -> str | None:
        """Return the key of the item so many places away; None where there is none."""
        keys = list(self._keys())
        if self.key in keys:
            there = keys.index(self.key) + step
        else:
            there = 0 if step > 0 else len(keys) - 1
        return keys[there] if 0 <= there < len(keys) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn":
            return isinstance(parameters[0], int) and self.neighbour(parameters[0]) is not None
        return super().check_action(action, parameters)

    def action_turn(self, step: int) -> None:
        there = self.neighbour(step)
        if there is not None:
            self.go_to(there)

    def go_to(self, key: str) -> None:
        """Show another item, from its beginning."""
        self.key = key
        self.reader.scroll_to(y=0, animate=False)
        self.show(self.tower.view, self.TOPICS)
        self.refresh_bindings()


def upper_edge(left: Content, note: str, tone: str, width: int) -> Content:
    """Return what stands in the upper edge of a frame that is `width` cells wide: a title, and a
    note at its right."""
    room = max(width - 6, 8)
    right = plain(f" {note}", tone_style(tone), limit=60) if note else plain("")
    left = left.truncate(max(room - right.cell_length - 1, 8), ellipsis=True)
    gap = room - left.cell_length - right.cell_length
    line = plain(f" {'─' * max(gap - 1, 0)}", "$warning" if tone == "warning" else "$primary")
    return left + line + right if note and gap > 0 else left


def fact(name: str, text: str | None) -> list[Paragraph]:
    """Return a line with the name of a fact and what it is; nothing for none."""
    if not text:
        return []
    return [Paragraph(f"{name:<{_NAME_WIDTH}}{' '.join(text.splitlines())}", "muted")]
