"""The process that keeps the index: it follows, cleans up, and ends when it should."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tapui.index.search import LIMIT, Search, query_of
from tapui.index.store import IndexUnusable, index_path, report_damage, writing
from tests.index import played
from tests.records.turns import Writer, closed, opened, wait_until
from tests.rig.waiting import HUNG


@contextmanager
def keeper(state: Path, *args: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tapui.index", str(state), *args],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stderr):
            assert pipe is not None
            pipe.close()


def told_by(process: "subprocess.Popen[str]") -> str:
    """Wait for the end of the process and return its log."""
    assert process.stderr is not None
    assert process.wait(HUNG) == 0
    return process.stderr.read()


def found(state: Path, text: str) -> int:
    search = Search(state)
    try:
        return sum(len(part) for part in search.find(query_of(text)))
    except IndexUnusable:
        return -1
    finally:
        search.close()


def test_it_follows_what_is_written(state: Path, workspace: Path) -> None:
    with Writer(state) as writer, keeper(state) as process:
        writer.turn(opened("s1", workspace), played.line("early"))
        wait_until(lambda: found(state, "early") == 1)
        writer.turn(played.line("later"), opened("s2"), played.prompt("elsewhere", "s2"))
        wait_until(lambda: found(state, "later") == 1)
        wait_until(lambda: found(state, "elsewhere") == 1)
        assert process.poll() is None


def test_it_ends_with_its_parent(state: Path) -> None:
    with keeper(state) as process:
        wait_until(index_path(state).exists)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(HUNG) == 0


def test_it_ends_when_nothing_is_recorded(state: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1"), played.line("last"))
    with keeper(state, "--idle", "0") as process:
        assert process.wait(HUNG) == 0
    assert found(state, "last") == 1


def test_it_ends_where_another_keeps_the_index(state: Path) -> None:
    with writing(state), keeper(state) as process:
        assert process.wait(HUNG) == 0


def test_a_folder_that_cannot_be_used_is_one_line_of_its_log(tmp_path: Path) -> None:
    taken = tmp_path / "state"
    taken.write_text("no folder")
    with keeper(taken) as process:
        assert process.wait(HUNG) == 1
        assert process.stderr is not None
        (line,) = process.stderr.read().splitlines()
    assert line.startswith("WARNING __main__: the index cannot be kept: ")
    assert str(taken) in line


def test_it_makes_a_damaged_index_again(state: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1"), played.line("kept"))
    with keeper(state, "--idle", "0") as process:
        assert process.wait(HUNG) == 0
    index_path(state).write_bytes(b"nonsense" * 1000)
    with keeper(state, "--idle", "0") as process:
        told = told_by(process)
    assert "is made again: file is not a database" in told
    assert found(state, "kept") == 1


def test_an_index_that_a_reader_finds_damaged_is_made_again(state: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1"), *[played.line(f"kept {number}") for number in range(400)])
    with keeper(state, "--idle", "0") as process:
        assert process.wait(HUNG) == 0
    with writing(state) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'words_1_data'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with index_path(state).open("r+b") as file:  # nothing that the writer reads by itself
        file.seek((root - 1) * size)
        file.write(b"nonsense" * (size // 8))
    with keeper(state, "--idle", "60") as process:
        search = Search(state)
        with pytest.raises(IndexUnusable, match="vtable constructor failed") as caught:
            list(search.find(query_of("kept")))
        assert caught.value.is_replaced
        wait_until(lambda: found(state, "kept") == LIMIT)
        search.close()
        process.terminate()
        assert process.stderr is not None
        assert "is made again: a reader found it damaged" in process.stderr.read()


def test_a_report_about_an_index_that_was_made_again_since_is_of_no_effect(state: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1"), played.line("kept"))
    with keeper(state, "--idle", "0") as process:
        assert process.wait(HUNG) == 0
    report_damage(state, 1, 2)
    with keeper(state, "--idle", "0") as process:
        assert "is made again" not in told_by(process)


def test_it_removes_records_that_are_too_old(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), played.line("old"), closed("s1"))
        writer.turn(opened("s2"), played.line("young", session_id="s2"), closed("s2"))
    for path in (workspace / "files/tap").iterdir():
        os.utime(path, (time.time() - 8 * 86_400,) * 2)
    with keeper(state, "--keep-days", "7", "--idle", "0") as process:
        told = told_by(process)
    assert "records of 7 days and older were removed: s1" in told
    assert not (workspace / "files/tap").exists()
    assert (found(state, "old"), found(state, "young")) == (0, 1)


@pytest.mark.parametrize("kind", ["none", "newer"])
def test_a_reader_is_told_that_there_is_no_index(state: Path, kind: str) -> None:
    if kind == "newer":
        with writing(state) as connection:
            connection.execute("PRAGMA user_version = 99")
    search = Search(state)
    with pytest.raises(IndexUnusable, match="no index yet" if kind == "none" else "of version 99"):
        list(search.find(query_of("word")))
    search.close()


def test_a_reader_goes_over_to_an_index_that_is_made_again(state: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1"), played.line("word"))
    with keeper(state, "--idle", "0") as process:
        assert process.wait(HUNG) == 0
    search = Search(state)
    assert len(list(search.find(query_of("word")))) == 1
    index_path(state).unlink()
    with pytest.raises(IndexUnusable):
        search.progress()
    with keeper(state, "--idle", "0") as process:
        assert process.wait(HUNG) == 0
    assert len(list(search.find(query_of("word")))) == 1
    assert search.progress().is_complete
    search.close()


def test_a_process_whose_parent_is_gone_makes_nothing(tmp_path: Path) -> None:
    with keeper(tmp_path / "gone" / "state") as process:
        assert process.stdin is not None
        process.stdin.close()
        assert told_by(process) == ""
    assert not (tmp_path / "gone").exists()
