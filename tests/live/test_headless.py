"""Sessions of the CLI's own server: `tapui run`, and those that a gateway goes on with."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from tapui.hosts.copilot.finding.discovery import holders
from tests.rig.copilot import Copilot, find_cli
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.processes import below, has_ended
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until

RUN_SECONDS = 120.0


class Runs:
    """`tapui run` in the scratch home, in a folder that the CLI trusts."""

    def __init__(self, home: Home, cache: Path, cli: Path, model: ModelServer) -> None:
        self.home = home
        self.folder = home.root / "work"
        self.folder.mkdir()
        subprocess.run(["git", "init", "-q", str(self.folder)], check=True)
        home.copilot.mkdir(exist_ok=True)
        (home.root / ".cache").symlink_to(cache)
        trusted = {"trustedFolders": [str(self.folder)]}
        (home.copilot / "config.json").write_text(f"// managed\n{json.dumps(trusted)}")
        self.copilot_env = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": model.url,
            "COPILOT_MODEL": "scripted",
        }
        path = home.env()["PATH"]
        self.env = home.env(**self.copilot_env, PATH=f"{cli.parent}{os.pathsep}{path}")

    def __call__(self, *args: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        where = ("--cwd", str(cwd or self.folder))
        return self.home.run("run", *args, *where, env=self.env, within=RUN_SECONDS)

    def busy(self, gateway: Gateway) -> tuple["subprocess.Popen[str]", str]:
        """Start a run through a gateway; return it with its session once that is at work."""
        running = subprocess.Popen(
            tapui_argv("run", "wait", "--cwd", str(self.folder)),
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

        def at_work() -> str:
            found = states(gateway.home).items()
            return next((id_ for id_, one in found if one["state"] == "busy"), "")

        return running, until(at_work, what="the session at work")


@pytest.fixture
def run(home: Home, cli: Path, cli_cache: Path, model: ModelServer) -> Runs:
    """Run prompts."""
    return Runs(home, cli_cache, cli, model)


class Place(NamedTuple):
    """A gateway that can start sessions, runs through it, and their model."""

    run: Runs
    model: ModelServer
    gateway: Gateway


@pytest.fixture(scope="module")
def shared(cli: Path, cli_cache: Path) -> Iterator[Place]:
    """A place of the tests that leave the gateway alive; Copilot's server starts where it is
    missing."""
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    with ModelServer() as model:
        run = Runs(Home(root), cli_cache, cli, model)
        with Gateway(run.home, env=run.env) as gateway:
            yield Place(run, model, gateway)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def place(shared: Place) -> Place:
    """The shared place, with an empty folder and a model without rules."""
    shared.model.script()
    shared.model.requests.clear()
    for left in shared.run.folder.iterdir():
        if left.name != ".git":
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return shared


@pytest.fixture
def tapui(run: Runs, serve: Callable[..., Gateway]) -> Gateway:
    """A `tapui serve` that can start sessions."""
    return serve(env=run.env)


def touches(prompt: str, name: str) -> tuple[Rule, Rule]:
    call = ("bash", {"command": f"touch {name}", "description": "a command"})
    return Rule(calls=[call], when=prompt, role="user"), Rule(text=f"{prompt}: over", role="tool")


def session_of(done: "subprocess.CompletedProcess[str]") -> str:
    last = next(one for one in done.stderr.splitlines() if one.startswith("session "))
    return last.split()[1].rstrip(";")


def states(home: Home) -> dict[str, dict[str, Any]]:
    """Return the headless sessions of the gateway that runs."""
    return {one["id"]: one for one in home.state().get("sessions", []) if one.get("headless")}


def server_of(gateway: Gateway) -> psutil.Process:
    """Return the CLI's server process below a gateway."""
    (server,) = below(gateway.pid, lambda argv: "--headless" in argv)
    return server


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if not has_ended(process.pid)]


def tree_of(gateway: Gateway) -> list[psutil.Process]:
    """Return the CLI's server below a gateway, and all that it started."""
    server, *_ = below(gateway.pid, lambda argv: "--headless" in argv)
    return [server, *server.children(recursive=True)]


def test_run_with_a_gateway_of_its_own(run: Runs, model: ModelServer) -> None:
    untrusted = run.home.root / "elsewhere"
    untrusted.mkdir()
    refused = run("hello", cwd=untrusted)
    assert (refused.returncode, refused.stdout) == (4, "")
    assert "is not trusted" in refused.stderr
    assert "--trust-folder" in refused.stderr
    assert model.requests == []

    model.script(*touches("touch it", "a"))
    denied = run("touch it")
    assert (denied.returncode, denied.stdout) == (5, "touch it: over\n")
    assert "denied: run touch a (no rule allows it" in denied.stderr
    assert not (run.folder / "a").exists()

    policy = run.home.root / "policy.toml"
    policy.write_text('[[rules]]\nallow = "touch a"\n')
    model.script(*touches("touch it", "a"))
    allowed = run("touch it", "--policy", str(policy), "--json", "--resume", session_of(denied))
    assert allowed.returncode == 0, allowed.stderr
    events = [json.loads(line) for line in allowed.stdout.splitlines()]
    assert events[-1] == {
        "kind": "run.finished",
        "sessionId": session_of(denied),
        "exitCode": 0,
        "denied": [],
        "error": None,
    }
    said = [one["data"]["content"] for one in events if one.get("event") == "assistant.message"]
    assert "touch it: over" in said
    assert (run.folder / "a").exists()
    assert any("touch it: over" in str(one) for one in model.requests[-1].messages)
    # Nothing of it is left for others to find.
    assert [one for one in (run.home.tapui / "run").rglob("*") if one.is_file()] == []


CHECK = "python3 -m unittest"
TEST = """\
import unittest
from cart import total

class TotalTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""


@pytest.fixture
def shop(place: Place) -> tuple[str, ...]:
    """Arguments that let an agent mend what is in the folder: a test that fails."""
    run = place.run
    (run.folder / "cart.py").write_text("def total(a):\n    return 0\n")
    (run.folder / "test_cart.py").write_text(TEST)
    policy = run.home.root / "policy.toml"
    allowed = f'[[rules]]\nallow = "{CHECK}"\n[[rules]]\nkind = "write"\n'
    policy.write_text(f'{allowed}allow = "{run.folder}/**"\n')
    return "--policy", str(policy), "--until", CHECK


def edits(run: Runs, old: str, new: str) -> tuple[str, dict[str, str]]:
    return "edit", {"path": str(run.folder / "cart.py"), "old_str": old, "new_str": new}


def test_an_agent_that_claims_goes_on_until_it_is_proven(
    place: Place, shop: tuple[str, ...]
) -> None:
    run, model, _ = place
    check = ("bash", {"command": CHECK, "description": "tests"})
    model.script(
        Rule(text="It is mended.", when="mend it", role="user"),
        Rule(calls=[check], when="never run"),
        Rule(text="The test is flaky.", role="tool", when="exit code 1"),
        Rule(calls=[edits(run, "0", "sum(a)")], when="is failed .exit 1"),
        Rule(calls=[check], role="tool", when="updated"),
        Rule(text="Now all tests pass.", role="tool", when="Ran 1 test"),
    )
    done = run("mend it", *shop)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "It is mended.",
        "The test is flaky.",
        "Now all tests pass.",
    ]
    notes = done.stderr.splitlines()
    assert [one for one in notes if "sent back" in one] == [
        "· sent back 1 of 3",
        "· sent back 2 of 3",
    ]
    assert notes[-1] == f"✓ proven: {CHECK}"


def test_an_agent_that_never_proves_it_ends_after_its_tries(
    place: Place, shop: tuple[str, ...]
) -> None:
    run, model, _ = place
    model.script(Rule(text="All tests pass.", times=ALWAYS))
    done = run("mend it", *shop, "--tries", "2")
    assert done.returncode == 6, done.stderr
    assert done.stdout == "All tests pass.\n" * 3
    assert done.stderr.splitlines()[-1] == f"○ not proven: {CHECK}: never run"
    # Its goal was over with the run: the session goes on without it.
    model.script(Rule(text="once more", times=ALWAYS))
    again = run("go on", "--resume", session_of(done))
    assert (again.returncode, again.stdout) == (0, "once more\n"), again.stderr


def test_a_policy_with_a_fault_runs_nothing(run: Runs, model: ModelServer) -> None:
    policy = run.home.root / "policy.toml"
    policy.write_text('[[rules]]\nallow = "touch a"\nalow = "b"\n')
    done = run("touch it", "--policy", str(policy))
    assert (done.returncode, done.stdout) == (2, "")
    assert "policy.toml:3: rules.1.alow: unknown key" in done.stderr
    assert model.requests == []


def test_sessions_of_a_gateway_share_a_server_and_end_with_it_and_it_with_the_gateway(
    run: Runs, model: ModelServer, tapui: Gateway
) -> None:
    model.script(Rule(text="here I am", times=ALWAYS))
    first = run("hello")
    assert (first.returncode, first.stdout) == (0, "here I am\n"), first.stderr
    server = server_of(tapui)
    second = run("hello again")
    assert second.returncode == 0, second.stderr
    assert server_of(tapui) == server
    assert {one["state"] for one in states(tapui.home).values()} == {"ended"}

    held = threading.Event()
    model.script(Rule(text="late", until=held, times=ALWAYS))
    running, held_id = run.busy(tapui)
    taken = run("mine", "--resume", held_id)
    assert taken.returncode == 1
    assert "open" in taken.stderr
    tree = tree_of(tapui)
    os.kill(server.pid, signal.SIGKILL)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "Copilot's server has ended" in said
    until(lambda: not alive(tree), what=lambda: f"the end of {alive(tree)}")
    held.set()
    model.script(Rule(text="back", times=ALWAYS))
    again = run("once more")
    assert (again.returncode, again.stdout) == (0, "back\n"), again.stderr
    tree = tree_of(tapui)
    tapui.kill()
    until(lambda: not alive(tree), what=lambda: f"the end of {alive(tree)}")


def test_the_whole_tree_of_a_server_that_npm_has_started_is_ours_and_ends_with_it(
    home: Home, cli: Path, cli_cache: Path, model: ModelServer, serve: Callable[..., Gateway]
) -> None:
    wrapper = cli.parents[2] / ".bin" / "copilot"  # npm's, which starts the other
    run = Runs(home, cli_cache, wrapper, model)
    policy = home.root / "policy.toml"
    policy.write_text('[[rules]]\nallow = "sleep"\n')
    slow = ("bash", {"command": "sleep 3", "description": "longer than two looks"})
    model.script(Rule(calls=[slow], when="go"), Rule(text="it is over", role="tool"))
    gateway = serve(env=run.env)
    done = run("go", "--policy", str(policy))
    assert (done.returncode, done.stdout) == (0, "it is over\n"), done.stderr
    first = tree_of(gateway)
    assert len(first) >= 2
    first[0].kill()
    until(lambda: not alive(first), what=lambda: f"the end of {alive(first)}")

    model.script(Rule(text="another", when="again"))
    again = run("again")
    assert again.stdout == "another\n", again.stderr
    second = tree_of(gateway)
    gateway.kill()
    until(lambda: not alive(second), what=lambda: f"the end of {alive(second)}")


def test_what_a_run_is_started_with_reaches_the_model(
    run: Runs, model: ModelServer, serve: Callable[..., Gateway]
) -> None:
    notes, folder = run.folder / "notes.txt", run.folder / "drafts"
    notes.write_text("remember\n")
    folder.mkdir()
    headers = run.home.root / "headers"
    headers.write_text("X-Tenant: one\nX-Route: a:b\n")
    env = {**run.env, "TAPUI_COPILOT_HEADERS_FILE": str(headers)}
    env |= {"TAPUI_COPILOT_PROVIDER_URL": model.url, "TAPUI_COPILOT_MODEL": "scripted"}
    for name in ("COPILOT_PROVIDER_BASE_URL", "COPILOT_MODEL"):
        del env[name]
    gateway = serve(env=env)
    model.script(Rule(text="seen", times=ALWAYS))
    given = ("--effort", "high", "--file", str(notes), "--file", str(folder))
    done = run("read them", *given, "--compact-at", "0.5", "--hold-at", "0.9")
    assert (done.returncode, done.stdout) == (0, "seen\n"), done.stderr
    asked = next(one for one in model.requests if "read them" in one.text)
    assert asked.options["reasoning_effort"] == "high"
    assert (asked.headers["x-tenant"], asked.headers["x-route"]) == ("one", "a:b")
    assert str(notes) in asked.text
    assert str(folder) in asked.text
    half = states(gateway.home)[session_of(done)]
    assert half["effort"] == "high"
    whole = run("again")
    usual = states(gateway.home)[session_of(whole)]
    shares = [one["context"]["compactsAt"] / one["context"]["limit"] for one in (half, usual)]
    assert shares == pytest.approx([0.5, 0.8], abs=0.01)

    missing = run("read it", "--file", str(run.folder / "gone"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "it is not there" in missing.stderr
    turned = run("go on", "--compact-at", "0.95", "--hold-at", "0.5")
    assert turned.returncode == 2
    assert "--compact-at: must not be more than --hold-at" in turned.stderr


def test_ctrl_c_stops_the_turn(place: Place) -> None:
    run, model, tapui = place
    model.script(Rule(calls=[("bash", {"command": "sleep 61", "description": "d"})], role="user"))
    policy = run.home.root / "policy.toml"
    policy.write_text('[[rules]]\nallow = "sleep"\n')
    running = subprocess.Popen(
        tapui_argv("run", "wait", "--cwd", str(run.folder), "--policy", str(policy)),
        env=run.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def sleeping() -> list[psutil.Process]:
        return below(tapui.pid, lambda argv: argv == ["sleep", "61"])

    until(sleeping, what="the command")
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    until(lambda: not sleeping(), what="its end")
    assert {one["state"] for one in states(tapui.home).values()} == {"ended"}


def test_the_tower_starts_a_session_answers_it_and_hands_it_over(
    run: Runs,
    model: ModelServer,
    start_tower: Callable[..., TowerProcess],
    start_copilot: Callable[..., Copilot],
) -> None:
    model.script(*touches("touch it", "a"), Rule(text="so be it", times=ALWAYS))
    elsewhere = run.home.root / "elsewhere"
    elsewhere.mkdir()
    tower = start_tower(env=run.env, cwd=elsewhere)
    screen = tower.screen
    sheet = "Start a session without a screen"
    screen.press("+", lambda: screen.find(sheet) is not None)
    screen.type("touch it")
    screen.keys("Enter")
    screen.wait_for("Trust this folder for the session")
    screen.press("y", lambda: screen.find("Trust this folder") is None)
    screen.wait_for("run +touch a")
    screen.wait_for("headless")
    tower.approve("touch a")
    screen.wait_for("touch it: over")
    assert (elsewhere / "a").exists()
    (id_,) = states(run.home)
    screen.keys("1", ".")
    screen.wait_for("hand it over")
    screen.keys("h")
    screen.wait_for("Go on with")
    screen.press("y", lambda: screen.find("Go on with") is None)
    screen.wait_for("The session is free")
    assert id_ in screen.text().replace("\n", "")
    assert holders(run.home.copilot, id_) == []


AGENT = """---
name: reviewer
description: Reviews changes
---
You are the reviewer of page 4711.
"""


def test_the_tower_starts_a_session_in_a_worktree_as_an_agent_and_removes_it(
    run: Runs, model: ModelServer, start_tower: Callable[..., TowerProcess]
) -> None:
    agents = run.folder / ".github" / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.agent.md").write_text(AGENT)
    for args in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"]):
        subprocess.run(["git", *args], cwd=run.folder, check=True)
    model.script(Rule(text="reviewed", times=ALWAYS))
    screen = start_tower(env=run.env, cwd=run.folder).screen
    screen.press("+", lambda: screen.find("Start a session without a screen") is not None)
    screen.type("review it")
    screen.keys("Tab", "Tab")
    screen.type("reviewer")
    screen.keys("BTab", "BTab", "BTab")
    screen.type("pairing")
    screen.keys("Enter")
    screen.wait_for("Trust this folder for the session")
    screen.press("y", lambda: screen.find("Trust this folder") is None)
    asked = model.wait_for(lambda one: "review it" in one.text)
    assert "You are the reviewer of page 4711." in json.dumps(asked.messages)
    place = run.folder.parent / "work.worktrees" / "pairing"
    until(lambda: [one["cwd"] for one in states(run.home).values()] == [str(place)], what="it")
    screen.wait_for("done|idle")
    screen.keys("1", ".")
    screen.wait_for("end it")
    screen.keys("d")
    screen.wait_for("end it, remove the worktree")
    screen.keys("Down", "Enter")
    own = run.folder / ".git" / "worktrees" / "pairing"
    until(lambda: not place.exists() and not own.exists(), what=screen.text)
    branches = subprocess.run(
        ["git", "branch", "--list", "pairing"], cwd=run.folder, capture_output=True, check=True
    )
    assert branches.stdout.strip() == b"pairing"


def test_a_session_that_is_taken_and_a_server_that_hangs(place: Place) -> None:
    run, model, tapui = place
    held = threading.Event()
    model.script(Rule(text="late", until=held, times=ALWAYS))
    running, id_ = run.busy(tapui)
    lock = run.home.copilot / "session-state" / id_ / f"inuse.{os.getpid()}.lock"
    lock.write_text("")  # as if this process had resumed it
    _, said = running.communicate(timeout=60)
    assert running.returncode == 1
    assert f"process {os.getpid()} has resumed it" in said

    running, _ = run.busy(tapui)
    server = server_of(tapui)
    server.suspend()
    _, said = running.communicate(timeout=60)
    held.set()
    assert running.returncode == 1
    assert "Copilot's server does not answer" in said
    until(lambda: not server.is_running(), what="its end")


@pytest.mark.usefixtures("tapui")
def test_who_resumes_a_session_elsewhere_has_it(
    run: Runs, model: ModelServer, start_copilot: Callable[..., Copilot]
) -> None:
    model.script(Rule(text="said before", times=ALWAYS))
    first = run("remember this")
    assert first.returncode == 0, first.stderr
    stored = session_of(first)
    person = start_copilot(args=("--resume", stored))
    person.prompt("and I go on")  # the CLI holds a resumed session from its first prompt on
    until(lambda: holders(run.home.copilot, stored) == [person.pid], what="the lock")
    held = run("mine now", "--resume", stored)
    assert held.returncode == 1
    assert f"process {person.pid} has session {stored} open" in held.stderr


def test_without_a_cli_it_says_what_to_do(run: Runs) -> None:
    cli = find_cli()
    assert cli is not None
    run.env = {**run.env, "PATH": run.env["PATH"].replace(f"{cli.parent}{os.pathsep}", "")}
    done = run("hello")
    assert done.returncode == 3
    assert "npm install -g @github/copilot" in done.stderr


def test_a_session_starts_without_the_mcp_door_and_is_listed_with_its_folder(
    run: Runs, model: ModelServer, tapui: Gateway
) -> None:
    installed = run.home.run("install", "mcp")
    assert installed.returncode == 0, installed.stderr
    config = run.home.copilot / "mcp-config.json"
    servers = json.loads(config.read_text())
    began = run.home.root / "began"
    other = {"type": "local", "command": "touch", "args": [str(began)], "tools": ["*"]}
    servers["mcpServers"]["other"] = other
    config.write_text(json.dumps(servers))
    held = threading.Event()
    model.script(Rule(text="late", until=held, times=ALWAYS))
    running, id_ = run.busy(tapui)
    server = server_of(tapui)
    until(began.exists, what="the person's other servers, which start with it")
    assert below(server.pid, lambda argv: "mcp-door" in argv) == []
    found = json.loads(run.home.run("doctor", "--json", env=run.env).stdout)["sessions"]
    assert [(one["id"], one["cwd"], one["state"]) for one in found] == [
        (id_, str(run.folder), "headless")
    ]
    held.set()
    said, _ = running.communicate(timeout=60)
    assert said == "late\n"
