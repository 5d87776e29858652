"""`tapui sessions`: what Copilot has stored, in a pipe and inside a real tmux."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import HOSTILE, RAW, ran
from tests.cli.schemas import check
from tests.rig.gateway import Home, tapui_argv
from tests.rig.stored import held, store
from tests.rig.tmux import Screen, Tmux

COPILOT = """\
#!/bin/sh
echo "copilot $* in $PWD"
for word; do id=$word; done
echo $$ > "$COPILOT_HOME/session-state/$id/inuse.$$.lock"
exec sleep 600
"""


def test_they_are_listed_the_last_used_first(home: Home) -> None:
    now = int(time.time())
    store(home.copilot, "s-old", name="an old one", used=now - 3 * 86_400)
    store(home.copilot, "s-new", name="fix the build", used=now - 65)
    for words in ((), ("list",)):
        done = ran(home, "sessions", *words)
        assert done.returncode == 0
        title, new, old = done.stdout.splitlines()
        assert title.split() == ["USED", "TITLE", "FOLDER", "BRANCH", "BYTES", "ID"]
        assert new.split()[0] == "1m"
        assert "fix the build" in new
        assert "s-new" in new
        assert old.split()[0] == "3d"
    assert "s-old" in ran(home, "sessions", "list", "OLD", "main").stdout
    done = ran(home, "sessions", "list", "--last", "1")
    assert "s-old" not in done.stdout
    assert done.stderr == "1 more: --last 2\n"


def test_each_is_a_line_of_json(home: Home) -> None:
    store(home.copilot, "s1", name="one", used=1_000_000_000)
    (line,) = ran(home, "sessions", "list", "--json").stdout.splitlines()
    assert check("sessions", line)["usedAt"] == "2001-09-09T01:46:40Z"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "Copilot has stored no session\n"),
        (("list", "zebra"), "there are no such sessions\n"),
    ],
)
def test_nothing_is_no_failure(home: Home, words: tuple[str, ...], told: str) -> None:
    done = ran(home, "sessions", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", told)


def test_hostile_titles_are_harmless(home: Home) -> None:
    folder = store(home.copilot, "s1", about=b"")
    (folder / "workspace.yaml").write_text(
        f"name: {json.dumps(HOSTILE)}\ncwd: {json.dumps('/' + HOSTILE)}\n"
    )
    for words in (("list",), ("list", "--json"), ("resume", "s1", "--print")):
        done = ran(home, "sessions", *words)
        assert done.returncode == 0
        assert not RAW.search(done.stdout + done.stderr)


def test_which_one_is_meant(home: Home) -> None:
    for name in ("abc", "abd"):
        store(home.copilot, name)
    for action in ("resume", "go", "delete"):
        done = ran(home, "sessions", action, "ab")
        assert done.returncode == 1
        assert "ab fits several sessions" in done.stderr
        done = ran(home, "sessions", action, "x")
        assert done.returncode == 1
        assert "Copilot has stored no session x; see: " in done.stderr
        assert done.stderr.rstrip().endswith("tapui sessions list")


def test_the_line_that_resumes_works_in_any_shell(home: Home) -> None:
    folder = store(home.copilot, "s 1", about=b"cwd: /a folder/it's here\n")
    done = ran(home, "sessions", "resume", "s 1")
    assert done.returncode == 0
    assert done.stdout.startswith("cd '/a folder/it'\"'\"'s here' && ")
    assert done.stdout.endswith(" copilot --resume 's 1'\n")
    assert folder.exists()


def test_one_that_is_open_is_not_resumed_or_deleted(home: Home) -> None:
    folder = store(home.copilot, "s1")
    (folder / f"inuse.{os.getpid()}.lock").write_text(str(os.getpid()))
    assert f"open (pid {os.getpid()})" in ran(home, "sessions").stdout
    resumed = ran(home, "sessions", "resume", "s1")
    assert resumed.returncode == 1
    assert f"open in process {os.getpid()}" in resumed.stderr
    assert "sessions go s1" in resumed.stderr
    deleted = ran(home, "sessions", "delete", "s1", "--yes")
    assert deleted.returncode == 1
    assert "end it first" in deleted.stderr
    assert folder.exists()
    (folder / f"inuse.{os.getpid()}.lock").unlink()
    with held(folder) as pid:
        went = ran(home, "sessions", "go", "s1")
    assert went.returncode == 1
    assert f", pid {pid}\n" in went.stderr


def test_nobody_has_it_open(home: Home) -> None:
    store(home.copilot, "s1")
    went = ran(home, "sessions", "go", "s1")
    assert went.returncode == 1
    assert "no program has session s1 open" in went.stderr


def test_nothing_is_deleted_without_a_yes(home: Home, tmux: Tmux, path: str) -> None:
    folder = store(home.copilot, "s1")
    done = ran(home, "sessions", "delete", "s1", env=home.env(PATH=path))
    assert done.returncode == 2
    assert "Say so with --yes" in done.stderr
    screen = tmux.start(
        tapui_argv("sessions", "delete", "s1"), env=home.env(PATH=path), cwd=home.root
    )
    screen.wait_for(r"delete session s1 “fix the build” \(.* bytes\) for good\? \[y/N\]")
    screen.keys("Enter")
    assert screen.wait_dead() == 1
    assert "nothing was deleted" in screen.text()
    assert folder.exists()


@pytest.mark.parametrize("flags", [["--yes"], []])
def test_without_copilot_nothing_can_be_deleted(
    home: Home, tmp_path: Path, flags: list[str]
) -> None:
    store(home.copilot, "s1")
    done = ran(home, "sessions", "delete", "s1", *flags, env=home.env(PATH=str(tmp_path)))
    assert done.returncode == 1
    assert "npm install -g @github/copilot" in done.stderr


@pytest.fixture
def path(home: Home) -> str:
    """A PATH with a `copilot` that only holds its session."""
    bin_folder = home.root / "bin"
    bin_folder.mkdir()
    (bin_folder / "copilot").write_text(COPILOT)
    (bin_folder / "copilot").chmod(0o755)
    return f"{bin_folder}{os.pathsep}{home.env()['PATH']}"


@pytest.fixture
def inside(home: Home, tmux: Tmux, path: str) -> Iterator[Screen]:
    """A shell in a tmux that a person looks at."""
    env = home.env(PS1="in-tmux> ", SHELL="/bin/sh", PATH=path)
    argv = ["tmux", "-f", "/dev/null", "-S", str(home.root / "tmux")]
    screen = tmux.start([*argv, "new-session", "/bin/sh"], env=env, cwd=home.root, size=(200, 30))
    try:
        screen.wait_for("in-tmux>")
        yield screen
    finally:
        subprocess.run([*argv, "kill-server"], env=env, check=True)


def test_in_tmux_it_is_resumed_in_a_pane_and_gone_to(home: Home, inside: Screen) -> None:
    work = home.root / "work"
    work.mkdir()
    store(home.copilot, "s1", about=f"cwd: {work}\n".encode())
    inside.type("tapui sessions resume s1\n")
    inside.wait_for(f"copilot --ui-server --resume s1 in {work}")
    inside.wait_for("s1 is opened in a pane of tmux")
    inside.keys("C-b", "o")  # back to the shell
    inside.type("clear; tapui sessions\n")
    inside.wait_for(r"s1 +open \(pid \d+\)")
    inside.type("tapui sessions go s1; tmux display-message -p 'now in #{pane_index}'\n")
    inside.wait_for("now in 1")
