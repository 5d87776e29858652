"""Looking up single records."""

from pathlib import Path

import pytest

from tapui.core.effects import LinesBefore, ReadRecords, RecordsAbout
from tapui.records import lookup
from tapui.wire.events import StreamPosted
from tapui.wire.message import Line
from tests.records.turns import Writer, closed, finished, opened, stamp, started


def posted(stream: str, seq: int, session_id: str = "s1") -> StreamPosted:
    return StreamPosted(session_id, stream, Line(seq, stamp(seq), "keep", f"{stream} {seq}"))


def lines(folder: Path, run: str, stream: str, last: int, before: int) -> list[int]:
    asked = ReadRecords(1, "s1", LinesBefore(stream, last, before))
    return [entry.event.line.seq for entry in lookup.find(folder, run, asked)]  # type: ignore[union-attr]


def test_lines_of_one_stream_before_a_number(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        for seq in range(1, 21):
            writer.turn(posted("a@x", seq), posted("b@x", seq))
        folder = writer.journal.folder_of("s1")
    assert lines(folder, "r1", "a@x", 3, 10) == [7, 8, 9]
    assert lines(folder, "r1", "a@x", 30, 4) == [1, 2, 3]
    assert lines(folder, "r1", "c@x", 3, 10) == []
    assert lines(folder, "r2", "a@x", 3, 10) == []


def test_lines_over_rotated_files_but_not_of_another_run(state: Path, workspace: Path) -> None:
    with Writer(state, run="r0") as writer:
        writer.turn(opened("s1", workspace), posted("a@x", 1), posted("a@x", 2))
    with Writer(state, file=600) as writer:
        writer.turn(opened("s1", workspace))
        for seq in range(1, 21):
            writer.turn(posted("a@x", seq))
        folder = writer.journal.folder_of("s1")
    assert len(list(folder.glob("streams.*.jsonl"))) > 2
    assert lines(folder, "r1", "a@x", 50, 21) == list(range(1, 21))


def test_the_newest_record_of_each_kind(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), started("s1", "c1"), started("s1", "c2"))
        folder = writer.journal.folder_of("s1")
    asked = ReadRecords(1, "s1", RecordsAbout("c1", ("call.started", "call.finished")))
    assert [entry.seq for entry in lookup.find(folder, "r1", asked)] == [2]
    nobody = ReadRecords(1, "s1", RecordsAbout("c9", ("call.started", "call.finished")))
    assert lookup.find(folder, "r1", nobody) == []


def test_records_of_an_earlier_run_are_found_and_runs_are_not_mixed(
    state: Path, workspace: Path
) -> None:
    for run, ids in (("r1", ("c1", "c2")), ("r2", ("c2", "c3"))):
        with Writer(state, run) as writer:
            writer.turn(opened("s1", workspace), *(started("s1", id_) for id_ in ids))
            if run == "r1":
                writer.turn(finished("s1", "c1"), finished("s1", "c2"))
            folder = writer.journal.folder_of("s1")
    kinds = ("call.started", "call.finished")

    def found(id_: str) -> list[tuple[str, str]]:
        asked = ReadRecords(1, "s1", RecordsAbout(id_, kinds))
        entries = lookup.find(folder, "r2", asked)
        return [(entry.run, str(entry.event.__struct_config__.tag)) for entry in entries]

    assert found("c1") == [("r1", kinds[0]), ("r1", kinds[1])]
    assert found("c2") == [("r2", kinds[0])]
    assert found("c9") == []


def test_a_look_up_passes_a_bounded_number_of_records(
    state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "MAX_LOOKED_AT", 5)
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), *(posted("a@x", seq) for seq in range(1, 21)))
        folder = writer.journal.folder_of("s1")
        writer.turn(closed("s1"))
    assert lines(folder, "r1", "a@x", 50, 100) == [16, 17, 18, 19, 20]
