"""Where functions of a provider are that have not returned: for the words of a test that failed."""

import asyncio
import sys
import threading

from tapui.provider.loop_watch import own_line

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
