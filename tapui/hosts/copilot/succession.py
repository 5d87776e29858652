"""Which session took another's place on the CLI's screen, where that shows only later.

With `/clear` the former session ends, on a busy machine seconds after the new one came on screen;
with `/new` it stays beside.
"""

from collections.abc import Container

LATE_SECONDS = 10.0
"""For so long after another session came on screen a session's end means that it was replaced."""


class Succession:
    """Remembers which session followed which one on screen. Times are seconds, of any clock."""

    def __init__(self) -> None:
        self._followers: dict[str, tuple[str, float]] = {}

    def shown(self, session_id: str) -> None:
        """A session is on screen: whoever followed it did not take its place."""
        self._followers.pop(session_id, None)

    def followed(self, former: str, current: str, now: float) -> None:
        """`current` came on screen at `now` in place of `former`, which has not ended."""
        self._followers = {
            id_: (by, at) for id_, (by, at) in self._followers.items() if now - at <= LATE_SECONDS
        }
        self._followers[former] = (current, now)

    def successor(self, former: str, live: Container[str], now: float) -> str | None:
        """Return which of the `live` sessions took the place of one that ended at `now`.

        A follower that was replaced itself hands on to its own.
        """
        asked: set[str] = set()
        current: str | None = former
        while current is not None and current not in asked:
            asked.add(current)
            current, at = self._followers.get(current, (None, now))
            if now - at > LATE_SECONDS:
                return None
            if current in live:
                return current
        return None
