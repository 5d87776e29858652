"""A file whose last record was torn: it is cut before anything is appended, and told."""

from pathlib import Path

import pytest

from tapui.records.reader import Damage, scan, tail
from tests.records.turns import Writer, refused, seqs


@pytest.fixture
def whole(state: Path) -> bytes:
    """Return a file of three records."""
    with Writer(state) as writer:
        writer.turn(refused("first"), refused("second"), refused("ünïcode\n\0"))
    return (state / "gateway/errors.jsonl").read_bytes()


def test_a_tail_torn_at_any_byte_is_cut_and_reported(whole: bytes, state: Path) -> None:
    path = state / "gateway/errors.jsonl"
    start = whole.rindex(b"\n", 0, -1) + 1
    for size in range(start, len(whole) + 1):
        path.write_bytes(whole[:size])
        with Writer(state, run="r2") as writer:
            assert writer.turn(refused("after")) == frozenset()
        expected = [1, 2, 3, 1] if size == len(whole) else [1, 2, 1]
        assert seqs(path) == expected, size
        torn = size - start
        if 0 < torn < len(whole) - start:
            [warning] = writer.warnings()
            assert f"({torn:,} bytes) was cut" in warning
            assert str(path) in warning
        else:
            assert writer.reports == []


@pytest.mark.parametrize("junk", [b"{", b"\0" * 200_000, b"x" * 65_536, b"x" * 65_535])
def test_a_file_of_one_torn_record_is_emptied(junk: bytes, state: Path) -> None:
    path = state / "gateway/errors.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(junk)
    with Writer(state) as writer:
        writer.turn(refused("x"))
        assert f"({len(junk):,} bytes) was cut" in writer.warnings()[0]
    assert seqs(path) == [1]


@pytest.mark.parametrize("size", [1, 65_534, 65_535, 65_536, 65_537, 200_000])
def test_a_long_torn_tail_is_found_across_blocks(size: int, whole: bytes, state: Path) -> None:
    path = state / "gateway/errors.jsonl"
    path.write_bytes(whole + b"x" * size)
    with Writer(state) as writer:
        writer.turn(refused("x"))
    assert seqs(path) == [1, 2, 3, 1]


def test_damage_in_the_middle_is_kept_and_counted(whole: bytes, state: Path) -> None:
    path = state / "gateway/errors.jsonl"
    first, second, third, _ = whole.split(b"\n")
    junk = [b"", b"\xff\xfe\xfd", b"[]", b"{}", b"\0" * 50, second[:40], b"[" * 100_000]
    path.write_bytes(b"\n".join([first, *junk, third, b""]))
    before = path.read_bytes()
    with Writer(state, run="r2") as writer:
        writer.turn(refused("x"))
        assert writer.reports == []
    assert path.read_bytes().startswith(before)
    damage = Damage()
    assert [one.seq for one in scan(path.parent, "errors", damage=damage)] == [1, 3, 1]
    assert damage == Damage(lines=len(junk), torn=0)
    damage = Damage()
    assert [one.seq for one in tail(path.parent, "errors", 3, damage=damage)] == [1, 3, 1]
    assert damage.lines == len(junk)


def test_readers_pass_over_a_record_that_is_being_written(whole: bytes, state: Path) -> None:
    path = state / "gateway/errors.jsonl"
    path.write_bytes(whole[:-10])
    for read in (scan(path.parent, "errors"), tail(path.parent, "errors", 5)):
        assert [one.seq for one in read] == [1, 2]
    damage = Damage()
    list(scan(path.parent, "errors", damage=damage))
    tail(path.parent, "errors", 5, damage=damage)
    assert damage == Damage(lines=0, torn=2)
