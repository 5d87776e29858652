"""What the person can order about a goal, from its row and its sheet: asked about, and sent."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Literal

from tapui import invocation
from tapui.projection.goal_words import criteria_words, criterion_mark, criterion_words
from tapui.projection.state import is_open
from tapui.projection.summary import one_line
from tapui.tower.app.tower import RowAction, Tower
from tapui.tower.textual.dialogs import AskLineScreen
from tapui.tower.textual.sheet import ask, confirm
from tapui.wire import limits
from tapui.wire.criteria import Ran
from tapui.wire.goals import (
    CriterionGiven,
    Goal,
    GoalChange,
    GoalCriterion,
    GoalDrop,
    GoalNote,
    GoalOpen,
    GoalVerify,
    SurfaceAllow,
)
from tapui.wire.subjects import Session

_ids = count(1)
_SHOWN_MISSING = 4
DROPS = {"stop": "drop"}
"""What the key for stopping does to a goal, in the footer."""
HELP_WORDS = "goal open --help"
"""What tells of the criteria that are more than a command."""

GoalOrder = Literal["send back", "verify", "note", "achieved", "drop"]


class GoalOrders:
    """The orders about one goal. What may be ordered is decided by the gateway; here only what
    cannot be meant is left out."""

    def __init__(self, tower: Tower, goal: Goal) -> None:
        self._tower = tower
        self._goal = goal
        self._does: dict[GoalOrder, Callable[[], None]] = {
            "send back": self._switch,
            "verify": self._verify,
            "note": self._ask_note,
            "achieved": self._ask_achieved,
            "drop": self._ask_drop,
        }

    def can(self, order: str) -> bool:
        goal, session = self._goal, self._tower.view.state.sessions.get(self._goal.session_id)
        if self._tower.is_replay or session is None or not is_open(session):
            return False
        if not goal.is_open or goal.opened_by == "copilot":
            return False  # Copilot's own objective is changed in Copilot
        return bool(goal.criteria) or order not in ("send back", "verify")

    def may(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether an action of a key can be done: `goal` with an order, or `stop`."""
        return self.can("drop" if action == "stop" else str(parameters[0]))

    def order(self, order: str) -> None:
        for one, does in self._does.items():
            if one == order and self.can(order):
                does()

    def actions(self) -> list[RowAction]:
        """Return what can be ordered, with letters."""
        back = "tell only" if self._goal.unproven == "send back" else "send the agent back for it"
        named: tuple[tuple[GoalOrder, str, str], ...] = (
            ("send back", "b", back),
            ("verify", "v", "judge its criteria now"),
            ("note", "n", "note something at it"),
            ("achieved", "y", "it is achieved"),
            ("drop", "x", "drop it"),
        )
        return [
            RowAction(letter, does, partial(self.order, one))
            for one, letter, does in named
            if self.can(one)
        ]

    def allow(self, criterion: GoalCriterion) -> None:
        """Let a criterion's check count as it was changed: exactly the change that was shown."""
        self._tower.send(SurfaceAllow(_id(), self._goal.id, criterion.id, criterion.surface))

    def _switch(self) -> None:
        is_on = self._goal.unproven == "send back"
        self._tower.send(
            GoalChange(_id(), self._goal.id, unproven="tell" if is_on else "send back")
        )

    def _verify(self) -> None:
        self._tower.send(GoalVerify(_id(), self._goal.id))

    def _ask_note(self) -> None:
        screen = AskLineScreen(f"Note at {self._goal.title}", most=limits.MAX_CRITERION)
        ask(self._tower, screen, self._note)

    def _note(self, text: str) -> None:
        self._tower.send(GoalNote(_id(), self._goal.id, text))

    def _ask_achieved(self) -> None:
        goal = self._goal
        missing = [one for one in goal.criteria if criterion_mark(one) != "passed"]
        lines = [f"not proven: {_line(one)}" for one in missing[:_SHOWN_MISSING]]
        if len(missing) > _SHOWN_MISSING:
            lines.append(f"and {len(missing) - _SHOWN_MISSING} more")
        lines.append("It is closed by you, and stays so.")
        change = GoalChange(_id(), goal.id, status="achieved")
        confirm(
            self._tower,
            f"Is {goal.title} achieved?",
            lines,
            "it is achieved",
            lambda: self._tower.send(change),
        )

    def _ask_drop(self) -> None:
        goal = self._goal
        lines = [f"{criteria_words(goal)} passed" if goal.criteria else criteria_words(goal)]
        lines.append("It is closed, and cannot be opened again.")
        drop = GoalDrop(_id(), goal.id)
        confirm(
            self._tower, f"Drop {goal.title}?", lines, "drop it", lambda: self._tower.send(drop)
        )


def ask_goal(tower: Tower, session: Session) -> None:
    """Let the person type a command that is to pass in a session, and open a goal of it."""

    def open_goal(command: str) -> None:
        criteria = [CriterionGiven(check=Ran(command=command))]
        tower.send(GoalOpen(_id(), session.id, one_line(command), criteria))

    name = session.label or session.id
    hint = f"All kinds of checks: {invocation.command(HELP_WORDS)}."
    question = f"Goal of {name}: a command that is to end with exit code 0"
    ask(tower, AskLineScreen(question, hint=hint, most=limits.MAX_CRITERION), open_goal)


def _line(one: GoalCriterion) -> str:
    return f"{one_line(one.text)}  {criterion_words(one)}"


def _id() -> str:
    return f"goal-{next(_ids)}"
