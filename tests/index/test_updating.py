"""The index follows the records, whatever becomes of them and of itself."""

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tapui.index.folder_fold import CHECKPOINTS, checkpoint_before
from tapui.index.sources import Watch, in_order, record_files, record_folders
from tapui.index.store import VERSION, index_path, reading, writing
from tapui.index.update import Updater, bring_up_to_date
from tapui.projection.fold import fold
from tapui.projection.state import State
from tests.index import played
from tests.index.conftest import Find
from tests.records.turns import Writer, closed, opened
from tests.rig import replayed as replay


def tap(workspace: Path) -> Path:
    return workspace / "files" / "tap"


@pytest.fixture
def writer(state: Path, workspace: Path) -> Iterator[Writer]:
    with Writer(state) as made:
        made.turn(opened("s1", workspace))
        yield made


def contents(state: Path) -> list[tuple[object, ...]]:
    """Return what the index holds, but for the numbers that it gave."""
    connection = reading(state)
    try:
        return connection.execute(
            "SELECT r.id, s.name, u.name, r.seq, kind, turn, call, is_cut, title, text, f.name,"
            " r.offset FROM rows r JOIN runs u ON u.id = r.run LEFT JOIN sessions s"
            " ON s.id = r.session JOIN files f ON f.id = r.file ORDER BY r.id"
        ).fetchall()
    finally:
        connection.close()


def test_what_is_written_later_is_found_later(writer: Writer, find: Find) -> None:
    writer.turn(played.line("first"))
    assert len(find("first")) == 1
    writer.turn(played.line("second"))
    assert [len(find(word)) for word in ("first", "second")] == [1, 1]


def test_an_index_made_bit_by_bit_is_the_one_made_at_once(
    writer: Writer, find: Find, state: Path
) -> None:
    for number in range(20):
        writer.turn(
            played.prompt(f"do {number}"), *played.call(f"c{number}", "bash", {"command": "a"})
        )
        find("nothing")
    bit_by_bit = contents(state)
    index_path(state).unlink()
    find("nothing")
    assert contents(state) == bit_by_bit
    assert len(bit_by_bit) == 60


@pytest.mark.parametrize("kind", ["garbage", "empty", "newer", "older", "foreign", "page", "table"])
def test_an_index_that_is_of_no_use_is_made_again(
    writer: Writer, find: Find, state: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(50):
        writer.turn(played.line(f"word{number} " + "x" * 500))
    assert len(find("word7")) == 1
    path = index_path(state)
    if kind == "garbage":
        path.write_bytes(os.urandom(20_000))
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "page":
        data = bytearray(path.read_bytes())
        data[4096:] = os.urandom(len(data) - 4096)
        path.write_bytes(data)
    else:
        connection = sqlite3.connect(path)
        change = {
            "newer": f"PRAGMA user_version = {VERSION + 1}",
            "older": f"PRAGMA user_version = {VERSION - 1}",
            "foreign": "PRAGMA application_id = 1",
            "table": "DROP TABLE words_1",
        }[kind]
        connection.execute(change)
        connection.close()
    writer.turn(played.line("afterwards"))
    assert len(find("afterwards")) == 1
    assert len(find("word7")) == 1
    assert "is made again" in caplog.text


def test_half_a_line_is_read_when_it_is_whole(writer: Writer, find: Find, workspace: Path) -> None:
    writer.turn(played.line("whole"))
    path = tap(workspace) / "streams.jsonl"
    line = path.read_bytes().replace(b'"seq":2', b'"seq":3').replace(b"whole", b"halved")
    with path.open("ab") as file:
        file.write(line[:100])
    assert find("halved") == []
    with path.open("ab") as file:
        file.write(line[100:])
    assert len(find("halved")) == 1


def test_damage_and_forged_lines_cost_only_themselves(
    writer: Writer, find: Find, workspace: Path, state: Path
) -> None:
    writer.turn(played.line("before"))
    path = tap(workspace) / "streams.jsonl"
    good = path.read_bytes()
    forged = [
        b"\xff\xfe\x00 not JSON", b"", b"{}", b'"text"', b"[" * 5_000, b"{" * 100_000,
        good.replace(b'"2026-01-01', b'"9999-12-31')[:-1],
        good.replace(b'"ts":"2026-01-01T00:00:00.000002Z"', b'"ts":"yesterday \\u001b[2J"')[:-1],
        good.replace(b'"run":"r1"', b'"run":"' + b"r" * 10_000 + b'"')[:-1],
        good.replace(b'"seq":2', b'"seq":-9223372036854775808')[:-1],
        good.replace(b'"seq":2', b'"seq":1' + b"0" * 40)[:-1],
        good.replace(b'"kind":"stream.posted"', b'"kind":"stream.invented"')[:-1],
        good.replace(b'"sessionId":"s1"', b'"sessionId":"../../etc"')[:-1],
        good.replace(b"before", b"\\u0000 NUL")[:-1],
        b'{"v":1,"run":"r1","seq":9,"ts":"x","kind":"session.event","sessionId":"s1",'
        b'"event":"user.message","data":' + b"[" * 900 + b"]" * 900 + b"}",
    ]  # fmt: skip
    with path.open("ab") as file:
        file.write(b"\n".join(forged) + b"\n")
    writer.turn(played.line("after"))
    assert len(find("after")) == 1
    assert len(find("before")) >= 1
    connection = reading(state)
    damaged = connection.execute("SELECT sum(damaged) FROM files").fetchone()
    connection.close()
    assert damaged[0] >= 5


def test_records_of_another_version_are_passed_over(
    writer: Writer, find: Find, workspace: Path
) -> None:
    writer.turn(played.line("known"))
    with (tap(workspace) / "streams.jsonl").open("ab") as file:
        file.write(b'{"v":7,"run":"r9","seq":1,"ts":"2027-01-01T00:00:00Z","kind":"dream.had"}\n')
    writer.turn(played.line("known again"))
    assert len(find("known")) == 2


def test_rotated_files_are_read_once(state: Path, workspace: Path, find: Find) -> None:
    with Writer(state, file=20_000) as writer:
        writer.turn(opened("s1", workspace))
        for number in range(100):
            writer.turn(played.line(f"n{number} " + "x" * 1_000))
            if number % 10 == 0:
                find("nothing")
        assert len(list(tap(workspace).glob("streams.*.jsonl"))) > 2
        assert [len(find(f"n{number}")) for number in range(100)] == [1] * 100


def test_what_is_deleted_is_not_found(
    writer: Writer, find: Find, workspace: Path, state: Path
) -> None:
    writer.turn(played.line("secret plan"), *played.call("c1", "bash", {"command": "plan b"}))
    assert len(find("plan")) == 2
    (tap(workspace) / "streams.jsonl").unlink()
    assert [hit.kind for hit in find("plan")] == ["call"]
    for file in tap(workspace).iterdir():
        file.unlink()
    tap(workspace).rmdir()
    assert find("plan") == []
    kept = [one.read_bytes() for one in index_path(state).parent.iterdir()]
    assert not [data for data in kept if b"plan" in data]


def test_a_file_that_took_the_place_of_another_is_read_anew(
    writer: Writer, find: Find, workspace: Path
) -> None:
    for number in range(9):
        writer.turn(played.line(f"old line{number}"))
    assert len(find("old")) == 9
    path = tap(workspace) / "streams.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(lines[4].replace(b"old", b"new") + b"\n")
    assert (len(find("old")), len(find("new"))) == (0, 1)


def test_a_link_in_the_place_of_records_is_not_followed(
    writer: Writer, find: Find, workspace: Path, tmp_path: Path
) -> None:
    writer.turn(played.line("mine"))
    other = tmp_path / "elsewhere.jsonl"
    other.write_bytes((tap(workspace) / "streams.jsonl").read_bytes().replace(b"mine", b"theirs"))
    (tap(workspace) / "calls.jsonl").symlink_to(other)
    assert find("theirs") == []
    assert len(find("mine")) == 1


def test_a_folder_that_goes_away_while_it_is_read_costs_nothing_else(
    state: Path, workspace: Path
) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), opened("s2"), played.line("gone"))
        writer.turn(played.line("stays", session_id="s2"))
    with writing(state) as connection:
        updater = Updater(connection)
        found = record_files

        def vanishing(folder: Path) -> object:
            files = found(folder)
            if folder == tap(workspace):
                for one in files:
                    one.path.unlink(missing_ok=True)
            return files

        updater._files_in = vanishing  # type: ignore[method-assign, assignment]
        updater.update(record_folders(state), is_all=True)
        rows = connection.execute("SELECT title, text FROM rows").fetchall()
    assert rows == [("log@ci", "log@ci\nstays")]


def test_only_one_process_writes(state: Path, writer: Writer) -> None:
    writer.turn(played.line("word"))
    with writing(state):
        assert bring_up_to_date(state, 5) == "held"


def test_what_there_is_no_time_for_is_left(state: Path, writer: Writer, find: Find) -> None:
    for number in range(3_000):
        writer.turn(played.line(f"w{number} " + "x" * 900))
    assert bring_up_to_date(state, 0) == "unfinished"
    assert len(find("w2999")) == 1


# Order and state


def test_records_come_in_order_over_all_files_of_a_folder(writer: Writer, workspace: Path) -> None:
    for number in range(50):
        writer.turn(played.prompt(f"do {number}"), *played.call(f"c{number}", "bash", {}))
    placed = list(in_order(dict.fromkeys(record_files(tap(workspace)), 0)))
    assert [one.record.seq for one in placed if one.record] == list(range(1, 152))


def test_a_file_that_was_rotated_since_it_was_found_waits(writer: Writer, workspace: Path) -> None:
    writer.turn(played.line("one"))
    files = dict.fromkeys(record_files(tap(workspace)), 0)
    live = tap(workspace) / "streams.jsonl"
    live.rename(tap(workspace) / "streams.1.jsonl")
    live.write_bytes(b"")
    with pytest.raises(OSError, match="another file has its name"):
        list(in_order(files))


def test_however_many_files_there_are_few_are_open(
    state: Path, workspace: Path, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer(state, file=1_000) as writer:
        writer.turn(opened("s1", workspace))
        for number in range(60):
            writer.turn(played.line(f"n{number} " + "x" * 1_000))
    assert len(list(tap(workspace).glob("streams.*.jsonl"))) == 59
    held = 0
    real_open, real_close = os.open, os.close

    def opening(*args: object, **more: object) -> int:
        nonlocal held, most
        held += 1
        most = max(most, held)
        return real_open(*args, **more)  # type: ignore[arg-type]

    def closing(fd: int) -> None:
        nonlocal held
        held -= 1
        real_close(fd)

    most = 0
    monkeypatch.setattr("tapui.index.sources.os.open", opening)
    monkeypatch.setattr("tapui.index.sources.os.close", closing)
    assert len(find("n0")) == len(find("n59")) == 1
    assert 0 < most < 40


def test_half_a_turn_waits_for_the_other_half(writer: Writer, workspace: Path) -> None:
    writer.turn(played.prompt("one"))
    began, _ = played.call("c1", "bash", {})
    writer.turn(began, played.prompt("two"))  # written after the look
    writer.turn(played.prompt("three"))
    now = {one.path.name: one for one in record_files(tap(workspace))}
    # The calls were looked at before that turn, the session's events after it.
    seen = {now["sessions.jsonl"]: 0, replace(now["calls.jsonl"], size=0): 0}
    placed = list(in_order(seen))
    assert [one.record.seq for one in placed if one.record] == [1, 2]  # not 4: 3 is a call


def test_checkpoints_are_the_fold_of_the_records_up_to_them(
    state: Path, workspace: Path, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tapui.index.folder_fold.CHECKPOINT_BYTES", 2_000)
    monkeypatch.setattr("tapui.index.update.SETTLE_SECONDS", 0)
    folder = tap(workspace)
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        for number in range(20):
            writer.turn(
                *played.call(f"c{number}", "bash", {"command": f"echo {number}"}),
                *played.permission(f"a{number}", "rm"), played.line(f"l{number}"),
            )  # fmt: skip
            find("nothing")
        writer.turn(closed("s1"))
    find("nothing")
    connection = reading(state)
    times = [ts for (ts,) in connection.execute("SELECT ts FROM checkpoints ORDER BY bytes")]
    assert 3 <= len(times) <= CHECKPOINTS
    for ts in times:
        point = checkpoint_before(connection, str(folder), ts)
        assert point is not None
        folded = State()
        for record in replay.records([folder], point.run):
            if record.seq <= point.seq and record.event is not None:
                fold(folded, record.event, record.ts)
        assert point.state == folded
        # Replay goes on from there, and comes to the same end.
        rest = {one: point.offsets.get((one.device, one.inode), 0) for one in record_files(folder)}
        for placed in in_order(rest):
            if placed.record is not None and placed.record.event is not None:
                fold(point.state, placed.record.event, placed.record.ts)
        assert point.state == replay.replay([folder])
    assert checkpoint_before(connection, str(folder), "2000") is None
    assert checkpoint_before(connection, "/nowhere", None) is None
    connection.close()


def test_checkpoints_are_bounded(
    state: Path, workspace: Path, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tapui.index.folder_fold.CHECKPOINT_BYTES", 1)
    monkeypatch.setattr("tapui.index.folder_fold.CHECKPOINTS", 8)
    monkeypatch.setattr("tapui.index.update.SETTLE_SECONDS", 0)
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        for number in range(24):
            writer.turn(played.line(f"l{number}"))
            find("nothing")
    connection = reading(state)
    seqs = [seq for (seq,) in connection.execute("SELECT seq FROM checkpoints ORDER BY seq")]
    connection.close()
    assert 4 <= len(seqs) <= 8
    assert seqs[0] < 12 < seqs[-1]


# Which folders are looked at


def test_what_is_written_to_now_is_looked_at(state: Path, workspace: Path, writer: Writer) -> None:
    watch = Watch(state)
    assert watch.survey() == [tap(workspace)]
    assert watch.active() == [tap(workspace)]
    for path in tap(workspace).iterdir():
        os.utime(path, (0, 0))
    assert watch.active() == []
    writer.turn(opened("s2"))
    assert watch.active() == [state / "sessions" / "s2"]
    writer.turn(played.line("again"))
    assert watch.active() == [tap(workspace), state / "sessions" / "s2"]
