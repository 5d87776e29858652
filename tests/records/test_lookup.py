"""Looking up single records."""

from pathlib import Path

import pytest

from tapui.core.effects import LinesBefore, ReadRecords, RecordsAbout, SpansBetween
from tapui.records import lookup
from tapui.wire.events import SpanEnded, StreamPosted
from tapui.wire.message import Line
from tests.records.turns import Writer, closed, finished, opened, stamp, started
from tests.telemetry.spans import span


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


def spans(folder: Path, since: int, until: int = 0, most: int = 10, **more: str) -> list[int]:
    """Return the numbers of the spans between two events."""
    upto = stamp(until) if until else ""
    asked = ReadRecords(1, "s1", SpansBetween(stamp(since), upto, most, **more))
    found = lookup.find(folder, "", asked)
    return [int(entry.event.span.span_id, 16) for entry in found]  # type: ignore[union-attr]


def ended(number: int, session_id: str = "s1", **fields: str) -> SpanEnded:
    return SpanEnded(span(number, **fields), session_id)


def test_spans_of_a_time_over_rotated_files_and_runs(state: Path, workspace: Path) -> None:
    with Writer(state, run="r0") as writer:
        writer.turn(opened("s1", workspace), ended(2), ended(3))
    with Writer(state, file=2_000) as writer:
        writer.turn(opened("s1", workspace))
        for number in range(2, 41):
            writer.turn(ended(number))
        folder = writer.journal.folder_of("s1")
    assert len(list(folder.glob("traces.*.jsonl"))) > 2
    assert spans(folder, 36) == [36, 37, 38, 39, 40]
    assert spans(folder, 10, 13) == [10, 11, 12, 13]
    assert spans(folder, 10, 30, most=3) == [28, 29, 30]
    assert spans(folder, 2, 4, most=9) == [2, 3, 2, 3, 4]
    assert spans(folder, 41) == []


def test_spans_of_one_trace_and_session_and_no_damaged_ones(state: Path, workspace: Path) -> None:
    other = "f" * 32
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(ended(1), ended(2, trace_id=other), ended(3, session_id="s2"))
        writer.turn(ended(4, name="route", tool=other))
        folder = writer.journal.folder_of("s1")
    with (folder / "traces.jsonl").open("ab") as file:
        file.write(b'{"run":"r1","seq":9,"ts":"2027"}\n{"torn')
    assert spans(folder, 1) == [1, 2, 4]
    assert spans(folder, 1, trace_id=other) == [2]
    assert spans(folder, 1, trace_id="e" * 32) == []
