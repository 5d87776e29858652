"""A fault beside the test's own code fails the test that caused it (`tests.rig.fault_hooks`).

Watched are: what an event loop reports to its exception handler, exceptions that nobody can catch
(`sys.unraisablehook`), exceptions that end a thread (`threading.excepthook`), and log records of
level ERROR and above. A test that provokes an error in the log names it beforehand, and fails when
it does not come:

    @pytest.mark.expects_error_log("part of the message")
    def test_…(expects_error_log):
        expects_error_log("another part")

Processes count as well: what a `tapui` of a test's own home writes to standard error and to its log
file is read at the end of the test (`follow`), and none may be left then (`left_behind`).

A test also gives back the interpreter's switch interval and the collector's settings as it found
them. Unreachable objects are collected at the end of each test, so that a task that was dropped or
a socket that was left open counts against the test that did it.
"""

import asyncio
import gc
import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.rig.left_behind import left_behind
from tests.rig.processes import files_of

MARKER = "expects_error_log"
_LOGGERS = ("", "tapui", "asyncio")
"""Where records are read; the last two should their records not reach the root logger."""

_ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\d)", re.MULTILINE)
"""Where an entry of a log file begins: with its date."""
_ERROR = re.compile(
    r"^Traceback \(most recent|^Exception ignored|^Fatal Python error|\b(?:ERROR|CRITICAL)\b",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Fault:
    """Something that went wrong beside the test's own code; `where` says who reported it."""

    where: str
    message: str
    details: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}\n{self.details}".rstrip()


class _Records(logging.Handler):
    """Takes each record once, however many loggers it passes."""

    def __init__(self, note: Callable[[Fault], None]) -> None:
        super().__init__(logging.ERROR)
        self._note = note
        self._last: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record is self._last:
            return
        self._last = record
        details = _trace(record.exc_info[1]) if record.exc_info else ""
        self._note(Fault(f"error log of {record.name!r}", record.getMessage(), details))


@dataclass(frozen=True)
class _Interpreter:
    """What belongs to the whole process and not to a test."""

    switch_interval: float
    collecting: bool
    thresholds: tuple[int, int, int]

    @classmethod
    def now(cls) -> "_Interpreter":
        return cls(sys.getswitchinterval(), gc.isenabled(), gc.get_threshold())

    def restore(self) -> None:
        sys.setswitchinterval(self.switch_interval)
        gc.set_threshold(*self.thresholds)
        (gc.enable if self.collecting else gc.disable)()


class _Followed:
    """What processes write into the files of a folder."""

    def __init__(self, folder: Path, patterns: tuple[str, ...]) -> None:
        self._folder = folder
        self._patterns = patterns
        self._read: dict[tuple[int, int], int] = {}

    def faults(self) -> list[Fault]:
        """Return the errors among what was written since the last look."""
        files = files_of(self._folder, *self._patterns)
        return [fault for file in files for fault in self._news(file)]

    def _news(self, file: Path) -> list[Fault]:
        try:
            opened = file.open("rb")
        except FileNotFoundError:
            return []  # its process has removed it meanwhile
        with opened:
            status = os.fstat(opened.fileno())
            key = (status.st_dev, status.st_ino)  # a rotated file is still the same one
            opened.seek(self._read.get(key, 0))
            text = opened.read().decode(errors="replace")
            self._read[key] = opened.tell()
        return errors_in(text, str(file))


def errors_in(text: str, where: str) -> list[Fault]:
    """Return what a process's output or log tells of errors."""
    return [Fault(where, entry) for entry in _ENTRY.split(text) if _ERROR.search(entry)]


class Watch:
    """What went wrong in the test that runs, and what it expects."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._expected: dict[str, bool] = {}
        self._interpreter = _Interpreter.now()
        self._lives_on = False
        """Whether the module has a fixture that outlives a test."""
        self._followed: dict[Path, _Followed] = {}
        self._undo: list[Callable[[], object]] = []

    def install(self) -> None:
        """Begin to watch the process."""
        unraisable, thread, freeze = sys.unraisablehook, threading.excepthook, gc.freeze
        self._freeze = freeze
        call_handler = asyncio.BaseEventLoop.call_exception_handler
        handler = _Records(self.note)

        def call_exception_handler(loop: asyncio.BaseEventLoop, context: dict[str, Any]) -> None:
            # Without a handler of its own the loop writes to the log, which is read already, and so
            # do those of tapui with what is a fault.
            handler = loop.get_exception_handler()
            if handler is not None and not handler.__module__.startswith("tapui."):
                self.note(_from_loop(context))
            call_handler(loop, context)

        # What a gateway in this process freezes would not be looked at after its test.
        gc.freeze = lambda: None
        sys.unraisablehook = lambda unraised: self.note(_from_unraisable(unraised))
        threading.excepthook = lambda ended: self.note(_from_thread(ended))
        asyncio.BaseEventLoop.call_exception_handler = (  # type: ignore[method-assign]
            call_exception_handler
        )
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(handler)

        def undo() -> None:
            sys.unraisablehook, threading.excepthook, gc.freeze = unraisable, thread, freeze
            asyncio.BaseEventLoop.call_exception_handler = (  # type: ignore[method-assign]
                call_handler
            )
            for name in _LOGGERS:
                logging.getLogger(name).removeHandler(handler)

        self._undo.append(undo)

    def uninstall(self) -> None:
        """Give the process its hooks back."""
        while self._undo:
            self._undo.pop()()

    def note(self, fault: Fault) -> None:
        """Take a fault; from any thread."""
        with self._lock:
            for part in self._expected:
                if part in fault.message:
                    self._expected[part] = True
                    return
            self._faults.append(fault)

    def expect(self, part: str) -> None:
        """Let a fault pass whose message holds `part`; one must come."""
        with self._lock:
            self._expected.setdefault(part, False)

    def follow(self, folder: Path, *patterns: str) -> None:
        """Read the files of `folder` that match, and those that will, at the end of each test."""
        self._followed.setdefault(folder, _Followed(folder, patterns))

    def look(self) -> None:
        """Read the files that are followed."""
        for folder, followed in list(self._followed.items()):
            for fault in followed.faults():
                self.note(fault)
            if not folder.exists():
                del self._followed[folder]

    def begin(self, item: pytest.Item) -> None:
        """Begin a test."""
        self._interpreter = _Interpreter.now()
        with self._lock:
            self._expected.clear()
        for mark in item.iter_markers(MARKER):
            for part in mark.args:
                self.expect(part)

    def skipped(self) -> None:
        """Expect nothing of a test that does not run."""
        with self._lock:
            self._expected.clear()

    def check(self) -> None:
        """Fail if something went wrong since the last look."""
        self.look()
        with self._lock:
            faults, self._faults = self._faults, []
        if faults:
            pytest.fail("\n\n".join(map(str, faults)), pytrace=False)

    def outlives(self) -> None:
        """A fixture of the module, or of a class, was set up."""
        self._lives_on = True

    def end(self, *, ends_module: bool, ends_all: bool) -> None:
        """End a test that has left nothing behind; fail if it has.

        After the last test of its module, what lived as long as the module is looked at, too.
        """
        left = _Interpreter.now()
        self._interpreter.restore()
        self._collect(everything=ends_all or (ends_module and self._lives_on))
        self._lives_on = self._lives_on and not ends_module
        for process in left_behind():
            self.note(Fault("processes", f"left behind: {process}"))
        self.check()
        with self._lock:
            missing = [part for part, came in self._expected.items() if not came]
            self._expected.clear()
        if missing:
            pytest.fail(f"no error in the log holds: {', '.join(missing)}", pytrace=False)
        if left != self._interpreter:
            pytest.fail(f"left behind: {left}\ninstead of: {self._interpreter}", pytrace=False)

    def _collect(self, *, everything: bool) -> None:
        """Collect what the test has dropped.

        What was there before it (modules, most of all) is frozen, so that this takes milliseconds
        and not half a second. With `everything`, that is looked through as well.
        """
        if everything:
            gc.unfreeze()
        if gc.collect():
            gc.collect()  # what a finalizer dropped
        self._freeze()


def _trace(error: BaseException | None) -> str:
    return "" if error is None else "".join(traceback.format_exception(error))


def _from_loop(context: dict[str, Any]) -> Fault:
    named = {key: value for key, value in context.items() if key not in {"message", "exception"}}
    details = [f"{key}: {value!r}\n" for key, value in named.items()]
    return Fault(
        "event loop",
        str(context.get("message", "")),
        "".join(details) + _trace(context.get("exception")),
    )


def _from_unraisable(unraised: "sys.UnraisableHookArgs") -> Fault:
    # The object itself is not kept: that would bring it back to life.
    message = f"{unraised.err_msg or 'Exception ignored in'}: {unraised.object!r}"
    return Fault("unraisable exception", message, _trace(unraised.exc_value))


def _from_thread(ended: "threading.ExceptHookArgs") -> Fault:
    name = ended.thread.name if ended.thread is not None else "?"
    return Fault("thread", f"{name} ended by {ended.exc_value!r}", _trace(ended.exc_value))


watch = Watch()
note, follow, look = watch.note, watch.follow, watch.look
