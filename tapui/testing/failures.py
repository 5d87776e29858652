"""What the kit logs as errors while a test runs: exceptions of the author's functions."""

import logging
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context

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
        """Take a record."""
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
    """Let it have nothing more."""
    _handler.takers.remove(take)
    if not _handler.takers:
        _log.removeHandler(_handler)
