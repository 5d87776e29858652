"""Real processes that want to answer: without a terminal, below a session, and the person's."""

import asyncio
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.rig import played_agent
from tests.rig.gateway import PERSON, TAKES, Gateway, Home, tapui_argv
from tests.rig.peers import Host, Tower
from tests.rig.played_agent import order
from tests.rig.scene import python
from tests.rig.tmux import Screen, Tmux
from tests.rig.waiting import until_async

pytestmark = pytest.mark.pty


async def without_terminal(home: Home, approval: str) -> str:
    """Run `tapui deny` in a session of its own, thus without a terminal; return its error."""
    done = await asyncio.to_thread(
        subprocess.run,
        tapui_argv("deny", approval),
        env=home.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def shell(tmux: Tmux, home: Home) -> Screen:
    screen = tmux.start(["sh"], env=home.env(PS1="ready "), cwd=home.root, size=(140, 30))
    screen.wait_for("ready")
    return screen


async def test_who_asks_is_found_out_refused_and_recorded(
    serve: Callable[..., Gateway], home: Home, tmux: Tmux
) -> None:
    home.settle(TAKES)
    gateway = serve("--no-attach", env=PERSON)
    person = shell(tmux, home)
    agent = shell(tmux, home)
    async with (
        await Host.hello(gateway.url, gateway.internal_token) as host,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        folder = home.root / "agent"
        folder.mkdir()
        agent.type(f"{python(played_agent, str(folder))}\n")
        await until_async((folder / "pid").exists, what="the agent runs")
        pid = int((folder / "pid").read_text())
        await host.open("s1", pid=pid)
        ask: dict[str, Any] = {"type": "approval.request", "id": "r1", "sessionId": "s1"}
        await host.send({**ask, "kind": "permission", "detail": {"kind": "shell"}})
        approval = (await tower.event("approval.requested"))["approval"]["id"]

        assert "has no terminal; answer in the tower" in await without_terminal(home, approval)
        assert "has no terminal" in (await tower.event("command.asked"))["refused"]
        order(folder, f"tapui deny {approval}; echo left with $?")
        await agent.seen("left with 1")
        await agent.seen("was started by session")
        asked = await tower.event("command.asked")
        assert pid in [one["pid"] for one in asked["asker"]["ancestors"]]
        assert asked["asker"]["terminal"].startswith("/dev/")

        person.type(f"tapui deny {approval}; echo left with $?\n")
        await person.seen("left with 0")
        assert (await host.expect("approval.answer"))["decision"] == "deny"
        taken = await tower.event("command.asked")
        assert taken["asker"]["ancestors"][0] == {"pid": person.pid, "name": "sh"}
        assert "not let in" in taken["by"]


async def test_an_agent_s_shell_opens_drops_and_changes_no_goal(
    serve: Callable[..., Gateway], home: Home, tmux: Tmux
) -> None:
    home.settle(TAKES)
    gateway = serve("--no-attach", env=PERSON)
    person = shell(tmux, home)
    agent = shell(tmux, home)
    async with (
        await Host.hello(gateway.url, gateway.internal_token) as host,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        folder = home.root / "agent"
        folder.mkdir()
        agent.type(f"{python(played_agent, str(folder))}\n")
        await until_async((folder / "pid").exists, what="the agent runs")
        await host.open("s1", pid=int((folder / "pid").read_text()))
        person.type("tapui goal 'npm test' --session s1; echo left with $?\n")
        await person.seen("left with 0")
        assert "not let in" in (await tower.event("command.asked"))["by"]
        goal = (await tower.event("goal.opened"))["goal"]["id"]
        for args, wanted in (
            (f"drop {goal}", "goal.drop"),
            (f"done {goal}", "goal.change"),
            (f"verify {goal}", "goal.verify"),
            (f"note {goal} done", "goal.note"),
            ("'true' --session s1", "goal.open"),
        ):
            order(folder, f"tapui goal {args}; echo {wanted} left with $?")
            await agent.seen(f"{wanted} left with 1")
            asked = await tower.event("command.asked")
            assert (asked["wanted"], "was started by session" in asked["refused"]) == (wanted, True)
        order(folder, f"tapui goal show {goal}; echo shown with $?")
        await agent.seen("shown with 0")
        assert "active" in agent.text()
        person.type(f"tapui goal drop {goal}; echo dropped with $?\n")
        await person.seen("dropped with 0")
        closed = (await tower.event("goal.closed"))["goal"]
        assert closed["status"] == "abandoned"
        assert "not let in" in closed["closedBy"]
