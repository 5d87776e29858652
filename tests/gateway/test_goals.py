"""Goals in a running gateway: real files, real ledgers, and what a restart leaves of them."""

import json
import re
from pathlib import Path
from typing import Any

import tapui.hosts.copilot
from tests.gateway.test_proof import PASSED, Work, at_work, folder
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Json
from tests.rig.waiting import until

__all__ = ["folder"]

CRITERIA: list[Json] = [
    {"check": {"kind": "ran", "command": "pytest -q"}},
    {"check": {"kind": "file", "path": "cart.py", "matches": "new", "notContains": ["old"]}},
]


async def say(work: Work, kind: str, **fields: Any) -> Json:
    await work.tower.send({"type": kind, "id": kind, **fields})
    return await work.tower.expect("goal.answer", id=kind)


async def opened(work: Work) -> str:
    answer = await say(
        work, "goal.open", sessionId="s1", title="shop", criteria=CRITERIA, unproven="send back"
    )
    return str(answer["goal"]["id"])


async def end_turn(work: Work, id_: str) -> Json:
    await work.host.send({"type": "turn.ending", "id": id_, "sessionId": "s1"})
    return await work.host.expect("turn.end", id=id_)


async def test_a_claim_is_sent_back_until_it_is_so(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as work:
        goal = await opened(work)
        await work.edit("cart.py", "new\n")
        answer = await end_turn(work, "e1")
        assert (answer["decision"], "never run" in answer["reason"]) == ("again", True)
        await work.run("pytest -q", 1, "1 failed in 0.01s")
        answer = await end_turn(work, "e2")
        assert (answer["decision"], "exit 1" in answer["reason"]) == ("again", True)
        await work.run("pytest -q", 0, PASSED)
        assert (await end_turn(work, "e3"))["decision"] == "end"
        listed = await say(work, "goal.verify", goalId=goal)
        assert (listed["goal"]["status"], listed["goal"]["closedBy"]) == ("achieved", "fold")


async def test_what_its_check_does_was_changed(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as work:
        goal = await opened(work)
        until(lambda: work.facts("surface"), what="what the check does")
        await work.edit("cart.py", "new\n")
        await work.edit("conftest.py", "collect_ignore = ['tests']\n")
        await work.run("pytest -q", 0, PASSED)
        answer = await say(work, "goal.verify", goalId=goal)
        ran, _ = answer["goal"]["criteria"]
        assert ran["verdict"]["reason"] == "what its check does was changed: conftest.py"
        assert ran["changed"][0]["diff"].endswith("+collect_ignore = ['tests']")
        answer = await say(
            work, "goal.allow", goalId=goal, criterionId="c1", surface=ran["surface"]
        )
        assert answer["goal"]["status"] == "achieved"


async def test_goals_are_there_again_after_a_restart(home: Home, folder: Path) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            goal = await opened(work)
            await work.edit("cart.py", "new\n")
            await work.run("pytest -q", 0, PASSED)
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            told = await work.tower.event("goal.updated")
            assert (told["goal"]["id"], told["what"]) == (goal, "restored")
            answer = await say(work, "goal.verify", goalId=goal)
            assert (answer["goal"]["title"], answer["goal"]["openedBy"]) == ("shop", "person")
            assert answer["goal"]["status"] == "achieved"


async def call(work: Work, tool: str, args: str) -> Json:
    """Call a tool as the agent; return its data."""
    await work.host.invoke("s1", tool, json.loads(args), id_=tool)
    outcome = await work.host.expect("tool.outcome", id=tool)
    assert "data" in outcome, outcome
    found: Json = outcome["data"]
    return found


async def test_the_calls_that_the_skill_shows(gateway: Gateway, folder: Path) -> None:
    skill = Path(tapui.hosts.copilot.__file__).parent / "skills" / "tap-goal" / "SKILL.md"
    shown = re.findall(r"^```json\n(.*?)^```$", skill.read_text(), re.DOTALL | re.MULTILINE)
    create, verify, audit = shown
    async with at_work(gateway, folder) as work:
        goal = (await call(work, "tap_create_goal", create))["goalId"]
        verify, audit = (one.replace("GOAL", goal) for one in (verify, audit))
        await work.edit("cart.py", "new\n")
        await work.edit("CHANGES.md", "Prices are rounded.\n")
        found = await call(work, "tap_verify_goal_output", verify)
        assert (found["verdict"], found["checks"][0]["reason"]) == ("unverifiable", "never run")
        assert (await call(work, "tap_audit_claims", audit))["verdict"] == "unsupported"
        await work.run("pytest -q", 0, PASSED)
        assert (await call(work, "tap_verify_goal_output", verify))["verdict"] == "verified"
        assert (await call(work, "tap_audit_claims", audit))["verdict"] == "supported"
