"""The turns of earlier runs, read back from a journal that nobody closed, or that lies."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tapui.projection.turns.earlier_turns import TAPUI_ENDED
from tapui.records.lookup import earlier_turns
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.codec import raw
from tapui.wire.turns import Turn
from tests.records.turns import Writer, opened, started


def prompt(text: str) -> ev.SessionHappened:
    return ev.SessionHappened("s1", "user.message", raw({"content": text}))


def idle() -> ev.SessionHappened:
    return ev.SessionHappened("s1", "session.idle", raw({}))


def finished(id_: str, state: Any = "done") -> ev.CallFinished:
    return ev.CallFinished("s1", subjects.Call(id_, "s1", "ci", "greet", state, ""))


def folder(workspace: Path) -> Path:
    return workspace / "files/tap"


def told(turns: list[Turn]) -> list[tuple[str, str, list[str]]]:
    return [(one.head.prompt, one.head.state, [step.state for step in one.steps]) for one in turns]


def test_a_run_that_was_killed_leaves_its_turns(state: Path, workspace: Path) -> None:
    with Writer(state, run="r0") as writer:
        writer.turn(opened("s1", workspace), prompt("one"), started("s1", "c1"), finished("c1"))
        writer.turn(idle(), prompt("two"), started("s1", "c2"))
    with Writer(state, run="r1") as writer:
        writer.turn(opened("s1", workspace), prompt("three"))
        turns = earlier_turns(folder(workspace), "r1", "s1")
    assert told(turns) == [("one", "done", ["done"]), ("two", "unknown", ["unknown"])]
    assert turns[1].steps[0].error == TAPUI_ENDED
    assert all(turn.head.is_history for turn in turns)


def test_turns_that_an_earlier_run_had_read_back_come_once(state: Path, workspace: Path) -> None:
    for number in range(4):
        run = f"r{number}"
        with Writer(state, run=run) as writer:
            writer.seq = 10 * number  # later runs are later
            writer.turn(opened("s1", workspace))
            before = earlier_turns(folder(workspace), run, "s1")
            writer.turn(ev.TurnsRestored("s1", before))
            writer.turn(prompt(run), started("s1", f"c{number}"), finished(f"c{number}"), idle())
    turns = earlier_turns(folder(workspace), "r9", "s1")
    assert [turn.head.prompt for turn in turns] == ["r0", "r1", "r2", "r3"]


def test_a_turn_that_outlived_several_runs_is_one(state: Path, workspace: Path) -> None:
    for number in range(3):
        with Writer(state, run=f"r{number}") as writer:
            writer.seq = 10 * number
            writer.turn(opened("s1", workspace))
            if number:
                (turn,) = earlier_turns(folder(workspace), f"r{number}", "s1")
                writer.turn(ev.TurnsRestored("s1", [turn]))
                goes_on = replace(turn, head=replace(turn.head, state="running", ended_at=None))
                writer.turn(ev.TurnsRestored("s1", [goes_on]))
            else:
                writer.turn(prompt("one"))
            busy = ev.SessionHappened("s1", "session.busy", raw({}))
            writer.turn(busy, started("s1", f"c{number}"), finished(f"c{number}"))
    turns = earlier_turns(folder(workspace), "r9", "s1")
    assert told(turns) == [("one", "unknown", ["done", "done", "done"])]


def test_other_sessions_and_no_records_have_no_turns(state: Path, workspace: Path) -> None:
    assert earlier_turns(folder(workspace), "r1", "s1") == []
    with Writer(state, run="r0") as writer:
        writer.turn(opened("s1", workspace), prompt("one"))
    assert earlier_turns(folder(workspace), "r1", "s2") == []


def test_damage_forged_and_half_lines_cost_only_themselves(state: Path, workspace: Path) -> None:
    with Writer(state, run="r0") as writer:
        writer.turn(opened("s1", workspace), prompt("one"), started("s1", "c1"))
    for collection in ("sessions", "calls"):
        with (folder(workspace) / f"{collection}.jsonl").open("ab") as file:
            file.write(
                b'{"v":1,"run":"r0","seq":7,"ts":"t","sessionId":"s1","kind":"session.event"}\n'
            )
            file.write(b"\xff\xfe{nonsense\n" + b'"x"\n[1]\n' + b'{"a":' * 5000 + b"\n")
            file.write(b'{"v":1,"run":"r0","seq":9,"ts":"t","sessionId":"s1","kind":"session.rest')
    turns = earlier_turns(folder(workspace), "r1", "s1")
    assert [turn.head.prompt for turn in turns] == ["one"]


def test_huge_lines_and_files_are_read_to_a_bound(state: Path, workspace: Path) -> None:
    with Writer(state, run="r0") as writer:
        writer.turn(opened("s1", workspace), prompt("old"))
    path = folder(workspace) / "sessions.jsonl"
    with path.open("ab") as file:
        file.write(b'{"x":"' + b"y" * 1_000_000 + b'"}\n')
    with Writer(state, run="r1") as writer:
        writer.seq = 10
        writer.turn(opened("s1", workspace), prompt("new"))
    turns = earlier_turns(folder(workspace), "r2", "s1", most=100_000)
    assert [turn.head.prompt for turn in turns] == ["new"]


def test_more_than_a_day_s_turns_are_bounded(state: Path, workspace: Path) -> None:
    with Writer(state, run="r0") as writer:
        writer.turn(opened("s1", workspace))
        for number in range(limits.TURNS + 10):
            writer.turn(prompt(str(number)), idle())
    turns = earlier_turns(folder(workspace), "r1", "s1")
    assert [turn.head.prompt for turn in turns] == [
        str(number) for number in range(10, limits.TURNS + 10)
    ]
