"""Questions to the records: the line to ask in, the table of the answer, a row of it in full."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.suggester import Suggester
from textual.widgets import Input, Static

from tapui.projection.paragraphs import Paragraph, title, value
from tapui.text import safe_text
from tapui.tower.app.services import (
    AnswerFault,
    AnswerForm,
    AskedQuestion,
    FoundRecord,
    KnownQuestion,
    RecordAnswer,
    RecordQuestions,
    RecordText,
)
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.finding.find_sheet import RecordDetail, when
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import CELL_CHARS, Cell, Column, Row, sorted_rows
from tapui.tower.table.filter import Filter, FilterBar, FilterError, parse
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView, Keys, alone
from tapui.tower.textual.dialogs import ActionsScreen
from tapui.tower.textual.sheet import LiveScreen, Sheet
from tapui.tower.textual.widgets import SafeInput, plain, upper_edge
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import quantity

MAX_QUESTION = 10_000
"""Characters of a question that can be typed here."""
_MOST_WIDE = 40
_GROWS_FROM = 16
"""Cells: a column of longer texts takes the room that the others leave."""
_REF, _TS = "ref", "ts"
"""Columns of the views: what leads to the record, and when it was."""
_QUESTIONS = (
    Column("question", 12, 40),
    Column("takes", 8, 60, rank=1),
    Column("answers", 16, grows=True, half=True),
)
_HINT = "NAME KEY=VALUE …, or SELECT … over the views"
_FORMS: tuple[tuple[str, AnswerForm, str], ...] = (
    ("c", "csv", "comma-separated values"),
    ("j", "json", "JSON, an array of objects"),
    ("m", "md", "a table in Markdown"),
)


class AnswerRowDetail(DetailView):
    """A row of an answer, with all its columns. `row_of` returns the names and the texts."""

    HELP = "A row of an answer: all columns, also those that the table has no room for."

    def __init__(
        self, key: str, keys: Keys, row_of: Callable[[str], Sequence[tuple[str, str]]]
    ) -> None:
        super().__init__(key, keys)
        self._row_of = row_of

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        self.set_frame(Mark("·", "row", "muted"), f"Row {int(self.key) + 1}", "")
        parts: list[Paragraph] = []
        for name, text in self._row_of(self.key):
            parts += [title(name), value(text), Paragraph("")]
        self.reader.set_parts(parts)


class QuestionSuggester(Suggester):
    """Completes the name of a question, then what it takes."""

    def __init__(self) -> None:
        super().__init__(use_cache=False)
        self.known: Sequence[KnownQuestion] = ()

    async def get_suggestion(self, value: str) -> str | None:
        before, is_further, last = value.rpartition(" ")
        if not is_further:
            names = (one.name for one in self.known if value and one.name.startswith(value))
            return next((one for one in names if one != value), None)
        words = before.split()
        question = next((one for one in self.known if words and one.name == words[0]), None)
        given = {word.partition("=")[0] for word in words[1:]}
        for name, default, _about in question.takes if question is not None else ():
            whole = f"{name}={default}"
            if name not in given and whole.startswith(last) and whole != last:
                return safe_text(f"{before} {whole}")
        return None


class QuestionInput(SafeInput):
    """Where the question is typed; Enter asks, Tab completes, down goes on to the rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "ask", key_display="⏎"),
        Binding("tab", "complete", "complete", key_display="Tab"),
        Binding("down,pagedown", "to_list", "rows", key_display="↓"),
    ]

    def action_complete(self) -> None:
        """Take what is suggested; without that, go to the rows."""
        before = self.value
        self.action_end()
        self.action_cursor_right()
        if self.value == before:
            self.action_to_list()

    def action_to_list(self) -> None:
        table = self.screen.query_one(AnswerRows)
        if table.rows:
            table.focus()


class AnswerRows(Table):
    """The rows; up from the first one goes back to the question."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "to_question", show=False)]

    def action_move(self, step: int) -> None:
        if step < 0 and self.is_on_first:
            self.action_to_question()
        else:
            super().action_move(step)

    def action_to_question(self) -> None:
        self.screen.query_one(QuestionInput).focus()


class QueryScreen(LiveScreen[None]):
    """A question above, its answer below; until one is asked, the questions that have names.

    The answer is waited for in a thread: keys go on working, and Escape cancels it."""

    CSS_PATH = "query_sheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("filter", "sort", "reverse", "export")
    HELP = (
        "Questions to the records: a stock question by its name, with what it takes, or SQL that "
        "begins with SELECT or WITH. Enter opens the record behind a row. A question that takes "
        "long is cancelled by the key that goes back."
    )

    def __init__(self, questions: RecordQuestions, text: str = "", *, last: str = "") -> None:
        super().__init__()
        self._questions = questions
        self._first = safe_text(text, limit=MAX_QUESTION)
        self._last = safe_text(last, limit=MAX_QUESTION)
        self.known: Sequence[KnownQuestion] = ()
        """The questions that have names, once they are read."""
        self._asked: AskedQuestion | None = None
        self.answer: RecordAnswer | None = None
        """What is shown; None: the list of questions."""
        self._stem = ""
        self._trouble = ""
        self._filter: Filter | None = None
        self._order_by: tuple[int, bool] | None = None
        self._suggester = QuestionSuggester()

    @property
    def is_asking(self) -> bool:
        return self._asked is not None

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            with Horizontal(classes="asked"):
                yield Static("?", markup=False)
                yield QuestionInput(
                    self._first or self._last,
                    placeholder=_HINT,
                    max_length=MAX_QUESTION,
                    suggester=self._suggester,
                    compact=True,
                )
            yield AnswerRows(_QUESTIONS)
            yield FilterBar()
            yield Static("", classes="said", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(QuestionInput).focus()
        self._read_known()
        if self._first:
            self.ask(self._first)

    def on_unmount(self) -> None:
        if self._asked is not None:
            self._asked.cancel()

    @property
    def _table(self) -> AnswerRows:
        return self.query_one(AnswerRows)

    @property
    def _typed(self) -> str:
        return self.query_one(QuestionInput).value.strip()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        said = self.query_one(".said", Static)
        text, tone = self._said()
        said.set_class(not text, "none")
        said.update(plain(text, tone, limit=500))
        frame = self.query_one(".sheet", Vertical)
        note, tone = self._note()
        frame.border_title = upper_edge(plain("Query", "bold"), note, tone, self.app.size.width)
        frame.border_subtitle = plain(self.way_back, "$text-muted")

    def _said(self) -> tuple[str, str]:
        if self._trouble:
            return f"✗ {self._trouble}", "$error"
        if self.is_asking or self.answer is None:
            return "", ""
        if not self.answer.rows:
            return "There are no such records.", "$text-muted"
        return self.answer.note, "$text-muted"

    def _note(self) -> tuple[str, str]:
        answer = self.answer
        if self.is_asking:
            return "asking …", "muted"
        if answer is None:
            return f"{len(self.known)} questions", "muted"
        count = len(answer.rows)
        left = len(self._table.rows)
        if self._filter is not None:
            return f"/ {self._filter.text[:24]}  {left:,} of {count:,}", "strong"
        if answer.is_cut:
            return f"the first {count:,}, there are more", "strong"
        return quantity(count, "row"), "muted"

    # Asking

    @work(group="known")
    async def _read_known(self) -> None:
        try:
            self.known = await asyncio.to_thread(self._questions.known)
        except AnswerFault as fault:
            self._trouble = str(fault)
        self._suggester.known = self.known
        self._fill()

    def ask(self, text: str) -> None:
        """Ask a question; what is being asked is cancelled."""
        self._cancel()
        field = self.query_one(QuestionInput)
        if field.value.strip() != text:
            field.value = text
        self.tower.last_question = text
        self._trouble = ""
        self._asked = asked = self._questions.ask(text)
        self._stem = text.split(maxsplit=1)[0] if text.strip() else ""
        self._wait(asked)
        self._refresh_keys()

    @work(group="answer")
    async def _wait(self, asked: AskedQuestion) -> None:
        answer, trouble = None, ""
        try:
            answer = await asyncio.to_thread(asked.answer)
        except AnswerFault as fault:
            trouble = str(fault)
        if self._asked is not asked:
            return  # it was cancelled, or another one was asked
        self._asked, self._trouble = None, trouble
        if answer is not None:
            self.answer = answer
            self._filter = self._order_by = None
            self._table.sorted_by = None
            self._table.set_columns(_columns(answer))
            self._fill()
            if answer.rows:
                self._table.select("0")
                self._table.focus()
        self._refresh_keys()

    def _cancel(self) -> bool:
        """End what is being asked; return whether something was."""
        asked, self._asked = self._asked, None
        if asked is not None:
            asked.cancel()
        return asked is not None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._typed:
            self.ask(self._typed)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if not event.value.strip() and self.answer is not None and not self.is_asking:
            self.answer, self._trouble = None, ""
            self._filter = self._order_by = None
            self._table.sorted_by = None
            self._table.set_columns(_QUESTIONS)
        if self.answer is None:
            self._fill()

    def action_close(self) -> None:
        """Cancel what is being asked; else take the filter back; else close the sheet."""
        if self._cancel():
            self._trouble = "It was cancelled."
            self._refresh_keys()
        elif self._filter is not None:
            self._filter = None
            self._fill()
        else:
            self.dismiss(None)

    def _refresh_keys(self) -> None:
        self.show(self.tower.view, self.TOPICS)
        self.refresh_bindings()

    # Rows

    def _fill(self) -> None:
        rows = self._question_rows() if self.answer is None else self._answer_rows(self.answer)
        self._table.set_rows(rows)
        self._table.set_class(not rows, "none")
        if not rows and self._table.has_focus:
            self.query_one(QuestionInput).focus()
        self._refresh_keys()

    def _question_rows(self) -> list[Row]:
        typed = self._typed.split(maxsplit=1)[0] if self._typed else ""
        found = [one for one in self.known if typed in one.name]
        return [_question_row(one) for one in found or self.known]

    def _answer_rows(self, answer: RecordAnswer) -> list[Row]:
        now = self.tower.view.now
        rows = [_answer_row(answer, at, now) for at in range(len(answer.rows))]
        if self._filter is not None:
            rows = [row for row in rows if self._filter.is_in("  ".join(row.texts))]
        if self._order_by is not None:
            column, is_reversed = self._order_by
            rows = sorted_rows(rows, column, is_reversed=is_reversed)
        return rows

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        answer = self.answer
        if answer is None:
            self.ask(event.key)
            return
        ref = _ref_of(answer, int(event.key))
        if ref is not None:
            self._open_record(ref)
            return
        self.app.push_screen(Sheet(AnswerRowDetail(event.key, self._keys, self._row)))

    @work(group="record", exclusive=True)
    async def _open_record(self, ref: str) -> None:
        """Go to where it happened, if this tower has that; else show the record."""
        try:
            found = await asyncio.to_thread(self._questions.read, ref)
        except AnswerFault as fault:
            self.notify(str(fault), severity="error")
            return
        if found is None:
            self.notify("The record was deleted since it was found.", severity="warning")
            return
        if self.app.screen is not self:
            return  # the person has gone on
        record, text = found
        way = self.tower.way_to(record)
        if way is not None:
            self.dismiss(None)
            self.app.call_later(way)
            return
        self.app.push_screen(Sheet(_record_detail(record, text)))

    def _keys(self) -> list[str]:
        return [row.key for row in self._table.rows]

    def _row(self, key: str) -> list[tuple[str, str]]:
        if self.answer is None or int(key) >= len(self.answer.rows):
            return []
        return list(zip(self.answer.columns, self.answer.texts[int(key)], strict=True))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("filter", "sort", "reverse", "export"):
            return self.answer is not None and self._table.has_focus
        if action == "copy":
            return self._table.has_focus
        return super().check_action(action, parameters)

    def on_descendant_focus(self) -> None:
        self.refresh_bindings()

    def action_filter(self) -> None:
        self.query_one(FilterBar).open(self._filter.text if self._filter else "")

    def on_filter_bar_typed(self, event: FilterBar.Typed) -> None:
        event.stop()
        bar = self.query_one(FilterBar)
        try:
            self._filter = parse(event.text)
        except FilterError as error:
            bar.refuse(error)
            return
        bar.refuse(None)
        self._fill()
        if event.is_done:
            bar.close()
            (self._table if self._table.rows else self.query_one(QuestionInput)).focus()

    def action_sort(self) -> None:
        """Sort by the next column; after the last, in the answer's own order."""
        now = -1 if self._order_by is None else self._order_by[0]
        shown = [index for index, _start, _end in self._table.spans if index > now]
        self._sort_by((shown[0], False) if shown else None)

    def action_reverse(self) -> None:
        column, is_reversed = self._order_by or (0, False)
        self._sort_by((column, not is_reversed))

    def on_table_title_chosen(self, event: Table.TitleChosen) -> None:
        """A title was clicked: sort by it, or the other way round."""
        event.stop()
        if self.answer is not None:
            was_by = self._order_by == (event.column, False)
            self._sort_by((event.column, was_by))

    def _sort_by(self, order: tuple[int, bool] | None) -> None:
        self._order_by = self._table.sorted_by = order
        self._table.refresh()  # the title says it, also where the rows stand as before
        self._fill()

    def copied(self) -> str:
        """Return the row; of a question, its name."""
        key = self._table.selected or ""
        if self.answer is None:
            return key
        return "  ".join(text for _name, text in self._row(key) if text) if key else ""

    def action_copy(self) -> None:
        self.tower.copy(self.copied(), "The row")

    def action_export(self) -> None:
        actions = [
            RowAction(letter, words, partial(self._write, form)) for letter, form, words in _FORMS
        ]
        count = quantity(len(self._table.rows), "row")
        self.app.push_screen(ActionsScreen(f"Write {count} into a file, as", actions))

    def _write(self, form: AnswerForm) -> None:
        answer = self.answer
        if answer is not None:
            shown = [int(key) for key in self._keys()]
            left = replace(
                answer,
                rows=[answer.rows[at] for at in shown],
                texts=[answer.texts[at] for at in shown],
            )
            is_known = any(one.name == self._stem for one in self.known)
            name = self._stem if is_known else "query"
            self._write_answer(left, name, form)

    @work(group="write")
    async def _write_answer(self, answer: RecordAnswer, name: str, form: AnswerForm) -> None:
        try:
            path: Path = await asyncio.to_thread(self._questions.write, answer, name, form)
        except AnswerFault as fault:
            self.notify(str(fault), severity="error", timeout=12)
        else:
            self.notify(f"Written into {path}", timeout=12)


def _record_detail(record: FoundRecord, text: RecordText) -> RecordDetail:
    detail = RecordDetail(record.key, alone, lambda _key: record, lambda _record: None)
    detail.set_record(record.key, text)
    return detail


def _question_row(one: KnownQuestion) -> Row:
    takes = " ".join(f"{name}={default}" for name, default, _about in one.takes)
    about = f"{one.about} (your own)" if one.is_own else one.about
    return Row(one.name, (Cell(one.name, "strong"), Cell(takes, "muted"), Cell(about)))


def _answer_row(answer: RecordAnswer, at: int, now: float) -> Row:
    cells = []
    for name, text in zip(answer.columns, answer.texts[at], strict=True):
        tone = "muted" if name in (_REF, _TS) else ""
        cells.append(Cell(when(text, now) if name == _TS else text[:CELL_CHARS], tone))
    values = {
        column: found if isinstance(found, int | float) else answer.texts[at][column]
        for column, found in enumerate(answer.rows[at])
        if found is not None
    }
    return Row(str(at), tuple(cells), values=values)


def _ref_of(answer: RecordAnswer, at: int) -> str | None:
    """Return what leads to the record of a row, None where it comes from no single one."""
    if _REF not in answer.columns:
        return None
    ref = answer.rows[at][list(answer.columns).index(_REF)]
    return ref if isinstance(ref, str) and ref else None


def _columns(answer: RecordAnswer) -> list[Column]:
    """Return how the columns are shown: the first ones stay longest, what leads to the record goes
    first."""
    longest = [
        max((len(row[at]) for row in answer.texts), default=0) for at in range(len(answer.columns))
    ]
    texts = [
        at
        for at, name in enumerate(answer.columns)
        if at not in answer.numbers and name not in (_REF, _TS) and longest[at] >= _GROWS_FROM
    ]
    growing = max(texts, key=lambda at: longest[at], default=None)
    found = []
    for at, name in enumerate(answer.columns):
        shown = safe_text(name, limit=_MOST_WIDE)
        wide = 11 if name == _TS else max(min(longest[at], _MOST_WIDE), len(shown) + 1)
        is_right, grows = at in answer.numbers, at == growing
        rank = len(answer.columns) if name == _REF else at
        least = 16 if grows else wide if is_right else min(wide, 11)
        found.append(Column(shown, least, 0 if grows else wide, rank, right=is_right, grows=grows))
    return found
