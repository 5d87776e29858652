"""SQL from anyone: it asks of views alone, with little memory and time, and changes nothing."""

import os
import sqlite3
import threading
import time
from pathlib import Path

import psutil
import pytest

from tapui.index import asking
from tapui.index.answering import _check
from tapui.index.asking import (
    ROWS,
    AnswerTable,
    Cancellation,
    QuestionRefused,
    ask,
    moment,
    parted,
    ref_of,
)
from tapui.index.store import VERSION, IndexMissing, index_path, writing
from tapui.index.update import bring_up_to_date
from tests.index.asked import write_everything
from tests.records.turns import Writer, wait_until


def indexed(folder: Path) -> Path:
    """Write records of each kind, and their index; return the gateway's state."""
    state, workspace = folder / "state", folder / "s1"
    workspace.mkdir()
    with Writer(state) as writer:
        write_everything(writer, workspace)
    assert bring_up_to_date(state, 30) == "current"
    return state


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state of which all tests of this file ask, and none changes anything."""
    return indexed(tmp_path_factory.mktemp("asked"))


@pytest.fixture
def own_state(tmp_path: Path) -> Path:
    """A state of the test's own."""
    return indexed(tmp_path)


def asked(state: Path, text: str, seconds: float = 10.0, rows: int = ROWS) -> AnswerTable:
    return ask(state, state.parent / "config", text, seconds=seconds, rows=rows)


COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
ATTEMPTS = [
    # Writing.
    "INSERT INTO calls VALUES (1)",
    "UPDATE main.calls SET state = 'x'",
    "DELETE FROM main.rows",
    "DROP TABLE main.rows",
    "DROP VIEW calls",
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t (a)",
    "CREATE VIEW v AS SELECT 1",
    "CREATE VIRTUAL TABLE temp.t USING fts5(a)",
    "CREATE TRIGGER t AFTER INSERT ON main.rows BEGIN SELECT 1; END",
    "CREATE INDEX i ON rows (id)",
    "ALTER TABLE main.rows RENAME TO r",
    "REPLACE INTO main.runs VALUES (1, 'a', 0)",
    "WITH x AS (SELECT 1) INSERT INTO main.runs (name) SELECT 'a' FROM x",
    "WITH x AS (SELECT 1) DELETE FROM main.rows",
    "WITH x AS (SELECT 1) UPDATE main.runs SET name = 'a'",
    "VACUUM",
    "VACUUM INTO '/tmp/stolen.sqlite'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "SAVEPOINT a",
    "SELECT 1; DROP TABLE main.rows",
    # Elsewhere.
    "ATTACH '/etc/passwd' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "PRAGMA query_only = OFF",
    "PRAGMA main.table_info(rows)",
    "SELECT * FROM pragma_table_info('rows')",
    "SELECT * FROM pragma_database_list",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('/tmp/x', 'a')",
    "SELECT edit('a')",
    "SELECT fts3_tokenizer('simple')",
    # What is below the views.
    "SELECT * FROM sqlite_master",
    "SELECT * FROM main.sqlite_schema",
    "SELECT * FROM temp.sqlite_temp_master",
    "SELECT sql FROM sqlite_temp_schema",
    "SELECT * FROM rows",
    "SELECT * FROM main.calls",
    "SELECT * FROM 'rows'",
    'SELECT * FROM "main"."rows"',
    "SELECT * FROM [rows]",
    "SELECT * FROM `rows`",
    "SELECT text FROM main . rows",
    "SELECT (SELECT path FROM folders)",
    "SELECT * FROM names",
    "SELECT * FROM gone_files",
    "SELECT * FROM temp.gone_files",
    "SELECT * FROM files f, main.files g",
    "WITH calls AS (SELECT text FROM main.rows) SELECT * FROM calls",
    "WITH turns AS (SELECT * FROM names) SELECT * FROM turns",
    "WITH RECURSIVE lines AS (SELECT text FROM rows UNION ALL SELECT 1) SELECT * FROM lines",
    "SELECT * FROM calls WHERE (SELECT count(*) FROM main.rows) > 0",
    "SELECT * FROM calls ORDER BY (SELECT text FROM main.rows LIMIT 1)",
    "SELECT * FROM (SELECT * FROM main.checkpoints) calls",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM main.folders AS calls)",
    "SELECT * FROM words_1",
    "SELECT * FROM words_1 WHERE words_1 MATCH 'pytest'",
    "SELECT * FROM words_1_data",
    "SELECT * FROM dbstat",
    "SELECT count(*) FROM dbstat",
    "SELECT count(*) FROM pragma_table_list",
    "SELECT count(*) FROM sqlite_master",
    "SELECT count(*) FROM main.rows",
    "SELECT count(*) FROM words_1",
    "SELECT * FROM sqlite_dbpage",
    "SELECT * FROM sqlite_stmt",
    "SELECT * FROM json_each('[1]')",
    "SELECT * FROM generate_series(1, 2)",
    "SELECT * FROM fts5vocab",
    "EXPLAIN SELECT * FROM calls",
    "EXPLAIN QUERY PLAN SELECT * FROM calls",
    # In another alphabet, hidden, or nothing at all.
    "\u0405ELECT * FROM calls",
    "SELECT * FROM c\u0430lls",
    "\uff33\uff25\uff2c\uff25\uff23\uff34 1",
    "SELECT * FROM \uff52ows",
    "/* SELECT */ DELETE FROM main.rows",
    "-- SELECT\nDROP TABLE main.rows",
    "\ufeffDELETE FROM main.rows",
    "SELECT * FROM calls\0; DROP TABLE main.rows",
    "",
    " ;",
    "SELECT",
    # Too much.
    "SELECT randomblob(2000000000)",
    "SELECT zeroblob(2000000000)",
    "SELECT hex(printf('%16000000d', 1))",
    "SELECT replace(printf('%16000000d', 1), ' ', 'aaaaaaaa')",
    COUNTING.format(100) + "SELECT group_concat(printf('%1000000d', i)) FROM n",
    "WITH RECURSIVE n(t) AS (SELECT 'x' UNION ALL SELECT t || t FROM n) SELECT max(t) FROM n",
    "SELECT " + "(" * 2_000 + "1" + ")" * 2_000,
    "SELECT " + ", ".join(f"{at} AS c{at}" for at in range(600)),
    "SELECT '" + "x" * 200_000 + "'",
    " UNION ALL ".join(["SELECT 1"] * 200),
]


@pytest.mark.parametrize("sql", ATTEMPTS, ids=lambda sql: sql[:60])
def test_what_is_no_question_to_views_is_refused(state: Path, sql: str) -> None:
    before = index_path(state).read_bytes()
    with pytest.raises(QuestionRefused) as refused:
        asked(state, sql)
    assert "took longer" not in str(refused.value)
    assert index_path(state).read_bytes() == before
    assert not Path("/tmp/stolen.sqlite").exists()


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n",
        "SELECT count(*) FROM " + ", ".join(f"calls c{at}" for at in range(30)),
        "SELECT printf('%.*c', 2000000000, 'x')",
    ],
)
def test_what_takes_too_long_is_ended(state: Path, sql: str) -> None:
    with pytest.raises(QuestionRefused, match=r"took longer than 0\.5 seconds") as refused:
        asked(state, sql, seconds=0.5)
    assert not refused.value.is_wrong


class LateStart:
    """A clock that goes on by four seconds while the process begins."""

    def __init__(self) -> None:
        self._looks = 0

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)

    def monotonic(self) -> float:
        self._looks += 1
        return time.monotonic() + (4.0 if self._looks > 2 else 0.0)


def test_the_start_of_the_process_is_no_time_of_the_answer(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "time", LateStart())
    assert asked(state, "SELECT count(*) FROM calls", seconds=2.0).rows == [[3]]


def children() -> int:
    return len(psutil.Process().children(recursive=True))


def test_what_is_cancelled_ends_with_its_process(state: Path) -> None:
    cancellation, refused, before = Cancellation(), [], children()

    def ask_it() -> None:
        sql = f"{COUNTING.format(10**12)}SELECT count(*) FROM n"
        try:
            ask(state, state, sql, seconds=60, cancellation=cancellation)
        except QuestionRefused as error:
            refused.append(str(error))

    asking = threading.Thread(target=ask_it)
    asking.start()
    wait_until(lambda: children() > before)
    cancellation.set()
    asking.join(30)
    assert refused == ["it was cancelled"]
    assert children() <= before


def test_what_was_cancelled_before_begins_no_answer(state: Path) -> None:
    cancellation = Cancellation()
    cancellation.set()
    with pytest.raises(QuestionRefused, match="it was cancelled"):
        ask(state, state, "SELECT 1", cancellation=cancellation)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("denied", ("denied", {})),
        (" denied  since=2h a='b c' ", ("denied", {"since": "2h", "a": "b c"})),
        ("select a=1", ("select a=1", {})),
        ("SELECT tool FROM calls", ("SELECT tool FROM calls", {})),
        ("values (1)", ("values (1)", {})),
        ("with", ("with", {})),
    ],
)
def test_a_line_is_parted(text: str, parts: tuple[str, dict[str, str]]) -> None:
    assert parted(text) == parts


@pytest.mark.parametrize(("text", "said"), [("denied 2h", "KEY=VALUE"), ("denied a='b", "quote")])
def test_a_line_that_cannot_be_parted_is_told(text: str, said: str) -> None:
    with pytest.raises(QuestionRefused, match=said):
        parted(text)


def test_what_needs_too_much_memory_is_ended(state: Path) -> None:
    wide = "SELECT i, printf('%4000000d', i) AS wide FROM n ORDER BY wide"
    sql = COUNTING.format(400) + wide
    with pytest.raises(QuestionRefused, match="512 MiB of memory"):
        asked(state, sql, seconds=30)


def test_what_would_be_two_gigabytes_is_nothing(state: Path) -> None:
    assert asked(state, "SELECT printf('%2000000000d', 1)").rows == [[None]]


WRITING = ("INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ALTER", "REPLACE", "WITH x", "ANALYZE",
           "BEGIN", "SAVEPOINT", "ATTACH", "DETACH", "PRAGMA", "EXPLAIN")  # fmt: skip


@pytest.mark.parametrize("sql", [sql for sql in ATTEMPTS if sql.startswith(WRITING)])
def test_what_does_not_begin_with_select_is_not_compiled_either(sql: str) -> None:
    with pytest.raises((sqlite3.Error, sqlite3.Warning, ValueError)):
        _check(sql, {})


def test_questions_that_are_allowed(state: Path) -> None:
    for sql in (
        "SELECT * FROM calls",
        "  select tool from CALLS where Tool like 'b%'",
        "/* why */ SELECT c.tool FROM calls c JOIN turns t ON t.turn = c.turn",
        "-- a comment\nWITH calls AS (SELECT * FROM turns) SELECT prompt FROM calls",
        "SELECT tool, count(*) OVER (PARTITION BY tool) FROM calls;",
        "VALUES (1, 'a')",
        "WITH mine AS (SELECT 1 UNION SELECT 2) SELECT count(*) FROM mine",
        "SELECT * FROM temp.calls",
        COUNTING.format(9) + "SELECT i FROM n",
        "SELECT substr(ts, 1, 10), strftime('%H', ts), json_extract('{\"a\":1}', '$.a') FROM lines",
        "SELECT * FROM sessions LEFT JOIN usage USING (session) CROSS JOIN errors",
    ):
        assert asked(state, sql).rows, sql


def test_values_are_plain(state: Path) -> None:
    sql = "SELECT x'00ff', 9e999, NULL, 2.5, 'é', 9223372036854775807, CAST(x'ff' AS TEXT)"
    assert asked(state, sql).rows == [["00ff", None, None, 2.5, "é", 2**63 - 1, "\ufffd"]]


def test_an_answer_has_at_most_so_many_rows(state: Path) -> None:
    whole = asked(state, COUNTING.format(10_000) + "SELECT i FROM n")
    assert (len(whole.rows), whole.is_truncated) == (10_000, False)
    cut = asked(state, COUNTING.format(10_001) + "SELECT i FROM n")
    assert (len(cut.rows), cut.is_truncated) == (10_000, True)
    wide = asked(state, COUNTING.format(10) + "SELECT printf('%8000000d', i) FROM n")
    assert len(wide.rows) == 4
    assert wide.is_truncated


def test_an_index_that_cannot_be_read_is_told(own_state: Path) -> None:
    path = index_path(own_state)
    whole = path.read_bytes()
    path.write_bytes(whole[:5_000])
    with pytest.raises(QuestionRefused):
        asked(own_state, "SELECT * FROM calls")
    path.write_bytes(b"no database at all" * 500)
    with pytest.raises(QuestionRefused):
        asked(own_state, "SELECT * FROM calls")
    path.write_bytes(b"")
    with pytest.raises(QuestionRefused, match="not an index of tapui"):
        asked(own_state, "SELECT * FROM calls")
    path.write_bytes(whole)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 4")
    connection.close()
    with pytest.raises(QuestionRefused, match=f"version 4, this tapui makes version {VERSION}"):
        asked(own_state, "SELECT * FROM calls")
    path.unlink()
    with pytest.raises(IndexMissing):
        asked(own_state, "SELECT * FROM calls")
    assert bring_up_to_date(own_state, 30) == "current"
    assert asked(own_state, "SELECT count(*) FROM calls").rows == [[3]]


def test_an_index_may_be_deleted_and_made_again_while_it_is_asked(own_state: Path) -> None:
    ended = threading.Event()

    def again() -> None:
        while not ended.is_set():
            index_path(own_state).unlink(missing_ok=True)
            bring_up_to_date(own_state, 30)

    thread = threading.Thread(target=again)
    thread.start()
    try:
        for _ in range(10):
            try:
                (count,) = asked(own_state, "SELECT count(*) FROM calls").rows[0]
            except (QuestionRefused, IndexMissing):
                continue
            assert count in (0, 3)
    finally:
        ended.set()
        thread.join()
    assert bring_up_to_date(own_state, 30) == "current"
    assert asked(own_state, "SELECT count(*) FROM calls").rows == [[3]]


def test_it_is_answered_while_the_index_is_written(own_state: Path) -> None:
    with writing(own_state) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM calls")
        assert asked(own_state, "SELECT count(*) FROM calls").rows == [[3]]
        connection.execute("ROLLBACK")


def test_own_questions_are_files_of_the_configuration_folder_alone(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, here = tmp_path / "config", tmp_path / "repository"
    (config / "questions").mkdir(parents=True)
    (here / "questions").mkdir(parents=True)
    own = "-- My own.\n-- :tool = bash  a tool\nSELECT count(*) FROM calls WHERE tool = :tool\n"
    (config / "questions" / "mine.sql").write_text(own)
    marked = f"\ufeff{own}".replace("\n", "\r\n")
    (config / "questions" / "marked.sql").write_bytes(marked.encode())
    (config / "questions" / "Bad Name.sql").write_text(own)
    (config / "questions" / "denied.sql").write_text("SELECT 'my own'")
    (config / "questions" / "evil.sql").write_text("DROP TABLE main.rows")
    os.mkfifo(config / "questions" / "pipe.sql")
    (here / "questions" / "theirs.sql").write_text(own)
    monkeypatch.chdir(here)
    assert ask(state, config, "mine").rows == [[2]]
    for name in ("mine", "marked"):
        assert ask(state, config, name, {"tool": "edit"}).rows == [[1]]
    assert ask(state, config, "denied").rows == [["my own"]]
    for name in ("theirs", "pipe", "evil"):
        with pytest.raises(QuestionRefused):
            ask(state, config, name)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("no-such", {}, "there is no question no-such"),
        ("denied", {"colour": "red"}, "denied has no colour; it takes since, limit"),
        ("waiting-for-me", {"since": "1d"}, "it takes nothing"),
        ("denied", {"since": "yesterday"}, "expected a span"),
        ("denied", {"limit": "many"}, "expected a number"),
        ("what-ran-after", {"ref": "nowhere"}, "expected COLLECTION/RUN/SEQ"),
        ("SELECT 1", {"a": "b"}, "SQL takes no arguments"),
        ("SELECT :who", {}, "binding"),
    ],
)
def test_wrong_questions_are_told(state: Path, name: str, given: dict[str, str], said: str) -> None:
    with pytest.raises(QuestionRefused, match=said):
        ask(state, state.parent / "config", name, given)


def test_arguments_are_values_never_sql(state: Path) -> None:
    hostile = "' OR 1 = 1; DROP TABLE main.rows; --"
    table = ask(
        state, state.parent, "slowest-calls", {"session": hostile, "since": "2000-01-01T00:00:00Z"}
    )
    assert table.rows == []


@pytest.mark.parametrize("seconds", [0, -1, 61])
def test_an_answer_takes_at_most_a_minute(state: Path, seconds: float) -> None:
    with pytest.raises(QuestionRefused, match="at most 60 seconds"):
        asked(state, "SELECT 1", seconds=seconds)


def test_moments_and_refs() -> None:
    assert moment("2h", 10_000) == 2_800
    assert moment("1970-01-01T00:01:00Z", 0) == 60
    ref = ref_of("records:calls/r1/17")
    assert (ref.collection, ref.run, ref.seq) == ("calls", "r1", 17)
    assert ref_of("r1/17").collection == ""
    for text in ("", "calls", "calls/r1/", "a/b/c/d", "calls/r1/-3"):
        with pytest.raises(QuestionRefused):
            ref_of(text)
