"""Repositories made by git, and what git says of them."""

import hashlib
import os
import subprocess
from pathlib import Path

from tapui.core.proof.folder_states import ADDED, FolderState
from tapui.runtime.folders.repository import find_repository
from tapui.runtime.folders.work_tree import WorkTree, WorkTreeLook, path_bytes, path_text

Contents = dict[str, tuple[int, str]]
"""Mode and object of each path."""

NAMED = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}


class Repo:
    """A repository at `root`, and the reader's memory of it."""

    def __init__(self, root: Path, *init: str, is_new: bool = True) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        if is_new:
            self.git("init", "-q", "-b", "main", *init)
        self._tree: WorkTree | None = None

    def git(self, *args: str, check: bool = True, **environ: str) -> bytes:
        environment = {**os.environ, **NAMED, **environ}
        command = ["git", "-c", "protocol.file.allow=always", "-c", "gc.auto=0", *args]
        ran = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, check=False
        )
        if check and ran.returncode:
            raise AssertionError((args, ran.stderr))
        return ran.stdout

    def write(self, path: str, text: str | bytes = "") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def commit(self, **files: str) -> None:
        for path, text in files.items():
            self.write(path.replace("__", "/").replace("_", "."), text)
        self.git("add", "-A")
        self.git("commit", "-qm", "x", "--allow-empty")

    def look(self, base: str = "") -> FolderState:
        """Look again, with what is remembered."""
        return self.looked(base).state

    def looked(self, base: str = "") -> WorkTreeLook:
        if self._tree is None:
            self._tree = self.forgetful()
        return self._tree.look(base, lambda: False)

    def forgetful(self) -> WorkTree:
        """Return a reader that remembers nothing."""
        found = find_repository(os.fsencode(self.root))
        assert found is not None
        return WorkTree(found)

    def forget(self) -> None:
        self._tree = None

    # What git says

    def tree(self, base: str) -> Contents:
        """Return mode and object of all that a tree has."""
        found = {}
        for line in self.git("ls-tree", "-rz", base).split(b"\0")[:-1]:
            info, _, path = line.partition(b"\t")
            mode, _, oid = info.split()
            found[path_text(path)] = (int(mode, 8), oid.decode())
        return found

    def contents(self, tree: Contents) -> Contents:
        """Return mode and object of each file that counts for git: of the tree, of the index, or
        untracked and not ignored."""
        listed = self.git("ls-files", "-zco", "--exclude-standard").split(b"\0")[:-1]
        found = {}
        for path in {*listed, *map(path_bytes, tree)}:
            file = Path(os.fsdecode(os.fsencode(self.root) + b"/" + path))
            if any(parent.is_symlink() for parent in file.parents if parent != self.root):
                continue
            if file.is_symlink():
                found[path_text(path)] = (0o120000, blob(os.fsencode(file.readlink())))
            elif file.is_file():
                mode = 0o100755 if file.stat().st_mode & 0o100 else 0o100644
                found[path_text(path)] = (mode, blob(file.read_bytes()))
        return found

    def status(self) -> set[str]:
        """Return what `git status` names, but for what is only staged."""
        names = self.git("status", "--porcelain", "-z", "-uall", "--no-renames").split(b"\0")[:-1]
        tree = self.tree("HEAD")
        return {path_text(name[3:]) for name in names} & differing(tree, self.contents(tree))


def differing(tree: Contents, now: Contents) -> set[str]:
    """Return the paths whose content is not that of the tree."""
    return {path for path in tree.keys() | now.keys() if tree.get(path) != now.get(path)}


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def added(text: str, kind: str = "") -> str:
    """Return the content of a file that the tree does not have."""
    return sha(text) + kind + ADDED
