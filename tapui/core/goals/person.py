"""What the person is asked about goals: whether a text is so, and what is to become of a goal."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval
from tapui.core.context import CorePart
from tapui.core.goals.goals import Goals
from tapui.core.model import Connection, OpenSession, Standing
from tapui.core.proof import facts as fact
from tapui.core.proof.watching import Proof
from tapui.core.sessions.orders import Orders
from tapui.core.sessions.sessions import OpenSessions
from tapui.projection.goal_words import STATUS_WORDS
from tapui.projection.requests.goals import ACHIEVED, DROP, LEAVE, MORE, NO, YES
from tapui.projection.summary import one_line
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.criteria import PersonSays
from tapui.wire.errors import WireError
from tapui.wire.goals import Goal
from tapui.wire.steering import SessionTell

MOST_WAITING = 3
"""Questions about goals that wait in a session at a time."""


@dataclass(eq=False, repr=False)
class GoalQuestions(CorePart):
    """Asks, and takes the answers."""

    approvals: Approvals
    sessions: OpenSessions
    orders: Orders
    goals: Goals
    proof: Proof

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asker = Connection(0, None, standing=Standing.BUILTIN)
        """Stands for tapui, which asks."""
        self._asked: dict[str, set[tuple[str, str]]] = {}
        """Goals and texts that the person was asked about, by session: each once."""
        self._out.watch(self._happened)

    def ask_criteria(self, session: OpenSession, goal: Goal) -> None:
        """Ask for the criteria that only the person can say, once each."""
        asked = self._asked.setdefault(session.id, set())
        for one in goal.criteria:
            text = one.check.text if isinstance(one.check, PersonSays) else one.text
            is_persons = one.check is None or isinstance(one.check, PersonSays)
            is_open = one.verdict is None or one.verdict.state == "unknown"
            if is_persons and is_open and (goal.id, text) not in asked:
                detail = {
                    "kind": "criterion",
                    "goalId": goal.id,
                    "goal": goal.title,
                    "question": text,
                    "by": one.by,
                    "choices": [YES, NO],
                    "allowFreeform": False,
                }
                if not self._ask(session, detail, partial(self._said, goal.id, text)):
                    return
                asked.add((goal.id, text))

    def ask_about(self, session: OpenSession, goal: Goal, more: Callable[[], None]) -> None:
        """Ask what is to become of a goal that was not reached; `more` allows three more times."""
        missing = [
            one_line(f"{one.text}: {one.verdict.reason or one.verdict.state}")
            for one in goal.criteria
            if one.verdict is not None and one.verdict.state != "passed"
        ]
        detail = {
            "kind": "unproven",
            "goalId": goal.id,
            "goal": goal.title,
            "question": goal.title,
            "by": goal.opened_by,
            "missing": missing[: limits.MAX_REQUEST_PARTS],
            "choices": [LEAVE, MORE, ACHIEVED, DROP],
            "allowFreeform": False,
        }
        self._ask(session, detail, partial(self._chosen, goal.id, more, missing))

    def _ask(
        self, session: OpenSession, detail: dict[str, Any], then: Callable[[Decided], None]
    ) -> bool:
        """Ask, unless too much waits already, or this session asks no person."""
        waiting = [
            one
            for one in self.approvals.of_kind("goal")
            if one.view.session_id == session.id and not one.is_deciding
        ]
        is_there = any(
            isinstance(one.view.detail, dict)
            and (one.view.detail.get("goalId"), one.view.detail.get("question"))
            == (detail["goalId"], detail["question"])
            for one in waiting
        )
        if session.view.unattended or len(waiting) >= MOST_WAITING or is_there:
            return False
        self.approvals.request(
            "goal",
            self._asker,
            detail["goalId"],
            detail,
            limits.HOST_APPROVAL_TIMEOUT,
            on_decided=then,
            on_expired=_expired,
            session_id=session.id,
        )
        return True

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.SessionReplaced(session=session, replaces=former) if former in self._asked:
                self._asked[session.id] = self._asked.pop(former)
            case ev.GoalClosed(session_id=id_, goal=goal):
                asked = self._asked.get(id_, set())
                asked.difference_update([one for one in asked if one[0] == goal.id])
                self._withdraw(goal)
            case ev.SessionClosed(session_id=id_):
                self._asked.pop(id_, None)

    def _withdraw(self, goal: Goal) -> None:
        """Ask no longer what is to become of a goal that is closed."""
        for one in self.approvals.of_kind("goal"):
            detail = one.view.detail
            is_about = isinstance(detail, dict) and detail.get("goalId") == goal.id
            if is_about and not one.is_deciding:
                self.approvals.withdraw(one, reason=f"the goal is {STATUS_WORDS[goal.status]}")

    # Answers

    def _said(self, goal_id: str, text: str, decided: Decided) -> None:
        if decided.verdict != "approve" or decided.answer not in (YES, NO):
            return
        found = self._found(goal_id)
        if found is None:
            return
        session, goal = found
        watched = self.proof.of(session.id)
        if watched is not None:
            told = fact.PersonAnswered(
                at=self._clock.timestamp(),
                goal_id=goal.id,
                text=text,
                is_yes=decided.answer == YES,
            )
            self.proof.add(watched, told)
        if goal.is_open:
            self.goals.verify(goal)

    def _chosen(
        self, goal_id: str, more: Callable[[], None], missing: list[str], decided: Decided
    ) -> None:
        found = self._found(goal_id)
        if decided.verdict != "approve" or found is None:
            return
        session, goal = found
        if not goal.is_open:
            return
        match decided.answer:
            case str(answer) if answer == MORE:
                more()
                self._go_on(session, goal, missing, decided)
            case str(answer) if answer == ACHIEVED:
                self.goals.change(goal, decided.by, "achieved", {"status": "achieved"})
            case str(answer) if answer == DROP:
                self.goals.change(goal, decided.by, "dropped", {"status": "abandoned"})

    def _go_on(
        self, session: OpenSession, goal: Goal, missing: list[str], decided: Decided
    ) -> None:
        """Send the agent a prompt of the person's: the turn has ended meanwhile."""
        asker = decided.tower or self._asker
        text = "\n".join(["Not proven yet:", *(f"- {one}" for one in missing)])
        try:
            self.orders.tell(asker, SessionTell(self._ids.id("o"), session.id, text))
        except WireError:  # its host takes no prompts: the person reads that in the session
            self.goals.change(goal, decided.by, "not sent: its host takes no prompts", {})

    def _found(self, goal_id: str) -> tuple[OpenSession, Goal] | None:
        try:
            return self.goals.find(goal_id)
        except WireError:
            return None


def _expired(_waiting: WaitingApproval) -> None:
    """Without an answer a goal stays as it was."""
