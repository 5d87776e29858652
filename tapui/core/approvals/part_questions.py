"""Questions of parts: what runs beside the gateway asks the person, as a host does."""

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.context import CorePart
from tapui.core.effects import AnswerPart
from tapui.core.model import Connection, Standing
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire import limits
from tapui.wire.subjects import ApprovalKind

NOBODY_IS_ASKED = "nobody is asked in this session"


class PartQuestion(Struct, frozen=True, kw_only=True):
    """What a part asks; `id` is chosen by the shell. `timeout` is seconds.

    With a session it is withdrawn when that ends; an unattended one denies it at once.
    """

    id: str
    kind: ApprovalKind
    detail: dict[str, Any]
    session_id: str | None = None
    provider: str | None = None
    timeout: float = limits.HOST_APPROVAL_TIMEOUT


@dataclass(eq=False, repr=False)
class PartQuestions(CorePart):
    """Opens approvals for parts."""

    approvals: Approvals
    sessions: OpenSessions

    def __post_init__(self) -> None:
        super().__post_init__()
        self._waiting: dict[str, WaitingApproval] = {}
        self._asker = Connection(0, None, standing=Standing.BUILTIN)
        """Stands for tapui itself, which has no connection."""

    def ask(self, question: PartQuestion) -> str | None:
        """Open an approval, and return its id; how it ended comes as `AnswerPart`.

        None: it was answered at once, as no person can be asked.
        """
        session_id = question.session_id
        if session_id is not None:
            session = self.sessions.get(session_id)
            if session is None or not session.is_open:
                self._answer(question.id, "withdrawn", reason="the session ended")
                return None
            if session.view.unattended:
                self._answer(question.id, "denied", reason=NOBODY_IS_ASKED)
                return None
            session_id = session.id
        if len(self._waiting) >= limits.MAX_REQUESTS:
            text = f"{limits.MAX_REQUESTS} requests wait already, which is as much as may be"
            self._answer(question.id, "denied", reason=text)
            return None
        waiting = self.approvals.request(
            question.kind,
            self._asker,
            question.id,
            question.detail,
            question.timeout,
            on_decided=self._decided,
            on_expired=self._expired,
            on_withdrawn=self._withdrawn,
            session_id=session_id,
            provider=question.provider,
        )
        self._waiting[question.id] = waiting
        return waiting.view.id

    def withdraw(self, question_id: str, reason: str) -> None:
        """The answer is not wanted any more: none comes. A decision that is being recorded is
        without effect."""
        waiting = self._waiting.pop(question_id, None)
        if waiting is not None and not waiting.is_deciding:
            self.approvals.withdraw(waiting, reason=reason)

    # Outcomes

    def _decided(self, decided: Decided) -> None:
        is_approved = decided.verdict == "approve"
        self._settle(
            decided.waiting, "approved" if is_approved else "denied", decided.answer, decided.reason
        )

    def _expired(self, waiting: WaitingApproval) -> None:
        self._settle(waiting, "expired", reason="nobody decided in time")

    def _withdrawn(self, waiting: WaitingApproval, reason: str) -> None:
        self._settle(waiting, "withdrawn", reason=reason)

    def _settle(
        self,
        waiting: WaitingApproval,
        outcome: str,
        answer: Any = None,
        reason: str | None = None,
    ) -> None:
        id_ = waiting.subject
        if self._waiting.pop(id_, None) is not None:
            self._answer(id_, outcome, answer, reason)

    def _answer(
        self, id_: str, outcome: str, answer: Any = None, reason: str | None = None
    ) -> None:
        self._out.effects.append(AnswerPart(id_, outcome, answer, reason))  # type: ignore[arg-type]
