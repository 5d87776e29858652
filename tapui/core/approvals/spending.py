"""Budgets of sessions: once one is used up, the next prompt waits for the person.

What was used is what the session's host tells (`projection.turns.usage`).
"""

from dataclasses import dataclass, field
from typing import Any

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.approvals.policies import BY_NOBODY
from tapui.core.context import CorePart
from tapui.core.hooks.prompts import Prompts
from tapui.core.model import Connection, OpenSession
from tapui.core.sessions.sessions import OpenSessions
from tapui.projection.summary import one_line
from tapui.projection.turns.usage import tokens
from tapui.settings.settings import Spend
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import PromptHeld, PromptPrepared, PromptSubmitted, SessionLog
from tapui.wire.subjects import Budget
from tapui.wire.tower import SessionBudget
from tapui.wire.turns import Usage

GO_ON = "go on once"
RAISE = "raise the budget by as much again, and go on"
_MOST = 2**53
_ASKED = 200
"""Characters of a prompt that the question shows."""


@dataclass(slots=True, eq=False)
class HeldPrompts:
    """The prompts of a session that wait for one answer."""

    session: OpenSession
    prompts: list[tuple[Connection, PromptSubmitted]] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class Spending(CorePart):
    """Looks at each prompt before it is prepared."""

    sessions: OpenSessions
    approvals: Approvals
    prompts: Prompts
    setting: Spend

    def __post_init__(self) -> None:
        super().__post_init__()
        self._default = Budget(self.setting.tokens or None, self.setting.requests or None)

    # Budgets

    @property
    def default(self) -> Budget | None:
        """What a session may use until the person says otherwise; None: as much as it wants."""
        return None if self._default == Budget() else self._default

    def set(self, tower: Connection, message: SessionBudget) -> None:  # noqa: ARG002
        """The person sets what a session may use, or that it is as much as it wants.

        Raises `WireError` for what is no amount.
        """
        session = self.sessions.required(message.session_id)
        for name, value in (("tokens", message.tokens), ("requests", message.requests)):
            if value is not None and not 0 < value <= _MOST:
                text = f"{name}: must be a number above 0, and at most {_MOST}"
                raise WireError(ErrorCode.INVALID_JSON, text, session_id=session.id)
        most = None if message.tokens is None else max(int(message.tokens), 1)
        budget = Budget(most, None if message.requests is None else float(message.requests))
        self.sessions.update(session, budget=None if budget == Budget() else budget)

    def _used(self, session: OpenSession) -> Usage:
        turns = self._out.state.turns.get(session.id)
        return Usage() if turns is None else turns.used()

    def _over(self, session: OpenSession) -> str | None:
        """Return how much was used of a budget that is used up; None while there is some left."""
        budget, used = session.view.budget, self._used(session)
        if budget is None:
            return None
        if budget.tokens is not None and tokens(used) >= budget.tokens:
            return f"{tokens(used):,} of {budget.tokens:,} tokens"
        requests = used.requests or 0.0
        if budget.requests is not None and requests >= budget.requests:
            return f"{requests:g} of {budget.requests:g} premium requests"
        return None

    def _raise(self, session: OpenSession) -> None:
        """Let a session use as much again as its budget was, from what it has used by now."""
        budget, used = session.view.budget, self._used(session)
        if budget is None:
            return
        raised = Budget(
            None if budget.tokens is None else max(tokens(used), budget.tokens) + budget.tokens,
            None
            if budget.requests is None
            else max(used.requests or 0.0, budget.requests) + budget.requests,
        )
        self.sessions.update(session, budget=raised)

    # Prompts

    def submitted(
        self, connection: Connection, session: OpenSession, message: PromptSubmitted
    ) -> None:
        """Prepare a prompt, or ask the person first where the budget is used up.

        Sections alone send nothing to a model.
        """
        over = None if message.only_sections else self._over(session)
        if over is None:
            self.prompts.begin(connection, session, message)
            return
        waiting = self._held(session)
        if waiting is None:
            prompt = one_line(message.prompt)[:_ASKED]
            detail = {
                "kind": "budget",
                "question": f"The budget is used up ({over}). Send this prompt? {prompt}",
                "choices": [GO_ON, RAISE],
                "allowFreeform": False,
            }
            waiting = self.approvals.request(
                "userInput",
                connection,
                HeldPrompts(session),
                detail,
                limits.HOST_APPROVAL_TIMEOUT,
                on_decided=self._decided,
                on_expired=self._expired,
                session_id=session.id,
            )
            text = f"the budget of this session is used up ({over}): tapui asks you first"
            self._out.send(session.host, SessionLog(session.id, text, "warning"))
        waiting.subject.prompts.append((connection, message))
        self._out.send(connection.id, PromptHeld(message.id))
        if session.view.unattended:
            reason = "nobody is asked in this session"
            self.approvals.decide(Decided(waiting, "deny", BY_NOBODY, reason=reason))

    def _held(self, session: OpenSession) -> WaitingApproval | None:
        for waiting in self.approvals.waiting.values():
            subject: Any = waiting.subject
            is_it = isinstance(subject, HeldPrompts) and subject.session is session
            if is_it and not waiting.is_deciding:
                return waiting
        return None

    def _decided(self, decided: Decided) -> None:
        held: HeldPrompts = decided.waiting.subject
        if decided.verdict != "approve":
            reason = decided.reason or "you said no in tapui"
            self._refuse(held, f"{reason}; ↑ brings the prompt back")
            return
        if decided.answer == RAISE and held.session.is_open:
            self._raise(held.session)
        for connection, message in held.prompts:
            if connection.is_open and held.session.is_open:
                self.prompts.begin(connection, held.session, message)

    def _expired(self, waiting: WaitingApproval) -> None:
        self._refuse(waiting.subject, "nobody answered in tapui; ↑ brings the prompt back")

    def stopped(self, session: OpenSession) -> None:
        """A turn was stopped: its prompt no longer waits."""
        waiting = self._held(session)
        if waiting is not None:
            self.approvals.withdraw(waiting, reason="the turn was stopped")
            self._refuse(waiting.subject, "the turn was stopped")

    def _refuse(self, held: HeldPrompts, why: str) -> None:
        over = self._over(held.session)
        used = f" ({over})" if over is not None else ""
        reason = f"the budget of this session is used up{used}, and {why}"
        for connection, message in held.prompts:
            if connection.is_open:
                answer = PromptPrepared(message.id, [], {}, refused=reason)
                self._out.send(connection.id, answer)
