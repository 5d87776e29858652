"""The Changes pane: which files stand in it, when they are asked for, and what is said of none."""

from collections.abc import Sequence

import pytest
from textual.events import AppBlur, AppFocus

from tapui.tower.changes.folder_changes import NEWS_MOST, NEWS_SECONDS, NEWS_SHARE, FileKey
from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import ChooseScreen
from tapui.wire import events as ev
from tapui.wire.changes import ChangedFile, ChangesRead, DiffRead
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tests.rig.waiting import until_async
from tests.tower.changes.changes_world import (
    ROOT,
    by,
    detail,
    file,
    files,
    list_files,
    show_diff,
    work_ends,
)
from tests.tower.running import Running, running
from tests.tower.scripted import session, world

SIZES = [(80, 24), (120, 36), (160, 45), (200, 50)]


def row(rig: Running, name: str) -> str:
    return [line for line in rig.text.splitlines() if f" {name} " in line][-1]


def paths(rig: Running) -> list[str]:
    return [FileKey.of(one.key).path for one in rig.pane(7).query_one(Table).rows]


def asked(rig: Running) -> list[tuple[str, str, int | None]]:
    return [(one.session_id, one.since, one.turn) for one in rig.feed.sent_of(ChangesRead)]


async def test_each_file_says_how_much_by_whom_and_when() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        assert asked(rig) == [("s1", "start", None)]
        await list_files(rig, files())
        for size in SIZES:
            await rig.resize(size)
            assert "7 Changes" in rig.text, size
            assert "since its start" in rig.text, size
            for name, *parts in (
                ("CHANGELOG.md", "○", "+41", "−2", "edit", "20:05"),
                ("docs/links.md", "+9", "−9", "sed", "20:06"),
            ):
                if size in ((120, 36), (200, 50)):  # there is no room for the time
                    parts.pop()
                for part in parts:
                    assert part in row(rig, name), (size, part, row(rig, name))
            assert "○" not in row(rig, "docs/links.md"), size


async def test_beside_calls_the_other_panes_keep_their_names() -> None:
    async with running(world(), size=(190, 45)) as rig:
        await rig.press("7")
        await list_files(rig, files())
        for width in (190, 195, 200):
            await rig.resize((width, 45))
            (frame,) = [line for line in rig.text.splitlines() if "7 Changes" in line]
            for start in ("3 Str", "4 Pro", "6 Emi", "8 Goa"):
                assert start in frame, width


async def test_the_tab_counts_the_files_of_the_session_in_view() -> None:
    async with running(world()) as rig:
        assert "7 Changes +" not in rig.text
        rig.feed.happen(work_ends("s2"))
        await rig.settle()
        assert asked(rig) == [], "another session, and no one looks"
        rig.feed.happen(work_ends("s1"))
        await rig.settle()
        assert asked(rig) == [("s1", "start", None)]
        await list_files(rig, files(), more=2)
        assert "7 Changes +5" in rig.text.splitlines()[1] or "7 Chan +5" in rig.text.splitlines()[1]


async def test_it_is_asked_again_when_files_may_be_others_and_once_a_second_at_most() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, files())
        await rig.turn(60)
        assert len(asked(rig)) == 1, "nothing has happened"
        rig.feed.happen(work_ends())
        await rig.settle()
        assert len(asked(rig)) == 2
        rig.feed.happen(work_ends())
        await rig.turn(5)
        assert len(asked(rig)) == 2, "the last question is not answered yet"
        await list_files(rig, files()[:1])
        assert len(asked(rig)) == 3
        await list_files(rig, files()[:1])
        rig.feed.happen(work_ends())
        await rig.settle()
        assert len(asked(rig)) == 3, "a second has not gone by"
        await rig.turn(1)
        assert len(asked(rig)) == 4
        await list_files(rig, files()[1:])
        assert paths(rig) == ["docs/links.md", "src/version.py"]


def known(rig: Running) -> list[int | None]:
    return [one.known for one in rig.feed.sent_of(ChangesRead)]


async def test_while_it_is_open_it_follows_what_other_programs_write() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, files(), look=3)
        before = paths(rig)
        await rig.turn(NEWS_SECONDS - 0.1)
        assert known(rig) == [None]
        await rig.turn(1)
        assert known(rig) == [None, 3]
        await list_files(rig, [], look=3, same=True)
        assert paths(rig) == before
        await rig.turn(NEWS_SECONDS - 0.1)
        assert len(asked(rig)) == 2
        await rig.press("enter")  # its lines, in a sheet
        await rig.turn(1)
        assert known(rig) == [None, 3, 3]
        await list_files(rig, files()[:1], look=4)
        await rig.press("escape")
        assert paths(rig) == before[:1]
        rig.feed.happen(work_ends())
        await rig.turn(1)
        assert known(rig)[3:] == [None], "what has happened here may be told anew"


async def test_a_folder_that_takes_long_is_looked_at_seldom() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await rig.turn(1)
        await list_files(rig, files(), look=3)
        await rig.turn(NEWS_SHARE - 0.1)
        assert len(asked(rig)) == 1
        await rig.turn(1)
        assert len(asked(rig)) == 2
        await rig.turn(30)
        await list_files(rig, [], look=3, same=True)
        await rig.turn(NEWS_MOST + 1)
        assert len(asked(rig)) == 3


async def test_nothing_is_asked_for_a_person_who_is_elsewhere() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, files(), look=3)
        await rig.press("1")
        await rig.turn(20)
        assert len(asked(rig)) == 1
        await rig.press("7")
        await list_files(rig, files(), look=3)
        rig.app.post_message(AppBlur())
        await rig.settle()
        await rig.turn(20)
        assert len(asked(rig)) == 2
        rig.app.post_message(AppFocus())
        await until_async(lambda: len(asked(rig)) == 3, what="a question")
        assert known(rig)[2] is None


@pytest.mark.parametrize("size", [(80, 24), (200, 50)], ids=str)
async def test_who_comes_to_it_sees_what_was_edited_elsewhere(size: tuple[int, int]) -> None:
    async with running(world(), size=size) as rig:
        await rig.press("7")
        await list_files(rig, files())
        await rig.press("1", "7")
        assert len(asked(rig)) == 1, "it was read just now"
        await rig.press("1")
        await rig.turn(5)
        await rig.press("7")
        assert len(asked(rig)) == 2
        written = [by("unknown", ago=9), by("tool", "edit")]
        await list_files(rig, [file("a.py", by=written), file("b.py", by=written[:1])])
        if size == (80, 24):  # beside other panes the row has no room for it; the detail has it
            assert "edited outside since" in row(rig, "a.py")
            assert "edited outside" not in row(rig, "b.py")
        assert len(asked(rig)) == 2
        await rig.turn(5)
        rig.app.post_message(AppBlur())
        rig.app.post_message(AppFocus())
        await until_async(lambda: len(asked(rig)) == 3, what="a question")
        await list_files(rig, files())
        await rig.turn(5)
        rig.feed.happen(ev.SessionHappened(session_id="s1", event="user.message"))
        await rig.settle()
        assert len(asked(rig)) == 4, "a turn has begun"


async def test_what_it_is_compared_with_is_chosen_and_said() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, files())
        await rig.press("i")
        assert isinstance(rig.app.screen, ChooseScreen)
        await rig.press("down", "enter")
        assert asked(rig)[-1] == ("s1", "commit", None)
        await list_files(rig, files()[:1], began="")
        assert "since the newest commit" in rig.text
        assert paths(rig) == ["CHANGELOG.md"]
        await rig.press("i", "down", "enter")
        assert asked(rig)[-1] == ("s1", "turn", None)
        read = rig.feed.sent_of(ChangesRead)[-1]
        said = "how that turn found the folder is not known"
        rig.feed.put(Error(ErrorCode.NOT_FOUND, said, "changes.read", id=read.id))
        await rig.settle()
        text = " ".join(rig.text.replace("│", "").split())
        assert f"since the newest turn is not known: {said}" in text
        assert rig.notices == []
        await rig.press("i", "up", "up", "enter")
        assert asked(rig)[-1] == ("s1", "start", None), "an empty pane has its keys, too"


async def test_turns_can_be_chosen() -> None:
    async with running(world(), size=(120, 36)) as rig:
        data = ev.SessionHappened(session_id="s1", event="user.message")
        rig.feed.happen(data)
        await rig.press("7", "i")
        assert "turn 1" in rig.text
        await rig.press("G", "enter")
        assert asked(rig)[-1] == ("s1", "turn", 1)


async def test_after_a_refusal_it_is_asked_seldom_and_not_for_the_tab_alone() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        read = rig.feed.sent_of(ChangesRead)[-1]
        said = "tapui does not see the commands of session s1"
        rig.feed.put(Error(ErrorCode.NOT_FOUND, said, "changes.read", id=read.id))
        rig.feed.happen(work_ends())
        await rig.turn(5)
        assert len(asked(rig)) == 1
        assert said in " ".join(rig.text.replace("│", "").split())
        await rig.turn(15)
        assert len(asked(rig)) == 2
        await list_files(rig, files())
        assert len(paths(rig)) == 3
        rig.feed.put(Error(ErrorCode.NOT_FOUND, said, "changes.read", id=read.id))
        await rig.settle()
        assert len(paths(rig)) == 3, "a question that was answered before"


async def test_tapuis_own_session_and_one_that_has_ended_are_not_asked_about() -> None:
    state = world()
    state.sessions["s9"] = session("s9", "Old", state="ended")
    state.sessions["s8"] = session("s8", "local", host="local")
    async with running(state) as rig:
        await rig.press("7")
        for id_, said in (("s9", "it has ended"), ("s8", "that a session changes are listed")):
            rig.app.view.choose_session(id_)
            await rig.settle()
            assert said in " ".join(rig.text.replace("│", "").split())
        assert [one[0] for one in asked(rig)] == ["s1"]


async def test_an_empty_list_says_so_with_what_is_not_known() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        assert "is being looked at" in rig.text
        await list_files(rig, [], notes=["/code/s1/vendor: it has too many files"])
        text = " ".join(rig.text.replace("│", "").split())
        assert "Fix the flaky pairing test has changed no file since its start" in text
        assert "it has too many files" in text
        assert "tapui changes" in rig.text


async def test_gaps_of_a_list_are_named_in_its_frame_and_told() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(
            rig, files(), more=3, notes=["what 2 commands have changed may be missing"]
        )
        assert "not all is known" in rig.text
        await rig.app.main.current_pane.run_action("gaps")
        await rig.settle()
        assert rig.notices == ["3 more files changed; what 2 commands have changed may be missing"]


async def test_another_session_has_its_own_files_and_its_own_base() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("7")
        await list_files(rig, files())
        await rig.press("i", "down", "enter")
        await list_files(rig, files()[:1])
        await rig.press("1", "down", "7")
        assert asked(rig)[-1] == ("s2", "start", None)
        await list_files(rig, [file("a.txt")])
        assert paths(rig) == ["a.txt"]
        await rig.press("1", "up", "7")
        assert paths(rig) == ["CHANGELOG.md"]
        assert len(asked(rig)) == 3, "nothing has happened in it since"


async def test_what_is_asked_when_the_link_breaks_is_asked_again() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        from tapui.projection.feed import Link

        rig.feed.put(Link("down", "gone"))
        await rig.settle()
        rig.feed.begin(world())
        await rig.turn(2)
        assert len(asked(rig)) == 2
        await list_files(rig, files())
        assert len(paths(rig)) == 3


async def test_the_list_is_filtered_and_sorted_as_others_are() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, files())
        await rig.press("slash", *"sed", "enter")
        assert paths(rig) == ["docs/links.md"]
        assert "1 of 3" in rig.text
        await rig.press("escape", "s", "s")
        assert paths(rig) == ["CHANGELOG.md", "docs/links.md", "src/version.py"], "most lines first"
        await rig.press("S")
        assert paths(rig)[0] == "src/version.py"


async def test_the_key_for_copying_takes_the_path() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, files())
        await rig.press("down", "c")
        assert rig.app.clipboard == f"{ROOT}/docs/links.md"


HOSTILE = [
    "\x1b[31mred\x1b[0m.py",
    "a\u202ecod.exe",
    "tab\there\nand a line.md",
    "//caf\\xe9 \\x00.txt",
    "[bold red]markup[/].py",
    "wide \u5b57\u5b57\u5b57.md",
    "x" * 4_000,
    "-rf",
]


@pytest.mark.parametrize("size", SIZES[::2], ids=str)
async def test_names_from_outside_are_shown_as_text(size: tuple[int, int]) -> None:
    async with running(world(), size=size) as rig:
        await rig.press("7")
        odd = [file(one, by=[by("shell", f"touch {one[:50]}")], note=one) for one in HOSTILE]
        await list_files(rig, odd)
        await rig.press(*["down"] * len(odd), "enter")
        await show_diff(rig, odd[-1])
        shown = rig.text
        for bad in ("\x1b", "\u202e", "\t"):
            assert bad not in shown
        assert detail(rig).file == odd[-1]
        await rig.press("escape", *["up"] * 6)
        assert "\\x1b[31mred" in rig.text


async def test_two_thousand_files_are_gone_through() -> None:
    many = [file(f"src/module_{n:04}.py", by=[by("tool", "edit")]) for n in range(2_000)]
    async with running(world(), size=(160, 45)) as rig:
        await rig.press("7")
        await list_files(rig, many, more=417)
        assert "417 more" in rig.text
        await rig.press("G")
        assert "module_1999.py" in rig.text
        await rig.press("slash", *"_0042", "enter")
        assert paths(rig) == ["src/module_0042.py"]
        assert len(rig.feed.sent_of(DiffRead)) <= 2, "one question at a time"


async def test_rows_are_made_once_for_a_list() -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, files())
        before = rig.pane(7).query_one(Table).rows
        await rig.turn(3)
        after = rig.pane(7).query_one(Table).rows
        assert all(one is other for one, other in zip(before, after, strict=True))


async def read_again(rig: Running, found: Sequence[ChangedFile]) -> None:
    """Let the session work on, and answer with these files."""
    asked_ = len(rig.feed.sent_of(ChangesRead))
    rig.feed.happen(work_ends())
    await rig.turn(2)
    assert len(rig.feed.sent_of(ChangesRead)) > asked_
    await list_files(rig, found)


@pytest.mark.parametrize("size", SIZES[::2], ids=str)
async def test_nothing_moves_while_the_list_is_read_again(size: tuple[int, int]) -> None:
    """Neither the row under the cursor nor a column, whatever comes and goes around it."""
    many = [file(f"m{number}.py", number, 0) for number in range(12)]
    async with running(world(), size=size) as rig:
        await rig.press("7")
        await list_files(rig, many)
        await rig.press(*["down"] * 4)
        table = rig.pane(7).query_one(Table)
        line, spans = table.cursor - table.scroll_offset.y, table.spans
        assert "m4.py" in (table.selected or "")
        long = by("shell", "a very long command " * 9, ago=9 * 86_400)
        for number, found in enumerate(
            [
                [file("a.py", 9_999_999, 123_456, by=[long]), *many],
                [file(f"a{one}.py") for one in range(3)] + many[3:],
                many[4:5],
                [*(file(f"n/{'x' * 300}{one}.py", by=[long]) for one in range(3)), *many],
            ]
        ):
            await read_again(rig, found)
            assert "m4.py" in (table.selected or ""), number
            assert table.spans == spans, number
            if len(found) == 1:
                line = 0  # no other row is left
            assert table.cursor - table.scroll_offset.y == line, number


async def test_large_counts_and_other_days_are_short() -> None:
    found = [
        file("a.py", 9_999, 12_345, by=[by("tool", "edit", ago=3 * 86_400)]),
        file("b.py", 99_999_999, 999),
    ]
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("7")
        await list_files(rig, found)
        words = row(rig, "a.py").split()
        assert {"+10k", "−12k", "11-18"} <= set(words)
        assert "+100M" in row(rig, "b.py").split()
