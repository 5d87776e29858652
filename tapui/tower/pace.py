"""How often the screen is painted: painting takes at most a share of the time."""

LEAST_INTERVAL = 1 / 12
"""Seconds between two frames at least, however cheap they are."""
MOST_INTERVAL = 2.0
"""Seconds between two frames at most: a frame that takes longer than half a second may exceed the
share, so that the screen still moves."""
SHARE = 0.25
"""The part of the time that frames may take."""


class Pace:
    """Told when a frame began and what it cost, says when the next one may begin (seconds).

    Each frame pays for itself: after one that cost `c` the next begins `c / SHARE` later.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._cost = 0.0

    @property
    def interval(self) -> float:
        """The seconds from the last frame's beginning to the next one's."""
        return min(max(self._cost / SHARE, LEAST_INTERVAL), MOST_INTERVAL)

    def begin(self, now: float) -> None:
        """A frame begins at `now`; until `end` it counts as cheap."""
        self._began = now
        self._cost = 0.0

    def end(self, cost: float) -> None:
        """The frame was painted, and took so many seconds of the processor."""
        self._cost = cost

    def wait(self, now: float) -> float:
        """Return the seconds until the next frame may begin."""
        return 0.0 if self._began is None else max(self._began + self.interval - now, 0.0)
