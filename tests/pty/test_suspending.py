"""Control-Z and foreign stop signals: a screen may go, the gateway goes on."""

import os
import signal
from collections.abc import Callable

import psutil
import pytest

from tapui.station.process_end import STOP_REFUSED
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.processes import status_of
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until

SHELL = {"SHELL": "/bin/sh", "PS1": "in-the-shell> "}


def log_of(home: Home) -> str:
    return "".join(path.read_text() for path in home.tapui.glob("log/*.log"))


def test_with_the_gateway_inside_ctrl_z_is_a_shell_and_exit_brings_the_tower_back(
    start_tower: Callable[..., TowerProcess],
) -> None:
    tower = start_tower(env=SHELL)
    screen = tower.screen
    for _ in range(2):
        screen.keys("C-z")
        screen.wait_for("in-the-shell>")
        assert screen.ask("alternate_on") == "0"
        assert "`exit` brings the tower back" in screen.text()
        screen.type("tapui status; echo it said $?\n")
        screen.wait_for("^it said 0")
        assert screen.find("session.*idle|local")
        screen.type("exit\n")
        screen.wait_for("1 Sessions")
        assert screen.ask("alternate_on") == "1"
    screen.keys("question_mark")
    screen.wait_for("Help|help")


def test_a_shell_that_dies_gives_the_terminal_back(
    start_tower: Callable[..., TowerProcess],
) -> None:
    tower = start_tower(env=SHELL)
    tower.screen.keys("C-z")
    tower.screen.wait_for("in-the-shell>")
    (shell,) = [one for one in psutil.Process(tower.pid).children() if one.name() == "sh"]
    shell.kill()
    tower.screen.wait_for("1 Sessions")
    assert psutil.Process(tower.pid).status() != psutil.STATUS_STOPPED
    tower.screen.keys("q")
    tower.screen.wait_dead()


def test_a_shell_that_cannot_be_started_is_told(
    start_tower: Callable[..., TowerProcess],
) -> None:
    tower = start_tower(env={"SHELL": "/nowhere/sh"})
    tower.screen.keys("C-z")
    tower.screen.wait_for("The shell could not be started: No such file")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_tower_and_its_shell(
    start_tower: Callable[..., TowerProcess], number: signal.Signals
) -> None:
    tower = start_tower(env=SHELL)
    tower.screen.keys("C-z")
    tower.screen.wait_for("in-the-shell>")
    (shell,) = [one for one in psutil.Process(tower.pid).children() if one.name() == "sh"]
    os.kill(tower.pid, number)
    tower.screen.wait_dead()
    until(lambda: not shell.is_running(), what="the shell's end")


def test_a_foreign_stop_is_refused_with_a_line_and_a_notice(
    start_tower: Callable[..., TowerProcess], home: Home
) -> None:
    tower = start_tower()
    os.kill(tower.pid, signal.SIGTSTP)
    tower.screen.wait_for("not suspended")
    assert psutil.Process(tower.pid).status() != psutil.STATUS_STOPPED
    until(lambda: STOP_REFUSED in log_of(home), what="the line in the log")
    assert home.run("status").returncode == 0


def test_serve_refuses_to_be_stopped(gateway: Gateway, home: Home) -> None:
    gateway.signal(signal.SIGTSTP)
    until(lambda: f"warning: {STOP_REFUSED}" in gateway.stderr, what="the line")
    assert home.run("status").returncode == 0


@pytest.mark.parametrize("second", [False, True], ids=["first tower", "second tower"])
def test_a_tower_that_was_stopped_all_the_same_has_its_terminal_again(
    gateway: Gateway, tmux: Tmux, home: Home, second: bool
) -> None:
    env = home.env(PS1="outer> ")
    screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
    port = gateway.port if second else 0
    screen.type(f"{tapui_argv()[0]} --no-attach --port {port}\n")
    screen.wait_for("1 Sessions")
    (parent,) = psutil.Process(screen.pid).children()
    (tower,) = parent.children()
    for _ in range(2):
        tower.suspend()
        screen.wait_for("Stopped")
        screen.type("fg\n")
        screen.wait_gone("Stopped")
        screen.wait_for("1 Sessions")
    # What is typed before the tower has its terminal again is lost.
    screen.keep_pressing("q", lambda: screen.find("^outer>") is not None)


def test_a_tower_stops_and_goes_on_with_the_process_that_the_shell_knows(
    tmux: Tmux, home: Home
) -> None:
    env = home.env(PS1="outer> ")
    screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
    screen.type(f"{tapui_argv()[0]} --no-attach --port 0\n")
    screen.wait_for("1 Sessions")
    (parent,) = psutil.Process(screen.pid).children()
    (tower,) = parent.children()
    for _ in range(2):
        parent.suspend()
        until(lambda: tower.status() == psutil.STATUS_STOPPED, what="the tower has stopped")
        screen.type("clear; fg\n")
        until(lambda: tower.status() != psutil.STATUS_STOPPED, what="the tower goes on")
        screen.wait_for("1 Sessions")
    # What is typed before the tower has its terminal again is lost.
    screen.keep_pressing("q", lambda: screen.find("^outer>") is not None)


def test_a_second_tower_stops_like_any_program(gateway: Gateway, tmux: Tmux, home: Home) -> None:
    env = home.env(PS1="outer> ")
    screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
    screen.type(f"{tapui_argv()[0]} --port {gateway.port}\n")
    screen.wait_for("1 Sessions")
    (parent,) = psutil.Process(screen.pid).children()
    (tower,) = parent.children()
    for _ in range(2):
        screen.keys("C-z")
        screen.wait_for("^outer>")
        until(lambda: tower.status() == psutil.STATUS_STOPPED, what="the tower has stopped")
        screen.type("fg\n")
        screen.wait_for("1 Sessions")
    # What is typed before the tower has its terminal again is lost.
    screen.keep_pressing("q", lambda: screen.find("^outer>") is not None)


@pytest.mark.parametrize("which", ["first tower", "second tower", "demo"])
def test_what_is_begun_behind_the_shell_waits_until_it_is_brought_to_the_front(
    gateway: Gateway, tmux: Tmux, home: Home, which: str
) -> None:
    port = {"first tower": 0, "second tower": gateway.port}.get(which)
    args = "demo" if port is None else f"--no-attach --port {port}"
    env = home.env(PS1="outer> ")
    screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
    screen.type(f"{tapui_argv()[0]} {args} &\n")
    shell = psutil.Process(screen.pid)
    until(lambda: has_stopped(shell), what="it waits")
    screen.type("clear; bg; echo con''tinued\n")
    # Before the shell has continued it, it is still stopped from its start.
    screen.wait_for("^continued")
    until(lambda: has_stopped(shell), what="it waits behind the shell")
    screen.type("clear; fg\n")
    screen.wait_for("1 Sessions")
    assert not screen.find("internal error")
    # What is typed before the tower has its terminal again is lost.
    screen.keep_pressing("q", lambda: screen.find("^outer>") is not None)


def has_stopped(shell: psutil.Process) -> bool:
    """Whether the shell's only child was stopped."""
    return [status_of(one.pid) for one in shell.children()] == [psutil.STATUS_STOPPED]
