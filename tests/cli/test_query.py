"""`tapui query` and `tapui records --at`, without a gateway."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.index.asking import stock_names
from tapui.index.views import VIEWS
from tests.cli.running import HOSTILE, RAW, ran
from tests.cli.schemas import check
from tests.index.asked import write_everything
from tests.index.played import call
from tests.records.turns import Writer, opened
from tests.rig.gateway import Gateway, Home


@pytest.fixture
def _recorded(home: Home) -> None:
    workspace = home.root / "s1"
    workspace.mkdir()
    with Writer(home.tapui) as writer:
        write_everything(writer, workspace)
        writer.turn(opened("s2"), *call("h1", HOSTILE, {"command": HOSTILE}, session_id="s2"))


@pytest.mark.usefixtures("_recorded")
def test_a_stock_question_by_its_name(home: Home) -> None:
    done = ran(home, "query", "slowest-calls", "since=2000-01-01T00:00:00Z", "limit=1")
    assert done.returncode == 0, done.stderr
    titles, row = [line.split() for line in done.stdout.splitlines()]
    assert titles[:3] == ["ts", "tool", "duration"]
    assert row[1:3] == ["bash", "12.5"]
    assert row[-1] == "calls/r1/5"


@pytest.mark.usefixtures("_recorded")
def test_sql_in_all_forms(home: Home) -> None:
    sql = "SELECT tool, count(*) AS calls, tool FROM calls WHERE session = 's1' GROUP BY tool"
    told = json.loads(ran(home, "query", sql, "--json").stdout)
    assert told == [
        {"tool": "bash", "calls": 2, "tool_2": "bash"},
        {"tool": "edit", "calls": 1, "tool_2": "edit"},
    ]
    rows = list(csv.reader(io.StringIO(ran(home, "query", sql, "--csv").stdout)))
    assert rows == [["tool", "calls", "tool"], ["bash", "2", "bash"], ["edit", "1", "edit"]]
    shown = ran(home, "query", sql, "--md").stdout.splitlines()
    assert shown == ["| tool | calls | tool |", "| --- | --- | --- |", "| bash | 2 | bash |",
                     "| edit | 1 | edit |"]  # fmt: skip


@pytest.mark.usefixtures("_recorded")
def test_damaged_lines_are_told_where_records_are_looked_at(
    home: Home, serve: Callable[..., Gateway]
) -> None:
    def told() -> list[str]:
        query = ran(home, "query", "SELECT count(*) AS n FROM lines", "--csv")
        assert (query.returncode, query.stdout) == (0, "n\n1\n")
        return [query.stderr, ran(home, "search", "nothing").stderr]

    assert all("damaged" not in text for text in told())
    path = home.root / "s1" / "files" / "tap" / "streams.jsonl"
    with path.open("ab") as file:
        file.write(b"not a record\n\xff\xfe\n")
    words = "2 damaged lines of the records were passed over"
    assert all(words in text for text in told())
    doctor = check("doctor", ran(home, "doctor", "--json").stdout)
    (found,) = (one for one in doctor["findings"] if one["id"] == "records")
    assert (found["state"], found["text"]) == (
        "warning", f"2 damaged lines of the records, passed over, in {path}",
    )  # fmt: skip
    serve("--no-attach")
    assert words in ran(home, "status").stdout
    status = check("status", ran(home, "status", "--json").stdout)
    assert status["index"]["damaged"] == 2


@pytest.mark.usefixtures("_recorded")
def test_nothing_hostile_reaches_the_screen(home: Home) -> None:
    for form in ((), ("--md",), ("--json",)):
        done = ran(home, "query", "SELECT tool, summary, ref FROM calls", *form)
        assert done.returncode == 0, done.stderr
        assert not RAW.search(done.stdout.replace("\n", ""))


@pytest.mark.usefixtures("_recorded")
def test_the_record_of_a_ref(home: Home) -> None:
    done = ran(home, "records", "--at", "records:calls/r1/5")
    assert json.loads(done.stdout)["call"]["args"] == {"command": "pytest -q"}
    short = ran(home, "records", "--at", "calls/r1/5", "--json")
    assert json.loads(short.stdout) == json.loads(done.stdout)
    assert len(short.stdout.splitlines()) == 1
    for ref, code, said in (
        ("calls/r1/9999", 1, "there is no record calls/r1/9999"),
        ("nowhere", 2, "expected COLLECTION/RUN/SEQ"),
        ("call/r1/5", 2, "did you mean calls?"),
    ):
        done = ran(home, "records", "--at", ref)
        assert done.returncode == code
        assert said in done.stderr


@pytest.mark.usefixtures("_recorded")
def test_wrong_questions_are_told(home: Home) -> None:
    for words, said in (
        (("no-such",), "there is no question no-such"),
        (("denied", "limit"), "expected KEY=VALUE, got limit"),
        (("DROP TABLE calls",), "begins with SELECT or WITH"),
        (("SELECT * FROM rows",), "no such table: rows"),
        (("SELECT 1", "--timeout", "90"), "at most 60 seconds"),
    ):
        done = ran(home, "query", *words)
        assert done.returncode == 2, done.stdout
        assert said in done.stderr


@pytest.mark.usefixtures("_recorded")
def test_what_takes_too_long_ends(home: Home) -> None:
    sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    done = ran(home, "query", sql, "--timeout", "0.5")
    assert done.returncode == 1
    assert "took longer than 0.5 seconds" in done.stderr


def test_the_list_and_the_schema(home: Home) -> None:
    (home.tapui / "questions").mkdir(parents=True, mode=0o700)
    own = "-- My own.\nSELECT 1 AS one\n"
    (home.tapui / "questions" / "mine.sql").write_text(own)
    listed = ran(home, "query").stdout
    for name in stock_names():
        assert f"\n{name} " in f"\n{listed}"
    assert "My own. (your own)" in listed
    assert "limit=20" in listed
    schema = ran(home, "query", "--schema").stdout
    for view in VIEWS:
        assert f"{view.name}: {view.about}" in schema
        assert view.example in schema
    told = json.loads(ran(home, "query", "--schema", "--json").stdout)
    assert [one["view"] for one in told] == [view.name for view in VIEWS]


def test_without_records_there_is_nothing(home: Home) -> None:
    done = ran(home, "query", "prompts")
    assert done.returncode == 0, done.stderr
    assert "there are no such records" in done.stderr


@pytest.mark.usefixtures("_recorded")
def test_an_index_of_another_version_is_made_again_and_that_is_told_in_a_line(
    home: Home,
) -> None:
    import sqlite3

    assert home.run("query", "prompts").returncode == 0
    path = Path(home.tapui / "index" / "records.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 4")
    connection.close()
    done = home.run("query", "SELECT count(*) FROM calls")
    assert "4" in done.stdout
    (said,) = done.stderr.splitlines()
    assert "is made again: it is of version 4, this tapui makes version 8" in said
    assert home.run("query", "SELECT count(*) FROM calls").stderr == ""
