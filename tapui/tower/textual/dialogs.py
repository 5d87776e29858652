"""The small dialogs: actions of a row, one of several, a line of text, a time, an answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.widgets import Input, Static

from tapui.projection.requests.questions import choices_of
from tapui.text import safe_text
from tapui.tower.app.tower import RowAction
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.filter import Filter, FilterError, parse
from tapui.tower.table.table import Table
from tapui.tower.textual.sheet import DIALOG_CSS, LiveScreen, Result
from tapui.tower.textual.widgets import SafeArea, SafeInput, plain
from tapui.wire import subjects
from tapui.wire.limits import MAX_ID, MAX_TELL


class ActionsScreen(LiveScreen[None]):
    """A menu; a letter acts, and so does Enter."""

    CSS_PATH = DIALOG_CSS
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, subject: str, actions: Sequence[RowAction]) -> None:
        super().__init__()
        self._subject = subject
        self._actions = {one.letter: one for one in actions}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain(self._subject, "bold", limit=200), markup=False)
            yield Table((Column("", 1), Column("", 12, 60, grows=True)), has_titles=False)
            yield Static(
                plain("a letter acts    Esc back", "$text-muted"), classes="keys", markup=False
            )

    def on_mount(self) -> None:
        table = self.query_one(Table)
        table.styles.max_height = max(len(self._actions), 1)
        table.set_rows(
            [
                Row(one.letter, (Cell(one.letter, "accent"), Cell(one.does)))
                for one in self._actions.values()
            ]
        )
        table.focus()

    def on_key(self, event: Key) -> None:
        if event.character in self._actions:
            event.prevent_default()
            event.stop()
            self._act(event.character)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self._act(event.key)

    def _act(self, letter: str) -> None:
        self.dismiss(None)
        self.app.call_later(self._actions[letter].act)


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to choose: its key, its name and what there is to know about it."""

    key: str
    name: str
    about: str = ""


class ChooseScreen(LiveScreen[str]):
    """A short list; Enter chooses. The result is the key, or None."""

    CSS_PATH = DIALOG_CSS

    def __init__(self, title: str, choices: Sequence[Choice], *, selected: str | None) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._selected = selected

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain(self._title, "bold", limit=200), markup=False)
            yield Table((Column("", 12, 64), Column("", 8, 40)))
            yield Static(
                plain("Enter choose    Esc back", "$text-muted"), classes="keys", markup=False
            )

    def on_mount(self) -> None:
        """Fill the list; what is in force is selected."""
        table = self.query_one(Table)
        table.styles.max_height = min(len(self._choices), 12) + 1
        table.set_rows(
            [
                Row(one.key, (Cell(one.name, "strong"), Cell(one.about, "muted")))
                for one in self._choices
            ]
        )
        if self._selected is not None:
            table.select(self._selected)
        table.focus()

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.dismiss(event.key)


class FilteredListScreen(LiveScreen[Result]):
    """A list below a line: what is typed there filters the rows, Enter chooses one.

    Subclasses have `COLUMNS` and `heading`, and show rows in `fill` and after `choose`.
    """

    CSS_PATH = DIALOG_CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", "Next", show=False),
        Binding("up", "step(-1)", "Previous", show=False),
    ]
    COLUMNS: ClassVar[tuple[Column, ...]]
    _sought: Filter | None = None

    def heading(self) -> str:
        raise NotImplementedError

    def fill(self) -> None:
        """Show the rows that the filter leaves, by `set_rows`."""
        raise NotImplementedError

    def choose(self, key: str) -> None:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain(self.heading(), "bold", limit=200), markup=False)
            yield AnswerInput(placeholder="type to filter", compact=True, max_length=200)
            yield Table(self.COLUMNS)
            yield Static("", classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(AnswerInput).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            self._sought = parse(event.value)
        except FilterError as error:
            self.say(str(error))
        else:
            self.fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        selected = self.query_one(Table).selected
        if selected is not None:
            self.choose(selected)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.choose(event.key)

    def action_step(self, step: int) -> None:
        self.query_one(Table).action_move(step)

    def set_rows(self, rows: Sequence[Row]) -> str:
        """Show those of the rows that the filter leaves; return their number as words."""
        sought = self._sought
        left = [row for row in rows if sought is None or sought.is_in(_row_text(row))]
        self.query_one(Table).set_rows(left)
        return f"{len(left)} of {len(rows)}" if len(left) < len(rows) else f"{len(rows)}"

    @property
    def has_rows(self) -> bool:
        return bool(self.query_one(Table).rows)

    def say(self, text: str) -> None:
        self.query_one(".keys", Static).update(plain(text, "$text-muted", limit=300))


def _row_text(row: Row) -> str:
    return "  ".join(dict.fromkeys((row.key, *(cell.text for cell in row.cells))))


class AskLineScreen(LiveScreen[str]):
    """Asks for a line of at most `most` characters; the result is the text, None where the person
    left or wrote nothing. One that `takes_nothing` has "" where they wrote nothing."""

    CSS_PATH = DIALOG_CSS

    def __init__(
        self,
        question: str,
        value: str = "",
        hint: str = "",
        *,
        most: int = MAX_ID,
        takes_nothing: bool = False,
    ) -> None:
        super().__init__()
        self._question = question
        self._first = safe_text(value)
        self._hint = hint
        self._most = most
        self._takes_nothing = takes_nothing

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain(self._question, "bold", limit=200), markup=False)
            yield SafeInput(self._first, max_length=self._most, select_on_focus=False)
            hint = "    ".join(filter(None, (self._hint, "Enter takes it    Esc back")))
            yield Static(plain(hint, "$text-muted", limit=200), classes="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        self.dismiss(text if text or self._takes_nothing else None)


_SPAN = re.compile(r"([+-])\s*(\d{1,9})\s*([smhd])\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CLOCK = re.compile(r"\d?\d:\d\d(:\d\d)?\Z")
_HINT = "20:15, 20:15:30, 2026-11-20 20:15, +5m or -2h.    Esc back"


class MomentScreen(LiveScreen[float]):
    """Asks for a time; the result is in seconds since the epoch, None where the person left.

    `now` is the time that a clock time or a span is counted from.
    """

    CSS_PATH = DIALOG_CSS

    def __init__(self, now: float) -> None:
        super().__init__()
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain("Go to a time", "bold"), markup=False)
            yield SafeInput(max_length=40)
            yield Static(plain(_HINT, "$text-muted"), classes="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        moment = moment_meant(event.value, self._now)
        if moment is None:
            self.query_one(".keys", Static).update(plain(f"Not a time. Write {_HINT}", "$error"))
        else:
            self.dismiss(moment)


def moment_meant(text: str, now: float) -> float | None:
    """Return the seconds since the epoch that are meant, None where it is no time.

    A time of day is that of the day of `now`, a span goes on from `now`; both in local time.
    """
    text = text.strip()
    try:
        day = datetime.fromtimestamp(now).astimezone()
        if span := _SPAN.match(text):
            seconds = int(span[2]) * _SECONDS[span[3]]
            then = day + timedelta(seconds=seconds if span[1] == "+" else -seconds)
            return then.timestamp() if 1 < then.year < 9999 else None
        if _CLOCK.match(text):
            hour, minute, *second = map(int, text.split(":"))
            moment = day.replace(hour=hour, minute=minute, second=0, microsecond=999_999)
            # Everything that happened in that second, or at the beginning of that minute.
            return moment.replace(second=second[0] if second else 0).timestamp()
        then = datetime.fromisoformat(text)
        return then.astimezone().timestamp() if 1 < then.year < 9999 else None
    except (ValueError, OverflowError, OSError):
        return None


class AnswerError(ValueError):
    """What was typed is not an answer; the text says what is."""


class AnswerInput(SafeInput):
    """A line to type in."""


class AnswerText(SafeArea):
    """A text to type: an answer, or a message to the agent."""


_LINE, _ROW = "line", "row"


class AnswerForm(Vertical):
    """A question's choices, and a line to type in where that is allowed. `written` is what it had
    before: the text of the line and the number of the choice."""

    def __init__(
        self, approval: subjects.Approval, detail: Mapping[str, Any], written: Mapping[str, str]
    ) -> None:
        super().__init__()
        self.approval_id = approval.id
        self._written = written
        self._choices, self._is_free = choices_of(detail)

    def compose(self) -> ComposeResult:
        if self._choices:
            yield Table((Column("", 12, 300),))
        if self._is_free:
            hint = "or type your own answer" if self._choices else "type here"
            text = self._written.get(_LINE, "")
            yield AnswerText(text, max_length=MAX_TELL, placeholder=hint)

    def on_mount(self) -> None:
        for table in self.query(Table):
            table.styles.height = min(len(self._choices), 6) + 1
            table.set_rows([Row(str(at), (Cell(text),)) for at, text in enumerate(self._choices)])
            if (row := self._written.get(_ROW)) is not None:
                table.select(row)

    @property
    def written(self) -> Mapping[str, str]:
        written = [(_LINE, line.value) for line in self.query(AnswerText)]
        return dict(written + [(_ROW, table.selected or "0") for table in self.query(Table)])

    def focus_inside(self) -> None:
        """Focus the line where something is written, else the first thing to fill in."""
        for widget in self.query("AnswerText" if self._written.get(_LINE) else "Table, AnswerText"):
            widget.focus()
            return

    def answer(self) -> object:
        """Return the answer as text. Raises AnswerError."""
        for line in self.query(AnswerText):
            if line.value:
                return line.value
        if self._choices:
            return self._choices[int(self.query_one(Table).selected or 0)]
        raise AnswerError("type an answer first")
