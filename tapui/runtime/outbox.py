"""The writes of one turn of the event loop: collected, then one write per connection."""

import asyncio
import logging
from typing import Protocol

_log = logging.getLogger(__name__)


class Writer(Protocol):
    """Something with output to write."""

    def flush(self) -> None:
        """Write what was collected."""

    def abort(self) -> None:
        """Give up: what was collected cannot be written."""


class Flusher:
    """Flushes at the end of the loop's turn whoever has something to write."""

    __slots__ = ("_due", "_loop", "_scheduled")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: list[Writer] = []
        self._scheduled = False

    def add(self, writer: Writer) -> None:
        """Flush `writer` once in this turn. It must not be added again before it was flushed."""
        self._due.append(writer)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._end_of_turn)

    def flush(self) -> None:
        """Flush everybody now, so that nothing waits for the loop to come round again."""
        while self._due:
            due, self._due = self._due, []
            for writer in due:
                try:
                    writer.flush()
                except Exception:  # noqa: BLE001 - logged; the others' output is still written
                    _log.exception("output could not be written; its connection is cut off")
                    writer.abort()

    def _end_of_turn(self) -> None:
        self._scheduled = False
        self.flush()
