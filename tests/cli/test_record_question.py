"""`tapui records query`: conditions, groups and forms, over the engine of `tap_query_records`."""

import csv
import io
import json
from typing import Any

import pytest

from tapui.cli.failure import Failure
from tapui.cli.record_question import condition
from tests.cli.running import HOSTILE, RAW, ran
from tests.index.asked import write_everything
from tests.index.played import call, line
from tests.records.turns import Writer, opened
from tests.rig.gateway import Home


@pytest.fixture(autouse=True)
def _recorded(home: Home) -> None:
    (home.root / "s1").mkdir()
    with Writer(home.tapui) as writer:
        write_everything(writer, home.root / "s1")
        writer.turn(opened("s2"), *call("h1", HOSTILE, {"command": HOSTILE}, session_id="s2"))


def rows(home: Home, *arguments: str) -> list[dict[str, Any]]:
    done = ran(home, "records", "query", *arguments, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return [json.loads(one) for one in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("call.duration>500", {"op": "gt", "value": 500}),
        ("call.duration >= 0.5", {"op": "gte", "value": 0.5}),
        ("call.duration<=5", {"op": "lte", "value": 5}),
        ("call.duration != null", {"op": "ne", "value": None}),
        ("call.tool=bash", {"op": "eq", "value": "bash"}),
        ('call.tool="5"', {"op": "eq", "value": "5"}),
        ("call.tool~^a=b", {"op": "matches", "value": "^a=b"}),
        ("call.tool contains 5", {"op": "contains", "value": "5"}),
        ("call.error exists", {"op": "exists"}),
        ('call.tool in ["bash", "edit"]', {"op": "in", "value": ["bash", "edit"]}),
    ],
)
def test_a_condition_is_a_path_a_comparison_and_a_value(text: str, made: dict[str, Any]) -> None:
    found = condition(text)
    assert found.pop("field").startswith("call.")
    assert found == made


@pytest.mark.parametrize("text", ["", "call.tool", "=5", "> 5"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="expected a path"):
        condition(text)


def test_records_of_all_sessions_or_of_one_are_found(home: Home) -> None:
    found = rows(home, "calls")
    assert [one["call"]["id"] for one in found] == ["h1", "c3", "c2", "c1"]
    found = rows(home, "calls", "--session", "s1", "--where", "call.tool=bash", "--limit", "1")
    assert [one["call"]["id"] for one in found] == ["c3"]
    assert rows(home, "calls", "--where", "call.exitCode>5") == []
    # Of a collection without a view the files are read, of all sessions the newest first.
    kinds = [one["kind"] for one in rows(home, "modes")]
    assert kinds == [one["kind"] for one in rows(home, "modes", "--session", "s1")]


def test_groups_are_counted_and_added_up(home: Home) -> None:
    found = rows(home, "calls", "--session", "s1", "--group-by", "call.tool", "--agg", "count",
                 "--agg", "max:call.exitCode")  # fmt: skip
    assert [(one["key"], one["count"], one["max:call.exitCode"]) for one in found] == [
        ({"call.tool": "bash"}, 2, 1),
        ({"call.tool": "edit"}, 1, None),
    ]


def test_tables_have_a_column_for_each_path_and_nothing_raw(home: Home) -> None:
    arguments = ("calls", "--session", "s1", "--group-by", "call.tool")
    told = ran(home, "records", "query", *arguments, "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(told))) == [
        ["call.tool", "count"], ["bash", "2"], ["edit", "1"],
    ]  # fmt: skip
    told = ran(home, "records", "query", *arguments, "--format", "md").stdout
    assert told.splitlines()[0] == "| call.tool | count |"
    for form in ("table", "md"):
        done = ran(home, "records", "query", "calls", "--format", form)
        assert done.returncode == 0, done.stderr
        assert not RAW.search(done.stdout.replace("\n", ""))
        assert "call.exitCode" in done.stdout


def test_what_is_left_out_is_noted(home: Home) -> None:
    with Writer(home.tapui, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", home.root / "s1"))
        for number in range(600):
            writer.turn(line(f"line {number} " + "x" * 300))
    done = ran(home, "records", "query", "streams", "--format", "jsonl")
    assert len(done.stdout.splitlines()) == 20
    assert "there are more than these" in done.stderr
    # More than an agent's answer has room for.
    done = ran(home, "records", "query", "streams", "--format", "jsonl", "--limit", "700")
    assert (len(done.stdout.splitlines()), done.stderr) == (601, "")
    path = home.root / "s1" / "files" / "tap" / "calls.jsonl"
    with path.open("ab") as file:
        file.write(b"not a record\n")
    done = ran(home, "records", "query", "calls", "--where", "call.exitCode=x", "--session", "s1")
    assert "there are no such records" in done.stderr
    assert "values of another type than asked for: 2" in done.stderr
    assert "1 damaged line of the records was passed over" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "invalid choice"),
        (("calls", "--where", "call.tool"), "expected a path"),
        (("calls", "--where", "call.tool near x"), "where[0].op: one of eq"),
        (("calls", "--agg", "p95"), "aggregate[0].field: missing"),
        (("calls", "--agg", "p77:call.duration"), "aggregate[0].op: one of count"),
        (("calls", "--since", "soon"), "since: RFC 3339"),
        (("calls", "--limit", "10001"), "at most 10,000"),
    ],
)
def test_a_wrong_question_is_refused(home: Home, arguments: tuple[str, ...], said: str) -> None:
    done = ran(home, "records", "query", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_session_that_is_not_there_is_named(home: Home) -> None:
    done = ran(home, "records", "query", "calls", "--session", "nobody")
    assert done.returncode == 1
    assert "there are no records of session nobody" in done.stderr
