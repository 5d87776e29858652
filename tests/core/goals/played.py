"""A played session with goals: an agent, the person at a tower, and the built-in tools."""

import json
from typing import Any

from tapui.wire.codec import encode
from tests.core.conftest import Scene
from tests.core.harness import Json
from tests.core.proof.test_watching import Agent

RAN: Json = {"kind": "ran", "command": "pytest"}


class GoalScene(Agent):
    """The session `s2` in `/code`, where tools of tapui's can be called."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.talk.tools()
        self._asked = 0

    def goal(self, *checks: Json, **more: Any) -> Json:
        """Open a goal of the person's; return it."""
        criteria = [{"check": check} for check in checks or (RAN,)]
        heard = self.tower.ask(
            {
                "type": "goal.open",
                "id": "g",
                "sessionId": self.session,
                "criteria": criteria,
                **more,
            }
        )
        (answer,) = [one for one in heard if one["type"] == "goal.answer"]
        goal: Json = answer["goal"]
        return goal

    def say(self, kind: str, **fields: Any) -> Json:
        """Send a message of the tower's about a goal; return the answer."""
        heard = self.tower.ask({"type": kind, "id": "q", **fields})
        (answer,) = [one for one in heard if one["type"] in ("goal.answer", "goals.list", "error")]
        return answer

    def verify(self, goal: Json) -> Json:
        return self.say("goal.verify", goalId=goal["id"])

    def call(self, tool: str, **args: Any) -> Any:
        """Call a tool as the agent; return its data, or its error's text."""
        self._asked += 1
        id_ = f"i{self._asked}"
        self.host.hear()
        self.host.invoke(self.session, tool, id_, args=args)
        outcome = self.host.hear_one("tool.outcome")
        return outcome["data"] if "data" in outcome else outcome["error"]

    def stands(self, goal_id: str) -> Json:
        """Return a goal as towers see it now."""
        found = self.talk.gateway.state.goals[goal_id]
        told: Json = json.loads(encode(found))
        return told

    def states(self, goal_id: str) -> list[str]:
        """Return how each criterion stands."""
        goal = self.talk.gateway.state.goals[goal_id]
        return [
            "open" if one.verdict is None else f"{one.verdict.state}: {one.verdict.reason}"
            for one in goal.criteria
        ]

    def end_turn(self, **fields: Any) -> Json:
        """Ask whether the turn may end; return the answer."""
        self.host.hear()
        self.host.say({"type": "turn.ending", "id": "e1", "sessionId": self.session, **fields})
        return self.host.hear_one("turn.end")
