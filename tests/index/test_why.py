"""Why a file is as it is: from calls that edit to the line as it is now."""

from pathlib import Path

import pytest

from tapui.index.search import Search
from tapui.index.update import bring_up_to_date
from tapui.index.why import Change, blamed, changes_of, lines_of
from tapui.projection.changes import edits_of
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.turns import FileChange
from tests.index import played
from tests.index.conftest import Find
from tests.records.turns import Writer, stamp

PATCH = """\
*** Begin Patch
*** Update File: a.py
@@ def f():
 one
-two
+TWO
+more
*** Add File: new.py
+x = 1
*** Delete File: gone.py
*** End Patch
"""


def edited(tool: str, args: object, **ended: object) -> list[tuple[str, int | None, int | None]]:
    began = subjects.Call("c", "s", "copilot", tool, "running", stamp(0), args=played.raw(args))
    done = subjects.Call(
        "c", "s", "copilot", tool, **{"state": "done", "started_at": stamp(0), **ended}
    )  # type: ignore[arg-type]
    return [(one.path, one.added, one.removed) for one in edits_of(began, done)]


@pytest.mark.parametrize(
    ("tool", "args", "found"),
    [
        ("edit", {"path": "a.py", "old_str": "x = 1\ny", "new_str": "x = 2\ny"}, [("a.py", 1, 1)]),
        ("edit", {"path": "a.py", "old_str": "x", "new_str": ""}, [("a.py", 0, 1)]),
        ("create", {"path": "b.py", "file_text": "1\n2\n"}, [("b.py", 2, 0)]),
        ("insert", {"path": "b.py", "insert_line": 2, "new_str": "z\n"}, [("b.py", 1, 0)]),
        ("apply_patch", {"patch": PATCH}, [("a.py", 2, 1), ("new.py", 1, 0), ("gone.py", 0, 0)]),
        ("apply_patch", PATCH, [("a.py", 2, 1), ("new.py", 1, 0), ("gone.py", 0, 0)]),
        (
            "multi_edit",
            {
                "file_path": "c.py",
                "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": 1}],
            },
            [("c.py", 1, 1)],
        ),
        ("view", {"path": "a.py"}, []),
        ("bash", {"command": "echo"}, []),
        ("edit", {"path": 1, "old_str": "x"}, []),
        ("edit", ["path"], []),
        ("edit", None, []),
    ],
)
def test_what_calls_change_is_known_from_their_arguments(
    tool: str, args: object, found: list[tuple[str, int, int]]
) -> None:
    assert edited(tool, args) == found


def test_what_the_host_tells_goes_before_the_arguments() -> None:
    args = {"path": "a.py", "old_str": "x", "new_str": "y"}
    told = [FileChange("/w/a.py", 7, 2)]
    assert edited("edit", args, changes=told) == [("/w/a.py", 7, 2)]
    probable = [FileChange("/w/b.py", None, None, is_probable=True)]
    assert edited("bash", {"command": "make"}, changes=probable) == [("/w/b.py", None, None)]


def test_a_call_that_failed_changed_nothing() -> None:
    args = {"path": "a.py", "old_str": "x", "new_str": "y"}
    assert edited("edit", args, state="failed") == []


class Day:
    """A session in a folder whose file is changed by calls, and by others."""

    def __init__(self, state: Path, cwd: Path) -> None:
        self.state = state
        self.file = cwd / "src" / "a.py"
        self.file.parent.mkdir()
        self.writer = Writer(state)
        session = subjects.Session("s1", "Fix it", str(cwd), "idle", "copilot", [], stamp(0))
        self.writer.turn(ev.SessionOpened("s1", session))
        self.calls = 0

    def ask(self, prompt: str) -> None:
        self.writer.turn(played.prompt(prompt))

    def edit(self, old: str, new: str, *, is_done: bool = True) -> None:
        """Change the file by a call, unless the call alone is told."""
        self.calls += 1
        args = {"path": "src/a.py", "old_str": old, "new_str": new}
        self.writer.turn(*played.call(f"c{self.calls}", "edit", args))
        if is_done:
            text = self.file.read_text()
            assert old in text
            self.file.write_text(text.replace(old, new, 1))

    def create(self, text: str) -> None:
        self.calls += 1
        args = {"path": str(self.file), "file_text": text}
        self.writer.turn(*played.call(f"c{self.calls}", "create", args))
        self.file.write_text(text)

    def changes(self) -> list[Change]:
        assert bring_up_to_date(self.state, 30) == "current"
        search = Search(self.state)
        try:
            return changes_of(search, self.file)
        finally:
            search.close()

    def blame(self, text: str) -> tuple[str | None, bool] | None:
        """Return the call that the line with this text comes from, and whether that is sure."""
        content = self.file.read_text().removesuffix("\n").split("\n")
        blame = blamed(self.changes(), content, content.index(text) + 1)
        return None if blame is None else (blame.change.call_id, blame.is_sure)


@pytest.fixture
def day(state: Path, tmp_path: Path) -> Day:
    made = Day(state, tmp_path)
    made.ask("Write a file")
    made.create("a\nb\nc\nd\n")
    made.ask("Make b better")
    made.edit("b\nc", "b\nB2\nc")
    made.edit("d", "d\nD2")
    made.edit("a", "top\na")
    made.writer.journal.close(10)
    return made


@pytest.mark.parametrize(
    ("line", "call"),
    [("top", "c4"), ("a", "c1"), ("b", "c1"), ("B2", "c2"), ("c", "c1"), ("d", "c1"), ("D2", "c3")],
)
def test_a_line_comes_from_the_last_change_that_touches_it(day: Day, line: str, call: str) -> None:
    assert day.blame(line) == (call, True)


def test_a_change_tells_the_prompt_and_the_diff(day: Day) -> None:
    changes = day.changes()
    assert [change.call_id for change in changes] == ["c4", "c3", "c2", "c1"]
    assert [change.prompt for change in changes] == ["Make b better"] * 3 + ["Write a file"]
    assert (changes[2].added, changes[2].removed) == (1, 0)
    assert changes[2].hunks[0].new == ["b", "B2", "c"]
    assert (changes[0].session, changes[0].title) == ("Fix it", "edit src/a.py")


def test_what_others_did_in_between_makes_it_unsure(day: Day) -> None:
    day.file.write_text(day.file.read_text().replace("B2", "b2 by hand"))
    assert day.blame("b2 by hand") is None
    assert day.blame("top") == ("c4", True)
    assert day.blame("D2") == ("c3", True)
    assert day.blame("c") == ("c1", False)


@pytest.mark.parametrize(
    ("ends", "told", "mark"),
    [
        ("\r\n", "\n", ""), ("\r\n", "\r\n", ""), ("\n", "\r\n", ""), ("\r", "\n", ""),
        ("\r\n", "\n", "\ufeff"), ("\n", "\n", "\ufeff"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_is_found_in_a_file_of_any_line_ends(
    state: Path, tmp_path: Path, ends: str, told: str, mark: str, encoding: str
) -> None:
    day = Day(state, tmp_path)
    day.file.write_text("one\ntwo\nthree\n")
    day.ask("Make two better")
    day.edit(f"{mark}one{told}two", f"{mark}one{told}TWO", is_done=False)
    day.writer.journal.close(10)
    before = mark if encoding == "utf-8" else ""
    day.file.write_bytes(f"{before}one{ends}TWO{ends}three{ends}".encode(encoding))
    assert lines_of(day.file) == ["one", "TWO", "three"]
    found = blamed(day.changes(), lines_of(day.file), 2)
    assert found is not None
    assert (found.change.prompt, found.is_sure) == ("Make two better", True)
    assert blamed(day.changes(), lines_of(day.file), 1) is None


def test_equal_lines_are_told_apart_by_their_place(state: Path, tmp_path: Path) -> None:
    day = Day(state, tmp_path)
    day.create("if a:\n    pass\nif b:\n    pass\n")
    day.edit("if b:\n    pass", "if b:\n    call()\n    pass")
    day.edit("if a:\n    pass", "if a:\n    x\n    pass")
    day.writer.journal.close(10)
    content = day.file.read_text().removesuffix("\n").split("\n")
    found = [blamed(day.changes(), content, line) for line in range(1, 7)]
    assert [one.change.call_id for one in found if one] == ["c1", "c3", "c1", "c1", "c2", "c1"]


def test_changed_finds_the_calls_that_changed_a_file(day: Day, find: Find, tmp_path: Path) -> None:
    for text in ("changed:a.py", "changed:src/a.py", f"changed:{day.file}", 'changed:"a.py"'):
        assert [hit.call_id for hit in find(text)] == ["c4", "c3", "c2", "c1"]
    assert [hit.call_id for hit in find("changed:a.py B2")] == ["c2"]
    assert find("changed:b.py") == []
    assert find("changed:rc/a.py") == []
    assert find("changed:%") == []


def test_a_line_that_is_not_there_has_no_reason(day: Day) -> None:
    assert blamed(day.changes(), ["a"], 0) is None
    assert blamed(day.changes(), ["a"], 2) is None
    assert blamed([], ["a"], 1) is None
