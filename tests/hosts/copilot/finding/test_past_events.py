"""The stored sessions' events as rows: any JSON in the place of the CLI's costs nothing else."""

import contextlib
import json
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.hosts.copilot.finding.past_events import OF_SESSION, PastEvents
from tapui.hosts.copilot.finding.past_reading import (
    PastAsked,
    PastReading,
    lines_of,
    reading,
)
from tapui.hosts.copilot.session.history import FOLDED
from tapui.index import update
from tapui.index.asking import PastRows, ask
from tapui.index.past import PastIndex
from tapui.index.store import writing
from tapui.records.masking import Masks
from tests.hosts.copilot.finding.test_past import AT, Stored
from tests.projection.test_summary import json_values

SECRET = "ghp_" + "Zx9" * 12
INLINE = 64 * 1024
_NAMES = st.sampled_from(sorted(FOLDED | OF_SESSION))
_FIELDS = st.sampled_from(
    [
        "content", "source", "delivery", "toolCallId", "toolName", "arguments", "success", "result",
        "error", "shellExecution", "fileEdits", "usage", "context", "selectedModel", "newModel",
        "previousModel", "newMode", "kind", "message", "errorType", "hookType", "output", "version",
    ]
)  # fmt: skip
_VALUES = json_values | st.sampled_from(
    ["a", "edit", "bash", "interactive", True, 2**70, -1, 1e300]
)
_DATA = st.dictionaries(_FIELDS, _VALUES | st.dictionaries(_FIELDS, _VALUES), max_size=6)
_EVENTS = st.lists(st.tuples(_NAMES, _DATA, st.none() | st.text(max_size=3)), max_size=24)


def filled(folder: Path, copilot_home: Path) -> tuple[Path, PastEvents]:
    with writing(folder):
        pass  # an index without records
    rows, past = PastIndex(folder, folder), PastEvents(copilot_home, 0.0)
    with contextlib.closing(rows):
        for session in PastReading(lines_of(past, Masks(), INLINE)).sessions():
            rows.add(session.records)
            for turn in session.verdicts:
                rows.prove(session.id, turn.started_at, turn.state, turn.reason)
    return rows.path, past


def asked(folder: Path, path: Path, sql: str) -> list[list[Any]]:
    return ask(folder, folder, sql, past=PastRows(path, "'"), seconds=30).rows


@given(_EVENTS)
@settings(max_examples=30, deadline=None)
def test_any_events_become_rows(events: list[tuple[str, dict[str, Any], str | None]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        stored = root / "copilot" / "session-state" / "s1"
        stored.mkdir(parents=True)
        lines = [
            json.dumps({"type": kind, "data": data, "timestamp": AT, "id": "e", "agentId": agent})
            for kind, data, agent in events
        ]
        (stored / "events.jsonl").write_text("\n".join(lines) + "\n")
        story = Stored(root / "copilot", "s2")
        story.run("make")
        story.store()
        (root / "state").mkdir()
        path, past = filled(root / "state", root / "copilot")
        assert past.counts.sessions == 2
        with contextlib.closing(sqlite3.connect(path)) as rows:
            sql = "SELECT count(*) FROM calls JOIN sessions s ON s.id = session WHERE s.name = 's2'"
            assert rows.execute(sql).fetchone() == (1,)


def test_a_large_text_is_cut_as_in_the_records(tmp_path: Path) -> None:
    story = Stored(tmp_path / "copilot")
    story.run("echo " + "x" * INLINE + SECRET)
    story.prompt()
    story.run("make " + "y" * 3_000_000)
    story.store()
    (tmp_path / "state").mkdir()
    path, _ = filled(tmp_path / "state", tmp_path / "copilot")
    told = asked(tmp_path / "state", path, "SELECT tool, state, summary, provenance FROM calls")
    assert [(tool, state) for tool, state, *_ in told] == [("bash", "done")] * 2
    assert all(len(summary) <= 500 for _, _, summary, _ in told)
    assert {provenance for *_, provenance in told} == {"'"}
    assert SECRET.encode() not in path.read_bytes()


def test_a_large_session_can_be_asked_for_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "_BATCH_ROWS", 4)
    story = Stored(tmp_path / "copilot")
    for _ in range(8):
        story.run("make")
    story.store()
    state = tmp_path / "state"
    state.mkdir()
    with writing(state):
        pass
    counts: list[int] = []
    past = PastReading(lines_of(PastEvents(tmp_path / "copilot", 0.0), Masks(), INLINE))
    with contextlib.closing(PastIndex(state, state)) as rows:

        def look() -> None:
            counts.append(asked(state, rows.path, "SELECT count(*) FROM calls")[0][0])

        for session in past.sessions():
            rows.add(session.records, look)
        look()
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] == 8
    assert past.progress.counts.sessions == past.progress.found == 1


def test_a_reading_that_ends_too_early_says_why(tmp_path: Path) -> None:
    question = PastAsked(str(tmp_path), 0.0, [], ["("], INLINE)
    with pytest.raises(OSError, match=r"failed: .*bad pattern"), reading(question) as past:
        list(past.sessions())
    with pytest.raises(EOFError):
        list(PastReading(iter(())).sessions())


def test_a_reading_that_is_left_ends_its_process(tmp_path: Path) -> None:
    question = PastAsked(str(tmp_path), 0.0, [], [], INLINE)
    before = set(psutil.Process().children())
    with reading(question):
        (begun,) = set(psutil.Process().children()) - before
    assert not begun.is_running()


def test_a_folder_of_any_name_is_read(tmp_path: Path) -> None:
    home = tmp_path / os.fsdecode(b"\xff")
    Stored(home).store()
    with reading(PastAsked(str(home), 0.0, [], [], INLINE)) as past:
        told = [(session.id, len(list(session.records))) for session in past.sessions()]
    assert told == [("s1", 5)]
