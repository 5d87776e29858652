"""`tapui search`, `tapui why`, `tapui records purge|delete`, without a gateway and beside one."""

import json
import re
import time
from pathlib import Path

import pytest

from tapui.cli.arguments import moment
from tapui.files.locked_folder import LockedFolder
from tapui.index.store import INDEX_FOLDER
from tapui.wire import events as ev
from tapui.wire.criteria import TurnProof
from tests.cli.running import ran
from tests.index import played
from tests.records.turns import Writer, closed, opened, stamp
from tests.rig.gateway import Gateway, Home
from tests.rig.waiting import until


@pytest.fixture
def recorded(home: Home, tmp_path: Path) -> Path:
    """Records of a session that changed a file; return the file."""
    file = tmp_path / "a.py"
    file.write_text("one\nTWO\n")
    with Writer(home.tapui) as writer:
        writer.turn(opened("s1"))
        writer.turn(played.prompt("Make two loud"))
        edit = {"path": str(file), "old_str": "one\ntwo", "new_str": "one\nTWO"}
        writer.turn(*played.call("c1", "edit", edit, "edited"))
        writer.turn(*played.call("c2", "bash", {"command": "echo \x1b[2J"}, "\x1b[2J gone"))
        writer.turn(closed("s1"))
    return file


@pytest.mark.usefixtures("recorded")
def test_search_prints_what_was_found(home: Home) -> None:
    done = ran(home, "search", "loud")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"[\d-]{10} [\d:]{8}  label +turn 1 +prompt +Make two loud\n", done.stdout)


@pytest.mark.usefixtures("recorded")
def test_search_in_json_leads_to_the_record(home: Home) -> None:
    (line,) = ran(home, "search", "edited", "--json", "--session", "s").stdout.splitlines()
    hit = json.loads(line)
    assert (hit["kind"], hit["sessionId"], hit["callId"]) == ("result", "s1", "c1")
    record = Path(hit["path"]).read_bytes()[hit["offset"] :].split(b"\n")[0]
    assert json.loads(record)["call"]["data"] == "edited"


@pytest.mark.usefixtures("recorded")
def test_search_finds_nothing_or_is_asked_nothing(home: Home) -> None:
    done = ran(home, "search", "nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "nothing was found\n")
    assert ran(home, "search", "loud", "--since", "1h").returncode == 1
    assert ran(home, "search", "((").returncode == 2
    assert ran(home, "search", "loud", "--session", "x").stderr == (
        "tapui: there are no records of session x\n"
    )
    wrong = ran(home, "search", "loud", "--since", "soon")
    assert wrong.returncode == 2
    assert "argument --since: expected a span such as 2h or 3d" in wrong.stderr


@pytest.mark.usefixtures("recorded")
def test_hostile_text_is_not_printed_raw(home: Home) -> None:
    done = ran(home, "search", "gone")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


def test_why_tells_the_turn_and_the_diff(home: Home, recorded: Path) -> None:
    done = ran(home, "why", str(recorded))
    assert done.returncode == 0, done.stderr
    told = done.stdout
    assert "  asked: Make two loud\n" in told
    assert "  by edit " in told
    assert told.endswith("+1 -1\n    - two\n    + TWO\n\n")
    assert "asked: Make two loud" in ran(home, "why", f"{recorded}:2").stdout
    missing = ran(home, "why", f"{recorded}:1")
    assert missing.returncode == 1
    assert "no recorded change touches line 1" in missing.stderr
    assert ran(home, "why", f"{recorded}:9").stderr == f"tapui: {recorded} has 2 lines\n"


def test_why_in_json(home: Home, recorded: Path) -> None:
    told = json.loads(ran(home, "why", f"{recorded}:2", "--json").stdout)
    assert told["isSure"] is True
    assert told["change"]["prompt"] == "Make two loud"
    assert told["change"]["hunks"] == [[["one", "two"], ["one", "TWO"], None]]


def test_why_of_a_file_that_nobody_changed(home: Home, tmp_path: Path) -> None:
    done = ran(home, "why", str(tmp_path / "b.py"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "no recorded call changed" in done.stderr


def test_what_was_recorded_of_a_turn_is_a_line_of_the_records(home: Home) -> None:
    with Writer(home.tapui) as writer:
        writer.turn(opened("s1"))
        writer.turn(ev.TurnProved("s1", stamp(2), TurnProof("failed", "py\x1b[2Jtest, exit 1")))
        writer.turn(ev.TurnProved("s1", stamp(2), None), closed("s1"))
    lines = ran(home, "records", "--session", "s1").stdout.splitlines()
    assert [line.split(maxsplit=4)[2] for line in lines[1:3]] == ["session.proof"] * 2
    assert lines[1].endswith("✗ check failed: py\\x1b[2Jtest, exit 1")
    assert lines[2].endswith("nothing is recorded")


@pytest.mark.usefixtures("recorded")
def test_records_of_a_session_are_deleted_with_what_is_indexed(home: Home) -> None:
    assert ran(home, "search", "loud").returncode == 0
    asked = ran(home, "records", "delete", "s1")
    assert asked.returncode == 2
    assert "Say so with --yes" in asked.stderr
    done = ran(home, "records", "delete", "s1", "--yes")
    assert done.returncode == 0
    assert done.stderr.startswith("removed s1 (")
    assert ran(home, "search", "loud").returncode == 1
    assert b"loud" not in b"".join(p.read_bytes() for p in (home.tapui / "index").iterdir())
    assert ran(home, "records", "delete", "s1", "--yes").returncode == 1


@pytest.mark.usefixtures("recorded")
def test_records_of_ended_sessions_are_purged(home: Home) -> None:
    assert ran(home, "records", "purge", "--yes", "--before", "1d").stderr == (
        "there are no such records\n"
    )
    assert ran(home, "records", "purge", "--yes").stderr.startswith("removed s1 (")
    assert not (home.tapui / "sessions" / "s1").exists()


def test_beside_a_gateway_the_index_is_kept_up_by_itself(home: Home, recorded: Path) -> None:
    assert recorded.exists()
    with Gateway(home, "--no-attach") as gateway:
        called = ran(
        home,
            "call", "tap_post", "--args", '{"stream": "notes", "message": "a heron landed"}',
            "--port", str(gateway.port),
        )  # fmt: skip
        assert called.returncode == 0, called.stderr
        index = home.tapui / "index" / "records.sqlite"
        until(index.exists, what="the index, without a search")
        until(lambda: ran(home, "search", "heron", "notes@tap").returncode == 0, what="the line")
        assert ran(home, "search", "loud").returncode == 0
        held = ran(home, "records", "delete", "local", "--yes")
        assert held.returncode == 1
        assert "session local is recorded now" in held.stderr
        assert ran(home, "records", "purge", "--yes").returncode == 0
        assert ran(home, "search", "loud").returncode == 1
        assert ran(home, "search", "heron", "notes@tap").returncode == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("2h", 7200), ("1.5d", 129_600), ("1w", 604_800)],
)
def test_spans_are_back_from_now(text: str, seconds: float) -> None:
    assert abs(time.time() - seconds - moment(text)) < 60


def test_dates_are_local() -> None:
    assert time.localtime(moment("2026-11-20T18:30"))[:5] == (2026, 11, 20, 18, 30)
    assert time.localtime(moment("2026-11-20"))[:5] == (2026, 11, 20, 0, 0)
    assert time.localtime(moment("18:30"))[3:5] == (18, 30)


@pytest.mark.parametrize("command", [("search", "loud"), ("why", "a.py")])
def test_an_index_that_another_process_has_yet_to_make_is_told(
    home: Home, command: tuple[str, ...]
) -> None:
    folder = LockedFolder(home.tapui, INDEX_FOLDER, makes_base=True)
    folder.open()
    try:
        done = ran(home, *command)
    finally:
        folder.close()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tapui: the index cannot be read: there is no index yet\n"
