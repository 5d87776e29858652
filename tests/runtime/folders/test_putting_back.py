"""Files and hunks put back: byte for byte, or not at all; never through a link."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.core.effects import FileIsBack, FilePlace
from tapui.core.proof.folder_states import FolderState, pair_of
from tapui.runtime.folders import putting_back
from tapui.runtime.folders.comparison import FROM_LFS, LARGE, NO_FILE, compare
from tapui.runtime.folders.putting_back import (
    A_LINK,
    A_MODULE,
    IN_GIT,
    KEPT_OTHERWISE,
    LINKED,
    MIXED,
    NOT_KEPT,
    NOT_LINES,
    OTHER,
    OTHER_BEFORE,
    TAKEN,
    WRITTEN,
    put_back,
)
from tapui.wire import limits
from tapui.wire.changes import ChangedFile, ChangeNote, DiffHunk, LineRange
from tests.rig.file_sizes import files_of_at_most
from tests.runtime.folders.repositories import Repo


def never() -> bool:
    return False


class Shown:
    """A file as the person sees it, which they put back."""

    def __init__(
        self, repo: Repo, path: str, before: FolderState | None = None, old_path: str = ""
    ) -> None:
        now = repo.look(before.head if before is not None else "")
        self.pair = pair_of(before, now)
        self.place = FilePlace(str(repo.root), path, old_path)
        found = compare((self.pair,), self.place, never)
        assert found.files, found.fault
        self.file: ChangedFile = found.files[0]
        self.place = replace(self.place, old_state_id=self.file.old_state_id)
        self.hunks: list[DiffHunk] = list(found.hunks)

    def back(self, hunk: DiffHunk | None = None) -> FileIsBack:
        return put_back(self.pair, self.place, self.file.state_id, hunk, never)


def is_clean(repo: Repo) -> bool:
    return not repo.git("status", "--porcelain")


# A whole file


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\n", b"a\nx\nb\n"),
        (b"a\nb", b"a\nb\n"),
        (b"a\r\nb\r\n", b"a\nb\n"),
        (b"a\nb\n", b"a\r\nb\r\n"),
        (b"\0\1\2", b"\0\3"),
        (b"\xff\xfe\n", b"ok\n"),
        (b"", b"x"),
        (b"x", b""),
    ],
)
def test_a_changed_file_is_as_it_was(repo: Repo, old: bytes, new: bytes) -> None:
    file = repo.write("x.py", old)
    file.chmod(0o640)
    repo.commit()
    repo.write("x.py", new)
    assert Shown(repo, "x.py").back() == FileIsBack(("x.py",))
    assert file.read_bytes() == old
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert is_clean(repo)


class Keeping(Shown):
    """What is put back as the gateway has it done: with a folder for what was there."""

    folder = Path()

    def back(self, hunk: DiffHunk | None = None) -> FileIsBack:
        return put_back(
            self.pair, self.place, self.file.state_id, hunk, never, kept_in=str(self.folder)
        )


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state" / "put-back"
    monkeypatch.setattr(Keeping, "folder", folder)
    return folder


def test_the_content_of_a_removed_file_is_kept(repo: Repo, kept: Path) -> None:
    repo.write("new/one two.py", b"\xff\x00bytes")
    found = Keeping(repo, "new/one two.py").back()
    assert (found.paths, found.fault) == (("new/one two.py",), "")
    assert not (repo.root / "new" / "one two.py").exists()
    place = Path(found.kept)
    assert place.parent == kept
    assert place.name.endswith("-one_two.py")
    assert place.read_bytes() == b"\xff\x00bytes"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


def test_what_a_file_had_before_it_was_put_back_is_kept(repo: Repo, kept: Path) -> None:
    repo.write("x.py", "a\nb\nc\n")
    repo.commit()
    repo.write("x.py", "a\nB\nc\n")
    shown = Keeping(repo, "x.py")
    found = shown.back(shown.hunks[0])
    assert Path(found.kept).read_text() == "a\nB\nc\n"
    repo.write("y.py", "y\n")
    repo.commit()
    (repo.root / "y.py").unlink()
    assert Keeping(repo, "y.py").back() == FileIsBack(("y.py",)), "nothing was there"
    assert len(list(kept.iterdir())) == 1


def test_nothing_is_removed_that_cannot_be_kept(repo: Repo, kept: Path) -> None:
    file = repo.write("new.py", "1\n")
    kept.parent.mkdir()
    kept.write_text("a file in its way")
    found = Keeping(repo, "new.py").back()
    assert found.paths == ()
    assert found.fault.startswith(f"what is there cannot be kept in {kept}: ")
    assert file.read_text() == "1\n"


def test_the_oldest_of_what_is_kept_goes(
    repo: Repo, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(putting_back, "KEPT_FILES", 3)
    kept.mkdir(parents=True)
    for number in range(5):
        (kept / f"2020010{number}-000000-aa-old.py").write_text("x")
    repo.write("new.py", "1\n")
    found = Keeping(repo, "new.py").back()
    names = sorted(one.name for one in kept.iterdir())
    assert names[:2] == ["20200103-000000-aa-old.py", "20200104-000000-aa-old.py"]
    assert names[2:] == [Path(found.kept).name]
    monkeypatch.setattr(putting_back, "KEPT_BYTES", 2)
    repo.write("new.py", "1\n")
    found = Keeping(repo, "new.py").back()
    assert [str(one) for one in kept.iterdir()] == [found.kept]


def test_an_added_file_is_removed(repo: Repo) -> None:
    repo.write("new/one.py", "1\n")
    assert Shown(repo, "new/one.py").back() == FileIsBack(("new/one.py",))
    assert not (repo.root / "new/one.py").exists()


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_a_removed_file_is_there_again_with_its_folders(repo: Repo, mode: int) -> None:
    repo.write("src/deep/er/d.py", "deep\n").chmod(mode)
    repo.commit()
    shutil.rmtree(repo.root / "src")
    assert not Shown(repo, "src/deep/er/d.py").back().fault
    file = repo.root / "src/deep/er/d.py"
    assert file.read_bytes() == b"deep\n"
    assert bool(file.stat().st_mode & 0o111) == (mode == 0o755)


def test_a_renamed_file_goes_back(repo: Repo) -> None:
    repo.write("long.py", "".join(f"line {number}\n" for number in range(20)))
    repo.commit()
    (repo.root / "long.py").rename(repo.root / "src/longer.py")
    shown = Shown(repo, "src/longer.py", old_path="long.py")
    assert shown.file.state == "renamed"
    assert shown.back() == FileIsBack(("long.py", "src/longer.py"))
    assert is_clean(repo)


def test_a_renamed_file_stays_where_its_place_is_taken(repo: Repo) -> None:
    (repo.root / "a.py").rename(repo.root / "z.py")
    shown = Shown(repo, "z.py", old_path="a.py")
    repo.write("a.py", "another\n")
    assert shown.back() == FileIsBack((), TAKEN)
    assert (repo.root / "a.py").read_text() == "another\n"
    assert (repo.root / "z.py").exists()


def test_the_right_to_run_it_goes_back(repo: Repo) -> None:
    (repo.root / "a.py").chmod(0o755)
    assert Shown(repo, "a.py").back() == FileIsBack(("a.py",))
    assert is_clean(repo)


def test_it_goes_back_to_what_the_session_found(repo: Repo) -> None:
    repo.write("a.py", "mine\n")
    repo.git("add", "a.py")
    before = repo.look()
    repo.write("a.py", "the agent's\n")
    assert not Shown(repo, "a.py", before).back().fault
    assert (repo.root / "a.py").read_text() == "mine\n"


def test_a_commit_since_is_no_matter(repo: Repo) -> None:
    before = repo.look()
    repo.write("a.py", "2\n")
    repo.commit()
    assert not Shown(repo, "a.py", before).back().fault
    assert (repo.root / "a.py").read_text() == "a.py 1\n"


def test_what_was_never_committed_is_not_kept(repo: Repo) -> None:
    repo.write("a.py", "mine\n")
    before = repo.look()
    repo.write("a.py", "the agent's\n")
    shown = Shown(repo, "a.py", before)
    assert shown.back() == FileIsBack((), NOT_KEPT)
    assert shown.back(shown.hunks[0]) == FileIsBack((), NOT_KEPT)
    assert (repo.root / "a.py").read_text() == "the agent's\n"


# Hunks

TWENTY = [f"line {number}\n" for number in range(40)]


def test_one_hunk_of_two(repo: Repo) -> None:
    repo.write("x.py", "".join(TWENTY)).chmod(0o755)
    repo.commit()
    lines = list(TWENTY)
    lines[5], lines[30:32] = "five\n", []
    repo.write("x.py", "".join(lines))
    shown = Shown(repo, "x.py")
    assert shown.back(shown.hunks[1]) == FileIsBack(("x.py",))
    lines[30:30] = TWENTY[30:32]
    assert (repo.root / "x.py").read_text() == "".join(lines)
    assert (repo.root / "x.py").stat().st_mode & 0o100
    again = Shown(repo, "x.py")
    assert not again.back(again.hunks[0]).fault
    assert is_clean(repo)


def test_a_hunk_of_a_renamed_file_keeps_the_name(repo: Repo) -> None:
    repo.write("long.py", "".join(TWENTY))
    repo.commit()
    (repo.root / "long.py").unlink()
    repo.write("longer.py", "".join(["zero\n", *TWENTY[1:]]))
    shown = Shown(repo, "longer.py", old_path="long.py")
    assert shown.back(shown.hunks[0]) == FileIsBack(("longer.py",))
    assert (repo.root / "longer.py").read_text() == "".join(TWENTY)


def test_a_hunk_whose_ends_of_lines_are_not_shown_keeps_them(repo: Repo) -> None:
    repo.write("x.py", "a\nb\nc\n")
    repo.commit()
    repo.write("x.py", b"a\r\nB\r\nc\r\n")
    shown = Shown(repo, "x.py")
    assert not shown.back(shown.hunks[0]).fault
    assert (repo.root / "x.py").read_bytes() == b"a\r\nb\r\nc\r\n"


def test_mixed_ends_of_lines_go_back_only_as_a_whole(repo: Repo) -> None:
    file = repo.write("x.py", "a\nb\nc\n")
    repo.commit()
    repo.write("x.py", b"a\r\nB\nc\n")
    shown = Shown(repo, "x.py")
    assert shown.back(shown.hunks[0]).fault == MIXED
    assert not shown.back().fault
    assert file.read_bytes() == b"a\nb\nc\n"


LINES = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"x\xff\n", b"long\n", b"tab\t\n"]),
    max_size=30,
)
ENDS = st.sampled_from([b"", b"end", b"\r"])


@settings(max_examples=60, deadline=None)
@given(LINES, ENDS, LINES, ENDS, st.data())
def test_all_hunks_put_back_one_by_one_give_the_file_of_before(
    old: list[bytes], old_end: bytes, new: list[bytes], new_end: bytes, data: st.DataObject
) -> None:
    before, after = b"".join(old) + old_end, b"".join(new) + new_end
    if before == after or (b"\r\n" in after) != (b"\r\n" in before) or not before or not after:
        return  # ends that are left out of a diff go back with the whole file
    folder = Path(tempfile.mkdtemp())
    try:
        repo = Repo(folder / "repo")
        file = repo.write("x", before)
        repo.commit()
        file.write_bytes(after)
        for _ in range(len(new) + len(old) + 4):
            if file.read_bytes() == before:
                break
            shown = Shown(repo, "x")
            at = data.draw(st.integers(0, len(shown.hunks) - 1))
            assert shown.back(shown.hunks[at]) == FileIsBack(("x",))
        assert file.read_bytes() == before
        assert not list(repo.root.glob(".tapui*"))
    finally:
        shutil.rmtree(folder)


def test_five_megabytes(repo: Repo) -> None:
    lines = [f"line {number:060}\n" for number in range(limits.MAX_DIFF_BYTES // 66 - 10)]
    file = repo.write("big.py", "".join(lines))
    repo.commit()
    data = file.read_bytes()
    lines[40_000] = "changed\n"
    file.write_text("".join(lines))
    shown = Shown(repo, "big.py")
    assert not shown.back(shown.hunks[0]).fault
    assert file.read_bytes() == data
    file.write_text("".join(lines) * 2)
    shown = Shown(repo, "big.py")
    assert shown.back(DiffHunk(1, 1, [])).fault == LARGE
    assert not shown.back().fault
    assert file.read_bytes() == data


# Where it is refused


def changed_elsewhere(repo: Repo) -> None:
    repo.write("a.py", "changed again\n")


def gone(repo: Repo) -> None:
    (repo.root / "a.py").unlink()


def with_other_rights(repo: Repo) -> None:
    (repo.root / "a.py").chmod(0o755)


def a_link_to_it(repo: Repo) -> None:
    (repo.root / "a.py").rename(repo.root / "real.py")
    (repo.root / "a.py").symlink_to("real.py")


def a_folder(repo: Repo) -> None:
    (repo.root / "a.py").unlink()
    (repo.root / "a.py").mkdir()


@pytest.mark.parametrize(
    "meanwhile", [changed_elsewhere, gone, with_other_rights, a_link_to_it, a_folder]
)
@pytest.mark.parametrize("is_hunk", [False, True])
def test_a_file_that_is_another_one_than_shown(
    repo: Repo, meanwhile: Callable[[Repo], None], is_hunk: bool
) -> None:
    repo.write("a.py", "one\ntwo\n")
    shown = Shown(repo, "a.py")
    meanwhile(repo)
    now = listing(repo.root)
    result = shown.back(shown.hunks[0] if is_hunk else None)
    if meanwhile is with_other_rights and is_hunk:
        assert not result.fault  # its lines are those that were shown
        return
    assert result.fault
    assert result.fault == OTHER or is_hunk or meanwhile is a_link_to_it
    assert listing(repo.root) == now


def listing(root: Path) -> dict[str, bytes]:
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in files:
            path = Path(folder, name)
            found[str(path)] = (
                os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            )
    return found


def test_a_hunk_that_moved_is_another_one(repo: Repo) -> None:
    repo.write("x.py", "".join(TWENTY))
    repo.commit()
    repo.write("x.py", "".join([*TWENTY[:20], "new\n", *TWENTY[20:]]))
    shown = Shown(repo, "x.py")
    moved = "".join(["above\n", *TWENTY[:20], "new\n", *TWENTY[20:]])
    repo.write("x.py", moved)
    assert shown.back(shown.hunks[0]).fault == OTHER
    assert (repo.root / "x.py").read_text() == moved


def test_lines_that_were_shown_cut_must_be_the_very_same(repo: Repo) -> None:
    long = "x" * (limits.MAX_DIFF_LINE + 9)
    repo.write("a.py", f"a.py 1\n{long}1\n")
    shown = Shown(repo, "a.py")
    repo.write("a.py", f"a.py 1\n{long}2\n")
    assert Shown(repo, "a.py").hunks == shown.hunks
    assert shown.back(shown.hunks[0]).fault == OTHER
    repo.write("a.py", f"a.py 1\n{long}1\n")
    assert not shown.back(shown.hunks[0]).fault


def test_a_link_that_is_swapped_in_on_the_way(repo: Repo, tmp_path: Path) -> None:
    repo.write("src/c.py", "2\n")
    shown = Shown(repo, "src/c.py")
    (repo.root / "src").rename(tmp_path / "outside")
    (repo.root / "src").symlink_to(tmp_path / "outside")
    assert shown.back().fault
    assert (tmp_path / "outside/c.py").read_text() == "2\n"


def test_a_link_that_is_swapped_in_before_the_file_is_replaced(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repo.write("a.py", "2\n")
    victim = tmp_path / "victim"
    victim.write_text("2\n")
    shown = Shown(repo, "a.py")
    fresh = putting_back._fresh  # the moment between the two looks

    def swapped(*args: object) -> object:
        file.unlink()
        file.symlink_to(victim)
        return fresh(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(putting_back, "_fresh", swapped)
    assert shown.back().fault == OTHER
    assert victim.read_text() == "2\n"
    assert file.is_symlink()
    assert not list(repo.root.glob(".tapui*"))


def test_a_repository_that_is_behind_a_link_by_now(repo: Repo, tmp_path: Path) -> None:
    inner = Repo(repo.root / "sub/inner")
    inner.commit(x_py="1\n")
    inner.write("x.py", "2\n")
    shown = Shown(inner, "x.py")
    (repo.root / "sub").rename(tmp_path / "outside")
    (repo.root / "sub").symlink_to(tmp_path / "outside")
    assert shown.back() == FileIsBack((), LINKED)
    assert (tmp_path / "outside/inner/x.py").read_text() == "2\n"


def test_a_removed_file_is_not_made_through_a_link(repo: Repo, tmp_path: Path) -> None:
    shutil.rmtree(repo.root / "src")
    shown = Shown(repo, "src/c.py")
    (tmp_path / "outside").mkdir()
    (repo.root / "src").symlink_to(tmp_path / "outside")
    assert shown.back().fault
    assert list((tmp_path / "outside").iterdir()) == []


def test_links_and_submodules_are_left_to_git(repo: Repo, tmp_path: Path) -> None:
    (repo.root / "link").symlink_to("a.py")
    repo.commit()
    (repo.root / "link").unlink()
    (repo.root / "link").symlink_to("/etc/passwd")
    assert Shown(repo, "link").back().fault == A_LINK
    (repo.root / "a.py").unlink()
    (repo.root / "a.py").symlink_to("b.py")
    assert Shown(repo, "a.py").back().fault == A_LINK
    inner = Repo(tmp_path / "inner")
    inner.commit(x_py="1")
    repo.git("submodule", "add", "-q", str(inner.root), "sub")
    repo.commit()
    now = repo.look()
    place = FilePlace(str(repo.root), "sub")
    assert put_back(pair_of(None, now), place, "gone", None, never).fault == A_MODULE


@pytest.mark.parametrize(
    "path",
    [
        *("../out.py", "/etc/passwd", "src/../../out", ".git/config", ".GIT/config", "a\0b"),
        *(".git./x", ".git /x", "GIT~1/x", ".g\u200cit/x", ".git::$INDEX_ALLOCATION/x", "a/.Git/x"),
    ],
)
def test_no_other_place_is_written(repo: Repo, path: str) -> None:
    repo.write("a.py", "2\n")
    shown = Shown(repo, "a.py")
    for place in (FilePlace(str(repo.root), path), FilePlace(str(repo.root), "a.py", path)):
        found = put_back(shown.pair, place, shown.file.state_id, None, never)
        assert (found.paths, bool(found.fault)) == ((), True)


def test_a_tree_with_odd_names_gets_none_of_them(repo: Repo) -> None:
    data = b"[core]\n"
    (repo.root.parent / "blob").write_bytes(data)
    oid = repo.git("hash-object", "-w", "../blob").decode().strip()
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{oid},odd/config")
    tree = repo.git("write-tree").decode().strip()
    pair = pair_of(None, FolderState(str(repo.root), tree, {".GIT/config": ""}, is_whole=True))
    place = FilePlace(str(repo.root), ".GIT/config")
    assert put_back(pair, place, "gone", None, never) == FileIsBack((), IN_GIT)


def test_what_is_no_file(repo: Repo) -> None:
    (repo.root / "a.py").unlink()
    os.mkfifo(repo.root / "a.py")
    now = FolderState(str(repo.root), repo.look().head, {"a.py": ""}, is_whole=True)
    shown = put_back(pair_of(None, now), FilePlace(str(repo.root), "a.py"), "gone", None, never)
    assert shown.fault in (NO_FILE, OTHER, TAKEN)
    assert stat.S_ISFIFO((repo.root / "a.py").stat().st_mode)


def test_what_git_keeps_in_another_form(repo: Repo) -> None:
    repo.git("config", "filter.caps.clean", "tr a-z A-Z")
    repo.git("config", "filter.caps.smudge", "tr A-Z a-z; echo more")
    repo.write(".gitattributes", "*.caps filter=caps\n")
    repo.write("x.caps", "text\n")
    repo.commit()
    (repo.root / "x.caps").unlink()
    repo.git("checkout", "x.caps")
    repo.write("x.caps", "other\n")
    assert Shown(repo, "x.caps").back().fault == KEPT_OTHERWISE
    repo.git("add", "-A")
    assert Shown(repo, "x.caps").back().fault == KEPT_OTHERWISE


def test_ends_of_lines_as_git_wrote_them(repo: Repo) -> None:
    repo.write(".gitattributes", "*.bat text eol=crlf\n")
    file = repo.write("x.bat", b"a\r\nb\r\n")
    repo.commit()
    file.unlink()
    repo.git("checkout", "x.bat")
    assert file.read_bytes() == b"a\r\nb\r\n"
    repo.write("x.bat", b"a\r\nother\r\n")
    assert not Shown(repo, "x.bat").back().fault
    assert file.read_bytes() == b"a\r\nb\r\n"
    assert is_clean(repo)


def test_a_pointer_of_lfs_is_no_content(repo: Repo) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n"
    repo.write("x.bin", pointer)
    repo.commit()
    repo.write("x.bin", b"\0" * 99)
    assert Shown(repo, "x.bin").back().fault == FROM_LFS


def test_a_binary_file_has_no_hunks(repo: Repo) -> None:
    repo.write("a.py", b"\0\1")
    assert Shown(repo, "a.py").back(DiffHunk(1, 1, ["-a.py 1"])).fault == NOT_LINES


def test_a_folder_that_is_not_writable(repo: Repo) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    repo.write("src/c.py", "2\n")
    shown = Shown(repo, "src/c.py")
    (repo.root / "src").chmod(0o555)
    try:
        assert shown.back().fault.startswith("it cannot be written")
        assert (repo.root / "src/c.py").read_text() == "2\n"
    finally:
        (repo.root / "src").chmod(0o755)


# At the same moment


needs_leases = pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="needs Linux's leases")


def before_the_rename(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let something happen once, after the last look and before the file has its place."""
    rename, named = putting_back._rename, os.rename
    done: list[bool] = []

    def once() -> None:
        if not done:
            done.append(True)
            act()

    def by_system(*args: Any) -> bool:
        once()
        return rename(*args)

    def by_name(*args: Any, **places: Any) -> None:
        once()
        named(*args, **places)

    monkeypatch.setattr(putting_back, "_rename", by_system)
    monkeypatch.setattr(os, "rename", by_name)


def shown_of(repo: Repo, kind: str) -> tuple[Shown, Path]:
    path = "new.py" if kind == "added" else "a.py"
    file = repo.write(path, "shown\n")
    return Shown(repo, path), file


@pytest.mark.parametrize("kind", ["modified", "added"])
def test_what_is_saved_at_the_same_moment_stays(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    shown, file = shown_of(repo, kind)

    def save() -> None:
        (repo.root / "other").write_text("newer\n")
        (repo.root / "other").replace(file)

    before_the_rename(monkeypatch, save)
    assert shown.back() == FileIsBack((), OTHER)
    assert file.read_text() == "newer\n"
    assert not list(repo.root.glob(".tapui*"))


@needs_leases
@pytest.mark.parametrize("kind", ["modified", "added"])
def test_a_program_that_begins_to_write_at_the_same_moment_writes_into_the_file(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    shown, file = shown_of(repo, kind)
    inode = file.stat().st_ino

    def begin() -> None:
        with pytest.raises(BlockingIOError):  # it waits until the file is decided on
            os.open(file, os.O_WRONLY | os.O_NONBLOCK)

    before_the_rename(monkeypatch, begin)
    assert shown.back() == FileIsBack((), WRITTEN)
    assert (file.stat().st_ino, file.read_text()) == (inode, "shown\n")
    assert not list(repo.root.glob(".tapui*"))


@needs_leases
@pytest.mark.parametrize("kind", ["modified", "added"])
def test_a_file_that_is_open_to_be_written_is_left_alone(repo: Repo, kind: str) -> None:
    shown, file = shown_of(repo, kind)
    with file.open("a") as writer:
        assert shown.back() == FileIsBack((), WRITTEN)
        writer.write("more\n")
    assert file.read_text() == "shown\nmore\n"
    assert Shown(repo, file.name).back() == FileIsBack((file.name,))


def test_a_pipe_that_comes_at_the_same_moment_is_not_waited_for(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, file = shown_of(repo, "modified")

    def swap() -> None:
        file.unlink()
        os.mkfifo(file)

    before_the_rename(monkeypatch, swap)
    assert shown.back() == FileIsBack((), OTHER)
    assert stat.S_ISFIFO(file.stat().st_mode)


@pytest.mark.parametrize("kind", ["modified", "added"])
def test_a_file_system_without_such_renames(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(putting_back, "_rename", lambda *_args: False)
    shown, file = shown_of(repo, kind)
    assert not shown.back().fault
    assert is_clean(repo)
    if kind == "modified":
        file.unlink()
        assert not Shown(repo, "a.py").back().fault
        assert is_clean(repo)


def test_a_full_disk_leaves_the_file_as_it_is(repo: Repo) -> None:
    repo.write("a.py", "x" * 1_000_000)
    repo.commit()
    file = repo.write("a.py", "shown\n")
    shown = Shown(repo, "a.py")
    with files_of_at_most(100_000):
        fault = shown.back().fault
    assert fault.startswith("it cannot be written")
    assert file.read_text() == "shown\n"
    assert not list(repo.root.glob(".tapui*"))


def test_another_name_of_the_file_keeps_its_rights(repo: Repo, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (repo.root / "a.py").chmod(0o755)
    os.link(repo.root / "a.py", other)
    assert not Shown(repo, "a.py").back().fault
    assert is_clean(repo)
    assert other.stat().st_mode & 0o111


@pytest.mark.parametrize("is_hunk", [False, True])
def test_what_it_would_become_is_another_one_than_shown(repo: Repo, is_hunk: bool) -> None:
    """Compared with the newest commit, and then there is a newer one."""
    file = repo.write("a.py", "shown\n")
    shown = Shown(repo, "a.py")
    assert shown.file.old_state_id
    repo.write("a.py", "a.py 1\nand more\n" if is_hunk else "other\n")
    repo.commit()
    if not is_hunk:
        repo.git("rm", "-q", "--cached", "a.py")
        repo.git("commit", "-qm", "gone")
    file.write_text("shown\n")
    now = pair_of(None, repo.look())
    hunk = shown.hunks[0] if is_hunk else None
    found = put_back(now, shown.place, shown.file.state_id, hunk, never)
    assert found == FileIsBack((), OTHER_BEFORE)
    assert file.read_text() == "shown\n"


@pytest.mark.parametrize("is_dirty", [False, True])
def test_what_a_newer_state_has_as_it_is_is_not_changed(repo: Repo, is_dirty: bool) -> None:
    """Compared with how a turn found the folder, and then another turn has begun."""
    if is_dirty:
        repo.write("a.py", "dirty\n")
    first = repo.look()
    file = repo.write("a.py", "shown\n")
    shown = Shown(repo, "a.py", first)
    newer = repo.look()
    again = pair_of(newer, repo.look())
    for hunk in (None, shown.hunks[0] if shown.hunks else None):
        found = put_back(again, shown.place, shown.file.state_id, hunk, never)
        assert found == FileIsBack((), "it is not changed")
    assert compare((again,), shown.place, never).fault == "it is not changed"
    assert file.read_text() == "shown\n"


# State ids and notes


def test_a_state_is_named_by_content_and_mode(repo: Repo) -> None:
    repo.write("a.py", "2\n")
    first = Shown(repo, "a.py").file.state_id
    (repo.root / "a.py").chmod(0o755)
    second = Shown(repo, "a.py").file.state_id
    repo.write("a.py", "3\n").chmod(0o644)
    third = Shown(repo, "a.py").file.state_id
    repo.write("a.py", "2\n")
    assert Shown(repo, "a.py").file.state_id == first
    assert len({"", first, second, third}) == 4
    (repo.root / "a.py").unlink()
    assert Shown(repo, "a.py").file.state_id == "gone"


def note_on(repo: Repo, **fields: object) -> ChangeNote:
    kept = ChangeNote("n1", str(repo.root), "a.py", "t", "why?", told_at="t")
    return replace(kept, **fields)


def change(repo: Repo, note: ChangeNote) -> str:
    found = compare((pair_of(None, repo.look()),), None, never, (note,))
    return found.note_changes[0]


def test_a_told_note_is_ticked_once_its_line_is_another_one(repo: Repo) -> None:
    repo.write("a.py", "one\ntwo\nthree\n")
    note = note_on(repo, lines=LineRange(2, 2), quote="two")
    assert change(repo, note) == ""
    repo.write("a.py", "above\n" * 9 + "one\ntwo\nthree\n")
    assert change(repo, note) == ""
    repo.write("a.py", "one\n2\nthree\n")
    assert change(repo, note) == "changed"
    assert change(repo, note_on(repo, lines=LineRange(2, 2), quote="two", told_at="")) == ""
    (repo.root / "a.py").unlink()
    assert change(repo, note) == "gone"


def test_a_note_on_several_lines(repo: Repo) -> None:
    repo.write("a.py", "one\r\ntwo\r\nthree\r\n")
    note = note_on(repo, lines=LineRange(1, 2), quote="one\ntwo")
    assert change(repo, note) == ""
    repo.write("a.py", "one\nin between\ntwo\n")
    assert change(repo, note) == "changed"


def test_a_quote_that_was_cut(repo: Repo) -> None:
    long = "x" * 500
    repo.write("a.py", f"{long}\n")
    note = note_on(repo, lines=LineRange(1, 1), quote=long[: limits.MAX_NOTE_QUOTE])
    assert change(repo, note) == ""
    repo.write("a.py", f"y{long}\n")
    assert change(repo, note) == "changed"


@pytest.mark.parametrize(
    "where", [{}, {"lines": LineRange(1, 1), "side": "old", "quote": "a.py 1"}]
)
def test_a_note_on_a_file_or_on_what_was_removed(repo: Repo, where: dict[str, object]) -> None:
    repo.write("a.py", "2\n")
    note = note_on(repo, state_id=Shown(repo, "a.py").file.state_id, **where)
    assert change(repo, note) == ""
    repo.write("a.py", "3\n")
    assert change(repo, note) == "changed"
