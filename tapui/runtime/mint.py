"""The system's randomness and calendar, for the core."""

import random
import secrets
import time
from datetime import UTC, datetime

_DRIFT = 0.25
"""Seconds by which wall clock and steady clock may part before the calendar follows."""


class SystemMint:
    """Ids from a random start and a counter, secrets from `secrets`, time from the wall clock.

    Between calls of `follow()` the calendar runs with the steady clock (`time.monotonic`), so
    that timestamps of one turn are in order whatever is done to the wall clock.
    """

    def __init__(self) -> None:
        self._start = secrets.token_hex(3)
        self._count = 0
        self._random = random.Random(secrets.randbits(256))  # noqa: S311 - ids, no secrets
        self._offset = time.time() - time.monotonic()
        self._second = -1
        self._text = ""

    def id(self, prefix: str) -> str:
        """Return `prefix-` and characters that no other id of any run has."""
        self._count += 1
        return f"{prefix}-{self._start}{self._count:x}"

    def trace(self) -> str:
        """Return 32 random hexadecimal digits."""
        return f"{self._random.getrandbits(128) or 1:032x}"

    def span(self) -> str:
        """Return 16 random hexadecimal digits."""
        return f"{self._random.getrandbits(64) or 1:016x}"

    def token(self, prefix: str) -> str:
        """Return a secret of 256 bits."""
        return prefix + secrets.token_urlsafe(32)

    def code(self) -> str:
        return f"{secrets.randbelow(1_000_000):06d}"

    def follow(self) -> None:
        """Follow the wall clock when it was set, or when the machine slept."""
        offset = time.time() - time.monotonic()
        if abs(offset - self._offset) > _DRIFT:
            self._offset = offset

    def timestamp(self, now: float) -> str:
        """Return a moment of the steady clock as RFC 3339 UTC with microseconds."""
        second, micros = divmod(int((now + self._offset) * 1_000_000), 1_000_000)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{micros:06d}Z"


def new_run() -> str:
    """Return the name of a gateway's life: when it began, and six random characters."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
