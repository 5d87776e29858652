"""Guessing pairing codes; `python -m tests.attack` makes a million guesses."""

import pytest

from tapui.core.deadlines import SlidingWindow
from tapui.wire import limits
from tests.attack.guessing import Attack

GUESSES = 30_000


@pytest.mark.parametrize("gap", [0.0, 0.2, 5.0])
def test_tries_stay_within_the_rule_however_many_guesses_there_are(gap: float) -> None:
    tally = Attack(1, gap=gap).guess(GUESSES // (10 if gap > 1 else 1))
    assert tally.most_in_a_minute <= limits.PAIRING_ATTEMPTS_PER_MINUTE
    assert tally.most_for_a_code == 1
    most = limits.PAIRING_ATTEMPTS_PER_MINUTE * (int(tally.minutes) + 1)
    assert 0 < tally.tries <= most
    # A guess is right once in a million tries: these are far too few for luck.
    assert tally.admitted == 0
    assert tally.limited + tally.ignored == tally.guesses - tally.tries
    # The attack is one only if the person opens requests and the limit is reached.
    assert tally.codes > 5
    assert tally.most_in_a_minute == limits.PAIRING_ATTEMPTS_PER_MINUTE


def test_without_the_limit_the_same_attack_tries_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlidingWindow, "take", lambda *_: True)
    with pytest.raises(AssertionError):
        Attack(1, gap=0.2).guess(GUESSES)
