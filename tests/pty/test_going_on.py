"""Quitting while a session without a screen is at work: the shell is back, the gateway goes on."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.pty.test_terminal import child, in_shell, is_restored, left_behind
from tests.pty.test_vanished_terminal import announced, has_ended, leads_nowhere
from tests.rig.gateway import Home, tapui_argv
from tests.rig.peers import Host
from tests.rig.processes import status_of
from tests.rig.tmux import Screen, Tmux
from tests.rig.waiting import until, until_async

TAPUI = [*tapui_argv("--no-attach", "--port", "0")]


def gateway_of(home: Home) -> dict[str, Any]:
    return until(lambda: announced(home), what="gateway.json")


async def tell(host: Host, name: str, **data: str) -> None:
    message = {"type": "session.event", "sessionId": "s1", "event": name, "data": data}
    await host.send(message)


def token_of(gateway: dict[str, Any]) -> str:
    return Path(gateway["internalTokenFile"]).read_text().strip()


@asynccontextmanager
async def at_work(gateway: dict[str, Any]) -> AsyncIterator[Host]:
    """Give a host with a session that was started here and is busy."""
    host = await Host.hello(gateway["url"], token_of(gateway))
    await host.open("s1", label="Nightly", headless=True, can=["tell", "stop", "close"])
    await tell(host, "user.message", content="look around")
    await tell(host, "assistant.turn_start")
    try:
        yield host
    finally:
        await host.close()


async def quit_with(screen: Screen, key: str) -> None:
    await screen.seen("Nightly")
    await asyncio.to_thread(screen.press, "q", lambda: screen.find("Quit and end") is not None)
    assert screen.find("1 headless session ended: Nightly")
    await asyncio.to_thread(screen.press, key, lambda: screen.find("Quit and end") is None)


@pytest.mark.parametrize("shell", ["interactive", "script"])
async def test_the_shell_is_back_and_the_next_tower_joins(
    tmux: Tmux, home: Home, shell: str
) -> None:
    home.tapui.mkdir(parents=True)
    (home.tapui / "config.toml").write_text("[timeouts]\nidle-exit = 1.0\n")
    if shell == "script":
        screen = in_shell(tmux, home, *TAPUI)
    else:
        env = home.env(PS1="outer> ")
        screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
        screen.type(f"{' '.join(TAPUI)}; echo left with $?\n")
    await screen.seen("ws://localhost")
    gateway = await asyncio.to_thread(gateway_of, home)
    async with at_work(gateway) as host:
        await quit_with(screen, "g")
        await screen.seen("the gateway goes on without a screen")
        await screen.seen("left with 0")
        await until_async(lambda: leads_nowhere(gateway["pid"]), what="the terminal is given up")
        if shell == "script":
            assert await asyncio.to_thread(is_restored, screen)
        await tell(host, "assistant.message", content="still at it")
        joining = tmux.start(
            tapui_argv("--port", gateway["url"][-5:]), env=home.env(), cwd=home.root
        )
        await joining.seen("gateway: pid")
        await joining.seen("Nightly.*headless")
        if shell == "interactive":
            screen.type("exit\n")  # the gateway does not go with its shell
            await asyncio.to_thread(screen.wait_dead)
        await tell(host, "session.idle")
        await joining.seen("still at it")
        joining.keys("q")
        await asyncio.to_thread(joining.wait_dead)
        assert not has_ended(gateway["pid"])
    await until_async(lambda: has_ended(gateway["pid"]), what="the idle gateway's end")
    assert left_behind(home) == []


async def test_ending_them_and_staying(tmux: Tmux, home: Home) -> None:
    screen = in_shell(tmux, home, *TAPUI)
    await screen.seen("ws://localhost")
    async with at_work(await asyncio.to_thread(gateway_of, home)):
        await quit_with(screen, "n")
        await quit_with(screen, "y")
        await screen.seen("left with 0")
    assert await asyncio.to_thread(is_restored, screen)
    assert left_behind(home) == []


@pytest.mark.parametrize("whom", ["parent", "tower"])
def test_killing_one_of_the_two_ends_both_and_the_shell_goes_on(
    tmux: Tmux, home: Home, whom: str
) -> None:
    env = home.env(PS1="outer> ")
    screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
    screen.type(f"{' '.join(TAPUI)}; echo left with $?\n")
    screen.wait_for("ws://localhost")
    pid = gateway_of(home)["pid"]
    parent = child(screen)
    assert psutil.Process(pid).ppid() == parent
    os.kill(pid if whom == "tower" else parent, signal.SIGKILL)
    until(lambda: has_ended(pid) and has_ended(parent), what="the end of both")
    screen.type("tput rmcup; reset; echo still $((40 + 2))\n")
    screen.wait_for("still 42")


def test_a_script_has_its_terminal_back_when_the_tower_is_killed(tmux: Tmux, home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    script = '"$@"; tput rmcup; reset; echo "left with $?"; read -r line; echo "read $line"; cat'
    screen = tmux.start(["sh", "-c", script, "sh", *TAPUI], env=home.env(), cwd=home.root)
    screen.wait_for("ws://localhost")
    os.kill(gateway_of(home)["pid"], signal.SIGKILL)
    screen.wait_for("left with")
    screen.type("it\n")
    screen.wait_for("read it")


def test_a_tower_whose_script_was_killed_ends_and_is_not_stopped_for_ever(
    tmux: Tmux, home: Home
) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    (home.root / "script").write_text(f"{' '.join(TAPUI)}\necho not reached\n")
    env = home.env(PS1="outer> ")
    screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
    screen.type("sh ./script\n")
    screen.wait_for("ws://localhost")
    pid = gateway_of(home)["pid"]
    (script,) = psutil.Process(screen.pid).children()
    script.kill()
    until(lambda: has_ended(pid), what="the tower's end")
    screen.type("clear; echo still $((40 + 2))\n")
    screen.wait_for("^still 42")
    assert left_behind(home) == []


KILLED = """
import asyncio, os, signal, sys, time
from tapui.station.shell_parent import LOOK_SECONDS, below_the_shell

parent = below_the_shell()
print("below", os.getpid(), flush=True)

def hold_the_loop():
    time.sleep(LOOK_SECONDS + 0.1)  # it is time to look who has the terminal
    asyncio.get_running_loop().call_soon(kill_the_parent)

def kill_the_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    while os.tcgetpgrp(0) == os.getpgrp():
        time.sleep(0.001)

async def run():
    with parent.watched():
        asyncio.get_running_loop().call_soon(hold_the_loop)
        await asyncio.Event().wait()

asyncio.run(run())
"""


def test_a_child_that_looks_who_has_the_terminal_before_it_hears_of_the_kill_ends_too(
    tmux: Tmux, home: Home
) -> None:
    program = home.root / "program.py"
    program.write_text(KILLED)
    env = home.env(PS1="outer> ")
    screen = tmux.start(["bash", "--norc", "--noprofile", "-i"], env=env, cwd=home.root)
    screen.type(f"{sys.executable} {program}\n")
    pid = int(screen.wait_for(r"^below (\d+)$")[1])
    until(lambda: has_ended(pid), what=lambda: f"its end; it is {status_of(pid)}")
