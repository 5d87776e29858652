"""What the tower finds with: an index that is brought up to date, made, and made again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapui.index.store import index_path, writing
from tapui.station.index_finder import IndexFinder
from tapui.tower.app.services import FinderFault, FoundRecord, RecordText
from tapui.tower.finding.finder_thread import FinderResult, FinderThread
from tests.index import played
from tests.records.conftest import state, workspace
from tests.records.turns import Writer, opened, wait_until

__all__ = ["state", "workspace"]


@pytest.fixture
def _written(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(played.prompt("Why does pairing flake?"))
        writer.turn(*played.call("c1", "bash", {"command": "pytest -x"}, "FAILED test_pair"))


class Told:
    """A finder on its thread, and what it told."""

    def __init__(self, state: Path) -> None:
        self.findings: list[FinderResult] = []
        self.records: dict[str, RecordText | None] = {}
        self.thread = FinderThread(
            lambda: IndexFinder(state), self.findings.append, self.records.__setitem__
        )
        self.thread.start()

    def found(self, text: str, titles: list[str]) -> list[FoundRecord]:
        """Look for a text until this is found, and all is indexed."""
        self.thread.look_for(text)
        wait_until(lambda: self._last(text, titles) is not None)
        last = self._last(text, titles)
        assert last is not None
        return list(last.found)

    def problem(self, text: str) -> str:
        """Look for a text until there is a problem."""
        self.thread.look_for(text)
        wait_until(lambda: bool(self.findings) and bool(self.findings[-1].problem))
        return self.findings[-1].problem

    def _last(self, text: str, titles: list[str]) -> FinderResult | None:
        last = self.findings[-1] if self.findings else None
        if last is None or last.text != text or not last.is_done or last.problem:
            return None
        return last if [one.title for one in last.found] == titles else None


@pytest.fixture
def told(state: Path) -> Iterator[Told]:
    told = Told(state)
    yield told
    told.thread.stop()
    told.thread.join()


@pytest.mark.usefixtures("_written")
def test_without_an_index_and_a_gateway_one_is_made(told: Told, workspace: Path) -> None:
    (hit,) = told.found("pairing fla", ["Why does pairing flake?"])
    assert (hit.kind, hit.session_id, hit.session, hit.turn) == ("prompt", "s1", "label", 1)
    assert [hit.excerpt[start:end] for start, end in hit.marks] == ["pairing", "fla"]
    told.thread.read(hit)
    wait_until(lambda: hit.key in told.records)
    record = told.records[hit.key]
    assert record is not None
    assert "content: Why does pairing flake?" in record.text
    assert "seq:" not in record.text
    assert record.path == str(workspace / "files/tap/sessions.jsonl")


@pytest.mark.usefixtures("_written")
def test_what_is_recorded_meanwhile_is_found_the_next_time(state: Path, told: Told) -> None:
    told.found("later", [])
    told.thread.stop()
    told.thread.join()  # and its process has ended
    with Writer(state, run="r2") as writer:
        writer.turn(played.prompt("what came later"))
    other = Told(state)
    other.found("later", ["what came later"])
    other.thread.stop()
    other.thread.join()


@pytest.mark.usefixtures("_written")
def test_a_record_that_was_deleted_is_gone(told: Told, workspace: Path) -> None:
    (hit,) = told.found("pairing", ["Why does pairing flake?"])
    shutil.rmtree(workspace / "files")
    told.thread.read(hit)
    wait_until(lambda: hit.key in told.records)
    assert told.records[hit.key] is None


@pytest.mark.usefixtures("_written")
def test_damaged_lines_are_counted(told: Told, workspace: Path) -> None:
    with (workspace / "files/tap/calls.jsonl").open("ab") as file:
        file.write(b"not a record\n")
    told.found("pairing fla", ["Why does pairing flake?"])
    wait_until(lambda: told.findings[-1].damaged == 1)


def test_what_holds_no_word_is_told(told: Told) -> None:
    wait_until(lambda: bool(told.findings) and told.findings[-1].indexed == 1)
    assert "type words" in told.problem("--")


@pytest.mark.usefixtures("_written")
@pytest.mark.parametrize("kind", ["nonsense", "another version"])
def test_an_index_that_cannot_be_used_is_made_again(state: Path, kind: str) -> None:
    with writing(state) as connection:
        connection.execute("PRAGMA user_version = 99")
    if kind == "nonsense":
        index_path(state).write_bytes(b"nonsense" * 1000)
    finder = IndexFinder(state)
    try:
        with pytest.raises(FinderFault, match="It is made again from the records") as caught:
            finder.indexed()
    finally:
        finder.close()
    assert caught.value.will_pass
    told = Told(state)
    told.found("pairing", ["Why does pairing flake?"])
    told.thread.stop()
    told.thread.join()


@pytest.mark.usefixtures("_written")
def test_an_index_that_cannot_be_read_is_told(state: Path) -> None:
    index_path(state).mkdir(parents=True)
    told = Told(state)
    assert told.problem("pairing").startswith("The index cannot be read: unable to open")
    told.thread.stop()
    told.thread.join()
