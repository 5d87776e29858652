"""Effects that need the disk: carried out off the loop, their outcome goes into the core.

Results that providers leave in files are copied into the session's folder before they count
(Provider Interface v2 "Payload limits"): the provider may delete or change its file after `ttl`.
The copy is the session's own, beside its records, and is counted and dropped with them.
"""

import asyncio
import contextlib
import errno
import logging
import os
import re
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from tapui.core.effects import (
    AskRecords,
    Copied,
    CopyFile,
    Effect,
    MakeDurable,
    MakePersistDir,
    NotCopied,
    ReadRecords,
    ReadRules,
    RecordsFound,
    RecordsRead,
)
from tapui.files.locked_folder import FILE_MODE, FOLDER_MODE, folder_name
from tapui.policies.rule_reader import FolderRules
from tapui.records import lookup
from tapui.records.journal import Journal
from tapui.records.record_file import RESULTS_FOLDER
from tapui.runtime.tasks import in_thread
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.errors import CallError
from tapui.wire.surrogates import without_surrogates

_log = logging.getLogger(__name__)

DiskEffect = MakeDurable | MakePersistDir | CopyFile | ReadRecords | AskRecords | ReadRules
_ASKING = 2
"""Questions that are answered at once, each by a process of its own."""
_NO_ANSWER = RecordsFound(fault="the records cannot be asked (see the log)")
_UNREADABLE = RecordsRead([], "the records cannot be read (see the log)")
_NOT_COPIED = NotCopied(CallError.INTERNAL, "file.path: it could not be copied")
ReadFolder = Callable[[str], FolderRules]
"""Reads the rules that the files of a folder add; it never raises for what it finds there."""
_BLOCK = 1024 * 1024
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY
_SOURCE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_TARGET_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


def no_folder_rules(cwd: str) -> FolderRules:
    """Return no rules, for a gateway whose folders have none."""
    return FolderRules(cwd, cwd)


class DiskWork:
    """Carries out effects on the journal's disk.

    `answer` hands the core an effect's answer, `warn` every tower a line. `persist_dir` makes the
    folder of a provider's files. `begin` may raise; `failed` then answers.
    """

    def __init__(
        self,
        journal: Journal,
        loop: asyncio.AbstractEventLoop,
        *,
        answer: Callable[[int, object], None],
        warn: Callable[[str], None],
        persist_dir: Callable[[str], Path],
        folder_rules: ReadFolder,
    ) -> None:
        self._journal = journal
        self._loop = loop
        self._answer = answer
        self._warn = warn
        self._persist_dir = persist_dir
        self._folder_rules = folder_rules
        self._asking: ThreadPoolExecutor | None = None
        self._copies_fail = False
        """Results could not be copied, which was told."""

    def begin(self, effect: DiskEffect) -> None:
        match effect:
            case MakeDurable():
                self._make_durable(effect)
            case MakePersistDir():
                self._make_persist_dir(effect.provider)
            case CopyFile():
                self._copy_file(effect)
            case ReadRecords():
                self._read_records(effect)
            case AskRecords():
                self._ask_records(effect)
            case ReadRules():
                self._read_rules(effect)

    def failed(self, effect: Effect) -> None:
        """An effect could not begin: answer it."""
        match effect:
            case MakeDurable():
                self._answer(effect.ticket, False)
            case CopyFile():
                self._file_copied(effect, _NOT_COPIED)
            case ReadRecords():
                self._answer(effect.ticket, _UNREADABLE)
            case AskRecords():
                self._answer(effect.ticket, _NO_ANSWER)
            case ReadRules():
                self._answer(effect.ticket, no_folder_rules(effect.cwd))

    def _make_durable(self, effect: MakeDurable) -> None:
        def done(is_ok: bool) -> None:
            try:
                self._loop.call_soon_threadsafe(self._answer, effect.ticket, is_ok)
            except RuntimeError:
                _log.debug("a record became durable after the loop had closed")

        self._journal.sync(frozenset({effect.seq}), done)

    def _make_persist_dir(self, provider: str) -> None:
        try:
            self._persist_dir(provider)
        except OSError as error:
            self._warn(
                f"{safe_text(str(error.filename or ''))}: {error.strerror}; provider "
                f"'{safe_text(provider)}' has no folder for its files"
            )

    def _copy_file(self, effect: CopyFile) -> None:
        target = self._journal.open_folder(effect.session_id)
        copy = partial(copied, effect, target, time.monotonic())

        in_thread(
            self._loop,
            copy,
            partial(self._file_copied, effect),
            otherwise=lambda: _NOT_COPIED,
            about=effect,
        )

    def _file_copied(self, effect: CopyFile, copied: Copied | NotCopied) -> None:
        if isinstance(copied, Copied):
            self._copies_fail = False
            self._journal.trim(effect.session_id)
        elif copied.is_ours and not self._copies_fail:
            self._copies_fail = True
            self._warn(safe_text(copied.text))
        self._answer(effect.ticket, copied)

    def _read_records(self, effect: ReadRecords) -> None:
        folder = self._journal.folder_of(effect.session_id)
        run = self._journal.run

        def read() -> RecordsRead:
            try:
                return RecordsRead(lookup.find(folder, run, effect))
            except OSError as error:
                return RecordsRead([], f"the records cannot be read: {error.strerror}")

        in_thread(
            self._loop,
            read,
            partial(self._answer, effect.ticket),
            otherwise=lambda: _UNREADABLE,
            about=effect,
        )

    def _ask_records(self, effect: AskRecords) -> None:
        state = self._journal.state_dir

        def ask() -> RecordsFound:
            from tapui.index.asking import QuestionRefused, ask_records
            from tapui.index.search import standing

            if effect.query is None:
                return RecordsFound(msgspec.to_builtins(standing(state)))
            query = {"session": effect.session_id} | msgspec.to_builtins(effect.query)
            try:
                return RecordsFound(ask_records(state, query))
            except QuestionRefused as refused:
                return RecordsFound(fault=str(refused))

        if self._asking is None:
            self._asking = ThreadPoolExecutor(_ASKING, "questions")
        in_thread(
            self._loop,
            ask,
            partial(self._answer, effect.ticket),
            otherwise=lambda: _NO_ANSWER,
            about=effect,
            executor=self._asking,
        )

    def close(self) -> None:
        """Begin no answer any more."""
        if self._asking is not None:
            self._asking.shutdown(wait=False, cancel_futures=True)

    def _read_rules(self, effect: ReadRules) -> None:
        def without() -> FolderRules:
            self._warn(f"the rules of {safe_text(effect.cwd)} cannot be read (see the log)")
            return no_folder_rules(effect.cwd)  # the session goes on without them

        in_thread(
            self._loop,
            partial(self._folder_rules, effect.cwd),
            partial(self._answer, effect.ticket),
            otherwise=without,
            about=effect,
        )


def copied(effect: CopyFile, target: tuple[int, Path] | None, asked: float) -> Copied | NotCopied:
    """Copy a provider's file into the folder `target`: an open descriptor, closed here, and path.

    `asked` is when the result came, in seconds of the steady clock. Blocks; never raises.
    """
    if target is None:
        return _not_copied("the session's folder cannot be written")
    folder, path = target
    try:
        if effect.ttl is not None and time.monotonic() > asked + effect.ttl:
            return _not_copied("its ttl was over before it could be read")
        return _copy(effect, folder, path)
    except OSError as error:
        text = f"file: it could not be copied to {path / RESULTS_FOLDER}: {error.strerror}"
        return NotCopied(CallError.INTERNAL, without_surrogates(text), is_ours=True)
    except Exception:  # noqa: BLE001 - logged; the call must have its outcome
        _log.exception("the file of a result could not be copied")
        return _not_copied("it could not be copied")
    finally:
        os.close(folder)


def _copy(effect: CopyFile, folder: int, path: Path) -> Copied | NotCopied:
    """Copy the file into `results/` of the open `folder`, which is at `path`.

    The file is opened once, no link on the way from the provider's folder is followed, and what is
    checked is what was opened. Raises `OSError` when the copy cannot be written.
    """
    try:
        source = _open_source(effect.path, effect.folder)
    except OSError as error:
        return _not_copied(error.strerror or "cannot be opened")
    try:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode):
            return _not_copied("not a regular file")
        if status.st_size > limits.MAX_FILE_BYTES:
            return _too_large()
        extension = _EXTENSION.search(effect.path)
        name = folder_name(effect.name) + (extension[0] if extension else "")
        place = str(path / RESULTS_FOLDER / name)
        try:
            place.encode()
        except UnicodeEncodeError:
            return _not_copied("the session's folder has a name that is not UTF-8")
        size = _copy_to(source, folder, name)
    finally:
        os.close(source)
    return _too_large() if size is None else Copied(place, size)


def _open_source(path: str, folder: str) -> int:
    """Open a file below the provider's folder; raises `OSError`."""
    if "\0" in path or not path.startswith("/") or path != without_surrogates(path):
        raise OSError(errno.EINVAL, "not an absolute path")
    base = next(
        (one for one in (folder, os.path.realpath(folder)) if path.startswith(f"{one}/")), None
    )
    parts = [] if base is None else path[len(base) + 1 :].split("/")
    if not parts or {"", ".", ".."} & set(parts):
        raise OSError(errno.EINVAL, "not inside the provider's persistDir")
    parent = os.open(folder, _FOLDER_FLAGS)
    try:
        for part in parts[:-1]:
            child = os.open(part, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = child
        return os.open(parts[-1], _SOURCE_FLAGS, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(error.errno, "a link, or not inside the provider's persistDir") from None
        raise
    finally:
        os.close(parent)


def _copy_to(source: int, folder: int, name: str) -> int | None:
    """Write the copy; return its size, or None when the file grew over the limit meanwhile."""
    with contextlib.suppress(FileExistsError):  # made for a result before
        os.mkdir(RESULTS_FOLDER, FOLDER_MODE, dir_fd=folder)
    results = os.open(RESULTS_FOLDER, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    try:
        target = os.open(name, _TARGET_FLAGS, FILE_MODE, dir_fd=results)
        size: int | None = 0
        try:
            size = _pump(source, target)
        except OSError:
            os.unlink(name, dir_fd=results)
            raise
        finally:
            os.close(target)
        if size is None:
            os.unlink(name, dir_fd=results)
        return size
    finally:
        os.close(results)


def _pump(source: int, target: int) -> int | None:
    size = 0
    while block := os.read(source, _BLOCK):
        size += len(block)
        if size > limits.MAX_FILE_BYTES:
            return None
        rest = memoryview(block)
        while rest:
            rest = rest[os.write(target, rest) :]
    return size


def _too_large() -> NotCopied:
    most = limits.MAX_FILE_BYTES
    return NotCopied(CallError.PAYLOAD_TOO_LARGE, f"file: a result has at most {most} bytes")


def _not_copied(text: str) -> NotCopied:
    return NotCopied(CallError.INTERNAL, f"file.path: {text}")
