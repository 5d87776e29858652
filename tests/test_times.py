"""Spans as people read them."""

import pytest

from tapui import times


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (86400, "1d")],
)
def test_age(seconds: float | None, text: str) -> None:
    assert times.age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.34, "340ms"), (3.44, "3.4s"), (130, "2m10s"), (3900, "1h05m")],
)
def test_span(seconds: float | None, text: str) -> None:
    assert times.span(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(118, "1:58"), (6.2, "0:07"), (0, "0:00"), (-5, "0:00"), (86399, "23h")]
)
def test_countdown(seconds: float, text: str) -> None:
    assert times.countdown(seconds) == text


@pytest.mark.parametrize("broken", ["", "soon", "2026-13-99", None])
def test_a_broken_time_is_no_time(broken: str | None) -> None:
    assert times.epoch(broken) is None
    assert times.moment(broken) == "-"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-1, "0s"), (0.2, "1s"), (58, "58s"), (78, "1m 18s"), (7300, "2h"), (50_000, "")],
)
def test_what_is_left_of_a_deadline(seconds: float, said: str) -> None:
    assert times.left("1970-01-02T00:00:00Z", 86400 - seconds) == said


def test_without_a_deadline_nothing_is_left() -> None:
    assert (times.left(None, 0), times.left("soon", 0)) == ("", "")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01t01:00:00.5+01:00", 0.5),
        ("2026-11-20T18:00:00", None),
        ("2026-11-20", None),
        ("20261120T180000Z", None),
        ("2026-11-31T18:00:00Z", None),
        ("2026-11-20T18:00:00Z\n", None),
    ],
)
def test_an_instant_is_a_time_of_rfc_3339_with_its_zone(text: str, seconds: float | None) -> None:
    assert times.instant(text) == seconds


def test_no_time_comes_to_lie_after_the_last_year() -> None:
    assert times.after("2026-11-21T20:10:00Z", 90) == "2026-11-21T20:11:30.000Z"
    assert times.after("2026-11-21T20:10:00Z", 1e300) == "2026-11-21T20:10:00Z"
