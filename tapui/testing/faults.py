"""What fails a test: refusals of the gateway, exceptions of functions, missing answers."""

import asyncio
import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context

from tapui.provider.loop_watch import own_line
from tapui.text import safe_text
from tapui.wire.message import Error

_MOST_NOTES = 10
"""Other faults that are noted with the first."""


class ProviderFault(AssertionError):  # noqa: N818 - a failed test shows this name
    """The provider did something that its users would suffer from."""


class CallFailed(AssertionError):  # noqa: N818 - likewise
    """The test read the data of a call that has none: it failed."""


class NoAnswer(AssertionError):  # noqa: N818 - likewise
    """Something that the test waits for has not come within its patience."""


class Faults:
    """Keeps what went wrong until the test comes by, and fails it then."""

    def __init__(self) -> None:
        self._found: list[ProviderFault] = []

    def refused(self, error: Error) -> None:
        what = f"its {error.reply_to}" if error.reply_to else "a message of it"
        self.add(f"the gateway refused {what}: {error.code}: {safe_text(error.message)}")

    def add(self, words: str, cause: BaseException | None = None) -> None:
        fault = ProviderFault(words)
        fault.__cause__ = cause
        self._found.append(fault)

    def take(self) -> list[ProviderFault]:
        found, self._found = self._found, []
        return found

    def check(self) -> None:
        """Raise the first fault; the others are noted with it."""
        found = self.take()
        if found:
            others = Counter(str(other) for other in found[1:])
            for words, times in others.most_common(_MOST_NOTES):
                found[0].add_note(f"and: {words}" + (f" ({times} times)" if times > 1 else ""))
            raise found[0]


def in_a_line(error: BaseException) -> str:
    """Return an exception as the last line of its traceback has it, and what it came from."""
    line = traceback.format_exception_only(error)[0].strip()
    return line if error.__cause__ is None else f"{line} ({in_a_line(error.__cause__)})"


Take = Callable[[str, BaseException | None, str | None], None]
"""Takes what was logged: the words, the exception, and the id of the call that it ended."""

_log = logging.getLogger("tapui.provider")
_own: ContextVar[Take | None] = ContextVar("tapui_test", default=None)
"""What takes the failures of the tasks of one test."""


class FailureHandler(logging.Handler):
    """Hands errors of the kit to the test in which they happened.

    What comes from a thread may be any test's that is under way: each of them takes it.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.takers: list[Take] = []

    def emit(self, record: logging.LogRecord) -> None:
        own = _own.get()
        error = record.exc_info[1] if record.exc_info else None
        for take in [own] if own is not None else list(self.takers):
            take(record.getMessage(), error, getattr(record, "call_id", None))


_handler = FailureHandler()


def begin_taking(take: Take) -> Context:
    """Let `take` have what fails from now on, in tasks of the context that is returned, and in
    threads."""
    if not _handler.takers:
        _log.addHandler(_handler)
    _handler.takers.append(take)
    context = copy_context()
    context.run(_own.set, take)
    return context


def end_taking(take: Take) -> None:
    _handler.takers.remove(take)
    if not _handler.takers:
        _log.removeHandler(_handler)


_MOST = 5
"""Functions that are named."""
_THREAD = "tool "
"""How the names of the threads begin in which functions run."""


def whereabouts() -> str:
    """Return lines that name each function that runs, and the line where it is; or nothing."""
    frames = sys._current_frames()  # noqa: SLF001 - the one way to another thread's stack
    found = [
        (f"thread '{thread.name}'", own_line(frames.get(thread.ident or 0)))
        for thread in threading.enumerate()
        if thread.name.startswith(_THREAD)
    ]
    found += [
        (f"task '{task.get_name()}'", _awaiting(task.get_coro()))
        for task in asyncio.all_tasks()
        if task is not asyncio.current_task()
    ]
    lines = [f"\n  {who} is at {where}" for who, where in found if where]
    return "".join([":" if lines else "", *lines[:_MOST]])


def _awaiting(work: object) -> str | None:
    """Return the innermost line of the author's own code at which a coroutine waits, or None."""
    where = None
    while work is not None:
        where = own_line(getattr(work, "cr_frame", None)) or where
        work = getattr(work, "cr_await", None)
    return where
