"""How rows of the index are numbered: by time, in microseconds, so that the newest come first
without sorting."""

import time

from tapui import times

BITS = 10
"""So many bits of a number tell rows of one microsecond apart."""
_LATEST = 7_258_118_400
"""2200-01-01, in seconds: what says that it is later is from then."""


def first_id(ts: str) -> int | None:
    """Return the lowest number that a row of this time can have; None for no time."""
    seconds = times.epoch(ts)
    return None if seconds is None else id_at(seconds)


def id_at(seconds: float) -> int:
    """Return the lowest number of rows of this time, in seconds since the epoch.

    Rows are numbered by time, not by when they were indexed: the newest come first without
    sorting.
    """
    return round(min(max(seconds, 0.0), _LATEST) * 1_000_000) << BITS


def time_of(number: int) -> str:
    """Return when the row of a number happened, RFC 3339 in UTC."""
    seconds, micros = divmod(number >> BITS, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{micros:06}Z"
