"""A repository on disk: where it is, its configuration, and its trees.

The library dulwich reads objects and refs. Its `Repo` is not used: it follows `include.path`, and
refuses partial clones. Nothing here starts a program, and nothing writes. A repository is
hostile: each file has a bound, and only regular ones are opened; `__main__` bounds time and memory.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple

from dulwich.config import ConfigFile
from dulwich.index import validate_path_element_hfs, validate_path_element_ntfs
from dulwich.object_format import get_object_format
from dulwich.object_store import BaseObjectStore, DiskObjectStore
from dulwich.objects import ObjectID, parse_tree
from dulwich.refs import Ref, check_ref_format

from tapui.runtime.folders.git_folders import (
    RepositoryError,
    check_file,
    find_git_folders,
    git_folders_at,
    read_file,
)
from tapui.runtime.folders.index_file import MAX_BYTES, BrokenIndexError, StagedFiles, read_index

MAX_FILES = 400_000
MAX_CONFIG = 1024 * 1024
MAX_OBJECT = 64 * 1024 * 1024
MAX_PATH = 4096
_MAX_REFS = 64 * 1024 * 1024
_MAX_SYMREFS = 6
_MAX_STORES = 10
_TREES_KEPT = 256
_FOLDERS_KEPT = 4096
_OWN_REFS = (b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")
"""Those that each work tree has for itself."""
_TREE, _COMMIT, _BLOB = 2, 1, 3
NO_NAMES = frozenset({b"", b".", b".."})
"""Of no file."""
PLAIN, PROGRAM, LINK, MODULE = 0o100644, 0o100755, 0o120000, 0o160000
"""Modes in a tree, besides those of folders."""


Stamp = tuple[int, int, int, int, int]
"""ctime, mtime, size, inode, mode: another one means that a file may have changed."""


class Blob(NamedTuple):
    """What a tree has at a path."""

    mode: int
    oid: bytes


Tree = dict[bytes, Blob]


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree at `root`, its own folder of git's files, and the one of all its work trees."""

    root: bytes
    folder: bytes
    shared: bytes

    def index_stamp(self) -> Stamp | None:
        """Return the stat of the index, None where there is none."""
        return _stamp(self.folder + b"/index")

    def config_stamp(self) -> tuple[Stamp | None, ...]:
        """Return the stats of all files that `config` reads."""
        own = (self.shared + b"/config", self.folder + b"/config.worktree")
        return tuple(_stamp(path) for path in (*_config_files(), *own))

    def config(self) -> "Config":
        """Read its configuration, and the person's. Raises `RepositoryError`."""
        texts = []
        for path in _config_files():
            try:
                texts.append(read_file(path, MAX_CONFIG))
            except (OSError, RepositoryError):
                continue  # git would go on without one that is not there, and so does this
        try:
            texts.append(read_file(self.shared + b"/config", MAX_CONFIG))
            config = Config(texts)
            if config.flag(b"extensions", b"worktreeconfig"):
                texts.append(read_file(self.folder + b"/config.worktree", MAX_CONFIG))
        except OSError:
            pass  # either may be missing
        return Config(texts)

    def head(self, config: "Config") -> str:
        """Return the id of HEAD's tree, of the empty one before the first commit."""
        if config.text(b"extensions", b"refstorage") not in ("", "files"):
            raise RepositoryError("its refs are kept in a way that is not known")
        commit = self.commit(config)
        if commit is None:
            return empty_tree(config.hash_name)
        with closing(self.objects(config)) as objects:
            text = objects.read(commit, _COMMIT)
        line, _, _ = text.partition(b"\n")
        if not line.startswith(b"tree "):
            raise RepositoryError("HEAD is no commit")
        return line[5:].decode("ascii", "replace")

    def objects(self, config: "Config") -> "Objects":
        """Open its objects, which are to be closed again."""
        return Objects(self, config)

    def tree(self, oid: str, config: "Config", is_late: Callable[[], bool]) -> Tree:
        """Return all of a tree. Raises `RepositoryError`, `TimeoutError` once it is late."""
        if oid == empty_tree(config.hash_name):
            return {}
        length = hashlib.new(config.hash_name, usedforsecurity=False).digest_size
        with closing(self.objects(config)) as objects:
            return objects.tree(oid, length, is_late)

    def index(self, config: "Config") -> StagedFiles:
        """Return the index. Raises `RepositoryError`."""
        try:
            data = read_file(self.folder + b"/index", MAX_BYTES)
        except FileNotFoundError:
            return StagedFiles({}, ())
        except OSError as error:
            raise RepositoryError(f"the index cannot be read: {error.strerror}") from None

        def shared(name: str) -> bytes:
            return read_file(self.folder + b"/" + name.encode(), MAX_BYTES)

        try:
            return read_index(data, config.hash_name, shared)
        except (BrokenIndexError, OSError) as error:
            raise RepositoryError(str(error)) from None

    def commit(self, config: "Config") -> str | None:
        """Follow HEAD to a commit; None before the first one. Raises `RepositoryError`."""
        length = 2 * hashlib.new(config.hash_name, usedforsecurity=False).digest_size
        name = b"HEAD"
        for _ in range(_MAX_SYMREFS):
            try:
                own = name == b"HEAD" or name.startswith(_OWN_REFS)
                text = read_file((self.folder if own else self.shared) + b"/" + name, MAX_PATH)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                text = self._packed(name, length)
                if not text:
                    return None
            except (OSError, ValueError):
                raise RepositoryError("HEAD cannot be read") from None
            if not text.startswith(b"ref:"):
                oid = text.strip().decode("ascii", "replace")
                if len(oid) != length or set(oid) - set("0123456789abcdef"):
                    raise RepositoryError("HEAD is no commit")
                return oid
            name = text[4:].strip()
            if not name.startswith(b"refs/") or not check_ref_format(Ref(name)):
                raise RepositoryError("HEAD names no branch")
        raise RepositoryError("HEAD leads in a circle")

    def _packed(self, name: bytes, length: int) -> bytes:
        try:
            data = read_file(self.shared + b"/packed-refs", _MAX_REFS)
        except OSError:
            return b""  # it need not be there
        end = data.find(b" %s\n" % name)
        return data[max(0, end - length) : end] if end >= 0 else b""


class Config:
    """Git's configuration: later texts win. `include.path` is not followed."""

    def __init__(self, texts: list[bytes]) -> None:
        try:
            self._files = [
                ConfigFile.from_file(BytesIO(text), expand_includes=False) for text in texts
            ]
            self.hash_name = self.text(b"extensions", b"objectformat") or "sha1"
        except Exception as error:  # noqa: BLE001 - hostile data in a library's hands
            raise RepositoryError(
                f"its configuration cannot be read ({type(error).__name__})"
            ) from None
        if self.hash_name not in ("sha1", "sha256"):
            raise RepositoryError("its objects have names of a kind that is not known")

    def text(self, section: bytes, name: bytes) -> str:
        for file in reversed(self._files):
            try:
                return os.fsdecode(file.get((section,), name))
            except KeyError:
                continue  # an earlier file may have it
        return ""

    def flag(self, section: bytes, name: bytes, default: bool = False) -> bool:
        text = self.text(section, name).lower()
        return text in ("true", "yes", "on", "1") if text else default

    def has_filters(self) -> bool:
        """Return whether there is a filter for contents beside that of LFS."""
        sections = (section for file in self._files for section in file.sections())
        return any(
            len(name) > 1 and name[0].lower() == b"filter" and name[1] != b"lfs"
            for name in sections
        )

    def excludes(self, root: bytes) -> bytes:
        """Return the path of the person's own ignored patterns, which need not be there."""
        named = self.text(b"core", b"excludesfile")
        path = os.fsencode(named) if named else _xdg() + b"/git/ignore"
        return os.path.join(root, os.path.expanduser(path))  # noqa: PTH111, PTH118 - bytes


class Objects:
    """Commits, trees and files of a repository, each compared with its name."""

    def __init__(self, repository: Repository, config: Config) -> None:
        self._hash = config.hash_name
        self._length = hashlib.new(self._hash, usedforsecurity=False).digest_size
        self._folders: dict[str, dict[bytes, tuple[int, bytes]]] = {}
        """What folders have by name, of trees that were looked into."""
        self._stores = [
            (
                folder,
                _Store(
                    os.fsdecode(folder),
                    object_format=get_object_format(self._hash),
                    loose_object_size_limit=MAX_OBJECT,
                ),
            )
            for folder in _stores(repository.shared + b"/objects")
        ]

    def close(self) -> None:
        for _, store in self._stores:
            store.close()

    def tree(self, oid: str, length: int, is_late: Callable[[], bool]) -> Tree:
        found: Tree = {}
        # A small tree can name itself millions of times, by way of others.
        entries = lru_cache(_TREES_KEPT)(lambda name: _entries(self.read(name, _TREE), length))
        waiting = [(b"", oid)]
        trees = 0
        while waiting:
            prefix, name = waiting.pop()
            trees += 1
            if is_late():
                raise TimeoutError
            for entry, mode, inner in entries(name):
                path = prefix + entry
                if stat.S_ISDIR(mode):
                    waiting.append((path + b"/", inner.decode()))
                else:
                    found[path] = Blob(_plain(mode), bytes.fromhex(inner.decode()))
                if len(found) + trees + len(waiting) > MAX_FILES or len(path) > MAX_PATH:
                    raise RepositoryError(f"a tree of more than {MAX_FILES:,} files")
        return found

    def at(self, tree: str, path: bytes) -> Blob | None:
        """Return what a tree has at a path; None for nothing, and for a folder."""
        found: tuple[int, bytes] | None = (stat.S_IFDIR, tree.encode())
        for name in path.split(b"/"):
            if found is None or not stat.S_ISDIR(found[0]):
                return None
            found = self._folder(found[1].decode()).get(name)
        if found is None or stat.S_ISDIR(found[0]):
            return None
        return Blob(_plain(found[0]), bytes.fromhex(found[1].decode()))

    def differing(self, first: str, second: str, is_late: Callable[[], bool]) -> set[bytes]:
        """Return the paths that two trees do not have alike. Folders that are the same are passed
        over. Raises `RepositoryError`, `TimeoutError` once it is late."""
        found: set[bytes] = set()
        waiting = [(b"", first, second)]
        while waiting:
            prefix, *trees = waiting.pop()
            if is_late():
                raise TimeoutError
            old, new = (self._folder(one) if one else {} for one in trees)
            for name in old.keys() | new.keys():
                pair = old.get(name), new.get(name)
                if pair[0] == pair[1]:
                    continue
                path = prefix + name
                inner = ["", ""]
                for side, one in enumerate(pair):
                    if one is not None and stat.S_ISDIR(one[0]):
                        inner[side] = one[1].decode()
                    elif one is not None:
                        found.add(path)
                if any(inner):
                    waiting.append((path + b"/", inner[0], inner[1]))
                if len(found) + len(waiting) > MAX_FILES or len(path) > MAX_PATH:
                    raise RepositoryError(f"trees that differ in more than {MAX_FILES:,} files")
        return found

    def content(self, oid: bytes) -> bytes:
        """Return the bytes of a file. Raises `RepositoryError`."""
        return self.read(oid.hex(), _BLOB)

    def _folder(self, oid: str) -> dict[bytes, tuple[int, bytes]]:
        known = self._folders.get(oid)
        if known is None:
            is_empty = oid == empty_tree(self._hash)
            entries = [] if is_empty else _entries(self.read(oid, _TREE), self._length)
            if len(self._folders) > _FOLDERS_KEPT:
                self._folders.clear()
            known = self._folders[oid] = {name: (mode, one) for name, mode, one in entries}
        return known

    def read(self, oid: str, kind: int) -> bytes:
        """Return an object of a kind. Raises `RepositoryError`."""
        found, data = self._found(oid)
        name = {_TREE: b"tree", _COMMIT: b"commit", _BLOB: b"blob"}.get(found, b"")
        header = b"%s %d\0" % (name, len(data))
        if found != kind or self._named(header + data) != oid:
            raise RepositoryError(f"the object {oid[:10]} is damaged")
        return data

    def _found(self, oid: str) -> tuple[int, bytes]:
        for folder, store in self._stores:
            _check_regular(folder + f"/{oid[:2]}/{oid[2:]}".encode(), MAX_OBJECT)
            try:
                return store.get_raw(ObjectID(oid.encode()))
            except KeyError:
                continue  # another store may have it
            except Exception as error:  # noqa: BLE001 - hostile data in a library's hands
                why = type(error).__name__
            # Outside of the handler: the error's frames hold the pack's map, which is closed next.
            raise RepositoryError(f"the object {oid[:10]} cannot be read ({why})")
        raise RepositoryError(f"the object {oid[:10]} is not there")

    def _named(self, data: bytes) -> str:
        return hashlib.new(self._hash, data, usedforsecurity=False).hexdigest()


class _Store(DiskObjectStore):
    """A store without those that it names: they are checked, and asked, one by one."""

    @property
    def alternates(self) -> list[BaseObjectStore]:
        return []


def _stores(first: bytes) -> list[bytes]:
    """Return a store's folder and those that it names, checked before the library opens files."""
    found: list[bytes] = []
    waiting = [first]
    while waiting:
        folder = os.path.normpath(waiting.pop(0))
        try:
            if folder in found or not os.path.isdir(folder):  # noqa: PTH112 - bytes
                continue
            found.append(folder)
            if len(found) > _MAX_STORES:
                raise RepositoryError(f"more than {_MAX_STORES} stores of objects")
            with os.scandir(folder + b"/pack") as packs:
                for pack in packs:
                    _check_regular(pack.path, 1 << 62)
            lines = read_file(folder + b"/info/alternates", MAX_CONFIG).splitlines()
        except (OSError, ValueError):
            continue  # without packs, without other stores, or a name that none can have
        named = (line for line in lines if line and not line.startswith(b"#"))
        waiting += [os.path.join(folder, line) for line in named]  # noqa: PTH118 - bytes
    return found


def _entries(data: bytes, length: int) -> list[tuple[bytes, int, bytes]]:
    try:
        return list(parse_tree(data, length, strict=False))
    except Exception as error:  # noqa: BLE001 - hostile data in a library's hands
        raise RepositoryError(f"a tree is damaged ({type(error).__name__})") from None


def _plain(mode: int) -> int:
    """Return a mode as git compares it: of permissions, only whether a file is a program."""
    if not stat.S_ISREG(mode):
        return mode
    return PROGRAM if mode & 0o100 else PLAIN


def is_gits(name: bytes) -> bool:
    """Return whether some file system takes a name for that of git's own folder: `.GIT`, `git~1`,
    `.git:x`, or with characters that HFS+ leaves out."""
    if name in NO_NAMES:
        return False
    if not validate_path_element_ntfs(name):
        return True
    try:
        name.decode()
    except UnicodeDecodeError:
        return False  # HFS+ has no such names
    return not validate_path_element_hfs(name)


def empty_tree(hash_name: str) -> str:
    return hashlib.new(hash_name, b"tree 0\0", usedforsecurity=False).hexdigest()


def find_repository(folder: bytes) -> Repository | None:
    """Return the repository that a folder lies in, as git finds it: upwards."""
    found = find_git_folders(folder)
    return None if found is None else Repository(*found)


def repository_at(root: bytes) -> Repository | None:
    """Return the repository whose work tree is `root`; None where there is none."""
    found = git_folders_at(root)
    return None if found is None else Repository(*found)


def stamp_of(info: os.stat_result) -> Stamp:
    return (info.st_ctime_ns, info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode)


def _stamp(path: bytes) -> Stamp | None:
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - bytes
    except OSError:
        return None  # not there, or not to be read: found again when it is read


def _check_regular(path: bytes, most: int) -> None:
    try:
        info = os.stat(path)  # noqa: PTH116 - bytes
    except OSError:
        return  # the library finds the same, and says it
    check_file(info, most)


def _config_files() -> Iterator[bytes]:
    yield b"/etc/gitconfig"
    yield _xdg() + b"/git/config"
    yield os.path.expanduser(b"~/.gitconfig")  # noqa: PTH111 - bytes


def _xdg() -> bytes:
    return os.environb.get(b"XDG_CONFIG_HOME") or os.path.expanduser(b"~/.config")  # noqa: PTH111
