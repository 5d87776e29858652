"""Approvals: what waits for the person; the first decision wins. Each brings what follows."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import MakeDurable
from tapui.core.model import Connection, OpenSession
from tapui.policies.requests import AskedFor
from tapui.projection.approvals import HOST_CODES
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import (
    ApprovalDecided,
    ApprovalDeciding,
    ApprovalExpired,
    ApprovalJudged,
    ApprovalRequested,
    ApprovalRevealed,
    ApprovalWithdrawn,
)
from tapui.wire.message import Error
from tapui.wire.subjects import AppliedRule, Approval, ApprovalKind, Decision, Judged


@dataclass(slots=True, eq=False)
class WaitingApproval:
    """An approval that is not settled. `asker` is the connection that waits for it."""

    view: Approval
    asker: Connection
    subject: Any
    """What the asker's module needs to continue: a request id, a mode, a name."""
    on_decided: Callable[["Decided"], None]
    """Takes the decision once it holds, or has failed."""
    on_expired: Callable[["WaitingApproval"], None]
    on_withdrawn: Callable[["WaitingApproval", str], None]
    """Takes why, where its session ended."""
    deadline: Deadline | None = None
    size: int = 0
    """The bytes of the detail, where a host gave it."""
    asked: AskedFor | None = None
    """What a permission asks for, in the terms of rules."""
    began: float = 0.0
    """Since when it waits, in seconds of the core's clock."""

    @property
    def is_deciding(self) -> bool:
        """Whether a decision is being recorded: further ones come too late."""
        return self.view.state == "deciding"


def said_by(host: Connection, by: str | None) -> str | None:
    """Return how it is recorded who decided, by the word of a host: a code of its program's
    unchanged, any other word behind the host's name."""
    return by if by is None or by in HOST_CODES else f"in {host.name}: {by}"


@dataclass(slots=True, frozen=True)
class Decided:
    """A decision that is recorded; one that could not be comes as a denial."""

    waiting: WaitingApproval
    verdict: Decision
    by: str
    answer: Any = None
    reason: str | None = None
    tower: Connection | None = None
    sessions: tuple[str, ...] = ()
    rule: AppliedRule | None = None
    """The rule that decided, in the person's place."""
    is_kept: bool = False
    """Whether exactly this is allowed until the session or tapui ends."""


class Approvals:
    """The registry.

    A decision is first recorded as `approval.deciding`. It has no effect until that record is
    durable; then it is `revealed`, `approved` or `denied`, or it has `failed`.
    """

    def __init__(self, context: CoreContext) -> None:
        self._clock, self._out, self._tickets = context.clock, context.out, context.tickets
        self._deadlines, self._ids = context.deadlines, context.ids
        self.waiting: dict[str, WaitingApproval] = {}
        """What can be decided, withdrawn or expire; pairings that are being revealed, too."""
        self.deciding: dict[str, WaitingApproval] = {}
        """What was approved or denied, until that is recorded."""

    def request(
        self,
        kind: ApprovalKind,
        asker: Connection,
        subject: Any,
        detail: Any,
        timeout: float,
        *,
        on_decided: Callable[[Decided], None],
        on_expired: Callable[[WaitingApproval], None],
        on_withdrawn: Callable[[WaitingApproval, str], None] = lambda _, __: None,
        session_id: str | None = None,
        provider: str | None = None,
        size: int = 0,
        waited: float = 0.0,
        asked: AskedFor | None = None,
        rule: AppliedRule | None = None,
        judged: Judged | None = None,
    ) -> WaitingApproval:
        """Open an approval that expires in `timeout` seconds, and was asked for `waited` seconds
        ago; `size` is the detail's, in bytes.

        `judged` is what rules say of it, and `rule` the one that decides.
        """
        view = Approval(
            id=self._ids.id("a"),
            kind=kind,
            state="waiting",
            detail=detail,
            created_at=self._clock.timestamp(-waited),
            expires_at=self._clock.timestamp(timeout),
            session_id=session_id,
            provider=provider,
            rule=rule,
            judged=judged,
        )
        waiting = WaitingApproval(
            view,
            asker,
            subject,
            on_decided,
            on_expired,
            on_withdrawn,
            size=size,
            asked=asked,
            began=self._clock.now - waited,
        )
        waiting.deadline = self._deadlines.add(self._clock.now + timeout, Due.APPROVAL, waiting)
        self.waiting[view.id] = waiting
        self._out.emit(ApprovalRequested(view, session_id))
        return waiting

    def judge(
        self, waiting: WaitingApproval, rule: AppliedRule | None, judged: Judged | None
    ) -> None:
        """Tell what rules say of a request by now, where that is something else than before."""
        if (rule, judged) != (waiting.view.rule, waiting.view.judged):
            waiting.view = replace(waiting.view, rule=rule, judged=judged)
            self._out.emit(ApprovalJudged(waiting.view, waiting.view.session_id))

    def check_room(self, asker: Connection, size: int) -> None:
        """Check that a host may wait for another one. Raises `WireError` (`RATE_LIMITED`)."""
        waiting = [*self.waiting.values(), *self.deciding.values()]
        sizes = [one.size for one in waiting if one.asker is asker]
        if len(sizes) >= limits.MAX_REQUESTS or sum(sizes) + size > limits.MAX_REQUEST_BYTES:
            text = f"{len(sizes)} requests wait already, which is as much as may be at once"
            raise WireError(ErrorCode.RATE_LIMITED, text)

    def of_kind(self, kind: ApprovalKind) -> list[WaitingApproval]:
        """Return the approvals of a kind that wait."""
        return [waiting for waiting in self.waiting.values() if waiting.view.kind == kind]

    def find(self, approval_id: str) -> WaitingApproval:
        """Return an approval that can still be decided. Raises `UNKNOWN_APPROVAL`."""
        waiting = self.waiting.get(approval_id)
        if waiting is None or waiting.is_deciding:
            raise WireError(
                ErrorCode.UNKNOWN_APPROVAL, f"approval {approval_id} no longer waits for a decision"
            )
        return waiting

    def decide(self, decided: Decided) -> None:
        """Record a decision; its `on_decided` takes it when it holds. A form that is sent with text
        in the field that refuses is a denial, and that text its reason.

        A pairing that is being revealed may still expire or be withdrawn meanwhile.
        """
        decided = _refusing(decided)
        waiting = decided.waiting
        if decided.verdict != "reveal":
            self._deadlines.cancel(waiting.deadline)
            del self.waiting[waiting.view.id]
            self.deciding[waiting.view.id] = waiting
        waiting.view = replace(
            waiting.view,
            state="deciding",
            decided_by=decided.by,
            reason=decided.reason,
            rule=decided.rule or waiting.view.rule,
        )
        event = ApprovalDeciding(waiting.view, decided.verdict, waiting.view.session_id)
        ticket = self._tickets.keep(partial(self.recorded, decided))
        self._out.effects.append(MakeDurable(ticket, self._out.emit(event)))

    def recorded(self, decided: Decided, is_ok: bool) -> None:
        """Hand on a decision now that its record is durable, or is known not to be."""
        decided.waiting.on_decided(self._held(decided, is_ok))

    def _held(self, decided: Decided, is_ok: bool) -> Decided:
        """Return the decision as it holds.

        One that could not be recorded has failed: the asker is denied.
        """
        waiting = decided.waiting
        if not waiting.is_deciding:
            return decided  # it expired or was withdrawn while it was being revealed
        self.deciding.pop(waiting.view.id, None)
        if not is_ok:
            return self._failed(decided)
        if decided.verdict == "reveal":
            self._reveal(waiting)
        else:
            state: Literal["approved", "denied"]
            state = "approved" if decided.verdict == "approve" else "denied"
            waiting.view = replace(waiting.view, state=state, duration=self._took(waiting))
            self._out.emit(ApprovalDecided(waiting.view, waiting.view.session_id))
        return decided

    def _reveal(self, waiting: WaitingApproval) -> None:
        """A pairing is open: from now on it waits for its code."""
        self._deadlines.cancel(waiting.deadline)
        timeout = limits.PAIRING_TIMEOUT
        waiting.deadline = self._deadlines.add(self._clock.now + timeout, Due.APPROVAL, waiting)
        waiting.view = replace(
            waiting.view, state="revealed", expires_at=self._clock.timestamp(timeout)
        )
        self._out.emit(ApprovalRevealed(waiting.view, waiting.view.session_id))

    def _failed(self, decided: Decided) -> Decided:
        waiting, reason = decided.waiting, "the decision could not be recorded"
        self.waiting.pop(waiting.view.id, None)
        self._deadlines.cancel(waiting.deadline)
        waiting.view = replace(
            waiting.view, state="failed", reason=reason, duration=self._took(waiting)
        )
        self._out.emit(ApprovalDecided(waiting.view, waiting.view.session_id))
        tower = decided.tower
        if tower is not None and tower.is_open:
            text = "the decision could not be recorded (is the disk full?), so it does not hold"
            self._out.send(tower.id, Error(ErrorCode.INTERNAL, text))
        return Decided(waiting, "deny", decided.by, reason=reason, tower=tower)

    def withdraw(
        self,
        waiting: WaitingApproval,
        by: str | None = None,
        reason: str | None = None,
        answered: Literal["approved", "denied"] | None = None,
    ) -> None:
        """It no longer waits: it was answered elsewhere, or the asker is gone."""
        if self.waiting.pop(waiting.view.id, None) is None:
            return
        self._deadlines.cancel(waiting.deadline)
        waiting.view = replace(
            waiting.view,
            state="withdrawn",
            decided_by=by,
            reason=reason,
            answered=answered,
            duration=self._took(waiting),
        )
        self._out.emit(ApprovalWithdrawn(waiting.view, waiting.view.session_id))

    def session_ended(self, session: OpenSession, reason: str) -> None:
        for waiting in list(self.waiting.values()):
            if waiting.view.session_id == session.id:
                self.withdraw(waiting, reason=reason)
                waiting.on_withdrawn(waiting, reason)

    def session_replaced(self, former: str, current: str) -> None:
        """What is being decided goes on in the session that took the place of its own."""
        for waiting in self.deciding.values():
            if waiting.view.session_id == former:
                waiting.view = replace(waiting.view, session_id=current)

    def expire(self, waiting: WaitingApproval) -> None:
        """Let an approval expire: its time is over."""
        del self.waiting[waiting.view.id]
        waiting.view = replace(waiting.view, state="expired", duration=self._took(waiting))
        self._out.emit(ApprovalExpired(waiting.view, waiting.view.session_id))
        waiting.on_expired(waiting)

    def _took(self, waiting: WaitingApproval) -> float:
        return round((self._clock.now - waiting.began) * 1000, 3)


def _refusing(decided: Decided) -> Decided:
    """Return a form's answer as a denial where it has text in the field that refuses, such as what
    is to change in a plan (`refusal` of its detail)."""
    detail, answer = decided.waiting.view.detail, decided.answer
    field = detail.get("refusal") if isinstance(detail, dict) else None
    text = answer.get(field) if isinstance(answer, dict) and isinstance(field, str) else None
    if decided.verdict != "approve" or not isinstance(text, str) or not text.strip():
        return decided
    return dataclasses.replace(decided, verdict="deny", reason=text.strip())
