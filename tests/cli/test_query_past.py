"""`tapui query --past`: Copilot's stored sessions beside the records, also hostile ones."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest

from tapui.hosts.copilot.finding.past_files import PastSessions
from tapui.hosts.copilot.finding.past_reading import PastAsked
from tapui.hosts.copilot.session import history
from tests.cli.running import HOSTILE, RAW, on_terminal, ran
from tests.hosts.copilot.finding.test_past import OK, Stored
from tests.index.asked import write_everything
from tests.records.turns import Writer
from tests.rig.gateway import Home

SECRET = "ghp_" + "Zx9" * 12
SINCE = ("--past", "2001-01-01")
AT_ONCE = """
import sys
from tapui.cli import past_rows
from tapui.cli.main import main
from tapui.index import asking
past_rows.FIRST_SECONDS = past_rows.FIRST_LEFT = 0
asking.SECONDS = asking.MOST_SECONDS
sys.exit(main())
"""
"""`tapui` with a first answer as soon as there is anything, however long that answer takes."""
GIVING_WAY = """
import os
from tapui.hosts.copilot.finding import past_reading
from {} import main
past_reading.WORK_SECONDS = 0
assert main() == 0
os.write(2, b" %d" % os.getpriority(os.PRIO_PROCESS, 0))
"""
"""A process that gives way from the beginning, and says at its end how it runs."""
LONG = ("--timeout", "60")


def ask(home: Home, question: str, *more: str) -> list[dict[str, Any]]:
    done = ran(home, "query", question, *more, *SINCE, "--json")
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def notes(home: Home) -> str:
    return ran(home, "query", "SELECT count(*) FROM calls", *SINCE).stderr


@pytest.fixture
def _recorded(home: Home) -> None:
    workspace = home.root / "s1"
    workspace.mkdir()
    with Writer(home.tapui) as writer:
        write_everything(writer, workspace)


@pytest.fixture
def stored(home: Home) -> Stored:
    story = Stored(home.copilot, "old")
    story.edit()
    story.run("pytest -q", 1, "1 failed")
    usage = {"model": "gpt", "inputTokens": 100, "outputTokens": 20}
    story.event("session.usage_record", usage=usage)
    story.prompt()
    story.edit()
    story.run("pytest -q", 0, OK)
    story.event("session.error", errorType="query", message="no more")
    story.event("session.shutdown", shutdownType="routine")
    story.spread()
    story.store()
    return story


@pytest.mark.usefixtures("_recorded", "stored")
def test_the_same_views_have_both_and_say_which(home: Home) -> None:
    told = ask(home, "SELECT provenance, count(*) AS n FROM sessions GROUP BY provenance")
    assert {one["provenance"]: one["n"] for one in told} == {"recorded": 1, "Copilot's files": 1}
    only = "WHERE session = 'old'"
    (session,) = ask(home, f"SELECT cwd, state, host, ref, run FROM sessions {only}")
    assert session == {
        "cwd": "/code/shop/src", "state": "ended", "host": "copilot", "ref": None, "run": None,
    }  # fmt: skip
    calls = ask(home, f"SELECT tool, state, exit_code, is_failed, summary FROM calls {only}")
    assert [(one["tool"], one["exit_code"], one["is_failed"]) for one in calls] == [
        ("create", None, 0), ("bash", 1, 1), ("create", None, 0), ("bash", 0, 0),
    ]  # fmt: skip
    assert calls[1]["summary"] == "pytest -q"
    files = ask(home, f"SELECT path, call FROM files {only}")
    assert [one["path"] for one in files] == ["/code/shop/cart.py"] * 2
    assert [one["call"] for one in files] == ["call_1", "call_3"]
    (used,) = ask(home, f"SELECT model, input, output, kind FROM usage {only}")
    assert used == {"model": "gpt", "input": 100, "output": 20, "kind": "answer"}
    (error,) = ask(home, f"SELECT code, message FROM errors {only}")
    assert error["code"] == "session.error"
    assert "no more" in error["message"]


@pytest.mark.usefixtures("_recorded")
def test_turns_are_those_of_the_history_and_of_the_past_proofs(home: Home, stored: Stored) -> None:
    sql = "SELECT prompt, state, steps, failed, ts, proof, proof_reason FROM turns"
    told = ask(home, f"{sql} WHERE session = 'old' ORDER BY id")
    folder = home.copilot / "session-state" / "old"
    read = history.read(folder, "old", datetime(2030, 1, 1, tzinfo=UTC), is_busy=False).turns
    named = ("prompt", "state", "steps", "failed")
    assert [[one[name] for name in named] for one in told] == [
        [getattr(one.head, name) for name in named] for one in read
    ]
    assert [one["ts"] for one in told] == [one.head.started_at for one in read]
    assert [one["state"] for one in told] == ["done", "failed"]
    past = list(PastSessions(stored.home, 0.0).turns())
    assert [(one["proof"], one["proof_reason"]) for one in told] == [
        (one.state, one.reason) for one in past
    ]
    assert [one["proof"] for one in told] == ["failed", "checked"]


@pytest.mark.usefixtures("_recorded")
def test_what_is_recorded_is_not_told_twice(home: Home) -> None:
    before = ask(home, "SELECT * FROM calls ORDER BY id")
    story = Stored(home.copilot, "s1")
    story.run("pytest", 0, OK)
    story.store()
    assert ask(home, "SELECT * FROM calls ORDER BY id") == before
    assert "1 session is told by the records alone" in notes(home)


@pytest.mark.usefixtures("_recorded", "stored")
def test_a_word_has_one_number_in_both(home: Home) -> None:
    told = ask(
        home, "SELECT count(DISTINCT tool_no) AS n, count(*) AS m FROM calls WHERE tool = 'bash'"
    )
    assert told == [{"n": 1, "m": 4}]
    unproven = ask(home, "unproven", "since=2000-01-01T00:00:00Z")
    assert "old" in {one["session"] for one in unproven}
    by_session = ask(home, "cost-by-session", "limit=50")
    assert [one["input"] for one in by_session if one["session"] == "old"] == [100]


@pytest.mark.usefixtures("_recorded", "stored")
def test_only_the_views_are_reached_and_nothing_is_left(home: Home) -> None:
    for sql in ("SELECT * FROM past.calls", "SELECT * FROM past.names", "SELECT * FROM names"):
        done = ran(home, "query", sql, *SINCE)
        assert done.returncode == 2, done.stdout
    scratch = home.root / "scratch"
    scratch.mkdir()
    asked = ("query", "SELECT DISTINCT provenance FROM checks", "--timeout", "10", *SINCE)
    done = ran(home, *asked, "--json", env=home.env(TMPDIR=str(scratch)))
    assert json.loads(done.stdout), done.stderr
    assert not list(scratch.glob("tapui-*"))
    assert ran(home, "query", *SINCE).returncode == 2
    alone = ran(home, "query", "SELECT DISTINCT provenance FROM calls", "--json")
    assert json.loads(alone.stdout) == [{"provenance": "recorded"}]


def test_sessions_of_before_are_left_out(home: Home, stored: Stored) -> None:
    path = home.copilot / "session-state" / stored.session / "events.jsonl"
    os.utime(path, (1_000_000_000, 1_000_000_000))
    done = ran(home, "query", "SELECT * FROM sessions", "--past", "30d", "--json")
    assert json.loads(done.stdout) == []
    assert "0 sessions from Copilot's files" in done.stderr


def test_each_hostile_session_costs_itself_alone(home: Home, stored: Stored) -> None:
    state = home.copilot / "session-state"
    cut = Stored(home.copilot, "cut")
    cut.edit()
    cut.begin("bash", {"command": "make"})
    cut.store()
    whole = (state / "cut" / "events.jsonl").read_bytes()
    (state / "cut" / "events.jsonl").write_bytes(whole[:-40])
    newer = Stored(home.copilot, "newer")
    newer.lines[0] = newer.lines[0].replace(b'"data":{', b'"data":{"version":99,')
    newer.store()
    for name in ("link", "fifo", "folder", "empty", "garbage"):
        (state / name).mkdir()
    (state / "link" / "events.jsonl").symlink_to(state / stored.session / "events.jsonl")
    os.mkfifo(state / "fifo" / "events.jsonl")
    (state / "folder" / "events.jsonl").mkdir()
    (state / "empty" / "events.jsonl").touch()
    at = '"timestamp":"2026-11-23T23:09:09.698Z"'
    (state / "garbage" / "events.jsonl").write_text(
        "\n".join(
            [
                "no json", "[]", "{" * 5_000, '{"type":"user.message","data":7}', "null",
                f'{{"type":"user.message","data":{{"content":[1]}},{at}}}',
                f'{{"type":"tool.execution_start","data":{{"toolCallId":"a","toolName":7}},{at}}}',
                f'{{"type":"session.start","data":{{"context":7,"selectedModel":[]}},{at}}}',
                f'{{"type":"session.usage_record","data":{{"usage":"x"}},{at}}}',
                '{"type":"user.message","data":{"content":"x"},"timestamp":"never"}',
            ]
        )
    )  # fmt: skip
    sessions = {one["session"] for one in ask(home, "SELECT session FROM sessions")}
    assert sessions == {"old", "cut", "garbage"}
    turns = ask(home, "SELECT state FROM turns WHERE session = 'cut'")
    assert turns == [{"state": "done"}]
    assert len(ask(home, "SELECT * FROM calls WHERE session = 'old'")) == 4
    told = notes(home)
    assert "3 files could not be opened, or were no files" in told
    assert "1 session of another version of the files left out" in told
    assert "6 lines could not be read" in told


def test_a_call_without_an_end_leaves_its_turn_unknown(home: Home) -> None:
    story = Stored(home.copilot, "open")
    story.begin("bash", {"command": "make"})
    story.store()
    assert ask(home, "SELECT state FROM turns") == [{"state": "unknown"}]


def test_secrets_are_masked_and_nothing_hostile_is_shown(home: Home) -> None:
    home.settle('[records]\nmask = ["hush-[a-z]+"]\n')
    story = Stored(home.copilot, "bad")
    story.event("user.message", content=f"{HOSTILE} {SECRET} hush-hush")
    story.run(f"curl -H {SECRET} {HOSTILE} hush-hush", 1)
    story.event("session.error", errorType=SECRET, message=f"hush-hush {HOSTILE}")
    story.event("session.model_change", newModel=f"hush-hush{SECRET}")
    story.edit(f"{SECRET}.py")
    story.spread()
    story.store()
    for view in ("sessions", "turns", "calls", "files", "errors", "usage"):
        told = repr(ask(home, f"SELECT * FROM {view}"))
        assert SECRET not in told
        assert "hush-hush" not in told
        shown = ran(home, "query", f"SELECT * FROM {view}", *SINCE)
        assert not RAW.search(shown.stdout.replace("\n", ""))
    assert "[masked]" in repr(ask(home, "SELECT summary FROM calls"))


# The first answer


@pytest.fixture
def _three(home: Home) -> None:
    for number, session in enumerate(("first", "second", "third")):
        story = Stored(home.copilot, session)
        story.run("make")
        story.store()
        path = home.copilot / "session-state" / session / "events.jsonl"
        os.utime(path, (1_700_000_000 + number,) * 2)


@pytest.mark.usefixtures("_three")
def test_a_person_gets_an_answer_from_the_newest_sessions_first(home: Home) -> None:
    sql = "SELECT session, tool FROM calls ORDER BY session"
    asked = (sys.executable, "-c", AT_ONCE, "query", sql, *SINCE, *LONG)
    first, is_partial, whole = on_terminal(home.env(), *asked).partition("reading on …")
    assert is_partial
    assert [name for name in ("first", "second", "third") if f"{name} " in first] == ["third"]
    assert "so far: 1 of 3 sessions, the newest" in first
    assert "3 sessions from Copilot's files" in whole
    assert [name for name in ("first", "second", "third") if f"{name} " in whole] == [
        "first", "second", "third",
    ]  # fmt: skip
    none = f"{sql.partition(' ORDER')[0]} WHERE session = 'first'"
    told = on_terminal(home.env(), sys.executable, "-c", AT_ONCE, "query", none, *SINCE, *LONG)
    assert "nothing yet: 1 of 3 sessions, the newest; reading on …" in told
    assert "there are no such records" not in told


@pytest.mark.usefixtures("_three")
def test_a_pipe_and_a_file_get_the_whole_answer_alone(home: Home) -> None:
    sql = "SELECT session FROM calls ORDER BY session"
    asked = (sys.executable, "-c", AT_ONCE, "query", sql, *SINCE, *LONG)
    done = subprocess.run(asked, env=home.env(), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["session", "first", "second", "third"]
    assert "so far" not in done.stderr
    told = on_terminal(home.env(), *asked, "--json")
    assert "so far" not in told
    assert told.count('"session"') == 3


@pytest.mark.usefixtures("_three")
def test_a_wrong_question_is_refused_before_all_is_read(home: Home) -> None:
    asked = (sys.executable, "-c", AT_ONCE, "query", "SELECT nowhere FROM calls", *SINCE, *LONG)
    told = on_terminal(home.env(), *asked, code=2)
    assert "no such column: nowhere" in told
    assert "from Copilot's files" not in told


@pytest.mark.usefixtures("_three")
def test_what_reads_for_long_runs_at_a_lower_priority(home: Home) -> None:
    asked = PastAsked(str(home.copilot), 0.0, [], [], 65_536)
    query = ("query", "SELECT 1 AS one", *SINCE, *LONG)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    for main, args in (("tapui.cli", query), ("tapui.hosts.copilot.finding", ())):
        module = "main" if args else "past_reading"
        done = subprocess.run(
            (sys.executable, "-c", GIVING_WAY.format(f"{main}.{module}"), *args),
            input=json.dumps(asdict(asked)),
            env=home.env(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(done.stderr.split()[-1]) == (before if before >= 10 else before + 10)
