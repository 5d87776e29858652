"""A file or a hunk is put back: shown as a patch, asked about, and said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.projection.changes import reversed_hunk
from tapui.projection.feed import Link
from tapui.tower.changes.putting_back import PutBackScreen
from tapui.wire import events as ev
from tapui.wire.changes import ChangesDone, ChangesRead, DiffHunk, DiffRead, FilePutBack
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tests.tower.changes.changes_world import HUNKS, ROOT, file, list_files, opened, show_diff
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import world

APP = file("src/app.py", 3, 2, state_id="5eed")
OTHER = "the file is another one than shown: look again"


async def asked_hunk(rig: Running) -> None:
    await opened(rig, APP)
    await rig.press("full_stop", "u")


async def test_a_hunk_is_shown_the_other_way_round_and_asked_about() -> None:
    async with running(world()) as rig:
        await asked_hunk(rig)
        assert isinstance(on_top(rig.app), PutBackScreen)
        for part in (
            "Put this hunk of src/app.py back?",
            "-    x = a + 2  # more",
            "-    y = x",
            "+    x = a + 1",
            "y put it back",
        ):
            assert part in rig.text, part
        assert "class Cart" not in rig.text
        await rig.press("n")
        assert rig.feed.sent_of(FilePutBack) == []
        await rig.press("full_stop", "u", "y")
        (sent,) = rig.feed.sent_of(FilePutBack)
        assert (sent.session_id, sent.root, sent.path, sent.state_id, sent.since, sent.hunk) == (
            "s1",
            ROOT,
            "src/app.py",
            "5eed",
            "start",
            HUNKS[0],
        )


async def test_what_was_put_back_is_said_and_looked_at_again() -> None:
    async with running(world()) as rig:
        await asked_hunk(rig)
        await rig.press("y")
        (sent,) = rig.feed.sent_of(FilePutBack)
        reads = len(rig.feed.sent_of(ChangesRead))
        rig.feed.put(ChangesDone(sent.id, "s1"))
        rig.feed.happen(
            ev.FileRestored(
                session_id="s1", root=ROOT, path="src/app.py", by="you", since="start", hunk=40
            )
        )
        await rig.turn(2)
        assert rig.notices == ["Put back: src/app.py"]
        assert len(rig.feed.sent_of(ChangesRead)) == reads + 1


async def test_a_refusal_is_said_once_with_its_reason() -> None:
    async with running(world()) as rig:
        await asked_hunk(rig)
        await rig.press("y")
        (sent,) = rig.feed.sent_of(FilePutBack)
        rig.feed.put(Error(ErrorCode.NOT_FOUND, OTHER, "file.putBack", id=sent.id))
        await rig.settle()
        assert rig.notices == [f"src/app.py was not put back: {OTHER}"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"state": "added"}, "The file is removed."),
        ({"state": "removed"}, "The file is made again."),
        ({"state": "renamed", "old_path": "app.py"}, "It gets its former name"),
        ({"is_binary": True}, "Its content of before is written"),
    ],
)
async def test_a_whole_file_from_the_list(fields: dict[str, object], said: str) -> None:
    one = file("src/app.py", state_id="old", **fields)
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, [one])
        reads = len(rig.feed.sent_of(DiffRead))
        await rig.press("full_stop", "u")
        assert len(rig.feed.sent_of(DiffRead)) == reads + 1
        shown = file("src/app.py", state_id="newer", **fields)
        await show_diff(rig, shown, [] if one.is_binary else HUNKS, notes=["it was dirty"])
        assert said in rig.text
        assert "it was dirty." in rig.text
        await rig.press("y")
        (sent,) = rig.feed.sent_of(FilePutBack)
        assert (sent.state_id, sent.hunk, sent.old_path) == ("newer", None, one.old_path)


async def test_a_file_whose_lines_cannot_be_read_is_not_asked_about() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, [APP])
        await rig.press("full_stop", "u")
        asked = rig.feed.sent_of(DiffRead)[-1]
        rig.feed.put(Error(ErrorCode.NOT_FOUND, "it is not changed", "diff.read", id=asked.id))
        await rig.settle()
        assert rig.notices == ["src/app.py was not put back: it is not changed"]
        assert not isinstance(on_top(rig.app), PutBackScreen)


async def test_a_screen_that_is_narrower_than_the_numbers_of_lines() -> None:
    async with running(world(), size=(20, 8)) as rig:
        await opened(
            rig, APP, [DiffHunk(123_456_789, 123_456_789, ["-a long line that wraps", "+b"])]
        )
        await rig.press("full_stop", "u")
        assert isinstance(on_top(rig.app), PutBackScreen)


async def test_keys_that_came_together_are_no_answer() -> None:
    async with running(world()) as rig:
        await asked_hunk(rig)
        await rig.type("x", "y")
        assert rig.feed.sent_of(FilePutBack) == []
        assert "it does not count" in rig.text


async def test_a_hunk_that_is_too_large_to_send_goes_with_its_file() -> None:
    huge = DiffHunk(0, 1, ["+" + "x" * 1_900] * 300)
    async with running(world()) as rig:
        await opened(rig, APP, [huge])
        await rig.press("full_stop", "u")
        assert rig.notices == [
            "src/app.py was not put back: its hunk is too large: put the whole file back"
        ]


async def test_the_whole_file_from_its_diff() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        await rig.press("full_stop", "f")
        await show_diff(rig, APP)
        assert "Put src/app.py back?" in rig.text
        assert "class Cart" in rig.text


async def test_when_the_link_breaks_it_is_said() -> None:
    async with running(world()) as rig:
        await asked_hunk(rig)
        await rig.press("y")
        rig.feed.put(Link("down", "gone"))
        await rig.settle()
        assert "src/app.py was not put back: the link to the gateway broke" in rig.notices


SIDES = st.lists(st.sampled_from([" a", "-b", "+c", "-d", "+e", " f"]), max_size=12)


@given(SIDES)
def test_a_hunk_that_is_turned_round_has_the_other_sides(lines: list[str]) -> None:
    back = reversed_hunk(DiffHunk(3, 5, lines))
    assert (back.old, back.new) == (5, 3)

    def side(of: list[str], sign: str) -> list[str]:
        return [line[1:] for line in of if line[0] in (" ", sign)]

    assert side(back.lines, "-") == side(lines, "+")
    assert side(back.lines, "+") == side(lines, "-")
    assert reversed_hunk(back) == DiffHunk(3, 5, reversed_hunk(back).lines)


def test_the_end_without_a_newline_stays_with_its_line() -> None:
    end = "\\ No newline at end of file"
    back = reversed_hunk(DiffHunk(1, 1, ["-a", end, "+b"]))
    assert back.lines == ["-b", "+a", end]


async def test_a_new_file_is_removed_and_where_its_content_went_is_said() -> None:
    new = file("new.py", 3, 0, state="added", state_id="5eed")
    async with running(world(), size=(120, 36)) as rig:
        await opened(rig, new)
        await rig.press("full_stop", "f")
        await show_diff(rig, new)
        for part in (
            "Remove new.py, which is new?",
            "The file is removed. What is there now is kept as a copy; a notice names it.",
            "y remove it",
        ):
            assert part in rig.text, part
        await rig.press("y")
        (sent,) = rig.feed.sent_of(FilePutBack)
        rig.feed.put(ChangesDone(sent.id, "s1", kept="/state/put-back/1-new.py"))
        await rig.settle()
        said = "Removed: new.py. What was there is kept: /state/put-back/1-new.py"
        assert rig.notices == [said]
