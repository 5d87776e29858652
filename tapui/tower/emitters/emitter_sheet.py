"""One emitter: what it runs and when, the outcome of its lines, and how its runs went."""

from tapui import times
from tapui.projection import approvals
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.requests.kind import detail_of
from tapui.tower.app.view import View
from tapui.tower.emitters import emitter_words as words
from tapui.tower.textual.sheet import Sheet, fact
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity
from tapui.wire import subjects
from tapui.wire.emitters import Emitter

_INJECTORS = {
    "unset": "what the filter injects is sent to the agent",
    "enabled": "on: what the filter injects is sent to the agent, and that it failed",
    "disabled": "off: what the filter injects is held",
}
_RUN_GLYPHS = {"ok": "✓", "error": "✗", "cancelled": "⊘", "denied": "⊘"}


class EmitterScreen(Sheet):
    """`key` is the emitter's id."""

    TOPICS = frozenset({"emitters", "sessions", "clock"})

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once it is gone, the last one."""
        del dirty
        emitter = view.state.emitters.get(self.key)
        if emitter is None:
            return
        emitter = self.tower.bodies.whole(emitter)
        mark = marks.of_emitter(emitter)
        due = words.next_of(emitter, view.now)
        note = f"{mark.word}, next run in {due}" if due else mark.word
        tone = "warning" if mark.tone == "warning" else "muted"
        self.set_frame(mark, emitter.name, note, tone)
        rest = "The rest of it is being read …" if emitter.is_cut else ""
        text = value(words.text_of(emitter), "strong")
        parts = [text, *([Paragraph(rest, "warning")] if rest else []), Paragraph("")]
        parts += [*_state(emitter), *_facts(view, emitter), *_filter(emitter)]
        self.reader.set_parts(parts + _runs(view, emitter))


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
        f" {counts.surfaced:,} surfaced, {counts.injected:,} injected, {counts.held:,} held"
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
            return f"by {approvals.by_whom(approval.decided_by or '')}{when}"
    return None


def _filter(emitter: Emitter) -> list[Paragraph]:
    if words.is_prompt(emitter) or emitter.kind == "provider":
        return []
    rules = [value(f"{rule.outcome:<8} {rule.match}") for rule in emitter.rules]
    none = [value("none: every line is kept", "muted")]
    return [Paragraph(""), title("filter, the first that matches"), *(rules or none)]


def _runs(view: View, emitter: Emitter) -> list[Paragraph]:
    runs = view.emitter_log.runs(emitter.id)
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
            f"{span.lines:,} lines, {span.kept or 0:,} kept, {span.surfaced or 0:,} surfaced,"
            f" {span.injected or 0:,} injected"
        )
    took = f"took {times.span(span.duration / 1000)}"
    head = f"{times.moment(span.started_at)}  {glyph} {span.run or '':>4}"
    words_ = "  ".join(one for one in (head, code, took, counts) if one)
    return value(words_, "error" if span.status == "error" else "")
