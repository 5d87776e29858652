"""What the person and the agents ask about goals: handlers of their messages.

Each raises `WireError` to refuse. Towers' messages come from the person alone; those of the
built-in tools are about goals of the calling session alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tapui.core.context import CorePart
from tapui.core.goals.goals import Goals
from tapui.core.goals.person import GoalQuestions
from tapui.core.goals.sending_back import SendingBack
from tapui.core.goals.verifying import Verifying
from tapui.core.model import Connection, OpenSession
from tapui.core.proof.watching import Proof
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import ClaimsAudited
from tapui.wire.goals import (
    AuditAsked,
    AuditedClaim,
    CheckResult,
    Claim,
    ClaimAudit,
    ClaimsReported,
    ClaimVerdict,
    EvidenceCheck,
    Goal,
    GoalAnswer,
    GoalAsked,
    GoalChange,
    GoalDrop,
    GoalNote,
    GoalOpen,
    GoalReport,
    GoalReported,
    GoalsList,
    GoalsRead,
    GoalStatus,
    GoalUpdateAsked,
    GoalVerify,
    SessionGoalsRead,
    SurfaceAllow,
    VerifyAsked,
)

_WORST: tuple[ClaimVerdict, ...] = ("contradicted", "unsupported", "supported")


@dataclass(eq=False, repr=False)
class GoalRequests(CorePart):
    """Takes the messages."""

    sessions: OpenSessions
    goals: Goals
    goal_questions: GoalQuestions
    sending_back: SendingBack
    verifying: Verifying
    proof: Proof

    # The person's

    def open(self, connection: Connection, message: GoalOpen) -> None:
        session = self.sessions.required(message.session_id)
        self.sending_back.check_allowed(message.unproven)
        goal = self.goals.open(
            session,
            message.title,
            message.criteria,
            "person",
            unproven=message.unproven,
            agent=message.agent,
            parent=message.parent,
            deadline=message.deadline,
            budget=message.budget,
        )
        self._out.send(connection.id, GoalAnswer(message.id, goal))

    def change(self, connection: Connection, message: GoalChange) -> None:
        """Change a goal as the person wants it: achieved without a proof, too."""
        goal = self._changeable(message.goal_id)
        self.sending_back.check_allowed(message.unproven)
        given = {
            "title": message.title,
            "status": message.status,
            "unproven": message.unproven,
            "deadline": message.deadline,
            "budget": message.budget,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        if not (changes or message.add_criteria or message.drop_criteria):
            raise WireError(ErrorCode.INVALID_JSON, "nothing is to be changed")
        what = ", ".join(str(changes.get(one, one)) for one in changes) or "criteria"
        goal = self.goals.change(
            goal,
            connection.by,
            what,
            changes,
            add=message.add_criteria,
            drop=message.drop_criteria,
        )
        self._out.send(connection.id, GoalAnswer(message.id, goal))

    def verify(self, connection: Connection, message: GoalVerify) -> None:
        session, goal = self.goals.find(message.goal_id)

        def done(now: Goal, report: GoalReport) -> None:
            if now.is_open:
                self.goal_questions.ask_criteria(session, now)
            if connection.is_open:
                self._out.send(connection.id, GoalAnswer(message.id, now, report))

        self.goals.verify(goal, done)

    def note(self, connection: Connection, message: GoalNote) -> None:
        _, goal = self.goals.find(message.goal_id)
        if not message.text.strip():
            raise WireError(ErrorCode.INVALID_JSON, "text: must not be empty")
        noted = self.goals.change(
            goal, connection.by, "noted", {"note": message.text, "note_by": "person"}
        )
        self._out.send(connection.id, GoalAnswer(message.id, noted))

    def drop(self, connection: Connection, message: GoalDrop) -> None:
        goal = self._changeable(message.goal_id)
        note = {"note": message.reason, "note_by": "person"} if message.reason.strip() else {}
        gone = self.goals.change(goal, connection.by, "dropped", {"status": "abandoned", **note})
        self._out.send(connection.id, GoalAnswer(message.id, gone))

    def _changeable(self, goal_id: str) -> Goal:
        _, goal = self.goals.find(goal_id)
        _check_own(goal)
        return goal

    def allow(self, connection: Connection, message: SurfaceAllow) -> None:
        """Let a criterion's check count as it was changed, if it is still that change."""
        session, goal = self.goals.find(message.goal_id)
        criterion = next((one for one in goal.criteria if one.id == message.criterion_id), None)
        if criterion is None or criterion.surface != message.surface or not criterion.changed:
            raise WireError(ErrorCode.NOT_FOUND, "surface: that is not what was changed")
        self.goals.allow_now(session, goal, criterion, message.surface, lambda now: self._out.send(
            connection.id, GoalAnswer(message.id, now)))  # fmt: skip

    def read(self, connection: Connection, message: GoalsRead) -> None:
        if message.session_id is None:
            found = self.goals.all()
        else:
            found = self.goals.of(self.sessions.required(message.session_id).id)
        listed = _chosen(found, message.status, message.last)
        self._out.send(connection.id, GoalsList(message.id, listed))

    # The agents'

    def create(self, connection: Connection, message: GoalAsked) -> None:
        session = self.sessions.required(message.session_id)
        if not message.criteria:
            raise WireError(ErrorCode.INVALID_JSON, "criteria: at least one")
        goal = self.goals.open(
            session,
            message.title,
            message.criteria,
            "agent",
            parent=message.parent,
            deadline=message.deadline,
            budget=message.budget,
        )
        self._out.send(connection.id, GoalAnswer(message.id, goal))

    def update(self, connection: Connection, message: GoalUpdateAsked) -> None:
        """Change a goal of the agent's own; at the person's it can only note something."""
        session, goal = self._own(message.session_id, message.goal_id)
        _check_own(goal)
        self._check_times(message.evidence, "evidence")
        self.sending_back.updated(session.id)
        if goal.opened_by != "agent" and (message.status is not None or message.add_criteria):
            text = "the person opened this goal: you can note and verify it, not change it"
            raise WireError(ErrorCode.UNAUTHORIZED, text)
        changes: dict[str, object] = {}
        if message.status is not None:
            changes["status"] = message.status
        if message.note.strip():
            changes |= {"note": message.note, "note_by": "agent"}
        if changes or message.add_criteria:
            what = message.status or ("noted" if message.note.strip() else "criteria")
            goal = self.goals.change(
                goal, "agent", what, changes, add=message.add_criteria, who="agent"
            )
        if not message.evidence:
            self._out.send(connection.id, GoalAnswer(message.id, goal))
            return

        def checked(results: list[CheckResult]) -> None:
            report = self.verifying.report(results, goal.id)
            if connection.is_open:
                self._out.send(connection.id, GoalAnswer(message.id, goal, report))

        self.verifying.check(session, goal, message.evidence, checked)

    def listed(self, connection: Connection, message: SessionGoalsRead) -> None:
        session = self.sessions.required(message.session_id)
        found = _chosen(self.goals.of(session.id), message.status, message.last)
        self._out.send(connection.id, GoalsList(message.id, found))

    def verify_asked(self, connection: Connection, message: VerifyAsked) -> None:
        """Verify a goal, or an agent's own checks."""
        session = self.sessions.required(message.session_id)
        self._check_times(message.checks, "checks")
        goal = None
        if message.goal_id is not None:
            session, goal = self._own(message.session_id, message.goal_id)

        def answer(now: Goal | None, report: GoalReport) -> None:
            if now is not None and now.is_open and not message.checks:
                self.goal_questions.ask_criteria(session, now)
            if connection.is_open:
                self._out.send(connection.id, GoalReported(message.id, report, now))

        if message.checks:
            self.verifying.check(
                session,
                goal,
                message.checks,
                lambda results: answer(
                    goal, self.verifying.report(results, goal.id if goal is not None else None)
                ),
                allows_stated=message.allow_stated,
            )
        elif goal is None or not goal.criteria:
            text = "checks: at least one, or a goal with criteria"
            raise WireError(ErrorCode.INVALID_JSON, text)
        else:
            self.goals.verify(goal, answer)

    def audit(self, connection: Connection, message: AuditAsked) -> None:
        """Hold claims against what is recorded."""
        session = self.sessions.required(message.session_id)
        goal = None
        if message.goal_id is not None:
            session, goal = self._own(message.session_id, message.goal_id)
        if not message.claims:
            raise WireError(ErrorCode.INVALID_JSON, "claims: at least one")
        for at, claim in enumerate(message.claims):
            self._check_times(claim.evidence, f"claims[{at}].evidence")
        checks = [check for claim in message.claims for check in claim.evidence]

        def checked(results: list[CheckResult]) -> None:
            rest = iter(results)
            audited = [
                _audited(claim, at, [next(rest) for _ in claim.evidence])
                for at, claim in enumerate(message.claims)
            ]
            material = [one.verdict for one in audited if one.material]
            audit = ClaimAudit(
                next((one for one in _WORST if one in material), "unsupported"),
                audited,
                self._ids.id("au"),
                self._clock.timestamp(),
                goal.id if goal is not None else None,
            )
            self._out.emit(ClaimsAudited(session.id, audit))
            if connection.is_open:
                self._out.send(connection.id, ClaimsReported(message.id, audit))

        self.verifying.check(session, goal, checks, checked)

    def _check_times(self, checks: Sequence[EvidenceCheck], field: str) -> None:
        for at, one in enumerate(checks):
            self.verifying.check_times(one.of, f"{field}[{at}]")

    def _own(self, session_id: str, goal_id: str) -> tuple[OpenSession, Goal]:
        """Return a goal of the calling session. Raises `NOT_FOUND` for another's."""
        session, goal = self.goals.find(goal_id)
        if session is not self.sessions.required(session_id):
            raise WireError(ErrorCode.NOT_FOUND, f"goalId: no goal {goal_id} is there")
        return session, goal


def _check_own(goal: Goal) -> None:
    """Refuse to change what is not tapui's. Raises `UNAUTHORIZED`."""
    if goal.opened_by == "copilot":
        text = "this is the session's own objective: it is changed there alone, by /goal"
        raise WireError(ErrorCode.UNAUTHORIZED, text)


def _chosen(goals: Sequence[Goal], status: GoalStatus | None, last: int) -> list[Goal]:
    return [one for one in goals if status is None or one.status == status][-last:]


def _audited(claim: Claim, at: int, results: list[CheckResult]) -> AuditedClaim:
    """Judge a claim: supported where a check passed and none failed."""
    failed = [one for one in results if one.status == "fail"]
    verdict: ClaimVerdict = "unsupported"
    reason = "nothing that is recorded supports it" if results else "it has no evidence"
    if failed:
        verdict, reason = "contradicted", failed[0].reason or failed[0].actual
    elif any(one.status == "pass" for one in results):
        verdict, reason = "supported", ""
    return AuditedClaim(claim.id or f"claim-{at + 1}", claim.text, verdict, reason,
                        claim.material, results)  # fmt: skip
