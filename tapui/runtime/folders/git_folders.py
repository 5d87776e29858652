"""Where a repository is, and on which branch, without the library that reads its objects.

Nothing here starts a program, and nothing writes. A repository is hostile: each file has a bound,
and only regular ones are opened.
"""

import os
import stat
from typing import NamedTuple

from tapui.files.foreign_file import read_up_to
from tapui.text import cut

MAX_HEAD = 4096
MAX_BRANCH = 200
"""Characters of a branch's name."""
_MAX_LINK = 4096
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_SHORT = 7


class RepositoryError(Exception):
    """Something of a repository that cannot be read. The text says what, for the screen."""


class GitFolders(NamedTuple):
    """A work tree at `root`, its own folder of git's files, and the one of all its work trees."""

    root: bytes
    folder: bytes
    shared: bytes

    def branch(self) -> str:
        """Return the branch of HEAD; `(1a2b3c4)` where it is detached, "" where it cannot be
        read."""
        try:
            text = read_file(self.folder + b"/HEAD", MAX_HEAD)
        except (OSError, ValueError, RepositoryError):
            return ""
        line = text.partition(b"\n")[0].decode("utf-8", "replace").strip()
        if line.startswith("ref:"):
            name = line.removeprefix("ref:").strip().removeprefix("refs/heads/")
            return "" if name == ".invalid" else cut(name, MAX_BRANCH)  # refs are kept elsewhere
        is_commit = len(line) in (40, 64) and not set(line) - set("0123456789abcdef")
        return f"({line[:_SHORT]})" if is_commit else ""


def read_file(path: bytes, most: int) -> bytes:
    """Read a regular file, links followed. Raises `OSError`; `RepositoryError` for others."""
    # Looked at before it is opened: to open a device can mean something to it.
    check_file(os.stat(path), most)  # noqa: PTH116 - bytes
    fd = os.open(path, _FILE)
    try:
        check_file(os.fstat(fd), most)
        return read_up_to(fd, most)
    finally:
        os.close(fd)


def check_file(info: os.stat_result, most: int) -> None:
    """Raise `RepositoryError` for what is no regular file, or too large."""
    if not stat.S_ISREG(info.st_mode):
        raise RepositoryError("one of the repository's files is no regular file")
    if info.st_size > most:
        raise RepositoryError("one of the repository's files is too large")


def find_git_folders(folder: bytes) -> GitFolders | None:
    """Return the folders of the repository that a folder lies in, as git finds it: upwards."""
    try:
        folder = os.path.realpath(folder)
    except (OSError, ValueError):
        return None  # a name that no folder can have
    while True:
        found = git_folders_at(folder)
        parent = os.path.dirname(folder)  # noqa: PTH120 - bytes
        if found is not None or parent == folder:
            return found
        folder = parent


def git_folders_at(root: bytes) -> GitFolders | None:
    """Return those of the repository whose work tree is `root`; None where there is none."""
    folder = root + b"/.git"
    try:
        if not os.path.isdir(folder):  # noqa: PTH112 - bytes
            text = read_file(folder, _MAX_LINK)
            if not text.startswith(b"gitdir: "):
                return None
            # Of a work tree or a submodule: git's files are elsewhere.
            folder = os.path.join(root, text[8:].rstrip(b"\r\n"))  # noqa: PTH118 - bytes
        shared = folder
        try:
            line = read_file(folder + b"/commondir", _MAX_LINK)
            shared = os.path.join(folder, line.rstrip(b"\r\n"))  # noqa: PTH118 - bytes
        except FileNotFoundError:
            pass  # not an additional work tree
        if not os.path.lexists(folder + b"/HEAD"):
            return None
        if not os.path.isdir(shared + b"/objects"):  # noqa: PTH112 - bytes
            return None
    except (OSError, ValueError, RepositoryError):
        return None  # git finds none there either
    return GitFolders(root, folder, shared)
