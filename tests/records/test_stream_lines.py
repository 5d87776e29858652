"""Lines of a stream out of long records: found by time, and right whatever the times say."""

from pathlib import Path

import pytest

from tapui.core.effects import LinesAfter, LinesBefore, ReadRecords
from tapui.records import lookup
from tapui.wire.events import Entry, StreamPosted
from tapui.wire.message import Line
from tests.records.turns import Writer, opened, stamp

LINES = 800
LONG = "x" * 400


def posted(stream: str, seq: int, ts: str) -> StreamPosted:
    return StreamPosted("s1", stream, Line(seq, ts, "keep", f"{stream} {seq} {LONG}"))


def write(state: Path, workspace: Path, *, backward: range = range(0)) -> Path:
    """Two streams by turns, over several files; the clock goes back for the numbers `backward`."""
    with Writer(state, run="r0") as writer:
        writer.turn_at(stamp(0), opened("s1", workspace), posted("a@x", 1, stamp(0)))
    with Writer(state, file=200_000) as writer:
        writer.turn_at(stamp(0), opened("s1", workspace))
        for seq in range(1, LINES + 1):
            ts = stamp(seq - 200 if seq in backward else seq)
            writer.turn_at(ts, posted("a@x", seq, ts), posted("b@x", seq, ts))
        folder = writer.journal.folder_of("s1")
    assert len(list(folder.glob("streams.*.jsonl"))) > 3
    return folder


def found(folder: Path, wanted: LinesBefore | LinesAfter) -> list[int]:
    entries: list[Entry] = lookup.find(folder, "r1", ReadRecords(1, "s1", wanted))
    return [entry.event.line.seq for entry in entries]  # type: ignore[union-attr]


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the records that are decoded."""
    count: list[int] = []
    original = lookup.parse

    def counted(line: bytes) -> object:
        count.append(1)
        return original(line)

    monkeypatch.setattr(lookup, "parse", counted)
    return count


@pytest.mark.parametrize("before", [2, 100, 450, LINES + 1])
def test_lines_before_a_number_are_the_same_with_the_time_and_without(
    state: Path, workspace: Path, before: int
) -> None:
    folder = write(state, workspace)
    wanted = list(range(max(before - 50, 1), before))
    assert found(folder, LinesBefore("a@x", 50, before)) == wanted
    assert found(folder, LinesBefore("a@x", 50, before, at=stamp(before))) == wanted


@pytest.mark.parametrize("after", [0, 1, 99, 450, LINES - 10, LINES])
def test_lines_after_a_number_are_the_same_with_the_time_and_without(
    state: Path, workspace: Path, after: int
) -> None:
    folder = write(state, workspace)
    wanted = list(range(after + 1, min(after + 50, LINES) + 1))
    assert found(folder, LinesAfter("a@x", 50, after)) == wanted
    assert found(folder, LinesAfter("a@x", 50, after, at=stamp(after))) == wanted


def test_lines_up_to_a_time(state: Path, workspace: Path) -> None:
    folder = write(state, workspace)
    for at in (1, 2, 377, LINES, LINES + 50):
        wanted = list(range(max(min(at, LINES) - 9, 1), min(at, LINES) + 1))
        assert found(folder, LinesBefore("a@x", 10, 2**40, until=stamp(at))) == wanted
    assert found(folder, LinesBefore("a@x", 10, 2**40, until="1999")) == []


def test_with_the_time_only_what_lies_beside_it_is_decoded(
    state: Path, workspace: Path, passed: list[int]
) -> None:
    folder = write(state, workspace)
    found(folder, LinesBefore("a@x", 50, 200, at=stamp(200)))
    assert len(passed) < LINES / 2
    passed.clear()
    found(folder, LinesAfter("a@x", 50, 200, at=stamp(200)))
    assert len(passed) < LINES / 2
    passed.clear()
    found(folder, LinesBefore("a@x", 50, 200))
    assert len(passed) >= LINES - 200


def test_a_clock_that_went_back_hides_no_line(state: Path, workspace: Path) -> None:
    folder = write(state, workspace, backward=range(300, LINES + 1))
    for at in (250, 300, 301, 400, 500, 700):
        ts = stamp(at - 200 if at >= 300 else at)
        wanted = list(range(at - 50, at))
        assert found(folder, LinesBefore("a@x", 50, at, at=ts)) == wanted
        after = list(range(at + 1, at + 51))
        assert found(folder, LinesAfter("a@x", 50, at, at=ts)) == after


def test_what_is_damaged_is_passed_over_and_a_torn_end_too(state: Path, workspace: Path) -> None:
    folder = write(state, workspace)
    live = folder / "streams.jsonl"
    lines = live.read_bytes().split(b"\n")
    middle = len(lines) // 2
    lines[middle] = b"\x00damaged" * 30
    lines[middle + 1] = b'{"run":"r1"'
    live.write_bytes(b"\n".join(lines) + b'{"v":1,"run":"r1","seq"')
    for at in range(LINES - 100, LINES, 17):
        with_time = found(folder, LinesBefore("a@x", 50, at, at=stamp(at)))
        assert with_time == found(folder, LinesBefore("a@x", 50, at))
        later = found(folder, LinesAfter("a@x", 50, at, at=stamp(at)))
        assert later == found(folder, LinesAfter("a@x", 50, at))


def test_files_that_were_deleted_have_no_lines(state: Path, workspace: Path) -> None:
    folder = write(state, workspace)
    (folder / "streams.2.jsonl").unlink()
    kept = found(folder, LinesBefore("a@x", 200, 600, at=stamp(600)))
    assert kept == found(folder, LinesBefore("a@x", 200, 600))
    for path in folder.glob("streams*.jsonl"):
        path.unlink()
    assert found(folder, LinesBefore("a@x", 50, 100, at=stamp(100))) == []
    assert found(folder, LinesAfter("a@x", 50, 100, at=stamp(100))) == []
