"""What changed in repositories: files as they were, beside what is there now.

What was is in a repository's objects, or is named by its sha256 alone: a file that was changed
before the session began is in no store. What is there now is read without following a link; only
regular files are opened. Nothing is started: no filter, no textconv, no hook.
"""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tapui.core.effects import FilePlace, FolderCompared
from tapui.core.proof.folder_states import DELETED, UNREAD, StatePair, state_id
from tapui.files.foreign_file import read_up_to
from tapui.runtime.folders.git_folders import RepositoryError
from tapui.runtime.folders.index_file import StagedFile
from tapui.runtime.folders.patches import (
    Content,
    counted,
    hunks,
    line_changes,
    lines_shown,
    mode_text,
    patch,
)
from tapui.runtime.folders.repository import (
    LINK,
    MODULE,
    PLAIN,
    PROGRAM,
    Blob,
    Config,
    Objects,
    Repository,
    repository_at,
)
from tapui.runtime.folders.work_tree import HASH_BYTES, object_name, path_bytes, path_text
from tapui.wire import limits
from tapui.wire.changes import ChangedFile, ChangeNote, ChangeState, NoteChange

DIRTY = (
    "it was changed before: compared with the commit of then, as its content of then is not kept"
)
LATE = "not all lines were counted: it takes too long"
LARGE = "it is too large to be compared"
NO_FILE = "it is no regular file"
NOT_LINED = "its lines were not compared to the end: too many are alike"
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
FROM_LFS = "its content of before is not in the repository (git LFS)"
ENDS = "other ends of lines (CRLF) are left out"
_MOST_ALIKE = 50
"""Files removed, and added, that are held against each other by their lines."""
_ALIKE_BYTES = 256 * 1024
_ALIKE = 0.6
"""The part of its bytes that a renamed file has in common with the former one, at least."""
_KEPT_BYTES = 256 * 1024 * 1024
"""Contents that are held at a time; of what comes after that no lines are counted."""
_PATCH_BYTES = 2 * limits.MAX_DIFF_BYTES
"""A patch as JSON."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOTHING = Content(b"", 0)
_NEAR = 200
"""Lines around its number among which the line of a note is looked for: those above it may have
come or gone."""


class FileSide(NamedTuple):
    """A file at one moment. Without `content` it was not read, and `note` says why."""

    content: Content | None
    mode: int
    note: str = ""


class _Found(NamedTuple):
    path: bytes
    old: FileSide
    new: FileSide
    former: bytes = b""

    @property
    def size(self) -> int:
        """The bytes that are held of it."""
        return sum(len(one.content.data) for one in (self.old, self.new) if one.content is not None)

    def unread(self) -> "_Found":
        """Return it without its contents: too many are held."""
        sides = [
            one if one.content is None else FileSide(None, one.mode, one.note or LATE)
            for one in (self.old, self.new)
        ]
        return self._replace(old=sides[0], new=sides[1])


def compare(
    pairs: tuple[StatePair, ...],
    file: FilePlace | None,
    is_late: Callable[[], bool],
    marked: Sequence[ChangeNote] = (),
) -> FolderCompared:
    """Compare repositories, or one file of one of them. It never raises for what it finds there.

    Of notes on files (`marked`) it finds out what became of them.
    """
    found = _compared(pairs, file, is_late)
    return replace(found, note_changes=note_changes(pairs, marked, is_late)) if marked else found


def _compared(
    pairs: tuple[StatePair, ...], file: FilePlace | None, is_late: Callable[[], bool]
) -> FolderCompared:
    notes: list[str] = []
    roots = [pair.root for pair in pairs]
    files: list[ChangedFile] = []
    more = 0
    for pair in pairs:
        if file is not None and pair.root != file.root:
            continue
        try:
            with opened(pair) as comparison:
                if file is not None:
                    return comparison.lines(file, is_late)
                room = limits.CHANGED_FILES - len(files)
                found, left_out = comparison.files(roots, is_late, notes, room)
                files += found
                more += left_out
        except RepositoryError as error:
            notes.append(f"{pair.root}: {error}")
        except TimeoutError:
            notes.append(f"{pair.root}: its trees take too long to compare")
        except (OSError, ValueError) as error:
            notes.append(f"{pair.root}: it cannot be read ({type(error).__name__})")
    if file is not None:
        return FolderCompared(fault="; ".join(notes) or "it is in no repository of the session")
    return FolderCompared(tuple(files), more, tuple(dict.fromkeys(notes)))


@contextmanager
def opened(pair: StatePair) -> "Iterator[FileComparison]":
    repository = repository_at(path_bytes(pair.root))
    if repository is None:
        raise RepositoryError("its repository is not there any more")
    config = repository.config()
    root = os.open(repository.root, _FOLDER)
    try:
        with closing(repository.objects(config)) as objects:
            yield FileComparison(pair, repository, objects, config, root)
    finally:
        os.close(root)


class FileComparison:
    """One repository of which the root is open as a descriptor."""

    def __init__(
        self,
        pair: StatePair,
        repository: Repository,
        objects: Objects,
        config: Config,
        root: int,
    ) -> None:
        self._pair = pair
        self._repository = repository
        self._objects = objects
        self._config = config
        self._head = pair.head or repository.head(config)
        self.root = root

    # All files

    def files(
        self, roots: list[str], is_late: Callable[[], bool], notes: list[str], most: int
    ) -> tuple[list[ChangedFile], int]:
        """Return what changed, by path, and how many more than `most`; what comes late without a
        count of its lines."""
        pair = self._pair
        paths = {path_bytes(path) for path in (*pair.before, *pair.now)}
        if self._head != pair.now_head:
            paths |= self._objects.differing(self._head, pair.now_head, is_late)
        found: list[_Found] = []
        kept = 0
        for path in sorted(paths):
            one = self._found(path, is_late)
            if one is None:
                continue
            kept += one.size
            found.append(one if kept <= _KEPT_BYTES else one.unread())
        found = sorted(_renamed(found, is_late), key=lambda one: one.path)
        files = [self._told(one, is_late) for one in found[:most]]
        if any(one.note == LATE for one in files):
            notes.append(LATE)
            files = [replace(one, note="") if one.note == LATE else one for one in files]
        modules = list(self._modules(roots))
        both = sorted([*files, *modules], key=lambda one: one.path)
        return both[:most], len(found) + len(modules) - len(both[:most])

    def _found(self, path: bytes, is_late: Callable[[], bool]) -> _Found | None:
        """Return both sides of a path; None where they are the same."""
        if is_late():
            return self._unread(path)
        now = self.now(path)
        before = self._before(path, now)
        return None if _is_same(before, now) else _Found(path, before, now)

    def _unread(self, path: bytes) -> _Found | None:
        text = path_text(path)
        blob = self._objects.at(self._head, path)
        was = self._pair.before.get(text)
        is_there = was != DELETED if was is not None else blob is not None
        is_now = self._pair.now.get(text, "?") != DELETED
        mode = blob.mode if blob is not None else PLAIN
        if not is_there and not is_now:
            return None
        late, nothing = FileSide(None, mode, LATE), FileSide(_NOTHING, 0)
        return _Found(path, late if is_there else nothing, late if is_now else nothing)

    def _told(self, one: _Found, is_late: Callable[[], bool]) -> ChangedFile:
        old, new = one.old, one.new
        added: int | None = None
        removed: int | None = None
        note = old.note or new.note
        is_binary = False
        if old.content is not None and new.content is not None:
            contents, note = lined(old.content, new.content, note)
            is_binary = any(side.is_binary for side in contents)
            if max(len(side.data) for side in contents) > limits.MAX_DIFF_BYTES:
                note = note or LARGE
            elif is_late():
                note = note or LATE
            elif not is_binary:
                changes, is_whole = line_changes(contents[0].lines, contents[1].lines, is_late)
                added, removed = counted(changes)
                note = note or ("" if is_whole else NOT_LINED)
        return self._file(one, added, removed, note, is_binary=is_binary)

    def _file(
        self, one: _Found, added: int | None, removed: int | None, note: str, *, is_binary: bool
    ) -> ChangedFile:
        old, new = one.old, one.new
        state: ChangeState
        if one.former:
            state = "renamed"
        elif not old.mode:
            state = "added"
        elif not new.mode:
            state = "removed"
        else:
            is_same = _is_same(old._replace(mode=new.mode), new)
            state = "mode" if is_same else "modified"
        return ChangedFile(
            self._pair.root,
            path_text(one.path),
            state,
            added,
            removed,
            path_text(one.former) if one.former else "",
            mode_text(old.mode),
            mode_text(new.mode),
            is_binary,
            note,
            state_id=state_of(new) or self._named(one.path),
            old_state_id=state_of(old),
        )

    def _named(self, path: bytes) -> str:
        """Return what names the present state of a file that was not read here."""
        content = self._pair.now.get(path_text(path))
        return state_id(content) if content is not None else ""

    def _modules(self, roots: list[str]) -> Iterator[ChangedFile]:
        """Yield the submodules of which another commit is checked out."""
        prefix = self._repository.root + b"/"
        for root in sorted(roots):
            inner = path_bytes(root)
            if not inner.startswith(prefix):
                continue
            path = inner[len(prefix) :]
            blob = self._objects.at(self._head, path)
            found = repository_at(inner)
            if blob is None or blob.mode != MODULE or found is None:
                continue
            commit = found.commit(found.config())
            if commit is not None and commit != blob.oid.hex():
                note = f"commit {blob.oid.hex()[:10]} → {commit[:10]}"
                yield ChangedFile(
                    self._pair.root,
                    path_text(path),
                    "submodule",
                    old_mode=mode_text(MODULE),
                    mode=mode_text(MODULE),
                    note=note,
                )

    # One file

    def lines(self, file: FilePlace, is_late: Callable[[], bool]) -> FolderCompared:
        """Compare one file by its lines. Only what is in a state or a tree is read."""
        path, former = path_bytes(file.path), path_bytes(file.old_path)
        found_sides = self.sides(path, former)
        if found_sides is None:
            return FolderCompared(fault="it is not changed")
        before, now = found_sides
        one = _Found(path, before, now, former)
        old, new = before.content, now.content
        note = before.note or now.note
        notes = [note] if note else []
        if old is None or new is None:
            told = self._file(one, None, None, note, is_binary=False)
            return FolderCompared((told,), notes=tuple(notes))
        if _is_same(before, now) and not former:
            return FolderCompared(fault="it is not changed")
        shown, text = lined(old, new, note)
        if text and not note:
            notes.append(text)
        is_binary = any(side.is_binary for side in shown)
        if max(len(old.data), len(new.data)) > limits.MAX_DIFF_BYTES:
            told = self._file(one, None, None, LARGE, is_binary=is_binary)
            return FolderCompared((told,), notes=(*notes, LARGE))
        sides = (old, new) if file.as_patch else shown
        olds, news = (side.lines for side in sides)
        changes, is_whole = ([], True) if is_binary else line_changes(olds, news, is_late)
        if not is_whole:
            notes.append(NOT_LINED)
        added, removed = (None, None) if is_binary else counted(changes)
        told = self._file(one, added, removed, text, is_binary=is_binary)
        if file.as_patch:
            whole = patch(path, old, new, changes, former)
            if len(msgspec.json.encode(whole)) > _PATCH_BYTES:
                return FolderCompared((told,), notes=(*notes, LARGE))
            return FolderCompared((told,), notes=tuple(notes), patch=whole)
        found, left_out = hunks(olds, news, changes)
        if left_out:
            notes.append(f"{left_out:,} more lines are not shown")
        return FolderCompared((told,), notes=tuple(notes), hunks=tuple(found))

    def _is_known(self, path: bytes) -> bool:
        text = path_text(path)
        if text in self._pair.now or text in self._pair.before:
            return True
        if self._pair.head and self._pair.head == self._pair.now_head:
            return False  # the same in both, which may be another content than the trees'
        return any(self._objects.at(tree, path) for tree in {self._head, self._pair.now_head})

    def sides(self, path: bytes, former: bytes = b"") -> tuple[FileSide, FileSide] | None:
        """Return what a file was and is; None where it is in neither a state nor a tree, and where
        the states do not differ in it."""
        if not self._is_known(path) or (former and not self._is_known(former)):
            return None
        now = self.now(path)
        return self._before(former or path, now), now

    @property
    def has_filters(self) -> bool:
        """Whether git has filters here which change files as it writes them into the folder."""
        return self._config.has_filters()

    def checked_out_size(self, path: bytes, oid: str) -> int | None:
        """Return how many bytes the object `oid` had as a file when git wrote it or read it last;
        None where its index does not have that."""
        entry = self._index.get(path)
        return entry.size or None if entry is not None and entry.oid.hex() == oid else None

    # Both sides

    def _before(self, path: bytes, now: FileSide) -> FileSide:
        state = self._pair.before.get(path_text(path))
        blob = self._objects.at(self._head, path)
        if state is None:
            return self._of_tree(blob)
        if state == DELETED:
            return FileSide(_NOTHING, 0)
        digest, *kinds = state.split(" ")
        mode = PROGRAM if "+x" in kinds else LINK if "link" in kinds else PLAIN
        if not state.startswith(UNREAD):
            if now.content is not None and _sha(now.content.data) == digest:
                return FileSide(Content(now.content.data, mode, now.content.oid), mode)
            for known in (blob, self._newest(path), self._staged(path)):
                data = self._data(known) if known is not None else None
                if known is not None and data is not None and _sha(data) == digest:
                    return FileSide(Content(data, mode, known.oid.hex()), mode)
        kept = self._of_tree(blob)  # its own mode stays 0 where the tree has no such file
        return kept._replace(mode=mode, note=kept.note or DIRTY)

    def _of_tree(self, blob: Blob | None) -> FileSide:
        if blob is None:
            return FileSide(_NOTHING, 0)
        if blob.mode == MODULE:
            return FileSide(None, MODULE, "it was a submodule")
        try:
            data = self._objects.content(blob.oid)
        except RepositoryError as error:
            return FileSide(None, blob.mode, str(error))
        return FileSide(Content(data, blob.mode, blob.oid.hex()), blob.mode)

    def _data(self, blob: Blob) -> bytes | None:
        side = self._of_tree(blob)
        return side.content.data if side.content is not None else None

    def _newest(self, path: bytes) -> Blob | None:
        """Return what HEAD has of a path: an earlier content may be committed by now."""
        try:
            return self._objects.at(self._newest_tree, path)
        except RepositoryError:
            return None  # the earlier content stays unknown

    @cached_property
    def _newest_tree(self) -> str:
        return self._repository.head(self._config)

    def _staged(self, path: bytes) -> Blob | None:
        entry = self._index.get(path)
        return Blob(entry.mode, entry.oid) if entry is not None and entry.oid else None

    @cached_property
    def _index(self) -> Mapping[bytes, StagedFile]:
        try:
            return self._repository.index(self._config).entries
        except RepositoryError:
            return {}  # a broken index has no contents; the look says that it is broken

    def now(self, path: bytes) -> FileSide:
        """Read what is in the work tree. No folder on the way may be a link."""
        *folders, name = path.split(b"/")
        if {b"", b".", b"..", b".git"} & {*folders, name}:
            return FileSide(None, PLAIN, NO_FILE)
        parent = os.dup(self.root)
        try:
            for folder in folders:
                inner = os.open(folder, _FOLDER, dir_fd=parent)
                os.close(parent)
                parent = inner
            return self.read_in(parent, name)
        except (FileNotFoundError, NotADirectoryError):
            return FileSide(_NOTHING, 0)
        except (OSError, ValueError):
            return FileSide(None, PLAIN, "it cannot be read")
        finally:
            os.close(parent)

    def read_in(self, parent: int, name: bytes) -> FileSide:
        """Read a file of an open folder."""
        try:
            info = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(info.st_mode):
                target = os.readlink(name, dir_fd=parent)
                return FileSide(self._content(target, LINK), LINK)
            if stat.S_ISDIR(info.st_mode):
                return FileSide(_NOTHING, 0)
            if not stat.S_ISREG(info.st_mode):
                return FileSide(_NOTHING, 0, NO_FILE)
            fd = os.open(name, _FILE, dir_fd=parent)
        except (FileNotFoundError, NotADirectoryError):
            return FileSide(_NOTHING, 0)
        except (OSError, ValueError):
            return FileSide(None, PLAIN, "it cannot be read")
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return FileSide(_NOTHING, 0, NO_FILE)
            mode = PROGRAM if info.st_mode & 0o100 else PLAIN
            if info.st_size > HASH_BYTES:
                return FileSide(None, mode, LARGE)
            return FileSide(self._content(read_up_to(fd, HASH_BYTES), mode), mode)
        except OSError:
            return FileSide(None, PLAIN, "it cannot be read")
        finally:
            os.close(fd)

    def _content(self, data: bytes, mode: int) -> Content:
        return Content(data, mode, object_name(data, self._config.hash_name).hex())


def _is_same(before: FileSide, now: FileSide) -> bool:
    """Return whether nothing changed; False where what was there before is not known."""
    if before.content is None or now.content is None or before.note == DIRTY:
        return False
    return before.content.data == now.content.data and before.mode == now.mode


def lined(old: Content, new: Content, note: str) -> tuple[tuple[Content, Content], str]:
    """Return two contents as they are compared by lines, and what is to be said of that."""
    if old.data.startswith(POINTER) and not new.data.startswith(POINTER) and new.mode:
        return (Content(b"\0", old.mode), new), note or FROM_LFS
    if old.data and b"\r\n" in new.data and b"\r\n" not in old.data:
        same = new.data.replace(b"\r\n", b"\n")
        if same != old.data:
            return (old, Content(same, new.mode)), note or ENDS
    return (old, new), note


def state_of(side: FileSide) -> str:
    """Return what names the state of a file that was read; "" of another one."""
    if side.content is None:
        return ""
    if not side.mode:
        return state_id(DELETED)
    kind = {PROGRAM: " +x", LINK: " link"}.get(side.mode, "")
    return state_id(_sha(side.content.data) + kind)


# Notes


def note_changes(
    pairs: tuple[StatePair, ...], notes: Sequence[ChangeNote], is_late: Callable[[], bool]
) -> tuple[NoteChange, ...]:
    """Return what became of the lines that notes are on; of all of them, or of none where that
    cannot be found out."""
    found: dict[str, NoteChange] = {}
    for pair in pairs:
        own = [note for note in notes if note.root == pair.root]
        try:
            with opened(pair) as comparison:
                for path in {note.path for note in own}:
                    if is_late():
                        return ()
                    now = comparison.now(path_bytes(path))
                    on_it = [note for note in own if note.path == path]
                    found |= {note.id: _note_change(note, now) for note in on_it}
        except (RepositoryError, OSError, ValueError):
            return ()
    return tuple(found.get(note.id, note.change) for note in notes)


def _note_change(note: ChangeNote, now: FileSide) -> NoteChange:
    if now.content is None:
        return note.change
    if not now.mode:
        return "gone"
    if not note.told_at:
        return ""
    if note.lines is None or note.side == "old" or not note.quote:
        return "changed" if state_of(now) != note.state_id else ""
    quoted = note.quote.split("\n")
    shown = lines_shown(now.content.lines)
    first = max(0, note.lines.first - 1 - _NEAR)
    for at in range(first, min(len(shown), note.lines.first + _NEAR)):
        there = shown[at : at + len(quoted)]
        # The last line of a quote may be cut.
        if there[:-1] == quoted[:-1] and there[-1].startswith(quoted[-1]):
            is_cut = len(note.quote) >= limits.MAX_NOTE_QUOTE
            if len(there) == len(quoted) and (is_cut or there[-1] == quoted[-1]):
                return ""
    return "changed"


# Renames


def _renamed(found: list[_Found], is_late: Callable[[], bool]) -> list[_Found]:
    """Put files that are gone and those that came together: of the same content, then of lines that
    are mostly the same."""
    gone = [
        one for one in found if one.old.content is not None and one.old.mode and not one.new.mode
    ]
    come = [
        one for one in found if one.new.content is not None and one.new.mode and not one.old.mode
    ]
    pairs: dict[bytes, _Found] = {}
    by_oid: dict[str, list[_Found]] = {}
    for one in reversed(gone):
        if one.old.content is not None and one.old.content.data:
            by_oid.setdefault(one.old.content.oid, []).append(one)
    for one in come:
        assert one.new.content is not None
        if same := by_oid.get(one.new.content.oid):
            pairs[one.path] = same.pop()
    taken = {one.path for one in pairs.values()}
    _alike([one for one in gone if one.path not in taken],
           [one for one in come if one.path not in pairs], pairs, is_late)  # fmt: skip
    taken = {one.path for one in pairs.values()}
    return [
        one._replace(old=pairs[one.path].old, former=pairs[one.path].path)
        if one.path in pairs
        else one
        for one in found
        if one.path not in taken
    ]


def _alike(
    gone: list[_Found], come: list[_Found], pairs: dict[bytes, _Found], is_late: Callable[[], bool]
) -> None:
    """Add pairs of files that are alike by their lines, each to the one that is most so."""
    olds = [(one, lines) for one in gone[:_MOST_ALIKE] if (lines := _weighed(one.old.content))]
    news = [(one, lines) for one in come[:_MOST_ALIKE] if (lines := _weighed(one.new.content))]
    scored = []
    for new, new_lines in news:
        if is_late():
            return
        for old, old_lines in olds:
            most = max(old_lines.total(), new_lines.total())
            if min(old_lines.total(), new_lines.total()) >= _ALIKE * most:
                score = (old_lines & new_lines).total() / most
                if score >= _ALIKE:
                    scored.append((-score, new.path, old.path, old))
    taken: set[bytes] = set()
    for _, path, former, old in sorted(scored, key=lambda one: one[:3]):
        if path not in pairs and former not in taken:
            pairs[path] = old
            taken.add(former)


def _weighed(content: Content | None) -> Counter[bytes]:
    """Return the bytes that each line of a content makes."""
    if content is None or content.mode == LINK or len(content.data) > _ALIKE_BYTES:
        return Counter()
    if content.is_binary:
        return Counter()
    return Counter({line: len(line) * count for line, count in Counter(content.lines).items()})


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
