"""The signals that end this process, caught in the main thread and sent on as a message."""

import asyncio
import logging
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Self

_log = logging.getLogger(__name__)

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


STOP_REFUSED = "not suspended: a stopped gateway would freeze every call and every gate"


def refuse_stop(tell: Callable[[str], None]) -> None:
    """From now on a stop signal is told and logged, and nothing else; call it on a running loop."""

    def refuse() -> None:
        _log.warning(STOP_REFUSED)
        tell(STOP_REFUSED)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, refuse)


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
