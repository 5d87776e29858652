"""Patterns of ignored files, with git as the oracle."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.runtime.folders.repositories import Repo

FILES = [
    *("a", "b", "ab", "a.b", "d/a", "d/b", "d/ab", "d/e/a", "d/e/b.b", "d/e/f/a", "e/a", "e/d/b"),
    *("A", "#a", "!a", " a", "a ", "[a]", "a*", r"\a", "a-", "é", "d/.a", ".a/b", "b/.git0/a"),
]
FILES = [path for path in FILES if path not in ("b", "a")] + ["b.a", "a0"]

PIECES = [
    *("a", "b", "d", "e", ".", "/", "*", "**", "?", "[ab]", "[!a]", "[a-c]", "[^a]", "[[:alpha:]]"),
    *("**/", "/**", "d/", "!", "#", "\\", "\\*", "\\!", "\\ ", " ", "[", "]", "[]a]", "-", "é"),
]

pieces = st.sampled_from(PIECES)
patterns = st.lists(pieces, min_size=1, max_size=5).map("".join)
texts = st.lists(patterns, max_size=5).map("\n".join)


@settings(max_examples=120)
@given(texts, texts, texts)
@example("*\n!*/\n!*.b", "", "")
@example("d/*\n!d/e", "b", "")
@example("d/\n!d/e/a", "!a", "")
@example("\ufeffab", "a.b \n", "d/ab\r\n")
@example("/d/**\n!/d/e/\n!/d/e/f/**", "", "*.b")
@example("d/**/a", "", "**/e")
@example("**//", "e//", "b//")
@example("", "", "a**/b")
@example("!d**/a\n***/b", "**a/**", "d/**e/a\n***")
@example("a\\ \n\\ a\n\\#a\n\\!a", "", "")
def test_what_is_ignored_is_as_git_has_it(top: str, inner: str, excluded: str) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        repo = Repo(folder / "repo")
        for path in FILES:
            repo.write(path)
        repo.write(".gitignore", top)
        repo.write("d/.gitignore", inner)
        repo.write(".git/info/exclude", excluded)
        listed = repo.git("ls-files", "-zo", "--exclude-standard").split(b"\0")[:-1]
        assert repo.look().files.keys() == {os.fsdecode(path) for path in listed}
    finally:
        shutil.rmtree(folder)


def test_a_file_of_patterns_that_changes_is_read_again(repo: Repo) -> None:
    repo.write("x.log")
    repo.write("src/x.log")
    assert repo.look().files.keys() == {"x.log", "src/x.log"}
    repo.write("src/.gitignore", "*.log\n")
    assert repo.look().files.keys() == {"x.log", "src/.gitignore"}
    repo.write("src/.gitignore", "*.lok\n")
    assert repo.look().files.keys() == {"x.log", "src/x.log", "src/.gitignore"}
    repo.write(".gitignore", "*.log\n")
    assert repo.look().files.keys() == {".gitignore", "src/.gitignore"}
    (repo.root / ".gitignore").unlink()
    assert repo.look().files.keys() == repo.status()


@pytest.mark.parametrize("kind", ["tracked", "forced"])
def test_what_is_tracked_is_not_ignored(repo: Repo, kind: str) -> None:
    repo.write(".gitignore", "*.py\nsrc/\n")
    if kind == "tracked":
        repo.write("src/c.py", "edited\n")
    else:
        repo.write("src/new.py", "new\n")
        repo.git("add", "-f", "src/new.py")
    repo.write("src/other.py", "other\n")
    repo.write("other.py", "other\n")
    assert repo.look().files.keys() == repo.status()
    assert len(repo.look().files) == 2
