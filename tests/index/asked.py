"""Asking the views in the test's own process, and records of every kind to ask about."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tapui.index.store import index_path, opened_to_read
from tapui.index.update import bring_up_to_date
from tapui.index.views import install
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.criteria import CheckedRun, Disposal, Pointer, TurnProof, Verdict
from tapui.wire.goals import (
    AuditedClaim,
    CheckCounts,
    CheckResult,
    ClaimAudit,
    Goal,
    GoalCriterion,
    GoalReport,
)
from tapui.wire.reviews import Finding, Review
from tapui.wire.turns import FileChange
from tests.index.played import call, idle, line, permission, prompt, raw
from tests.records.turns import Writer, opened, stamp


def rows(state: Path, sql: str, **values: Any) -> list[tuple[Any, ...]]:
    """Bring the index up to date, and answer SQL over the views."""
    assert bring_up_to_date(state, 60) == "current"
    with contextlib.closing(opened_to_read(index_path(state))) as connection:
        install(connection)
        return connection.execute(sql, values).fetchall()


def records(state: Path) -> Iterator[dict[str, Any]]:
    """Yield what all files of a home hold, by run and number."""
    found = []
    for path in state.parent.rglob("*.jsonl"):
        with path.open("rb") as file:
            found += [json.loads(line) for line in file]
    found = [one for one in found if "seq" in one]  # the register of folders is no record
    yield from sorted(found, key=lambda one: (one["run"], one["seq"]))


def span(name: subjects.SpanName, duration: float, **fields: Any) -> ev.SpanEnded:
    told = {
        "trace_id": f"{1:032x}", "span_id": f"{2:016x}", "started_at": stamp(0),
        "name": name, "duration": duration,
    }  # fmt: skip
    return ev.SpanEnded(subjects.Span(**told, **fields), "s1")


def goal(id_: str, status: str, verdict: str | None = None, title: str = "mend it") -> Goal:
    verdicts = None if verdict is None else Verdict(verdict)  # type: ignore[arg-type]
    return Goal(
        id_, "s1", title, status, 1, "person", stamp(0),  # type: ignore[arg-type]
        [GoalCriterion("c1", "it passes", verdict=verdicts)],
    )  # fmt: skip


def verified(id_: str, *states: str) -> ev.GoalVerified:
    checks = [
        CheckResult(f"k{at}", "ran", one, "pytest -q", evidence=_evidence())  # type: ignore[arg-type]
        for at, one in enumerate(states)
    ]
    report = GoalReport("verified", checks, CheckCounts(), f"e-{id_}", stamp(3), id_)
    return ev.GoalVerified("s1", goal(id_, "active", "passed"), report)


def _evidence() -> Pointer:
    return Pointer("command", "records:calls/r1/3", "recorded")


def audited(audit: str, *verdicts: str) -> ev.ClaimsAudited:
    claims = [
        AuditedClaim(f"c{at}", "all tests pass", one)  # type: ignore[arg-type]
        for at, one in enumerate(verdicts)
    ]
    return ev.ClaimsAudited("s1", ClaimAudit("supported", claims, audit, stamp(4)))


def review(id_: str, *findings: Finding) -> ev.ReviewRecorded:
    told = Review(
        id_, "s1", "watch", "note", stamp(5), "it is quiet", "nothing new",
        findings=list(findings), reviewer="reviewer",
    )  # fmt: skip
    return ev.ReviewRecorded("s1", told)


def finding(id_: str, **fields: Any) -> Finding:
    return Finding(id_, f"f-{id_}", "an open file", "reviewer", review_id="rv1", **fields)


def proof(state: str, *runs: CheckedRun) -> TurnProof:
    return TurnProof(state, "pytest, 212 tests", runs=list(runs))  # type: ignore[arg-type]


def write_everything(writer: Writer, workspace: Path) -> str:
    """Write something for each view; return when the session's turn began."""
    writer.turn(opened("s1", workspace))
    writer.turn(prompt("mend the tests"))
    began = stamp(writer.seq)
    change = [FileChange("/code/a.py", 3, 1)]
    writer.turn(*call("c1", "edit", {"path": "a.py"}, changes=change))
    writer.turn(*call("c2", "bash", {"command": "pytest -q"}, exit_code=1, duration=12.5))
    writer.turn(*call("c3", "bash", {"command": "pytest -q"}, exit_code=0, duration=11.0))
    writer.turn(*permission("a1", "rm -rf build"))
    writer.turn(line("a line\nand more"))
    writer.turn(span("emitter", 5.0, emitter="watch", run=3, lines=4, kept=2))
    writer.turn(span("provider", 7.0, tool="greet", provider="ci", status="error", code="TIMEOUT"))
    writer.turn(ev.GoalOpened("s1", goal("g-1", "active")), verified("g-1", "pass", "fail"))
    writer.turn(audited("au-1", "supported", "unsupported"))
    writer.turn(review("rv1", finding("fi-1", priority="P1")), review("rv2"))
    decided = Disposal("accepted", "you", stamp(9))
    writer.turn(ev.FindingDisposed("s1", finding("fi-1", disposed=decided)))
    used = {"model": "gpt-5", "inputTokens": 100, "outputTokens": 10, "cost": 1.0}
    writer.turn(ev.SessionHappened("s1", "assistant.usage", raw(used)))
    writer.turn(ev.ErrorSent("INVALID_JSON", "no object", provider="ci"))
    writer.turn(ev.SessionHappened("s1", "session.error", raw({"message": "it broke"})))
    writer.turn(idle())
    ran = CheckedRun("pytest -q", stamp(7), 0, "212 tests")
    writer.turn(ev.TurnProved("s1", began, proof("checked", ran)))
    return began
