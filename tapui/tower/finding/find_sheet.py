"""Everything of all sessions that was recorded, found as you type; one record in full."""

import shlex
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tapui import invocation, times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.tower.app.services import Finder, FoundRecord, LastFind, RecordText
from tapui.tower.app.view import View
from tapui.tower.finding.finder_thread import MOST, FinderResult, FinderThread
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row, emphasis
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView, Keys, fact
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import LiveScreen, Sheet
from tapui.tower.textual.widgets import SafeInput, plain, upper_edge
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import quantity
from tapui.wire.limits import MAX_PATTERN

_ERROR = Mark("✗", "error", "error")


class RecordDetail(DetailView):
    """A record with its session, turn and file. `found` knows the rows, `read` asks for a record;
    it comes by `set_record`."""

    def __init__(
        self,
        key: str,
        keys: Keys,
        found: Callable[[str], FoundRecord | None],
        read: Callable[[FoundRecord], None],
    ) -> None:
        super().__init__(key, keys)
        self._found = found
        self._read = read
        self._shown = found(key)
        self._record: RecordText | None = None
        self._is_gone = False
        if self._shown is not None:
            read(self._shown)

    def go_to(self, key: str) -> None:
        self._shown = self._found(key)
        self._record, self._is_gone = None, False
        if self._shown is not None:
            self._read(self._shown)
        super().go_to(key)

    def set_record(self, key: str, record: RecordText | None) -> None:
        """The record was read; None if it is no longer there."""
        if key == self.key:
            self._record, self._is_gone = record, record is None
            if self.query(Reader):  # else it is still being made, and will show it by itself
                self.show_anew()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        found = self._shown
        if found is None:
            return
        mark = _ERROR if found.kind == "error" else Mark("·", found.kind, "muted")
        self.set_frame(mark, found.title, f"{found.kind}, {times.date_and_time(found.ts)}")
        self.reader.set_parts(self._parts(found))

    def _parts(self, found: FoundRecord) -> list[Paragraph]:
        record = self._record
        session = found.session_id
        masked = record.masked if record is not None else 0
        parts = [
            *fact("session", f"{found.session} ({session})" if session else None),
            *fact("turn", None if found.turn is None else str(found.turn)),
            *fact("replay", _replay(session) if session else None),
            *fact("file", record.path if record is not None else None),
            *fact("masked", f"{masked} of what looked like secrets" if masked else None),
            *fact("cut", "the record has only the beginning" if found.is_cut else None),
            Paragraph(""),
            title("record"),
        ]
        if self._is_gone:
            return [*parts, value("It was deleted since it was found.")]
        return [*parts, value(record.text if record is not None else "reading …")]


def _replay(session_id: str) -> str:
    return invocation.command(f"replay {shlex.quote(session_id)}")


_TWO_LINES_BELOW = 110
_COLUMNS = (
    Column("when", 8, 11),
    Column("kind", 6, 8, rank=1),
    Column("session", 16, 28, rank=2, cuts_middle=True),
    Column("turn", 4, 6, rank=3, right=True),
    Column("about", 20, 32, rank=4),
    Column("text", 20, grows=True, half=True, below=True),
)
_ABOUT = frozenset({"result", "line", "error", "event"})
"""Kinds whose title is not in their text anyway."""
SYNTAX = (
    ("All words must be there, in any order; upper and lower case are the same.", ""),
    ("", ""),
    ('"exact phrase"   words that stand one after the other', "bold"),
    ("pair*            a beginning; so is the last word while you type", "bold"),
    ("changed:FILE     the calls that changed a file, such as changed:src/app.py", "bold"),
    ("", ""),
    ("Searched is what was recorded of all sessions: prompts, messages, calls with their", ""),
    ("arguments and results, lines of streams, requests with their answers, errors.", ""),
)


class FindInput(SafeInput):
    """Where the text is typed; down goes on to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open"),
        Binding("down,pagedown,tab", "to_list", "list", key_display="↓"),
    ]

    def action_to_list(self) -> None:
        """Select the next row, with the keys in the list."""
        table = self.screen.query_one(FoundTable)
        if table.rows:
            table.focus()
            table.action_move(1)

    def action_open(self) -> None:
        self.screen.query_one(FoundTable).action_open()


class FoundTable(Table):
    """The rows; up from the first one goes back to the text."""

    def action_move(self, step: int) -> None:
        if step < 0 and self.cursor == 0:
            self.screen.query_one(FindInput).focus()
        else:
            super().action_move(step)


class FindScreen(LiveScreen[None]):
    """What is typed above, what is found below. `make` makes what looks for it, on its thread."""

    CSS_PATH = "find_sheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("find")

    class Found(Message):
        """Something was found, or that is all."""

        def __init__(self, finding: FinderResult) -> None:
            super().__init__()
            self.finding = finding

    class RecordRead(Message):
        """A record was read; None if it is gone."""

        def __init__(self, key: str, record: RecordText | None) -> None:
            super().__init__()
            self.key = key
            self.record = record

    def __init__(self, make: Callable[[], Finder], last: LastFind) -> None:
        super().__init__()
        self._last = last
        self.finding = FinderResult("", is_done=False)
        self._is_placed = not last.key
        self._opened: RecordDetail | None = None
        self.thread = FinderThread(
            make,
            lambda finding: self.post_message(self.Found(finding)),
            lambda key, record: self.post_message(self.RecordRead(key, record)),
        )

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            with Horizontal(classes="asked"):
                yield Static("/", markup=False)
                yield FindInput(self._last.text, max_length=MAX_PATTERN, compact=True)
            yield FoundTable(_COLUMNS, two_lines_below=_TWO_LINES_BELOW)
            yield Static("", classes="said", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(FindInput).focus()
        self.thread.look_for(self._last.text.strip())
        self.thread.start()

    def on_unmount(self) -> None:
        self.thread.stop()

    @property
    def _table(self) -> FoundTable:
        return self.query_one(FoundTable)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        finding, table = self.finding, self._table
        is_list = bool(finding.found)
        table.set_rows([_row(one, view.now) for one in finding.found])
        if not is_list and table.has_focus:
            self.query_one(FindInput).focus()
        table.set_class(not is_list, "none")
        empty = self.query_one(".said", Static)
        empty.set_class(is_list, "none")
        if not is_list:
            empty.update(_instead(finding, has_text=bool(self._last.text.strip())))
        frame = self.query_one(".sheet", Vertical)
        note, tone = _note(finding)
        frame.border_title = upper_edge(plain("Find", "bold"), note, tone, self.app.size.width)
        frame.border_subtitle = plain(self.way_back, "$text-muted")

    # What comes

    def on_find_screen_found(self, event: Found) -> None:
        if event.finding.text != self._last.text.strip():
            return
        if not event.finding.found and not event.finding.is_done:
            return
        self.finding = event.finding
        self.show(self.tower.view, self.TOPICS)
        if not self._last.key and event.finding.found:
            self._table.select(event.finding.found[0].key)
        elif event.finding.is_done and not self._is_placed:
            self._is_placed = True
            self._table.select(self._last.key)

    def on_find_screen_record_read(self, event: RecordRead) -> None:
        if self._opened is not None:
            self._opened.set_record(event.key, event.record)

    # The text

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value == self._last.text:
            return
        self._last.text, self._last.key = event.value, ""
        text = event.value.strip()
        self.thread.look_for(text)
        if not text:
            kept = self.finding
            self.finding = FinderResult(
                "", is_done=True, indexed=kept.indexed, damaged=kept.damaged
            )
            self.show(self.tower.view, self.TOPICS)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "find":
            return self._table.has_focus
        return super().check_action(action, parameters)

    def action_find(self) -> None:
        self.query_one(FindInput).focus()

    # Rows

    def on_table_moved(self, event: Table.Moved) -> None:
        if event.is_own and self._table.has_focus:
            self._last.key = self._table.selected or ""

    def on_table_opened(self, event: Table.Opened) -> None:
        """Go to where it happened, if this tower has that; else show the record."""
        event.stop()
        self._last.key = event.key
        found = self._found(event.key)
        way = self.tower.way_to(found) if found is not None else None
        if way is not None:
            self.dismiss(None)
            self.app.call_later(way)
            return
        self._opened = RecordDetail(event.key, self._keys, self._found, self.thread.read)
        self.app.push_screen(Sheet(self._opened))

    def _keys(self) -> list[str]:
        return [one.key for one in self.finding.found]

    def _found(self, key: str) -> FoundRecord | None:
        return next((one for one in self.finding.found if one.key == key), None)

    def copied(self) -> str:
        return self._table.row_text(self._table.selected or "")

    def action_copy(self) -> None:
        self.tower.copy(self.copied(), "The row")


def _row(found: FoundRecord, now: float) -> Row:
    text, marks = emphasis(found.excerpt, found.marks)
    return Row(
        found.key,
        (
            Cell(when(found.ts, now), "muted"),
            Cell(found.kind, "error" if found.kind == "error" else ""),
            Cell(found.session),
            Cell("" if found.turn is None else str(found.turn)),
            Cell(found.title if found.kind in _ABOUT else "", "muted"),
            Cell(text, marks=marks),
        ),
    )


def when(ts: str, now: float) -> str:
    """Return the time of day, of another day its date and the minute, of another year the date."""
    written, today = times.date_and_time(ts), times.date(now)
    if times.epoch(ts) is None:
        return written
    if written[:10] == today:
        return written[11:]
    return written[5:16] if written[:4] == today[:4] else written[:10]


def _note(finding: FinderResult) -> tuple[str, str]:
    if finding.problem:
        return "", "muted"
    if finding.indexed < 1:
        return f"indexing {int(100 * finding.indexed)} %", "strong"
    damage = quantity(finding.damaged, "damaged line") if finding.damaged else ""
    if not finding.text:
        return damage, "warning"
    if not finding.is_done:
        return "looking …", "muted"
    count = len(finding.found)
    found = f"the newest {MOST}" if count == MOST else f"{count} found"
    return (f"{found}, {damage}", "warning") if damage else (found, "muted")


def _instead(finding: FinderResult, *, has_text: bool) -> Content:
    if finding.problem:
        return plain(finding.problem)
    if not has_text:
        lines = [plain(text, style) for text, style in SYNTAX]
        return Content("\n").join(lines)
    if not finding.is_done or not finding.text:
        return plain("")
    more = " so far; the rest is still being indexed" if finding.indexed < 1 else ""
    return plain(f"Nothing was found{more}.")
