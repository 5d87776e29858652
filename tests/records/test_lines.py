"""A record is one line: the event in its envelope, one write a file and turn."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.wire import events as ev
from tests.records.turns import (
    Writer,
    closed,
    decided,
    lines,
    opened,
    refused,
    seqs,
    stamp,
    started,
)


def test_a_line_is_the_event_with_its_envelope_first(state: Path, workspace: Path) -> None:
    with Writer(state, run="r-7") as writer:
        assert writer.turn(opened("s1", workspace), started("s1", "c1")) == frozenset()
    data = (workspace / "files/tap/calls.jsonl").read_bytes()
    assert data.startswith(
        b'{"v":1,"run":"r-7","seq":2,"ts":"2026-01-01T00:00:00.000002Z",'
        b'"kind":"call.started","sessionId":"s1","call":{"id":"c1",'
    )
    assert data.count(b"\n") == 1


def test_a_run_name_that_needs_escaping_stays_json(state: Path) -> None:
    with Writer(state, run='a"\n') as writer:
        writer.turn(refused("x"))
    assert lines(state / "gateway/errors.jsonl")[0]["run"] == 'a"\n'


def test_each_event_goes_to_its_collection_and_session(state: Path, workspace: Path) -> None:
    line = ev.Line(1, stamp(0), "keep", "built")
    with Writer(state) as writer:
        writer.turn(
            opened("s1", workspace),
            opened("s2"),
            started("s1", "c1"),
            started("s2", "c2"),
            ev.StreamPosted("s1", "ci@ci", line),
            decided("a1", "s1"),
            decided("a2"),
            ev.ModeChanged("s2", "plan", "done", "person"),
            ev.InjectPaused("s2", "p1", "ci"),
            ev.UnattachedFound("copilot", []),
            refused("x"),
        )
    tap, second, gateway = workspace / "files/tap", state / "sessions/s2", state / "gateway"
    found = {path: seqs(path) for path in [*tap.parent.parent.rglob("*.jsonl")]}
    assert found == {
        tap / "sessions.jsonl": [1],
        tap / "calls.jsonl": [3],
        tap / "streams.jsonl": [5],
        tap / "approvals.jsonl": [6],
    }
    assert seqs(second / "sessions.jsonl") == [2]
    assert seqs(second / "calls.jsonl") == [4]
    assert seqs(second / "modes.jsonl") == [8]
    assert seqs(second / "streams.jsonl") == [9]
    assert seqs(gateway / "approvals.jsonl") == [7]
    assert seqs(gateway / "sessions.jsonl") == [10]
    assert seqs(gateway / "errors.jsonl") == [11]


def test_every_kind_of_event_has_a_collection() -> None:
    kinds = {kind.__struct_config__.tag.partition(".")[0] for kind in ev.EVENTS}
    assert kinds <= set(ev.COLLECTIONS)


def test_a_turn_is_one_write_a_file(
    state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: Counter[str] = Counter()
    real = os.write

    def counting(fd: int, data: Any) -> int:
        writes[Path(f"/dev/fd/{fd}").resolve().name] += 1
        return real(fd, data)

    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), started("s1", "c0"), refused("x"))
        monkeypatch.setattr(os, "write", counting)
        writer.turn(*[started("s1", f"c{n}") for n in range(64)], refused("y"), refused("z"))
        monkeypatch.undo()
    assert writes == {"calls.jsonl": 1, "errors.jsonl": 1}
    assert len(seqs(workspace / "files/tap/calls.jsonl")) == 65


@pytest.mark.parametrize("break_", ["\n", "\r", "\r\n"])
def test_line_breaks_between_tokens_never_split_a_record(state: Path, break_: str) -> None:
    event = refused("x")
    body = '{"kind": "error.sent",#"code": "X",#"message": "a\\nb"#}'.replace("#", break_)
    with Writer(state) as writer:
        writer.journal.write([(ev.Entry("r1", 1, stamp(1), event), body.encode())])
    data = (state / "gateway/errors.jsonl").read_bytes()
    assert data.count(b"\n") == 1
    assert b"\r" not in data
    assert msgspec.json.decode(data)["message"] == "a\nb"


def test_nothing_exists_before_the_first_record(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.journal.register("s1", str(workspace))
        assert writer.journal.write([]) == frozenset()
        assert not state.exists()
        assert list(workspace.iterdir()) == []


def test_records_of_a_closed_session_still_reach_its_file(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(closed("s1"))
        writer.turn(started("s1", "late"))
    assert seqs(workspace / "files/tap/sessions.jsonl") == [1, 2]
    assert seqs(workspace / "files/tap/calls.jsonl") == [3]


def test_a_session_that_never_opened_makes_no_folder(state: Path) -> None:
    with Writer(state) as writer:
        for number in range(100):
            writer.turn(ev.ErrorSent("INVALID_SESSION", "x", session_id=f"made-up-{number}"))
    assert [path.name for path in state.iterdir()] == ["gateway"]
    assert len(seqs(state / "gateway/errors.jsonl")) == 100


def test_a_session_that_replaces_another_writes_to_its_own_folder(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    second = tmp_path / "session-state" / "s2"
    second.mkdir()
    event = ev.SessionReplaced("s2", opened("s2", second).session, "s1")
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(event, started("s2", "c1"))
    assert seqs(workspace / "files/tap/sessions.jsonl") == [1]
    assert seqs(second / "files/tap/sessions.jsonl") == [2]
    assert seqs(second / "files/tap/calls.jsonl") == [3]


def test_two_sessions_in_one_workspace_share_its_files(state: Path, workspace: Path) -> None:
    event = ev.SessionReplaced("s2", opened("s2", workspace).session, "s1")
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), event, started("s2", "c1"))
        writer.turn(closed("s1"), started("s2", "c2"))
        assert writer.reports == []
    assert seqs(workspace / "files/tap/sessions.jsonl") == [1, 2, 4]
    assert seqs(workspace / "files/tap/calls.jsonl") == [3, 5]


def test_after_close_nothing_is_written_and_it_says_so(state: Path) -> None:
    writer = Writer(state)
    writer.turn(refused("x"))
    assert writer.journal.close(5)
    assert writer.turn(refused("y")) == {2}
    assert not writer.sync([1])
    assert writer.journal.close(5)
    assert seqs(state / "gateway/errors.jsonl") == [1]


def test_many_sessions_keep_few_files_open(state: Path) -> None:
    names = [f"s{number}" for number in range(150)]
    with Writer(state, most_open=32) as writer:
        before = len(list(Path("/dev/fd").iterdir()))
        assert writer.turn(*[opened(name) for name in names]) == frozenset()
        for name in names:
            assert writer.turn(started(name, "c1"), started(name, "c2")) == frozenset()
        assert writer.sync(None)
        # A folder and a lock for each file at most, and what is about to be closed.
        assert len(list(Path("/dev/fd").iterdir())) - before <= 3 * 32 + 2 * 65
    for number, name in enumerate(names):
        assert seqs(state / "sessions" / name / "sessions.jsonl") == [number + 1]
        assert seqs(state / "sessions" / name / "calls.jsonl") == [
            151 + 2 * number,
            152 + 2 * number,
        ]
