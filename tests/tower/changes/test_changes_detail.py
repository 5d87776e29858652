"""The diff of a changed file: its lines, the line under the cursor, and the turn that wrote it."""

from pathlib import Path

import pytest
from msgspec import Raw

from tapui.projection.changes import MAX_LINES
from tapui.tower.app.services import FinderFault, WrittenLine
from tapui.tower.changes.changes_detail import ChangesDetail, DiffPlace
from tapui.tower.textual.dialogs import ActionsScreen
from tapui.tower.turns.turn_detail import TurnDetail
from tapui.wire import events as ev
from tapui.wire.changes import DiffHunk, DiffRead
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tests.rig.waiting import until_async
from tests.tower.changes.changes_world import (
    HUNKS,
    ROOT,
    by,
    detail,
    file,
    files,
    list_files,
    opened,
    show_diff,
    work_ends,
)
from tests.tower.finders import ScriptedFinder
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, world

SIZES = [(80, 24), (120, 36), (160, 45), (200, 50)]
APP = file("src/app.py", 3, 2, by=[by("tool", "edit"), by("shell", "sed -i s/a/b/ src/app.py")])


def lines(rig: Running) -> list[str]:
    return [line.strip("│ ") for line in rig.text.splitlines()]


@pytest.mark.parametrize("size", SIZES[::2], ids=str)
async def test_lines_have_their_old_and_new_numbers(size: tuple[int, int]) -> None:
    async with running(world(), size=size) as rig:
        await opened(rig, APP)
        for part in (
            "± src/app.py",
            "+3 −2",
            "by edit at 20:05 in turn 6, sed",
            "40  40 │  def run(a):",
            "41     │ -    x = a + 1",
            "    41 │ +    x = a + 2  # more",
            "    42 │ +    y = x",
            '42  43 │      return "done"',
            " 99 100 │  class Cart:"[1:],
            "100     │ -    pass",
        ):
            assert part in rig.text, part


async def test_of_a_change_that_tapui_did_not_see_it_says_so() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await opened(rig, file("src/app.py", 3, 2))
        assert "by whom: not watched" in rig.text


async def test_beside_the_lists_the_diff_follows_the_cursor_with_one_question_at_a_time() -> None:
    many = [file(f"m{n}.py") for n in range(9)]
    async with running(world(), size=(160, 45)) as rig:
        await rig.press("7")
        await list_files(rig, many)
        await until_async(lambda: rig.feed.sent_of(DiffRead), what=lambda: rig.text)
        assert [one.path for one in rig.feed.sent_of(DiffRead)] == ["m0.py"]
        await rig.press("down", "down", "down")
        assert len(rig.feed.sent_of(DiffRead)) == 1
        await show_diff(rig, many[0])
        assert [one.path for one in rig.feed.sent_of(DiffRead)] == ["m0.py", "m3.py"]
        assert "Its lines are being read" in rig.text, "those of another file are not shown"
        await show_diff(rig, many[3])
        assert "class Cart" in rig.text


async def test_a_diff_is_read_again_with_the_list_and_the_cursor_stays_at_its_line() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        await rig.press("down", "down")
        before = detail(rig).place
        assert before is not None
        assert before.quote == "    y = x"
        rig.feed.happen(work_ends())
        await rig.turn(2)
        await list_files(rig, [APP])
        first, *rest = HUNKS
        longer = DiffHunk(37, 37, [" one", " two", " three", *first.lines])
        await show_diff(rig, APP, [longer, *rest])
        assert detail(rig).place == before
        rig.feed.happen(work_ends())
        await rig.turn(2)
        await list_files(rig, files())
        assert "It is no longer changed" in rig.text


async def test_the_line_under_the_cursor_is_told() -> None:
    renamed = file("b.py", state="renamed", old_path="a.py")
    async with running(world()) as rig:
        await opened(rig, renamed)
        place = detail(rig).place
        assert place == DiffPlace(ROOT, "b.py", "a.py", 0, 0, 41, "-", "    x = a + 1")
        await rig.press("G")
        assert detail(rig).place == DiffPlace(ROOT, "b.py", "a.py", 1, 0, 100, "-", "    pass")
        await rig.press("g")
        found = detail(rig).place
        assert found is not None
        assert (found.sign, found.hunk, found.quote) == ("@", 0, "@@ -40 +40 @@")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"is_binary": True}, "It is binary"),
        ({"state": "submodule"}, "It is a submodule"),
        ({"state": "mode", "old_mode": "100644", "mode": "100755"}, "its mode changed"),
    ],
)
async def test_without_lines_it_says_why(fields: dict[str, object], said: str) -> None:
    one = file("x", None, None, **fields)
    async with running(world()) as rig:
        await opened(rig, one, [])
        assert said in rig.text
        assert detail(rig).place is None
        await rig.press("down", "G", "enter")
        assert isinstance(on_top(rig.app), ChangesDetail)


async def test_a_refusal_is_said_in_place() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, [APP])
        await rig.press("enter")
        await until_async(lambda: rig.feed.sent_of(DiffRead), what=lambda: rig.text)
        asked = rig.feed.sent_of(DiffRead)[-1]
        rig.feed.put(Error(ErrorCode.NOT_FOUND, "it is not changed", "diff.read", id=asked.id))
        await rig.settle()
        assert "Its lines cannot be told: it is not changed." in rig.text
        assert rig.notices == []


async def test_of_a_large_diff_a_bounded_part_is_shown_and_only_what_is_in_sight_painted() -> None:
    large = DiffHunk(0, 1, [f"+line {n} = {'x' * 100}" for n in range(50_000)])
    async with running(world(), size=(120, 36)) as rig:
        await opened(rig, APP, [large])
        reader = detail(rig).reader
        assert len(reader.parts) == MAX_LINES + 1
        assert reader.parts[-1].text == "30,001 more lines are not shown"
        assert len(reader._diff._syntax) <= 200, "the language of what is in sight is read"
        await rig.press("G")
        assert f"line {MAX_LINES - 2} = " in rig.text
        assert len(reader._diff._syntax) <= 400


async def test_contents_cannot_act_on_the_terminal() -> None:
    hostile = DiffHunk(
        1,
        1,
        [
            "-\x1b]0;owned\x07 a\u202eb",
            "+\x1b[2J[red]x[/red] \x00 \u200b",
            "+" + "\u0301" * 500,
            "+\ttab",
            "+" + "(" * 2_000 + "…",
        ],
    )
    async with running(world()) as rig:
        await opened(rig, file("a.md"), [hostile])
        for bad in ("\x1b", "\x07", "\x00", "\u202e", "\u200b", "\t"):
            assert bad not in rig.text
        assert "[red]x[/red]" in rig.text
        assert "\\x1b[2J" in rig.text


# The turn that wrote a line


def turns(rig: Running) -> None:
    for ago, content in ((90, "first"), (60, "write the sum")):
        data = Raw(b'{"content":"%s"}' % content.encode())
        prompt = ev.SessionHappened(session_id="s1", event="user.message", data=data)
        rig.feed.happen(prompt, ts=at(ago))
        idle = ev.SessionHappened(session_id="s1", event="session.idle")
        rig.feed.happen(idle, ts=at(ago - 10))


async def test_enter_opens_the_turn_that_is_known_to_have_changed_the_file() -> None:
    async with running(world()) as rig:
        turns(rig)
        await opened(rig, file("src/app.py", by=[by("tool", "edit", turn=2)]))
        await rig.press("enter")
        assert isinstance(on_top(rig.app), TurnDetail)
        assert "write the sum" in rig.text
        assert rig.notices[0].startswith("The turn that changed the file last")
        await rig.press("escape")
        assert isinstance(on_top(rig.app), ChangesDetail)


async def test_the_recorded_edit_of_the_line_goes_before(tmp_path: Path) -> None:
    path = tmp_path / "app.py"
    path.write_text("x = 1\n")
    finder = ScriptedFinder()
    finder.writer = WrittenLine(at(50), "s1", "Fix", 1, "first", "edit  app.py", is_sure=True)
    hunk = DiffHunk(1, 1, ["-x = 0", "+x = 1"])
    one = file("app.py", root=str(tmp_path), by=[by("tool", "edit", turn=2)])
    async with running(world(), finder=finder) as rig:
        turns(rig)
        await opened(rig, one, [hunk])
        await rig.press("down", "enter")
        await until_async(lambda: isinstance(on_top(rig.app), TurnDetail), what="the turn")
        await rig.settle()
        assert "Turn 1 of" in rig.text
        assert finder.asked_writers == [(path, 1, "x = 1")]
        assert finder.closed.is_set()
        assert rig.notices == []


async def test_a_turn_of_a_session_that_is_not_here_is_told(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")
    finder = ScriptedFinder()
    finder.writer = WrittenLine(at(50), "s9", "Old\x1b", 4, "sum it", "edit  app.py", is_sure=True)
    hunk = DiffHunk(1, 1, ["+x = 1"])
    async with running(world(), finder=finder) as rig:
        await opened(rig, file("app.py", root=str(tmp_path)), [hunk])
        await rig.press("enter")
        await until_async(lambda: rig.notices, what="the notice")
        assert rig.notices == ["20:09  Old\\x1b, turn 4 “sum it”: edit  app.py"]


async def test_what_is_not_known_is_said_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")
    finder = ScriptedFinder()
    finder.writer_fault = FinderFault("The index cannot be read")
    hunk = DiffHunk(1, 1, ["-x = 0", "+x = 1"])
    async with running(world(), finder=finder) as rig:
        await opened(rig, file("app.py", root=str(tmp_path)), [hunk])
        await rig.press("enter")
        assert rig.notices == ["Which turn wrote this line is not known"]
        await rig.press("down", "enter")
        await until_async(lambda: len(rig.notices) == 2, what="the notice")
        assert rig.notices[1].endswith("not known: The index cannot be read")


async def test_its_actions_are_named() -> None:
    async with running(world()) as rig:
        await opened(rig, APP)
        await rig.press("full_stop")
        assert isinstance(rig.app.screen, ActionsScreen)
        for part in ("src/app.py", "o  open it", "w  write a patch of this file", "y  copy"):
            assert part in rig.text
