"""Cron expressions: what is wrong with one, and when its next time comes.

Five fields, as of Vixie cron: minute, hour, day of the month, month, day of the week; with `L`,
`LW`, `5L` and `5#2` as well. Times are those of the system's time zone.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

MAX_CRON = 100
"""Characters of an expression."""
_FIELDS = (
    ("minute", "minutes are 0 to 59"),
    ("hour", "hours are 0 to 23"),
    ("day of the month", "days are 1 to 31, or L or LW for the last"),
    ("month", "months are 1 to 12 or JAN to DEC"),
    ("day of the week", "days are 0 to 7 or SUN to SAT, also 5L and 5#2"),
)
_SHAPE = "minute, hour, day of the month, month, day of the week, such as 0 9 * * 1-5"
_QUOTED = 20
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)


class SystemZone(tzinfo):
    """The time zone of the system, with its changes to and from summer time.

    `datetime.astimezone()` gives the offset of one moment alone, and the zone's name is not always
    known (a copied `/etc/localtime`, a POSIX `TZ`): so the C library is asked for each moment.
    """

    def utcoffset(self, dt: datetime | None) -> timedelta:
        moment = datetime.now() if dt is None else dt.replace(tzinfo=None)  # noqa: DTZ005
        return moment.astimezone().utcoffset() or timedelta()

    def dst(self, dt: datetime | None) -> None:
        """Not known; only the offset counts."""

    def tzname(self, dt: datetime | None) -> str:  # noqa: ARG002
        return "local"

    def fromutc(self, dt: datetime) -> datetime:
        """Return a moment in this zone; in the hour that comes twice, `fold` tells which."""
        local = dt.replace(tzinfo=UTC).astimezone()
        plain = local.replace(tzinfo=None)
        is_second = plain.astimezone().utcoffset() != local.utcoffset()
        return plain.replace(tzinfo=self, fold=int(is_second))


@lru_cache(maxsize=512)
def fault(text: str) -> str | None:
    """Return in words what is wrong with an expression and in which field; None where it is right.

    One whose time never comes is wrong, too. It takes 20 ms at most.
    """
    from cronsim import CronSim, CronSimError  # with the first expression: most files have none

    if len(text) > MAX_CRON:
        return f"a cron expression has at most {MAX_CRON} characters"
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"a cron expression has five fields ({_SHAPE}), not {len(fields)}"
    for number, (field, (name, range_)) in enumerate(zip(fields, _FIELDS, strict=True)):
        alone = ["*"] * len(_FIELDS)
        alone[number] = field
        try:
            CronSim(" ".join(alone), _ANY_DAY)
        except CronSimError:
            shown = field if len(field) <= _QUOTED else f"{field[: _QUOTED - 1]}…"
            return f'field {number + 1}, the {name}, cannot be "{shown}": {range_}'
    try:
        next(CronSim(text, _ANY_DAY))
    except (CronSimError, StopIteration):
        return "this day never comes: see fields 3 to 5"
    return None


def next_time(text: str, after: datetime) -> datetime | None:
    """Return the first time of an expression after a moment, in UTC; None where it is wrong or
    never comes. The moment's zone is the one that the expression is read in.

    A time that is left out when summer time begins comes at the end of that hour, and one that
    comes twice when it ends counts once; with `*` as hour or minute it follows the clock.
    """
    from cronsim import CronSim, CronSimError

    if len(text) > MAX_CRON or len(text.split()) != len(_FIELDS):
        return None
    begin = after.astimezone(UTC)
    try:
        for time in CronSim(text, after):
            # In the hour that comes twice, cronsim goes on from the first time it came.
            if (moment := time.astimezone(UTC)) > begin:
                return moment
    except (CronSimError, OverflowError):
        return None
    return None
