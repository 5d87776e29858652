"""The workbench: one tool, its arguments as a form or as JSON, and the calls of it made here."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from msgspec import UNSET, Raw
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.schemas.fields import FieldError, Form, NoForm, form_of
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import json_body
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.inside import after_refresh
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import confirm
from tapui.tower.textual.widgets import plain, show_in
from tapui.tower.wording import marks
from tapui.tower.workbench.arguments_view import Changed, Done, FormView, JsonView
from tapui.tower.workbench.calls_made import CallsMade, Made, TooLarge
from tapui.tower.workbench.fitness import Checked, Checker, fitness_words, named, words_of
from tapui.tower.workbench.shell_line import NoLine, ShellLine, in_short, shell_line
from tapui.wire.message import OfferedTool

COLUMNS = (
    Column("made here", 9, 9),
    Column("", 9, 14),
    Column("", 5, 8, right=True),
    Column("", 8, grows=True),
)
"""Of the list of calls."""
_MARKS: dict[str, marks.Mark] = {
    **{state: marks.CALL[state] for state in ("running", "done", "failed", "cancelled")},
    **{state: marks.STEP[state] for state in ("denied", "timedOut")},
    "lost": marks.Mark("✗", "lost", "error"),
}
_NONE = marks.Mark("○", "not called yet", "muted")


def mark_of(made: Made | None) -> marks.Mark:
    """Return how a call looks; None is that there is none."""
    return _NONE if made is None else _MARKS[made.state]


def lasted(made: Made, now: float) -> str:
    if made.state == "running":
        return times.lasting(max(now - made.began, 0.0))
    return times.span(made.took)


def row_of(made: Made, now: float) -> Row:
    mark = mark_of(made)
    return Row(
        made.id,
        (
            Cell(times.clock(made.began), "muted"),
            Cell(mark.word, mark.tone, mark.glyph, mark.tone),
            Cell(lasted(made, now)),
            Cell(made.about, "muted"),
        ),
    )


def paragraphs(made: Made | None) -> Iterable[Paragraph]:
    if made is None:
        yield Paragraph("What comes of a call is shown here.", "muted")
        return
    if made.state == "running":
        yield from [title("progress"), value(made.progress)] if made.progress else ()
        yield Paragraph("No answer yet.", "muted")
        return
    outcome = made.outcome
    if made.state == "lost":
        yield Paragraph("The link to the gateway broke before the answer came.", "error")
    elif outcome is None:
        yield Paragraph("Its result is no longer kept here; the records have it.", "muted")
    elif outcome.error is not None or outcome.error_code is not None:
        yield title(f"error {outcome.error_code or ''}".rstrip())
        yield value(outcome.error or "", "error")
    elif outcome.file is not None:
        file = outcome.file
        yield title("result, in a file")
        yield value(
            f"{file.path}\n{file.mime_type}, {file.size:,} bytes\n{file.note or ''}".rstrip()
        )
    else:
        yield title("result")
        yield value("null" if outcome.data is UNSET else json_body(outcome.data))
    for text in (outcome.context if outcome is not None else None) or ():
        yield Paragraph("")
        yield title("added by rules and gates")
        yield value(text)


class CallButton(Static, can_focus=True):
    """Enter or a click presses it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "press", "call it")]

    class Pressed(Message):
        """It was pressed."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._key = ""
        self._fitness = Content("")

    def show(self, key: str, fitness: Content) -> None:
        if key != self._key or not fitness.is_same(self._fitness):
            self._key, self._fitness = key, fitness
            self.refresh(layout=True)

    def render(self) -> Content:
        style = "bold reverse $accent" if self.has_focus else "bold $accent"
        return plain(f" {self._key} call ", style) + plain("  ") + self._fitness

    def on_click(self) -> None:
        self.post_message(self.Pressed())

    def action_press(self) -> None:
        self.post_message(self.Pressed())


WIDE = 110
"""From so many columns on, what came stands beside the arguments, not below them."""
_WRITING, _READING = 0.65, 0.35
"""The part of the height that the arguments have at most where what came stands below them."""
_LINES_BESIDE = 3
"""Lines of the arguments' half that are not theirs: the call, and the line for the shell."""
_HISTORY = 5
"""Calls of the list that are in sight at once."""
_LINE = 1000
"""Characters of the line for the shell that are shown; all of it is copied."""


class WorkbenchDetail(DetailView):
    """Calls `tool` in a session. `arguments`, where given, are what is written at first; else it
    is the draft that was left, or the schema's defaults."""

    DEFAULT_CSS = Path(__file__).with_name("workbench.tcss").read_text("utf-8")
    TOPICS = frozenset({"calls", "clock"})
    BINDINGS: ClassVar[list[BindingType]] = bindings("call", "as-json", "copy-line", "stop")

    def __init__(self, session_id: str, tool: OfferedTool, arguments: Raw | None = None) -> None:
        super().__init__(tool.name)
        self._session_id = session_id
        self._tool = tool
        self._first = arguments
        self._why_json = ""
        self._form: Form | None = None
        try:
            self._form = form_of(tool.parameters)
        except NoForm as error:
            self._why_json = str(error)
        self._secrets = frozenset[str]() if self._form is None else self._form.secrets
        self._arguments = Raw(b"{}")
        self._wrong: Mapping[str, str] = {}
        self._checked: Checked | None = None
        self._line: ShellLine | NoLine = NoLine()
        self._insists = False
        self._trouble = ""
        self._call_shown: Made | None = None
        self._painted: tuple[object, ...] | None = None

    # What there is

    def compose(self) -> ComposeResult:
        first = self._first or self._calls.draft(self._tool.name)
        yield Static("", classes="about", markup=False)
        with Container(classes="halves"):
            with Vertical(classes="asked"):
                with Vertical(classes="written"):
                    yield self._view_of(first, as_json=False)
                yield Static("", classes="why", markup=False)
                yield CallButton()
                yield Static("", classes="line", markup=False)
            with Vertical(classes="came"):
                yield Reader()
                yield Table(COLUMNS)

    def on_mount(self) -> None:
        self._checker = Checker(self, self._tool.parameters, self._was_checked)
        made = self._calls.of(self._tool.name)
        self._call_shown = made[0] if made else None
        self._place()
        self._changed()

    def focus_inside(self) -> None:
        after_refresh(self, self._begin_writing)

    def on_resize(self) -> None:
        super().on_resize()
        self._place()

    def on_descendant_focus(self) -> None:
        self._place()

    def _place(self) -> None:
        halves, is_wide = self.query_one(".halves"), self.app.size.width >= WIDE
        halves.set_class(is_wide, "-wide")
        is_reading = self.query_one(".came").has_pseudo_class("focus-within")
        share = 1.0 if is_wide else _READING if is_reading else _WRITING
        room = max(int(halves.size.height * share) - _LINES_BESIDE, 2)
        self.query_one(".written").styles.max_height = room

    @property
    def _calls(self) -> CallsMade:
        return self.tower.calls_made

    @property
    def _written(self) -> FormView | JsonView | None:
        for view in self.query_one(".written").children:
            if isinstance(view, FormView | JsonView):
                return view
        return None

    def _view_of(self, arguments: Raw | None, *, as_json: bool) -> FormView | JsonView:
        """Return the arguments as a form, or as JSON where that is wanted or the form has no place
        for them."""
        form = None if as_json else self._form
        typed: Mapping[str, str] = {}
        if form is not None:
            try:
                typed = form.defaults if arguments is None else form.typed(arguments)
            except FieldError as error:
                self._why_json, form = str(error), None
            else:
                self._why_json = ""
        if arguments is None:
            arguments = Raw(b"{}") if self._form is None else self._form.read(typed)[0]
        return JsonView(arguments) if form is None else FormView(form, typed)

    async def _write(self, arguments: Raw, *, as_json: bool) -> None:
        """Show the arguments of `_view_of`, in place of what is written now."""
        place = self.query_one(".written")
        await place.remove_children()
        await place.mount(self._view_of(arguments, as_json=as_json))
        self._changed()

    def _begin_writing(self) -> None:
        written = self._written
        if written is None or not written.focus_inside():
            self.query_one(CallButton).focus()

    # Writing

    def on_changed(self, event: Changed) -> None:
        event.stop()
        self._changed()

    def on_done(self, event: Done) -> None:
        event.stop()
        self.query_one(CallButton).focus()

    def _changed(self) -> None:
        written = self._written
        if written is None:
            return
        arguments, self._wrong = written.read()
        self._insists, self._trouble = False, ""
        if not self._wrong and (self._checked is None or arguments != self._arguments):
            self._checked = None
            self._checker.ask(arguments)
            self._calls.keep_draft(self._tool.name, arguments)
        self._arguments = arguments
        tool, address = self._tool.name, self.tower.feed.address
        try:
            self._line = shell_line(address, self._session_id, tool, arguments, self._secrets)
        except NoLine as error:
            self._line = error
        self._tell()

    def _was_checked(self, checked: Checked) -> None:
        self._checked = checked
        if checked.unusable and self._form is not None:
            self._form = None
            self._why_json = f"the schema cannot be used: {checked.unusable}"
            self._to_json()
        self._tell()

    @work(group="form")
    async def _to_json(self) -> None:
        await self._write(self._arguments, as_json=True)
        self._begin_writing()

    # Calling

    def action_call(self) -> None:
        """Call the tool; what does not fit is shown first."""
        if self._wrong:
            self._trouble = named(*next(iter(self._wrong.items())))
        elif self._checked is not None and self._checked.faults and not self._insists:
            self._insists = True
        else:
            self._send()
        self._tell()

    def _send(self) -> None:
        about = in_short(self._arguments, self._secrets)
        try:
            made = self._calls.call(self._session_id, self._tool.name, self._arguments, about)
        except TooLarge as error:
            self._trouble = str(error)
            return
        self._call_shown, self._insists = made, False
        self.show_anew()
        self.query_one(Table).select(made.id)
        self.reader.focus()

    def on_call_button_pressed(self, event: CallButton.Pressed) -> None:
        event.stop()
        self.action_call()

    def action_stop(self) -> None:
        made = self._call_shown
        if made is None or made.state != "running":
            return
        lines = [f"session {self.tower.view.session_name(made.session_id)}"]
        question, cancel = f"Cancel {made.tool}?", partial(self._calls.cancel, made)
        confirm(self.app, question, lines, "cancel the call", cancel)

    async def action_as_json(self) -> None:
        is_json = isinstance(self._written, JsonView)
        if is_json and self._wrong:
            self._trouble = named(*next(iter(self._wrong.items())))
            self._tell()
            return
        await self._write(self._arguments, as_json=not is_json)
        self._begin_writing()

    def action_copy_line(self) -> None:
        if self._wrong or isinstance(self._line, NoLine):
            why = self._line if isinstance(self._line, NoLine) else "the arguments are not complete"
            self.app.notify(f"There is no such line: {why}.", markup=False)
            return
        has_secret = self._line.line != self._line.shown
        what = "The line, with its secrets," if has_secret else "The line"
        self.tower.copy(self._line.line, what)

    def close_topmost(self) -> bool:
        """Leave the field that is written in."""
        written = self._written
        if written is None or not written.has_pseudo_class("focus-within"):
            return False
        self.reader.focus()
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            return self._call_shown is not None and self._call_shown.state == "running"
        if action == "as_json":
            return self._form is not None
        return super().check_action(action, parameters)

    # The calls made here

    def on_table_moved(self) -> None:
        chosen = self.query_one(Table).selected
        calls = [one for one in self._calls.of(self._tool.name) if one.id == chosen]
        if calls and calls[0] is not self._call_shown:
            self._call_shown = calls[0]
            self.show_anew()

    async def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        for made in self._calls.of(self._tool.name):
            if made.id == event.key:
                await self._write(made.arguments, as_json=False)
                self.query_one(CallButton).focus()

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        made = self._call_shown
        mark = mark_of(made)
        note = mark.word if made is None else f"{mark.word}, {lasted(made, view.now)}"
        self.set_frame(mark, self._tool.name, note)
        where = f"{self._tool.provider} · in {view.session_name(self._session_id)}"
        about = plain(where, "$text-muted", limit=200)
        if description := " ".join(self._tool.description.split()):
            about += plain("   ") + plain(description, limit=400)
        show_in(self.query_one(".about", Static), about)
        calls = self._calls.of(self._tool.name)
        table = self.query_one(Table)
        table.display = bool(calls)
        table.styles.height = min(len(calls), _HISTORY) + 1
        table.set_rows([row_of(one, view.now) for one in calls])
        painted = made and (made.id, made.state, made.progress, made.outcome is None)
        if painted != self._painted or self._painted is None:
            self._painted = painted or ()
            self.reader.set_parts(paragraphs(made))
            self.refresh_bindings()

    def _tell(self) -> None:
        """Say at the fields what is wrong, and below them what a call would be."""
        written = self._written
        is_json = isinstance(written, JsonView)
        self.query_one(".written").set_class(is_json, "-json")
        why = f"As JSON, because {self._why_json}." if is_json and self._why_json else ""
        if is_json and self._secrets:
            why = f"{why} Secrets are readable here.".strip()
        about = self.query_one(".why", Static)
        show_in(about, plain(why, "$text-muted", limit=400))
        about.display = bool(why)
        if isinstance(written, FormView):
            faults = () if self._checked is None else self._checked.faults
            unfit = {str(one.path[0]): words_of(one) for one in faults if one.path}
            written.mark({**unfit, **self._wrong})
        key = self.tower.key_of("call")
        fitness = fitness_words(
            key, self._wrong, self._checked, self._trouble, insists=self._insists
        )
        self.query_one(CallButton).show(key, fitness)
        line = self.query_one(".line", Static)
        if self._wrong:
            show_in(line, plain(""))
        elif isinstance(self._line, NoLine):
            show_in(line, plain(f"No line for the shell: {self._line}.", "$text-muted"))
        else:
            show_in(line, plain(f"$ {self._line.shown}", "$text-muted", limit=_LINE))
