"""When a gateway is no longer needed: looked at after each of its turns, not by the clock."""

import asyncio
from collections.abc import Callable


class Idleness:
    """Calls `expired` once nobody has needed the gateway for `seconds`."""

    def __init__(
        self, is_needed: Callable[[], bool], seconds: float, expired: Callable[[], None]
    ) -> None:
        self._is_needed = is_needed
        self._seconds = seconds
        self._expired = expired
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> None:
        if self._is_needed():
            self.close()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._expired)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
