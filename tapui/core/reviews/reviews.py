"""Reviews: what agents record about monitors and code, and what the person decides about it.

What a model says is data: nothing of it is run. The gateway adds the lines of the range and what
became of them, the emitter's run, the turn, the model and the agent. A finding that is found again
has what the person decided about it before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.conversations.person_marks import PersonMarks
from tapui.core.effects import FilesSeen, LinesRead, LinesWanted, LookAtFiles
from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.registry import Emitters
from tapui.core.goals.goals import own_check
from tapui.core.goals.verifying import DemandAsked, DemandJudged, Verifying
from tapui.core.model import Connection, OpenSession
from tapui.core.proof import facts as fact
from tapui.core.proof.watching import Proof, SessionProof
from tapui.core.reviews.known_findings import KnownFindings
from tapui.core.reviews.marked_text import text_of
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.streams import StreamLog, Streams, full_name, split_name
from tapui.projection.fingerprints import fingerprint
from tapui.projection.reviews import note_finding
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.codec import encode, raw
from tapui.wire.criteria import Disposal
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import BUILTIN_PROVIDER, Number
from tapui.wire.reviews import (
    REVIEWS_STREAM,
    DispositionProposed,
    Finding,
    FindingAnswer,
    FindingDispose,
    FindingGiven,
    LineOutcomes,
    Review,
    ReviewAnswer,
    ReviewAsked,
    ReviewedRun,
    ReviewGiven,
    SeqRange,
)

_STREAM = REVIEWS_STREAM.partition("@")[0]
Recorded = Callable[[Review], None]
_MAX_RANGES = 1_000
"""Ranges of a stream's lines that reviews have, of which is known what lies between them."""


@dataclass(slots=True, eq=False)
class _Monitor:
    """What a review's `monitor` names in its session."""

    name: str
    stream: str | None = None
    owner: OpenSession | None = None
    """The session that has the stream: another one's of the folder, or its own."""
    log: StreamLog | None = None
    emitter: LiveEmitter | None = None


@dataclass(slots=True, eq=False)
class _SessionReviews:
    """What later reviews of a session are held against."""

    findings: KnownFindings = field(default_factory=lambda: KnownFindings(limits.MAX_FINDINGS))
    reviewed: dict[str, list[SeqRange]] = field(default_factory=dict)
    """The lines that reviews have in their ranges, rising, none next to another, by stream."""
    dropped: dict[str, int] = field(default_factory=dict)
    """How many lines an emitter had dropped at its last review, by its id."""


@dataclass(eq=False, repr=False)
class Reviews(CorePart):
    """Records reviews, and takes what is decided. Handlers raise `WireError` to refuse."""

    sessions: OpenSessions
    streams: Streams
    emitters: Emitters
    emitter_folders: EmitterFolders
    proof: Proof
    verifying: Verifying
    person_marks: PersonMarks

    def __post_init__(self) -> None:
        super().__post_init__()
        self._of: dict[str, _SessionReviews] = {}
        self._out.watch(self._happened)
        self.proof.opened.append(self._restored)
        self.proof.begun_anew.append(self._keep_again)

    # An agent records

    def asked(self, connection: Connection, message: ReviewAsked) -> None:
        session = self.sessions.required(message.session_id)

        def recorded(review: Review) -> None:
            if connection.is_open:
                self._out.send(connection.id, ReviewAnswer(message.id, review))

        self.record(session, message.review, message.id, recorded)

    def record(
        self,
        session: OpenSession,
        given: ReviewGiven,
        call_id: str,
        then: Recorded,
        *,
        is_text: bool = False,
    ) -> None:
        """Record a review that the call `call_id` gave, and call `then` with it: once the lines of
        its findings were read and their checks judged. Raises `INVALID_JSON` naming the field."""
        if session.is_apart:
            raise WireError(ErrorCode.NOT_FOUND, "the session of a tool host has no reviews")
        if not given.monitor.strip():
            raise WireError(ErrorCode.INVALID_JSON, "monitor: must not be empty")
        _check_confidence(given.confidence, "confidence")
        self._check_range(self._monitor(session, given), given)
        if len(encode(given)) > limits.MAX_REVIEW_BYTES:
            text = f"findings: a review has at most {limits.MAX_REVIEW_BYTES // 1024} KiB"
            raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, text)
        proposed = [self._proposed(session, at, one) for at, one in enumerate(given.proposals)]
        checked = []
        for at, one in enumerate(given.findings):
            if not one.title.strip():
                text = f"findings[{at}].title: must not be empty"
                raise WireError(ErrorCode.INVALID_JSON, text)
            _check_confidence(one.confidence, f"findings[{at}].confidence")
            if one.lines is not None and one.lines.last < one.lines.first:
                text = f"findings[{at}].lines: the last comes before the first"
                raise WireError(ErrorCode.INVALID_JSON, text)
            check = own_check(one.check, f"findings[{at}].check")
            if check is not None:
                self.verifying.check_times(check, f"findings[{at}].check")
            checked.append(replace(one, check=check))
        given = replace(given, findings=checked)
        call = self._out.state.calls.get(call_id)
        agent_id = call.agent_id if call is not None else None
        reviewer = session.children.get(agent_id or "") or given.monitor

        def read(lines: dict[int, LinesRead]) -> None:
            made = [self._finding(one, reviewer, lines.get(at)) for at, one in enumerate(checked)]
            asked = [DemandAsked(str(at), one.check, is_criterion=False)
                     for at, one in enumerate(made) if one.check is not None]  # fmt: skip

            def judged(found: list[DemandJudged]) -> None:
                verdicts = {one.asked.key: one.verdict for one in found}
                findings = [replace(one, verdict=verdicts.get(str(at)))
                            for at, one in enumerate(made)]  # fmt: skip
                if session.is_open:  # else its agent waits for nothing any more
                    review = self._keep(session, given, findings, agent_id, is_text=is_text)
                    for one, proposal in proposed:
                        self._propose(session, one, review, proposal)
                    then(review)

            if asked:
                self.verifying.judge(session, None, asked, judged)
            else:
                judged([])

        self._read_lines(session, checked, read)

    def _monitor(self, session: OpenSession, given: ReviewGiven) -> _Monitor:
        """Find the emitter or the stream that a review is about."""
        emitter = next((one for one in self.emitters.by_id.values() if one.name == given.monitor
                        and not one.is_provider
                        and (one.session is session or session in one.folder.sessions)),
                       None)  # fmt: skip
        named = given.stream or (emitter.stream if emitter is not None else given.monitor)
        stream = split_name(named, BUILTIN_PROVIDER)
        owner = self.emitter_folders.streams_of(session).get(stream, session)
        log = self.streams.of(owner.id).get(stream)
        if emitter is None:
            posting = (one for one in self.emitters.by_id.values() if one.session is owner
                       and full_name(one.stream, BUILTIN_PROVIDER) == stream)  # fmt: skip
            emitter = next(posting, None)
        if log is None and emitter is None and given.stream is None:
            return _Monitor(given.monitor)
        return _Monitor(given.monitor, stream, owner, log, emitter)

    def _check_range(self, monitor: _Monitor, given: ReviewGiven) -> None:
        wanted = given.range
        if wanted is None:
            return
        if monitor.log is None:
            text = f"range: {monitor.stream or monitor.name} has no lines in this session"
            raise WireError(ErrorCode.INVALID_JSON, text)
        if wanted.last < wanted.first:
            raise WireError(ErrorCode.INVALID_JSON, "range.to: comes before range.from")
        if wanted.last > monitor.log.count:
            text = f"range.to: {monitor.stream} has {monitor.log.count} lines"
            raise WireError(ErrorCode.INVALID_JSON, text)

    def _proposed(
        self, session: OpenSession, at: int, one: DispositionProposed
    ) -> tuple[Finding, DispositionProposed]:
        found = self._session(session.id).findings.named(one.finding)
        if found is None:
            text = f"proposals[{at}].finding: no finding {one.finding} is there"
            raise WireError(ErrorCode.INVALID_JSON, text)
        return found, one

    # Findings

    def _read_lines(
        self,
        session: OpenSession,
        given: Sequence[FindingGiven],
        then: Callable[[dict[int, LinesRead]], None],
    ) -> None:
        """Call `then` with the lines of findings, by their places."""
        wanted = {
            at: LinesWanted(one.path, one.lines.first, one.lines.last)
            for at, one in enumerate(given)
            if one.lines is not None and one.path
        }
        folder = session.view.cwd
        if not wanted or not folder or self.proof.watched(session) is None:
            then({})
            return

        def seen(found: FilesSeen) -> None:
            then(dict(zip(wanted, found.lines, strict=False)))

        ticket = self._tickets.keep(seen)
        self._out.effects.append(LookAtFiles(ticket, folder, lines=tuple(wanted.values())))

    def _finding(self, given: FindingGiven, reviewer: str, read: LinesRead | None) -> Finding:
        lines = read.around if read is not None else ()
        first = read.first if read is not None else 1
        return Finding(
            id=self._ids.id("f"),
            fingerprint=fingerprint(given.rule, given.title, given.path, lines, first),
            title=given.title,
            reviewer=reviewer,
            body=given.body,
            confidence=given.confidence,
            priority=given.priority,
            path=given.path,
            lines=given.lines,
            rule=given.rule,
            quote=read.quote if read is not None else "",
            check=given.check,
        )

    def _known(self, session: OpenSession, finding: Finding) -> Finding:
        """Return a finding as the person decided about the same one before: in this session, else
        in another one of its folder."""
        own = self._session(session.id).findings.before(finding.fingerprint)
        if own is not None and own.disposed is not None:
            return replace(finding, disposed=own.disposed)
        folder = session.folder or session.view.cwd
        for id_, reviews in self._of.items():
            other = self.sessions.open.get(id_)
            if other is None or other is session or folder != (other.folder or other.view.cwd):
                continue
            same = reviews.findings.before(finding.fingerprint)
            if same is not None and same.disposed is not None:
                return replace(finding, disposed=same.disposed)
        return finding

    # The record

    def _keep(
        self,
        session: OpenSession,
        given: ReviewGiven,
        findings: list[Finding],
        agent_id: str | None,
        *,
        is_text: bool,
    ) -> Review:
        id_ = self._ids.id("rv")
        monitor = self._monitor(session, given)
        known = self._session((monitor.owner or session).id)
        findings = [replace(self._known(session, one), review_id=id_) for one in findings]
        turns = self._out.state.turns.get(session.id)
        running = turns.running if turns is not None else None
        trace = session.trace.trace_id if session.trace is not None else ""
        review = Review(
            id=id_,
            session_id=session.id,
            monitor=given.monitor,
            decision=given.decision,
            at=self._clock.timestamp(),
            observed=given.observed,
            reason=given.reason,
            source="text" if is_text else "tool",
            stream=monitor.stream if monitor.log is not None else None,
            range=given.range,
            lines=given.range.last - given.range.first + 1 if given.range is not None else 0,
            unreviewed=_unreviewed(known, monitor, given),
            outcomes=_outcomes(known, monitor, given),
            emitter=_run_of(monitor.emitter),
            evidence=given.evidence,
            actions=given.actions,
            confidence=given.confidence,
            next=given.next,
            findings=findings,
            reviewer=session.children.get(agent_id or "") or given.monitor,
            turn=running.number if running is not None else None,
            trace_id=trace or None,
            model=session.view.model,
            agent_id=agent_id,
        )
        if monitor.stream is not None and monitor.log is not None:
            reviewed = known.reviewed.get(monitor.stream, [])
            if given.range is not None:
                reviewed = known.reviewed[monitor.stream] = _joined(reviewed, given.range)
            lines = monitor.log.count
            gaps = _gaps(reviewed, lines) if reviewed else []
            review = replace(
                review,
                stream_lines=lines,
                missing=gaps[-limits.MAX_GAPS :],
                missing_lines=sum(one.last - one.first + 1 for one in gaps),
            )
        review = self._line(session, review)
        if monitor.emitter is not None:
            known.dropped[monitor.emitter.id] = monitor.emitter.counted().dropped
        for one in findings:
            self._session(session.id).findings.put(_short(one))
        self._out.emit(ev.ReviewRecorded(session_id=session.id, review=review))
        return review

    def _line(self, session: OpenSession, review: Review) -> Review:
        """Post the line of a review, and return the review with its number."""
        metadata = {"reviewId": review.id, "decision": review.decision, "monitor": review.monitor}
        try:
            line = self.streams.post(
                session.id,
                _STREAM,
                BUILTIN_PROVIDER,
                level="keep",
                event=text_of(review),
                metadata=raw(metadata),
            )
        except WireError:  # a session with too many streams: its event has it all the same
            return review
        self.streams.of(session.id)[REVIEWS_STREAM].by_agent.append(line.seq)
        return replace(review, seq=line.seq)

    # Dispositions

    def dispose(self, connection: Connection, message: FindingDispose) -> None:
        """Decide about a finding or a note, as the person."""
        session = self.sessions.required(message.session_id)
        disposal = None
        if message.disposition != "open":
            disposal = Disposal(
                message.disposition, connection.by, self._clock.timestamp(), message.reason
            )
        note = self.person_marks.of(session.id).notes.get(message.finding)
        if note is not None:
            kept = self.person_marks.dispose(session, note, disposal)
            answer = note_finding(kept, session.view.cwd)
            self._out.send(connection.id, FindingAnswer(message.id, answer))
            return
        known = self._session(session.id).findings.named(message.finding)
        if known is None:
            text = f"finding: no finding {message.finding} is there"
            raise WireError(ErrorCode.NOT_FOUND, text, id=message.id)
        for one in self._session(session.id).findings.same(known.fingerprint):
            self._change(session, replace(one, disposed=disposal))
        self._out.send(connection.id, FindingAnswer(message.id, replace(known, disposed=disposal)))

    def _propose(
        self,
        session: OpenSession,
        finding: Finding,
        review: Review,
        given: DispositionProposed,
    ) -> None:
        """An agent proposes: the person alone decides."""
        now = self._session(session.id).findings.by_id.get(finding.id, finding)
        proposal = Disposal(given.disposition, review.reviewer, review.at, given.reason)
        self._change(session, replace(now, proposed=proposal))

    def _change(self, session: OpenSession, finding: Finding) -> None:
        self._session(session.id).findings.put(finding)
        watched = self.proof.watched(session)
        if watched is not None:
            self.proof.add(watched, fact.FindingStood(at=self._clock.timestamp(), finding=finding))
        self._out.emit(ev.FindingDisposed(session_id=session.id, finding=finding))

    # Sessions

    def _session(self, session_id: str) -> _SessionReviews:
        return self._of.setdefault(session_id, _SessionReviews())

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.SessionReplaced(session=session, replaces=former) if former in self._of:
                moved = self._of.pop(former)
                own = self._of.setdefault(session.id, moved)
                for finding in moved.findings.by_id.values() if own is not moved else ():
                    own.findings.put(finding)
                watched = self.proof.of(session.id)
                if watched is not None:
                    self._keep_again(watched)
            case ev.SessionClosed(session_id=id_):
                self._of.pop(id_, None)

    def _restored(self, watched: SessionProof) -> None:
        """The ledger of a session was read: what was decided before is known again, and what was
        decided since is kept."""
        own = self._session(watched.session_id).findings
        known = dict(watched.history.findings)
        for id_, finding in known.items():
            if id_ not in own.by_id:
                own.put(finding)
        self._keep_all(watched, known)

    def _keep_again(self, watched: SessionProof) -> None:
        self._keep_all(watched, {})

    def _keep_all(self, watched: SessionProof, known: dict[str, Finding]) -> None:
        """Keep what was decided, and the ledger does not have."""
        now = self._clock.timestamp()
        for finding in list(self._session(watched.session_id).findings.by_id.values()):
            is_decided = finding.disposed is not None or finding.proposed is not None
            if is_decided and known.get(finding.id) != finding:
                self.proof.add(watched, fact.FindingStood(at=now, finding=finding))


def _check_confidence(given: Number | None, field: str) -> None:
    if given is not None and not 0 <= given <= 1:
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: a number from 0 to 1")


def _short(finding: Finding) -> Finding:
    """Return by what a finding is known: 10,000 of them stay in memory."""
    return replace(finding, body="", quote="", check=None, verdict=None)


def _run_of(emitter: LiveEmitter | None) -> ReviewedRun | None:
    return None if emitter is None else ReviewedRun(emitter.name, emitter.runs, emitter.id)


def _unreviewed(known: _SessionReviews, monitor: _Monitor, given: ReviewGiven) -> int:
    """Return how many lines lie between the last range of this stream and the given one."""
    reviewed = known.reviewed.get(monitor.stream or "")
    if given.range is None or not reviewed:
        return 0
    return max(given.range.first - 1 - reviewed[-1].last, 0)


def _joined(reviewed: list[SeqRange], more: SeqRange) -> list[SeqRange]:
    """Return the ranges with another one; of too many the gap between the first two goes."""
    first, last = more.first, more.last
    apart = []
    for one in reviewed:
        if one.last < first - 1 or one.first > last + 1:
            apart.append(one)
        else:
            first, last = min(first, one.first), max(last, one.last)
    made = sorted([*apart, SeqRange(first, last)], key=lambda one: one.first)
    if len(made) > _MAX_RANGES:
        made[:2] = [SeqRange(made[0].first, made[1].last)]
    return made


def _gaps(reviewed: list[SeqRange], lines: int) -> list[SeqRange]:
    """Return the lines of a stream of so many that are in none of the ranges."""
    begins = [1, *(one.last + 1 for one in reviewed)]
    ends = [*(min(one.first - 1, lines) for one in reviewed), lines]
    return [SeqRange(begin, end) for begin, end in zip(begins, ends, strict=True) if begin <= end]


def _outcomes(known: _SessionReviews, monitor: _Monitor, given: ReviewGiven) -> LineOutcomes | None:
    """Return what became of the lines in the range, and how many were dropped since the emitter's
    last review; None where there are neither."""
    counts: dict[str, int] = {}
    if monitor.log is not None and given.range is not None:
        counts = monitor.log.levels.counts(given.range.first, given.range.last)
    elif monitor.emitter is None:
        return None
    dropped = 0
    if monitor.emitter is not None:
        before = known.dropped.get(monitor.emitter.id, 0)
        dropped = max(monitor.emitter.counted().dropped - before, 0)
    return LineOutcomes(
        dropped,
        counts.get("keep", 0),
        counts.get("surface", 0),
        counts.get("inject", 0),
        counts.get("", 0),
    )
