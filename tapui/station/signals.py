"""The signals that end this process, caught in the main thread and sent on as a message."""

import asyncio
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Self

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals:
    """From `with` to its end each ending signal is given to `receive`, on the running loop.

    Nothing is lost in between: while the block lasts no such signal ends the process by itself.
    """

    def __init__(self, receive: Callable[[signal.Signals], None]) -> None:
        self._receive = receive
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        for number in ENDING:
            self._loop.add_signal_handler(number, self._receive, number)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in ENDING:
            self._loop.remove_signal_handler(number)
