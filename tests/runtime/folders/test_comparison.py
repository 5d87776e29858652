"""What changed, file by file: as git itself tells it, and of repositories that want to do harm."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.core.effects import FilePlace, FolderCompared
from tapui.core.proof.folder_states import FolderState, pair_of
from tapui.runtime.folders import comparison
from tapui.runtime.folders.comparison import DIRTY, LARGE, LATE, NO_FILE, compare
from tapui.runtime.folders.patches import Content, hunks, line_changes, patch
from tapui.runtime.folders.repository import PLAIN
from tapui.runtime.folders.work_tree import path_bytes, path_text
from tapui.wire import limits
from tapui.wire.changes import ChangedFile
from tests.runtime.folders.repositories import Repo
from tests.runtime.folders.test_hostile import as_device, as_pipe, as_socket


def never() -> bool:
    return False


def listed(before: FolderState | None, now: FolderState) -> FolderCompared:
    return compare((pair_of(before, now),), None, never)


def files_of(repo: Repo, before: FolderState | None = None) -> dict[str, ChangedFile]:
    found = listed(before, repo.look(before.head if before is not None else ""))
    assert not found.fault
    return {one.path: one for one in found.files}


def one_of(
    repo: Repo, path: str, before: FolderState | None = None, **place: object
) -> FolderCompared:
    now = repo.look(before.head if before is not None else "")
    file = FilePlace(str(repo.root), path, **place)  # type: ignore[arg-type]
    return compare((pair_of(before, now),), file, never)


def patch_of(repo: Repo, before: FolderState | None) -> str:
    """Return the patch of all files."""
    return "".join(
        one_of(repo, one.path, before, old_path=one.old_path, as_patch=True).patch
        for one in files_of(repo, before).values()
    )


def told(file: ChangedFile) -> tuple[object, ...]:
    return (file.state, file.added, file.removed)


# As git tells it


def test_each_kind_of_change(repo: Repo) -> None:
    lines = "".join(f"line {number}\n" for number in range(20))
    repo.write("long.py", lines)
    repo.write("same.bin", b"\0" * 99)
    repo.commit()
    repo.write("a.py", "a.py 2\nand more\n")
    (repo.root / "b.py").unlink()
    (repo.root / "src/c.py").chmod(0o755)
    (repo.root / "long.py").rename(repo.root / "src/longer.py")
    repo.write("src/longer.py", lines.replace("line 7\n", "line seven\n"))
    (repo.root / "same.bin").rename(repo.root / "moved.bin")
    (repo.root / "src/deep/d.py").unlink()
    (repo.root / "src/deep/d.py").symlink_to("../c.py")
    repo.write("new/empty.py")
    repo.write("new/bin", b"\0\1")
    files = files_of(repo)
    assert {path: told(one) for path, one in files.items()} == {
        "a.py": ("modified", 2, 1),
        "b.py": ("removed", 0, 1),
        "moved.bin": ("renamed", None, None),
        "new/bin": ("added", None, None),
        "new/empty.py": ("added", 0, 0),
        "src/c.py": ("mode", 0, 0),
        "src/deep/d.py": ("modified", 1, 1),
        "src/longer.py": ("renamed", 1, 1),
    }
    assert (files["moved.bin"].old_path, files["src/longer.py"].old_path) == ("same.bin", "long.py")
    assert (files["src/c.py"].old_mode, files["src/c.py"].mode) == ("100644", "100755")
    assert (files["src/deep/d.py"].old_mode, files["src/deep/d.py"].mode) == ("100644", "120000")
    assert [path for path, one in files.items() if one.is_binary] == ["moved.bin", "new/bin"]
    now = repo.look()
    text = patch_of(repo, None)
    repo.git("stash", "-uq")
    (repo.root.parent / "all.patch").write_text(text, newline="")
    repo.git("apply", "../all.patch")
    assert repo.look().files == now.files


def test_a_submodule_at_another_commit(repo: Repo, tmp_path: Path) -> None:
    inner = Repo(tmp_path / "inner")
    inner.commit(x_py="1")
    repo.git("submodule", "add", "-q", str(inner.root), "sub")
    repo.commit()
    repo.git("-C", "sub", "commit", "-q", "--allow-empty", "-m", "y")
    states = [repo.look(), Repo(repo.root / "sub", is_new=False).look()]
    found = compare(tuple(pair_of(None, one) for one in states), None, never)
    (one,) = found.files
    assert (one.path, one.state) == ("sub", "submodule")
    assert one.note.startswith("commit ")


def test_hunks_have_the_numbers_of_both_sides(repo: Repo) -> None:
    lines = [f"line {number}\n" for number in range(1, 41)]
    repo.write("a.py", "".join(lines))
    repo.commit()
    lines[4:4] = ["new\n"]
    lines[30] = "other"
    repo.write("a.py", "".join(lines[:31]))
    found = one_of(repo, "a.py")
    first, second = found.hunks
    assert (first.old, first.new) == (2, 2)
    assert first.lines == [
        *(" line 2", " line 3", " line 4", "+new", " line 5", " line 6", " line 7"),
    ]
    assert (second.old, second.new) == (27, 28)
    assert second.lines[3:6] == ["-line 30", "-line 31", "-line 32"]
    assert second.lines[-2:] == ["+other", "\\ No newline at end of file"]
    assert told(found.files[0]) == ("modified", 2, 11)


TEXTS = [b"a", b"b", b"", b"c\r", b"\xe9", "é".encode(), b"+-@ "]
CONTENTS = st.one_of(
    st.lists(st.sampled_from(TEXTS), max_size=12)
    .map(b"\n".join),
    st.binary(max_size=80),
)  # fmt: skip
NAMES = st.sampled_from(
    [
        b"f",
        b"a b",
        b'"q"',
        b"tab\t",
        b"new\nline",
        b"\xff\\",
        "é".encode(),
        b" ",
        b"-rf",
        b"\x1b[31m",
    ]
)


@given(old=CONTENTS, new=CONTENTS, name=NAMES)
@settings(max_examples=40, deadline=None)
def test_any_patch_is_taken_by_git(
    tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes, name: bytes
) -> None:
    repo = Repo(tmp_path_factory.mktemp("patched") / "r")
    file = os.fsencode(repo.root) + b"/" + name
    Path(os.fsdecode(file)).write_bytes(old)
    repo.commit()
    Path(os.fsdecode(file)).write_bytes(new)
    text = patch_of(repo, None)
    assert bool(text) == (old != new)
    assert [path_bytes(path) for path in files_of(repo)] == [name] * (old != new)
    Path(os.fsdecode(file)).write_bytes(old)
    if text:
        (repo.root.parent / "p").write_text(text, newline="")
        repo.git("apply", "--whitespace=nowarn", "../p")
    assert Path(os.fsdecode(file)).read_bytes() == new


@given(path=st.binary(min_size=1, max_size=20).filter(lambda one: b"\0" not in one))
def test_a_path_comes_back_from_its_text(path: bytes) -> None:
    if not path.startswith(b"//"):
        assert path_bytes(path_text(path)) == path


# What was there before


def test_a_dirty_file_is_compared_with_what_is_known_of_it(repo: Repo) -> None:
    repo.write("a.py", "dirty\n")
    repo.write("b.py", "staged\n")
    repo.git("add", "b.py")
    repo.write("README.md", "dirty, then committed\n")
    repo.write("untracked.py", "1\n")
    before = repo.look()
    repo.git("commit", "-qm", "x", "README.md")
    for path in ("a.py", "b.py", "README.md", "untracked.py"):
        repo.write(path, "edited\n")
    files = files_of(repo, before)
    assert {path: one.note for path, one in files.items()} == {
        "a.py": DIRTY,
        "b.py": "",
        "README.md": "",
        "untracked.py": DIRTY,
    }
    assert one_of(repo, "b.py", before).hunks[0].lines == ["-staged", "+edited"]
    assert one_of(repo, "README.md", before).hunks[0].lines[0] == "-dirty, then committed"
    found = one_of(repo, "a.py", before)
    assert (found.hunks[0].lines, found.notes) == (["-a.py 1", "+edited"], (DIRTY,))


def test_a_dirty_file_that_is_as_the_commit_has_it_again_has_changed(repo: Repo) -> None:
    repo.write("a.py", "dirty\n")
    repo.write("new.py", "dirty\n")
    repo.write("gone.py", "dirty\n")
    before = repo.look()
    repo.write("a.py", "a.py 1\n")
    repo.write("new.py", "edited\n")
    (repo.root / "gone.py").unlink()
    files = files_of(repo, before)
    assert {path: told(one) for path, one in files.items()} == {
        "a.py": ("modified", 0, 0),
        "new.py": ("modified", 1, 0),
        "gone.py": ("removed", 0, 0),
    }
    assert {one.note for one in files.values()} == {DIRTY}
    assert one_of(repo, "a.py", before).notes == (DIRTY,)
    assert one_of(repo, "new.py", before, as_patch=True).patch.splitlines()[1] == (
        "new file mode 100644"
    )


def test_a_commit_since_is_no_change_and_one_of_another_tree_is(repo: Repo) -> None:
    before = repo.look()
    repo.commit(a_py="2\n")
    assert told(files_of(repo, before)["a.py"]) == ("modified", 1, 1)
    now = repo.look()
    assert listed(None, now).files == ()
    pair = pair_of(before, now)
    assert [one.path for one in compare((pair,), None, never).files] == ["a.py"]


def test_a_partial_clone_without_a_content_says_it(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = Repo(tmp_path / "clone", is_new=False)
    address = f"file://{repo.root}"
    clone.git("clone", "-q", "--filter=blob:none", "--no-checkout", address, ".")
    clone.write("a.py", "edited\n")
    found = files_of(clone)["a.py"]
    assert (found.added, found.note[-13:]) == (None, " is not there")
    assert one_of(clone, "a.py").hunks == ()


# Hostile


@pytest.mark.parametrize("kind", [as_pipe, as_device, as_socket], ids=lambda kind: kind.__name__)
def test_a_file_that_became_another_thing_is_not_opened(
    repo: Repo, kind: Callable[[Path], None]
) -> None:
    repo.write("a.py", "edited\n")
    now = repo.look()
    (repo.root / "a.py").unlink()
    kind(repo.root / "a.py")
    (one,) = listed(None, now).files
    if kind is as_device:  # a link: its target is its content
        assert one.mode == "120000"
    else:
        assert (one.state, one.note) == ("removed", NO_FILE)


def test_a_folder_on_the_way_that_became_a_link_is_not_followed(repo: Repo, tmp_path: Path) -> None:
    repo.write("src/c.py", "edited\n")
    now = repo.look()
    (repo.root / "src").rename(tmp_path / "aside")
    (tmp_path / "aside/c.py").write_text("SECRET=1\n")
    (repo.root / "src").symlink_to(tmp_path / "aside")
    found = compare((pair_of(None, now),), FilePlace(str(repo.root), "src/c.py"), never)
    assert "SECRET" not in str(found)


@pytest.mark.parametrize(
    "path",
    ["../a.py", ".git/HEAD", "/etc/passwd", "", "a.py/", "src", "\0", "//\\xff", "README.md"],
)
def test_only_a_path_that_changed_is_read(repo: Repo, path: str) -> None:
    repo.write("a.py", "edited\n")
    found = one_of(repo, path)
    assert found.fault
    assert found.hunks == ()


def test_many_files_are_bounded(repo: Repo) -> None:
    for number in range(limits.CHANGED_FILES + 7):
        repo.write(f"many/{number:05}.py", f"{number}\n")
    found = listed(None, repo.look())
    assert (len(found.files), found.more) == (limits.CHANGED_FILES, 7)


def test_what_comes_late_is_named_without_its_lines(repo: Repo) -> None:
    repo.write("a.py", "edited\n")
    repo.write("new.py", "edited\n")
    (repo.root / "b.py").unlink()
    found = compare((pair_of(None, repo.look()),), None, lambda: True)
    states = {one.path: told(one) for one in found.files}
    assert states == {
        "a.py": ("modified", None, None),
        "b.py": ("removed", None, None),
        "new.py": ("added", None, None),
    }
    assert found.notes == (LATE,)


def test_held_contents_are_bounded(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_KEPT_BYTES", 30)
    repo.write("a.py", "x" * 15)
    repo.write("b.py", "x" * 15)
    found = listed(None, repo.look())
    assert [one.added for one in found.files] == [1, None]
    assert found.notes == (LATE,)


def test_a_long_diff_is_cut_with_a_note(repo: Repo) -> None:
    line = "é" * 50 + "\n"
    count = limits.MAX_DIFF_BYTES // len(line.encode()) * 9 // 10
    repo.write("long.py", line * count)
    found = one_of(repo, "long.py")
    assert (found.files[0].added, found.notes) == (count, ())
    repo.write("long.py", '"' * 60 + "\n" + '"\n' * 1_500_000)
    found = one_of(repo, "long.py")
    shown = sum(len(one.lines) for one in found.hunks)
    assert found.notes == (f"{1_500_001 - shown:,} more lines are not shown",)
    repo.write("long.py", "x\n" * (limits.MAX_DIFF_BYTES // 2 + 1))
    found = one_of(repo, "long.py")
    assert (found.hunks, found.notes) == ((), (LARGE,))


def test_long_lines_are_cut_where_they_are_shown_and_whole_in_a_patch(repo: Repo) -> None:
    repo.write("a.py", "é" * 5_000 + "\n")
    (text,) = (one for one in one_of(repo, "a.py").hunks[0].lines if one.startswith("+"))
    assert text == "+" + "é" * limits.MAX_DIFF_LINE + "…"
    assert "é" * 5_000 in one_of(repo, "a.py", as_patch=True).patch


def test_lines_that_are_all_alike_have_an_end() -> None:
    old = [b"%d\n" % (number % 150) for number in range(40_000)]
    new = [b"%d\n" % (number * 7 % 150) for number in range(40_000)]
    changes, is_whole = line_changes(old, new, never)
    assert not is_whole
    found, left_out = hunks(old, new, changes)
    assert (len(found), left_out) == (1, 0)


def test_a_large_file_is_named(repo: Repo) -> None:
    with (repo.root / "large").open("wb") as file:
        file.truncate(1024**3)
    (one,) = listed(None, repo.look()).files
    assert (one.state, one.note, one.added) == ("added", LARGE, None)


def test_other_ends_of_lines_do_not_hide_what_changed(repo: Repo) -> None:
    repo.write("a.py", "one\ntwo\n")
    repo.commit()
    repo.write("a.py", "one\r\n2\r\n")
    assert told(files_of(repo)["a.py"]) == ("modified", 1, 1)
    repo.write("a.py", "one\r\ntwo\r\n")
    assert told(files_of(repo)["a.py"]) == ("modified", 2, 2)


def test_a_content_without_a_change_has_no_patch_of_lines() -> None:
    same = Content(b"x\n", PLAIN, "0" * 40)
    assert patch(b"f", same, same, []) == "diff --git a/f b/f\n"
