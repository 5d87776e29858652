"""The demo: everything to see within seconds, only public means, and nothing left behind."""

import ast
import asyncio
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from asyncio import to_thread as in_thread
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.request import urlopen

import psutil
import pytest

import tapui.cli.demo
from tapui.cli.demo.host import remove
from tapui.cli.demo.line import PACE
from tapui.cli.demo.player import CONTEXT
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import find
from tapui.home.paths import Home as HomeFolders
from tapui.projection import approvals
from tapui.projection.fold import fold
from tapui.projection.now import Loop, loop_of
from tapui.projection.proof import record_of
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.state import State
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.steering import SessionStop, SessionTell
from tapui.wire.subjects import UNCHECKED, Approval
from tapui.wire.tower import ApprovalDecide, ApprovalReveal, CallCancel, RevealedCode, TowerSnapshot
from tapui.wire.turns import TurnSource
from tests.cli.running import ran
from tests.cli.schemas import check
from tests.rig.gateway import ANYBODY, Gateway, Home, tapui_argv
from tests.rig.processes import below, has_ended
from tests.rig.tmux import Tmux
from tests.rig.waiting import HUNG, until

T = TypeVar("T")

DEMO = Path(tapui.cli.demo.__file__).parent
MODULES = [path for path in DEMO.rglob("*.py") if path.name != "command.py"]


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those that still run (one that waits for its parent to notice its end does not)."""
    return [process for process in processes if not has_ended(process.pid)]


class Played:
    """The demo's processes at a `tapui serve` in the demo's own folder."""

    def __init__(self, home: Home, pace: str) -> None:
        self.folder = home.root / "demo"
        (self.folder / "home").mkdir(parents=True)
        (self.folder / "home" / "config.toml").write_text(ANYBODY)
        self.home = home
        self.env = home.env(TAPUI_HOME=f"{self.folder}/home", COPILOT_HOME=f"{self.folder}/copilot")
        self._log = (home.root / "demo.log").open("wb")
        self.host = subprocess.Popen(
            [sys.executable, "-m", "tapui.cli.demo.host", str(self.folder), str(os.getpid()), "7"],
            env={**self.env, PACE: pace},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self.gateway = Gateway(home, "--no-attach", env=self.env)

    @property
    def log(self) -> str:
        return (self.home.root / "demo.log").read_text()

    def providers(self) -> list[psutil.Process]:
        return psutil.Process(self.host.pid).children()

    def state(self) -> dict[str, Any]:
        done = ran(self.home, "status", "--json", env=self.env)
        assert done.returncode == 0, done.stderr
        state: dict[str, Any] = check("status", done.stdout)["state"]
        return state

    def close(self) -> None:
        self.gateway.kill()
        self.host.kill()
        self.host.wait()
        self._log.close()


@contextlib.contextmanager
def playing(home: Home, pace: str = "0.1") -> Iterator[Played]:
    demo = Played(home, pace)
    try:
        yield demo
    finally:
        demo.close()


@pytest.fixture(scope="module")
def stage() -> Iterator[Played]:
    """The demo that most tests share: of those that answer, each answers other requests."""
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    with playing(Home(root)) as demo:
        yield demo
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    """The shared demo, or one of the test's own at the pace that it is parametrized with."""
    if not hasattr(request, "param"):
        yield request.getfixturevalue("stage")
        return
    with playing(request.getfixturevalue("home"), request.param) as demo:
        yield demo


class Watched:
    """The demo's state as a tower has it: a snapshot, and every event after it."""

    def __init__(self, connection: GatewayConnection) -> None:
        self.connection = connection
        self.state = State.of(connection.snapshot.state)

    async def until(self, look: Callable[[State], T | None], *, what: str) -> T:
        """Return the first truthy result of `look`, which is tried after each event."""
        try:
            async with asyncio.timeout(30):
                while not (found := look(self.state)):
                    self.take(await self.connection.receive())
        except TimeoutError:
            raise AssertionError(f"no {what}: {self.state.turns}") from None
        return found

    def take(self, came: Message | Entry) -> None:
        """Fold what came."""
        if isinstance(came, Entry):
            fold(self.state, came.event, came.ts)
        elif isinstance(came, TowerSnapshot):
            self.state = State.of(came.state)

    async def asked(self, session: str, what: str, /, **detail: str) -> Approval:
        """Return the next waiting request of a session."""

        def look(state: State) -> Approval | None:
            for one in state.approvals.values():
                is_it = (one.session_id, one.kind, one.state) == (session, what, "waiting")
                if is_it and detail.items() <= detail_of(one).items():
                    return one
            return None

        return await self.until(look, what=f"{what} {detail}")

    async def decide(
        self, approval: Approval, decision: Literal["approve", "deny"], answer: object = None
    ) -> None:
        await self.connection.send(
            ApprovalDecide(approval_id=approval.id, decision=decision, answer=answer)
        )

    async def step(self, session: str, what: str, is_it: Callable[[LiveStep], bool]) -> LiveStep:
        """Return a step of a session."""

        def look(state: State) -> LiveStep | None:
            for turn in state.turns[session].turns if session in state.turns else ():
                for step in turn.all_steps():
                    step.condense()
                    if is_it(step):
                        return step
            return None

        return await self.until(look, what=what)

    async def said(self, session: str, text: str) -> LiveStep:
        """Wait for a message of the agent."""
        return await self.step(
            session, f"“{text}”", lambda step: step.kind == "message" and text in step.summary
        )


alone = pytest.mark.parametrize("played", ["0.1"], indirect=True)
"""What is answered in another way, and what ends, is in a demo of its own."""
stopped_in_time = pytest.mark.parametrize("played", ["2"], indirect=True)
"""What is stopped lasts two seconds then, and not the tenth of one."""


@pytest.fixture
async def watched(played: Played) -> AsyncIterator[Watched]:
    found = find(HomeFolders.at(played.folder / "home"), played.gateway.port, is_explicit=True)
    async with await GatewayConnection.open(found, role="tower") as connection:
        yield Watched(connection)
    assert played.log == ""


PAIRING, RELEASE, MIGRATION = "demo-pairing", "demo-release", "demo-migration"
ROUNDING = "demo-rounding"


@alone
async def test_one_request_comes_before_all_others_then_every_pane_has_something(
    played: Played, watched: Watched
) -> None:
    (first,) = await watched.until(lambda state: [*state.approvals.values()], what="a request")
    assert approvals.request(first) == "pytest --collect-only -q tests"

    def is_full(state: State) -> bool:
        streams = {one.last.level for one in state.streams.values() if one.last is not None}
        return (
            {"ci-watch", "workshop", "reception"} <= {one.name for one in state.providers.values()}
            and {PAIRING, RELEASE, MIGRATION} <= state.turns.keys()
            and {"run_tests", "task", "bash"} <= {one.tool for one in state.calls.values()}
            and {"keep", "surface"} <= streams
            and {"emitter", "pairing", "permission", "userInput"}
            <= {one.kind for one in state.approvals.values()}
        )

    await watched.until(is_full, what="full tower")
    labels = {one.label for one in watched.state.sessions.values() if one.host != "local"}
    assert len(labels) == 4
    assert all(label.endswith(" (demo)") for label in labels)
    scripted = [watched.state.sessions[id_] for id_ in (PAIRING, RELEASE, MIGRATION)]
    assert all(one.model == "scripted" and one.context is not None for one in scripted)
    assert {one["id"] for one in played.state()["sessions"]} >= {PAIRING, RELEASE, MIGRATION}


async def test_a_goal_and_a_server_are_there(watched: Watched) -> None:
    (goal,) = await watched.until(lambda state: [*state.goals.values()], what="a goal")
    assert goal.title == "Prices are rounded"
    request = await watched.asked(RELEASE, "mcpServer", name="glossary")
    await watched.decide(request, "approve")

    def is_offered(state: State) -> bool:
        return any("look_up" in str(one.tools) for one in state.providers.values())

    await watched.until(is_offered, what="its tool")


async def test_an_edit_that_is_allowed_changes_the_file(played: Played, watched: Watched) -> None:
    file = played.folder / "pairing/tests/test_pair.py"
    edit = await watched.asked(PAIRING, "permission", kind="write")
    assert approvals.request(edit) == "tests/test_pair.py  +1 \N{MINUS SIGN}1"
    assert "sleep(0.2)" in file.read_text()
    await watched.decide(edit, "approve")
    done = await watched.step(
        PAIRING, "edit", lambda step: step.tool == "edit" and step.state == "done"
    )
    assert (done.added, done.removed) == (1, 1)
    await watched.step(PAIRING, "test", lambda step: "--count 10" in step.summary)
    assert "sleep(0.2)" not in file.read_text()


@alone
@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_an_edit_that_is_denied_leads_to_a_subagent_that_works_and_asks(
    played: Played, watched: Watched, decision: Literal["approve", "deny"]
) -> None:
    await watched.decide(await watched.asked(PAIRING, "permission", kind="write"), "deny")
    await watched.said(PAIRING, "The file stays unchanged.")
    await watched.step(PAIRING, "refusal", lambda step: step.state == "denied")
    assert "sleep(0.2)" in (played.folder / "pairing/tests/test_pair.py").read_text()
    await watched.decide(await watched.asked(PAIRING, "permission", kind="shell"), decision)
    agent = await watched.step(
        PAIRING, "subagent", lambda step: step.kind == "subagent" and step.state == "done"
    )
    assert agent.calls == 3
    (shown,) = [one for one in watched.state.sessions[PAIRING].subagents if one.id == agent.agent]
    assert shown.context is not None
    inner = {step.told().tool: step.state for step in agent.steps or () if step.kind == "call"}
    wanted = {"approve": "done", "deny": "denied"}[decision]
    assert inner == {"grep": "done", "view": "done", "bash": wanted}
    command = await watched.asked(PAIRING, "permission", kind="shell")
    await watched.decide(command, decision)
    told = {"approve": "41 tests pass", "deny": "Then I keep the environment"}[decision]
    await watched.said(PAIRING, told)


async def test_an_emitter_runs_once_it_is_allowed(played: Played, watched: Watched) -> None:
    request = await watched.asked(MIGRATION, "emitter", name="queries")
    assert not [one for one in watched.state.streams.values() if one.name == "queries@tap"]
    await watched.decide(request, "approve")

    def says(state: State) -> bool:
        lines = [one.last for one in state.streams.values() if one.name == "queries@tap"]
        return any(line is not None and "a query took" in line.event for line in lines)

    await watched.until(says, what="a line of its command")


async def test_questions_and_modes_are_asked_for_and_kept_to(
    played: Played, watched: Watched
) -> None:
    question = await watched.asked(RELEASE, "userInput")
    assert detail_of(question)["choices"] == ["users", "operators", "both"]
    await watched.decide(question, "approve", "operators")
    await watched.said(RELEASE, "I write for this audience: operators.")
    await watched.decide(await watched.asked(RELEASE, "permission", kind="write"), "approve")
    await watched.decide(await watched.asked(RELEASE, "mode", to="autopilot"), "approve")
    await watched.step(RELEASE, "test", lambda step: step.summary == "make links")
    assert watched.state.sessions[RELEASE].mode == "autopilot"
    await watched.decide(await watched.asked(RELEASE, "mode", to="interactive"), "deny")
    form = await watched.asked(RELEASE, "elicitation")
    await watched.decide(form, "approve", {"version": "1.3"})
    await watched.said(RELEASE, '{"version": "1.3"}')
    await watched.decide(await watched.asked(RELEASE, "userInput"), "deny")
    await watched.said(RELEASE, "No answer came, so I write for users.")
    # No question comes before the next edit: the session is in autopilot.
    await watched.until(
        lambda state: (
            [
                step.state
                for turn in state.turns[RELEASE].turns
                for step in turn.all_steps()
                if step.tool == "edit"
            ]
            == ["done", "done"]
        ),
        what="second edit",
    )
    assert "## 1.3" in (played.folder / "release/CHANGELOG.md").read_text()


@alone
async def test_a_mode_that_is_denied_stays(watched: Watched) -> None:
    await watched.decide(await watched.asked(RELEASE, "userInput"), "deny")
    await watched.decide(await watched.asked(RELEASE, "permission", kind="write"), "deny")
    await watched.decide(await watched.asked(RELEASE, "mode", to="autopilot"), "deny")
    await watched.said(RELEASE, "Then I ask before each of the twelve.")
    assert watched.state.sessions[RELEASE].mode == "interactive"


async def test_a_command_fails_in_a_loop(watched: Watched) -> None:
    def loops(state: State) -> Loop | None:
        turns = state.turns[MIGRATION].turns if MIGRATION in state.turns else []
        found = (loop_of(turn) for turn in turns)
        return next((loop for loop in found if loop is not None and loop.times == 4), None)

    assert await watched.until(loops, what="loop") == Loop("pnpm test", 1, 4)


@stopped_in_time
async def test_a_turn_that_the_person_stops_ends(watched: Watched) -> None:
    test = await watched.step(
        MIGRATION, "test", lambda step: step.exit_code is None and "pnpm test" in step.summary
    )
    assert test.call_id is not None
    await watched.connection.send(CallCancel(id=test.call_id))
    await watched.until(
        lambda state: state.turns[MIGRATION].turns[0].told_state()[0] == "stopped", what="stop"
    )
    await watched.until(lambda state: len(state.turns[MIGRATION].turns) == 2, what="next turn")


@stopped_in_time
async def test_a_turn_is_stopped_for_a_text_of_the_person(watched: Watched) -> None:
    await watched.step(
        MIGRATION, "test", lambda step: step.exit_code is None and "pnpm test" in step.summary
    )
    await watched.connection.send(SessionTell("w", MIGRATION, "/wait", "stopFirst"))

    def told(state: State) -> LiveTurn | None:
        turns = state.turns[MIGRATION].turns
        return next((turn for turn in turns if turn.prompt == "/wait"), None)

    turn = await watched.until(told, what="the text")
    assert turn.source == TurnSource("person", UNCHECKED)
    assert watched.state.turns[MIGRATION].turns[0].told_state()[0] == "stopped"
    (order,) = watched.state.orders.values()
    assert order.state == "done"
    await watched.connection.send(SessionStop("x", MIGRATION))
    await watched.until(
        lambda state: [one.state for one in state.orders.values()] == ["done", "done"], what="rest"
    )
    session = watched.state.sessions[MIGRATION]
    assert "script" in session.cannot["compact"]


async def test_a_claim_is_seen_run_and_sent_back(played: Played, watched: Watched) -> None:
    def stands(mark: str) -> Callable[[State], bool]:
        def look(state: State) -> bool:
            session = state.sessions.get(ROUNDING)
            record = record_of(state, session) if session is not None else None
            return record is not None and record.mark == mark

        return look

    await watched.until(stands("unchecked"), what="done ○")
    (turn,) = watched.state.turns[ROUNDING].turns
    assert turn.says == "Done: each price is rounded now, and all tests pass."
    run = partial(played.home.run, env=played.env)
    proved = await in_thread(run, "prove", ROUNDING, "--yes")
    assert proved.stdout.splitlines()[-1] == "✗ failed: unittest, exit 1"
    assert "FAILED (failures=1)" in proved.stdout
    await watched.until(stands("failed"), what="done ✗")
    assert (await in_thread(run, "send", ROUNDING, "mend it")).returncode == 0
    await watched.until(stands("checked"), what="done ✓")


async def test_a_failed_build_prompts_a_session(watched: Watched) -> None:
    def prompted(state: State) -> LiveTurn | None:
        turns = state.turns[MIGRATION].turns if MIGRATION in state.turns else []
        found = (turn for turn in turns if turn.source == TurnSource("provider", "ci-watch"))
        return next((turn for turn in found if turn.ended_at is not None), None)

    turn = await watched.until(prompted, what="turn of ci-watch")
    assert "failed in “unit tests”" in turn.prompt
    assert turn.failed == 1


async def test_the_context_fills_up_and_is_compacted(watched: Watched) -> None:
    compaction = await watched.step(
        MIGRATION, "compaction", lambda step: step.kind == "compaction" and step.state == "done"
    )
    before, after = (int(number) for number in compaction.summary.split(" → "))
    assert before > 0.92 * CONTEXT > after
    used = watched.state.turns[MIGRATION].turns[0].usage
    assert used.input > 0
    assert used.output > 0
    assert used.cost


async def test_the_calls_end_in_every_way(watched: Watched) -> None:
    wanted = {
        ("bash", "done", None),
        ("run_tests", "done", None),
        ("yearly_report", "failed", "TIMEOUT"),
        ("migrate", "cancelled", "CANCELLED"),
    }
    await watched.until(
        lambda state: (
            wanted
            <= {
                (one.tool, one.state, one.error_code)
                for one in (*state.calls.values(), *state.recent_calls.values())
            }
        ),
        what="call of every end",
    )


async def test_what_the_demo_says_of_itself_works(played: Played, watched: Watched) -> None:
    """The lines of its stream have the literal commands: they are run as they stand."""
    key = PAIRING, "welcome@reception"
    await watched.until(
        lambda state: key in state.streams and state.streams[key].count == 4, what="welcome"
    )

    async def run(*command: str, **env: str) -> str:
        env = {**played.env, **env}
        done = await asyncio.to_thread(played.home.run, *command, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    lines = (await run("tail", "welcome")).splitlines()
    assert len(lines) == 4
    status, search, enter = (line.rpartition(": tapui ")[2] for line in lines[1:])
    found = re.search(r"TAPUI_HOME=(\S+) tapui (search \w+)", lines[2])
    assert found is not None, search
    assert "Release notes (demo)" in await run(*status.split())
    env = {**played.env, "TAPUI_HOME": found[1]}

    def is_found() -> bool:
        """Whether the index, which is kept up beside the demonstration, has it already."""
        return "pairing" in played.home.run(*found[2].split(), env=env).stdout

    await asyncio.to_thread(until, is_found, what="what was searched for")
    # The first request may have come before the tower, and is open already.
    first = await watched.until(_pairing, what="pairing")
    page = f"{detail_of(first)['origin']}/"
    assert "<form>" in await in_thread(fetch, page)
    await run(*shlex.split(enter.replace("CODE", "000000")))
    again = await watched.until(lambda state: _pairing(state, after=first), what="next pairing")
    await watched.connection.send(ApprovalReveal(approval_id=again.id))
    while not isinstance(came := await watched.connection.receive(), RevealedCode):
        watched.take(came)
    said = await run(*shlex.split(enter.replace("CODE", came.code)))
    assert approvals.request(again) in said
    await watched.until(lambda state: (PAIRING, "visits@dashboard") in state.streams, what="line")
    assert "Paired" in await in_thread(fetch, page)


def _pairing(state: State, after: Approval | None = None) -> Approval | None:
    found = [one for one in state.approvals.values() if one.kind == "pairing"]
    if after is None:
        return next((one for one in found if one.state in ("waiting", "revealed")), None)
    return next((one for one in found if one.id != after.id and one.state == "waiting"), None)


def fetch(url: str) -> str:
    with urlopen(url, timeout=HUNG) as response:
        return str(response.read().decode())


@alone
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_gateway_ends(played: Played, number: signal.Signals) -> None:
    processes = until(
        lambda: [*played.providers()] if len(played.providers()) == 3 else None,
        what="three processes",
    )
    until(lambda: len(played.state()["providers"]) == 3, what="three bound providers")
    played.gateway.signal(number)
    played.gateway.wait()
    assert played.host.wait(HUNG) == 0
    assert alive(processes) == []
    assert not played.folder.exists()
    assert played.log == ""


def test_a_folder_that_is_written_to_meanwhile_is_removed(tmp_path: Path) -> None:
    home = tmp_path / "demo" / "home"
    home.mkdir(parents=True)
    for number in range(3_000):
        (home / str(number)).touch()

    def write_once_it_goes() -> None:
        with contextlib.suppress(FileNotFoundError):  # it was too late
            until(lambda: len([*home.iterdir()]) < 3_000, what="a removed file")
            (home / "last").touch()

    with ThreadPoolExecutor() as pool:
        writing = pool.submit(write_once_it_goes)
        remove(home.parent)
        writing.result()
    assert not home.parent.exists()


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
    assert len(MODULES) > 10
    for path in MODULES:
        tree = ast.parse(path.read_text())
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
            module
            for module in roots
            if module.partition(".")[0] not in sys.stdlib_module_names
            and not module.startswith("tapui.cli.demo.")
        }
        assert others <= {
            "websockets.asyncio.client",
            "websockets.exceptions",
            "websockets.typing",
        }, path


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
    screen.wait_for("Release notes")
    screen.wait_for("pytest --collect-only")
    screen.wait_for("pnpm test")
    screen.keys("3", "z")  # two streams are in sight before that: the first to have an entry
    screen.wait_for("builds@ci-watch")
    screen.keys("z")
    screen.keys("1", "/", "Round", "Enter", "7")
    screen.wait_for("prices.py  1 note")
    until(lambda: [*home.tapui.glob("run/*/gateway.json")], what="the demo is announced")
    (port,) = (path.name for path in (home.tapui / "run").iterdir())
    status = home.run("status", "--port", port)
    assert (status.returncode, status.stderr) == (0, "")
    assert "Release notes (demo)" in status.stdout
    (demo,) = psutil.Process(screen.pid).children()
    (host,) = below(demo.pid, lambda argv: "tapui.cli.demo.host" in argv)
    until(lambda: len(host.children()) == 3, what="three providers")
    processes = [demo, *demo.children(recursive=True)]
    if ended_by == "q":
        screen.keys("q")
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
