"""A work tree, looked at again and again: stats find what may have changed, hashes decide.

What git's index has of a file is believed in the first whole look only, before anything was
watched: later on an agent may have written it. From then on each file whose ctime, mtime, size,
inode or mode is another one is read.
"""

import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from itertools import chain as joined
from itertools import islice
from typing import NamedTuple

from tapui.core.proof.folder_states import (
    ADDED,
    DELETED,
    MANIFESTS,
    TOO_LARGE,
    UNREAD,
    FolderState,
)
from tapui.files.foreign_file import read_up_to
from tapui.runtime.folders.git_folders import RepositoryError
from tapui.runtime.folders.ignored import (
    Chain,
    IgnoreFiles,
    Patterns,
    TooManyPatternsError,
    is_ignored,
)
from tapui.runtime.folders.index_file import StagedFile, StagedFiles
from tapui.runtime.folders.repository import (
    LINK,
    MAX_FILES,
    MAX_PATH,
    MODULE,
    PLAIN,
    PROGRAM,
    Blob,
    Config,
    Repository,
    Stamp,
    Tree,
    repository_at,
    stamp_of,
)

HASH_BYTES = 32 * 1024 * 1024
"""Larger files are not read: their size and time stand for them."""
MAX_NAMED = 20_000
"""Paths of a state."""
MAX_NAMED_BYTES = 4 * 1024 * 1024
MAX_SHOWN = 80
"""Characters of a path in a sentence."""
MAX_PACKAGES = 2_000
LOAD_SECONDS = 10.0
"""For the tree that a state is compared with, which is read once, and whole or not at all."""
_TREES = 3
_PACE = 1024
"""Files of a folder between two looks at the clock."""
_TICK_NS = 100_000_000
_COARSE_TICK_NS = 2_100_000_000
"""How long a file may change again without another ctime: file systems count in ticks of some
milliseconds, or of seconds where the fraction is 0."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MANIFESTS = frozenset(name.encode() for name in MANIFESTS)


class Seen(NamedTuple):
    """A file as it was when it was read: `oid` is its name as an object of git, `sha` its sha256.

    Both are empty before that. `is_fresh`: it may change without another stamp. `known` is the
    size and object of an earlier content.
    """

    stamp: Stamp
    mode: int
    oid: bytes = b""
    sha: str = ""
    is_fresh: bool = False
    known: tuple[int, bytes] | None = None


class PinnedRules(NamedTuple):
    """What of the repository's own state hides changes, as the first look found it.

    An agent can write `.git/info/exclude`, `core.fileMode` and the index later on.
    """

    outer: Chain
    has_modes: bool
    skipped: frozenset[bytes]


class WorkTreeLook(NamedTuple):
    """A state, and the folders within that are work trees of their own."""

    state: FolderState
    inner: tuple[bytes, ...]


class WorkTree:
    """The work tree of one repository, with what is remembered of its files."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._seen: dict[bytes, Seen] = {}
        self._is_cold = True
        self._trees: dict[str, Tree] = {}
        self._config: tuple[object, Config] | None = None
        self._index = StagedFiles({}, ())
        self._index_stamp: Stamp | None = None
        self._tracked: tuple[Tree | None, StagedFiles | None] = (None, None)
        self._folders: set[bytes] = set()
        self._modules: set[bytes] = set()
        self._ignore_files = IgnoreFiles()
        self._ignored: dict[bytes, bool] = {}
        self._pinned: PinnedRules | None = None

    def look(self, base: str, is_late: Callable[[], bool]) -> WorkTreeLook:
        """Look at all files; once it is late, answer with what there is by then.

        `base` is the tree that they are compared with, HEAD's where it is empty.
        """
        look = _Look(base)
        try:
            config = self._read_config()
            if not base:
                look.head = self.repository.head(config)
            tree = self._tree(look.head, config)
            self._read_index(config, look)
            self._track(tree)
            self._walk(look, config, tree, is_late)
            self._compare(look, config, tree, is_late)
        except RepositoryError as error:
            look.doubts.append(str(error))
        except TimeoutError:
            look.doubts.append("its tree takes too long to read")
        except (OSError, ValueError) as error:
            look.doubts.append(f"it cannot be read ({type(error).__name__})")
        if look.is_walked:
            self._is_cold = False
            self._seen = look.now
        else:
            self._seen |= look.now  # the next look has less to read
        return WorkTreeLook(look.state(self.repository.root), tuple(look.inner))

    # What is read before

    def _read_config(self) -> Config:
        stamp = self.repository.config_stamp()
        if self._config is None or self._config[0] != stamp:
            self._config = (stamp, self.repository.config())
        return self._config[1]

    def _tree(self, oid: str, config: Config) -> Tree:
        tree = self._trees.pop(oid, None)
        if tree is None:
            end = time.monotonic() + LOAD_SECONDS
            tree = self.repository.tree(oid, config, lambda: time.monotonic() > end)
            while len(self._trees) >= _TREES:
                del self._trees[next(iter(self._trees))]
        self._trees[oid] = tree
        return tree

    def _read_index(self, config: Config, look: "_Look") -> None:
        stamp = self.repository.index_stamp()
        if stamp == self._index_stamp:
            return
        try:
            self._index = self.repository.index(config)
        except RepositoryError as error:
            look.doubts.append(str(error))
        else:
            self._index_stamp = stamp

    def _track(self, tree: Tree) -> None:
        """Find the folders that have tracked files, and the submodules."""
        if self._tracked[0] is tree and self._tracked[1] is self._index:
            return
        entries = self._index.entries
        folders: set[bytes] = set()
        for path in joined(tree, entries):
            folder = path.rpartition(b"/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition(b"/")[0]
        self._folders = folders
        self._modules = {path for path, entry in entries.items() if entry.mode == MODULE}
        self._modules |= {path for path, blob in tree.items() if blob.mode == MODULE}
        self._tracked = (tree, self._index)

    # The walk

    def _walk(self, look: "_Look", config: Config, tree: Tree, is_late: Callable[[], bool]) -> None:
        root = self.repository.root + b"/"
        ignores_case = config.flag(b"core", b"ignorecase")
        if self._pinned is None:
            self._pinned = PinnedRules(
                self._outer_patterns(config, look, ignores_case),
                config.flag(b"core", b"filemode", default=True),
                frozenset(path for path, one in self._index.entries.items() if one.is_skipped),
            )
        outer = self._pinned.outer
        waiting: list[tuple[bytes, Chain, bool]] = [(b"", outer, False)]
        staged, seen, now = self._index.entries, self._seen, look.now
        while waiting:
            prefix, chain, is_excluded = waiting.pop()
            entries = _listed(root, prefix, look)
            file = root + prefix + b".gitignore"
            if any(entry.name == b".gitignore" for entry in entries):
                patterns = self._patterns(file, look, ignores_case=ignores_case)
                if patterns:
                    chain = (*chain, (len(prefix), patterns))
            else:
                self._ignore_files.forget(file)
            if self._ignore_files.is_changed:
                self._ignore_files.is_changed = False
                self._ignored.clear()
            if is_late():
                look.doubts.append(TOO_LARGE)
                return
            for number, entry in enumerate(entries, 1):
                if not number % _PACE and is_late():
                    look.doubts.append(TOO_LARGE)
                    return
                name = entry.name
                if name == b".git":
                    continue
                path = prefix + name
                try:
                    is_folder = entry.is_dir(follow_symlinks=False)
                except OSError:
                    continue  # gone meanwhile
                if is_folder:
                    is_out = is_excluded or self._is_ignored(path, chain, is_folder=True)
                    if path not in self._folders:
                        if is_out and path not in self._modules:
                            continue
                        if repository_at(root + path) is not None:
                            look.inner.append(root + path)
                            continue
                    if len(path) > MAX_PATH:
                        look.doubts.append("a path is too long")
                        continue
                    waiting.append((path + b"/", chain, is_out))
                    continue
                is_tracked = path in tree or path in staged
                if not is_tracked and (
                    is_excluded or self._is_ignored(path, chain, is_folder=False)
                ):
                    continue
                if name in _MANIFESTS and prefix and len(look.packages) < MAX_PACKAGES:
                    look.packages.add(prefix[:-1])
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # gone meanwhile
                stamp = stamp_of(info)
                old = seen.get(path)
                if old is not None and old.stamp == stamp and not old.is_fresh:
                    now[path] = old
                else:
                    self._meet(path, info, old, look)
            if len(look.now) > MAX_FILES:
                raise RepositoryError(f"more than {MAX_FILES:,} files")
        look.is_walked = True

    def _outer_patterns(self, config: Config, look: "_Look", ignores_case: bool) -> Chain:
        found = []
        paths = (
            config.excludes(self.repository.root),
            self.repository.shared + b"/info/exclude",
        )
        for path in paths:
            patterns = self._patterns(path, look, ignores_case=ignores_case, is_linked=True)
            if patterns:
                found.append((0, patterns))
        return tuple(found)

    def _patterns(
        self, path: bytes, look: "_Look", *, ignores_case: bool, is_linked: bool = False
    ) -> Patterns:
        try:
            return self._ignore_files.patterns(path, ignores_case, is_linked=is_linked)
        except (TooManyPatternsError, OSError):
            look.doubts.append("a file of ignored patterns cannot be read")
            return ()

    def _is_ignored(self, path: bytes, chain: Chain, *, is_folder: bool) -> bool:
        key = path + b"/" if is_folder else path
        known = self._ignored.get(key)
        if known is None:
            if len(self._ignored) > MAX_FILES:
                self._ignored.clear()
            known = self._ignored[key] = is_ignored(path, is_folder, chain)
        return known

    def _meet(self, path: bytes, info: os.stat_result, old: Seen | None, look: "_Look") -> None:
        """Take a file that is new, or may be another one."""
        stamp = stamp_of(info)
        if stat.S_ISREG(info.st_mode):
            mode = PROGRAM if info.st_mode & 0o100 else PLAIN
        elif stat.S_ISLNK(info.st_mode):
            mode = LINK
        else:
            return  # pipes, sockets and devices are no content; git has none of them either
        known = None
        if old is not None:
            known = (old.stamp[2], old.oid) if old.oid else old.known
        elif (staged := self._index.entries.get(path)) is not None and staged.oid:
            if self._is_cold and self._is_believed(staged, info, mode):
                look.now[path] = Seen(stamp, mode, staged.oid)
                return
            known = (staged.size, staged.oid)
        look.now[path] = Seen(stamp, mode, known=known)

    def _is_believed(self, entry: StagedFile, info: os.stat_result, mode: int) -> bool:
        """Return whether the index has a file's content: it was not written after git read it."""
        if self._index_stamp is None:
            return False
        mtime = divmod(info.st_mtime_ns, 1_000_000_000)
        return (
            entry.mtime == mtime
            and entry.ctime == divmod(info.st_ctime_ns, 1_000_000_000)
            and entry.size == info.st_size & 0xFFFFFFFF
            and entry.inode == info.st_ino & 0xFFFFFFFF
            and entry.mode == mode
            and info.st_mtime_ns + _tick(info.st_mtime_ns) < self._index_stamp[1]
        )

    # The comparison

    def _compare(
        self, look: "_Look", config: Config, tree: Tree, is_late: Callable[[], bool]
    ) -> None:
        pinned = self._pinned
        assert pinned is not None
        has_modes = pinned.has_modes
        if look.is_walked:
            unread = (*self._index.sparse, *look.unreadable)
            for path in tree.keys() - look.now.keys():
                is_skipped = path in pinned.skipped
                if tree[path].mode != MODULE and not is_skipped and not path.startswith(unread):
                    look.name(path, DELETED)
        for path, seen in look.now.items():
            blob = tree.get(path)
            if blob is not None and seen.oid == blob.oid and seen.mode == blob.mode:
                continue
            current = seen
            if not seen.sha and seen.stamp[2] <= HASH_BYTES:
                if is_late():
                    if TOO_LARGE not in look.doubts:
                        look.doubts.append(TOO_LARGE)
                    continue
                current = _read(self.repository.root + b"/" + path, seen, blob, config.hash_name)
                look.now[path] = current
            is_same_mode = blob is not None and (current.mode == blob.mode or not has_modes)
            if blob is not None and current.oid == blob.oid and is_same_mode:
                continue
            look.name(path, _content(current) + (ADDED if blob is None else ""))


class _Look:
    """What one look has found so far."""

    def __init__(self, base: str) -> None:
        self.head = base
        self.now: dict[bytes, Seen] = {}
        self.files: dict[bytes, str] = {}
        self.inner: list[bytes] = []
        self.packages: set[bytes] = set()
        self.unreadable: list[bytes] = []
        self.doubts: list[str] = []
        self.is_walked = False
        self._bytes = 0

    def name(self, path: bytes, content: str) -> None:
        self._bytes += len(path) + len(content)
        if len(self.files) >= MAX_NAMED or self._bytes > MAX_NAMED_BYTES:
            raise RepositoryError(f"more than {len(self.files):,} files differ")
        self.files[path] = content

    def state(self, root: bytes) -> FolderState:
        doubts = self.doubts
        if self.unreadable:
            first = path_text(self.unreadable[0]) or "the folder"
            if len(first) > MAX_SHOWN:
                first = f"{first[:MAX_SHOWN]}…"
            more = len(self.unreadable) - 1
            doubts.append(f"{first} cannot be read" + (f", and {more} more" if more else ""))
        return FolderState(
            root=path_text(root),
            head=self.head,
            files={path_text(path): self.files[path] for path in sorted(self.files)},
            is_whole=not doubts,
            why=doubts[0] if doubts else "",
            packages=tuple(path_text(path) for path in sorted(self.packages)),
        )


def path_text(path: bytes) -> str:
    """Return a path as text. One that is not UTF-8 begins with `//`, as no other path does."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return "//" + path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def path_bytes(text: str) -> bytes:
    """Return the path of which `path_text` made this text."""
    if not text.startswith("//"):
        return text.encode("utf-8", "surrogatepass")
    escaped = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")
    return escaped.sub(
        lambda found: bytes.fromhex(found[1].decode()) if found[1] else b"\\", text[2:].encode()
    )


def _listed(root: bytes, prefix: bytes, look: _Look) -> "list[os.DirEntry[bytes]]":
    try:
        with os.scandir(root + prefix) as found:
            entries = list(islice(found, MAX_FILES + 1))
    except OSError as error:
        is_gone = isinstance(error, FileNotFoundError | NotADirectoryError)
        if not is_gone or not prefix:
            look.unreadable.append(prefix)
        return []
    if len(entries) > MAX_FILES:
        raise RepositoryError(f"more than {MAX_FILES:,} files")
    return entries


def _read(path: bytes, seen: Seen, blob: Blob | None, hash_name: str) -> Seen:
    """Read a file that was seen. What cannot be read, or changes meanwhile, stays unread."""
    now = time.time_ns()
    try:
        data = os.readlink(path) if seen.mode == LINK else _bytes_of(path, seen.stamp)  # noqa: PTH115 - bytes
    except OSError:
        return seen
    if data is None or len(data) != seen.stamp[2]:
        return seen
    sha = hashlib.sha256(data).hexdigest()
    oid = object_name(data, hash_name)
    for same in _before_filters(data, sha, oid, seen, blob):
        if object_name(same[0], hash_name) == same[1]:
            oid = same[1]
    is_fresh = now - seen.stamp[0] < _tick(seen.stamp[0])
    return seen._replace(oid=oid, sha=sha, is_fresh=is_fresh, known=None)


def _before_filters(
    data: bytes, sha: str, oid: bytes, seen: Seen, blob: Blob | None
) -> Iterator[tuple[bytes, bytes]]:
    """Yield what git may have stored of this content, and the object that it would be then.

    No filter runs. A file of LFS is stored as a text of its own sha256 and size. Ends of lines are
    converted only where an earlier content of the same size was: else other ends are a change.
    """
    if blob is not None and blob.oid != oid:
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n"
        yield (pointer % (sha, len(data))).encode(), blob.oid
    if seen.known is not None and seen.known[0] == len(data) and b"\r\n" in data:
        yield data.replace(b"\r\n", b"\n"), seen.known[1]


def _bytes_of(path: bytes, stamp: Stamp) -> bytes | None:
    """Read a regular file that is still the one of `stamp`, before and after."""
    fd = os.open(path, _OPEN)
    try:
        if stamp_of(os.fstat(fd)) != stamp:
            return None
        data = read_up_to(fd, stamp[2] + 1)
        return data if stamp_of(os.fstat(fd)) == stamp else None
    finally:
        os.close(fd)


def _tick(time_ns: int) -> int:
    return _TICK_NS if time_ns % 1_000_000_000 else _COARSE_TICK_NS


def object_name(data: bytes, hash_name: str) -> bytes:
    header = b"blob %d\0" % len(data)
    return hashlib.new(hash_name, header + data, usedforsecurity=False).digest()


def _content(seen: Seen) -> str:
    if not seen.sha:
        return f"{UNREAD}{seen.stamp[2]} {seen.stamp[0]}"
    return seen.sha + {PROGRAM: " +x", LINK: " link"}.get(seen.mode, "")
