"""Random edits, commits, checkouts, stashes and ignores, with git as the oracle.

After each step the state must be equal to the one before exactly where all contents that count are
equal; it must name what differs from its tree, and a reader without memory must find the same.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.folders.repositories import Repo, differing

PATHS = ["a.py", "b.log", "src/a.py", "src/b.log", "src/deep/c.py", "build/x.o", "src/build/y.py"]
TEXTS = ["one\n", "two\n", "one\r\n", "a longer text\n", ""]
PATTERNS = [
    *("*.log", "!b.log", "build/", "/src/*", "!/src/a.py", "src/**/c.py", "**/build", "build/*"),
    *("/a.py", "s?c/", "[ab].*", "!build/", "deep", "src/deep/", "*", "!*/", r"\*.log", "#x", "!"),
]

paths = st.sampled_from(PATHS)
texts = st.sampled_from(TEXTS)
patterns = st.lists(st.sampled_from(PATTERNS), max_size=3)
ignore_files = st.sampled_from([".gitignore", "src/.gitignore"])
steps = st.one_of(
    st.tuples(st.just("write"), paths, texts),
    st.tuples(st.just("write"), paths, texts),
    st.tuples(st.just("remove"), paths),
    st.tuples(st.just("touch"), paths),
    st.tuples(st.just("old"), paths),
    st.tuples(st.just("program"), paths),
    st.tuples(st.just("link"), paths, paths),
    st.tuples(st.just("folder"), paths),
    st.tuples(st.just("ignore"), ignore_files, patterns),
    st.tuples(st.just("force"), paths),
    st.tuples(
        st.just("git"),
        st.sampled_from(
            [
                ("add", "-A"),
                ("commit", "-qam", "x"),
                ("commit", "-qm", "x", "--allow-empty"),
                ("commit", "-q", "--amend", "-m", "y"),
                ("stash", "-q"),
                ("stash", "-qu"),
                ("stash", "pop", "-q"),
                ("checkout", "-q", "main"),
                ("checkout", "-q", "-B", "other"),
                ("checkout", "-qf", "HEAD~1"),
                ("reset", "-q", "--hard"),
                ("reset", "-q"),
                ("rm", "-q", "--cached", "-r", "."),
                ("update-index", "--index-version", "4"),
                ("update-index", "--split-index"),
                ("update-index", "--no-split-index"),
                ("repack", "-adq"),
                ("pack-refs", "--all"),
                ("mv", "-k", "src", "moved"),
            ]
        ),
    ),
)


@contextmanager
def a_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def take(repo: Repo, step: tuple) -> None:
    """Do a step as far as it is possible."""
    kind, *rest = step
    if kind == "git":
        repo.git(*rest[0], check=False)
        return
    file = repo.root / rest[0]
    try:
        match kind:
            case "write":
                if file.is_symlink():
                    file.unlink()
                repo.write(rest[0], rest[1])
            case "remove":
                file.unlink()
            case "touch":
                os.utime(file, follow_symlinks=False)
            case "old":
                os.utime(file, ns=(1, 1), follow_symlinks=False)
            case "program":
                file.chmod(file.stat().st_mode ^ 0o100)
            case "link":
                file.unlink(missing_ok=True)
                file.symlink_to(rest[1])
            case "folder":
                file.unlink(missing_ok=True)
                repo.write(f"{rest[0]}/inner.py", "inner\n")
            case "ignore":
                repo.write(rest[0], "".join(f"{line}\n" for line in rest[1]))
            case "force":
                repo.git("add", "-f", rest[0], check=False)
    except OSError:
        pass  # not there, or a folder


@settings(max_examples=30)
@given(patterns, st.lists(steps, min_size=4, max_size=14))
def test_states_are_equal_where_contents_are(excluded: list[str], taken: list[tuple]) -> None:
    with a_home() as folder:  # a fixture would be the same for all examples
        repo = Repo(folder / "repo")
        # Written before the first look: what is written there later hides nothing.
        take(repo, ("ignore", ".git/info/exclude", excluded))
        for path in PATHS[:5]:
            repo.write(path, "one\n")
        repo.commit()
        before = repo.look()
        base = before.head
        tree = repo.tree(base)
        contents = repo.contents(tree)
        assert before.files == {}
        for step in taken:
            take(repo, step)
            after, now = repo.look(base), repo.contents(tree)
            assert after.is_whole, after.why
            assert (after == before) == (now == contents), step
            assert after.files.keys() == differing(tree, now)
            assert repo.forgetful().look(base, lambda: False).state == after
            if repo.git("rev-parse", "-q", "--verify", "HEAD", check=False):
                head = repo.look()
                newest = repo.tree("HEAD")
                assert head.files.keys() == differing(newest, repo.contents(newest))
                # Git itself is deceived by a time that is set back within the same second.
                assert repo.status() <= head.files.keys()
            before, contents = after, now
