"""A few rounds of `kill9.py` and `gateway_kills.py`; the many are run by hand."""

from pathlib import Path

from tests.durability.gateway_kills import run_kills
from tests.durability.kill9 import run_rounds


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    tally = run_rounds(5, 20260101, tmp_path)
    assert tally.lost == []
    assert tally.damaged == 0
    assert tally.rounds == 5
    assert tally.found >= tally.acknowledged >= 5 * 3


def test_nothing_that_anybody_was_told_is_lost_with_the_gateway(tmp_path: Path) -> None:
    told = run_kills(3, 20260103, tmp_path)
    assert told.lost == []
    assert told.damaged == 0
    assert told.kills == 3
    assert told.acknowledged >= 3
