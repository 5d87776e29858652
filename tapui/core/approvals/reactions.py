"""What follows a decision, or an approval that expired, for each kind of approval."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.approvals.modes import Modes
from tapui.core.approvals.part_questions import AskedByPart, PartQuestions
from tapui.core.approvals.policies import Policies
from tapui.core.approvals.spending import HeldPrompts, Spending
from tapui.core.context import CoreContext
from tapui.core.emitters.emitter import AskedByAgent, AskedToStart
from tapui.core.emitters.start_requests import StartRequests
from tapui.core.model import Connection
from tapui.core.sessions.sessions import Announcements
from tapui.core.trust.guard import AskedByCommand, PersonGuard
from tapui.core.trust.pairing import Pairings
from tapui.wire.errors import ErrorCode
from tapui.wire.host import ApprovalAnswer
from tapui.wire.message import Error


@dataclass(eq=False, repr=False)
class Reactions:
    """Carries decisions out, once they are recorded."""

    context: CoreContext
    _: KW_ONLY
    announcements: Announcements
    approvals: Approvals
    modes: Modes
    pairings: Pairings
    policies: Policies
    spending: Spending
    start_requests: StartRequests
    part_questions: PartQuestions
    guard: PersonGuard

    def __post_init__(self) -> None:
        self._out = self.context.out
        self.approvals.on_decided = self.decided

    def decided(self, decided: Decided) -> None:
        """A decision holds, or could not be recorded."""
        waiting, subject = decided.waiting, decided.waiting.subject
        tower = decided.tower
        if not decided.is_recorded and tower is not None and tower.is_open:
            text = "the decision could not be recorded (is the disk full?), so it does not hold"
            self._out.send(tower.id, Error(ErrorCode.INTERNAL, text))
        kind, is_approved = waiting.view.kind, decided.verdict == "approve"
        if kind == "pairing":
            if decided.verdict == "reveal":
                self.pairings.revealed(decided)
            else:
                self.pairings.decided(decided)
        elif kind == "mode":
            subject.by = decided.by
            if is_approved and subject.session.is_open:
                waiting.asker.modes.pop(subject.request_id, None)
                self.modes.order(subject)
            else:
                text = decided.reason or f"denied by {decided.by}"
                self.modes.refuse(subject, waiting.asker, decided.by, text)
        elif kind == "bindAll":
            if is_approved and waiting.asker.is_open:
                self._allow_all(waiting.asker, subject)
        elif isinstance(subject, AskedToStart):
            self.start_requests.decided(decided)
        elif isinstance(subject, AskedByCommand):
            self.guard.decided(decided)
        elif isinstance(subject, AskedByAgent):
            subject.decided(decided.by, None if is_approved else decided.reason or "")
        elif isinstance(subject, AskedByPart):
            self.part_questions.decided(decided)
        elif isinstance(subject, HeldPrompts):
            self.spending.decided(decided)
        else:
            if decided.is_kept and is_approved:
                self.policies.keep(waiting)
            self._answer_host(
                waiting.asker, subject, decided.verdict, decided.answer, decided.reason
            )

    def _allow_all(self, connection: Connection, name: str) -> None:
        """Let one connection bind to all sessions under a name; it gets the list of them."""
        if connection.grant is not None:
            connection.may_bind_all = name
            self.announcements.send_to(connection)

    def expired(self, waiting: WaitingApproval) -> None:
        """Carry out what follows when the time for a decision is over."""
        self.approvals.expire(waiting)
        kind, subject = waiting.view.kind, waiting.subject
        if kind == "pairing":
            self.pairings.expired(waiting.asker)
        elif kind == "mode":
            self.modes.refuse(subject, waiting.asker, "nobody", "nobody decided in time")
        elif isinstance(subject, AskedToStart):
            self.start_requests.expired(waiting)
        elif isinstance(subject, AskedByCommand):
            self.guard.expired(waiting)
        elif isinstance(subject, AskedByAgent):
            subject.decided("nobody", "nobody decided in time")
        elif isinstance(subject, AskedByPart):
            self.part_questions.expired(waiting)
        elif isinstance(subject, HeldPrompts):
            self.spending.expired(waiting)
        elif kind != "bindAll":
            self._answer_host(waiting.asker, subject, "expired")

    def _answer_host(
        self,
        connection: Connection,
        request_id: str,
        decision: str,
        answer: Any = None,
        reason: str | None = None,
    ) -> None:
        """Tell a host what became of its request."""
        connection.requests.pop(request_id, None)
        if connection.is_open:
            self._out.send(
                connection.id,
                ApprovalAnswer(request_id, decision, answer, reason),  # type: ignore[arg-type]
            )
