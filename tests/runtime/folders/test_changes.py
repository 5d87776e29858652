"""What changes the state of a folder, and what does not: by content, not by time or commit."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.core.proof.folder_states import DELETED, TOO_LARGE, difference
from tapui.runtime.folders import work_tree
from tapui.runtime.folders.repository import find_repository, repository_at
from tests.rig.waiting import HUNG
from tests.runtime.folders.repositories import Repo, added, differing, sha


def rewrite(repo: Repo) -> None:
    """Do as a formatter that has nothing to change."""
    for path in ("a.py", "src/c.py"):
        file = repo.root / path
        text = file.read_text()
        file.unlink()
        file.write_text(text)


def keep_times(repo: Repo) -> None:
    """Write another content of the same size, and set the times as they were."""
    file = repo.root / "b.py"
    info = file.stat()
    file.write_text("b.py 2\n")
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))


SAME: dict[str, Callable[[Repo], object]] = {
    "touch": lambda repo: (repo.root / "a.py").touch(),
    "an old time": lambda repo: os.utime(repo.root / "a.py", ns=(5, 5)),
    "a formatter without effect": rewrite,
    "add": lambda repo: repo.git("add", "-A"),
    "commit": lambda repo: repo.git("commit", "-qam", "x"),
    "amend": lambda repo: repo.git("commit", "-qa", "--amend", "-m", "y"),
    "an empty commit": lambda repo: repo.git("commit", "-qm", "x", "--allow-empty"),
    "a new branch": lambda repo: repo.git("checkout", "-qb", "new"),
    "a soft reset": lambda repo: repo.git("reset", "-q", "--soft", "HEAD"),
    "stash and pop": lambda repo: (repo.git("stash", "-q"), repo.git("stash", "pop", "-q")),
    "there and back": lambda repo: (
        repo.git("stash", "-q"),
        repo.git("checkout", "-q", "other"),
        repo.git("checkout", "-q", "main"),
        repo.git("stash", "pop", "-q"),
    ),
    "an ignored file": lambda repo: repo.write("out.log", "x"),
    "repack": lambda repo: repo.git("repack", "-adq"),
    "packed refs": lambda repo: repo.git("pack-refs", "--all"),
    "an empty folder": lambda repo: (repo.root / "empty").mkdir(),
    "a pipe": lambda repo: os.mkfifo(repo.root / "pipe"),
    "an index without what is tracked": lambda repo: repo.git("rm", "-rqf", "--cached", "."),
    "the index removed": lambda repo: (repo.root / ".git/index").unlink(),
}
CHANGED: dict[str, Callable[[Repo], object]] = {
    "an edit": lambda repo: repo.write("b.py", "2\n"),
    "an edit of the same size": lambda repo: repo.write("b.py", "b.py 2\n"),
    "an edit that keeps the times": keep_times,
    "a new file": lambda repo: repo.write("new.py"),
    "a removal": lambda repo: (repo.root / "b.py").unlink(),
    "a program": lambda repo: (repo.root / "b.py").chmod(0o755),
    "a link in its place": lambda repo: (
        (repo.root / "b.py").unlink(),
        (repo.root / "b.py").symlink_to("a.py"),
    ),
    "a pipe in its place": lambda repo: (
        (repo.root / "b.py").unlink(),
        os.mkfifo(repo.root / "b.py"),
    ),
    "a folder in its place": lambda repo: (
        (repo.root / "b.py").unlink(),
        repo.write("b.py/inner.py"),
    ),
    "checkout": lambda repo: repo.git("checkout", "-qf", "other"),
    "a stash": lambda repo: repo.git("stash", "-q"),
    "a hard reset": lambda repo: repo.git("reset", "-q", "--hard"),
    "a merge": lambda repo: (
        repo.git("commit", "-qam", "x"),
        repo.git("merge", "-q", "-X", "theirs", "other"),
    ),
    "a rebase": lambda repo: (
        repo.git("commit", "-qam", "x"),
        repo.git("rebase", "-q", "-X", "ours", "other"),
    ),
    "a pull": lambda repo: (
        repo.git("commit", "-qam", "x"),
        repo.git("pull", "-q", "--no-rebase", "-X", "theirs", ".", "other"),
    ),
    "an edit that is committed": lambda repo: (
        repo.write("b.py", "2\n"),
        repo.git("commit", "-qam", "x"),
    ),
    "an edit that the index hides": lambda repo: (
        repo.git("update-index", "--assume-unchanged", "b.py"),
        repo.write("b.py", "2\n"),
    ),
    "a renamed folder": lambda repo: (repo.root / "src").rename(repo.root / "source"),
    "other patterns": lambda repo: repo.write(".gitignore", ""),
}


@pytest.mark.parametrize("name", SAME)
def test_what_has_no_effect_changes_nothing(edited: Repo, name: str) -> None:
    before = edited.look()
    SAME[name](edited)
    after = edited.look(before.head)
    assert after == before
    assert after.is_whole
    assert difference([before], [after]).verdict == "same"
    assert edited.forgetful().look(before.head, lambda: False).state == before


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_of_content_is_seen(edited: Repo, name: str) -> None:
    before = edited.look()
    CHANGED[name](edited)
    after = edited.look(before.head)
    assert after != before
    assert after.is_whole
    assert difference([before], [after]).verdict == "changed"


def test_files_have_the_hash_of_their_bytes(repo: Repo) -> None:
    repo.write("a.py", "edited\n")
    repo.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (repo.root / "b.py").unlink()
    (repo.root / "link").symlink_to("/etc/passwd")
    state = repo.look()
    assert state.root == str(repo.root)
    assert state.head.encode() in repo.git("rev-parse", "HEAD^{tree}")
    assert state.files == {
        "a.py": sha("edited\n"),
        "b.py": DELETED,
        "link": added("/etc/passwd", " link"),
        "run.sh": added("#!/bin/sh\n", " +x"),
    }


def test_a_state_has_the_same_hashes_before_the_first_commit(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("a.py", "1\n")
    before = repo.look()
    assert before.files == {"a.py": added("1\n")}
    repo.commit()
    assert repo.look(before.head) == before
    assert repo.look().files == {}


def test_a_write_in_the_tick_of_the_last_look_is_seen(repo: Repo) -> None:
    """Again and again, of one size: the clock of a file system has ticks of milliseconds."""
    repo.look()
    for number in range(100, 160):
        repo.write("a.py", f"{number}\n")
        assert repo.look().files == {"a.py": sha(f"{number}\n")}


def test_what_the_index_claims_later_is_not_believed(repo: Repo) -> None:
    """An agent can write the stat of its own edit into the index, beside the old content."""
    before = repo.look()
    oid = repo.git("rev-parse", "HEAD:a.py").decode().strip()
    repo.write("a.py", "a.py 2\n")
    os.utime(repo.root / "a.py", ns=(10**18, 10**18))
    repo.git("add", "a.py")
    data = (repo.root / ".git/index").read_bytes()
    staged = repo.git("rev-parse", ":a.py").decode().strip()
    forged = data.replace(bytes.fromhex(staged), bytes.fromhex(oid))[:-20]
    (repo.root / ".git/index").write_bytes(forged + bytes(20))
    assert repo.git("status", "--porcelain") == b""  # git is deceived
    after = repo.look(before.head)
    assert after.files == {"a.py": sha("a.py 2\n")}


def test_a_fresh_index_is_not_believed(repo: Repo) -> None:
    """A file that was written right after `git add`, with the same size and times."""
    repo.write("a.py", "1\n")
    repo.git("add", "a.py")
    info = (repo.root / "a.py").stat()
    repo.write("a.py", "2\n")
    os.utime(repo.root / "a.py", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert repo.look().files == {"a.py": sha("2\n")}


def settle(repo: Repo) -> None:
    """Let git refresh an index that is older than a tick: then its stats are believed."""
    for path in repo.root.rglob("*.*"):
        if ".git" not in path.parts and path.is_file():
            os.utime(path, ns=(10**18 + 7, 10**18 + 7))
    repo.git("update-index", "-q", "--refresh")


def test_the_first_look_reads_only_what_the_index_does_not_know(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(repo)
    repo.write("b.py", "2\n")
    read = []
    hashed = work_tree._bytes_of
    monkeypatch.setattr(
        work_tree, "_bytes_of", lambda path, stamp: read.append(path) or hashed(path, stamp)
    )
    assert repo.look().files == {"b.py": sha("2\n")}
    assert read == [os.fsencode(repo.root / "b.py")]


# Kinds of repositories


def test_a_worktree_is_a_root_of_its_own(repo: Repo) -> None:
    repo.git("worktree", "add", "-q", "inner", "-b", "inner")
    inner = Repo(repo.root / "inner", is_new=False)
    inner.write("a.py", "inner\n")
    looked = repo.looked()
    assert looked.inner == (os.fsencode(repo.root / "inner"),)
    assert looked.state.files == {}
    assert inner.look().files == {"a.py": sha("inner\n")}
    assert inner.look().root == str(inner.root)


def test_a_submodule_is_a_root_of_its_own(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.commit(x_py="1\n")
    repo.git("submodule", "-q", "add", str(other.root), "sub")
    repo.git("commit", "-qm", "sub")
    assert repo.looked().inner == (os.fsencode(repo.root / "sub"),)
    assert repo.look().files == {}
    sub = Repo(repo.root / "sub", is_new=False)
    sub.write("x.py", "2\n")
    assert sub.look().files == {"x.py": sha("2\n")}
    assert repo.look().files == {}


def test_a_submodule_that_is_not_checked_out_is_nothing(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.commit(x_py="1\n")
    repo.git("submodule", "-q", "add", str(other.root), "sub")
    repo.git("commit", "-qm", "sub")
    repo.git("submodule", "-q", "deinit", "-f", "sub")
    looked = repo.looked()
    assert looked.state.files == {}
    assert looked.inner == ()


@pytest.mark.parametrize("tracked", [False, True])
def test_a_repository_within_hides_no_tracked_file(repo: Repo, tracked: bool) -> None:
    inner = repo.root / ("src" if tracked else "new")
    Repo(inner)
    repo.write(f"{inner.name}/c.py", "2\n")
    looked = repo.looked()
    if tracked:
        assert looked.state.files == {"src/c.py": sha("2\n")}
    else:
        assert looked.inner == (os.fsencode(inner),)
        assert looked.state.files == {}


def test_a_folder_below_a_root_finds_it(repo: Repo) -> None:
    found = find_repository(os.fsencode(repo.root / "src/deep"))
    assert found is not None
    assert found.root == os.fsencode(repo.root)
    assert find_repository(os.fsencode(repo.root.parent)) is None


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("kind", ["whole", "split"])
def test_every_kind_of_index_is_read(repo: Repo, version: str, kind: str) -> None:
    for number in range(40):
        repo.write(f"many/{number:03}.py", "x" * number)
    repo.commit()
    repo.git("update-index", "--index-version", version)
    if kind == "split":
        repo.git("update-index", "--split-index")
    repo.git("update-index", "--refresh", check=False)
    repo.write("many/003.py", "else")
    repo.write("many/new.log", "new")
    repo.write(".gitignore", "*.log")
    repo.git("add", "-f", "many/003.py", "many/new.log", ".gitignore")
    repo.git("rm", "-q", "many/004.py")
    repo.git("add", "-N", "many/005.py")
    if kind == "split":
        assert list((repo.root / ".git").glob("sharedindex.*"))
    state = repo.look()
    assert state.is_whole, state.why
    tree = repo.tree("HEAD")
    assert state.files.keys() == differing(tree, repo.contents(tree)) == repo.status()
    settle(repo)
    assert repo.forgetful().look("", lambda: False).state == state


def test_a_long_name_and_flags_are_read(repo: Repo) -> None:
    long = "/".join(["n" * 250] * 9) + "/" + "n" * 240 + "/" + "m" * 10 + ".py"
    repo.commit(x_py="1")
    folder = repo.root
    folder_fd = os.open(folder, os.O_RDONLY)
    for part in long.split("/")[:-1]:
        os.mkdir(part, dir_fd=folder_fd)
        inner = os.open(part, os.O_RDONLY, dir_fd=folder_fd)
        os.close(folder_fd)
        folder_fd = inner
    os.close(folder_fd)
    repo.write(long, "1\n")
    repo.git("add", "-N", long)
    assert repo.look().files == {long: added("1\n")}
    repo.commit()
    assert repo.look().files == {}


@pytest.mark.parametrize("sparse_index", ["false", "true"])
def test_what_is_not_checked_out_is_not_deleted(repo: Repo, sparse_index: str) -> None:
    repo.commit(other__x_py="1\n")
    repo.git("config", "index.sparse", sparse_index)
    repo.git("sparse-checkout", "set", "--cone", "other")
    assert not (repo.root / "src").exists()
    state = repo.look()
    assert state.is_whole, state.why
    assert state.files == {}
    repo.write("src/c.py", "2\n")
    assert repo.look().files == {"src/c.py": sha("2\n")}


def test_names_of_sha256_are_read(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo", "--object-format=sha256")
    repo.commit(a_py="1\n", src__b_py="1\n")
    before = repo.look()
    assert len(before.head) == 64
    assert before.files == {}
    repo.write("a.py", "2\n")
    assert repo.look().files == {"a.py": sha("2\n")}
    repo.git("commit", "-qam", "x")
    assert repo.look(before.head).files == {"a.py": sha("2\n")}


def test_objects_of_another_store_are_read(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--shared", ".", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", is_new=False)
    clone.write("a.py", "2\n")
    assert clone.look().files == {"a.py": sha("2\n")}


def test_a_partial_clone_without_contents_is_read(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{repo.root}"
    repo.git("clone", "-q", "--filter=blob:none", "--no-checkout", url, str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", is_new=False)
    clone.write("a.py", "2\n")
    state = clone.look()
    assert state.is_whole, state.why
    assert state.files["a.py"] == sha("2\n")
    assert state.files["b.py"] == DELETED


def test_a_shallow_clone_and_a_detached_head_are_read(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a_py="2\n")
    url = f"file://{repo.root}"
    repo.git("clone", "-q", "--depth=1", url, str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", is_new=False)
    clone.git("checkout", "-q", "--detach")
    clone.write("a.py", "3\n")
    assert clone.look().files == {"a.py": sha("3\n")}


# Filters, without running one


def test_ends_of_lines_that_git_converts_are_no_change(repo: Repo) -> None:
    repo.write(".gitattributes", "*.bat eol=crlf\n")
    repo.write("x.bat", "one\r\ntwo\r\n")
    repo.commit()
    settle(repo)
    before = repo.look()
    assert before.files == {}
    os.utime(repo.root / "x.bat")
    assert repo.look(before.head).files == {}
    assert repo.forgetful().look("", lambda: False).state.files == {}
    repo.write("x.bat", "one\r\nsix\r\n")
    assert repo.look(before.head).files == {"x.bat": sha("one\r\nsix\r\n")}


def test_other_ends_of_lines_are_a_change_where_git_converts_none(repo: Repo) -> None:
    before = repo.look()
    repo.write("a.py", "a.py 1\r\n")
    assert repo.look(before.head).files == {"a.py": sha("a.py 1\r\n")}


def test_a_file_of_lfs_is_compared_with_its_pointer(repo: Repo) -> None:
    data = "large\n" * 1000
    repo.write(
        "big.bin",
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha(data)}\nsize {len(data)}\n",
    )
    repo.commit()
    repo.write("big.bin", data)
    assert repo.look().files == {}
    repo.write("big.bin", data + "more")
    assert repo.look().files == {"big.bin": sha(data + "more")}


# Names, packages, time


def test_names_of_any_bytes_are_told_apart(repo: Repo) -> None:
    root = os.fsencode(repo.root)
    for name in (b"caf\xe9.py", b"caf\\xe9.py", b"two\nlines.py", "é.py".encode()):
        Path(os.fsdecode(root + b"/" + name)).write_bytes(name)
    files = repo.look().files
    assert files.keys() == {"//caf\\xe9.py", "caf\\xe9.py", "two\nlines.py", "é.py"}
    assert files.keys() == repo.status()


def test_packages_are_the_folders_with_a_manifest(repo: Repo) -> None:
    repo.write(".gitignore", "node_modules/\n")
    for path in ("package.json", "a/package.json", "a/b/Cargo.toml", "node_modules/x/package.json"):
        repo.write(path, "{}")
    assert repo.look().packages == ("a", "a/b")


def test_a_look_without_time_answers_with_what_it_has(repo: Repo) -> None:
    repo.write("a.py", "2\n")
    ended = repo.forgetful()
    late = ended.look("", lambda: True).state
    assert not late.is_whole
    assert late.why == TOO_LARGE
    assert ended.look("", lambda: False).state == repo.look()
    again = ended.look("", lambda: True).state
    assert not again.is_whole
    assert difference([repo.look()], [again]).verdict == "unknown"


def test_each_look_reads_on_where_the_last_one_ended(repo: Repo) -> None:
    for number in range(50):
        repo.write(f"new/{number}.py", f"{number}\n")
    tree = repo.forgetful()
    whole = repo.look()
    end = time.monotonic() + HUNG
    while time.monotonic() < end:  # what was written a moment ago is read again each time
        left = iter(range(8))
        state = tree.look("", lambda: next(left, None) is None).state  # noqa: B023
        if state.is_whole:
            break
        assert state.files.items() <= whole.files.items()
    assert state == whole


def test_a_large_file_is_not_read(repo: Repo) -> None:
    before = repo.look()
    with (repo.root / "huge.bin").open("wb") as file:
        file.truncate(5 * 1024**3)
    state = repo.look(before.head)
    assert state.files["huge.bin"].startswith("?5368709120 ")
    assert difference([before], [state]).verdict == "unknown"
    assert difference([state], [repo.look(before.head)]).verdict == "same"
    os.utime(repo.root / "huge.bin")
    assert difference([state], [repo.look(before.head)]).verdict == "unknown"


def test_a_tree_that_is_gone_is_told(repo: Repo) -> None:
    state = repo.look("1" * 40)
    assert not state.is_whole
    assert "1111111111" in state.why
    assert repository_at(os.fsencode(repo.root)) is not None
