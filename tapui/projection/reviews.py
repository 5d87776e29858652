"""Reviews and findings as people see them: in words, counted by reviewer, and notes among them."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from tapui.projection.change_marks import LiveMarks
from tapui.projection.fingerprints import fingerprint
from tapui.projection.state import State
from tapui.projection.summary import one_line
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.changes import ChangeNote
from tapui.wire.criteria import Disposition
from tapui.wire.emitters import Emitter
from tapui.wire.reviews import PERSON, Finding, Review, SeqRange

OPINION = "opinion"
"""What a finding without a check is."""
_SHOWN_GAPS = 5
_CHECK_WORDS = {
    "passed": "does not hold any more",
    "failed": "holds",
    "stale": "changed since",
    "open": "not checked",
    "unknown": "not known",
}
"""How a finding stands by its check: that passes once it is mended."""


def note_finding(note: ChangeNote, folder: str = "") -> Finding:
    """Return a note of the person's as the finding that it is; its path is relative to `folder`
    where it is below that."""
    path = posixpath.relpath(posixpath.join(note.root, note.path), folder or note.root)
    title = one_line(note.body.strip().partition("\n")[0])[: limits.MAX_SUMMARY]
    quoted = note.quote.split("\n") if note.quote else []
    return Finding(
        id=note.id,
        fingerprint=fingerprint("note", title, note.path, quoted, 1),
        title=title,
        reviewer=PERSON,
        body=note.body,
        path=note.path if path.startswith("..") else path,
        lines=note.lines,
        quote=note.quote,
        disposed=note.disposed,
        note_id=note.id,
    )


@dataclass(slots=True)
class ReviewLog:
    """The reviews of sessions and their findings, folded of their events in order."""

    reviews: dict[str, Review] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    """By id, oldest first, the person's notes among them."""
    session_of: dict[str, str] = field(default_factory=dict)
    """The session of each finding, by its id."""
    folders: dict[str, str] = field(default_factory=dict)
    """The folder of each session."""

    def add(self, event: ev.Event) -> None:
        """Take the next event; those of other kinds change nothing."""
        match event:
            case ev.SessionOpened(session=session) | ev.SessionUpdated(session=session):
                self.folders[session.id] = session.cwd or ""
            case ev.SessionReplaced(session=session, replaces=former):
                self.folders[session.id] = session.cwd or ""
                for id_, session_id in self.session_of.items():
                    if session_id == former:
                        self.session_of[id_] = session.id
            case ev.ReviewRecorded(session_id=id_, review=review):
                self.reviews[review.id] = review
                for one in review.findings:
                    self._put(id_, one)
            case ev.FindingDisposed(session_id=id_, finding=finding):
                known = self.findings.get(finding.id)
                self._put(id_, finding if known is None else decided(known, finding))
            case ev.NoteKept(session_id=id_, note=note):
                self._put(id_, note_finding(note, self.folders.get(id_, "")))
            case ev.NoteDropped(note_id=note_id):
                self.findings.pop(note_id, None)
                self.session_of.pop(note_id, None)

    def _put(self, session_id: str, finding: Finding) -> None:
        self.findings[finding.id] = finding
        self.session_of[finding.id] = session_id

    def named(self, name: str) -> list[Finding]:
        """Return the findings that an id, a fingerprint or the beginning of one of them names."""
        exact = self.findings.get(name)
        if exact is not None:
            return [exact]
        return [one for one in self.findings.values()
                if one.id.startswith(name) or one.fingerprint.startswith(name)]  # fmt: skip


def decided(known: Finding, finding: Finding) -> Finding:
    """Return a finding with what was decided about it: the event has no more than that."""
    return replace(known, disposed=finding.disposed, proposed=finding.proposed)


def findings_of(state: State, session_id: str) -> list[Finding]:
    """Return the findings of a session that the live state has, the person's notes among them."""
    session = state.sessions.get(session_id)
    folder = (session.cwd or "") if session is not None else ""
    found = [one for review in state.reviews_of(session_id) for one in review.findings]
    marks = state.marks.get(session_id) or LiveMarks()
    return [*found, *(note_finding(note, folder) for note in marks.notes.values())]


# Counted


@dataclass(frozen=True, slots=True)
class Precision:
    """How a reviewer's findings were decided. A finding counts once, however often it came."""

    reviewer: str
    findings: int = 0
    accepted: int = 0
    rejected: int = 0
    opinions: int = 0

    @property
    def value(self) -> float | None:
        """Return the accepted part of those that were decided, 0 to 1; None while none was."""
        decided = self.accepted + self.rejected
        return self.accepted / decided if decided else None


def precisions(findings: Iterable[Finding]) -> list[Precision]:
    """Return how good each reviewer's findings were, those of most findings first. A fixed one was
    right as well."""
    newest: dict[tuple[str, str], Finding] = {}
    for one in findings:
        if one.reviewer != PERSON:
            newest[one.reviewer, one.fingerprint] = one
    counts: dict[str, Precision] = {}
    for (reviewer, _), one in newest.items():
        known = counts.get(reviewer, Precision(reviewer))
        counts[reviewer] = Precision(
            reviewer,
            known.findings + 1,
            known.accepted + (one.disposition in ("accepted", "fixed")),
            known.rejected + (one.disposition == "rejected"),
            known.opinions + one.is_opinion,
        )
    return sorted(counts.values(), key=lambda one: (-one.findings, one.reviewer))


# In words


def unreviewed_words(count: int, gaps: Sequence[SeqRange] = ()) -> str:
    """Return `unreviewed 12 lines`, with ranges `unreviewed 12 lines: 3-9, 21-25`; "" for none."""
    if count <= 0:
        return ""
    words = "unreviewed 1 line" if count == 1 else f"unreviewed {count:,} lines"
    return f"{words}: {gap_words(count, gaps)}" if gaps else words


def gap_words(count: int, gaps: Sequence[SeqRange]) -> str:
    """Return `3-9, 21`, the newest of the lines that no review has; `… 3-9, 21` if there are
    more."""
    shown = gaps[-_SHOWN_GAPS:]
    words = ", ".join(
        f"{one.first:,}" if one.first == one.last else f"{one.first:,}-{one.last:,}"
        for one in shown
    )
    is_all = sum(one.last - one.first + 1 for one in shown) >= count
    return words if is_all else f"… {words}"


def range_words(review: Review) -> str:
    """Return `lines 12-40 (29)` of a review's range; "" without one."""
    if review.range is None:
        return ""
    one = review.range
    return f"lines {one.first:,}-{one.last:,} ({review.lines:,})"


def outcome_words(review: Review) -> str:
    """Return `2 dropped, 27 kept, 1 injected`; "" where nothing is known."""
    if review.outcomes is None:
        return ""
    out = review.outcomes
    parts = (
        (out.dropped, "dropped"),
        (out.kept, "kept"),
        (out.surfaced, "surfaced"),
        (out.injected, "injected"),
        (out.unknown, "too long ago"),
    )
    return ", ".join(f"{count:,} {word}" for count, word in parts if count)


def place_words(finding: Finding) -> str:
    """Return `src/app.py:12-14` of a finding; "" without a path."""
    if finding.lines is None or not finding.path:
        return finding.path
    first, last = finding.lines.first, finding.lines.last
    return f"{finding.path}:{first}" + (f"-{last}" if last != first else "")


def standing_words(finding: Finding) -> str:
    """Return what a finding rests on: its check as it stood, else that it is an opinion."""
    if finding.note_id is not None:
        return "note"
    if finding.is_opinion:
        return OPINION
    state = finding.verdict.state if finding.verdict is not None else "open"
    return _CHECK_WORDS.get(state, state)


def disposition_words(finding: Finding) -> str:
    """Return what was decided about a finding, or what is proposed: `open, rejected proposed by
    ci-review`."""
    word: Disposition = finding.disposition
    proposed = finding.proposed
    if proposed is None or finding.disposed is not None:
        return word
    return f"{word}, {proposed.disposition} proposed by {proposed.by}"


def reviews_about(state: State, emitter: Emitter) -> list[Review]:
    """Return the newest reviews of an emitter, or of its stream, oldest first."""
    return [
        one
        for one in state.reviews.values()
        if (one.emitter is not None and one.emitter.id == emitter.id)
        or (one.stream == emitter.stream and one.session_id == emitter.session_id)
    ]


def unreviewed_of(state: State, emitter: Emitter) -> tuple[int, list[SeqRange]]:
    """Return how many lines of an emitter's stream no review has, and the newest of them; none
    before the first review."""
    return _unreviewed(state, reviews_about(state, emitter))


def _unreviewed(state: State, reviews: list[Review]) -> tuple[int, list[SeqRange]]:
    """Return what no review has of the lines that reviews of one stream, oldest first, are about:
    what the newest of them told, and what came since."""
    last = next((one for one in reversed(reviews) if one.stream and one.stream_lines), None)
    if last is None or not any(one.range is not None for one in reviews):
        return 0, []
    counts = [one.count for key, one in state.streams.items() if key[1] == last.stream]
    own = state.streams.get((last.session_id, last.stream or ""))
    lines = max(own.count if own is not None else max(counts, default=0), last.stream_lines)
    gaps, first = list(last.missing), last.stream_lines + 1
    if lines >= first:
        if gaps and gaps[-1].last == first - 1:
            first = gaps.pop().first
        gaps.append(SeqRange(first, lines))
    return last.missing_lines + lines - last.stream_lines, gaps


# For `status --json`, `doctor` and the session's own state


@dataclass(frozen=True, slots=True)
class MonitorStanding:
    """How the reviews of a monitor in a session stand."""

    session_id: str
    last: Review
    """The newest."""
    reviews: int
    unreviewed: int
    """Lines of its stream that no review has."""
    gaps: list[SeqRange]
    """Which those are, the newest of them."""
    open_findings: int


def monitors_of(state: State, session_id: str) -> list[MonitorStanding]:
    """Return the monitors that a session's reviews are about, the newest last."""
    by_name: dict[str, list[Review]] = {}
    for review in state.reviews_of(session_id):
        by_name.setdefault(review.monitor, []).append(review)
    return [_standing(state, found) for found in by_name.values()]


def _standing(state: State, found: list[Review]) -> MonitorStanding:
    last = found[-1]
    run = last.emitter.id if last.emitter is not None else None
    same = [
        one
        for one in state.reviews.values()
        if one.stream == last.stream
        and (one.session_id == last.session_id or (one.emitter and one.emitter.id == run))
    ]
    left, gaps = _unreviewed(state, same)
    findings = (one for review in found for one in review.findings)
    still_open = sum(one.disposition == "open" for one in findings)
    return MonitorStanding(last.session_id, last, len(found), left, gaps, still_open)


def told_monitors(state: State, session_id: str) -> list[dict[str, object]]:
    """Return a session's monitors as JSON has them."""
    return [
        {
            "monitor": one.last.monitor,
            "reviews": one.reviews,
            "lastReview": one.last.id,
            "decision": one.last.decision,
            "at": one.last.at,
            "unreviewed": one.unreviewed,
            "unreviewedRanges": [{"from": gap.first, "to": gap.last} for gap in one.gaps],
            "openFindings": one.open_findings,
        }
        for one in monitors_of(state, session_id)
    ]


def told_reviews(state: State) -> dict[str, list[dict[str, object]]]:
    """Return the monitors of all sessions that have reviews, by their ids, as JSON has them."""
    told = {id_: told_monitors(state, id_) for id_ in state.sessions}
    return {id_: found for id_, found in told.items() if found}
