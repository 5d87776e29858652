"""Sessions' own objectives (`/goal` in Copilot), shown as goals: they follow what the host tells.

They have no criteria and prove nothing. They are in no ledger: each ends with its session.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from tapui.core.context import CorePart
from tapui.core.goals.goals import Goals
from tapui.core.model import OpenSession
from tapui.projection.summary import one_line
from tapui.wire import events as ev
from tapui.wire.goals import Goal, GoalOpener, GoalStatus, Objective

_STATUS: dict[str, GoalStatus] = {
    "active": "active",
    "paused": "paused",
    "completed": "achieved",
}
_BY: GoalOpener = "copilot"


class _Shown(NamedTuple):
    objective: str
    goal: str


@dataclass(eq=False, repr=False)
class Objectives(CorePart):
    """Knows which goal stands for the objective of a session."""

    goals: Goals

    def __post_init__(self) -> None:
        super().__post_init__()
        self._shown: dict[str, _Shown] = {}
        """By session."""
        self._out.watch(self._happened)

    def told(self, session: OpenSession, objective: Objective) -> None:
        """A host says how the objective of a session stands. Raises `WireError` where there is no
        room for it."""
        shown = self._shown.get(session.id)
        goal = self._goal(session.id, shown)
        if goal is not None and shown is not None and objective.id != shown.objective:
            self._end(goal, "cleared" if objective.id is None else "replaced")
            goal = None
        if objective.id is None or (goal is None and objective.status == "completed"):
            return
        if goal is None:
            goal = self.goals.open(session, objective.text, (), _BY)
            self._shown[session.id] = _Shown(objective.id, goal.id)
        told = {
            "title": one_line(objective.text),
            "status": _STATUS[objective.status],
            "note": objective.reason,
        }
        changes: dict[str, Any] = {
            name: value for name, value in told.items() if value != getattr(goal, name)
        }
        if "note" in changes:
            changes["note_by"] = _BY if objective.reason else None
        if changes:
            self.goals.change(goal, _BY, objective.status, changes)

    def _goal(self, session_id: str, shown: _Shown | None) -> Goal | None:
        """Return a session's goal that stands for an objective, while it is open."""
        if shown is None:
            return None
        goals = self.goals.of(session_id)
        return next((one for one in goals if one.id == shown.goal and one.is_open), None)

    def _end(self, goal: Goal, why: str, *, is_quiet: bool = False) -> None:
        self.goals.change(goal, _BY, why, {"status": "abandoned"}, is_quiet=is_quiet)

    def _happened(self, event: ev.Event) -> None:
        match event:
            case ev.SessionReplaced(session=session, replaces=former):
                # Its goals are the other session's by now; the streams are not yet.
                goal = self._goal(session.id, self._shown.pop(former, None))
                if goal is not None:
                    self._end(goal, "its session ended", is_quiet=True)
            case ev.SessionClosed(session_id=id_):
                self._shown.pop(id_, None)
