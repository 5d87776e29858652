"""What `tap_query_records` is answered, by the views and by the files: the same."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tapui.index import record_query
from tapui.index.asking import QuestionRefused, ask_records
from tapui.index.record_query import aggregated, answer
from tapui.index.store import index_path
from tapui.index.update import bring_up_to_date
from tapui.tools.records import query_of
from tapui.wire import events as ev
from tapui.wire.message import Line
from tests.index.asked import write_everything
from tests.index.played import call, line, prompt, raw
from tests.records.turns import Writer, opened, stamp


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state, workspace = tmp_path / "state", tmp_path / "s1"
    workspace.mkdir()
    with Writer(state) as writer:
        write_everything(writer, workspace)
        writer.turn(opened("other"), *call("x1", "bash", {"command": "id"}, session_id="other"))
    return state


def by_files(state: Path, seconds: float = 10.0, session: str = "s1", **args: Any) -> Any:
    """Answer without an index."""
    index_path(state).unlink(missing_ok=True)
    return answer(state, asked(session, args), seconds)


def by_views(state: Path, seconds: float = 10.0, session: str = "s1", **args: Any) -> Any:
    assert bring_up_to_date(state, 30) == "current"
    return answer(state, asked(session, args), seconds)


def asked(session: str, args: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(query_of(args))
    return {"session": session} | made


def told(found: Any) -> Any:
    """Return an answer without what differs: the time, and the turn, which the index knows."""
    rest = {name: value for name, value in found.items() if name not in ("tookMs", "index")}
    for one in rest.get("records", ()):
        one.pop("turn", None)
    return rest


QUESTIONS: list[dict[str, Any]] = [
    *({"collection": name} for name in ("calls", "streams", "approvals", "traces", "modes")),
    {"collection": "errors", "order": "asc"},
    {"collection": "calls", "where": [{"field": "call.tool", "op": "eq", "value": "bash"}]},
    {"collection": "calls", "where": [{"field": "call.exitCode", "op": "gt", "value": 0}],
     "fields": ["call.args.command", "call.exitCode"]},
    {"collection": "calls", "any": [
        {"field": "call.tool", "op": "startsWith", "value": "ed"},
        {"field": "call.args.command", "op": "endsWith", "value": "-q"}]},
    {"collection": "calls", "text": "PYTEST"},
    {"collection": "calls", "groupBy": ["call.tool"],
     "aggregate": [{"op": "avg", "field": "call.duration", "as": "ms"}, {"op": "count"}]},
    {"collection": "traces", "groupBy": {"every": "1h"},
     "aggregate": [{"op": "p95", "field": "span.duration"}]},
    {"collection": "streams", "since": "2026-01-01T00:00:00Z",
     "until": "2026-01-01T00:00:01Z"},
    {"collection": "streams", "since": "2h"},
    {"collection": "calls", "where": [{"field": "call.duration", "op": "exists"}]},
    {"collection": "calls", "where": [{"field": "call.duration", "op": "missing"}]},
    {"collection": "calls", "where": [{"field": "call.tool", "op": "in",
                                       "value": ["edit", 3]}]},
    {"collection": "calls", "where": [{"field": "call.tool", "op": "nin",
                                       "value": ["edit"]}]},
    {"collection": "calls", "where": [{"field": "call.tool", "op": "matches",
                                       "value": "^b.s"}]},
    {"collection": "streams", "where": [{"field": "line.event", "op": "contains",
                                         "value": "and more"}]},
]  # fmt: skip


def test_views_and_files_give_the_same(state: Path) -> None:
    by_file = [by_files(state, **args) for args in QUESTIONS]
    for args, files in zip(QUESTIONS, by_file, strict=True):
        views = by_views(state, **args)
        assert "behind" in files.get("index", "behind"), args
        assert "index" not in views, args
        assert told(files) == told(views), args


def test_a_call_is_one_record_with_its_end(state: Path) -> None:
    found = by_views(state, collection="calls", order="asc")
    assert (found["matched"], found["scanned"], found["truncated"]) == (3, 3, False)
    first = found["records"][1]
    assert first["ref"] == "r1/5"
    assert first["call"] == {
        "id": "c2", "tool": "bash", "provider": "copilot", "state": "done", "duration": 12.5,
        "exitCode": 1,
    }  # fmt: skip
    assert first["turn"] == 1


def test_only_the_own_session_is_read(state: Path) -> None:
    for way in (by_files, by_views):
        tools = [one["call"]["id"] for one in way(state, collection="calls")["records"]]
        assert sorted(tools) == ["c1", "c2", "c3"]
        other = way(state, session="other", collection="calls")["records"]
        assert [one["call"]["id"] for one in other] == ["x1"]
        assert way(state, session="nobody", collection="calls")["records"] == []


def test_types_are_compared_strictly_and_others_counted(state: Path) -> None:
    where = [{"field": "call.exitCode", "op": "eq", "value": "1"}]
    for way in (by_files, by_views):
        found = way(state, collection="calls", where=where)
        assert (found["matched"], found["skippedTypes"]) == (0, 2)
    where = [{"field": "call.exitCode", "op": "eq", "value": True}]
    assert by_views(state, collection="calls", where=where)["matched"] == 0


def test_a_pattern_that_is_none_or_takes_too_long_matches_nothing(state: Path) -> None:
    for pattern in ("(", "(a+)+$"):
        where = [{"field": "call.args.command", "op": "matches", "value": pattern}]
        assert by_views(state, collection="calls", where=where)["matched"] == 0


def test_pages_follow_each_other_while_records_are_added(state: Path, tmp_path: Path) -> None:
    with Writer(state, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", tmp_path / "s1"))
        for number in range(25):
            writer.turn(*call(f"n{number}", "save", {"n": number}))
        seen: list[str] = []
        cursor = None
        for page in range(4):
            more = {} if cursor is None else {"cursor": cursor}
            found = by_views(state, collection="calls", limit=10, **more)
            seen += [one["call"]["id"] for one in found["records"]]
            cursor = found.get("cursor")
            writer.turn(*call(f"late{page}", "save", {}))
            if cursor is None:
                break
    assert seen == [f"n{number}" for number in range(24, -1, -1)] + ["c3", "c2", "c1"]


def test_an_answer_is_bounded_and_says_so(state: Path, tmp_path: Path) -> None:
    with Writer(state, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", tmp_path / "s1"))
        for _ in range(60):
            writer.turn(line("é" * 3_000))
    for way in (by_files, by_views):
        found = way(state, collection="streams", limit=500)
        assert found["truncated"] is True
        assert 1 <= len(found["records"]) < 60
        assert len(json.dumps(found)) <= record_query.MAX_BYTES + 1_000
        assert found["matched"] == 61


def test_what_takes_too_long_is_told_with_what_was_found(state: Path, tmp_path: Path) -> None:
    with Writer(state, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", tmp_path / "s1"))
        for number in range(600):
            writer.turn(line(f"line {number}"))
    found = by_files(state, seconds=0.0, collection="streams", text="line")
    assert found["truncated"] is True
    assert 0 < found["scanned"] < 601


def test_damage_is_passed_over_and_counted(state: Path, tmp_path: Path) -> None:
    path = tmp_path / "s1" / "files" / "tap" / "streams.jsonl"
    junk = [b'{"v":1,"run":"r1","seq":"x"', b"not a record", b"", b"\xff\xfe", b"\0" * 50]
    with path.open("ab") as file:
        file.write(b"\n".join([*junk, b'{"v":1,"run":"r1"']))
    for way in (by_files, by_views):
        found = way(state, collection="streams")
        assert "index" not in found or way is by_files
        assert (found["matched"], found["damaged"]) == (1, len(junk) + 1)
        other = way(state, collection="calls")  # another file, which is whole
        assert (other["matched"], other["damaged"]) == (3, 0)


def grouped(state: Path, way: Any, **args: Any) -> Any:
    return way(state, collection="streams", groupBy=["line.event"], **args)


def pages_of_groups(state: Path, way: Any, **args: Any) -> tuple[list[str], list[int]]:
    """Return the keys of all groups, page by page, and how many each page had."""
    keys: list[str] = []
    sizes: list[int] = []
    cursor = None
    for _ in range(1_000):
        more = {} if cursor is None else {"cursor": cursor}
        found = grouped(state, way, **args, **more)
        assert found["truncated"] is ("cursor" in found)
        keys += [one["key"]["line.event"] for one in found["groups"]]
        sizes.append(len(found["groups"]))
        cursor = found.get("cursor")
        if cursor is None:
            break
    return keys, sizes


@pytest.fixture
def many_groups(state: Path, tmp_path: Path) -> Path:
    with Writer(state, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", tmp_path / "s1"))
        for number in range(449):
            writer.turn(*([line(f"line {number}")] * (1 + number % 3)))
    return state


def test_groups_beyond_the_limit_are_cut_with_a_cursor(many_groups: Path) -> None:
    for way in (by_files, by_views):
        found = grouped(many_groups, way)
        assert (len(found["groups"]), found["truncated"]) == (20, True)
        keys, sizes = pages_of_groups(many_groups, way, limit=100)
        assert (len(keys), len(set(keys)), sizes) == (450, 450, [100, 100, 100, 100, 50])
    whole = grouped(many_groups, by_views, limit=450)
    assert (len(whole["groups"]), whole["truncated"]) == (450, False)
    assert "cursor" not in whole
    counts = [one["count"] for one in whole["groups"]]
    assert counts == sorted(counts, reverse=True)


def test_groups_follow_each_other_while_records_are_added(
    many_groups: Path, tmp_path: Path
) -> None:
    first = grouped(many_groups, by_views, limit=200)
    with Writer(many_groups, "r3") as writer:
        writer.seq = 9_000
        writer.turn(opened("s1", tmp_path / "s1"))
        for number in range(0, 449, 2):
            writer.turn(*([line(f"line {number}")] * 5))
    rest = grouped(many_groups, by_views, limit=500, cursor=first["cursor"])
    keys = [one["key"]["line.event"] for one in first["groups"] + rest["groups"]]
    assert (len(keys), len(set(keys))) == (450, 450)


def test_values_of_groups_are_shortened_as_those_of_records_are(
    state: Path, tmp_path: Path
) -> None:
    with Writer(state, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", tmp_path / "s1"))
        for number in range(60):
            writer.turn(line(f"{number:02}" + "é" * 9_000))
    aggregate = [{"op": "last", "field": "line.event", "as": "last"}]
    for way in (by_files, by_views):
        found = grouped(state, way, limit=500, aggregate=aggregate)
        assert len(json.dumps(found)) <= record_query.MAX_BYTES + 1_000
        assert max(len(one["key"]["line.event"]) for one in found["groups"]) <= 4_000
        assert max(len(one["last"]) for one in found["groups"]) <= 4_000
        keys, _ = pages_of_groups(state, way, limit=500, aggregate=aggregate)
        assert len({key[:2] for key in keys}) == 61


def test_a_cursor_is_of_groups_or_of_records(many_groups: Path) -> None:
    of_groups = grouped(many_groups, by_views)["cursor"]
    of_records = by_views(many_groups, collection="streams")["cursor"]
    with pytest.raises(QuestionRefused, match="cursor: not that of an answer"):
        by_views(many_groups, collection="streams", cursor=of_groups)
    for wrong in (of_records, "[", "7", '["a", "b", "c"]'):
        with pytest.raises(QuestionRefused, match="cursor: not that of an answer with groups"):
            grouped(many_groups, by_views, cursor=wrong)


def test_it_is_answered_while_the_index_is_behind(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_query, "WAIT", 0.0)
    assert bring_up_to_date(state, 30) == "current"
    with Writer(state, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", tmp_path / "s1"), *call("n1", "save", {"n": 1}))
        found = answer(state, asked("s1", {"collection": "calls", "limit": 1}), 5.0)
    assert found["index"].startswith("behind")
    assert found["records"][0]["call"]["id"] == "n1"


def test_metadata_of_lines_is_found_in_the_record(state: Path, tmp_path: Path) -> None:
    told = Line(7, stamp(1), "surface", "done", raw({"run": 3, "deep": [{"x": "y"}]}))
    with Writer(state, "r2") as writer:
        writer.seq = 1_000
        writer.turn(opened("s1", tmp_path / "s1"), prompt("x"))
        writer.turn(ev.StreamPosted("s1", "log@ci", told))
    for way in (by_files, by_views):
        where = [{"field": "line.metadata.deep[0].x", "op": "eq", "value": "y"},
                 {"field": "line.metadata.run", "op": "gte", "value": 3}]  # fmt: skip
        assert way(state, collection="streams", where=where)["matched"] == 1


def test_a_process_of_its_own_answers(state: Path) -> None:
    assert bring_up_to_date(state, 30) == "current"
    found = ask_records(state, asked("s1", {"collection": "traces", "limit": 1}))
    assert found["collection"] == "traces"
    assert len(found["records"]) == 1
    with pytest.raises(QuestionRefused, match="not that of an answer"):
        ask_records(state, asked("s1", {"collection": "calls", "cursor": "x"}))
    with pytest.raises(QuestionRefused, match="expected a span"):
        ask_records(state, asked("s1", {"collection": "calls", "since": "2026-99-99T00:00:00Z"}))


@pytest.mark.parametrize(
    ("op", "value"),
    [
        ("count", 4), ("countDistinct", 3), ("sum", 10), ("min", 1), ("max", 4), ("avg", 2.5),
        ("p50", 2), ("p90", 4), ("p99", 4), ("first", 4), ("last", 3),
    ],
)  # fmt: skip
def test_aggregates(op: str, value: Any) -> None:
    values = [("t2", 1, 2), ("t1", 1, 4), ("t3", 1, 3), ("t2", 2, 1)]
    if op == "countDistinct":
        values[0] = ("t2", 1, 1)
    assert aggregated(op, values, 4) == value
    assert aggregated(op, [], 0) in (None, 0)
