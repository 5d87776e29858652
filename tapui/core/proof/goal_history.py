"""The facts of goals: since when each is open, what the person answered, what tools did."""

from collections import deque

from tapui.core.proof import facts as fact
from tapui.core.proof.folder_states import FolderState
from tapui.wire import limits
from tapui.wire.goals import Goal

MOST_TOOL_CALLS = 1_000
"""Calls of tools that are remembered: the newest."""

GoalFact = fact.GoalStood | fact.PersonAnswered | fact.ToolEnded | fact.SurfaceSeen


class GoalMarks:
    """What is known of one goal beside its newest form."""

    __slots__ = ("achieved", "answers", "began", "goal", "surfaces")

    def __init__(self, goal: Goal, began: int) -> None:
        self.goal = goal
        self.began = began
        """The number of the fact with which it was opened."""
        self.answers: dict[str, bool] = {}
        """What the person said, by the exact text."""
        self.surfaces: dict[str, fact.SurfaceSeen] = {}
        """By criterion."""
        self.achieved: tuple[FolderState, ...] | None = None
        """The folder when it was achieved."""


class GoalHistory:
    """Folds the facts of goals."""

    def __init__(self) -> None:
        self.by_id: dict[str, GoalMarks] = {}
        self.tools: deque[tuple[int, fact.ToolEnded]] = deque(maxlen=MOST_TOOL_CALLS)
        """With their numbers among all facts, oldest first."""

    def add(self, told: GoalFact, number: int, states: tuple[FolderState, ...] | None) -> None:
        match told:
            case fact.GoalStood(goal=goal):
                self._stood(goal, number, states)
            case fact.PersonAnswered(goal_id=goal_id, text=text, is_yes=is_yes):
                if (marks := self.by_id.get(goal_id)) is not None:
                    marks.answers[text] = is_yes
            case fact.ToolEnded():
                self.tools.append((number, told))
            case fact.SurfaceSeen(goal_id=goal_id, criterion_id=criterion_id):
                if (marks := self.by_id.get(goal_id)) is not None:
                    marks.surfaces[criterion_id] = told

    def doubt(self) -> None:
        """The facts until now do not count any more: the goals stay, with nothing proven."""
        self.tools.clear()
        for marks in self.by_id.values():
            marks.answers.clear()
            marks.surfaces.clear()
            marks.achieved = None

    def _stood(self, goal: Goal, number: int, states: tuple[FolderState, ...] | None) -> None:
        marks = self.by_id.get(goal.id)
        # A goal that the person called achieved stands once more when the folder was looked at.
        is_again = marks is not None and marks.goal == goal and goal.changed_since == 0
        if marks is None:
            marks = self.by_id[goal.id] = GoalMarks(goal, number)
            if len(self.by_id) > limits.MAX_GOALS:
                closed = (id_ for id_, one in self.by_id.items() if not one.goal.is_open)
                del self.by_id[next(closed, next(iter(self.by_id)))]
        if goal.status == "achieved" and (is_again or marks.goal.status != "achieved"):
            marks.achieved = states
        kept = {one.id for one in goal.criteria}  # an id that was taken out can be given again
        marks.surfaces = {id_: one for id_, one in marks.surfaces.items() if id_ in kept}
        marks.goal = goal
