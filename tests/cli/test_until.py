"""`tapui run --until`: a host is played whose agent claims, is sent back, and proves it or not."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cli.running import Command, ran, run
from tests.client.fake_gateway import FakeGateway, Peer
from tests.gateway.test_proof import PASSED, Work, folder
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Json, Tower
from tests.rig.starting import StartingHost, start_host
from tests.rig.waiting import until

__all__ = ["folder"]

Stretch = Callable[[Work], Awaitable[object]]
"""What an agent does before it wants to end its turn."""


async def claims(work: Work) -> None:
    await work.tell("assistant.message", content="Mended, all tests pass.")


async def fails(work: Work) -> None:
    await work.edit("cart.py", "new\n")
    await work.run("pytest -q", 1, "1 failed in 0.01s")


async def passes(work: Work) -> None:
    await work.edit("cart.py", "newer\n")
    await work.run("pytest -q", 0, PASSED)


class WorkingHost(StartingHost):
    """Plays an agent that does a stretch of work each time it has to, and then wants to end."""

    stretches: Sequence[Stretch] = ()
    work: Work

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.reasons: list[str] = []
        """Why it was sent back."""

    async def _work(self, id_: str) -> None:
        until(self.work.lines, what="a ledger")
        until(lambda: self.work.facts("folder"), what="the first look")
        for stretch in (*self.stretches, *[claims] * 30):
            await stretch(self.work)
            end: Json = {"id": f"e{len(self.reasons)}", "sessionId": id_}
            await self.send({"type": "turn.ending", **end, "active": bool(self.reasons)})
            told = await self.expect("turn.end", id=end["id"])
            if told["decision"] == "end":
                return
            self.reasons.append(told["reason"])


class Scene:
    """A gateway with such a host, a tower, and a repository."""

    def __init__(self, home: Home, folder: Path, host: WorkingHost, tower: Tower) -> None:
        self.home, self.folder, self.host, self.tower = home, folder, host, tower

    def words(self, *args: str) -> tuple[str, ...]:
        """Return the command line of the run."""
        given = ("--resume", "s1", "--cwd", str(self.folder), "--until", "pytest -q")
        return "run", "mend it", *given, *args

    async def run(self, *stretches: Stretch, args: Sequence[str] = ()) -> tuple[int, str, str]:
        """Run it to its end; return the exit code, stdout, and the last line of stderr."""
        self.host.stretches = stretches
        code, out, err = await run(self.home, *self.words(*args))
        return code, out, err.splitlines()[-1]


@asynccontextmanager
async def at_work(gateway: Gateway, folder: Path) -> AsyncIterator[Scene]:
    url, token = gateway.url, gateway.internal_token
    host, living = await start_host(url, token, WorkingHost)
    host.more = {"shellTools": ["bash"], "reservedTools": ["bash"]}
    async with await Tower.hello(url, token) as tower:
        host.work = Work(gateway.home, folder, host, tower)  # type: ignore[arg-type]
        try:
            yield Scene(gateway.home, folder, host, tower)
        finally:
            living.cancel()
            await host.close()


@pytest.fixture
def gateway(serve: Callable[..., Gateway]) -> Gateway:
    return serve("--no-attach")


async def test_a_claim_is_sent_back_until_it_is_so(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as scene:
        code, out, last = await scene.run(claims, fails, passes)
        assert (code, last) == (0, "✓ proven: pytest -q")
        assert out == "Mended, all tests pass.\n"
        first, second = scene.host.reasons
        assert "never run" in first
        assert "exit 1" in second


async def test_what_is_never_proven_ends_with_what_is_missing(
    gateway: Gateway, folder: Path
) -> None:
    async with at_work(gateway, folder) as scene:
        scene.host.asked = [{"kind": "shell", "fullCommandText": "pytest -q"}]
        more = ("--until", "ruff check", "--tries", "2", "--json")
        code, out, last = await scene.run(fails, fails, args=more)
        said = "pytest -q: exit 1; ruff check: never run"
        assert (code, last) == (6, f"○ not proven: {said}")
        assert len(scene.host.reasons) == 2
        told = [json.loads(line) for line in out.splitlines()]
        assert told[-1] == {
            "kind": "run.finished",
            "sessionId": "s1",
            "exitCode": 6,
            "denied": [{"what": "run pytest -q", "why": told[-1]["denied"][0]["why"]}],
            "error": None,
            "goalId": told[-1]["goalId"],
            "proven": False,
            "missing": [
                {"what": "pytest -q", "why": "exit 1"},
                {"what": "ruff check", "why": "never run"},
            ],
        }
        counts = [(one["number"], one["most"]) for one in told if one["kind"] == "goal.sentBack"]
        assert counts == [(1, 2), (2, 2)]


async def test_each_time_it_is_sent_back_is_told(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as scene:
        scene.host.stretches = [claims, passes]
        _, _, err = await run(scene.home, *scene.words())
        assert "· sent back 1 of 3" in err.splitlines()


async def test_proven_counts_although_something_was_denied(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as scene:
        scene.host.asked = [{"kind": "url", "url": "https://example.org"}]
        code, _, last = await scene.run(passes)
        assert (code, last) == (0, "✓ proven: pytest -q")


async def test_what_changed_after_the_agent_had_it_verified_counts(
    gateway: Gateway, folder: Path
) -> None:
    """The goal is achieved then, and stays so; the command goes by what is there at the end."""

    async def verified(work: Work) -> None:
        await passes(work)
        event = await scene.tower.event("goal.opened")
        args = {"goalId": event["goal"]["id"]}
        call = {"type": "tool.invoke", "id": "i1", "sessionId": "s1", "args": args}
        await work.host.send({**call, "tool": "tap_verify_goal_output"})
        outcome = await work.host.expect("tool.outcome", id="i1")
        assert outcome["data"]["verdict"] == "verified"
        await work.edit("cart.py", "broken\n")

    async with at_work(gateway, folder) as scene:
        code, _, last = await scene.run(verified)
        assert code == 6
        assert last == "○ not proven: pytest -q: stale: cart.py changed since"


async def test_a_session_that_dies_has_failed_and_says_what_was_missing(
    gateway: Gateway, folder: Path
) -> None:
    async def dies(work: Work) -> None:
        await work.host.send({"type": "session.close", "sessionId": "s1", "reason": "it crashed"})

    async with at_work(gateway, folder) as scene:
        scene.host.stretches = [claims, fails, dies]
        code, _, err = await run(scene.home, *scene.words())
        fault, last = err.splitlines()[-2:]
        assert (code, fault) == (1, "tapui: the session ended: it crashed")
        assert last == "○ not proven: pytest -q: exit 1"


async def test_the_person_may_call_it_achieved(gateway: Gateway, folder: Path) -> None:
    async def is_achieved(work: Work) -> None:
        goal = (await scene.tower.event("goal.opened"))["goal"]["id"]
        say = {"type": "goal.change", "id": "c", "goalId": goal, "status": "achieved"}
        await scene.tower.send(say)
        await scene.tower.expect("goal.answer", id="c")

    async with at_work(gateway, folder) as scene:
        code, _, last = await scene.run(is_achieved)
        assert (code, last) == (0, "✓ proven: pytest -q")


async def test_an_interrupt_stops_the_turn_and_its_goal_has_failed(
    gateway: Gateway, folder: Path
) -> None:
    async def waits(work: Work) -> None:
        await work.tell("assistant.message", content="at work")
        await work.host.expect("session.stop")

    async with at_work(gateway, folder) as scene:
        scene.host.stretches = [waits]
        command = await Command.start(scene.home, *scene.words())
        assert await command.line() == "at work\n"
        command.interrupt()
        code, _, _ = await command.end()
        assert code == 130
        closed = await scene.tower.event("goal.closed")
        assert closed["goal"]["status"] == "failed"


async def test_where_the_settings_forbid_it_nothing_is_started(
    home: Home, serve: Callable[..., Gateway], folder: Path
) -> None:
    home.settle("proof.send-back = false\n")
    async with at_work(serve("--no-attach"), folder) as scene:
        code, out, last = await scene.run(passes)
        assert (code, out) == (1, "")
        assert "the settings forbid that agents are sent back (proof.send-back)" in last
        assert scene.host.starts == []


async def test_a_gateway_that_opened_no_goal_proves_nothing(home: Home) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet()
        start = await peer.receive()
        await peer.send("session.started", id=start["id"], sessionId="s1")
        await peer.receive()

    async with FakeGateway(home.root, talk) as older:
        args = ("--until", "pytest", "--port", str(older.port))
        code, _, err = await run(home, "run", "x", *args)
        assert (code, "this gateway is tapui 9.9.9, which knows no --until" in err) == (1, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--until", "pytest | tail"), "--until pytest | tail: name one command"),
        (("--until", " "), "--until : name one command"),
        (("--until", "echo 'a"), "it cannot be parsed"),
        (("--until", "x" * 2_001), "at most 2,000 characters"),
        (("--until", "x", "--tries", "21"), "--tries: at most 20"),
        (("--until", "x", "--tries", "0"), "expected a number from 1"),
        (("--tries", "2"), "Name a command with --until"),
        (("--until", "x") * 51, "at most 50 commands"),
    ],
)
def test_what_no_run_can_prove_starts_nothing(home: Home, given: Sequence[str], said: str) -> None:
    done = ran(home, "run", "x", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
