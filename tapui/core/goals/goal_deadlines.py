"""The deadlines of goals: when one comes its goal is judged once more, and fails if that does not
achieve it."""

from dataclasses import dataclass

from tapui.core.context import CorePart
from tapui.core.deadlines import Deadline, Due
from tapui.core.goals.goals import Goals
from tapui.wire import events as ev
from tapui.wire.goals import DEADLINE, Goal

_LOOK = 60.0
"""Seconds until the calendar is looked at again: it can be set, and goes on while the machine
sleeps, when the steady clock of time-outs may not."""


@dataclass(eq=False, repr=False)
class GoalDeadlines(CorePart):
    """Follows the events of goals, those that were read back included."""

    goals: Goals

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set: dict[str, Deadline] = {}
        """By goal."""
        self._out.watch(self._happened)

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.GoalOpened(goal=goal) | ev.GoalUpdated(goal=goal) | ev.GoalClosed(goal=goal):
                self._follow(goal)
            case ev.SessionClosed() if self._set:
                for id_ in self._set.keys() - {goal.id for goal in self.goals.all()}:
                    self._deadlines.cancel(self._set.pop(id_))

    def _follow(self, goal: Goal) -> None:
        self._deadlines.cancel(self._set.pop(goal.id, None))
        left = self.goals.left(goal)
        if goal.is_open and left is not None:
            when = self._clock.now + min(max(left, 0.0), _LOOK)
            self._set[goal.id] = self._deadlines.add(when, Due.GOAL, goal.id)

    def due(self, goal_id: str) -> None:
        """The time-out of a goal has come: its deadline may be further off all the same."""
        del self._set[goal_id]
        _, goal = self.goals.find(goal_id)
        if not self.goals.is_overdue(goal):
            self._follow(goal)
        elif goal.criteria:
            self.goals.verify(goal, lambda now, _report: self._judged(now))
        else:
            self._judged(goal)

    def _judged(self, goal: Goal) -> None:
        if goal.is_open and self.goals.is_overdue(goal):
            self.goals.change(goal, DEADLINE, "its deadline passed", {"status": "failed"})
