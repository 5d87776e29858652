"""One emitter: what it runs and when, the outcome of its lines, and how its runs went."""

from collections.abc import Sequence

from tapui import times
from tapui.projection import approvals
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.reviews import (
    disposition_words,
    outcome_words,
    place_words,
    range_words,
    reviews_about,
    standing_words,
    unreviewed_of,
    unreviewed_words,
)
from tapui.projection.stream_words import filter_rule_words
from tapui.tower.app.view import View
from tapui.tower.emitters import emitter_words as words
from tapui.tower.table.pane import ListPlace
from tapui.tower.textual.detail import fact
from tapui.tower.turns.turn_detail import open_span
from tapui.tower.turns.waterfall import SpanWindow, TracedDetail
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity
from tapui.wire import subjects
from tapui.wire.emitters import Emitter
from tapui.wire.reviews import Finding, SeqRange

_INJECTORS = {
    "unset": "what the filter has for the agent is sent",
    "enabled": "on: what the filter has for the agent is sent, and that it failed",
    "disabled": "off: what the filter has for the agent is held",
}
_BEFORE = 3_600.0
"""Seconds before the last run in which runs are shown."""
_REVIEWS = 20
"""Reviews that are shown, the newest."""
_RUN_GLYPHS = {"ok": "✓", "error": "✗", "cancelled": "⊘", "denied": "⊘"}


class EmitterDetail(TracedDetail):
    """`key` is the emitter's id."""

    SIGNS = marks.signs(*marks.EMITTER.values())

    TOPICS = frozenset({"emitters", "sessions", "clock", "spans"})

    _traced_id = _traced_since = ""
    """The emitter whose spans are shown, and since when they are: that stays while others come."""
    _newest: subjects.Span | None = None
    """The newest run when the beginning was last in sight."""

    def go_to(self, key: str) -> None:
        self._newest = None
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once it is gone, the last one."""
        emitter = view.state.emitters.get(self.key)
        self.show_trace(view)
        if emitter is None or dirty == {"spans"}:
            return
        emitter = self.tower.bodies.whole(emitter)
        mark = marks.of_emitter(emitter)
        due = words.next_of(emitter, view.now)
        note = f"{mark.word}, next run in {due}" if due else mark.word
        runs = view.emitter_log.runs(self.key)
        if runs:
            note = f"{note}   {self._place(runs).note.text}"
        tone = "warning" if mark.tone == "warning" else "muted"
        self.set_frame(mark, emitter.name, note, tone)
        rest = "The rest of it is being read …" if emitter.is_cut else ""
        text = value(words.text_of(emitter), "strong")
        parts = [text, *([Paragraph(rest, "warning")] if rest else []), Paragraph("")]
        parts += [*_state(emitter), *_facts(view, emitter), *_filter(emitter)]
        self.reader.set_parts(parts + _reviews(view, emitter) + _runs(runs))

    def window(self, view: View) -> SpanWindow | None:
        """Return the spans of its newest runs, and of the turns that these led to."""
        emitter = view.state.emitters.get(self.key)
        if emitter is None or emitter.last_run_at is None:
            return None
        if emitter.id != self._traced_id:
            since = times.after(emitter.last_run_at, -_BEFORE)
            self._traced_id, self._traced_since = emitter.id, since
        return SpanWindow(emitter.session_id, self._traced_since, emitter=emitter.name)

    def open_span(self, span: subjects.Span, window: SpanWindow) -> None:
        open_span(self.tower, window.session_id, span)

    def _place(self, runs: list[subjects.Span]) -> ListPlace:
        """Return where the list of runs is, the newest of which is the first."""
        is_at_top = self.reader.scroll_offset.y == 0
        if is_at_top or self._newest is None:
            self._newest = runs[0]
        newer = runs.index(self._newest) if self._newest in runs else len(runs)
        return ListPlace(is_at_top, newer)


def _state(emitter: Emitter) -> list[Paragraph]:
    parts: list[Paragraph] = []
    if emitter.why:
        parts += fact("why", emitter.why)
    if emitter.error and emitter.error != emitter.why:
        parts.append(Paragraph(f"{'error':<11}{' '.join(emitter.error.split())}", "error"))
    if emitter.braked:
        parts.append(
            Paragraph(
                "It prompted its session three times without your input; further lines are held.",
                "warning",
            )
        )
    elif emitter.waiting:
        parts += fact("waits", f"{quantity(emitter.waiting, 'line')} to be sent to the agent")
    return parts


def _facts(view: View, emitter: Emitter) -> list[Paragraph]:
    counts = emitter.counts
    place = f"line {emitter.line}" if emitter.line is not None else ""
    origin = f"the folder's file, {place}".rstrip(", ")
    most = f" of {emitter.max_runs:,}" if emitter.max_runs is not None else ""
    parts = [
        *fact("schedule", words.schedule_of(emitter)),
        *fact("last run", words.last_of(view, emitter)),
        *fact("runs", f"{emitter.runs:,}{most}" if emitter.runs or most else None),
        *fact("whose", words.whose(view, emitter)),
        *fact("allowed", _allowed(view, emitter)),
        *fact("session", view.session_name(emitter.session_id)),
        *fact("from", origin if emitter.source == "file" else "the session's agent"),
        *fact("lifespan", emitter.lifespan),
        *fact("starts", None if emitter.auto_start or emitter.source == "tool" else "by hand"),
        *fact("says", emitter.description),
    ]
    if words.is_prompt(emitter):
        return parts
    if emitter.kind == "provider":
        return [*parts, *fact("runs in", emitter.cwd), *fact("stream", emitter.stream)]
    injector = _INJECTORS[emitter.injector]
    if emitter.delivery == "all" and emitter.injector != "disabled":
        injector = "every line that is kept is sent to the agent"
    lines = (
        f"{counts.lines:,} read: {counts.dropped:,} dropped, {counts.kept:,} kept,"
        f" {counts.surfaced:,} shown to you, {counts.injected:,} for the agent,"
        f" {counts.held:,} held;"
        f" {counts.sent:,} sent to the agent, {counts.left_out:,} left out: too many waited"
    )
    spoilt = [
        f"{count:,} {what}"
        for count, what in (
            (counts.truncated, "too long, cut"),
            (counts.undecided, "a pattern took too long"),
        )
        if count
    ]
    return [
        *parts,
        *fact("runs in", emitter.cwd),
        *fact("shell", emitter.shell),
        *fact("its errors", None if emitter.include_stderr else "are left out"),
        *fact("stream", emitter.stream),
        *fact("injector", injector),
        *fact("lines", lines),
        *fact("of these", ", ".join(spoilt)),
    ]


def _allowed(view: View, emitter: Emitter) -> str | None:
    for approval in view.decided:
        if approval.kind != "emitter" or approval.state != "approved":
            continue
        detail = detail_of(approval)
        is_own = detail.get("emitterId") == emitter.id
        if emitter.source == "tool":
            request = (approval.session_id, detail.get("name"), "asker" in detail)
            is_own = request == (emitter.session_id, emitter.name, True)
        if is_own:
            at = view.decided_at.get(approval.id)
            when = f", {times.date_and_time(at)}" if at else ""
            return f"{approvals.by(approval.decided_by or '')}{when}"
    return None


def _filter(emitter: Emitter) -> list[Paragraph]:
    if words.is_prompt(emitter) or emitter.kind == "provider":
        return []
    rules = [value(filter_rule_words(rule.outcome, rule.match)) for rule in emitter.rules]
    none = [value("none: every line is kept", "muted")]
    return [Paragraph(""), title("filter, the first that matches"), *(rules or none)]


def _reviews(view: View, emitter: Emitter) -> list[Paragraph]:
    """Return its reviews, the newest first, with the lines between them that none has."""
    found = reviews_about(view.state, emitter)
    if not found:
        return []
    parts = [Paragraph(""), title(f"reviews, {len(found)}")]
    parts += _unreviewed(*unreviewed_of(view.state, emitter))
    for review in reversed(found[-_REVIEWS:]):
        tone = "warning" if review.decision == "escalate" else ""
        facts = (range_words(review), outcome_words(review), _found(review.findings))
        head = f"{times.moment(review.at)}  {review.decision:<8}"
        parts.append(value("  ".join((head, *filter(None, facts))), tone))
        said = f"{' '.join(review.observed.split())} — {' '.join(review.reason.split())}"
        parts.append(Paragraph(f"{'':<10}{said.strip(' —')}", "muted"))
        parts += [_finding(one) for one in review.findings]
        parts += _unreviewed(review.unreviewed)
    return parts


def _unreviewed(count: int, gaps: Sequence[SeqRange] = ()) -> list[Paragraph]:
    return [Paragraph(unreviewed_words(count, gaps), "warning")] if count else []


def _found(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    still_open = sum(one.disposition == "open" for one in findings)
    return f"{quantity(len(findings), 'finding')}, {still_open} open"


def _finding(finding: Finding) -> Paragraph:
    facts = (
        finding.priority or "",
        finding.title,
        place_words(finding),
        standing_words(finding),
        disposition_words(finding),
    )
    return Paragraph(f"{'':<10}{'  '.join(filter(None, facts))}", "muted")


def _runs(runs: list[subjects.Span]) -> list[Paragraph]:
    if not runs:
        return []
    seen = f"runs, {len(runs)} since this tower watches"
    return [Paragraph(""), title(seen), *(_run(one) for one in runs)]


def _run(span: subjects.Span) -> Paragraph:
    glyph = _RUN_GLYPHS.get(span.status, "·")
    code = span.code.replace("_", " ").lower() if span.code else ""
    counts = ""
    if span.lines is not None:
        counts = (
            f"{span.lines:,} lines, {span.kept or 0:,} kept, {span.surfaced or 0:,} shown to you,"
            f" {span.injected or 0:,} sent to the agent"
        )
    took = f"took {times.span(span.duration / 1000)}"
    head = f"{times.moment(span.started_at)}  {glyph} {span.run or '':>4}"
    words_ = "  ".join(one for one in (head, code, took, counts) if one)
    return value(words_, "error" if span.status == "error" else "")
