"""Spans as a waterfall: which was within which, when each was, and how long it took.

The records have all spans, the tower only those that ended while it watches: what a detail shows is
read once, and what ends meanwhile is added.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual.binding import BindingType
from textual.widget import Widget

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row, heading
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView, fact
from tapui.tower.turns import steps
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import quantity
from tapui.wire.message import Error
from tapui.wire.subjects import Span
from tapui.wire.tower import SpansList, SpansRead

_ids = count(1)
_DEEPEST = 8
"""Levels that are set in; spans come from records that anyone may have written."""
_AFTER = 10.0
"""Seconds after an end in which spans of it are still recorded."""
_WIDE = 70
"""Cells of a table from which the bars are long."""
_LONG, _SHORT = 28, 14
_BAR, _DOT = "━", "╺"
_TONES = {"error": "error", "denied": "warning", "cancelled": "muted"}
_MARKS = {
    "ok": Mark("✓", "", "muted"),
    "error": Mark("✗", "failed", "error"),
    "denied": Mark("⊘", "denied", "warning"),
    "cancelled": Mark("⊘", "cancelled", "muted"),
}
_OF_RUNS = frozenset({"emitter", "route"})


class SpanWindow(NamedTuple):
    """Which spans are shown: of a session, from a time to another ("": to now).

    `turn_at` is the beginning of a turn, whose trace alone is shown once it is known; of an
    `emitter` those of its runs are.
    """

    session_id: str
    since: str
    until: str = ""
    turn_at: str = ""
    emitter: str = ""


class Spans:
    """The spans of one window, as they come."""

    def __init__(self) -> None:
        self._begin(None, "")

    def _begin(self, window: SpanWindow | None, run: str) -> None:
        self._window, self._run = window, run
        self._read_id = self._fault = ""
        self._is_read = self._is_cut = False
        self._found: dict[str, Span] = {}

    def take(self, view: View, window: SpanWindow) -> SpansRead | None:
        """Take what has come; return what is to be asked for, each time once."""
        beginning = window._replace(until="")
        if self._window != beginning or self._run != view.run:
            self._begin(beginning, view.run)  # another item, gateway or moment of a replay
        for session_id, span in view.spans:
            if session_id == window.session_id and _is_within(span, window):
                self._found[span.span_id] = span
        answer = view.span_reads.take(self._read_id)
        if isinstance(answer, SpansList):
            self._is_read, self._is_cut = True, answer.is_cut
            for span in answer.spans:
                self._found.setdefault(span.span_id, span)
        elif answer is not None:
            self._is_read, self._fault = True, answer.message
        elif not self._is_read and not view.span_reads.awaits(self._read_id):
            self._read_id = f"spans-{next(_ids)}"
            view.span_reads.expect(self._read_id)
            until = times.after(window.until, _AFTER) if window.until else None
            return SpansRead(self._read_id, window.session_id, window.since, until)
        return None

    def shown(self, window: SpanWindow) -> list[Span]:
        """Return the spans of the window in order of their beginning."""
        found = list(self._found.values())
        if window.emitter:
            traces = {one.trace_id for one in found if one.emitter == window.emitter}
            found = [one for one in found if one.trace_id in traces]
        elif window.turn_at:
            found = _of_turn(found, window.turn_at)
        return sorted(found, key=lambda one: (one.started_at, -one.duration))

    @property
    def note(self) -> str:
        """What is said of them: that they are being read, cannot be, or are not all."""
        if not self._is_read:
            return "being read …"
        if self._fault:
            return f"cannot be read: {self._fault}"
        return "the newest alone: there are too many" if self._is_cut else ""

    def span(self, span_id: str) -> Span | None:
        return self._found.get(span_id)


def _of_turn(found: Sequence[Span], began: str) -> list[Span]:
    """Return the spans of a turn's trace; until it ends, those that began in it."""
    turn = next((one for one in found if one.name == "turn" and one.started_at == began), None)
    if turn is not None:
        return [one for one in found if one.trace_id == turn.trace_id]
    return [one for one in found if one.started_at >= began and one.name not in _OF_RUNS]


def _is_within(span: Span, window: SpanWindow) -> bool:
    return span.started_at >= window.since and (not window.until or span.started_at <= window.until)


class _Placed(NamedTuple):
    span: Span
    depth: int
    root: Span
    """The outermost one that it is within: its bar is a part of that one's."""


def _tree(spans: Sequence[Span], *, is_newest_first: bool) -> Iterator[_Placed]:
    """Yield spans, each before those within it; one whose parent is not here stands for itself."""
    known = {one.span_id for one in spans}
    within: dict[str, list[Span]] = {}
    roots: list[Span] = []
    for one in spans:
        if one.parent_id in known and one.parent_id != one.span_id:
            within.setdefault(one.parent_id or "", []).append(one)
        else:
            roots.append(one)
    done: set[str] = set()
    if is_newest_first:
        roots.reverse()
    waiting = [_Placed(one, 0, one) for one in reversed(roots)]
    while waiting or len(done) < len(known):
        if not waiting:  # a circle of parents: it begins with its first
            first = next(one for one in spans if one.span_id not in done)
            waiting.append(_Placed(first, 0, first))
        placed = waiting.pop()
        if placed.span.span_id in done:
            continue
        done.add(placed.span.span_id)
        yield placed
        inner = within.get(placed.span.span_id, ())
        deeper = placed.depth + 1
        waiting += [_Placed(one, deeper, placed.root) for one in reversed(inner)]


class Waterfall(Table):
    """Rows of spans with bars; the key of a row is the span's id."""

    COLUMNS = (
        Column("span", 18, 60, grows=True, half=True, cuts_middle=True),
        Column("", _SHORT, _LONG, rank=1),
        Column("took", 7, 7, right=True),
        Column("", 6, 24, rank=2),
    )

    def __init__(self) -> None:
        super().__init__(self.COLUMNS, has_titles=False)

    def show_spans(
        self, spans: Sequence[Span], note: str, *, is_newest_first: bool = False
    ) -> None:
        """Show these; `note` is said behind their number."""
        cells = _LONG if self.size.width >= _WIDE else _SHORT
        placed = list(_tree(spans, is_newest_first=is_newest_first))
        self.set_rows([heading(_summary(spans, note)), *_rows(placed, cells)])


def _summary(spans: Sequence[Span], note: str) -> str:
    errors = sum(one.status == "error" for one in spans)
    dropped = sum(max(one.dropped, 0) for one in spans)
    words = [
        quantity(len(spans), "span"),
        quantity(errors, "error") if errors else "",
        f"{dropped:,} more were not recorded" if dropped else "",
        note,
    ]
    return ", ".join(filter(None, words))


def _rows(placed: Sequence[_Placed], cells: int) -> Iterator[Row]:
    times_of: dict[str, tuple[float, float]] = {}
    for span, _depth, root in placed:
        begin = times.epoch(span.started_at)
        if begin is not None:
            first, last = times_of.get(root.span_id, (begin, begin))
            times_of[root.span_id] = min(first, begin), max(last, begin + _seconds(span))
    for span, depth, root in placed:
        start, end = times_of.get(root.span_id, (0.0, 0.0))
        length = max(end - start, 1e-6)
        begin = times.epoch(span.started_at)
        mark = _MARKS.get(span.status, _MARKS["ok"])
        tone = _TONES.get(span.status, "")
        bar = (
            "" if begin is None else _bar((begin - start) / length, _seconds(span) / length, cells)
        )
        note = " ".join(filter(None, (mark.word, _code(span))))
        lead = ((f"{times.moment(span.started_at)} ", "muted"),) if depth == 0 else ()
        yield Row(
            span.span_id,
            (
                Cell(label(span), tone, mark.glyph, mark.tone, lead=lead),
                Cell(bar, tone or "accent"),
                Cell(steps.lasted(_seconds(span)), "muted"),
                Cell(note, tone),
            ),
            indent=2 * min(depth, _DEEPEST),
        )


def _seconds(span: Span) -> float:
    return max(span.duration, 0.0) / 1000


def _code(span: Span) -> str:
    return span.code.replace("_", " ").lower() if span.code else ""


def _bar(begin: float, share: float, cells: int) -> str:
    """Return where a span lies in the time of all: blanks, and at least one sign."""
    first = min(int(max(begin, 0.0) * cells), cells - 1)
    wide = min(round(min(share, 1.0) * cells), cells - first)
    return " " * first + (_BAR * wide if wide else _DOT)


def label(span: Span) -> str:
    """Return what a span is about, in a few words."""
    match span.name:
        case "turn":
            return "turn" if span.turn is None else f"turn {span.turn}"
        case "agent":
            return f"agent {span.agent or ''}".rstrip()
        case "emitter":
            return f"emitter {span.emitter or ''} run {span.run or '?'}"
        case "route":
            first, last = span.from_seq or 0, span.to_seq or 0
            return f"lines {first:,} to {last:,}" if last > first else f"line {first:,}"
        case "provider":
            return f"{span.tool or '?'} at {span.provider or '?'}"
    about = span.tool or span.emitter or span.provider or ""
    return f"{span.name} {about}".rstrip()


class TracedDetail(DetailView):
    """A detail that can show the spans of what it is about in place of its text.

    Subclasses name the spans (`window`) and open what stands behind one (`open_span`).
    """

    DEFAULT_CSS = Path(__file__).with_name("waterfall.tcss").read_text("utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("trace")

    _spans: Spans | None = None
    _is_traced = False

    def window(self, view: View) -> SpanWindow | None:
        """Return which spans belong to it; None while that is not known."""
        raise NotImplementedError

    def open_span(self, span: Span, window: SpanWindow) -> None:
        """Open the step or the record behind a span."""
        raise NotImplementedError

    def below(self) -> Iterable[Widget]:
        yield Waterfall()

    @property
    def waterfall(self) -> Waterfall:
        return self.query_one(Waterfall)

    def focus_inside(self) -> None:
        if self._is_traced:
            self.screen.set_focus(self.waterfall)
        else:
            super().focus_inside()

    def go_to(self, key: str) -> None:
        self._spans = None
        super().go_to(key)

    def show_trace(self, view: View) -> None:
        """Paint the spans, while they are what is shown."""
        self.set_class(self._is_traced, "-traced")
        if not self._is_traced:
            return
        window = self.window(view)
        if window is None:
            self.waterfall.show_spans((), "nothing has run yet")
            return
        spans = self._spans = self._spans or Spans()
        if (read := spans.take(view, window)) is not None:
            self.tower.send(read)
        shown = spans.shown(window)
        self.waterfall.show_spans(shown, spans.note, is_newest_first=bool(window.emitter))

    def action_trace(self) -> None:
        self._is_traced = not self._is_traced
        had_keys = self.has_keys
        self.show_anew()
        if had_keys:
            self.focus_inside()

    def on_table_opened(self, event: Table.Opened) -> None:
        """Open what stands behind a span; of other tables it is the subclass's."""
        window = self.window(self.tower.view)
        span = self._spans.span(event.key) if self._spans is not None and self._is_traced else None
        if span is not None and window is not None:
            event.stop()
            self.open_span(span, window)

    def refused(self, error: Error) -> bool:
        return error.reply_to == "spans.read" or super().refused(error)

    def copied(self) -> str:
        if not self._is_traced:
            return super().copied()
        rows = (row.texts for row in self.waterfall.rows)
        return "\n".join("  ".join(filter(None, map(str.strip, texts))) for texts in rows)


class SpanDetail(DetailView):
    """A span as it was recorded. `key` is its id."""

    TOPICS = frozenset({"sessions"})

    def __init__(self, span: Span, session: str) -> None:
        super().__init__(span.span_id)
        self._span = span
        self._session = session

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        span = self._span
        mark = _MARKS.get(span.status, _MARKS["ok"])
        note = ", ".join(filter(None, (mark.word, steps.lasted(_seconds(span)))))
        self.set_frame(mark, label(span), note)
        parts: list[Paragraph] = [
            *fact("session", self._session),
            *fact("began", times.date_and_time(span.started_at)),
            *fact("took", steps.lasted(_seconds(span))),
            *fact("ended as", _code(span) or mark.word),
        ]
        told = _told(span)
        if told:
            parts += [Paragraph(""), title("record"), *(value(line) for line in told)]
        self.reader.set_parts(parts)


_FACTS = ("started_at", "duration", "status", "code")


def _told(span: Span) -> list[str]:
    """Return the other fields that a span has, a line each, under their names in the records."""
    names = zip(span.__struct_encode_fields__, span.__struct_fields__, strict=True)
    return [
        f"{shown}: {found}"
        for shown, name in names
        if name not in _FACTS and (found := getattr(span, name)) not in (None, 0)
    ]
