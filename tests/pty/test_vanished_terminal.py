"""The terminal may vanish; the gateway goes on while somebody is attached to it."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.pty.test_terminal import child, in_shell, is_restored, left_behind
from tests.rig.gateway import Home, tapui_argv
from tests.rig.peers import Host, Provider
from tests.rig.processes import has_ended
from tests.rig.provider_process import ProviderProcess
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until, until_async


@pytest.fixture
def tower(start_tower: Callable[..., TowerProcess], home: Home) -> Iterator[TowerProcess]:
    """A tower whose gateway is idle for a second before it ends by itself."""
    home.tapui.mkdir(parents=True)
    (home.tapui / "config.toml").write_text("[timeouts]\nidle-exit = 1.0\n")
    started = start_tower()
    process = psutil.Process(started.pid)
    yield started
    if process.is_running():  # the test has failed
        process.kill()


def leads_nowhere(pid: int) -> bool:
    """Whether standard input, output and error of a process are the null device."""
    return {str(Path(f"/proc/{pid}/fd/{fd}").readlink()) for fd in (0, 1, 2)} == {"/dev/null"}


async def test_a_call_completes_though_its_terminal_vanishes_and_a_second_tower_joins(
    tower: TowerProcess, tmux: Tmux, home: Home
) -> None:
    pid, url = tower.pid, tower.url
    host = await Host.hello(url, tower.internal_token)
    await host.open("s1")
    provider = await Provider.bind(url, tower.token, session="s1")
    await host.invoke("s1", "greet", {"name": "Ada"})
    call = await provider.expect("tool.call")
    tower.screen.close()
    await until_async(lambda: leads_nowhere(pid), what="the terminal was given up")
    await provider.send({"type": "tool.result", "id": call["id"], "data": "Hello, Ada"})
    assert (await host.expect("tool.outcome", id="i1"))["data"] == "Hello, Ada"
    second = await asyncio.to_thread(
        TowerProcess, tmux, home, "--no-attach", "--port", str(tower.gateway["port"])
    )
    await second.screen.seen("gateway: pid")
    await provider.close()
    await host.close()
    await until_async(lambda: has_ended(pid), what="the idle gateway's end")
    assert left_behind(home) == []


def test_a_gateway_whose_terminal_vanishes_ends_when_nobody_is_attached(
    tower: TowerProcess, home: Home
) -> None:
    pid = tower.pid
    tower.screen.close()
    until(lambda: has_ended(pid), what="the tower's end")
    assert left_behind(home) == []


def ask_it_to_stop(home: Home, _pid: int) -> None:
    done = home.run("stop")
    assert done.returncode == 0, done


def terminate(_home: Home, pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


@pytest.mark.parametrize("ends", [ask_it_to_stop, terminate])
def test_a_gateway_without_its_terminal_ends_in_order(
    tower: TowerProcess, home: Home, ends: Callable[[Home, int], None]
) -> None:
    pid = tower.pid
    with ProviderProcess(tower.url, tower.token) as provider:
        tower.screen.close()
        until(lambda: leads_nowhere(pid), what="the terminal was given up")
        os.kill(pid, signal.SIGHUP)  # the shell passes it on, too
        os.kill(pid, signal.SIGHUP)
        provider.push("still here")
        with ThreadPoolExecutor(1) as beside:
            ending = beside.submit(ends, home, pid)
            provider.expect("session.lifecycle", state="shutdown.pending")
            provider.send({"type": "goodbye"})
            until(lambda: has_ended(pid), what="the gateway's end")
            ending.result()
    assert left_behind(home) == []


def test_a_hangup_with_a_terminal_gives_it_back_and_says_that_the_gateway_goes_on(
    tmux: Tmux, home: Home
) -> None:
    screen = in_shell(tmux, home, *tapui_argv("--no-attach", "--port", "0"))
    screen.wait_for("ws://localhost")
    gateway: dict[str, Any] = until(lambda: announced(home), what="gateway.json")
    pid = gateway["pid"]
    with ProviderProcess(gateway["url"], Path(gateway["tokenFile"]).read_text()) as provider:
        os.kill(child(screen), signal.SIGHUP)
        screen.wait_for("the gateway goes on without a screen")
        screen.wait_for("left with 0")
        until(lambda: leads_nowhere(pid), what="the terminal was given up")
        os.kill(pid, signal.SIGTERM)
        provider.expect("session.lifecycle", state="shutdown.pending")
        provider.send({"type": "goodbye"})
    until(lambda: has_ended(pid), what="the gateway's end")
    assert is_restored(screen)
    assert left_behind(home) == []


def announced(home: Home) -> dict[str, Any] | None:
    """Return what the gateway of a home says of itself."""
    for file in home.tapui.glob("run/*/gateway.json"):
        found: dict[str, Any] = json.loads(file.read_text())
        return found
    return None
