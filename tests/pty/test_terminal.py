"""However tapui ends, the terminal is left as it was found, and nothing of it stays behind."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.rig.gateway import Home, tapui_argv
from tests.rig.processes import below
from tests.rig.provider_process import ProviderProcess
from tests.rig.tmux import Screen, Tmux
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until

CRASHING = """
import sys
from tapui.tower.app.frames import Frames
calls = []
paint = Frames.paint
def faulty(self):
    calls.append(1)
    if len(calls) > 3:
        secret = open(sys.argv.pop()).read()
        raise RuntimeError("a fault of the test's own")
    paint(self)
Frames.paint = faulty
from tapui.cli.main import main
sys.exit(main(sys.argv[1:-1]))
"""


AT_START = """
import sys
from tapui.station.running_gateway import GatewayFiles
def faulty(*given, **options):
    raise ValueError("a fault of the test's own")
GatewayFiles.leave = faulty
from tapui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
DEADLY = """
import asyncio, sys
from tapui.station.parts.hosts import Tools
def start(self, access):
    def die():
        raise SystemExit("a fault of the test's own")
    asyncio.get_running_loop().call_later(1.0, die)
Tools.start = start
from tapui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
HANGING = """
import sys, threading
from tapui.station import process_end
from tapui.station.parts.hosts import Tools
process_end.END_SECONDS = 1.0
async def stop(self):
    threading.Event().wait()
Tools.stop = stop
from tapui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def in_shell(tmux: Tmux, home: Home, *argv: str, record: Path | None = None) -> Screen:
    """Run a program as a shell's child, which prints the terminal's settings before and after."""
    script = 'stty -g; "$@"; echo "left with $?"; stty -g; cat'
    home.root.mkdir(parents=True, exist_ok=True)
    return tmux.start(
        ["sh", "-c", script, "sh", *argv], env=home.env(), cwd=home.root, record=record
    )


def child(screen: Screen) -> int:
    """Return the process id of the shell's child."""
    found = until(lambda: psutil.Process(screen.pid).children(), what="the program started")
    return int(found[0].pid)


def is_restored(screen: Screen) -> bool:
    """Whether the terminal is in its normal state again: main screen, cursor, no mouse."""
    asked = ("alternate_on", "mouse_any_flag", "cursor_flag", "bracket_paste_flag")
    said = {name: screen.ask(name) for name in asked}
    assert said["alternate_on"] == "0", said
    assert said["mouse_any_flag"] == "0", said
    assert said["cursor_flag"] == "1", said

    def settings() -> list[str]:
        return [line for line in screen.text().splitlines() if line.count(":") > 5]

    until(lambda: len(settings()) == 2, what=screen.text)
    before, after = settings()
    assert before == after
    return True


def left_behind(home: Home) -> list[Path]:
    """Return the files that a gateway removes at its end and that are still there."""
    return [*home.tapui.glob("run/*/*"), *home.copilot.rglob(".provider-token")]


def test_a_gateway_that_cannot_start_behind_the_screen_is_one_line(tmux: Tmux, home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    home.tapui.write_text("in the way of the state folder")
    screen = in_shell(tmux, home, *tapui_argv("--no-attach", "--port", "0"))
    screen.wait_for("left with 1")
    assert is_restored(screen)
    told = [line for line in screen.text().splitlines() if line.startswith("tapui:")]
    assert told == [f"tapui: {home.tapui}: Not a directory"]
    assert "Traceback" not in screen.text()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_the_tower_and_restores_the_terminal(
    tmux: Tmux, home: Home, name: str
) -> None:
    screen = in_shell(tmux, home, *tapui_argv("--no-attach", "--port", "0"))
    screen.wait_for("ws://localhost")
    assert screen.ask("alternate_on") == "1"
    until(lambda: left_behind(home), what="the gateway's files are there")
    os.kill(child(screen), signal.Signals[name])
    screen.wait_for("left with " + ("130" if name == "SIGINT" else "0"))
    assert is_restored(screen)
    assert left_behind(home) == []


def test_q_ends_the_tower_and_restores_the_terminal(tmux: Tmux, home: Home) -> None:
    screen = in_shell(tmux, home, *tapui_argv("--no-attach", "--port", "0"))
    screen.wait_for("ws://localhost")
    screen.keys("q")
    screen.wait_for("left with 0")
    assert is_restored(screen)
    assert left_behind(home) == []


@pytest.mark.expects_error_log("the screen failed")
def test_a_crash_is_one_line_restores_the_terminal_and_shows_no_secret(
    tmux: Tmux, home: Home, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("itk-this-must-not-be-printed")
    record = tmp_path / "bytes"
    argv = (sys.executable, "-c", CRASHING, "--no-attach", "--port", "0", str(secret))
    screen = in_shell(tmux, home, *argv, record=record)
    screen.wait_for("left with 1")
    assert is_restored(screen)
    assert "tapui: internal error: RuntimeError: a fault of the test's own" in screen.scrollback()
    assert "Traceback" not in screen.scrollback()
    assert "a fault of the test's own" in log_of(home)
    assert "must-not-be-printed" not in log_of(home)
    assert b"must-not-be-printed" not in record.read_bytes()
    assert left_behind(home) == []


def log_of(home: Home) -> str:
    """Return what the only process of a home has logged."""
    (file,) = home.tapui.glob("log/tapui-*.log")
    return file.read_text()


@pytest.mark.parametrize(
    ("program", "logged", "line"),
    [
        (
            AT_START,
            "the gateway could not start",
            "the gateway could not start: ValueError: a fault of the test's own",
        ),
        (DEADLY, "the gateway's thread died", "the gateway died: SystemExit"),
    ],
    ids=["at its start", "later"],
)
def test_a_gateway_that_fails_behind_the_screen_is_told_at_once_and_logged(
    tmux: Tmux,
    home: Home,
    program: str,
    logged: str,
    line: str,
    expects_error_log: Callable[[str], None],
) -> None:
    expects_error_log(logged)
    argv = (sys.executable, "-c", program, "--no-attach", "--port", "0")
    screen = in_shell(tmux, home, *argv)
    screen.wait_for("left with 1")
    assert is_restored(screen)
    assert f"tapui: {line}" in screen.scrollback()
    assert "tapui: its log is " in screen.scrollback()
    assert "a fault of the test's own" in log_of(home)
    assert "Traceback" not in screen.scrollback()
    assert left_behind(home) == []


@pytest.mark.expects_error_log("the gateway's thread did not end")
def test_a_gateway_that_hangs_is_given_up_and_leaves_no_token(tmux: Tmux, home: Home) -> None:
    screen = in_shell(tmux, home, sys.executable, "-c", HANGING, "--no-attach", "--port", "0")
    screen.wait_for("ws://localhost")
    until(lambda: left_behind(home), what="the gateway's files are there")
    screen.keys("q")
    screen.wait_for("left with 1")
    assert is_restored(screen)
    assert "tapui: the gateway did not end in time" in screen.scrollback()
    assert "in stop" in log_of(home)  # the stack of the thread that hangs
    assert left_behind(home) == []


def test_after_kill_9_a_command_mends_the_terminal(tmux: Tmux, home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    script = '"$@"; cat; tput rmcup; reset; stty -g; cat'
    argv = ["sh", "-c", script, "sh", *tapui_argv("--no-attach", "--port", "0")]
    screen = tmux.start(argv, env=home.env(), cwd=home.root)
    screen.wait_for("ws://localhost")
    (tower,) = psutil.Process(child(screen)).children()
    tower.kill()
    until(lambda: below(screen.pid, lambda argv: argv == ["cat"]), what="the tower's end")
    assert screen.ask("alternate_on") == "1"
    os.kill(child(screen), signal.SIGTERM)
    screen.wait_for(r"^(\w+:){5}")
    asked = ("alternate_on", "mouse_any_flag", "cursor_flag")
    assert [screen.ask(name) for name in asked] == ["0", "0", "1"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_serve_on_a_terminal(tmux: Tmux, home: Home, name: str) -> None:
    screen = in_shell(tmux, home, *tapui_argv("serve", "--no-attach", "--port", "0"))
    screen.wait_for("serves ws://localhost")
    os.kill(child(screen), signal.Signals[name])
    screen.wait_for(r"left with \d+")
    assert is_restored(screen)
    assert left_behind(home) == []


def test_serve_outlives_nothing_when_its_terminal_closes(tmux: Tmux, home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    screen = tmux.start(
        tapui_argv("serve", "--no-attach", "--port", "0"), env=home.env(), cwd=home.root
    )
    screen.wait_for("serves ws://localhost")
    pid = screen.pid
    screen.close()
    until(lambda: not psutil.pid_exists(pid), what="the gateway's end")
    assert left_behind(home) == []


def test_a_storm_of_resizes_leaves_the_screen_whole(
    start_tower: Callable[..., TowerProcess],
) -> None:
    tower = start_tower(size=(80, 24))
    sizes = [(80, 24), (20, 5), (200, 50), (40, 10), (120, 36), (10, 2), (160, 40)]
    with ProviderProcess(tower.url, tower.token, name="ci") as provider:
        for number in range(70):
            tower.screen.resize(*sizes[number % len(sizes)])
            if number % 10 == 0:
                provider.push(f"line {number}", stream="storm")
        tower.screen.resize(200, 50)
        tower.screen.wait_for(r"ws://localhost:\d+")
        tower.screen.wait_for("5 Calls")
        tower.pane("streams")
        tower.screen.wait_for("line 60")
    assert not tower.screen.is_dead
