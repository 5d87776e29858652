"""Sessions with turns: the one of the design's picture, one with history, far too many."""

from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.wire.turns import (
    FileChange,
    ModelUsage,
    SessionTurns,
    Step,
    Turn,
    TurnHead,
    TurnSource,
    Usage,
)
from tests.tower.scripted import at, call, session, world

YOU = TurnSource("person")


def step(
    id_: str, kind: str = "call", state: str = "done", ago: float = 60, **fields: object
) -> Step:
    """Return a step that began so many seconds ago."""
    return Step(id=id_, kind=kind, state=state, at=at(ago), **fields)  # type: ignore[arg-type]


def head(
    number: int, prompt: str, ago: float, took: float | None = 60, **fields: object
) -> TurnHead:
    """Return the head of a turn that began so many seconds ago and took so long."""
    given: dict[str, object] = {
        "session_id": "s1",
        "state": "done" if took is not None else "running",
        "source": YOU,
        "ended_at": at(ago - took) if took is not None else None,
        "steps": 0,
    }
    return TurnHead(number=number, prompt=prompt, started_at=at(ago), **(given | fields))  # type: ignore[arg-type]


EDIT = Raw(
    b'{"path":"tests/pty/test_pair.py","old_str":"    host = start()\\n    time.sleep(2)\\n'
    b'    assert host.code\\n","new_str":"    host = start()\\n    code = wait_for(host.code)\\n'
    b'    assert code\\n    assert len(code) == 6\\n"}'
)


def current() -> Turn:
    """Return the turn under way: it greps, edits, fails, has a subagent and asks."""
    inner = [
        step("14.6", ago=135, tool="grep", call_id="i1", summary='"sleep(" tests', duration=20.0),
        step("14.7", "message", ago=100, summary="Two files sleep."),
        step("14.8", ago=42, state="running", tool="view", call_id="i2", summary="tests/rig.py"),
    ]
    steps = [
        step("14.1", ago=158, tool="grep", call_id="t1", summary='"sleep(" tests/', duration=30.0),
        step(
            "14.2",
            ago=155,
            tool="edit",
            call_id="t2",
            provider="copilot",
            summary="tests/pty/test_pair.py",
            duration=48.0,
            added=6,
            removed=2,
            decided_by="tapui 4242",
        ),
        step(
            "14.3",
            ago=151,
            state="failed",
            tool="bash",
            call_id="t3",
            summary="pytest -x tests/pty",
            exit_code=1,
            duration=31_000.0,
        ),
        step(
            "14.4",
            "subagent",
            "running",
            ago=140,
            tool="reviewer",
            call_id="t4",
            agent="r1",
            summary="Look for more sleeps",
            calls=3,
            steps=inner,
        ),
        step(
            "14.5",
            state="waiting",
            ago=130,
            tool="bash",
            call_id="t5",
            approval_id="a1",
            summary="rm -rf build && npm ci",
        ),
    ]
    usage = Usage(46_000, 420)
    found = head(14, "Why does pairing flake?", 160, None, usage=usage, steps=8, failed=1)
    return Turn(found, steps)


def older() -> list[TurnHead]:
    """Return the heads of the turns before it, oldest first."""
    return [
        head(10, "Where are we?", 9_000, None, state="unknown", steps=5, is_history=True),
        head(11, "Plan the fix", 1_740, 48, steps=4, usage=Usage(22_000, 900)),
        head(
            12,
            "build 4711 failed",
            720,
            311,
            source=TurnSource("provider", "ci-watch"),
            steps=12,
            failed=2,
            files=[FileChange("a.py", 80, 10), FileChange("b.py", 4, 2)],
        ),
        head(13, "Run the tests", 330, 62, steps=7, usage=Usage(31_000, 1_200)),
    ]


def whole(number: int) -> Turn:
    """Return one of those turns as it is read: each step a call."""
    found = next(one for one in older() if one.number == number)
    began = {10: 9_000, 11: 1_740, 12: 720, 13: 330}[number]
    steps = [
        step(
            f"{number}.{index}",
            ago=began - index,
            tool="bash",
            call_id=f"o{number}-{index}",
            summary=f"make step-{index}",
            duration=1000.0 * index,
            state="failed" if number == 12 and index in (3, 5) else "done",
            exit_code=2 if number == 12 and index in (3, 5) else 0,
        )
        for index in range(1, found.steps + 1)
    ]
    return Turn(found, steps)


def turns_world() -> State:
    """Return the world with the turns of the design's picture in its first session."""
    state = world()
    models = [
        ModelUsage("gpt-5", Usage(812_000, 31_400, 18.0, 9.0, 604_000, 12_000, calls=61)),
        ModelUsage("claude-haiku-4.5", Usage(120_300, 2_100, 3.3, calls=14)),
    ]
    told = SessionTurns("s1", older(), current(), models=models)
    state.turns["s1"] = LiveTurns.of(told)
    for one in (
        call(
            "t2",
            "edit",
            provider="copilot",
            provider_id=None,
            state="done",
            duration=48.0,
            started_at=at(155),
            args=EDIT,
            data=Raw(b'"the file was changed"'),
            changes=[FileChange("tests/pty/test_pair.py", 6, 2)],
        ),
        call(
            "t3",
            "bash",
            provider="copilot",
            provider_id=None,
            state="done",
            duration=31_000.0,
            exit_code=1,
            started_at=at(151),
            args=Raw(b'{"command":"pytest -x tests/pty"}'),
            data=Raw(b'"FAILED tests/pty/test_pair.py::test_pairs\\n1 failed in 30.8s"'),
        ),
    ):
        state.recent_calls[one.id] = one
    return state


def crowded() -> State:
    """Return 40 sessions of 50 turns; the newest turn of each has 200 steps."""
    sessions = [session(f"s{n}", f"Session {n} of many") for n in range(40)]
    state = State(sessions={one.id: one for one in sessions})
    for one in sessions:
        heads = [
            head(
                n,
                f"Prompt number {n} is a long one " * 4,
                9_000 - 60 * n,
                50,
                steps=30,
                session_id=one.id,
            )
            for n in range(1, 50)
        ]
        heads = [replace(found, session_id=one.id) for found in heads]
        newest = head(50, "The newest prompt", 600, None, steps=200, session_id=one.id, failed=20)
        steps = [
            step(
                f"50.{n}",
                ago=600 - n,
                tool=("bash", "a_tool_with_a_rather_long_name_indeed")[n % 2],
                call_id=f"{one.id}-{n}",
                summary=f"./check --all --verbose part-{n} of two hundred and then some more text",
                duration=10.0 * n,
                state="failed" if n % 10 == 0 else "done",
                exit_code=3 if n % 10 == 0 else 0,
                added=n,
                removed=n * 7,
            )
            for n in range(1, 201)
        ]
        told = SessionTurns(one.id, heads, Turn(newest, steps))
        state.turns[one.id] = LiveTurns.of(told)
    return state
