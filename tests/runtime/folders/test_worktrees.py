"""Work trees for sessions: what git makes of them, that no program starts, and what is kept."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tapui.runtime.folders import worktrees
from tapui.runtime.folders.git_folders import RepositoryError
from tapui.runtime.folders.worktrees import WorktreeError, add, check, remove
from tests.runtime.folders.repositories import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "app")
    repo.write("src/app.py", "one\n")
    (repo.root / "run.sh").write_text("#!/bin/sh\n")
    (repo.root / "run.sh").chmod(0o755)
    (repo.root / "link").symlink_to("src/app.py")
    repo.write(".gitignore", "build/\n")
    repo.git("add", ".")
    repo.git("commit", "-qm", "first")
    return repo


def added(repo: Repo, branch: str = "pairing") -> Repo:
    place = Path(os.fsdecode(add(os.fsencode(repo.root), branch)))
    return Repo(place, is_new=False)


def refused(act: object, *args: object) -> str:
    with pytest.raises((WorktreeError, RepositoryError)) as caught:
        act(*args)  # type: ignore[operator]
    return str(caught.value)


def test_git_sees_a_clean_work_tree_with_the_new_branch(repo: Repo) -> None:
    tree = added(repo, "feature/pairing")
    assert tree.root == repo.root.parent / "app.worktrees" / "feature-pairing"
    assert tree.git("status", "--porcelain=v2", "--branch").splitlines()[1] == (
        b"# branch.head feature/pairing"
    )
    assert tree.git("status", "--porcelain") == b""
    assert tree.git("rev-parse", "HEAD") == repo.git("rev-parse", "HEAD")
    assert (tree.root / "link").is_symlink()
    assert os.access(tree.root / "run.sh", os.X_OK)
    assert b"feature/pairing" in repo.git("worktree", "list")
    assert repo.git("fsck", "--strict", check=True) is not None
    tree.write("new.py", "x")
    tree.git("add", ".")
    tree.git("commit", "-qm", "second")
    assert repo.git("log", "--format=%s", "feature/pairing").split() == [b"second", b"first"]


def test_one_is_made_from_a_folder_within_and_from_another_work_tree(repo: Repo) -> None:
    within = add(os.fsencode(repo.root / "src"), "a")
    second = add(within, "b")
    assert os.path.dirname(within) == os.path.dirname(second)  # noqa: PTH120 - bytes
    assert repo.git("worktree", "list").count(b"\n") == 3


def test_no_program_of_the_repository_starts(repo: Repo, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    command = f"touch {trap}; cat"
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"):
        hook = repo.root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{command}\n")
        hook.chmod(0o755)
    for key in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "core.sshCommand"):
        repo.git("config", key, command)
    repo.git("config", "filter.evil.required", "true")
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/attributes").write_text("* filter=evil\n")
    place = add(os.fsencode(repo.root), "pairing")
    assert (Path(os.fsdecode(place)) / "src/app.py").read_text() == "one\n"
    assert check(place)[0] == place
    remove(place)
    assert not trap.exists()


def test_what_is_clean_is_removed_and_its_branch_stays(repo: Repo) -> None:
    tree = added(repo)
    tree.write("new.py", "x")
    tree.git("add", ".")
    tree.git("commit", "-qm", "second")
    for name in ("__pycache__/app.pyc", "src/__pycache__/app.pyc", "build/env/pyvenv.cfg"):
        tree.write(name, "made again")
    tree.write(".gitignore", "build/\n__pycache__/\n")
    tree.git("add", ".")
    tree.git("commit", "-qm", "third")
    remove(os.fsencode(tree.root))
    assert not tree.root.exists()
    assert not tree.root.parent.exists()
    assert repo.git("log", "--format=%s", "pairing").split() == [b"third", b"second", b"first"]
    assert repo.git("worktree", "list").count(b"\n") == 1


@pytest.fixture
def ignoring(repo: Repo) -> Repo:
    """Return a work tree in which git ignores some files."""
    tree = added(repo)
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/exclude").write_text(".env\nnotes/\nnode_modules/\n*.log\n")
    tree.write(".env", "KEY=1\n")
    tree.write("src/a.log", "12345")
    tree.write("notes/deep/b", "1")
    tree.write("notes/a", "1")
    tree.write("node_modules/x/index.js", "1")
    tree.write("build/out", "1")
    return tree


def test_what_git_ignores_goes_only_with_its_seal(ignoring: Repo) -> None:
    place = os.fsencode(ignoring.root)
    ignored = check(place)[1]
    assert ignored[:3] == (5, 14, [".env", "build/", "notes/", "src/a.log"])
    why = "files that git ignores are in it: .env, build/, notes/, src/a.log, 1 more"
    assert refused(remove, place) == why
    ignoring.write("notes/later", "1")
    assert refused(remove, place, ignored.seal).startswith("files that git ignores are in it")
    assert (ignoring.root / "notes/later").exists()
    seal = check(place)[1].seal
    ignoring.write("src/a.log", "it grows")
    remove(place, seal)
    assert not ignoring.root.exists()


def test_an_ignored_file_that_comes_while_it_is_removed_stays(
    ignoring: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = os.fsencode(ignoring.root)
    seal, rename = check(place)[1].seal, os.rename

    def late(source: bytes, target: bytes) -> None:
        ignoring.write("notes/late", "work")
        rename(source, target)
        monkeypatch.setattr(os, "rename", rename)

    monkeypatch.setattr(os, "rename", late)
    assert "files that git ignores" in refused(remove, place, seal)
    assert (ignoring.root / "notes/late").read_text() == "work"


def test_a_repository_where_programs_write_is_named(ignoring: Repo) -> None:
    Repo(ignoring.root / "node_modules/own").commit(a="1")
    ignored = check(os.fsencode(ignoring.root))[1]
    assert "node_modules/" in ignored.names


def test_an_ignored_link_is_not_followed(ignoring: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("1")
    (ignoring.root / "notes/link").symlink_to(tmp_path / "outside")
    place = os.fsencode(ignoring.root)
    ignored = check(place)[1]
    assert ignored.files == 6
    remove(place, ignored.seal)
    assert (tmp_path / "outside/file").exists()


def test_uncommitted_work_is_never_removed(repo: Repo) -> None:
    tree = added(repo)
    place = os.fsencode(tree.root)

    def refuses(words: str) -> None:
        assert words in refused(remove, place)
        assert tree.root.exists()
        assert tree.git("worktree", "list").count(b"\n") == 2

    tree.write("untracked", "x")
    refuses("work that is not committed: untracked")
    (tree.root / "untracked").unlink()
    tree.write("src/app.py", "two\n")
    refuses("work that is not committed: src/app.py")
    tree.git("add", ".")
    tree.write("src/app.py", "one\n")
    refuses("something is staged in it")
    tree.git("reset", "-q", "--hard")
    tree.write("src/app.py", "TWO\n")
    tree.git("update-index", "--assume-unchanged", "src/app.py")
    assert tree.git("status", "--porcelain") == b""
    refuses("work that is not committed: src/app.py")
    tree.git("update-index", "--no-assume-unchanged", "src/app.py")
    tree.git("reset", "-q", "--hard")
    tree.git("checkout", "-q", "--detach")
    refuses("no branch is checked out in it")
    tree.git("checkout", "-q", "pairing")
    tree.git("update-ref", "MERGE_HEAD", "HEAD")
    refuses("a merge or rebase is under way in it")
    tree.git("update-ref", "-d", "MERGE_HEAD")
    tree.git("worktree", "lock", str(tree.root))
    refuses("it is locked")
    tree.git("worktree", "unlock", str(tree.root))
    lock = repo.root / ".git/worktrees/pairing/index.lock"
    lock.touch()
    refuses("git is at work in it")
    lock.unlink()
    Repo(tree.root / "inner").commit(a="1")
    refuses("other repositories are in it")


def test_what_is_written_while_it_is_removed_stays(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = added(repo)
    rename = os.rename

    def late(source: bytes, target: bytes) -> None:
        tree.write("late", "work")
        rename(source, target)
        monkeypatch.setattr(os, "rename", rename)

    monkeypatch.setattr(os, "rename", late)
    assert "late" in refused(remove, os.fsencode(tree.root))
    assert (tree.root / "late").read_text() == "work"
    assert b"late" in tree.git("status", "--porcelain")


def test_only_what_tapui_has_made_is_removed(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "own", str(tmp_path / "own"))
    assert refused(remove, os.fsencode(tmp_path / "own")) == "tapui has not made it"
    no_tree = "it is no work tree beside a repository"
    assert refused(remove, os.fsencode(repo.root)) == no_tree
    assert refused(remove, os.fsencode(tmp_path)) == no_tree
    tree = added(repo)
    (tmp_path / "thief").mkdir()
    (tmp_path / "thief/.git").write_text((tree.root / ".git").read_text())
    assert refused(remove, os.fsencode(tmp_path / "thief")) == "tapui has not made it"
    assert tree.root.exists()


NO_BRANCHES = [
    *("", "-f", "a b", "a..b", "../x", "/x", "x/", "x.lock", "a\nb", ".x", "a" * 201, "@{"),
    *("HEAD", "@", "a\x1b[2J", "a\u202eb", "a/.git", "git~1", "a:b", "a\\b", "a*"),
]


def test_what_is_no_name_of_a_branch(repo: Repo) -> None:
    for branch in NO_BRANCHES:
        why = refused(add, os.fsencode(repo.root), branch)
        assert "is no name of a branch" in why, branch


def test_what_is_there_already_stays_as_it_is(repo: Repo, tmp_path: Path) -> None:
    repo.git("branch", "there")
    assert refused(add, os.fsencode(repo.root), "there") == "the branch there is there already"
    (tmp_path / "app.worktrees/x").mkdir(parents=True)
    assert "is there already" in refused(add, os.fsencode(repo.root), "x")
    assert list((tmp_path / "app.worktrees").iterdir()) == [tmp_path / "app.worktrees/x"]
    repo.git("pack-refs", "--all")
    assert refused(add, os.fsencode(repo.root), "there") == "the branch there is there already"


@pytest.mark.parametrize(("there", "branch"), [("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b")])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_branch_whose_name_is_a_folder_of_another(
    repo: Repo, there: str, branch: str, is_packed: bool
) -> None:
    repo.git("branch", there)
    if is_packed:
        repo.git("pack-refs", "--all")
    why = f"the branch {there} is in its way"
    assert refused(add, os.fsencode(repo.root), branch) == why
    assert not (repo.root.parent / "app.worktrees").exists()
    assert repo.git("fsck") is not None


def test_a_submodule_has_its_work_trees_beside_itself(repo: Repo, tmp_path: Path) -> None:
    inner = Repo(tmp_path / "inner")
    inner.commit(x_py="1")
    repo.git("submodule", "add", "-q", str(inner.root), "sub")
    repo.commit()
    for number, folder in enumerate(("sub", "sub.worktrees/n0")):
        place = add(os.fsencode(repo.root / folder), f"n{number}")
        assert place == os.fsencode(repo.root / f"sub.worktrees/n{number}")
        assert Repo(Path(os.fsdecode(place)), is_new=False).git("status", "--porcelain") == b""
        check(place)


def test_links_around_the_repository(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "app.worktrees").symlink_to(tmp_path / "disk")
    place = add(os.fsencode(repo.root), "x")
    assert place == os.fsencode(tmp_path / "disk/x")
    remove(place)
    (repo.root / ".git/worktrees").rmdir()
    (repo.root / ".git/worktrees").symlink_to(tmp_path / "disk")
    assert "is a link" in refused(add, os.fsencode(repo.root), "y")
    assert not (tmp_path / "disk/y").exists()


def test_names_that_are_no_text(repo: Repo) -> None:
    name = repo.root / os.fsdecode(b"caf\xe9 \x1b[2J\n")
    name.write_bytes(b"1")
    repo.git("add", ".")
    repo.git("commit", "-qm", "second")
    tree = added(repo)
    assert tree.git("status", "--porcelain") == b""
    remove(os.fsencode(tree.root))


def test_folders_without_a_repository_or_a_commit(tmp_path: Path) -> None:
    assert refused(add, os.fsencode(tmp_path), "x") == "the folder is in no git repository"
    empty = Repo(tmp_path / "empty")
    assert refused(add, os.fsencode(empty.root), "x") == "the repository has no commit yet"


def _tree(repo: Repo, *entries: tuple[str, str, str]) -> str:
    """Write a tree as it is given, also one that git would not write; return its name."""
    data = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries
    )
    ran = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        cwd=repo.root, input=data, capture_output=True, check=True,
    )  # fmt: skip
    return ran.stdout.decode().strip()


NO_NAMES = [
    *("..", ".git", ".GIT", "git~1", "x/../../y", ".git ", ".g\u200cit"),
    ".git::$INDEX_ALLOCATION",
]


def test_a_tree_with_names_that_may_not_be(repo: Repo) -> None:
    blob = repo.git("rev-parse", "HEAD:src/app.py").decode().strip()
    for name in NO_NAMES:
        tree = _tree(repo, ("100644", name, blob))
        commit = repo.git("commit-tree", tree, "-m", "evil").decode().strip()
        repo.git("update-ref", "refs/heads/main", commit)
        refused(add, os.fsencode(repo.root), "x")
        assert not (repo.root.parent / "app.worktrees/x").exists(), name
        assert not (repo.root / ".git/worktrees/x").exists(), name


@pytest.mark.parametrize("inner_mode", ["100644", "120000"])
def test_a_tree_that_leads_through_a_link_of_its_own(
    repo: Repo, tmp_path: Path, inner_mode: str
) -> None:
    (tmp_path / "outside").mkdir()
    repo.write("target", str(tmp_path / "outside"))
    target = repo.git("hash-object", "-w", "target").decode().strip()
    inner = _tree(repo, (inner_mode, "stolen", target))
    tree = _tree(repo, ("120000", "a", target), ("40000", "a", inner))
    commit = repo.git("commit-tree", tree, "-m", "evil").decode().strip()
    repo.git("update-ref", "refs/heads/main", commit)
    with pytest.raises(OSError, match="exists"):
        add(os.fsencode(repo.root), "x")
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (tmp_path / "app.worktrees/x").exists()


def test_what_is_too_large_is_broken_off_and_leaves_nothing(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktrees, "MAX_BYTES", 3)
    assert "larger than" in refused(add, os.fsencode(repo.root), "x")
    assert not (repo.root.parent / "app.worktrees/x").exists()
    assert repo.git("branch", "--list", "x") == b""


def test_the_program_answers_in_one_line(repo: Repo) -> None:
    def run(*args: str) -> dict[str, Any]:
        command = [sys.executable, "-P", "-m", "tapui.runtime.folders.worktrees", *args]
        ran = subprocess.run(command, cwd="/", capture_output=True, check=False)
        answer: dict[str, Any] = json.loads(ran.stdout)
        assert ran.returncode == ("fault" in answer)
        return answer

    place = run("add", str(repo.root), "x")["folder"]
    none = {"files": 0, "size": 0, "names": [], "seal": ""}
    assert run("check", place) == {"folder": place, "ignored": none}
    (Path(place) / "new").write_text("x")
    fault = "it has work that is not committed: new"
    assert run("check", place) == {"folder": place, "fault": fault}
    (Path(place) / "new").unlink()
    assert run("remove", place, "") == {"folder": place}
    assert "no work tree" in run("remove", str(repo.root), "")["fault"]
    assert "FOLDER" in run("what")["fault"]
