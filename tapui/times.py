"""Times as people read them: ages, durations, countdowns and the clock. Local time, plain text."""

import re
import time
from datetime import UTC, datetime
from functools import lru_cache


def after(ts: str, seconds: float) -> str:
    """Return the RFC 3339 time so many seconds after another; a malformed one unchanged, and one
    that would come to lie after the last year."""
    then = epoch(ts)
    if then is None:
        return ts
    try:
        return rfc3339(then + seconds)
    except (OverflowError, ValueError, OSError):
        return ts


def rfc3339(seconds: float) -> str:
    """Return seconds since the epoch as RFC 3339 in UTC. Raises as `datetime.fromtimestamp`."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


@lru_cache(maxsize=4096)
def epoch(ts: str | None) -> float | None:
    """Return an RFC 3339 time as seconds since the epoch; None for none or a malformed one.

    In the first and the last year there are times that have no local date: they count as malformed.
    """
    if not ts:
        return None
    try:
        then = datetime.fromisoformat(ts)
        return then.timestamp() if 1 < then.year < 9999 else None
    except (ValueError, OverflowError):
        return None


_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def instant(text: str) -> float | None:
    """Return an RFC 3339 time as seconds since the epoch; None for any other text, one without a
    zone too."""
    if not _INSTANT.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError):
        return None


def since(ts: str | None, now: float) -> float | None:
    """Return the seconds from `ts` until `now`, never below zero."""
    then = epoch(ts)
    return None if then is None else max(now - then, 0.0)


def age(seconds: float | None) -> str:
    """Return a span in its largest unit: `4s`, `12m`, `3h`, `2d`; `-` for none."""
    if seconds is None:
        return "-"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h"
    return f"{whole // 86400}d"


def span(seconds: float | None) -> str:
    """Return a duration with the precision that matters: `340ms`, `3.4s`, `2m10s`, `1h05m`."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def lasting(seconds: float | None) -> str:
    """Return a span in at most two units: `42s`, `2m 10s`, `12m`, `1h 05m`, `2d`; "" for none."""
    if seconds is None:
        return ""
    whole = int(seconds)
    if 60 <= whole < 600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if 3600 <= whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return age(whole)


def countdown(seconds: float) -> str:
    """Return what is left of a deadline: `23h`, `1:58`, `0:07`."""
    whole = max(int(seconds + 0.999), 0)
    if whole >= 3600:
        return f"{whole // 3600}h"
    return f"{whole // 60}:{whole % 60:02d}"


NO_HURRY = 12 * 3600.0
"""Seconds. What has more time than that is shown without a deadline."""


def left(ts: str | None, now: float) -> str:
    """Return what is left until `ts`: `58s`, `1m 18s`, `2h`; nothing without any hurry."""
    end = epoch(ts)
    if end is None or end - now > NO_HURRY:
        return ""
    whole = max(int(end - now + 0.999), 0)
    if 60 <= whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return age(whole)


def clock(seconds: float) -> str:
    """Return the local time of day, `22:13:07`."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def hour_and_minute(seconds: float) -> str:
    """Return the local time of day, `22:13`."""
    return clock(seconds)[:5]


def date(seconds: float) -> str:
    """Return the local date, `2026-11-20`."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d")


def date_and_time(ts: str) -> str:
    """Return the local date and time of an RFC 3339 time, to the second; a malformed one
    unchanged."""
    then = epoch(ts)
    if then is None:
        return ts
    return datetime.fromtimestamp(then).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def when(ts: str, now: float) -> str:
    """Return the local time of day of an RFC 3339 time, `19:41`, with its date where that is not
    the one of `now`; a malformed one unchanged."""
    then = epoch(ts)
    if then is None:
        return ts
    day = date(then)
    return hour_and_minute(then) if day == date(now) else f"{day} {hour_and_minute(then)}"


def moment(ts: str | None) -> str:
    """Return the local time of day of an RFC 3339 time; `-` for none."""
    then = epoch(ts)
    return "-" if then is None else clock(then)
