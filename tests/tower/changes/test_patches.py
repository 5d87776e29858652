"""Patches that the person writes or copies: what stands in them, and what is never written over."""

import os
from pathlib import Path

import pytest

from tapui.projection.feed import Link
from tapui.tower.textual.dialogs import AskLineScreen
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire.changes import DiffRead
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tests.rig.waiting import until_async
from tests.tower.changes.changes_world import file, list_files, opened, show_diff
from tests.tower.running import Running, running
from tests.tower.scripted import world

FILES = [
    file("a.py"),
    file("b.py"),
    file("sub", state="submodule", note="another commit"),
    file("c.py", root="/code/other"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def answer(rig: Running, patch: str) -> None:
    asked = rig.feed.sent_of(DiffRead)[-1]
    assert asked.as_patch
    await show_diff(rig, file(asked.path), [], patch=patch)


async def test_all_files_go_into_one_patch_in_the_folder(folder: Path) -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, FILES)
        await rig.press("full_stop")
        assert "w  write a patch of all 4 files" in rig.text
        await rig.press("w")
        assert isinstance(rig.app.screen, AskLineScreen)
        assert "Fix-the-flaky-pairing-test.patch" in rig.text
        await rig.press("enter")
        await answer(rig, "diff a\n")
        await answer(rig, "diff b é\r\n")
        written = folder / "Fix-the-flaky-pairing-test.patch"
        await until_async(lambda: len(rig.notices) == 2, what="the notices")
        assert written.read_bytes() == "diff a\ndiff b é\r\n".encode()
        patches = [one.path for one in rig.feed.sent_of(DiffRead) if one.as_patch]
        assert patches == ["a.py", "b.py"]
        said = "  ".join(rig.notices)
        assert "Written: Fix-the-flaky-pairing-test.patch, 18 B" in said
        assert "sub: it is a submodule (another commit)" in said
        assert "/code/other/c.py: it is in another repository" in said


@pytest.mark.parametrize("answers", ["n", "y"])
async def test_what_stands_there_is_written_over_after_a_question_alone(
    folder: Path, answers: str
) -> None:
    (folder / "x").write_text("mine\n")
    async with running(world()) as rig:
        await opened(rig, FILES[0])
        await rig.press("full_stop", "w", "ctrl+u", "x", "enter")
        assert isinstance(rig.app.screen, ConfirmScreen)
        assert "Write over x?" in rig.text
        await rig.press(answers)
        if answers == "y":
            await answer(rig, "diff a\n")
            await until_async(lambda: rig.notices, what="the notice")
        assert (folder / "x").read_text() == ("diff a\n" if answers == "y" else "mine\n")


async def test_a_file_that_appears_meanwhile_is_not_written_over(folder: Path) -> None:
    async with running(world()) as rig:
        await opened(rig, FILES[0])
        await rig.press("full_stop", "w", "ctrl+u", "x", "enter")
        (folder / "x").write_text("mine\n")
        await answer(rig, "diff a\n")
        await until_async(lambda: rig.notices, what="the notice")
        assert (folder / "x").read_text() == "mine\n"
        assert rig.notices == ["x was not written: File exists"]


async def test_a_folder_a_pipe_and_a_device_are_not_written_to(folder: Path) -> None:
    os.mkfifo(folder / "x")
    async with running(world()) as rig:
        await opened(rig, FILES[0])
        for name in ("x", "/dev/null", "."):
            await rig.press("full_stop", "w", "ctrl+u", *name, "enter")
            assert rig.notices[-1] == f"{name} is there, and is no regular file."


async def test_a_link_that_breaks_ends_it_for_any_number_of_files(folder: Path) -> None:
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, [file(f"m{number}.py") for number in range(2_000)])
        await rig.press("full_stop", "w", "enter")
        rig.feed.put(Link("down", "gone"))
        await rig.settle()
        assert "m0.py: the link to the gateway broke" in rig.notices[0]
        assert "and 1997 more" in rig.notices[0]
        assert files_in(folder) == []


async def test_where_it_cannot_be_written_the_reason_is_said() -> None:
    async with running(world()) as rig:
        await opened(rig, FILES[0])
        await rig.press("full_stop", "w", "ctrl+u", *"no/x", "enter")
        await answer(rig, "diff a\n")
        await until_async(lambda: rig.notices, what="the notice")
        assert rig.notices == ["no/x was not written: No such file or directory"]


async def test_the_patch_of_a_file_is_copied() -> None:
    async with running(world()) as rig:
        await opened(rig, FILES[0])
        await rig.press("full_stop", "y")
        await answer(rig, "diff a\n+b\n")
        assert rig.app.clipboard == "diff a\n+b\n"


async def test_what_was_not_read_is_missing_with_its_reason(folder: Path) -> None:
    async with running(world()) as rig:
        await opened(rig, FILES[0])
        await rig.press("full_stop", "w", "enter")
        asked = rig.feed.sent_of(DiffRead)[-1]
        rig.feed.put(Error(ErrorCode.NOT_FOUND, "it is too large", "diff.read", id=asked.id))
        await rig.settle()
        assert rig.notices == ["Not in the patch: a.py: it is too large"]
        assert files_in(folder) == []
