"""A world with emitters in every state, for the tower's tests."""

from typing import Any

from tapui.projection.state import State
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.changes import LineRange
from tapui.wire.criteria import Disposal, FileIs, Verdict
from tapui.wire.emitters import Emitter, EmitterCounts
from tapui.wire.provider import FilterRule
from tapui.wire.reviews import Finding, LineOutcomes, Review, SeqRange
from tests.tower.scripted import approval, at, session, world

FOLDER = "/code/pairing"
RULES = [FilterRule("fail|error", "inject"), FilterRule("^debug", "drop")]


def emitter(id_: str, name: str, **fields: Any) -> Emitter:
    given: dict[str, Any] = {
        "folder": FOLDER,
        "session_id": "s1",
        "kind": "continuous",
        "state": "running",
        "stream": f"{name}@tap",
        "cwd": FOLDER,
        "line": 3,
    }
    if "prompt" not in fields:
        given["command"] = f"./{name} --watch"
    return Emitter(id=id_, name=name, **(given | fields))


def emitters() -> list[Emitter]:
    """Return one emitter of each kind and state that the person meets."""
    return [
        emitter(
            "e1",
            "tests",
            command="npm test -- --watch",
            runs=1,
            last_run_at=at(640),
            rules=RULES,
            counts=EmitterCounts(1210, dropped=900, kept=298, surfaced=9, injected=3),
        ),
        emitter(
            "e2",
            "ci",
            command="gh run list --branch $(git branch --show-current) | ./new-ones",
            kind="timed",
            every=300,
            state="waiting",
            next_run_at=at(-134),
            runs=12,
            last_run_at=at(166),
            last_status="success",
            counts=EmitterCounts(60, kept=58, injected=2),
        ),
        emitter(
            "e3",
            "deploy-log",
            kind="timed",
            every=30,
            state="waiting",
            next_run_at=at(-96),
            runs=7,
            failures=3,
            last_run_at=at(25),
            last_status="failure",
            exit_code=7,
            error="exit code 7: curl: (7) connection refused",
            why="exit code 7",
            counts=EmitterCounts(7, kept=7),
            injector="disabled",
        ),
        emitter("e4", "upkeep", prompt="Anything new?", kind="idle", state="paused", runs=4),
        emitter(
            "e5",
            "later",
            prompt="Look at the build again, and say what is still red.",
            kind="oneTime",
            every=600,
            state="waiting",
            next_run_at=at(-420),
            source="tool",
            ownership="modelOwned",
            lifespan="temporary",
            line=None,
        ),
        emitter("e6", "lint", state="exited", last_run_at=at(3700), last_status="success", runs=1),
        emitter("e7", "audit", state="error", error="the folder is not there", last_run_at=None),
        emitter("e8", "other", state="configured", auto_start=False),
    ]


def detail(name: str, **fields: Any) -> dict[str, Any]:
    """Return what the person is shown of an emitter of a file."""
    given: dict[str, Any] = {
        "emitterId": f"e-{name}",
        "name": name,
        "changed": "",
        "kind": "emitter",
        "command": f"./{name}.sh --watch",
        "args": [],
        "prompt": None,
        "cwd": FOLDER,
        "isOutside": False,
        "shell": None,
        "env": {},
        "schedule": "runs every 5m, without asking again",
        "maxRuns": None,
        "autoStart": True,
        "includeStderr": True,
        "stream": name,
        "rules": [["fail|error", "inject"], ["^debug", "drop"]],
        "injector": "unset",
        "delivery": "surface",
        "description": "",
        "file": f"{FOLDER}/tap.config.json",
        "line": 3,
        "files": [f"{name}.sh"],
        "uncovered": [],
        "doubts": [],
    }
    return given | fields


def asked(id_: str, name: str, **fields: Any) -> subjects.Approval:
    """Return a request of an emitter of the file."""
    return approval(id_, "emitter", detail(name, **fields), session_id="s1", created_at=at(30))


def asked_by_agent(id_: str = "a-agent", **fields: Any) -> subjects.Approval:
    """Return a request of an agent."""
    given = {
        "name": "watch-build",
        "asker": "the session's agent",
        "command": "while sleep 60; do ./build-state; done",
        "cwd": FOLDER,
        "shell": None,
        "schedule": "runs all the time, without asking again",
        "maxRuns": None,
        "stream": "watch-build",
        "rules": [["red", "inject"]],
        "injector": "enabled",
        "delivery": "surface",
        "description": "Tells when the build turns red",
    }
    return approval(id_, "emitter", given | fields, session_id="s1", created_at=at(10))


def asking(*names: str) -> State:
    """Return a world in which these emitters of a file ask."""
    state = quiet()
    for number, name in enumerate(names):
        one = asked(f"a-{name}", name)
        state.approvals[one.id] = one
        id_ = f"e-{name}"
        state.emitters[id_] = emitter(
            id_, name, state="asking", approval_id=one.id, line=3 + number
        )
    return state


def quiet() -> State:
    """Return a session in a folder, and nothing else."""
    state = State()
    state.sessions["s1"] = session("s1", "Fix flaky pairing test", cwd=FOLDER, foreground=True)
    return state


def watched() -> State:
    """Return the world of all panes, with emitters."""
    state = world()
    for one in emitters():
        state.emitters[one.id] = one
    return state


def ran(name: str, number: int, **fields: Any) -> ev.SpanEnded:
    """Return what tells of a run's end."""
    given: dict[str, Any] = {
        "trace_id": "0" * 31 + "1",
        "span_id": f"{number:016x}",
        "name": "emitter",
        "started_at": at(60),
        "duration": 3400.0,
        "emitter": name,
        "run": number,
        "lines": 20,
        "kept": 3,
        "surfaced": 1,
        "injected": 2,
    }
    return ev.SpanEnded(subjects.Span(**(given | fields)), "s1")


def reviewed() -> State:
    """Return the same world where the emitter `deploy-log` was reviewed twice."""
    state = watched()
    state.reviews["rv-1"] = Review(
        "rv-1",
        "s1",
        "deploy-log",
        "ignore",
        at(400),
        "three deployments went well",
        "nothing failed",
        stream="deploy-log@tap",
        range=SeqRange(1, 3),
        lines=3,
        outcomes=LineOutcomes(dropped=4, kept=3),
    )
    eval_ = Finding(
        "f-1",
        "f1-a-b-c",
        "eval of what the page sends",
        "deploy-log",
        priority="P1",
        path="src/deploy.py",
        lines=LineRange(12, 14),
        check=FileIs(path="src/deploy.py", not_contains=["eval("]),
        verdict=Verdict("failed"),
        proposed=Disposal("accepted", "deploy-log", at(60)),
    )
    name = Finding("f-2", "f1-d-e-f", "the name says little", "deploy-log",
                   disposed=Disposal("rejected", "you", at(30)))  # fmt: skip
    state.reviews["rv-2"] = Review(
        "rv-2",
        "s1",
        "deploy-log",
        "escalate",
        at(60),
        "two deployments failed with 502",
        "the gateway is down for an hour",
        stream="deploy-log@tap",
        range=SeqRange(6, 7),
        lines=2,
        unreviewed=2,
        outcomes=LineOutcomes(kept=1, surfaced=1),
        findings=[eval_, name],
    )
    return state
