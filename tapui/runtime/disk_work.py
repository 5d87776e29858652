"""Effects that need the disk: carried out off the loop, their outcome goes into the core."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tapui.core.effects import (
    Copied,
    CopyFile,
    Effect,
    MakeDurable,
    MakePersistDir,
    NotCopied,
    ReadRecords,
    ReadRules,
    RecordsRead,
)
from tapui.policies.reading import FolderRules
from tapui.records import lookup
from tapui.records.journal import Journal
from tapui.runtime import files
from tapui.runtime.tasks import in_thread
from tapui.text import safe_text
from tapui.wire.errors import CallError

_log = logging.getLogger(__name__)

DiskEffect = MakeDurable | MakePersistDir | CopyFile | ReadRecords | ReadRules
_UNREADABLE = RecordsRead([], "the records cannot be read (see the log)")
_NOT_COPIED = NotCopied(CallError.INTERNAL, "file.path: it could not be copied")
ReadFolder = Callable[[str], FolderRules]
"""Reads the rules that the files of a folder add; it never raises for what it finds there."""


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
        copy = partial(files.copied, effect, target, time.monotonic())

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
