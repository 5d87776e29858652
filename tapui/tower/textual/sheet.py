"""What all screens over the panes share: their place, their keys, one frame with a text to read."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tapui.tower.app.footer import FooterLine
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.keys.key_table import BY_ID
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.inside import OverScreen, PlainApp
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.marks import Signs
from tapui.wire.message import Error

Result = TypeVar("Result")
# Absolute: Textual reads a relative path from the module of the screen's own class.
DIALOG_CSS = Path(__file__).with_name("dialog.tcss")


class LiveScreen(OverScreen[Result]):
    """A screen over the panes, and over all of them: the header and what waits stay in sight.

    The app calls `show` as for panes; Escape or `q` closes it.
    """

    TOPICS: ClassVar[frozenset[str]] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = bindings("close-sheet", "copy", "help", "commands")
    HELP: ClassVar[str] = ""
    """What the help says of it."""
    SIGNS: ClassVar[Signs] = ()
    """The signs in it, and what each says."""
    HAS_HELP: ClassVar[bool] = True
    """Whether the help can be opened over it."""

    def about(self) -> tuple[str, Signs]:
        """Return what the help says of it, and of its signs."""
        return self.HELP, self.SIGNS

    @property
    def way_back(self) -> str:
        return f"{self.tower.key_of('close-sheet')} back"

    @property
    def tower(self) -> Tower:
        return cast("Tower", self.app)

    @property
    def topics(self) -> frozenset[str]:
        """What it shows: it is painted when one of these changes."""
        return self.TOPICS

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
        self.show(self.tower.view, self.topics)

    def on_resize(self) -> None:
        self._cover_panes()
        for footer in self.query(FooterLine):
            footer.fill()
        if self.is_mounted:
            self.show(self.tower.view, self.topics)

    def _cover_panes(self) -> None:
        # Padding of the screen itself would be painted over what stands above the panes.
        for frame in self.query_children(".sheet, .dialog, DetailView"):
            frame.styles.margin = (self.tower.lines_above, 0, self.tower.lines_below, 0)
        for rack in self.query("ToastRack"):
            rack.styles.margin = (0, 0, self.tower.lines_below + 1, 0)

    def action_close(self) -> None:
        self.dismiss(None)

    def copied(self) -> str:
        """Return what the key for copying takes: the text of the sheet."""
        return "\n".join(reader.plain_text for reader in self.query(Reader))

    def action_copy(self) -> None:
        self.tower.copy(self.copied(), "The text", keeps_lines=True)

    # Screens over others do not get the keys of the app.

    async def action_help(self) -> None:
        await self.run_action("app.help")

    def action_command_palette(self) -> None:
        self.app.action_command_palette()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "copy":
            return bool(self.copied())
        if action == "help":
            return self.HAS_HELP
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
            yield from self.body()
            yield Static(plain(self._keys(), "$text-muted"), classes="keys", markup=False)
            yield Static("", classes="trouble", markup=False)

    def body(self) -> Iterable[Widget]:
        """Return what is to be looked at before the answer, besides the lines."""
        return ()

    def _keys(self) -> str:
        return f"y {self._verb}    n no    {self.way_back}"

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


class Sheet(LiveScreen[None]):
    """A detail alone, over the panes. The previous and next item of its list are a key away.

    Keys of the main screen that the text of a session, and of what it did, names act here, too.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("previous-item", "next-item"),
        *(
            Binding(BY_ID[name].keys, f"leave_for('{name}')", BY_ID[name].offer, id=name)
            for name in ("answer", "next-failure", "actions")
        ),
        *(Binding(key, f"leave_for('{key}')", show=False) for key in "123456789"),
    ]

    def __init__(self, detail: DetailView) -> None:
        super().__init__(classes="-decides" if detail.REVEALS else "")
        self.detail = detail
        detail.is_alone = True

    def compose(self) -> ComposeResult:
        yield self.detail

    @property
    def topics(self) -> frozenset[str]:
        return self.detail.TOPICS

    def on_mount(self) -> None:
        """The footer offers what works once all is painted."""
        self.detail.focus_inside()
        self.call_after_refresh(self.refresh_bindings)

    def on_screen_resume(self) -> None:
        self.detail.came_up()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        if self.detail.is_mounted:
            self.detail.show(view, dirty)
            self._show_ways_out()
            if self.focused is None:  # what had the keys is gone or hidden
                self.set_focus(self.detail.reader)

    def _show_ways_out(self) -> None:
        detail = self.detail
        keys = list(detail.keys())
        ways = []
        if detail.key in keys and len(keys) > 1:
            back, on = self.tower.key_of("previous-item"), self.tower.key_of("next-item")
            ways.append(f"{back} {keys.index(detail.key) + 1} of {len(keys)} {on}")
        ways.append(self.way_back)
        detail.border_subtitle = plain("   ".join(ways), "$text-muted")

    def about(self) -> tuple[str, Signs]:
        return self.detail.HELP, self.detail.SIGNS

    def refused(self, error: Error) -> bool:
        return self.detail.refused(error)

    def copied(self) -> str:
        return self.detail.copied()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn":
            step = parameters[0]
            return isinstance(step, int) and self.detail.neighbour(step) is not None
        if action == "leave_for":
            what = str(parameters[0]).replace("-", "_")
            return bool(self.detail.session_id and self.tower.check_action(what, ()))
        return super().check_action(action, parameters)

    def action_turn(self, step: int) -> None:
        there = self.detail.neighbour(step)
        if there is not None and self.detail.may_turn:
            self.detail.go_to(there)
            self._show_ways_out()
            self.refresh_bindings()

    def action_leave_for(self, what: str) -> None:
        self.app.call_later(self.tower.act_on, self.detail.session_id, what)

    def action_close(self) -> None:
        if not self.detail.close_topmost():
            self.dismiss(None)

    def on_detail_view_left(self) -> None:
        self.dismiss(None)
