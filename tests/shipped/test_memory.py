"""`memory`: the documents' answers, names that climb, links, a full disk, and who wrote what."""

import asyncio
import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tapui.files import private_file
from tapui.provider import ToolError
from tapui.settings.settings import Memory
from tapui.shipped.memory import (
    MAX_BYTES,
    Memories,
    MemoryFault,
    MemoryStanding,
    memory_standing,
    provider,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "memories"


def call(folder: Path, **given: Any) -> str:
    return str(asyncio.run(provider(folder).call("memory", given)))


def test_the_documents_answers(folder: Path) -> None:
    assert call(folder, command="list") == "No memories saved yet."
    assert call(folder, command="save", path="b.md", content="B") == "Saved memory 'b.md'."
    assert call(folder, command="save", path="a.md", content="A") == "Saved memory 'a.md'."
    assert call(folder, command="list") == "a.md\nb.md"
    assert call(folder, command="read", path="b.md") == "B"
    assert call(folder, command="read", path="c.md") == "Memory 'c.md' not found."
    assert call(folder, command="delete", path="b.md") == "Deleted memory 'b.md'."
    assert call(folder, command="delete", path="b.md") == "Memory 'b.md' not found."
    assert call(folder, command="fly", path="b.md") == "Unknown command: fly"
    for command in ("save", "read", "delete"):
        said = call(folder, command=command)
        assert said == "Error: 'path' is required for save/read/delete."


def test_a_path_is_its_last_name_and_stays_in_the_folder(folder: Path) -> None:
    said = call(folder, command="save", path="../../x.md", content="X")
    assert said == "Saved memory 'x.md'."
    assert (folder / "x.md").read_text() == "X"
    assert sorted(one.name for one in folder.parent.iterdir()) == ["memories"]


@pytest.mark.parametrize("path", ["..", ".", "a/..", ".hidden", "a b", "x" * 101, "a\nb", "a\0b"])
def test_names_that_are_none_are_refused(folder: Path, path: str) -> None:
    with pytest.raises(ToolError, match="cannot be a memory's name"):
        call(folder, command="save", path=path, content="X")
    assert not folder.exists()


def test_files_are_private_and_whole(folder: Path) -> None:
    call(folder, command="save", path="a.md", content="A")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "a.md").stat().st_mode) == 0o600


def test_no_link_is_followed(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    folder.mkdir(parents=True)
    (folder / "link.md").symlink_to(secret)
    os.link(secret, folder / "hard.md")
    os.mkfifo(folder / "pipe.md")
    assert call(folder, command="list") == "hard.md"
    for name in ("link.md", "hard.md", "pipe.md"):
        with pytest.raises(ToolError):
            call(folder, command="read", path=name)
    call(folder, command="save", path="link.md", content="new")
    assert (secret.read_text(), (folder / "link.md").read_text()) == ("a secret", "new")


def test_a_folder_that_is_a_link_is_not_used(folder: Path, tmp_path: Path) -> None:
    folder.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    for given in ({"command": "list"}, {"command": "save", "path": "a", "content": "A"}):
        with pytest.raises(ToolError):
            call(folder, **given)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_note_has_its_most_bytes_and_a_folder_its_most_notes(folder: Path) -> None:
    with pytest.raises(ToolError, match="at most 262,144 bytes"):
        call(folder, command="save", path="a", content="x" * (MAX_BYTES + 1))
    memories = Memories(folder, most=2)
    for name in ("a", "b", "a"):
        memories.save(name, "x", by="agent")
    with pytest.raises(MemoryFault, match="delete some first"):
        memories.save("c", "x", by="agent")


def test_a_full_disk_leaves_the_note_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(folder, command="save", path="a", content="before")

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(private_file.os, "fsync", full)
    with pytest.raises(ToolError, match="No space left on device"):
        call(folder, command="save", path="a", content="after")
    monkeypatch.undo()
    assert call(folder, command="read", path="a") == "before"
    assert sorted(one.name for one in folder.iterdir()) == [".writers.json", "a"]


def test_who_wrote_what_is_kept_until_another_program_writes(folder: Path) -> None:
    memories = Memories(folder, lambda: 5.0)
    memories.save("a", "A", by="agent", session="s1", label="api")
    memories.save("b", "B", by="person")
    told = {one.name: one.writer for one in memories.notes()}
    first, second = told["a"], told["b"]
    assert first is not None
    assert second is not None
    assert (first.by, first.session, first.label, first.at) == ("agent", "s1", "api", 5.0)
    assert second.by == "person"
    (folder / "a").write_text("other")
    assert {one.name: one.writer is None for one in memories.notes()} == {"a": True, "b": False}
    (folder / ".writers.json").write_text("{")
    assert [one.writer for one in memories.notes()] == [None, None]
    memories.save("b", "B", by="person")
    assert memories.delete("a")
    assert [one.name for one in memories.notes()] == ["b"]


def test_a_file_of_another_form_is_told(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("no folder")
    with pytest.raises(MemoryFault, match="Not a directory"):
        Memories(folder).notes()


def test_nothing_of_a_note_goes_into_a_prompt_by_itself(folder: Path) -> None:
    Memories(folder).save("a", "do as I say", by="agent")
    hello = provider(folder).hello("s1", None)
    assert (hello.context, hello.startup_context, hello.hooks, hello.subscribe) == (None,) * 4


async def test_a_writer_is_named_by_its_session(folder: Path) -> None:
    async with provider(folder).test() as session:
        said = await session.call("memory", command="save", path="a", content="A")
        assert said.data == "Saved memory 'a'."
    (note,) = Memories(folder).notes()
    assert note.writer is not None
    assert note.writer.session


@pytest.fixture
def file(folder: Path) -> Path:
    """A file where the notes are to be."""
    folder.parent.mkdir(parents=True)
    folder.touch()
    return folder


async def test_a_folder_that_cannot_be_used_is_told_the_person(file: Path) -> None:
    async with provider(file).test() as session:
        told = (await session.next_push()).event
    assert told == f"memory: no note can be saved: {file} is no folder"


def test_how_the_notes_stand_is_told(folder: Path) -> None:
    setting = Memory(folder=str(folder), ask_writes=True)
    assert memory_standing(setting) == MemoryStanding(str(folder), 0, asks_before_writes=True)
    call(folder, command="save", path="a.md", content="A")
    assert memory_standing(setting) == MemoryStanding(str(folder), 1, asks_before_writes=True)
    (folder / "a.md").unlink()
    (folder / ".writers.json").unlink()
    folder.rmdir()
    folder.symlink_to(folder.parent)
    assert memory_standing(setting).fault == f"{folder} is a link"


def test_a_folder_that_cannot_be_written_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    assert private_file.unwritable(inner) is None
    full = SimpleNamespace(f_blocks=9, f_bavail=0)
    monkeypatch.setattr(private_file.os, "statvfs", lambda _: full)
    assert private_file.unwritable(inner) == f"the disk of {tmp_path} is full"
    monkeypatch.setattr(private_file.os, "access", lambda *_: False)
    assert private_file.unwritable(inner) == f"{tmp_path} cannot be written"
