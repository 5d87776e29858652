"""The stored sessions as the tower has them: Copilot's files, and our own command for deleting."""

import os
import shutil
from pathlib import Path

import pytest

from tapui.station.session_store import CopilotSessions, TmuxPanes
from tapui.tower.app.services import StoreFault
from tests.rig.gateway import Home
from tests.rig.stored import store
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
    with pytest.raises(StoreFault, match="no tmux or zellij"):
        found.resume(session)
    with pytest.raises(StoreFault, match="no program on this machine has session s1 open"):
        found.go_to("s1")
    (folder / f"inuse.{os.getpid()}.lock").write_text(str(os.getpid()))
    with pytest.raises(StoreFault, match=f"open in process {os.getpid()}; inside tmux"):
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
    TmuxPanes(program).open(["sh", "-c", "pwd > here.new; mv here.new here"], str(folder))
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
    (folder / f"inuse.{os.getpid()}.lock").write_text(str(os.getpid()))
    with pytest.raises(StoreFault, match="zellij does not tell which pane"):
        found.go_to("s1")


def test_what_cannot_be_deleted_says_why(home: Home) -> None:
    folder = store(home.copilot, "s1")
    found = sessions_of(home)
    (session,) = found.sessions()
    (folder / f"inuse.{os.getpid()}.lock").write_text(str(os.getpid()))
    with pytest.raises(StoreFault, match=f"^session s1 is open in process {os.getpid()}"):
        found.delete(session)
    assert folder.exists()
