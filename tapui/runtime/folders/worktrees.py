"""Work trees for sessions: `python -m tapui.runtime.folders.worktrees add FOLDER BRANCH`, `… check
FOLDER`, `… remove FOLDER SEAL`. The answer is one line of JSON: `folder`, or `fault`; both of a
check where tapui has made the work tree and it is not clean. A check answers with what git ignores,
too: `ignored` (`IgnoredSet`), of which the seal is what the person agrees to lose.

Git itself is not run, nor dulwich's `add_worktree`: a repository's configuration has both start
programs (hooks, filters, fsmonitor). Files are written as the repository has them: what a filter
would make of them, such as the files of Git LFS, is not made. A repository is hostile: bytes, files
and time have bounds, and nothing is written through a link.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import FrameType
from typing import NamedTuple

from dulwich.index import Index, index_entry_from_stat
from dulwich.object_format import get_object_format
from dulwich.objects import ObjectID
from dulwich.refs import DiskRefsContainer, Ref, check_ref_format

from tapui.runtime.folders.git_folders import RepositoryError, read_file
from tapui.runtime.folders.repository import (
    LINK,
    MAX_FILES,
    MAX_OBJECT,
    MODULE,
    NO_NAMES,
    PROGRAM,
    Blob,
    Objects,
    Repository,
    Tree,
    find_repository,
    is_gits,
    repository_at,
)
from tapui.runtime.folders.work_tree import WorkTree, object_name, path_text

MAX_BRANCH = 200
MAX_BYTES = 8 * 1024**3
"""Of all files that are written."""
SECONDS = 100
"""For all of it; then it is broken off, and what was made is removed."""
_MARK = b"tapui"
"""A file beside git's own of a work tree: tapui has made it."""
_MAX_MARK = 4096
_BESIDE = b".worktrees"
_HEADS = b"refs/heads/"
_OTHER_NAMES = frozenset({"HEAD", "@"})
"""Branches that git would take for something else."""
_LOCKS = (b"index.lock", b"HEAD.lock")
_CACHES = frozenset({
    b"node_modules", b"__pycache__", b".pytest_cache", b".mypy_cache", b".ruff_cache", b".tox",
    b".nox", b".gradle", b".parcel-cache",
})  # fmt: skip
"""Folders in which a person writes nothing: programs make them again."""
_VENV = b"pyvenv.cfg"
"""A file of virtual environments, which may have any name."""
_MOST_NAMED = 8
_UNDER_WAY = (
    b"MERGE_HEAD", b"CHERRY_PICK_HEAD", b"REVERT_HEAD", b"BISECT_LOG", b"rebase-merge",
    b"rebase-apply", b"sequencer",
)  # fmt: skip


class WorktreeError(Exception):
    """It could not be done; the text says why. `place`: the work tree of tapui's that it is about,
    b"" for another folder."""

    def __init__(self, text: str, place: bytes = b"") -> None:
        super().__init__(text)
        self.place = place


def add(folder: bytes, branch: str) -> bytes:
    """Make a work tree with a new branch beside the repository of a folder; return where it is.

    Raises `WorktreeError`, `RepositoryError`, `OSError`.
    """
    found = find_repository(folder)
    if found is None:
        raise WorktreeError("the folder is in no git repository")
    ref = _ref(branch)
    config = found.config()
    tree_id, commit = found.head(config), found.commit(config)
    if commit is None:
        raise WorktreeError("the repository has no commit yet")
    shared = os.path.realpath(found.shared)
    name = os.fsencode(branch.replace("/", "-"))
    folders = os.path.realpath(_base(found, shared) + _BESIDE), shared + b"/worktrees"
    place, admin = (one + b"/" + name for one in folders)
    if os.path.islink(folders[1]):  # noqa: PTH114 - bytes
        raise WorktreeError("the folder of git's work trees is a link")
    if os.path.lexists(place) or os.path.lexists(admin):
        raise WorktreeError(f"{os.fsdecode(place)} is there already")
    refs = DiskRefsContainer(shared)
    _check_free(refs, branch)
    end = time.monotonic() + SECONDS
    tree = found.tree(tree_id, config, lambda: time.monotonic() > end)
    made: list[bytes] = []
    try:
        for one in (place, admin):
            os.makedirs(os.path.dirname(one), exist_ok=True)  # noqa: PTH103, PTH120 - bytes
            os.mkdir(one)  # noqa: PTH102 - bytes
            made.append(one)
        _write(place + b"/.git", b"gitdir: " + admin + b"\n")
        _write(admin + b"/commondir", b"../..\n")
        _write(admin + b"/gitdir", place + b"/.git\n")
        _write(admin + b"/HEAD", b"ref: " + ref + b"\n")
        _write(admin + b"/" + _MARK, place)
        with closing(found.objects(config)) as objects:
            _check_out(place, tree, objects, admin + b"/index", config.hash_name)
        if not refs.add_if_new(Ref(ref), ObjectID(commit.encode())):
            raise WorktreeError(f"the branch {branch} is there already")
    except BaseException:
        for one in made:
            shutil.rmtree(one, ignore_errors=True)
        for one in folders:
            with contextlib.suppress(OSError):  # others are in it
                os.rmdir(one)  # noqa: PTH106 - bytes
        raise
    return place


def _base(found: Repository, shared: bytes) -> bytes:
    """Return the path of a repository's own work tree, beside which others are put."""
    if found.folder == found.shared:
        return found.root
    parent, name = os.path.split(found.root)
    if parent.endswith(_BESIDE):
        return parent.removesuffix(_BESIDE)
    parent, name = os.path.split(shared)
    if name == b".git":
        return parent
    # A bare repository, or a submodule, whose files of git's are within those of another one.
    return found.root if b".git" in parent.split(b"/") else shared


def _check_free(refs: DiskRefsContainer, branch: str) -> None:
    """Check that a branch can be made. Raises `WorktreeError`."""
    name = os.fsencode(branch)
    for known in refs.subkeys(Ref(_HEADS)):
        if known == name:
            raise WorktreeError(f"the branch {branch} is there already")
        if name.startswith(known + b"/") or known.startswith(name + b"/"):
            raise WorktreeError(f"the branch {os.fsdecode(known)} is in its way")


def _ref(branch: str) -> Ref:
    ref = Ref(_HEADS + branch.encode("utf-8", "surrogateescape"))
    is_plain = branch.isprintable() and not branch.startswith(("-", ".")) and " " not in branch
    is_plain = is_plain and branch not in _OTHER_NAMES
    if not (is_plain and len(branch) <= MAX_BRANCH and check_ref_format(ref)):
        raise WorktreeError(f"{branch!r} is no name of a branch")
    return ref


def _check_out(place: bytes, tree: Tree, objects: Objects, index_file: bytes, kind: str) -> None:
    """Write all files of a tree into an empty folder, and the index about them.

    Folders come first and links last: no file is written through a link, also where two entries of
    a tree have one name.
    """
    index = Index(os.fsdecode(index_file), read=False, object_format=get_object_format(kind))
    written = 0
    for path in tree:
        _check_path(path)
        os.makedirs(os.path.dirname(place + b"/" + path), exist_ok=True)  # noqa: PTH103, PTH120 - bytes
    for path, blob in sorted(tree.items(), key=lambda one: one[1].mode == LINK):
        target = place + b"/" + path
        if blob.mode == MODULE:
            os.makedirs(target, exist_ok=True)  # noqa: PTH103 - bytes
        else:
            data = objects.content(blob.oid)
            written += len(data)
            if written > MAX_BYTES:
                raise WorktreeError(f"its files are larger than {MAX_BYTES // 1024**3} GiB")
            _write_blob(target, blob, data)
        found = os.lstat(target)
        index[path] = index_entry_from_stat(found, blob.oid.hex().encode(), mode=blob.mode)
    index.write()


def _write_blob(target: bytes, blob: Blob, data: bytes) -> None:
    if blob.mode == LINK:
        os.symlink(data, target)  # noqa: PTH211 - bytes
    else:
        _write(target, data, 0o777 if blob.mode == PROGRAM else 0o666)


def _check_path(path: bytes) -> None:
    """Check a path of a tree, for every file system. Raises `WorktreeError`."""
    if any(part in NO_NAMES or is_gits(part) for part in path.split(b"/")):
        raise WorktreeError(f"the repository has a file that may not be: {path[:200]!r}")


def _write(path: bytes, data: bytes, mode: int = 0o666) -> None:
    """Write a file that is new."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)


class IgnoredSet(NamedTuple):
    """Files of a work tree that git ignores, without those that programs make again.

    `names` are files and whole folders, the first ones; `seal` names the set of all, "" for none.
    """

    files: int
    size: int
    """Bytes."""
    names: list[str]
    seal: str


def check(folder: bytes) -> tuple[bytes, IgnoredSet]:
    """Return the work tree that a folder is, if tapui has made it and all in it is committed, and
    what git ignores in it.

    Raises `WorktreeError`.
    """
    found = _own(folder)
    try:
        return found.root, _check_clean(found)
    except WorktreeError as error:
        raise WorktreeError(str(error), found.root) from None


def _own(folder: bytes) -> Repository:
    root = os.path.realpath(folder)
    found = repository_at(root)
    if found is None or found.folder == found.shared or os.path.isdir(root + b"/.git"):  # noqa: PTH112 - bytes
        raise WorktreeError("it is no work tree beside a repository")
    try:
        made = read_file(found.folder + b"/" + _MARK, _MAX_MARK)
    except (OSError, RepositoryError):
        made = b""
    admin, shared = os.path.realpath(found.folder), os.path.realpath(found.shared)
    if made != root or os.path.dirname(admin) != shared + b"/worktrees":  # noqa: PTH120 - bytes
        raise WorktreeError("tapui has not made it")
    return Repository(root, admin, shared)


def _check_clean(found: Repository) -> IgnoredSet:
    """Check that all that is in a work tree is committed on a branch; return what git ignores.
    Raises `WorktreeError`."""
    config = found.config()
    head = read_file(found.folder + b"/HEAD", _MAX_MARK)
    if not head.startswith(b"ref: " + _HEADS):
        raise WorktreeError("no branch is checked out in it")
    if any(os.path.lexists(found.folder + b"/" + name) for name in _UNDER_WAY):
        raise WorktreeError("a merge or rebase is under way in it")
    if os.path.lexists(found.folder + b"/locked"):
        raise WorktreeError("it is locked (git worktree unlock)")
    if any(os.path.lexists(found.folder + b"/" + name) for name in _LOCKS):
        raise WorktreeError("git is at work in it")
    end = time.monotonic() + SECONDS

    def is_late() -> bool:
        return time.monotonic() > end

    looked = WorkTree(found).look("", is_late)
    state = looked.state
    if not state.is_whole:
        raise WorktreeError(f"not all of it could be looked at: {state.why}")
    if state.files:
        names = ", ".join(sorted(state.files)[:3])
        raise WorktreeError(f"it has work that is not committed: {names}")
    if looked.inner:
        raise WorktreeError("other repositories are in it")
    tree = found.tree(found.head(config), config, is_late)
    for path, blob in tree.items():
        if not _is_as(found.root + b"/" + path, blob, config.hash_name):
            raise WorktreeError(f"it has work that is not committed: {path_text(path)}")
    staged = found.index(config)
    if (
        staged.sparse
        or staged.entries.keys() != tree.keys()
        or any(one.oid != tree[path].oid for path, one in staged.entries.items())
    ):
        raise WorktreeError("something is staged in it")
    return _ignored(found.root, tree, is_late)


def _ignored(root: bytes, tree: Tree, is_late: Callable[[], bool]) -> IgnoredSet:
    """Return all files of a clean work tree that are not in its tree.

    A repository within counts as well where programs make what is around it: its commits may be
    nowhere else.
    """
    folders: set[bytes] = set()
    for path in tree:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    found: dict[bytes, int] = {}
    names: set[bytes] = set()
    waiting = [(b"", b"", False)]
    while waiting:
        prefix, whole, is_cache = waiting.pop()
        with os.scandir(root + b"/" + prefix) as listed:
            entries = {entry.name: entry for entry in listed}
        if prefix and b".git" in entries:
            is_cache = False
        elif whole and _VENV in entries:
            is_cache = True
        if is_late():
            raise WorktreeError("it takes too long to look at what git ignores in it")
        for name, entry in entries.items():
            path = prefix + name
            if entry.is_dir(follow_symlinks=False):
                inner = whole or (b"" if path in folders else path + b"/")
                is_made = is_cache or (bool(inner) and name in _CACHES)
                waiting.append((path + b"/", inner, is_made))
            elif path not in tree and path != b".git" and not is_cache:
                found[path] = entry.stat(follow_symlinks=False).st_size
                names.add(whole or path)
                if len(found) > MAX_FILES:
                    raise WorktreeError(f"git ignores more than {MAX_FILES:,} files in it")
    seal = hashlib.sha256(b"\0".join(sorted(found))).hexdigest() if found else ""
    first = [path_text(name) for name in sorted(names)[:_MOST_NAMED]]
    return IgnoredSet(len(found), sum(found.values()), first, seal)


def _is_as(target: bytes, blob: Blob, kind: str) -> bool:
    """Return whether a file has the content that a tree says. The index, which an agent can write,
    is not asked."""
    try:
        info = os.lstat(target)
        if blob.mode == MODULE:
            return stat.S_ISDIR(info.st_mode)
        if blob.mode == LINK:
            data = os.readlink(target)  # noqa: PTH115 - bytes
        elif stat.S_ISREG(info.st_mode) and bool(info.st_mode & 0o100) == (blob.mode == PROGRAM):
            data = read_file(target, MAX_OBJECT)
        else:
            return False
    except (OSError, RepositoryError):
        return False
    return object_name(data, kind) == blob.oid


def remove(folder: bytes, seal: str = "") -> bytes:
    """Remove a work tree that `check` lets pass, with the ignored files that `seal` names; its
    branch stays.

    It is moved aside and looked at again first, so that what a program wrote meanwhile stays.
    """
    found = _own(folder)
    _check_seal(_check_clean(found), seal)
    aside = found.root + b".removed-by-tapui-" + secrets.token_hex(4).encode()
    os.rename(found.root, aside)  # noqa: PTH104 - bytes
    try:
        _check_seal(_check_clean(Repository(aside, found.folder, found.shared)), seal)
    except BaseException as error:
        try:
            os.rename(aside, found.root)  # noqa: PTH104 - bytes
        except OSError:  # something else is there by now
            raise WorktreeError(f"{error}; it is in {os.fsdecode(aside)} now") from None
        raise
    try:
        shutil.rmtree(found.folder)
        shutil.rmtree(aside)
    except (OSError, WorktreeError) as error:
        raise WorktreeError(f"what is left of it is in {os.fsdecode(aside)}: {error}") from None
    with contextlib.suppress(OSError):  # others are in it
        os.rmdir(os.path.dirname(found.root))  # noqa: PTH106, PTH120 - bytes
    return found.root


def _check_seal(ignored: IgnoredSet, seal: str) -> None:
    """Check that nothing is lost but what the person agreed to. Raises `WorktreeError`."""
    if ignored.seal not in ("", seal):
        more = ignored.files - len(ignored.names)
        names = ", ".join([*ignored.names, *([f"{more:,} more"] if more > 0 else [])])
        raise WorktreeError(f"files that git ignores are in it: {names}")


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise WorktreeError(f"it was broken off after {SECONDS} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main(argv: list[str]) -> int:
    answer: dict[str, object] = {}
    try:
        with _alarm(SECONDS):
            match argv:
                case ["add", folder, branch]:
                    place = add(os.fsencode(folder), branch)
                case ["check", folder]:
                    place, ignored = check(os.fsencode(folder))
                    answer["ignored"] = ignored._asdict()
                case ["remove", folder, seal]:
                    place = remove(os.fsencode(folder), seal)
                case _:
                    raise WorktreeError("add FOLDER BRANCH, check FOLDER or remove FOLDER SEAL")
        answer["folder"] = os.fsdecode(place)
    except (WorktreeError, RepositoryError) as error:
        answer["fault"] = str(error)
        if isinstance(error, WorktreeError) and error.place:
            answer["folder"] = os.fsdecode(error.place)
    except (OSError, ValueError, TimeoutError, MemoryError, RecursionError) as error:
        answer["fault"] = getattr(error, "strerror", None) or type(error).__name__
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if "fault" in answer else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
