"""A sliding window: how many events are allowed in any stretch of time."""

from collections import deque


class SlidingWindow:
    """At most `most` events in any `seconds`."""

    __slots__ = ("_most", "_seconds", "_times")

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._times: deque[float] = deque()

    def is_full(self, now: float) -> bool:
        """Return whether there is no room for an event at `now`."""
        while self._times and self._times[0] <= now - self._seconds:
            self._times.popleft()
        return len(self._times) >= self._most

    def take(self, now: float) -> bool:
        """Count an event at `now` if there is room; return whether there was."""
        if self.is_full(now):
            return False
        self._times.append(now)
        return True
