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
)
from tapui.core.gateway import Gateway
from tapui.policies.reading import FolderRules
from tapui.records import lookup
from tapui.records.journal import Journal
from tapui.runtime import files
from tapui.runtime.tasks import in_thread
from tapui.text import safe_text
from tapui.wire.errors import CallError
from tapui.wire.events import Entry

_log = logging.getLogger(__name__)

DiskEffect = MakeDurable | MakePersistDir | CopyFile | ReadRecords | ReadRules
_Read = tuple[list[Entry], str | None]
"""Events as the records have them, and why they could not be read."""
_UNREADABLE: _Read = ([], "the records cannot be read (see the log)")
_NOT_COPIED = NotCopied(CallError.INTERNAL, "file.path: it could not be copied")
ReadFolder = Callable[[str], FolderRules]
"""Reads the rules that the files of a folder add; it never raises for what it finds there."""


def no_folder_rules(cwd: str) -> FolderRules:
    """Return no rules, for a gateway whose folders have none."""
    return FolderRules(cwd, cwd)


class DiskWork:
    """Carries out effects on the journal's disk.

    `into_core` has the core take an outcome, with the time; `warn` tells every tower a line.
    `persist_dir` makes the folder of a provider's files. `begin` may raise; `failed` then answers.
    """

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        loop: asyncio.AbstractEventLoop,
        *,
        into_core: Callable[[Callable[[float], None]], None],
        warn: Callable[[str], None],
        persist_dir: Callable[[str], Path],
        folder_rules: ReadFolder,
    ) -> None:
        self._gateway = gateway
        self._journal = journal
        self._loop = loop
        self._into_core = into_core
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
        """An effect could not begin: answer whoever waits for its outcome."""
        match effect:
            case MakeDurable():
                self._recorded(effect.ticket, is_ok=False)
            case CopyFile():
                self._file_copied(effect, _NOT_COPIED)
            case ReadRecords():
                self._records_read(effect, _UNREADABLE)
            case ReadRules():
                self._rules_read(effect, no_folder_rules(effect.cwd))

    def _make_durable(self, effect: MakeDurable) -> None:
        def done(is_ok: bool) -> None:
            try:
                self._loop.call_soon_threadsafe(self._recorded, effect.ticket, is_ok)
            except RuntimeError:
                _log.debug("a record became durable after the loop had closed")

        self._journal.sync(frozenset({effect.seq}), done)

    def _recorded(self, ticket: int, is_ok: bool) -> None:
        self._into_core(lambda now: self._gateway.recorded(ticket, now, is_ok=is_ok))

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
        self._into_core(lambda now: self._gateway.file_copied(effect.ticket, now, copied))

    def _read_records(self, effect: ReadRecords) -> None:
        folder = self._journal.folder_of(effect.session_id)
        run = self._journal.run

        def read() -> _Read:
            try:
                return lookup.find(folder, run, effect), None
            except OSError as error:
                return [], f"the records cannot be read: {error.strerror}"

        in_thread(
            self._loop,
            read,
            partial(self._records_read, effect),
            otherwise=lambda: _UNREADABLE,
            about=effect,
        )

    def _records_read(self, effect: ReadRecords, read: _Read) -> None:
        entries, fault = read
        self._into_core(lambda now: self._gateway.records_read(effect.ticket, now, entries, fault))

    def _read_rules(self, effect: ReadRules) -> None:
        def without() -> FolderRules:
            self._warn(f"the rules of {safe_text(effect.cwd)} cannot be read (see the log)")
            return no_folder_rules(effect.cwd)  # the session goes on without them

        in_thread(
            self._loop,
            partial(self._folder_rules, effect.cwd),
            partial(self._rules_read, effect),
            otherwise=without,
            about=effect,
        )

    def _rules_read(self, effect: ReadRules, read: FolderRules) -> None:
        self._into_core(lambda now: self._gateway.folder_rules_read(effect.ticket, read, now))
