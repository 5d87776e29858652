"""What the core gets of the system: randomness, the calendar, regular expressions."""

import random
import secrets
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from tapui import times
from tapui.core.hooks.javascript import original_position, translated
from tapui.core.hooks.matching import PatternError
from tapui.cron import SystemZone, next_time
from tapui.match_time import found, replaced
from tapui.wire.limits import MATCH_TIMEOUT

if TYPE_CHECKING:
    import regex

_DRIFT = 0.25
"""Seconds by which wall clock and steady clock may part before the calendar follows."""


class SystemIds:
    """Ids from a random start and a counter, secrets from `secrets`, time from the wall clock.

    Between calls of `follow()` the calendar runs with the steady clock (`time.monotonic`), so
    that timestamps of one turn are in order even when the wall clock is set.
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
        return (self._random.getrandbits(128) or 1).to_bytes(16, "big").hex()

    def span(self) -> str:
        return (self._random.getrandbits(64) or 1).to_bytes(8, "big").hex()

    def token(self, prefix: str) -> str:
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

    def until(self, text: str, now: float) -> float | None:
        then = times.instant(text)
        return None if then is None else then - (now + self._offset)

    def next_time(self, cron: str, now: float) -> str | None:
        moment = datetime.fromtimestamp(now + self._offset, UTC).astimezone(SystemZone())
        then = next_time(cron, moment)
        return None if then is None else f"{then:%Y-%m-%dT%H:%M:%S}.000000Z"


def new_run() -> str:
    """Return the name of a gateway's life: when it began, and six random characters."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


class RegexPattern:
    """A compiled pattern of the `regex` library; each match has 1 ms of the thread's own time."""

    __slots__ = ("_compiled", "search")

    def __init__(self, compiled: "regex.Pattern[str]") -> None:
        self._compiled = compiled
        self.search = compiled.search
        """The engine's own search, without a time limit: for who limits many searches together."""

    def found_in(self, subject: str) -> bool | None:
        """Return whether it matches anywhere; None when 1 ms was not enough."""
        return found(self._compiled, subject, MATCH_TIMEOUT)

    def replaced(self, text: str, by: str) -> tuple[str, int] | None:
        """Return the text with `by` for each match, and how many; None when 1 ms was not enough."""
        return replaced(self._compiled, by, text, MATCH_TIMEOUT)


class RegexMatcher:
    """Compiles patterns; equal ones once.

    With `ignore_case`, letters match in either case, and classes such as `\\w` are ASCII: so are
    the patterns of emitters meant.
    """

    def __init__(self, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case

    def compile(self, pattern: str) -> RegexPattern:
        """Compile; raises `PatternError` with the position of the fault."""
        return _compile(pattern, self._ignore_case)


@lru_cache(maxsize=256)
def _compile(pattern: str, ignore_case: bool) -> RegexPattern:
    import regex  # with the first pattern: most gateways never see one

    changed, places = translated(pattern)
    flags = regex.IGNORECASE | regex.ASCII if ignore_case else 0
    try:
        return RegexPattern(regex.compile(changed, flags))
    except regex.error as error:
        where = "" if error.pos is None else f" at position {original_position(error.pos, places)}"
        raise PatternError(f"bad pattern: {error.msg}{where}") from None
    except ValueError as error:  # flags that exclude each other
        raise PatternError(f"bad pattern: {error}") from None
    except (RecursionError, OverflowError):
        raise PatternError("bad pattern: too complex") from None
