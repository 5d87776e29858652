"""Cron expressions: what is refused and where, and times over the changes of summer time."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.core.emitters.plans import Schedule, cron_text
from tapui.cron import SystemZone, fault, next_time
from tapui.runtime.system import SystemIds


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Summer time from 2026-03-29, 02:00, to 2026-10-25, 03:00."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("60 * * * *", 'field 1, the minute, cannot be "60": minutes are 0 to 59'),
        ("* 25 * * *", 'field 2, the hour, cannot be "25": hours are 0 to 23'),
        ("* * 0 * *", 'field 3, the day of the month, cannot be "0"'),
        ("* * * JUN-JAN *", 'field 4, the month, cannot be "JUN-JAN"'),
        ("* * * * 5#6", 'field 5, the day of the week, cannot be "5#6"'),
        ("*/0 * * * *", 'field 1, the minute, cannot be "*/0"'),
        ("0 0 30 2 *", "this day never comes: see fields 3 to 5"),
        ("0 0 1 JAN */99", None),
        ("@daily", "five fields (minute, hour, day of the month, month, day of the week"),
        ("0 0 9 * * 1", "such as 0 9 * * 1-5), not 6"),
        ("*" * 101, "at most 100 characters"),
        (f"{'9' * 60} * * * *", f'cannot be "{"9" * 19}…"'),
        ("٣ * * * *", "field 1"),
    ],
)
def test_what_is_wrong_is_told_with_its_field(text: str, why: str | None) -> None:
    found = fault(text)
    if why is None:
        assert found is None
    else:
        assert why in str(found)
    assert (next_time(text, datetime(2026, 1, 1, tzinfo=UTC)) is None) is (why is not None)


FIELD = st.text("0123456789*/,-L#WMONJA", min_size=1, max_size=7)


@given(st.lists(FIELD, min_size=5, max_size=5).map(" ".join) | st.text(max_size=40))
def test_what_passes_has_a_next_time_and_words(text: str) -> None:
    after = datetime(2026, 7, 1, 12, tzinfo=UTC)
    if fault(text) is None:
        assert cast("datetime", next_time(text, after)) > after
        assert cron_text(text).endswith(f" (cron {text})")
    else:
        assert next_time(text, after) is None


def test_words_of_a_schedule() -> None:
    words = "every 15th minute from 09:00 through 17:59 on Monday through Friday"
    cron = "*/15 9-17 * * 1-5"
    assert str(Schedule("timed", cron=cron)) == f"{words} (cron {cron})"
    assert str(Schedule("timed", cron="no")) == "by cron no"


def times_of(text: str, begin: str, count: int) -> list[str]:
    """Return the next times after a moment of UTC, in UTC."""
    found, moment = [], datetime.fromisoformat(f"{begin}+00:00")
    for _ in range(count):
        moment = cast("datetime", next_time(text, moment.astimezone(SystemZone())))
        found.append(f"{moment:%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("text", "begin", "expected"),
    [
        # Summer time begins: 02:30 is not there, and comes as 03:00.
        ("30 2 * * *", "2026-03-28T12:00", ["29 01:00", "30 00:30"]),
        ("15,45 2 * * *", "2026-03-28T12:00", ["29 01:00", "30 00:15"]),
        ("*/30 * * * *", "2026-03-29T00:01", ["29 00:30", "29 01:00", "29 01:30"]),
        # It ends: 02:30 is there twice, and counts once; what follows the clock goes on.
        ("30 2 * * *", "2026-10-24T12:00", ["25 00:30", "26 01:30"]),
        ("30 2 * * *", "2026-10-25T01:10", ["26 01:30"]),
        ("*/30 2 * * *", "2026-10-24T23:31", ["25 00:00", "25 00:30", "25 01:00", "25 01:30"]),
    ],
)
@pytest.mark.usefixtures("berlin")
def test_summer_time(text: str, begin: str, expected: list[str]) -> None:
    assert times_of(text, begin, len(expected)) == expected


@pytest.mark.usefixtures("berlin")
def test_an_hour_that_comes_twice_is_the_same_moment_both_ways() -> None:
    for hour in (0, 1):
        moment = datetime(2026, 10, 25, hour, 30, tzinfo=UTC)
        local = moment.astimezone(SystemZone())
        assert (local.hour, local.minute, local.fold) == (2, 30, hour)
        assert local.astimezone(UTC) == moment


@pytest.mark.usefixtures("berlin")
def test_the_systems_calendar_has_its_zone() -> None:
    ids = SystemIds()
    then = datetime.fromisoformat(cast("str", ids.next_time("0 9 * * *", time.monotonic())))
    assert then.astimezone(SystemZone()).hour == 9
    assert then.minute == 0
    assert ids.next_time("x", 0.0) is None
