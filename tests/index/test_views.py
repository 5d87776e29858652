"""The views over the records: their form, and that they say what the records say."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tapui.index.asking import ask, question_of, questions, ref_of, stock_names
from tapui.index.search import record_of_ref
from tapui.index.store import index_path, opened_to_read, writing
from tapui.index.update import bring_up_to_date
from tapui.index.views import BEFORE_LEDGER, NO_CHECK, VIEWS, RecordView, install
from tapui.records import register
from tapui.records.reader import ALL_COLLECTIONS
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.criteria import CheckedRun, Disposal
from tapui.wire.turns import FileChange
from tests.index.asked import finding, goal, proof, review, rows, span, write_everything
from tests.index.played import call, idle, line, message, permission, prompt, raw
from tests.records.turns import Writer, closed, opened, session, stamp

SCHEMA = {
    "sessions": (
        "label text, cwd text, host text, state text, mode text, model text, started_by "
        "text, ended text, reason text"
    ),
    "turns": (
        "turn integer, prompt text, source text, source_name text, state text, duration "
        "real, ended text, steps integer, failed integer, denied integer, cancelled "
        "integer, stopped integer, timed_out integer, waited real, sent_back integer, files "
        "integer, added integer, removed integer, is_outside integer, is_history integer, "
        "proof text, proof_reason text, "
        "checked_in integer"
    ),
    "calls": (
        "turn integer, call text, tool text, tool_no integer, provider text, state text, "
        "outcome text, is_failed integer, duration real, queued real, gated real, error_code text, "
        "error text, exit_code integer, agent text, caller text, summary text, summary_no "
        "integer, files integer"
    ),
    "approvals": (
        "turn integer, approval text, kind text, state text, decided_by text, rule text, "
        "effect text, waited real, provider text, tool text, summary text, reason text, "
        "expires text"
    ),
    "lines": (
        "turn integer, stream text, number integer, level text, text text, emitter_run "
        "integer, trace text"
    ),
    "runs": (
        "emitter text, number integer, status text, code text, error text, duration real, "
        "lines integer, kept integer, surfaced integer, injected integer, trace text"
    ),
    "spans": (
        "trace text, span text, parent text, name text, duration real, status text, code "
        "text, tool text, provider text, call text, agent text, turn integer, emitter "
        "text, emitter_run integer, stream text, lines integer, kept integer, surfaced "
        "integer, injected integer, held integer, dropped integer, model text, error text"
    ),
    "goals": (
        "turn integer, goal text, title text, status text, opened_by text, closed text, "
        "closed_by text, criteria integer, passed integer, sent_back integer, tokens "
        "integer, revision integer, note text"
    ),
    "checks": (
        "turn integer, name text, kind text, state text, goal text, command text, "
        "exit_code integer, tests text, by text, call text, expected text, actual text, "
        "reason text, provenance text"
    ),
    "claims": (
        "turn integer, name text, text text, verdict text, reason text, is_material "
        "integer, checks integer, goal text"
    ),
    "reviews": (
        "turn integer, review text, monitor text, decision text, observed text, reason "
        "text, stream text, first integer, last integer, unreviewed integer, reviewer "
        "text, model text, finding text, fingerprint text, title text, priority text, "
        "confidence real, path text, line integer, rule text, is_opinion integer, verdict "
        "text, disposition text"
    ),
    "files": (
        "turn integer, path text, added integer, removed integer, is_probable integer, call text"
    ),
    "usage": (
        "turn integer, model text, model_no integer, day_no integer, kind text, input "
        "integer, output integer, cost real, requests real, cache_read integer, "
        "cache_write integer, credits real, calls integer, is_again integer"
    ),
    "errors": ("turn integer, code text, source text, message text"),
}
PLACE = "ts text, session text, run text, seq integer, ref text, id integer, session_no integer"


def folders(state: Path) -> list[Path]:
    of_sessions = [one for found in register.sessions(state).values() for one in found]
    return [*of_sessions, *register.gateway_folders(state)]


@pytest.fixture
def everything(state: Path, workspace: Path) -> Path:
    with Writer(state) as writer:
        write_everything(writer, workspace)
    return state


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, for all tests that only read; its index is current."""
    folder = tmp_path_factory.mktemp("everything")
    (folder / "s1").mkdir()
    with Writer(folder / "state") as writer:
        write_everything(writer, folder / "s1")
    assert bring_up_to_date(folder / "state", 30) == "current"
    return folder / "state"


def test_the_views_are_a_contract() -> None:
    told = {
        view.name: ", ".join(f"{one.name} {one.type}" for one in view.columns) for view in VIEWS
    }
    assert told == SCHEMA
    for view in VIEWS:
        first = ", ".join(f"{one.name} {one.type}" for one in view.all_columns[:7])
        assert first == PLACE


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_each_view_s_example_runs_and_its_rows_lead_to_records(
    unchanged: Path, tmp_path: Path, view: RecordView
) -> None:
    found = rows(unchanged, f"SELECT ref, run, seq, ts FROM {view.name}")
    assert found
    for ref, run, seq, _ts in found:
        record = record_of_ref(folders(unchanged), ref_of(ref))
        assert record is not None
        assert (record.run, record.seq) == (run, seq)
        assert ref.partition("/")[0] in ALL_COLLECTIONS
    assert ask(unchanged, tmp_path, view.example).rows


def test_values_have_the_types_that_the_schema_says(unchanged: Path) -> None:
    types: dict[str, tuple[type, ...]] = {"text": (str,), "integer": (int,), "real": (float, int)}
    for view in VIEWS:
        for row in rows(unchanged, f"SELECT * FROM {view.name}"):
            for column, value in zip(view.all_columns, row, strict=True):
                is_fit = value is None or isinstance(value, types[column.type])
                assert is_fit, (view.name, column.name, value)


@pytest.mark.parametrize("name", stock_names())
def test_each_stock_question_runs_and_has_refs(unchanged: Path, tmp_path: Path, name: str) -> None:
    question = questions(tmp_path)[name]
    assert question.about
    given = {one.name: "" for one in question.parameters if one.name == "since"}
    if name == "what-ran-after":
        given["ref"] = "sessions/r1/1"
    table = ask(unchanged, tmp_path, name, given)
    assert table.columns[-1] == "ref"
    for row in table.rows:
        assert record_of_ref(folders(unchanged), ref_of(row[-1])) is not None


def test_stock_questions_find_what_they_are_about(unchanged: Path, tmp_path: Path) -> None:
    def first(name: str, **given: str) -> dict[str, Any]:
        table = ask(unchanged, tmp_path, name, given)
        return dict(zip(table.columns, table.rows[0], strict=True))

    failed = first("failures-by-tool", since="")
    assert failed["outcome"] == "failed"
    assert (failed["tool"], failed["exit_code"], failed["failed"]) == ("bash", 1, 1)
    assert first("slowest-calls", since="")["duration"] == 12.5
    assert first("flaky-commands", since="")["summary"] == "pytest -q"
    assert first("retries", since="")["tries"] == 2
    assert first("files-touched", since="")["path"] == "/code/a.py"
    assert first("cost-by-session")["input"] == 100
    assert first("cost-by-day", since="")["day"] == "2026-01-01"
    assert first("prompts", since="")["proof"] == "checked"
    after = ask(unchanged, tmp_path, "what-ran-after", {"ref": "calls/r1/4"})
    assert [row[1] for row in after.rows] == ["bash", "bash"]
    assert not ask(unchanged, tmp_path, "unproven", {"since": ""}).rows


def test_what_ran_after_a_record_is_of_the_records_session(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), prompt("mend"), opened("s2"), prompt("look", "s2"))
        writer.turn(message("I begin"))
        for number, session_id in enumerate(("s1", "s2", "s1", "s2")):
            command = {"command": f"echo {number}"}
            writer.turn(*call(f"c{number}", "bash", command, session_id=session_id))
    assert bring_up_to_date(state, 30) == "current"

    def after(ref: str) -> list[str]:
        table = ask(state, tmp_path, "what-ran-after", {"ref": ref})
        return [row[table.columns.index("summary")] for row in table.rows]

    refs = dict(rows(state, "SELECT summary, ref FROM calls"))
    assert after(refs["echo 0"]) == ["echo 2"]
    assert after(refs["echo 1"]) == ["echo 3"]
    (turn,) = rows(state, "SELECT ref FROM turns WHERE session = 's2'")
    assert after(turn[0]) == ["echo 1", "echo 3"]
    # Of a record that is no row of a view, such as a host's event, the session is not known.
    assert after("sessions/r1/5") == ["echo 0", "echo 1", "echo 2", "echo 3"]


def test_a_flaky_command_is_none_where_a_file_was_changed_between(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), prompt("mend"))
        writer.turn(*call("c1", "bash", {"command": "pytest"}, exit_code=1))
        change = [FileChange("/code/a.py", 1, 1)]
        writer.turn(*call("c2", "edit", {"path": "a.py"}, changes=change))
        writer.turn(*call("c3", "bash", {"command": "pytest"}, exit_code=0))
    assert bring_up_to_date(state, 30) == "current"
    assert not ask(state, tmp_path, "flaky-commands", {"since": ""}).rows


def test_what_waits_is_told_until_it_is_over(state: Path, workspace: Path, tmp_path: Path) -> None:
    asked, decided = permission("a1", "rm -rf build")
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        far = "2199-01-01T00:00:00.000000Z"
        approval = subjects.Approval("a2", "mode", "waiting", {"to": "plan"}, stamp(0), far, "s1")
        writer.turn(ev.ApprovalRequested(approval, "s1"), asked)
        assert bring_up_to_date(state, 30) == "current"
        waiting = ask(state, tmp_path, "waiting-for-me")
        assert [row[1] for row in waiting.rows] == ["mode"]  # the other one's time is over
        withdrawn = replace(approval, state="withdrawn")
        writer.turn(decided, ev.ApprovalWithdrawn(withdrawn, "s1"))
        assert bring_up_to_date(state, 30) == "current"
        assert not ask(state, tmp_path, "waiting-for-me").rows


def test_a_request_that_waits_has_the_rule_that_was_read_later(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    asked = permission("a1", "npm publish")[0]
    assert isinstance(asked, ev.ApprovalRequested)
    rule = subjects.AppliedRule("ask", "shell", "npm", "person")
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), asked)
        assert bring_up_to_date(state, 30) == "current"
        writer.turn(ev.ApprovalJudged(replace(asked.approval, rule=rule), "s1"))
    assert bring_up_to_date(state, 30) == "current"
    sql = "SELECT state, rule, effect FROM approvals"
    assert ask(state, tmp_path, sql).rows == [["waiting", "npm", "ask"]]


def test_what_rules_and_gates_decided_is_named(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    rule = subjects.AppliedRule("allow", "shell", "npm ci", "person", "config.toml:7")
    allowed = subjects.Approval(
        "a1", "permission", "approved", {"fullCommandText": "npm ci"}, stamp(0), stamp(9), "s1",
        decided_by="rule", rule=rule, duration=1.0,
    )  # fmt: skip
    denied = subjects.Gate("k1", "s1", "bash", "deny", ["ci"], stamp(0), "ci", "not on main")
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), ev.ApprovalDecided(allowed, "s1"))
        writer.turn(ev.GateChecked("s1", denied))
    assert bring_up_to_date(state, 30) == "current"
    (row,) = ask(state, tmp_path, "allowed-by-rule", {"since": ""}).rows
    assert row[1:3] == ["npm ci", "permission"]
    (row,) = ask(state, tmp_path, "denied", {"since": ""}).rows
    assert (row[1], row[2], row[6]) == ("gate", "ci", "not on main")
    assert row[-1].startswith("calls/")


def test_turns_from_before_the_ledger_are_unknown_with_that_reason(
    state: Path, workspace: Path
) -> None:
    change = [FileChange("/code/a.py", 1, 0)]
    edit = {"path": "a.py"}
    with Writer(state, "old") as writer:
        writer.turn(opened("s1", workspace), prompt("one"))
        writer.turn(*call("c1", "edit", edit, changes=change))
        writer.turn(idle(), closed("s1"))
    with Writer(state, "new") as writer:
        writer.seq = 100
        writer.turn(opened("s1", workspace), prompt("two"))
        writer.turn(*call("c2", "edit", edit, changes=change))
        writer.turn(idle(), ev.SessionStood("s1"), prompt("three"), idle())
    sql = "SELECT prompt, proof, proof_reason FROM turns ORDER BY id"
    assert rows(state, sql) == [
        ("one", "unknown", BEFORE_LEDGER),
        ("two", "unknown", NO_CHECK),
        ("three", None, None),
    ]


def test_an_index_made_bit_by_bit_has_the_same_views(state: Path, workspace: Path) -> None:
    def told() -> dict[str, list[Any]]:
        found = {}
        for view in VIEWS:
            # The numbers of names are given as they come.
            columns = [one.name for one in view.all_columns if not one.name.endswith("_no")]
            sql = f"SELECT {', '.join(columns)} FROM {view.name}"
            found[view.name] = sorted(map(repr, rows(state, sql)))
        return found

    class Each(Writer):
        def turn(self, *events: Any) -> frozenset[int]:
            failed: frozenset[int] = frozenset()
            for event in events:
                failed |= super().turn(event)
                told()
            return failed

    with Each(state) as writer:
        write_everything(writer, workspace)
    bit_by_bit = told()
    index_path(state).unlink()
    assert told() == bit_by_bit


def test_a_goal_and_a_finding_are_one_row_as_they_stand(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(ev.GoalOpened("s1", goal("g-1", "active")))
        writer.turn(ev.GoalClosed("s1", goal("g-1", "achieved", "passed")))
        writer.turn(review("rv1", finding("fi-1"), finding("fi-2")))
        disposed = finding("fi-1", disposed=Disposal("accepted", "you", stamp(9)))
        writer.turn(ev.FindingDisposed("s1", disposed))
    assert rows(state, "SELECT goal, status, passed FROM goals") == [("g-1", "achieved", 1)]
    found = rows(state, "SELECT finding, monitor, disposition FROM reviews ORDER BY finding")
    assert found == [("fi-1", "watch", "accepted"), ("fi-2", "watch", "open")]


def test_a_call_in_the_background_gets_its_exit_code(state: Path, workspace: Path) -> None:
    shell = subjects.Shell("sh1", is_behind=True)
    began, ended = call("c1", "bash", {"command": "make"}, shell=shell)
    exited = subjects.Call("c1", "s1", "copilot", "bash", "done", stamp(0), exit_code=2)
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), began, ended)
        assert rows(state, "SELECT state, exit_code FROM calls") == [("done", None)]
        writer.turn(ev.CallExited("s1", exited))
        assert rows(state, "SELECT state, exit_code FROM calls") == [("done", 2)]


def test_an_end_without_a_beginning_is_a_row_too(state: Path, workspace: Path) -> None:
    _, ended = call("c1", "bash", {"command": "make"}, duration=3.0)
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), ended)
    assert rows(state, "SELECT tool, state, duration FROM calls") == [("bash", "done", 3.0)]


def test_an_answer_of_grep_is_no_failure(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(*call("c1", "bash", {"command": "grep x a"}, exit_code=1))
        writer.turn(*call("c2", "bash", {"command": "make"}, exit_code=1))
        writer.turn(*call("c3", "save", {}, state="failed", error_code="DENIED", error="no"))
    found = rows(state, "SELECT call, is_failed FROM calls ORDER BY id")
    assert found == [("c1", 0), ("c2", 1), ("c3", 0)]


ENDS: dict[str, dict[str, Any]] = {
    "done": {"state": "done"},
    "failed": {"state": "failed", "error": "x", "error_code": "HANDLER_ERROR"},
    "denied": {"state": "failed", "error": "x", "error_code": "DENIED"},
    "cancelled": {"state": "cancelled", "error": "x", "error_code": "CANCELLED"},
    "stopped": {"state": "failed", "error": "x", "error_code": "STOPPED"},
    "timedOut": {"state": "failed", "error": "x", "error_code": "TIMEOUT"},
}


def test_what_failed_was_denied_cancelled_stopped_or_timed_out_is_counted_apart(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), prompt("go"))
        for many, (ended, fields) in enumerate(ENDS.items(), 1):
            for number in range(many):
                writer.turn(*call(f"{ended}{number}", ended, {}, "x", **fields))
        writer.turn(call("runs", "runs", {})[0])
    found = rows(state, "SELECT tool, outcome, count(*), sum(is_failed) FROM calls"
                 " GROUP BY tool, outcome ORDER BY min(id)")  # fmt: skip
    assert found == [
        *((ended, ended, many, many * (ended == "failed")) for many, ended in enumerate(ENDS, 1)),
        ("runs", None, 1, 0),
    ]
    (turn,) = rows(state, "SELECT failed, denied, cancelled, stopped, timed_out FROM turns")
    assert turn == (2, 3, 4, 5, 6)
    table = ask(state, tmp_path, "failures-by-tool", {"since": ""})
    told = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(one["tool"], one["outcome"], one["error_code"], one["failed"]) for one in told] == [
        ("timedOut", "timedOut", "TIMEOUT", 6),
        ("failed", "failed", "HANDLER_ERROR", 2),
    ]


def test_what_is_deleted_is_in_no_view_before_the_index_knows(
    everything: Path, workspace: Path, tmp_path: Path
) -> None:
    assert bring_up_to_date(everything, 30) == "current"
    assert ask(everything, tmp_path, "SELECT * FROM calls").rows
    (workspace / "files" / "tap" / "calls.jsonl").unlink()
    assert ask(everything, tmp_path, "SELECT * FROM calls").rows == []
    assert ask(everything, tmp_path, "SELECT * FROM turns").rows


def test_nothing_of_what_is_removed_stays_in_the_file(everything: Path, workspace: Path) -> None:
    assert rows(everything, "SELECT * FROM calls")
    before = b"".join(path.read_bytes() for path in index_path(everything).parent.iterdir())
    assert b"pytest -q" in before
    for path in (workspace / "files" / "tap").iterdir():
        path.unlink()
    assert bring_up_to_date(everything, 30) == "current"
    after = b"".join(path.read_bytes() for path in index_path(everything).parent.iterdir())
    for word in (b"pytest -q", b"mend the tests", b"it is quiet", b"an open file", b"/code/a.py"):
        assert word not in after


SECRET = "ghp_" + "a1B2" * 9


def test_secrets_are_in_no_column(state: Path, workspace: Path) -> None:
    secret = f"token {SECRET} end"
    rule = subjects.AppliedRule("deny", "shell", secret, "person", "a:1")
    asked = subjects.Approval(
        "a1", "permission", "denied", {"fullCommandText": secret, "toolName": secret}, stamp(0),
        stamp(9), "s1", provider=secret, decided_by=secret, reason=secret, rule=rule,
    )  # fmt: skip
    where = {"label": secret, "cwd": secret, "model": secret, "reason": secret}
    hostile = replace(session("s1", workspace), **where)
    with Writer(state) as writer:
        writer.turn(ev.SessionOpened("s1", hostile), prompt(secret))
        fields = {"state": "failed", "error": secret, "error_code": "X", "agent_id": secret,
                  "changes": [FileChange(secret, 1, 1)]}  # fmt: skip
        writer.turn(*call("c1", "bash", {"command": secret}, secret, **fields))
        writer.turn(ev.ApprovalRequested(asked, "s1"), ev.ApprovalDecided(asked, "s1"))
        writer.turn(line(secret))
        writer.turn(span("emitter", 1.0, emitter=secret, error=secret, stream=secret))
        writer.turn(ev.GoalOpened("s1", goal("g-1", "active", title=secret)))
        writer.turn(review("rv1", finding("fi-1", path=secret, rule=secret)))
        used = {"model": secret, "inputTokens": 1, "outputTokens": 1}
        writer.turn(ev.SessionHappened("s1", "assistant.usage", raw(used)))
        writer.turn(ev.ErrorSent("INVALID_JSON", secret, provider=secret))
        ran = CheckedRun(secret, stamp(7), 0, secret)
        writer.turn(ev.TurnProved("s1", stamp(2), proof("checked", ran)), idle())
    for view in VIEWS:
        for row in rows(state, f"SELECT * FROM {view.name}"):
            assert SECRET not in repr(row), view.name
    for path in index_path(state).parent.iterdir():
        assert SECRET.encode() not in path.read_bytes()


def test_a_question_s_comments_say_what_it_takes() -> None:
    text = "-- What failed,\n-- and why.\n-- :since = 3d  since\n-- :who =   a name\nSELECT 1\n"
    question = question_of("mine", text)
    assert question.about == "What failed, and why."
    told = [(one.name, one.default, one.about) for one in question.parameters]
    assert told == [("since", "3d", "since"), ("who", "", "a name")]


def test_a_row_of_the_index_is_read_while_it_is_written(everything: Path) -> None:
    assert rows(everything, "SELECT count(*) FROM calls") == [(3,)]
    with writing(everything) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM calls")
        with contextlib.closing(opened_to_read(index_path(everything))) as reader:
            install(reader)
            assert reader.execute("SELECT count(*) FROM calls").fetchall() == [(3,)]
        connection.execute("ROLLBACK")
