"""Any moment of a journal is the fold of the events until then."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.index.store import index_path
from tapui.index.update import bring_up_to_date
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.records import register
from tapui.replay.timeline import MARK_BYTES, Recorded, Timeline, opening
from tests.index import played
from tests.records.turns import Writer, opened, stamp, started
from tests.rig.replayed import records, replay

TURNS = 6


def play(writer: Writer, workspace: Path | None = None) -> None:
    """Write a session with turns of a prompt, a call, a line and an answer each."""
    writer.turn(opened("s1", workspace))
    for number in range(TURNS):
        writer.turn(played.prompt(f"do {number}"))
        writer.turn(*played.call(f"c{number}", "bash", {"command": f"make {number}"}))
        writer.turn(played.line(f"line {number}"), *played.permission(f"a{number}", "ls"))
        writer.turn(played.message(f"did {number}"), played.idle())


SMALL_MARKS = 700
"""Bytes between two marks: there are several in a short journal."""


def surveyed(folders: list[Path], mark_bytes: int = MARK_BYTES) -> Timeline:
    timeline = Timeline(Recorded(folders), mark_bytes=mark_bytes)
    timeline.survey(lambda: False)
    assert timeline.is_complete
    return timeline


def test_each_moment_is_the_fold_of_the_events_until_then(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
    folders = register.folders(state, "s1")
    timeline = surveyed(folders, SMALL_MARKS)
    entries = [entry for record in records(folders) if (entry := record.entry()) is not None]
    assert timeline.number == len(entries)
    folded = State()
    for number, entry in enumerate(entries, 1):
        fold(folded, entry.event, entry.ts)
        point = timeline.at(number)
        assert (point.number, point.state) == (number, folded)
        assert point.last == (entry.run, entry.seq, entry.ts)
        assert timeline.number_at(entry.ts) == number
    assert timeline.at(-5).state == State()
    assert timeline.at(9999).number == timeline.number
    assert timeline.number_at("1999") == 0
    assert timeline.number_at("2999") == timeline.number


def test_turns_are_found_by_where_they_begin(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
    timeline = surveyed(register.folders(state, "s1"), SMALL_MARKS)
    assert timeline.turns == TURNS
    starts = [0]
    for number in range(1, TURNS + 1):
        starts.append(timeline.turn_after(starts[-1]))
        turn = timeline.at(starts[-1]).state.turns["s1"].current()
        assert turn is not None
        assert (turn.head.number, turn.head.prompt) == (number, f"do {number - 1}")
        assert timeline.turn_at(starts[-1]) == number
        assert timeline.turn_at(starts[-1] - 1) == number - 1
        assert timeline.turn_before(starts[-1]) == starts[-2]
        assert timeline.turn_before(starts[-1] + 1) == starts[-1]
    assert timeline.turn_after(starts[-1]) == timeline.number
    # A mark keeps only the heads of older turns; whole they are still there.
    whole = timeline.turn("s1", 2)
    assert whole is not None
    assert [step.tool for step in whole.steps if step.kind == "call"] == ["bash"]
    assert timeline.turn("s1", TURNS) is None
    assert timeline.turn("s9", 1) is None


def test_a_session_that_wrote_elsewhere_for_a_while_is_one_story(
    state: Path, tmp_path: Path
) -> None:
    with Writer(state) as writer:
        play(writer)
    (folder,) = register.folders(state, "s1")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in folder.glob("*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[::2]))
        (elsewhere / path.name).write_bytes(b"".join(lines[1::2]))
    timeline = surveyed([folder, elsewhere])
    seqs = [entry.seq for entry in timeline.onward(timeline.at(0))]
    assert seqs == sorted(writer.entries)


def break_middle(folder: Path) -> None:
    path = folder / "calls.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"v":1,"run":"r1","seq\xff\n'
    lines.insert(5, b"\0" * 40 + b"\n")
    path.write_bytes(b"".join(lines))


def tear(folder: Path) -> None:
    path = folder / "streams.jsonl"
    path.write_bytes(path.read_bytes()[:-9])


def add_newer(folder: Path) -> None:
    with (folder / "sessions.jsonl").open("ab") as file:
        file.write(b'{"v":9,"run":"r2","seq":1,"ts":"2027","kind":"session.dreamt"}\n')


def forge(folder: Path) -> None:
    with (folder / "sessions.jsonl").open("ab") as file:
        head = b'{"v":1,"run":"r1","seq":%d,"ts":"%s","kind":"session.event","sessionId":"s1",'
        file.write(head % (-4, b"never") + b'"event":"user.message","data":{"content":7}}\n')
        file.write(head % (2**70, b"9999") + b'"event":"user.message","data":[[[]]]}\n')
        file.write(head % (7000, b"\\u001b[2J") + b'"event":"user.message","data":[[[]]]}\n')


@pytest.mark.parametrize(
    ("harm", "damaged", "unknown", "fewer"),
    [(break_middle, 2, 0, 1), (tear, 0, 0, 1), (add_newer, 0, 1, 0), (forge, 2, 0, -1)],
)
def test_what_is_no_record_is_passed_over_and_counted(
    state: Path, harm: Callable[[Path], None], damaged: int, unknown: int, fewer: int
) -> None:
    with Writer(state) as writer:
        play(writer)
    (folder,) = register.folders(state, "s1")
    harm(folder)
    timeline = surveyed([folder])
    assert (timeline.damaged, timeline.unknown) == (damaged, unknown)
    assert timeline.number == len(writer.entries) - fewer
    assert timeline.at(timeline.number).number == timeline.number
    opening(timeline.journal, state)


def test_what_is_written_meanwhile_is_not_part_of_it(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
        journal = Recorded(register.folders(state, "s1"))
        before = len(writer.entries)
        play(writer)
        timeline = Timeline(journal)
        timeline.survey(lambda: False)
    assert timeline.number == before


def test_rotation_meanwhile_changes_nothing(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
    (folder,) = register.folders(state, "s1")
    timeline = surveyed([folder])
    before = timeline.at(timeline.number).state
    (folder / "calls.jsonl").rename(folder / "calls.0001.jsonl")
    (folder / "calls.jsonl").write_bytes(b"")
    assert timeline.at(timeline.number).state == before


def test_records_that_are_gone_or_others_are_told(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
    (folder,) = register.folders(state, "s1")
    timeline = surveyed([folder])
    path = folder / "calls.jsonl"
    inode = path.stat().st_ino
    path.write_bytes(b"x" * path.stat().st_size)  # the same file by name and number
    assert path.stat().st_ino == inode
    with pytest.raises(FileNotFoundError, match="deleted"):
        timeline.at(3)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="deleted"):
        timeline.number_at(stamp(4))


def test_a_survey_can_be_ended(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
    timeline = Timeline(Recorded(register.folders(state, "s1")), ask_after=5)
    timeline.survey(lambda: True)
    assert (timeline.number, timeline.is_complete) == (5, False)
    assert 0 < timeline.share < 1
    assert timeline.at(99).number == 5
    assert timeline.has_reached("2000")
    assert not timeline.has_reached("2030")


def test_the_end_is_known_at_once_from_the_index(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tapui.index.folder_fold.CHECKPOINT_BYTES", 1)
    with Writer(state) as writer:
        play(writer)
        assert bring_up_to_date(state, 30) == "current"
        writer.turn(started("s1", "later"))
    folders = register.folders(state, "s1")
    found, last = opening(Recorded(folders), state, newest=4)
    assert found == replay(folders)
    assert last is not None
    assert last.seq == writer.seq


def test_without_an_index_the_end_is_about_known(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
        writer.turn(started("s1", "later"))
    found, last = opening(Recorded(register.folders(state, "s1")), state, newest=4)
    assert list(found.sessions) == ["s1"]
    assert list(found.calls) == ["later"]
    assert last is not None
    assert last.seq == writer.seq


def test_an_index_that_is_damaged_costs_nothing(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
    assert bring_up_to_date(state, 30) == "current"
    index_path(state).write_bytes(b"no index at all" * 999)
    folders = register.folders(state, "s1")
    found, _ = opening(Recorded(folders), state)
    assert found == replay(folders)
