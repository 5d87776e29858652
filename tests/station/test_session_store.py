"""The stored sessions as the tower has them: Copilot's files, and our own command for deleting."""

import os
import shutil
from pathlib import Path

import pytest

from tapui.station.session_store import CopilotSessions
from tapui.station.terminal_panes import TmuxPanes
from tapui.tower.app.services import FolderHead, PastChecks, StoreFault
from tests.hosts.copilot.finding.test_past import Stored
from tests.rig.gateway import Home
from tests.rig.stored import held, store
from tests.rig.tmux import Tmux
from tests.rig.waiting import until


def sessions_of(home: Home, **more: str) -> CopilotSessions:
    return CopilotSessions(home.copilot, home.env(**more))


def test_they_are_read_anew_each_time(home: Home) -> None:
    found = sessions_of(home)
    assert found.sessions() == []
    store(home.copilot, "s1", used=1_000)
    (session,) = found.sessions()
    assert (session.id, session.title, session.used_at) == ("s1", "fix the build", 1_000)


def test_the_line_that_resumes_one_goes_to_its_folder(home: Home) -> None:
    store(home.copilot, "s1", about=b"cwd: /a folder\n")
    (session,) = sessions_of(home).sessions()
    line = sessions_of(home).resume_line(session)
    assert line.startswith("cd '/a folder' && ")
    assert line.endswith(" copilot --resume s1")


def test_in_a_plain_terminal_there_are_no_panes(home: Home) -> None:
    folder = store(home.copilot, "s1")
    found = sessions_of(home)
    (session,) = found.sessions()
    assert found.panes == ""
    with pytest.raises(StoreFault, match="no panes that tapui can open"):
        found.resume(session)
    with pytest.raises(StoreFault, match="no program on this machine has session s1 open"):
        found.go_to("s1")
    with (
        held(folder) as pid,
        pytest.raises(StoreFault, match=rf"^it runs in \S.*, pid {pid}$"),
    ):
        found.go_to("s1")


def test_a_tmux_that_refuses_is_quoted(home: Home, tmp_path: Path) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text('#!/bin/sh\necho "no server running" >&2\nexit 1\n')
    tmux.chmod(0o755)
    store(home.copilot, "s1")
    found = sessions_of(home, TMUX="/nowhere,1,0", PATH=str(tmp_path))
    assert found.panes == "tmux"
    (session,) = found.sessions()
    with pytest.raises(StoreFault, match="tmux: no server running"):
        found.resume(session)


@pytest.mark.pty
def test_a_folders_name_is_no_format_of_tmux(
    home: Home, tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "w#(touch $RAN)#{session_name}%H"
    folder.mkdir()
    screen = tmux.start(["sh"], env=home.env(), cwd=tmp_path)
    tmux.command("set-environment", "-g", "RAN", str(tmp_path / "ran"))
    monkeypatch.setenv("TMUX", f"{tmux.command('display', '-p', '#{socket_path}').strip()},1,0")
    monkeypatch.setenv("TMUX_PANE", screen.ask("pane_id"))
    program = shutil.which("tmux")
    assert program is not None
    command = ["sh", "-c", "pwd > here.new; mv here.new here"]
    TmuxPanes(program, os.environ).open(command, str(folder))
    until((folder / "here").exists, what="the pane's command has run")
    assert (folder / "here").read_text() == f"{folder}\n"
    assert not (tmp_path / "ran").exists()


def test_a_zellij_opens_panes_and_cannot_be_gone_to(home: Home, tmp_path: Path) -> None:
    zellij = tmp_path / "zellij"
    zellij.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/asked\n')
    zellij.chmod(0o755)
    folder = store(home.copilot, "s1", about=b"cwd: /work\n")
    found = sessions_of(home, ZELLIJ="0", PATH=str(tmp_path))
    (session,) = found.sessions()
    found.resume(session)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:5] == ["action", "new-pane", "--cwd", "/work", "--"]
    assert asked[-3:] == ["copilot", "--resume", "s1"]
    with held(folder) as pid:
        where = f"zellij does not tell which pane .*; it runs in .*, pid {pid}$"
        with pytest.raises(StoreFault, match=where):
            found.go_to("s1")


@pytest.mark.parametrize(
    ("program", "environ", "asked"),
    [
        (
            "kitty",
            {"KITTY_LISTEN_ON": "unix:@kitty", "KITTY_WINDOW_ID": "7"},
            ["@", "--to", "unix:@kitty", "focus-window", "--match", "id:7"],
        ),
        ("wezterm", {"WEZTERM_PANE": "3"}, ["cli", "activate-pane", "--pane-id", "3"]),
    ],
)
def test_the_environment_of_its_program_leads_to_its_pane(
    home: Home, tmp_path: Path, program: str, environ: dict[str, str], asked: list[str]
) -> None:
    asks = tmp_path / program
    asks.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/asked\n')
    asks.chmod(0o755)
    folder = store(home.copilot, "s1")
    found = sessions_of(home, PATH=str(tmp_path))
    assert found.panes == "", "this process is not in one"
    with held(folder, environ):
        found.go_to("s1")
    assert (tmp_path / "asked").read_text().splitlines() == asked


def test_an_environment_that_names_no_window_is_asked_nothing(home: Home, tmp_path: Path) -> None:
    asks = tmp_path / "wezterm"
    asks.write_text("#!/bin/sh\nexit 3\n")
    asks.chmod(0o755)
    folder = store(home.copilot, "s1")
    found = sessions_of(home, PATH=str(tmp_path))
    with held(folder, {"WEZTERM_PANE": "1; quit"}) as pid:
        where = f"^its environment has no WEZTERM_PANE; it runs in .*, pid {pid}$"
        with pytest.raises(StoreFault, match=where):
            found.go_to("s1")


@pytest.mark.pty
def test_the_pane_of_its_program_in_tmux_is_selected(
    home: Home, tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmux.start(["sh"], env=home.env(), cwd=tmp_path)
    socket = tmux.command("display", "-p", "#{socket_path}").strip()
    second = first.split(["sh"], env={**home.env(), "TMUX": f"{socket},1,0"}, cwd=tmp_path)
    tmux.command("select-pane", "-t", first.ask("pane_id"))
    assert tmux.command("display", "-p", "#{pane_id}").strip() == first.ask("pane_id")
    pid = second.ask("pane_pid")
    folder = store(home.copilot, "s1")
    (folder / f"inuse.{pid}.lock").write_text(pid)
    monkeypatch.delenv("TMUX", raising=False)
    program = shutil.which("tmux")
    assert program is not None
    sessions_of(home, PATH=str(Path(program).parent)).go_to("s1")  # from another terminal
    assert tmux.command("display", "-p", "#{pane_id}").strip() == second.ask("pane_id")


def test_what_cannot_be_deleted_says_why(home: Home) -> None:
    folder = store(home.copilot, "s1")
    found = sessions_of(home)
    (session,) = found.sessions()
    (folder / f"inuse.{os.getpid()}.lock").write_text(str(os.getpid()))
    with pytest.raises(StoreFault, match=f"^session s1 is open in process {os.getpid()}"):
        found.delete(session)
    assert folder.exists()


def test_what_is_checked_out_is_read_without_git(home: Home, tmp_path: Path) -> None:
    found = sessions_of(home)
    app = tmp_path / "app"
    (app / ".git" / "objects").mkdir(parents=True)
    (app / "src").mkdir()
    head = app / ".git" / "HEAD"
    head.write_text("ref: refs/heads/fix/pairing\n")
    own = FolderHead(str(app / ".git"), "fix/pairing")
    assert found.head(str(app)) == found.head(str(app / "src")) == own
    tree = app / ".git" / "worktrees" / "next"
    tree.mkdir(parents=True)
    (tree / "HEAD").write_text("ref: refs/heads/next\n")
    (tree / "commondir").write_text("../..\n")
    next_ = tmp_path / "next"
    next_.mkdir()
    (next_ / ".git").write_text(f"gitdir: {tree}\n")
    assert found.head(str(next_)) == FolderHead(str(app / ".git"), "next")
    head.write_text("1a2b3c4d" * 5 + "\n")
    assert found.head(str(app)).branch == "(1a2b3c4)"


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        (b"ref: refs/heads/" + b"x" * 900, "x" * 199 + "…"),
        (b"ref: refs/heads/a\nref: refs/heads/b", "a"),
        (b"ref: refs/heads/\xff\x1b[31m", "\N{REPLACEMENT CHARACTER}\x1b[31m"),
        (b"ref: refs/heads/.invalid", ""),
        (b"0" * 5_000, ""),
        (b"\0\0", ""),
        (b"", ""),
    ],
)
def test_a_head_that_is_none_is_bounded(
    home: Home, tmp_path: Path, text: bytes, branch: str
) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_bytes(text)
    assert sessions_of(home).head(str(tmp_path)).branch == branch


def test_a_head_that_would_block_is_not_opened(home: Home, tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    os.mkfifo(tmp_path / ".git" / "HEAD")
    found = sessions_of(home)
    assert found.head(str(tmp_path)).branch == ""
    for name in ("", "relative", "/no\0ne", "/\ud800", "/nowhere/at/all"):
        assert found.head(name) == FolderHead()


def test_what_stored_turns_left_unchecked_is_counted_until_the_tower_ends(tmp_path: Path) -> None:
    for session in ("s1", "s2"):
        stored = Stored(tmp_path, session)
        stored.edit()
        stored.event("session.idle")
        stored.turns()
    store = CopilotSessions(tmp_path, {})
    assert store.past_checks(0.0, lambda: True) == PastChecks(2, 2)
    assert store.past_checks(0.0, lambda: False).turns < 2
    assert CopilotSessions(tmp_path / "none", {}).past_checks(0.0, lambda: True) == (0, 0)
