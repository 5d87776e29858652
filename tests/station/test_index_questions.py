"""What the tower asks the records with: an index that is brought up to date, records, files."""

import csv
import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tapui.index.search import Search
from tapui.index.sources import record_folders
from tapui.index.store import writing
from tapui.index.update import Updater
from tapui.station import index_questions
from tapui.station.index_questions import EXPORTS_FOLDER, IndexQuestions
from tapui.tower.app.services import AnswerFault
from tests.index.asked import write_everything
from tests.records.conftest import state, workspace
from tests.records.turns import Writer
from tests.rig.waiting import HUNG

__all__ = ["state", "workspace"]


@pytest.fixture
def questions(state: Path, workspace: Path, tmp_path: Path) -> IndexQuestions:
    with Writer(state) as writer:
        write_everything(writer, workspace)
    return IndexQuestions(state, tmp_path / "config", clock=lambda: 1_800_000_000.0)


def test_without_an_index_one_is_made_and_answers(questions: IndexQuestions) -> None:
    line = "slowest-calls since=2000-01-01T00:00:00Z limit=1"
    answer = questions.ask(line).answer()
    assert list(answer.columns)[:3] == ["ts", "tool", "duration"]
    assert [row[1] for row in answer.rows] == ["bash"]
    assert answer.texts[0][2] == "12.5"
    assert 2 in answer.numbers
    assert (answer.is_cut, answer.note) == (False, "")
    sql = "SELECT tool, count(*) AS calls FROM calls GROUP BY tool"
    assert questions.ask(sql).answer().rows == [["bash", 2], ["edit", 1]]


def test_what_another_process_is_indexing_is_waited_for(
    questions: IndexQuestions, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_waiting, is_behind = threading.Event(), index_questions._is_behind

    def behind(search: Search, folders: Sequence[Path]) -> bool:
        is_waiting.set()
        return is_behind(search, folders)

    monkeypatch.setattr(index_questions, "_is_behind", behind)
    asked = questions.ask("SELECT count(*) AS calls FROM calls")
    with writing(state) as connection, ThreadPoolExecutor(1) as others:
        answer = others.submit(asked.answer)
        assert is_waiting.wait(HUNG)
        assert Updater(connection).update(record_folders(state), is_all=True)
        assert answer.result(HUNG).rows == [[3]]


def test_what_is_not_indexed_in_time_is_told(
    questions: IndexQuestions, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_questions, "HELD_SECONDS", 0.0)
    with writing(state):  # another process keeps the index, and has read nothing yet
        answer = questions.ask("SELECT count(*) AS calls FROM calls").answer()
    assert (answer.rows, answer.note) == ([[0]], index_questions._BEHIND)


def test_damaged_lines_are_told_with_an_answer(questions: IndexQuestions, workspace: Path) -> None:
    with (workspace / "files/tap/streams.jsonl").open("ab") as file:
        file.write(b"not a record\n")
    answer = questions.ask("SELECT count(*) AS calls FROM calls").answer()
    assert answer.rows == [[3]]
    assert answer.note == "1 damaged line of the records was passed over"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nowhere", "there is no question nowhere"),
        ("denied limit=1 2h", "expected KEY=VALUE"),
        ("SELECT missing FROM calls", "no such column"),
        ("DROP TABLE calls", "begins with SELECT"),
    ],
)
def test_wrong_questions_are_told(questions: IndexQuestions, text: str, said: str) -> None:
    with pytest.raises(AnswerFault, match=said):
        questions.ask(text).answer()


def test_an_answer_is_bounded(questions: IndexQuestions) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
    sql = f"{numbers}SELECT i FROM n"
    answer = questions.ask(sql).answer()
    assert (len(answer.rows), answer.is_cut) == (1000, True)


def test_a_cancelled_question_ends_soon(questions: IndexQuestions) -> None:
    question = questions.ask("SELECT 1")
    question.cancel()
    with pytest.raises(AnswerFault, match="it was cancelled"):
        question.answer()


def test_a_question_is_cancelled_from_another_thread(questions: IndexQuestions) -> None:
    sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    question = questions.ask(sql)
    faults: list[str] = []

    def answer() -> None:
        try:
            question.answer()
        except AnswerFault as fault:
            faults.append(str(fault))

    thread = threading.Thread(target=answer)
    thread.start()
    question.cancel()
    thread.join(30)
    assert faults == ["it was cancelled"]


def test_a_ref_leads_to_its_record_with_its_turn(
    questions: IndexQuestions, state: Path, workspace: Path
) -> None:
    line = "slowest-calls since=2000-01-01T00:00:00Z limit=1"
    answer = questions.ask(line).answer()
    ref = answer.rows[0][list(answer.columns).index("ref")]
    assert isinstance(ref, str)
    read = questions.read(ref)
    assert read is not None
    found, text = read
    assert (found.session_id, found.turn, found.kind) == ("s1", 1, "call")
    assert "pytest -q" in text.text
    assert text.path.startswith(str(workspace))
    shutil.rmtree(state / "index")
    again = questions.read(ref)
    assert again is not None
    assert (again[0].session_id, again[0].turn) == ("s1", None), "the record needs no index"
    shutil.rmtree(workspace)
    assert questions.read(ref) is None
    with pytest.raises(AnswerFault, match="expected COLLECTION"):
        questions.read("nowhere")


def test_an_answer_is_written_for_its_owner_only(questions: IndexQuestions, state: Path) -> None:
    sql = "SELECT tool, count(*) AS calls FROM calls GROUP BY tool"
    answer = questions.ask(sql).answer()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(1_800_000_000))
    paths = {form: questions.write(answer, "query", form) for form in ("csv", "json", "md")}
    assert paths["csv"] == state / EXPORTS_FOLDER / f"query-{stamp}.csv"
    with paths["csv"].open(newline="") as file:
        assert list(csv.reader(file)) == [["tool", "calls"], ["bash", "2"], ["edit", "1"]]
    assert json.loads(paths["json"].read_text()) == [
        {"tool": "bash", "calls": 2},
        {"tool": "edit", "calls": 1},
    ]
    assert paths["md"].read_text().splitlines()[2] == "| bash | 2 |"
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths.values()} == {0o600}
    assert stat.S_IMODE(paths["md"].parent.stat().st_mode) == 0o700


def test_why_it_cannot_be_written_is_told(questions: IndexQuestions, state: Path) -> None:
    answer = questions.ask("SELECT tool FROM calls").answer()
    os.symlink(state, state / EXPORTS_FOLDER)  # noqa: PTH211 - as another program would
    with pytest.raises(AnswerFault, match="cannot be written"):
        questions.write(answer, "query", "csv")
    assert list(state.glob("query-*")) == []


def test_the_questions_have_what_they_take(questions: IndexQuestions, tmp_path: Path) -> None:
    own = tmp_path / "config" / "questions"
    own.mkdir(parents=True)
    (own / "mine.sql").write_text("-- Mine.\n-- :tool = bash  the tool\nSELECT :tool")
    known = {one.name: one for one in questions.known()}
    assert known["mine"].takes == (("tool", "bash", "the tool"),)
    assert known["mine"].is_own
    assert known["denied"].about
    assert not known["denied"].is_own
    assert questions.ask("mine tool=edit").answer().rows == [["edit"]]
