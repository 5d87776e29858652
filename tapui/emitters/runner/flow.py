"""How much goes to the gateway, and how fast: of one run, and of all together.

Nothing is dropped: a run that may not send is not read, and its command waits in its writes.
"""

from dataclasses import dataclass

WINDOW_LINES = 400
WINDOW_CHARACTERS = 512 * 1024
"""Lines of a run that were sent and not taken by the gateway, at most; 128 lines may be more."""
ALL_CHARACTERS = 8 * 1024 * 1024
"""The same of all runs."""
RUN_RATE, RUN_BURST = 2_000.0, 4_000.0
"""Lines a second that a run sends, and how many at once after a rest."""
ALL_RATE, ALL_BURST = 5_000.0, 10_000.0
"""The same of all runs."""


class Allowance:
    """So many lines a second, and so many at once after a rest."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until a line may be sent, 0 for now."""
        self._left = min(self._left + (now - self._at) * self._rate, self._burst)
        self._at = now
        return max(1.0 - self._left, 0.0) / self._rate

    def spend(self, lines: int) -> None:
        """Count lines; it may be more than there was left."""
        self._left -= lines


@dataclass(slots=True)
class Window:
    """What was sent and not taken."""

    most_lines: float
    most_characters: int
    lines: int = 0
    characters: int = 0

    @property
    def is_open(self) -> bool:
        """Whether more may be sent."""
        return self.lines < self.most_lines and self.characters < self.most_characters

    def sent(self, lines: int, characters: int) -> None:
        """Count what was sent."""
        self.lines += lines
        self.characters += characters

    def taken(self, lines: int, characters: int) -> None:
        """Count what was taken."""
        self.lines = max(self.lines - lines, 0)
        self.characters = max(self.characters - characters, 0)
