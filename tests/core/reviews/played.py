"""A played session whose agent reviews: lines of its streams, and files of its folder."""

from typing import Any

from tapui.projection.state import State
from tapui.wire.reviews import Finding, Review
from tests.core.goals.played import GoalScene
from tests.core.harness import Json

CHECKED: Json = {"kind": "file", "path": "cart.py", "notContains": ["eval("]}


class ReviewScene(GoalScene):
    """The session `s2` in `/code`."""

    @property
    def state(self) -> State:
        return self.talk.gateway.state

    def post(self, count: int, stream: str = "ci", level: str = "keep") -> None:
        for n in range(count):
            self.call("tap_post", stream=stream, message=f"line {n}", level=level)

    def review(self, **given: Any) -> Any:
        """Record a review; return what the agent reads."""
        usual = {"monitor": "ci", "observed": "builds", "decision": "note", "reason": "none"}
        return self.call("tap_record_review", **{**usual, **given})

    def last(self) -> Review:
        """Return the newest review as towers see it."""
        return self.state.reviews_of(self.session)[-1]

    def found(self, **given: Any) -> Finding:
        """Record a review with one finding; return that."""
        finding = {
            "title": "eval of input",
            "path": "cart.py",
            "lines": {"first": 2, "last": 2},
            "rule": "eval",
            **given,
        }
        answer = self.review(monitor="audit", findings=[finding])
        assert "findings" in answer, answer
        return self.last().findings[0]

    def dispose(self, finding: str, disposition: str, **more: Any) -> Json:
        """Decide about a finding at the tower; return the answer."""
        heard = self.tower.ask(
            {
                "type": "review.dispose",
                "id": "d",
                "sessionId": self.session,
                "finding": finding,
                "disposition": disposition,
                **more,
            }
        )
        (answer,) = [one for one in heard if one["type"] in ("finding.answer", "error")]
        return answer
