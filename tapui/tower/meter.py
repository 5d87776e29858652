"""Events a second, over the last few seconds."""

SECONDS = 3
"""The rate is the mean over so many seconds."""


class Meter:
    """Told the count of all events once in a while, says how fast it grows."""

    def __init__(self) -> None:
        self._second = 0
        self._counts: list[int] = []

    def tick(self, now: float, count: int) -> float | None:
        """Return events a second when a second of the clock has begun, else None."""
        second = int(now)
        if second == self._second:
            return None
        passed = max(min(second - self._second, SECONDS), 1)
        self._second = second
        self._counts = [*self._counts, *[count] * passed][-SECONDS - 1 :]
        spent = len(self._counts) - 1
        return (self._counts[-1] - self._counts[0]) / spent if spent else 0.0
