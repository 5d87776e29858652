"""Intervals as people and configurations write them, and the schedule that follows."""

import re

from tapui.emitters.config.entries import Schedule
from tapui.wire.limits import MAX_INTERVAL

_INTERVAL = re.compile(r"(?:every)?\s*([0-9]+)\s*([a-z]+)")
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
}
_MOST_DIGITS = 9
_EXAMPLES = "write it as 30s, 5m, 2h, 1d or every 10 minutes, or idle for a prompt"


class IntervalError(ValueError):
    """A text that is no interval; the message says why."""


def schedule_of(interval: str, *, is_prompt: bool) -> Schedule:
    """Return the schedule that an interval's text means; a blank one is none.

    Raises `IntervalError`.
    """
    text = interval.strip().lower()
    if not text:
        return Schedule("oneTime") if is_prompt else Schedule("continuous")
    if text == "idle":
        if not is_prompt:
            raise IntervalError("idle is for prompts only: a command has no rest to wait for")
        return Schedule("idle")
    found = _INTERVAL.fullmatch(text)
    size = _UNITS.get(found[2]) if found else None
    if found is None or size is None:
        raise IntervalError(f"it is no interval: {_EXAMPLES}")
    if len(found[1].lstrip("0")) > _MOST_DIGITS or int(found[1]) * size > MAX_INTERVAL:
        raise IntervalError(f"an interval is at most {MAX_INTERVAL // 86400} days")
    if int(found[1]) == 0:
        raise IntervalError("an interval must be 1 or greater")
    return Schedule("timed", int(found[1]) * size)
