"""What the core may not make itself: ids, codes, tokens, and the calendar."""

from typing import Protocol


class Mint(Protocol):
    """Injected source of everything random and of wall-clock time."""

    def id(self, prefix: str) -> str:
        """Return a fresh id, unique over all runs: `prefix`, a dash, and characters."""

    def trace(self) -> str:
        """Return a fresh trace id of W3C Trace Context: 32 hexadecimal digits, not all zero."""

    def span(self) -> str:
        """Return a fresh span id of W3C Trace Context: 16 hexadecimal digits, not all zero."""

    def token(self, prefix: str) -> str:
        """Return a fresh secret of at least 256 bits, beginning with `prefix`."""

    def code(self) -> str:
        """Return six random digits."""

    def timestamp(self, now: float) -> str:
        """Return the moment `now` (seconds of the core's clock) as RFC 3339 UTC, microseconds."""
