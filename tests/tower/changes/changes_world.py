"""Files that a session changed, and a tower that is told of them."""

from collections.abc import Sequence
from typing import Any

from tapui.tower.changes.changes_detail import ChangesDetail
from tapui.wire import events as ev
from tapui.wire.changes import (
    ChangedFile,
    ChangesList,
    ChangesRead,
    DiffHunk,
    DiffRead,
    FileDiff,
    FileWriter,
)
from tests.rig.waiting import until_async
from tests.tower.running import Running, on_top
from tests.tower.scripted import at

ROOT = "/code/s1"


def file(path: str, added: int | None = 1, removed: int | None = 1, **fields: Any) -> ChangedFile:
    given: dict[str, Any] = {"root": ROOT, "state": "modified"}
    return ChangedFile(path=path, added=added, removed=removed, **(given | fields))


def by(kind: Any, what: str = "", *, ago: float = 300, turn: int | None = 6) -> FileWriter:
    return FileWriter(kind, at(ago), what, turn=turn)


def files() -> list[ChangedFile]:
    """Return one that was changed after a check, one by a command, one renamed."""
    return [
        file("CHANGELOG.md", 41, 2, by=[by("tool", "edit")], is_after_check=True),
        file(
            "docs/links.md", 9, 9, by=[by("shell", "sed -i s/v0.3/v0.4/ docs/links.md", ago=240)],
            is_after_check=False,
        ),
        file("src/version.py", 1, 0, state="renamed", old_path="version.py"),
    ]  # fmt: skip


HUNKS = [
    DiffHunk(
        40,
        40,
        [
            " def run(a):",
            "-    x = a + 1",
            "+    x = a + 2  # more",
            "+    y = x",
            '     return "done"',
        ],
    ),
    DiffHunk(99, 100, [" class Cart:", "-    pass"]),
]


async def list_files(
    rig: Running, found: Sequence[ChangedFile], *, more: int = 0, **fields: Any
) -> None:
    """Answer the newest question for the files of a session."""
    asked = rig.feed.sent_of(ChangesRead)[-1]
    fields.setdefault("began", at(700))
    rig.feed.put(ChangesList(asked.id, asked.session_id, list(found), more, **fields))
    await rig.settle()


async def show_diff(
    rig: Running, one: ChangedFile, hunks: Sequence[DiffHunk] = HUNKS, **fields: Any
) -> DiffRead:
    """Answer the newest question for the lines of a file, which a detail asks once it is there."""
    await until_async(lambda: rig.feed.sent_of(DiffRead), what=lambda: rig.text)
    asked = rig.feed.sent_of(DiffRead)[-1]
    rig.feed.put(FileDiff(asked.id, asked.session_id, one, list(hunks), **fields))
    await rig.settle()
    return asked


async def opened(rig: Running, one: ChangedFile, hunks: Sequence[DiffHunk] = HUNKS) -> None:
    """Open the diff of a file as a sheet."""
    await rig.press("7")
    await list_files(rig, [one])
    await rig.press("enter")
    await show_diff(rig, one, hunks)


def detail(rig: Running) -> ChangesDetail:
    """The diff that has the keys."""
    found = on_top(rig.app)
    assert isinstance(found, ChangesDetail)
    return found


def work_ends(session_id: str = "s1") -> ev.AnyEvent:
    """Return what has files looked at again."""
    return ev.SessionHappened(session_id=session_id, event="session.idle")
