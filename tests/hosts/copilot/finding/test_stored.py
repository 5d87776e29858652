"""Sessions on disk: what is listed of them, also with damaged folders."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tapui.hosts.copilot.finding.stored_sessions import stored_sessions
from tests.hosts.conftest import Pretender
from tests.rig.stored import store


def test_what_is_known_of_each_the_last_used_first(tmp_path: Path) -> None:
    old = store(tmp_path, "old", name='"quoted: \\u00e4"', used=1_000)
    store(tmp_path, "new", used=2_000)
    (old / "files").mkdir()
    (old / "files" / "plan.md").write_bytes(b"x" * 5_000)
    new, found = stored_sessions(tmp_path)
    assert (new.id, found.id) == ("new", "old")
    assert (found.title, found.cwd, found.branch) == ("quoted: ä", "/work/app", "main")
    assert found.client == "github/cli"
    assert found.used_at == datetime.fromtimestamp(1_000, UTC)
    files = (old / "events.jsonl", old / "workspace.yaml", old / "files" / "plan.md")
    assert found.size == sum(path.stat().st_size for path in files)
    assert found.pid is None


def test_no_cli_has_ever_run_here(tmp_path: Path) -> None:
    assert stored_sessions(tmp_path) == []


def test_who_holds_one_is_named(copilot_home: Path, pretend: Callable[..., Pretender]) -> None:
    for name in ("free", "held"):
        store(copilot_home, name)
    cli = pretend("127.0.0.1")
    cli.hold("held")
    pids = {one.id: one.pid for one in stored_sessions(copilot_home)}
    assert pids == {"free": None, "held": cli.process.pid}


def test_those_in_which_nothing_was_said_are_left_out(tmp_path: Path) -> None:
    (store(tmp_path, "empty") / "events.jsonl").write_bytes(b"")
    (store(tmp_path, "none") / "events.jsonl").unlink()
    linked = store(tmp_path, "linked")
    (linked / "events.jsonl").rename(tmp_path / "events.jsonl")
    (linked / "events.jsonl").symlink_to(tmp_path / "events.jsonl")
    (tmp_path / "session-state" / "link").symlink_to(store(tmp_path, "real"))
    (tmp_path / "session-state" / "file").write_text("")
    assert [one.id for one in stored_sessions(tmp_path)] == ["real"]


@pytest.mark.parametrize(
    "about",
    [
        b"",
        b"name: " + b"[" * 16_000,
        b"{a: " * 4_000,
        b"- " * 8_000,
        b"name: [a, b]\ncwd: {x: y}\nbranch:\n",
        b"- a\n- b\n",
        bytes(range(256)),
        b"name: a\n" * 100_000,
        b'name: "not closed',
        b"name: !!python/object/apply:os.system [true]\n",
        b"name: *nobody\n",
    ],
    ids=lambda about: repr(about[:20]),
)
def test_one_that_says_nothing_useful_of_itself_is_listed_by_its_id(
    tmp_path: Path, about: bytes
) -> None:
    store(tmp_path, "odd", about=about)
    (found,) = stored_sessions(tmp_path)
    assert (found.id, found.title, found.cwd, found.branch) == ("odd", "", "", "")


def test_half_an_emoji_and_a_long_name_can_be_shown(tmp_path: Path) -> None:
    store(tmp_path, "half", name='"\\ud83d half"')
    store(tmp_path, "long", name="x" * 10_000)
    titles = {one.id: one.title for one in stored_sessions(tmp_path)}
    assert titles["half"].encode().endswith(b" half")
    assert titles["long"] == "x" * 4_096


def test_a_pipe_or_a_link_in_place_of_the_description_holds_nobody_up(tmp_path: Path) -> None:
    for name in ("pipe", "link"):
        (store(tmp_path, name) / "workspace.yaml").unlink()
    os.mkfifo(tmp_path / "session-state" / "pipe" / "workspace.yaml")
    (tmp_path / "secret").write_text("name: secret\n")
    (tmp_path / "session-state" / "link" / "workspace.yaml").symlink_to(tmp_path / "secret")
    assert {one.title for one in stored_sessions(tmp_path)} == {""}


def test_all_words_are_looked_for(tmp_path: Path) -> None:
    store(tmp_path, "s1", name="Fix the build")
    (found,) = stored_sessions(tmp_path)
    assert found.matches([])
    assert found.matches(["fix", "main", "/app"])
    assert not found.matches(["fix", "develop"])
