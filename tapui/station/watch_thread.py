"""A thread that watches something until its `with` block ends."""

import socket
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class WatchThread(ABC):
    """Runs `_watch` on a daemon thread, from `with` to its end.

    `_ends` becomes readable at the end (a read gives no bytes): `_watch` waits on it beside what
    it watches, and returns. `_tells` is its other side; what is sent there before is read, too.
    """

    def __init__(self, name: str) -> None:
        self._ends, self._tells = socket.socketpair()
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)

    @abstractmethod
    def _watch(self) -> None: ...

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tells.close()
        self._thread.join()
        self._ends.close()
