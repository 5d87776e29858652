"""The conversation of one connection as it goes on, both ways, and one message of it."""

from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.tower.app.buffers import InspectedLog, Numbered
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import body_of
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row, heading
from tapui.tower.table.filter import Filter, FilterBar, FilterError, parse
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView, Keys, fact
from tapui.tower.textual.sheet import LiveScreen, Sheet
from tapui.tower.textual.widgets import plain, upper_edge
from tapui.tower.wording.marks import Mark
from tapui.wire import limits
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.tower import Inspected, InspectRead, InspectStart, InspectStop

RULINGS: dict[ErrorCode, str] = {
    ErrorCode.INVALID_JSON: "Text that is not JSON, not UTF-8 or no object, a field that is missing"
    " or of the wrong type, NaN, lone surrogates, text that is too long, nesting over"
    f" {limits.MAX_DEPTH} levels, binary frames: the message is refused with the field's path, and"
    " nothing of it is applied. The connection stays.",
    ErrorCode.UNKNOWN_TYPE: "The type is unknown, or not legal in the state of this connection. The"
    " connection stays.",
    ErrorCode.INVALID_SESSION: "The session does not exist, has ended, or is not one that this"
    " connection may use.",
    ErrorCode.AUTH_FAILED: "The token is not valid, or none came in time. The connection closes"
    " (1008).",
    ErrorCode.DUPLICATE_INSTANCE: "A provider of this name and instance is in that session"
    " already.",
    ErrorCode.TOOL_CONFLICT: "Another provider of the session has a tool of this name, or the"
    " provider is in that session already.",
    ErrorCode.RATE_LIMITED: "More than is allowed in this time, or at a time. It may be sent again"
    " later.",
    ErrorCode.PAYLOAD_TOO_LARGE: f"A tool.result has at most {limits.MAX_RESULT_BYTES:,} bytes, any"
    f" other message {limits.MAX_MESSAGE_BYTES:,}; lists and tables have bounds of their own. The"
    " connection stays; a result's call fails with the same code.",
    ErrorCode.UNSUPPORTED_VERSION: f"protocolVersion must be {limits.PROTOCOL_VERSION}. The"
    " connection closes (1008).",
    ErrorCode.UNAUTHORIZED: "The token is not good for that: a project token is for its"
    " sessions, an external one for what the person allowed.",
    ErrorCode.UNKNOWN_APPROVAL: "The request no longer waits: the first decision wins, and a"
    " request may be withdrawn or run out of time.",
    ErrorCode.NOT_FOUND: "What the message names is not there.",
    ErrorCode.INTERNAL: "A fault of the gateway; its log says more.",
}


_IN = Mark("→", "to the gateway", "accent")
_OUT = Mark("←", "from the gateway", "muted")
_REFUSED = Mark("✗", "refused", "error")


class InspectedDetail(DetailView):
    """A message. `line` returns that of a key, None for one that is no longer kept."""

    def __init__(self, key: str, keys: Keys, line: Callable[[str], Inspected | None]) -> None:
        super().__init__(key, keys)
        self._line = line
        self._shown = line(key)

    def go_to(self, key: str) -> None:
        self._shown = self._line(key) or self._shown
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        line = self._shown
        if line is None:
            return
        way = _IN if line.way == "in" else _OUT
        mark = _REFUSED if line.kind == "error" else way
        self.set_frame(mark, line.kind or "no message", f"{way.word}, {times.moment(line.ts)}")
        whole = "its beginning; " if line.is_cut else ""
        parts = [
            *fact("time", f"{times.date_and_time(line.ts)}  {line.ts}"),
            *fact("size", f"{line.size:,} bytes"),
            *_ruling(line),
            Paragraph(""),
            title(f"fields ({whole}tokens and codes are not shown)"),
            value(line.text if line.is_cut else body_of(Raw(line.text.encode()))),
        ]
        self.reader.set_parts(parts)

    def copied(self) -> str:
        return self._shown.text if self._shown is not None else ""


def _ruling(line: Inspected) -> list[Paragraph]:
    if line.kind != "error" or line.is_cut:
        return []
    try:
        message = msgspec.json.decode(line.text, type=dict[str, object])
        code = ErrorCode(str(message.get("code")))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return []  # masked text is no JSON any more; or a code of another version
    return [Paragraph(""), title(f"why: {code}"), value(RULINGS[code])]


_COLUMNS = (
    Column("time", 8, 15),
    Column("", 5, 5),
    Column("type", 8, 22, rank=1),
    Column("bytes", 5, 9, rank=2, right=True),
    Column("fields", 20, grows=True, half=True, below=True),
)
_TWO_LINES_BELOW = 100
_ids = count(1)
_REOPENED = "the link to the gateway was lost here; what was said meanwhile is missing"
WAYS = {"in": "→ in", "out": "← out"}
"""As the gateway sees them."""


class InspectorScreen(LiveScreen[None]):
    """Asks the gateway for the messages of `start`, while it is there. `name_` is theirs.

    More is asked for with each frame: what the screen cannot keep up with is dropped at the
    gateway, and counted.
    """

    CSS_PATH = "inspector.tcss"
    TOPICS = frozenset({"inspected"})
    BINDINGS: ClassVar[list[BindingType]] = bindings("pause", "filter")

    def __init__(
        self, name: str, *, provider_id: str | None = None, session_id: str | None = None
    ) -> None:
        super().__init__()
        self.inspection = f"inspect-{next(_ids)}"
        self._of = name
        self._start = InspectStart(self.inspection, provider_id, session_id)
        self.heard = InspectedLog()
        self._rows: dict[int, Row] = {}
        self._shown: list[Numbered] = []
        self._filter: Filter | None = None
        self.paused_at: int | None = None
        """How many messages had come when the display was stopped."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            yield Table(_COLUMNS, two_lines_below=_TWO_LINES_BELOW)
            yield FilterBar()
            yield Static("", classes="said", markup=False)

    def on_mount(self) -> None:
        self.tower.view.inspected[self.inspection] = self.heard
        super().on_mount()
        self._table.focus()
        self.tower.send(self._start)

    def on_unmount(self) -> None:
        self.tower.view.inspected.pop(self.inspection, None)
        if not self.heard.ended:
            self.tower.send(InspectStop(self.inspection))

    @property
    def _table(self) -> Table:
        return self.query_one(Table)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        log, table = self.heard, self._table
        if log.is_lost and view.link.state == "up":
            self._reopen()
        if log.is_answered:
            log.is_answered = False
            self.tower.send(InspectRead(self.inspection))
        last = log.count if self.paused_at is None else self.paused_at
        self._shown = [one for one in log.lines if one.number <= last and self._finds(one)]
        follows = self.paused_at is None and table.cursor >= len(table.rows) - 1
        self._rows = {one.number: self._rows.get(one.number) or _row(one) for one in self._shown}
        rows: list[Row] = []
        for number, row in self._rows.items():
            if number in log.reopened_at:
                rows.append(heading(_REOPENED))
            rows.append(row)
        table.set_rows(rows)
        if follows and self._shown:
            table.select(str(self._shown[-1].number))
        note = self.query_one(".said", Static)
        note.set_class(bool(self._shown), "none")
        table.set_class(not self._shown, "none")
        note.update(plain(self._said()))
        self._frame()

    def _finds(self, one: Numbered) -> bool:
        return self._filter is None or self._filter.is_in(f"{one.line.kind} {one.line.text}")

    def _said(self) -> str:
        if self.heard.ended:
            return f"Nothing to show: {self.heard.ended}."
        if self._filter is not None and self.heard.lines:
            return "The filter finds nothing."
        return "Nothing has been said since." if self.heard.is_on else "Asking the gateway …"

    def _frame(self) -> None:
        log = self.heard
        notes = []
        if self._filter is not None:
            notes.append(f"/ {self._filter.text[:24]}: {len(self._shown)}")
        if log.dropped:
            notes.append(f"{log.dropped:,} dropped")
        if log.reopened_at:
            notes.append("reopened after the link was lost")
        if log.ended:
            notes.append(f"ended: {log.ended}")
        elif self.paused_at is not None:
            notes.append(f"paused, {log.count - self.paused_at:,} more")
        else:
            notes.append(f"{log.count:,} messages")
        frame = self.query_one(".sheet", Vertical)
        name = plain("Inspect ", "bold") + plain(self._of, "bold", limit=64)
        frame.border_title = upper_edge(name, ", ".join(notes), "muted", self.app.size.width)
        frame.border_subtitle = plain(self.way_back, "$text-muted")

    def refused(self, error: Error) -> bool:
        if error.id != self.inspection:
            return False
        self.heard.end(error.message)
        self.show(self.tower.view, self.TOPICS)
        return True

    def _reopen(self) -> None:
        """The link is there again: ask for what is said from now on."""
        inspected = self.tower.view.inspected
        inspected.pop(self.inspection, None)
        self.inspection = f"inspect-{next(_ids)}"
        inspected[self.inspection] = self.heard
        self._start = replace(self._start, id=self.inspection)
        self.heard.reopen()
        self.tower.send(self._start)

    # Keys

    def action_pause(self) -> None:
        """Stop the display, or go on; what comes is kept either way."""
        self.paused_at = self.heard.count if self.paused_at is None else None
        self.show(self.tower.view, self.TOPICS)

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
        if event.is_done:
            bar.close()
            self._table.focus()
        self.show(self.tower.view, self.TOPICS)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.app.push_screen(Sheet(InspectedDetail(event.key, self._keys, self._line)))

    def _keys(self) -> list[str]:
        return [str(one.number) for one in self._shown]

    def _line(self, key: str) -> Inspected | None:
        return next((one.line for one in self._shown if str(one.number) == key), None)

    def copied(self) -> str:
        line = self._line(self._table.selected or "")
        return line.text if line is not None else ""

    def action_copy(self) -> None:
        self.tower.copy(self.copied(), "The message", keeps_lines=True)


def _row(one: Numbered) -> Row:
    line = one.line
    is_error = line.kind == "error"
    return Row(
        str(one.number),
        (
            Cell(_time(line.ts), "muted"),
            Cell(WAYS[line.way], "accent" if line.way == "in" else "muted"),
            Cell(line.kind or "no message", "error" if is_error or not line.kind else ""),
            Cell(f"{line.size:,}"),
            Cell(_fields(line), "error" if is_error else ""),
        ),
    )


def _time(ts: str) -> str:
    return f"{times.moment(ts)}.{ts[20:23]}" if len(ts) > 23 else times.moment(ts)


def _fields(line: Inspected) -> str:
    """Return the fields of a message in one line, or its beginning where it is not whole."""
    if line.is_cut:
        return line.text[:_SHOWN]
    try:
        message: Any = msgspec.json.decode(line.text)
    except (msgspec.DecodeError, RecursionError):
        return line.text[:_SHOWN]
    if not isinstance(message, dict):
        return line.text[:_SHOWN]
    fields = (f"{name}: {_value(field)}" for name, field in message.items() if name != "type")
    return "  ".join(fields)[:_SHOWN]


_SHOWN = 400


def _value(field: object) -> str:
    text = (
        field if isinstance(field, str) else msgspec.json.encode(field).decode("utf-8", "replace")
    )
    return " ".join(text.split())
