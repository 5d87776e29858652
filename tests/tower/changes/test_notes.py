"""Files that were seen, and notes: kept, changed, dropped, told, and where they stand in a diff."""

from typing import Any

import pytest

from tapui.projection.changes import hunk_parts
from tapui.projection.paragraphs import Paragraph
from tapui.projection.state import State
from tapui.tower.changes.notes import noted_hunk, noted_line, noted_parts
from tapui.tower.sessions.tell_line import TellInput
from tapui.tower.textual.dialogs import ActionsScreen, AskLineScreen
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.changes import (
    ChangeNote,
    ChangesDone,
    DiffHunk,
    FileSee,
    LineRange,
    NoteDrop,
    NoteKeep,
    NotesTell,
)
from tapui.wire.criteria import Disposal
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.steering import SessionOrdered
from tests.tower.changes.changes_world import HUNKS, ROOT, file, list_files, opened
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, session, world

APP = file("src/app.py", 3, 2, state_id="5eed")


def able() -> State:
    """Return a world whose session can be told something, in three ways."""
    state = world()
    state.sessions["s1"] = session("s1", "Fix pairing", state="busy", can=["tell", "now", "stop"])
    return state


def note(id_: str = "n1", **fields: Any) -> ChangeNote:
    given = {"root": ROOT, "path": "src/app.py", "at": at(60), "body": "why not sum()?"}
    return ChangeNote(id_, **(given | fields))


def on_line(number: int, quote: str, **fields: Any) -> ChangeNote:
    return note(lines=LineRange(number, number), quote=quote, **fields)


async def keep(rig: Running, *notes: ChangeNote) -> None:
    for one in notes:
        rig.feed.happen(ev.NoteKept(session_id="s1", note=one))
    await rig.settle()


def row(rig: Running) -> str:
    return next(line for line in rig.lists.splitlines() if "src/app.py" in line)


def lines(rig: Running) -> list[str]:
    return [line.strip("│ ") for line in rig.text.splitlines()]


# Seen


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
async def test_space_marks_a_file_and_the_tab_counts_those_not_seen(size: tuple[int, int]) -> None:
    async with running(world(), size=size) as rig:
        await rig.press("7")
        await list_files(rig, [APP, file("b.py", state_id="b")])
        assert "Changes +2" in rig.text
        assert "not seen" in row(rig)
        await rig.press("space")
        (sent,) = rig.feed.sent_of(FileSee)
        assert (sent.session_id, sent.root, sent.path, sent.state_id) == (
            "s1",
            ROOT,
            "src/app.py",
            "5eed",
        )
        rig.feed.happen(
            ev.FileMarked(session_id="s1", root=ROOT, path="src/app.py", state_id="5eed")
        )
        await rig.settle()
        assert "Changes +1" in rig.text
        assert "not seen" not in row(rig)
        assert "seen" in row(rig)
        await rig.press("space")
        assert rig.feed.sent_of(FileSee)[-1].state_id == ""


async def test_a_mark_is_gone_with_another_content() -> None:
    async with running(world()) as rig:
        rig.feed.happen(
            ev.FileMarked(session_id="s1", root=ROOT, path="src/app.py", state_id="before")
        )
        await rig.press("7")
        await list_files(rig, [APP])
        assert "not seen" in row(rig)
        assert "Changes +1" in rig.text


async def test_what_was_not_read_cannot_be_seen() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, [file("big.bin", None, None, note="it is too large to be compared")])
        await rig.press("space")
        assert rig.feed.sent_of(FileSee) == []
        assert rig.notices == ["big.bin was not read: it is too large to be compared"]


async def test_in_the_diff_too_and_a_refusal_is_said() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        await rig.press("space")
        (sent,) = rig.feed.sent_of(FileSee)
        rig.feed.put(Error(ErrorCode.UNAUTHORIZED, "only you may", "file.see", id=sent.id))
        await rig.settle()
        assert rig.notices == ["only you may"]


# Notes


async def test_a_note_on_a_line_goes_with_its_number_and_its_text() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        await rig.press("down")
        await rig.press("t")
        assert "Note on src/app.py:41  x = a + 2  # more" in rig.text
        await rig.type("w", "h", "y")
        await rig.press("enter")
        (sent,) = rig.feed.sent_of(NoteKeep)
        assert (sent.path, sent.body, sent.lines, sent.side) == (
            "src/app.py",
            "why",
            LineRange(41, 41),
            "new",
        )
        assert (sent.quote, sent.state_id, sent.note_id) == ("    x = a + 2  # more", "5eed", None)
        rig.feed.put(ChangesDone(sent.id, "s1"))
        await keep(rig, on_line(41, sent.quote))
        shown = lines(rig)
        assert shown[shown.index("41 │ +    x = a + 2  # more") + 1] == "note: why not sum()?"
        assert rig.notices == []


async def test_a_note_on_a_removed_line_and_on_a_hunk() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        for keys in (("t", "x", "enter"), ("g", "t", "y", "enter")):
            await rig.press(*keys)
        removed, hunk = rig.feed.sent_of(NoteKeep)
        assert (removed.side, removed.lines) == ("old", LineRange(41, 41))
        assert (hunk.side, hunk.lines) == ("new", LineRange(41, 42))
        assert hunk.quote == "    x = a + 2  # more\n    y = x"


async def test_the_key_of_notes_on_the_title_sends_them() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await opened(rig, APP)
        await keep(rig, on_line(41, "    x = a + 2  # more"), note("n2"))
        await rig.press("g", "up")
        assert "t sends 2 notes" in rig.text
        await rig.press("t")
        assert isinstance(rig.app.focused, TellInput)
        await rig.press("enter")
        (sent,) = rig.feed.sent_of(NotesTell)
        assert sent.session_id == "s1"
        assert rig.feed.sent_of(NoteKeep) == []


async def test_on_the_title_without_notes_one_is_kept_on_the_file() -> None:
    async with running(able()) as rig:
        await opened(rig, APP)
        await rig.press("g", "up", "up")
        assert "t keeps a note on the file" in rig.text
        await rig.press("t", "n", "o", "enter")
        (sent,) = rig.feed.sent_of(NoteKeep)
        assert (sent.body, sent.lines) == ("no", None)
        await rig.press("down", "t")
        assert "Note on src/app.py:41" in rig.text or "Note on src/app.py:40" in rig.text


async def test_the_title_has_no_line_to_open() -> None:
    async with running(able()) as rig:
        await opened(rig, APP)
        await rig.press("g", "up", "full_stop")
        assert "put the file back" in rig.text
        assert "put this hunk back" not in rig.text


async def test_a_note_on_a_file_from_the_list() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, [APP])
        await rig.press("t")
        assert "Note on src/app.py" in rig.text
        await rig.press("n", "o", "enter")
        (sent,) = rig.feed.sent_of(NoteKeep)
        assert (sent.body, sent.lines, sent.quote) == ("no", None, "")
        await keep(rig, note())
        assert "1 note" in rig.text
        await rig.press("enter")


async def test_a_note_is_written_anew_and_nothing_drops_it() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        await keep(rig, on_line(41, "    x = a + 2  # more"))
        await rig.press("down", "t")
        assert isinstance(on_top(rig.app), AskLineScreen)
        assert "Nothing drops it." in rig.text
        await rig.press("!", "enter")
        (changed,) = rig.feed.sent_of(NoteKeep)
        assert (changed.note_id, changed.body) == ("n1", "why not sum()?!")
        await rig.press("t", "ctrl+u", "enter")
        (dropped,) = rig.feed.sent_of(NoteDrop)
        assert dropped.note_id == "n1"
        rig.feed.happen(ev.NoteDropped(session_id="s1", note_id="n1"))
        await rig.settle()
        assert "why not sum" not in rig.text
        await rig.press("t", "escape")
        assert len(rig.feed.sent_of(NoteKeep)) == 1


async def test_a_note_that_was_told_is_ticked_in_its_place() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        told = on_line(41, "    x = a + 2  # more", told_at=at(30), order_id="o1")
        await keep(rig, told)
        assert "told 20:09: why not sum()?" in rig.text
        await keep(rig, on_line(41, "gone by now", told_at=at(30), change="changed"))
        assert "✓ told 20:09, changed since: why not sum()?" in rig.text
        rejected = Disposal("rejected", "you", at(5))
        await keep(rig, on_line(41, "    x = a + 2  # more", disposed=rejected))
        assert "note, rejected: why not sum()?" in rig.text
        await keep(rig, note("n2", change="gone"))
        assert "note, the file is gone: why not sum()?" in rig.text
        await rig.press("down", "full_stop")
        assert "drop the note" in rig.text
        await rig.press("x")
        assert rig.feed.sent_of(NoteDrop)[-1].note_id == "n1"


# Telling


async def test_notes_are_sent_from_the_tell_line_in_one_of_three_ways() -> None:
    async with running(able()) as rig:
        await rig.press("7")
        await list_files(rig, [APP])
        await keep(rig, note(), note("n2"), note("n3", told_at=at(9)))
        await rig.press("full_stop")
        assert isinstance(rig.app.screen, ActionsScreen)
        assert "t  send 2 notes" in rig.text
        await rig.press("t")
        assert isinstance(rig.app.focused, TellInput)
        assert "2 notes" in rig.text
        assert "Enter sends them" in rig.text
        await rig.press("tab", "enter")
        (sent,) = rig.feed.sent_of(NotesTell)
        assert (sent.session_id, sent.text, sent.way, sent.note_ids) == ("s1", "", "now", None)
        rig.feed.put(SessionOrdered(sent.id, "o-1"))
        await rig.settle()
        assert not isinstance(rig.app.focused, TellInput)


async def test_a_text_goes_before_the_notes_and_the_draft_stays() -> None:
    async with running(able()) as rig:
        await rig.press("t", "d", "r", "a", "f", "t", "escape")
        await rig.press("7")
        await list_files(rig, [APP])
        await keep(rig, note())
        await rig.press("full_stop", "t", "o", "k", "enter")
        assert rig.feed.sent_of(NotesTell)[-1].text == "ok"
        assert rig.app.orders.draft("s1") == "draft"
        await rig.press("full_stop", "t", "escape")
        assert len(rig.feed.sent_of(NotesTell)) == 1
        assert rig.app.orders.draft("s1") == "draft"


async def test_from_the_diff_the_sheet_gives_way_to_the_tell_line() -> None:
    async with running(able()) as rig:
        await opened(rig, APP)
        await keep(rig, note())
        await rig.press("full_stop", "t")
        assert isinstance(rig.app.focused, TellInput)
        await rig.press("enter")
        assert len(rig.feed.sent_of(NotesTell)) == 1


@pytest.mark.parametrize("is_open", [False, True])
async def test_one_key_sends_the_notes_from_the_list_and_from_the_diff(is_open: bool) -> None:
    async with running(able()) as rig:
        if is_open:
            await opened(rig, APP)
        else:
            await rig.press("7")
            await list_files(rig, [APP])
        await rig.press("m")
        assert not isinstance(rig.app.focused, TellInput), "there is nothing to send"
        await keep(rig, note(), note("n2"))
        await rig.press("m")
        assert isinstance(rig.app.focused, TellInput)
        assert "2 notes" in rig.text
        await rig.press("enter")
        assert len(rig.feed.sent_of(NotesTell)) == 1


async def test_without_notes_there_is_nothing_to_send() -> None:
    async with running(able()) as rig:
        await opened(rig, APP)
        await keep(rig, note("n3", path="other.py", told_at=at(9)))
        await rig.press("full_stop")
        assert "send" not in rig.text


# Where a note stands


def numbers(parts: list[Paragraph]) -> list[str]:
    return [part.text for part in parts]


def test_a_note_follows_its_line_when_that_has_moved() -> None:
    moved = [DiffHunk(40, 50, HUNKS[0].lines)]
    parts = noted_parts(hunk_parts(moved, "a.py"), [on_line(41, "    x = a + 2  # more")], 0.0)
    at_ = numbers(parts).index("+    x = a + 2  # more")
    assert "why not sum()?" in parts[at_ + 1].text
    assert parts[at_ + 1].diff is None


def test_a_note_whose_line_is_not_shown_stands_above_with_its_number() -> None:
    parts = noted_parts(hunk_parts(HUNKS, "a.py"), [on_line(900, "far away")], 0.0)
    assert parts[0].text == "note, line 900: why not sum()?"


def test_a_note_whose_line_has_changed_stands_where_it_was() -> None:
    one = on_line(41, "other", told_at=at(9), change="changed")
    parts = noted_parts(hunk_parts(HUNKS, "a.py"), [one], 0.0)
    assert parts[numbers(parts).index("+    x = a + 2  # more") + 1].tone == "success"


def test_a_long_quote_is_cut() -> None:
    long = noted_line("+", 0, 7, "x" * 2_000)
    assert long is not None
    assert len(long.quote) == limits.MAX_NOTE_QUOTE
    assert noted_line("+", 0, 0, "x") is None
    assert noted_hunk(DiffHunk(0, 0, [" same"])) is None


def test_a_hunk_that_only_removes_is_noted_by_its_old_lines() -> None:
    on = noted_hunk(DiffHunk(10, 9, [" a", "-b\r", "-c", " d"]))
    assert on is not None
    assert (on.side, on.lines, on.quote) == ("old", LineRange(11, 12), "b\nc")
