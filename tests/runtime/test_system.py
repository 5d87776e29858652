"""The stamps of records: the wall clock's, as RFC 3339 in UTC, in the order of the steady clock."""

import re
import time
from datetime import UTC, datetime

from tapui.runtime.system import SystemIds


def test_a_stamp_is_a_time_in_utc_with_microseconds() -> None:
    ids = SystemIds()
    before = datetime.now(UTC)
    stamp = ids.timestamp(time.monotonic())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", stamp)
    assert abs(datetime.fromisoformat(stamp) - before).total_seconds() < 60


def test_stamps_have_the_order_and_the_distance_of_their_moments() -> None:
    ids, now = SystemIds(), time.monotonic()
    moments = [now + step / 4 for step in range(12)]
    stamps = [ids.timestamp(moment) for moment in moments]
    assert stamps == sorted(stamps)
    first = datetime.fromisoformat(stamps[0])
    assert [
        round((datetime.fromisoformat(stamp) - first).total_seconds(), 3) for stamp in stamps
    ] == [step / 4 for step in range(12)]
