"""Reviews: what an agent says about the lines of a monitor, or about code, and its findings.

A review is recorded as a whole. What a model cannot be trusted with is added by the gateway: the
lines in its range, what became of them, the emitter's run, the turn, the model and the agent.
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from tapui.wire import limits
from tapui.wire.bounds import Id, Path
from tapui.wire.changes import LineRange
from tapui.wire.criteria import AnyDemand, CriterionText, Disposal, Disposition, Verdict
from tapui.wire.message import Message, Number, WireStruct
from tapui.wire.provider import FilterRule

ReviewDecision = Literal["ignore", "note", "surface", "act", "escalate"]
Priority = Literal["P0", "P1", "P2", "P3"]
ReviewText = CriterionText
Seq = Annotated[int, Meta(ge=1, le=limits.MAX_SEQ)]

REVIEWS_STREAM = "reviews@tap"
"""The stream that has a line for each review of a session."""
PERSON = "person"
"""The reviewer of notes that the person keeps on changes."""


class SeqRange(WireStruct):
    """Lines of a stream by their numbers, both ends included: `{from, to}`."""

    first: Seq = field(name="from")
    last: Seq = field(name="to")


class ReviewAction(WireStruct):
    """What was done because of a review, with the call that did it."""

    what: ReviewText
    tool_call_id: Id | None = None


class ReviewNext(WireStruct):
    """When the monitor is looked at again (`10m`, RFC 3339 or `idle`), and filter rules that are
    proposed to the person."""

    check: Id = ""
    change: Annotated[list[FilterRule], Meta(max_length=limits.MAX_HOOK_RULES)] = []


class LineOutcomes(WireStruct, omit_defaults=False):
    """What became of a monitor's lines. `dropped` have no number: those since its last review.
    `unknown`: so many of the range are too long ago to tell."""

    dropped: int = 0
    kept: int = 0
    surfaced: int = 0
    injected: int = 0
    unknown: int = 0


class ReviewedRun(WireStruct):
    """The emitter that a review is about, and the number of its run then."""

    name: str
    run: int
    id: str = ""


class Finding(WireStruct):
    """One thing that a reviewer found, or a note of the person's on a change.

    `fingerprint` is of its rule, of its line with the neighbours, and of its path's tail: the same
    finding in a later review has it, too. Without `check` it is an opinion. `path` is relative to
    the session's folder; of a note, to its repository.
    """

    id: str
    fingerprint: str
    title: str
    reviewer: str
    body: str = ""
    review_id: str | None = None
    confidence: Number | None = None
    priority: Priority | None = None
    path: str = ""
    lines: LineRange | None = None
    rule: str = ""
    quote: str = ""
    """Its lines as they were then, cut; "" where they were not read."""
    check: AnyDemand | None = None
    verdict: Verdict | None = None
    """How its check stood then; None: it was not judged."""
    disposed: Disposal | None = None
    """What the person decided; None: it is open."""
    proposed: Disposal | None = None
    """What an agent proposes."""
    note_id: str | None = None
    """The note of the person's that it is."""

    @property
    def disposition(self) -> Disposition:
        return self.disposed.disposition if self.disposed is not None else "open"

    @property
    def is_opinion(self) -> bool:
        return self.check is None


class Review(WireStruct):
    """A review of a monitor (an emitter or a stream), or of something else that `monitor` names.

    `stream` is the full name of the stream that was looked at, `range` its lines, of which there
    are `lines`. `unreviewed` counts lines before them that no review of this monitor has in its
    range. `seq` is its line in `reviews@tap`.
    """

    id: str
    session_id: str
    monitor: str
    decision: ReviewDecision
    at: str
    observed: str
    reason: str
    seq: int = 0
    source: Literal["tool", "text"] = "tool"
    """`text`: it was read from a posted line."""
    stream: str | None = None
    range: SeqRange | None = None
    lines: int = 0
    unreviewed: int = 0
    outcomes: LineOutcomes | None = None
    emitter: ReviewedRun | None = None
    evidence: list[str] = []
    actions: list[ReviewAction] = []
    confidence: Number | None = None
    next: ReviewNext | None = None
    findings: list[Finding] = []
    reviewer: str = ""
    """The subagent by its name, else the monitor: precision is counted by it."""
    turn: int | None = None
    trace_id: str | None = None
    model: str | None = None
    agent_id: str | None = None
    is_cut: bool = False
    """Whether texts were cut and findings left out; the records have all. Only in snapshots."""
    stream_lines: int = 0
    """How many lines the stream had then."""
    missing: list[SeqRange] = []
    """Lines of the stream that no review had then, at most `limits.MAX_GAPS` ranges, the newest."""
    missing_lines: int = 0
    """How many lines no review had then."""


# Built-in tools → gateway


class FindingGiven(WireStruct):
    """A finding as an agent gives it."""

    title: Annotated[str, Meta(max_length=limits.MAX_SUMMARY)]
    body: Annotated[str, Meta(max_length=limits.MAX_NOTE_BODY)] = ""
    confidence: Number | None = None
    priority: Priority | None = None
    path: Path = ""
    lines: LineRange | None = None
    rule: Id = ""
    check: AnyDemand | None = None


class DispositionProposed(WireStruct):
    """What an agent proposes about a finding of before, by its id or its fingerprint."""

    finding: Id
    disposition: Disposition
    reason: ReviewText = ""


class ReviewGiven(WireStruct):
    """A review as an agent gives it, by the tool or as marked text."""

    monitor: Id
    decision: ReviewDecision
    observed: ReviewText = ""
    reason: ReviewText = ""
    stream: Id | None = None
    range: SeqRange | None = None
    evidence: Annotated[list[Path], Meta(max_length=limits.MAX_EVIDENCE_CHECKS)] = []
    actions: Annotated[list[ReviewAction], Meta(max_length=limits.MAX_REVIEW_ACTIONS)] = []
    confidence: Number | None = None
    next: ReviewNext | None = None
    findings: Annotated[list[FindingGiven], Meta(max_length=limits.MAX_REVIEW_FINDINGS)] = []
    proposals: Annotated[
        list[DispositionProposed], Meta(max_length=limits.MAX_REVIEW_FINDINGS)
    ] = []


class ReviewAsked(Message, tag="reviews.record"):
    """A session's agent records a review; `id` is that of its call. The answer is
    `review.answer`."""

    id: Id
    session_id: Id
    review: ReviewGiven


# Tower → gateway


class FindingDispose(Message, tag="review.dispose"):
    """Decide about a finding, by its id, its fingerprint, or the id of a note; `open` takes the
    decision back. The answer is `finding.answer`."""

    id: Id
    session_id: Id
    finding: Id
    disposition: Disposition
    reason: ReviewText = ""


# Gateway → built-in tools, towers


class ReviewAnswer(Message, tag="review.answer"):
    """The recorded review."""

    id: str
    review: Review


class FindingAnswer(Message, tag="finding.answer"):
    """The finding and its present disposition."""

    id: str
    finding: Finding
