"""A world with goals as the person meets them, for the tower's tests."""

from typing import Any

from msgspec import Raw, json

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.wire.criteria import FileIs, PersonSays, Pointer, Ran, Verdict
from tapui.wire.goals import Goal, GoalCriterion, SentBack, SurfaceChange
from tapui.wire.message import Line
from tapui.wire.turns import FileChange, SessionTurns, Turn, Usage
from tests.tower.scripted import at, session, world
from tests.tower.told import head, step

DIFF = """\
--- conftest.py
+++ conftest.py
@@ -1,2 +1,3 @@
 import pytest
+collect_ignore = ["test_cart.py"]
 """


def criterion(id_: str, text: str, state: str = "", reason: str = "", **fields: Any) -> Any:
    """Return a criterion whose verdict is `state`, "" for one that was not judged yet."""
    pointers = fields.pop("pointers", [])
    verdict = Verdict(state, reason, pointers) if state else None  # type: ignore[arg-type]
    return GoalCriterion(id=id_, text=text, verdict=verdict, **fields)


def goal(id_: str, title: str, *criteria: GoalCriterion, **fields: Any) -> Goal:
    given: dict[str, Any] = {
        "session_id": "s1",
        "status": "active",
        "revision": 3,
        "opened_by": "person",
        "opened_at": at(1_500),
    }
    return Goal(id=id_, title=title, criteria=list(criteria), **(given | fields))


def ran(call_id: str, ago: float) -> Pointer:
    return Pointer("command", f"call:{call_id}", "recorded", at(ago))


def cart() -> Goal:
    """Return a goal in progress: one criterion passed, one failed, one that only the person can
    say; the agent was sent back for it."""
    return goal(
        "g1",
        "The cart rounds once",
        criterion(
            "c1", "pytest -q ends with exit 0", "failed", "exit 1",
            check=Ran(command="pytest -q"), pointers=[ran("t5", 300)],
        ),
        criterion(
            "c2", "CHANGELOG.md names it", "passed", "written in this turn",
            check=FileIs(path="CHANGELOG.md", contains=["rounds once"]),
            pointers=[Pointer("file", "CHANGELOG.md", "observed", sha256="a" * 64, size=812)],
        ),
        criterion("c3", "The page looks good", check=PersonSays(text="The page looks good")),
        unproven="send back",
        sent_back=SentBack(1, 1, 38_000),
        note="The total is rounded; the tests of the tax are left.",
        note_by="agent",
        turn=5,
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    )  # fmt: skip


def goals() -> list[Goal]:
    changed = criterion(
        "c1", "npm test ends with exit 0", "unknown",
        "what its check does was changed: conftest.py", check=Ran(command="npm test"),
        pointers=[ran("x1", 900)], surface="b" * 64,
        changed=[SurfaceChange("conftest.py", DIFF)],
    )  # fmt: skip
    many = [
        criterion(f"c{n}", f"step {n}", ("passed", "failed", "unknown", "")[n % 4])
        for n in range(1, 13)
    ]
    done = criterion("c1", "ruff check . ends with exit 0", "passed", pointers=[ran("x2", 700)])
    return [
        cart(),
        goal("g2", "npm test", changed, session_id="s2", opened_at=at(1_400)),
        goal("g3", "All twelve steps", *many, opened_by="agent", opened_at=at(1_300)),
        goal("g4", "Ship 0.4", opened_by="copilot", session_id="s2", opened_at=at(1_200)),
        goal(
            "g5", "ruff check .", done, status="achieved", opened_at=at(2_000),
            closed_at=at(600), closed_by="fold", changed_since=3, verified_at=at(600),
        ),
        goal("g6", "Old plan", status="abandoned", opened_by="agent", closed_at=at(900),
             closed_by="tapui 42"),
    ]  # fmt: skip


def story() -> LiveTurns:
    """Return the turns of the first session since its goal was opened."""
    steps = [
        step("6.1", ago=420, tool="edit", call_id="t4", summary="src/cart.py", duration=48.0,
             added=6, removed=2),
        step("6.2", ago=400, tool="grep", call_id="t3", summary='"round(" src', duration=20.0),
        step("6.3", ago=300, state="failed", tool="bash", call_id="t5", summary="pytest -q",
             exit_code=1, duration=31_000.0),
        step("6.4", "event", ago=268, tool="sent back", summary="1 of 3"),
        step("6.5", ago=200, tool="edit", call_id="t6", summary="CHANGELOG.md", duration=9.0,
             added=3, removed=0),
        step("6.6", "message", ago=150, summary="The tax is next."),
    ]  # fmt: skip
    changed = [FileChange("src/cart.py", 6, 2), FileChange("CHANGELOG.md", 3, 0)]
    newest = head(6, "Round the total once", 430, None, steps=6, failed=1, files=changed,
                  usage=Usage(57_000, 1_200), sent_back=1, tries=3,
                  again=Usage(37_000, 1_000))  # fmt: skip
    earlier = [
        head(4, "Where are we?", 9_000, 20, steps=2),
        head(5, "Look at the cart", 1_560, 120, steps=3, usage=Usage(9_000, 300)),
    ]
    return LiveTurns.of(SessionTurns("s1", earlier, Turn(newest, steps)))


def told(seq: int, ago: float, text: str, kind: str, goal_id: str = "g1") -> Line:
    metadata = Raw(json.encode({"goalId": goal_id, "kind": kind, "revision": seq}))
    return Line(seq, at(ago), "keep", text, metadata=metadata)


def ledger() -> list[Line]:
    """Return the lines of the goals' stream in the first session."""
    return [
        told(1, 1_500, "opened: The cart rounds once", "goal.opened"),
        told(2, 1_300, "opened: All twelve steps", "goal.opened", "g3"),
        told(3, 268, "1 of 3 criteria passed: The cart rounds once", "goal.verified"),
        told(4, 267, "sent back: The cart rounds once", "goal.updated"),
        told(5, 180, "noted: The cart rounds once", "goal.updated"),
    ]


def goals_world(*found: Goal) -> State:
    """Return the world with these goals, else with one of each kind, in two sessions."""
    state = world()
    state.sessions["s1"] = session("s1", "Fix the cart", state="busy", foreground=True)
    state.sessions["s2"] = session("s2", "Release notes for 0.4")
    state.turns["s1"] = story()
    state.approvals = {}
    state.goals = {one.id: one for one in found or goals()}
    return state
