"""Where functions of a provider are that have not returned: for the words of a test that failed."""

import asyncio
import sys
import threading
import traceback
from types import FrameType

_MOST = 5
"""Functions that are named."""
_THREAD = "tool "
"""How the names of the threads begin in which functions run."""
_OURS = ("tapui.testing", "tapui.provider", "asyncio", "threading", "queue", "pytest_asyncio")
"""Modules whose lines tell an author nothing."""


def whereabouts() -> str:
    """Return lines that name each function that runs, and the line where it is; or nothing."""
    frames = sys._current_frames()  # noqa: SLF001 - the one way to another thread's stack
    found = [
        (f"thread '{thread.name}'", _own(frames.get(thread.ident or 0)))
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
        where = _own(getattr(work, "cr_frame", None)) or where
        work = getattr(work, "cr_await", None)
    return where


def _own(frame: FrameType | None) -> str | None:
    """Return the innermost line of the author's own code in a stack, or None."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not module.startswith(_OURS):
            summary = traceback.extract_stack(frame, limit=1)[0]
            return f"{summary.filename}:{summary.lineno} in {summary.name}: {summary.line}"
        frame = frame.f_back
    return None
