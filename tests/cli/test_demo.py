"""The demo: everything to see within seconds, only public means, and nothing left behind."""

import ast
import os
import signal
import subprocess
import sys
from asyncio import to_thread as in_thread
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest

import tapui.cli.demo
from tests.cli.schemas import check
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Tower
from tests.rig.tmux import Tmux
from tests.rig.waiting import until

DEMO = Path(tapui.cli.demo.__file__).parent
PROCESSES = ("host", "ci_watch", "workshop", "visitor")


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those that still run (one that waits for its parent to notice its end does not)."""

    def runs(process: psutil.Process) -> bool:
        try:
            return process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return [process for process in processes if runs(process)]


class Played:
    """The demo's processes at a `tapui serve` in the demo's own folder."""

    def __init__(self, home: Home) -> None:
        self.folder = home.root / "demo"
        (self.folder / "home").mkdir(parents=True)
        self.home = home
        self._env = home.env(
            TAPUI_HOME=f"{self.folder}/home", COPILOT_HOME=f"{self.folder}/copilot"
        )
        self._log = (home.root / "demo.log").open("wb")
        self.host = subprocess.Popen(
            [sys.executable, "-m", "tapui.cli.demo.host", str(self.folder), str(os.getpid())],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self.gateway = Gateway(home, "--no-attach", env=self._env)

    @property
    def log(self) -> str:
        return (self.home.root / "demo.log").read_text()

    def providers(self) -> list[psutil.Process]:
        return psutil.Process(self.host.pid).children()

    def state(self) -> dict[str, Any]:
        done = self.home.run("status", "--json", env=self._env)
        assert done.returncode == 0, done.stderr
        state: dict[str, Any] = check("status", done.stdout)["state"]
        return state

    def close(self) -> None:
        self.gateway.kill()
        self.host.kill()
        self.host.wait()
        self._log.close()


@pytest.fixture
def played(home: Home) -> Iterator[Played]:
    demo = Played(home)
    yield demo
    demo.close()


def test_every_pane_has_something(played: Played) -> None:
    def is_full() -> bool:
        state = played.state()
        return (
            len(state["sessions"]) == 2
            and {one["name"] for one in state["providers"]} == {"ci-watch", "workshop"}
            and {"run_tests", "migrate", "yearly_report", "bash"}
            <= {one["tool"] for one in state["calls"]}
            and {one["last"]["level"] for one in state["streams"]} == {"keep", "surface"}
            and {one["kind"] for one in state["approvals"]} == {"pairing", "permission", "mode"}
        )

    until(is_full, what=lambda: f"a full tower: {played.state()}")
    assert played.log == ""


async def test_the_page_pairs_with_the_code_that_the_tower_shows(played: Played) -> None:
    def asked(*states: str) -> dict[str, Any] | None:
        return next(
            (
                one
                for one in played.state()["approvals"]
                if one["kind"] == "pairing" and one["state"] in states
            ),
            None,
        )

    def posted() -> list[dict[str, Any]]:
        streams = played.state()["streams"]
        return [one for one in streams if one["name"] == "visits@dashboard"]

    async with await Tower.hello(played.gateway.url, played.gateway.internal_token) as tower:
        # The first request may have come before the tower, and is open already.
        first = await in_thread(until, lambda: asked("waiting", "revealed"), what="a request")
        page = f"{first['detail']['origin']}/"
        assert "<form>" in await in_thread(fetch, page)
        await in_thread(fetch, f"{page}?code=000")
        again = await in_thread(until, lambda: asked("waiting"), what="another request")
        await tower.send({"type": "approval.reveal", "approvalId": again["id"]})
        code = (await tower.expect("approval.revealed"))["code"]
    await in_thread(fetch, f"{page}?code={code}")
    await in_thread(until, posted, what="a line of the page's")
    assert "Paired" in await in_thread(fetch, page)
    assert played.log == ""


def fetch(url: str) -> str:
    with urlopen(url, timeout=10) as response:
        return str(response.read().decode())


def test_the_calls_end_in_every_way(played: Played) -> None:
    def ends() -> set[tuple[str, str, str | None]]:
        return {
            (one["tool"], one["state"], one.get("errorCode")) for one in played.state()["calls"]
        }

    wanted = {
        ("bash", "done", None),
        ("run_tests", "done", None),
        ("yearly_report", "failed", "TIMEOUT"),
        ("migrate", "cancelled", "CANCELLED"),
    }
    until(lambda: wanted <= ends(), within=25.0, what=lambda: f"every end: {ends()}")
    assert played.log == ""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_gateway_ends(played: Played, number: signal.Signals) -> None:
    processes = until(
        lambda: [*played.providers()] if len(played.providers()) == 3 else None,
        what="three providers",
    )
    until(lambda: len(played.state()["providers"]) == 2, what="two bound providers")
    played.gateway.signal(number)
    played.gateway.wait()
    assert played.host.wait(10) == 0
    assert alive(processes) == []
    assert not played.folder.exists()
    assert played.log == ""


def test_without_a_gateway_the_host_goes_with_who_started_it(home: Home) -> None:
    folder = home.root / "demo"
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "tapui.cli.demo.host", str(folder)]
    starter = subprocess.Popen(
        ["/bin/sh", "-c", '"$@" $$ & echo $!; read forever', "sh", *command],
        env=home.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert starter.stdout is not None
    host = psutil.Process(int(starter.stdout.readline()))
    starter.kill()
    starter.communicate()
    until(lambda: not folder.exists(), what="the folder is removed")
    until(lambda: not alive([host]), what="the host has ended")


def test_the_processes_use_nothing_but_websockets_and_the_standard_library() -> None:
    for name in (*PROCESSES, "line"):
        tree = ast.parse((DEMO / f"{name}.py").read_text())
        roots = {
            module
            for node in ast.walk(tree)
            for module in (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [one.name for one in node.names]
                if isinstance(node, ast.Import)
                else []
            )
        }
        others = {
            module for module in roots if module.partition(".")[0] not in sys.stdlib_module_names
        }
        assert others <= {
            "tapui.cli.demo.line",
            "websockets.asyncio.client",
            "websockets.exceptions",
            "websockets.typing",
        }, name


@pytest.mark.pty
@pytest.mark.parametrize("ended_by", ["q", "SIGKILL", "its terminal"])
def test_the_demo_shows_the_tower_and_clears_up(home: Home, tmux: Tmux, ended_by: str) -> None:
    scratch = home.root / "tmp"
    scratch.mkdir(parents=True)
    screen = tmux.start(
        [
            *("sh", "-c", '"$@"; echo "ended with $?"; read -r _', "sh"),
            *tapui_argv("demo", "--theme", "tapui-light"),
        ],
        env=home.env(TMPDIR=str(scratch)),
        cwd=home.root,
        size=(160, 45),
    )
    screen.wait_for("Keep main green")
    screen.wait_for(r"http://127")
    screen.wait_for("builds@ci-watch")
    screen.wait_for("yearly_report")
    until(lambda: [*home.tapui.glob("run/*/gateway.json")], what="the demo is announced")
    (port,) = (path.name for path in (home.tapui / "run").iterdir())
    status = home.run("status", "--port", port)
    assert (status.returncode, status.stderr) == (0, "")
    assert "Keep main green" in status.stdout
    (demo,) = psutil.Process(screen.pid).children()
    (host,) = demo.children()
    processes = [demo, host, *host.children()]
    assert len(processes) == 5
    if ended_by == "q":
        screen.keys("q")
        screen.wait_for("y quit")
        screen.keys("y")
        screen.wait_for("^ended with 0$")
        assert list((home.tapui / "run").iterdir()) == []
    elif ended_by == "SIGKILL":
        demo.kill()
    else:
        screen.close()
    until(
        lambda: not alive(processes),
        what=lambda: f"all processes ended: {alive(processes)}",
    )
    until(lambda: not list(scratch.iterdir()), what=lambda: f"{list(scratch.iterdir())} removed")
