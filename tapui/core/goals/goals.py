"""The goals of sessions: opened by the person or the agent, changed by their owners, kept.

What the person opened an agent can neither close nor change. A goal is achieved when all of its
criteria passed at one moment, or by the person; then it does not change any more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.goals.judging import demand_of, surface_changes
from tapui.core.goals.verifying import DemandAsked, DemandJudged, Verifying, expected, result_of
from tapui.core.model import OpenSession
from tapui.core.proof import facts as fact
from tapui.core.proof.folder_states import difference
from tapui.core.proof.goal_history import GoalMarks
from tapui.core.proof.watching import Proof, SessionProof
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.streams import Streams
from tapui.projection.summary import one_line
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.codec import depth_exceeds, encode, raw
from tapui.wire.criteria import AnyDemand, Called, Ran
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.goals import (
    FOLD,
    GOALS_STREAM,
    CriterionGiven,
    FileEntry,
    Goal,
    GoalBudget,
    GoalCriterion,
    GoalOpener,
    GoalReport,
    SurfaceChange,
    Unproven,
)
from tapui.wire.message import BUILTIN_PROVIDER
from tapui.wire.subjects import Call

_STREAM = GOALS_STREAM.partition("@")[0]
_MAX_ARGUMENT = 2_000
Verified = Callable[[Goal, GoalReport], None]
_check_decoder = msgspec.json.Decoder(AnyDemand)


@dataclass(eq=False, repr=False)
class Goals(CorePart):
    """The registry. Methods that a peer's message leads to raise `WireError` to refuse."""

    sessions: OpenSessions
    streams: Streams
    proof: Proof
    verifying: Verifying

    def __post_init__(self) -> None:
        super().__post_init__()
        self._of: dict[str, dict[str, Goal]] = {}
        """By session and id, oldest first."""
        self._carried: dict[str, list[GoalMarks]] = {}
        """What was recorded of goals whose session was replaced, by the new one."""
        self.on_restored: Callable[[str], None] = lambda _: None
        """Takes the session whose goals of before are there again."""
        self._out.watch(self._happened)
        self.proof.opened.append(self._restored)
        self.proof.begun_anew.append(self._keep_again)
        self.proof.turn_judged = self._recount

    # What is there

    def of(self, session_id: str) -> list[Goal]:
        return list(self._of.get(session_id, {}).values())

    def all(self) -> list[Goal]:
        return [goal for goals in self._of.values() for goal in goals.values()]

    def find(self, goal_id: str) -> tuple[OpenSession, Goal]:
        """Return a goal and its session. Raises `NOT_FOUND`."""
        for session_id, goals in self._of.items():
            session = self.sessions.open.get(session_id)
            if session is not None and goal_id in goals:
                return session, goals[goal_id]
        raise WireError(ErrorCode.NOT_FOUND, f"goalId: no goal {goal_id} is there")

    # Opening

    def open(
        self,
        session: OpenSession,
        title: str,
        criteria: Sequence[CriterionGiven],
        by: GoalOpener,
        *,
        unproven: Unproven = "tell",
        agent: str | None = None,
        parent: str | None = None,
        deadline: str | None = None,
        budget: GoalBudget | None = None,
        entry: FileEntry | None = None,
    ) -> Goal:
        """Open a goal. One without a criterion only the person can call achieved."""
        if session.is_apart:
            raise WireError(ErrorCode.NOT_FOUND, "the session of a tool host has no goals")
        own = self._of.setdefault(session.id, {})
        if len(own) >= limits.MAX_GOALS:
            closed = next((id_ for id_, one in own.items() if not one.is_open), None)
            if closed is None:
                text = f"a session has at most {limits.MAX_GOALS} open goals"
                raise WireError(ErrorCode.RATE_LIMITED, text)
            del own[closed]
        made = self._criteria(criteria, [], by)
        title = one_line(title) or (one_line(made[0].text) if made else "")
        if not title:
            raise WireError(ErrorCode.INVALID_JSON, "title: must not be empty")
        self._check_deadline(deadline)
        turns = self._out.state.turns.get(session.id)
        running = turns.running if turns is not None else None
        goal = Goal(
            id=self._ids.id("g"),
            session_id=session.id,
            title=title,
            status="active",
            revision=1,
            opened_by=by,
            opened_at=self._clock.timestamp(),
            criteria=made,
            unproven=unproven,
            agent=agent,
            parent=parent,
            deadline=deadline,
            budget=budget,
            turn=running.number if running is not None else None,
            trace_id=session.trace.trace_id or None if session.trace is not None else None,
            entry=entry,
        )
        _check_size(goal)
        own[goal.id] = goal
        self.verifying.note_streams(session.id, goal.id)
        self._keep(goal)
        self._out.emit(ev.GoalOpened(session.id, goal))
        self._line(goal, f"opened: {goal.title}", "goal.opened")
        self._read_surfaces(session, goal, goal.criteria)
        return goal

    # Changing

    def change(
        self,
        goal: Goal,
        by: str,
        what: str,
        changes: Mapping[str, Any],
        *,
        add: Sequence[CriterionGiven] = (),
        drop: Sequence[str] = (),
        who: GoalOpener = "person",
        is_quiet: bool = False,
    ) -> Goal:
        """Change a goal that is open. `what` says it in a few words."""
        if not goal.is_open:
            raise WireError(ErrorCode.NOT_FOUND, f"goal {goal.id} is {goal.status}: it stays so")
        self._check_deadline(changes.get("deadline"))
        kept = [one for one in goal.criteria if one.id not in drop]
        if len(kept) + len(set(drop)) != len(goal.criteria):
            raise WireError(ErrorCode.INVALID_JSON, "dropCriteria: no such criterion")
        added = self._criteria(add, kept, who, taken=drop)
        if add or drop:
            changes = {**changes, "criteria": [*kept, *added]}
        changed = replace(goal, revision=goal.revision + 1, **changes)
        if changed.is_open:
            _check_size(changed)
        else:
            changed = replace(changed, closed_at=self._clock.timestamp(), closed_by=by)
        watched = None
        if changed.status == "achieved" and changed.opened_by != "copilot":
            watched = self.proof.of(changed.session_id)
            changed = replace(changed, changed_since=None if watched is None else 0)
        self._put(changed)
        if changed.is_open:
            self._out.emit(ev.GoalUpdated(changed.session_id, changed, by=by, what=what))
        else:
            self._out.emit(ev.GoalClosed(changed.session_id, changed))
        if not is_quiet:
            self._line(changed, f"{what}: {changed.title}", "goal.updated")
        session = self.sessions.open.get(changed.session_id)
        if added and session is not None:
            self._read_surfaces(session, changed, added)
        if watched is not None:
            acts = watched.history.acts
            self.proof.look_now(watched, partial(self._seen_achieved, watched, changed.id, acts))
        return changed

    def _seen_achieved(self, watched: SessionProof, goal_id: str, acts: int) -> None:
        """The folder was looked at for a goal that the person called achieved when there were so
        many acts: what changes is counted from now on."""
        goal = self._of.get(watched.session_id, {}).get(goal_id)
        if goal is None:
            return  # its session has ended meanwhile, or is another one
        history = watched.history
        if history.is_seen and history.is_quiet_since(acts):
            self._keep(goal)
        marks = history.goals.by_id.get(goal_id)
        if marks is None or marks.achieved is None:
            self._count(goal, None)
        else:
            self._recount(watched)

    def _check_deadline(self, deadline: str | None) -> None:
        if deadline is None:
            return
        left = self._clock.until(deadline)
        if left is None:
            text = "deadline: a time of RFC 3339 with its zone, such as 2026-11-20T18:00:00Z"
            raise WireError(ErrorCode.INVALID_JSON, text)
        if left <= 0:
            raise WireError(ErrorCode.INVALID_JSON, "deadline: that time has passed")

    def left(self, goal: Goal) -> float | None:
        """Return the seconds until a goal's deadline, which may have passed; None without one."""
        return None if goal.deadline is None else self._clock.until(goal.deadline)

    def is_overdue(self, goal: Goal) -> bool:
        left = self.left(goal)
        return left is not None and left <= 0

    def _criteria(
        self,
        given: Sequence[CriterionGiven],
        known: Sequence[GoalCriterion],
        by: GoalOpener,
        *,
        taken: Sequence[str] = (),
    ) -> list[GoalCriterion]:
        """Return given criteria, each with an id of its own, none of `taken`. Raises
        `WireError`."""
        made = criteria_of(given, known, by, taken=taken)
        for at, one in enumerate(made):
            if one.check is not None:
                self.verifying.check_times(one.check, f"criteria[{at}].check")
        return made

    def _put(self, goal: Goal) -> None:
        self._of.setdefault(goal.session_id, {})[goal.id] = goal
        self._keep(goal)

    def _keep(self, goal: Goal) -> None:
        if goal.opened_by == "copilot":
            return  # it ends with its session
        session = self.sessions.open.get(goal.session_id)
        # A session that is started with a goal is watched from then on.
        watched = self.proof.watched(session) if session is not None else None
        if watched is not None:
            self.proof.add(watched, fact.GoalStood(at=self._clock.timestamp(), goal=goal))

    def _line(self, goal: Goal, text: str, kind: str, **more: Any) -> None:
        metadata = {"goalId": goal.id, "kind": kind, "revision": goal.revision, **more}
        try:
            self.streams.post(
                goal.session_id,
                _STREAM,
                BUILTIN_PROVIDER,
                level="keep",
                event=one_line(text),
                metadata=raw(metadata),
            )
        except WireError:  # a session with too many streams: its events have it all the same
            return

    def session_ended(self, session: OpenSession) -> None:
        """A goal that a session was started with is over with it: nothing is left to be resumed."""
        goal = self._of.get(session.id, {}).get(session.until)
        if goal is not None and goal.is_open:
            self.change(goal, "tapui", "failed", {"status": "failed"})

    # Judging

    def verify(self, goal: Goal, then: Verified | None = None) -> None:
        """Judge all criteria now; `then` takes the goal and the report."""
        session = self.sessions.open.get(goal.session_id)
        if session is None:
            return
        asked = [DemandAsked(one.id, demand_of(one)) for one in goal.criteria]

        def judged(found: list[DemandJudged]) -> None:
            now = self._of.get(session.id, {}).get(goal.id)
            if now is None:
                return  # its session has ended meanwhile
            results = [result_of(one.asked.key, one) for one in found]
            report = self.verifying.report(results, now.id)
            is_same = [one.check for one in now.criteria] == [one.check for one in goal.criteria]
            if now.is_open and is_same:
                now = self._judged(now, found, report)
            if then is not None:
                then(now, report)

        self.verifying.judge(session, goal, asked, judged)

    def _judged(self, goal: Goal, found: list[DemandJudged], report: GoalReport) -> Goal:
        """Take the verdicts; a goal of which all criteria passed at this moment is achieved."""
        criteria = self._with_verdicts(goal, found)
        is_achieved = bool(criteria) and all(
            one.verdict is not None and one.verdict.state == "passed" for one in criteria
        )  # fmt: skip
        now = self._clock.timestamp()
        changed = goal
        if is_achieved or criteria != goal.criteria:
            changed = replace(goal, criteria=criteria, revision=goal.revision + 1)
        if is_achieved:
            changed = replace(
                changed,
                status="achieved",
                verified_at=now,
                closed_at=now,
                closed_by=FOLD,
                changed_since=0,
            )
        if changed is not goal:
            self._put(changed)
        self._out.emit(ev.GoalVerified(changed.session_id, changed, report=report))
        if is_achieved:
            self._out.emit(ev.GoalClosed(changed.session_id, changed))
        counts = report.counts
        text = f"{counts.passed} of {len(criteria)} criteria passed: {changed.title}"
        self._line(changed, f"achieved: {changed.title}" if is_achieved else text, "goal.verified",
                   checkId=report.evidence_id)  # fmt: skip
        return changed

    def _with_verdicts(self, goal: Goal, found: list[DemandJudged]) -> list[GoalCriterion]:
        return [
            replace(
                criterion,
                verdict=one.verdict,
                surface=one.surface,
                changed=self._changed_surface(goal, criterion, one),
            )
            for criterion, one in zip(goal.criteria, found, strict=True)
        ]

    def _judge_recorded(self, session: OpenSession, goal_id: str) -> None:
        """Judge a goal with new criteria by what is recorded already. It stays open also where all
        have passed: it is about work that is still to come, and the turn's end judges that."""
        goal = self._of.get(session.id, {}).get(goal_id)
        watched = self.proof.of(session.id)
        if goal is None or not (goal.is_open and goal.criteria) or watched is None:
            return
        asked = [DemandAsked(one.id, demand_of(one)) for one in goal.criteria]

        def judged(found: list[DemandJudged]) -> None:
            now = self._of.get(session.id, {}).get(goal_id)
            is_known = any(one.verdict.state != "unknown" for one in found)
            if now is None or not now.is_open or now.criteria != goal.criteria or not is_known:
                return
            criteria = self._with_verdicts(now, found)
            changed = replace(now, criteria=criteria, revision=now.revision + 1)
            self._put(changed)
            self._out.emit(ev.GoalUpdated(session.id, changed, by="tapui", what="judged"))

        self.verifying.judge(session, goal, asked, judged)

    # What a check does (its surface)

    def _read_surfaces(
        self, session: OpenSession, goal: Goal, criteria: Sequence[GoalCriterion]
    ) -> None:
        """Note what the checks of these criteria do now; then judge the goal."""
        watched = self.proof.watched(session)
        wanted = [DemandAsked(one.id, one.check) for one in criteria if isinstance(one.check, Ran)]
        if watched is None:
            return

        def then() -> None:
            self._judge_recorded(session, goal.id)

        self.verifying.surfaces(
            session,
            wanted,
            lambda key, found: self._note_surface(
                goal, key, found.digest, found.files, found.fault
            ),
            then,
        )

    def _note_surface(
        self, goal: Goal, criterion_id: str, digest: str, files: dict[str, str], fault: str = ""
    ) -> None:
        """From now on exactly this is what a criterion's check is to do; with a `fault` that is
        not known, until the person allows it."""
        watched = self.proof.of(goal.session_id)
        if watched is not None:
            now = self._clock.timestamp()
            self.proof.add(
                watched,
                fact.SurfaceSeen(
                    at=now,
                    goal_id=goal.id,
                    criterion_id=criterion_id,
                    digest=digest,
                    files=files,
                    fault=fault,
                ),
            )

    def allow_now(
        self,
        session: OpenSession,
        goal: Goal,
        criterion: GoalCriterion,
        digest: str,
        then: Callable[[Goal], None],
    ) -> None:
        """Let a changed check count, if it is still what `digest` says, and judge the goal."""

        def read(found: list[DemandJudged]) -> None:
            for one in found:
                if one.surface == digest:
                    self._note_surface(goal, criterion.id, digest, one.files)
            self.verify(goal, lambda now, _report: then(now))

        asked = [DemandAsked(criterion.id, demand_of(criterion))]
        self.verifying.judge(session, goal, asked, read)

    def _changed_surface(
        self, goal: Goal, criterion: GoalCriterion, one: DemandJudged
    ) -> list[SurfaceChange]:
        watched = self.proof.of(goal.session_id)
        marks = watched.history.goals.by_id.get(goal.id) if watched is not None else None
        noted = marks.surfaces.get(criterion.id) if marks is not None else None
        is_known = noted is not None and not noted.fault
        if not one.surface or (noted is not None and is_known and noted.digest == one.surface):
            return []
        before = noted.files if noted is not None and is_known else {}
        return surface_changes(before, one.files) or [SurfaceChange(".")]

    # Events

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.SessionReplaced(session=session, replaces=former):
                self._moved(former, session.id)
            case ev.SessionClosed(session_id=id_):
                self._of.pop(id_, None)
                self._carried.pop(id_, None)
            case ev.CallFinished(session_id=id_, call=call) if self._of.get(id_):
                self._called(id_, call)

    def _restored(self, watched: SessionProof) -> None:
        """The ledger of a session was read: goals of before are there again, and those that it has
        by now are kept."""
        id_ = watched.session_id
        known = dict(watched.history.goals.by_id)
        self._keep_all(watched)
        own = self._of.setdefault(id_, {})
        for marks in known.values():
            goal = replace(marks.goal, session_id=id_)
            if goal.id not in own and len(own) < limits.MAX_GOALS:
                own[goal.id] = goal
                self._out.emit(ev.GoalUpdated(id_, goal, by="tapui", what="restored"))
        self.on_restored(id_)

    def _keep_all(self, watched: SessionProof) -> None:
        """Keep the goals that a session has and its ledger has not."""
        known = set(watched.history.goals.by_id)
        for goal in self.of(watched.session_id):
            if goal.id not in known:
                self._keep(goal)
        for marks in self._carried.pop(watched.session_id, ()):
            self._keep_marks(watched, marks)

    def _keep_again(self, watched: SessionProof) -> None:
        """The ledger of a session is empty again: its goals stay, with nothing proven."""
        for goal in self.of(watched.session_id):
            self._keep(goal)

    def _keep_marks(self, watched: SessionProof, marks: GoalMarks) -> None:
        now = self._clock.timestamp()
        for text, is_yes in marks.answers.items():
            told = fact.PersonAnswered(at=now, goal_id=marks.goal.id, text=text, is_yes=is_yes)
            self.proof.add(watched, told)
        for surface in marks.surfaces.values():
            self.proof.add(watched, replace(surface, at=now))

    def _moved(self, former: str, current: str) -> None:
        """Another session takes the place of one (`/clear`): it has its goals."""
        watched = self.proof.of(former)
        if watched is not None:
            self._carried[current] = list(watched.history.goals.by_id.values())
        for goal in self._of.pop(former, {}).values():
            moved = replace(goal, session_id=current)
            self._of.setdefault(current, {})[moved.id] = moved
        beside = self.proof.of(current)
        if beside is not None and beside.is_open:  # it was open already
            self._keep_all(beside)

    def _called(self, session_id: str, call: Call) -> None:
        """Record the end of a call that an open goal is about."""
        watched = self.proof.of(session_id)
        if watched is None or not any(
            isinstance(one.check, Called) and one.check.tool == call.tool
            for goal in self._of[session_id].values()
            if goal.is_open
            for one in goal.criteria
        ):
            return
        self.proof.add(
            watched,
            fact.ToolEnded(
                at=self._clock.timestamp(),
                call_id=call.id,
                tool=call.tool,
                is_ok=call.state == "done" and call.error is None and not call.exit_code,
                by=call.provider if call.provider_id is not None else call.answered_by or "",
                args=self._arguments(session_id, call),
            ),
        )

    def _arguments(self, session_id: str, call: Call) -> dict[str, str]:
        known = self._out.state.recent_calls.get(call.id)
        args = known.args if known is not None and known.session_id == session_id else None
        if args is None:
            return {}
        given = msgspec.json.decode(args)
        fields = given if isinstance(given, dict) else {}
        encoded = {str(name)[: limits.MAX_ID]: encode(one).decode() for name, one in fields.items()}
        return {name: text for name, text in encoded.items() if len(text) <= _MAX_ARGUMENT}

    def _recount(self, watched: SessionProof) -> None:
        """Count what changed since goals were achieved."""
        if watched.history.states is None:
            return
        for goal in self.of(watched.session_id):
            marks = watched.history.goals.by_id.get(goal.id)
            if goal.status != "achieved" or marks is None or marks.achieved is None:
                continue
            ignored = self.proof.setting.ignore
            found = difference(marks.achieved, watched.history.states, ignored)
            count = sum(map(len, found.changed.values()))
            self._count(goal, count if count or not found.unknown else None)

    def _count(self, goal: Goal, since: int | None) -> None:
        if since == goal.changed_since:
            return
        changed = replace(goal, changed_since=since)
        self._put(changed)
        what = "changed since"
        self._out.emit(ev.GoalUpdated(goal.session_id, changed, by="tapui", what=what))


def criteria_of(
    given: Sequence[CriterionGiven],
    known: Sequence[GoalCriterion],
    by: GoalOpener,
    *,
    taken: Sequence[str] = (),
) -> list[GoalCriterion]:
    """Return given criteria, each with an id of its own, none of `taken`. Raises `WireError`."""
    if len(given) + len(known) > limits.MAX_CRITERIA:
        text = f"criteria: at most {limits.MAX_CRITERIA} of a goal"
        raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, text)
    ids = {*taken, *(one.id for one in known)}
    made = []
    for at, one in enumerate(given):
        check = own_check(one.check, f"criteria[{at}].check")
        text = one.text.strip() or (expected(check) if check is not None else "")
        if not text:
            raise WireError(ErrorCode.INVALID_JSON, f"criteria[{at}].text: must not be empty")
        id_ = one.id or next(id_ for n in range(1, 10**4) if (id_ := f"c{n}") not in ids)
        if id_ in ids:
            raise WireError(ErrorCode.INVALID_JSON, f"criteria[{at}].id: {id_} is there already")
        ids.add(id_)
        made.append(GoalCriterion(id_, text, check, by=by))
    return made


def own_check(check: AnyDemand | None, field: str) -> AnyDemand | None:
    """Return a check that does not hold on to the message it came in."""
    if check is None:
        return None
    data = encode(check)
    if depth_exceeds(data, limits.MAX_DEPTH):
        raise WireError(ErrorCode.INVALID_JSON, f"{field}: nested too deep")
    if isinstance(check, Ran) and not check.command.strip():
        raise WireError(ErrorCode.INVALID_JSON, f"{field}.command: must not be empty")
    own: AnyDemand = _check_decoder.decode(data)
    return own


def _check_size(goal: Goal) -> None:
    bare = replace(goal, criteria=[replace(one, verdict=None, changed=[]) for one in goal.criteria])
    if len(encode(bare)) > limits.MAX_GOAL_BYTES:
        text = f"criteria: a goal has at most {limits.MAX_GOAL_BYTES // 1024} KiB"
        raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, text)
