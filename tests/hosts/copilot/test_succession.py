"""Which session took another's place, with a hand-turned clock."""

from tapui.hosts.copilot.attachment import LATE_SECONDS, Succession


def test_the_follower_took_the_place_of_one_that_ends_soon() -> None:
    known = Succession()
    known.followed("a", "b", 100.0)
    assert known.successor("a", {"b"}, 100.0 + LATE_SECONDS) == "b"
    assert known.successor("a", {"b"}, 100.1 + LATE_SECONDS) is None
    assert known.successor("b", {"a"}, 100.0) is None


def test_a_follower_that_was_replaced_hands_on() -> None:
    known = Succession()
    known.followed("a", "b", 100.0)
    known.followed("b", "c", 104.0)
    assert known.successor("a", {"c"}, 108.0) == "c"
    assert known.successor("a", set(), 108.0) is None


def test_one_that_is_on_screen_again_was_not_replaced() -> None:
    known = Succession()
    known.followed("a", "b", 100.0)
    known.shown("a")
    known.followed("b", "a", 101.0)
    assert known.successor("a", {"b"}, 102.0) is None
    assert known.successor("b", {"a"}, 102.0) == "a"


def test_two_that_follow_each_other_are_no_endless_way() -> None:
    known = Succession()
    known.followed("a", "b", 100.0)
    known.followed("b", "a", 100.0)
    assert known.successor("a", {"c"}, 100.0) is None
