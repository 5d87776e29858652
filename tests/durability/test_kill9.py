"""Five rounds of `kill9.py`; the full 200 are run by hand."""

from pathlib import Path

from tests.durability.kill9 import run_rounds


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    tally = run_rounds(5, 20260101, tmp_path)
    assert tally.lost == []
    assert tally.damaged == 0
    assert tally.rounds == 5
    assert tally.found >= tally.acknowledged >= 5 * 3
