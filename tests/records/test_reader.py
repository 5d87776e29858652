"""Reading: the last records from the end of any size of file, all of them as a stream."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.records.reader import Damage, in_order, parse, scan, tail
from tests.records.turns import Writer, decided, opened, refused, started

LINE = b'{"v":1,"run":"r","seq":%d,"ts":"t","kind":"error.sent","code":"X","message":"%s"}'


def test_a_record_carries_the_event_and_the_line(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), started("s1", "c1"), refused("x"))
    [record] = tail(workspace / "files/tap", "calls", 5)
    assert (record.run, record.seq, record.kind, record.session_id) == (
        "r1", 2, "call.started", "s1",
    )  # fmt: skip
    assert record.entry() == writer.entries[2]
    assert record.line + b"\n" == (workspace / "files/tap/calls.jsonl").read_bytes()
    [error] = tail(state / "gateway", "errors", 5)
    assert error.session_id is None


def test_unknown_kinds_and_fields_are_kept_as_they_are() -> None:
    record = parse(b'{"v":9,"run":"r","seq":7,"ts":"t","kind":"goal.set","sessionId":"s","goal":1}')
    assert record is not None
    assert (record.event, record.entry(), record.kind, record.session_id) == (
        None, None, "goal.set", "s",
    )  # fmt: skip
    assert record.line.endswith(b'"goal":1}')
    known = parse(LINE.replace(b'"code"', b'"later":{"a":[]},"code"') % (1, b"x"))
    assert known is not None
    assert known.event == refused("x").__class__("X", "x")


@pytest.mark.parametrize(
    "line",
    [
        b"", b" ", b"null", b"[]", b"{}", b'"x"', b"\0\0\0", b"{" * 9, LINE[:-1] % (1, b"x"),
        LINE % (1, b"\xff"), LINE % (1, b"\xed\xa0\x80"), LINE % (1, b"x") + b"}",
        LINE.replace(b'"seq":%d', b'"seq":"%d"') % (1, b"x"),
        LINE.replace(b'"code":"X",', b"") % (1, b"x"),
        LINE.replace(b'"code"', b'"x":' + b"[" * 100_000 + b'1,"code"') % (1, b"x"),
    ],
)  # fmt: skip
def test_what_is_no_record_is_damage(line: bytes) -> None:
    assert parse(line) is None


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_line_raises(line: bytes) -> None:
    parse(line)
    parse(LINE % (1, line))


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(
        st.one_of(st.integers(0, 50), st.integers(65_300, 65_600), st.just(200_000)), max_size=8
    ),
    torn=st.one_of(st.just(0), st.integers(1, 100), st.integers(65_400, 65_600)),
    last=st.integers(0, 10),
)
def test_the_tail_is_the_end_of_the_scan(
    sizes: list[int], torn: int, last: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tail")
    data = b"".join(LINE % (seq, b"x" * size) + b"\n" for seq, size in enumerate(sizes))
    (folder / "errors.jsonl").write_bytes(data + b"x" * torn)
    damage = Damage()
    whole = list(scan(folder, "errors", damage=damage))
    assert [record.seq for record in whole] == list(range(len(sizes)))
    assert damage == Damage(lines=0, torn=int(torn > 0))
    assert tail(folder, "errors", last) == (whole[-last:] if last else [])


def test_the_last_records_of_a_large_file_cost_a_few_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "errors.jsonl"
    with path.open("wb") as file:
        file.truncate(8 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"".join(LINE % (seq, b"x") + b"\n" for seq in range(100)))
    read = 0
    real = os.pread

    def counting(fd: int, size: int, offset: int) -> bytes:
        nonlocal read
        data = real(fd, size, offset)
        read += len(data)
        return data

    monkeypatch.setattr(os, "pread", counting)
    assert [record.seq for record in tail(tmp_path, "errors", 20)] == list(range(80, 100))
    assert read <= 128 * 1024


def test_missing_files_and_folders_have_no_records(tmp_path: Path) -> None:
    assert tail(tmp_path, "calls", 5) == []
    assert list(scan(tmp_path / "nowhere", "calls")) == []
    (tmp_path / "file").touch()
    assert tail(tmp_path / "file", None, 5) == []


def test_a_link_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "calls.jsonl").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match=r"calls\.jsonl"):
        tail(tmp_path, "calls", 1)


def test_the_tail_of_all_collections_is_in_order(state: Path, workspace: Path) -> None:
    for run in ("r1", "r2"):
        with Writer(state, run=run) as writer:
            writer.seq = 10 if run == "r2" else 50
            writer.turn(opened("s1", workspace), decided("a", "s1"), started("s1", "c"))
            writer.turn(started("s1", "d"), decided("b", "s1"))
            # The second run's clock and numbers begin again; its records still come last.
            writer.seq = 1000 if run == "r2" else 60
            writer.turn(started("s1", "e"))
    found = tail(workspace / "files/tap", None, 8)
    expected = [("r1", 55), ("r1", 61)] + [("r2", seq) for seq in (11, 12, 13, 14, 15, 1001)]
    assert [(record.run, record.seq) for record in found] == expected
    assert tail(workspace / "files/tap", None, 0) == []


def test_one_sessions_records_of_a_shared_folder(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), opened("s2", workspace))
        for number in range(10):
            writer.turn(started("s1" if number % 3 else "s2", f"c{number}"))
    found: Any = tail(workspace / "files/tap", "calls", 2, session_id="s2")
    assert [record.event.call.id for record in found] == ["c6", "c9"]


def test_in_order_puts_runs_by_their_last_record() -> None:
    made = [
        parse(LINE.replace(b'"r"', run).replace(b'"t"', ts) % (seq, b"x"))
        for run, ts, seq in [
            (b'"b"', b'"2"', 2), (b'"a"', b'"9"', 1), (b'"b"', b'"3"', 1), (b'"a"', b'"1"', 5),
        ]
    ]  # fmt: skip
    found = in_order([record for record in made if record is not None])
    assert [(record.run, record.seq) for record in found] == [
        ("b", 1), ("b", 2), ("a", 1), ("a", 5),
    ]  # fmt: skip
