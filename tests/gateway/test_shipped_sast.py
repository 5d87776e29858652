"""`tapui provider add sast` with a real gateway: a finding wakes the agent, and closes a goal."""

import os
from pathlib import Path

from tests.cli.running import ran
from tests.gateway.emitting import Watcher
from tests.rig.gateway import Gateway
from tests.rig.peers import Json
from tests.shipped.scanned import log, result, shop


async def asked(seen: Watcher, number: int, tool: str, **given: object) -> Json:
    """Call a tool of the session; return its result."""
    await seen.host.invoke("s1", tool, given, id_=f"c{number}")
    outcome: Json = await seen.host.expect("tool.outcome", id=f"c{number}")
    assert "error" not in outcome, outcome
    found: Json = outcome["data"]
    return found


async def test_a_finding_wakes_the_agent_and_its_goal_is_proven_once_it_is_mended(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = shop(tmp_path / "repo")
    file = repo / "a.sarif"
    file.write_bytes(log(result("A"), result("B", line=2)))
    added = ran(gateway.home, "provider", "add", "sast", "--yes", "--folder", str(repo))
    assert added.returncode == 0, added.stderr
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=os.path.realpath(repo))  # noqa: ASYNC240
        await seen.host.offered("s1", "list_findings")
        await seen.line("surface: sast: 2 findings to work on", "findings@sast")
        file.write_bytes(log(result("A"), result("B", line=2), result("C", line=3)))
        await seen.host.send(
            {"type": "session.event", "sessionId": "s1", "event": "session.idle", "data": {}}
        )
        sent = await seen.host.expect("session.send")
        assert "C at app/shop.py:3" in sent["prompt"]
        (worst,) = (await asked(seen, 1, "list_findings", rule="C"))["findings"]
        goal = (await asked(seen, 2, "get_finding", id=worst["id"]))["goal"]
        made = await asked(seen, 3, "tap_create_goal", **goal)
        before = await asked(seen, 4, "tap_verify_goal_output", goalId=made["goalId"])
        assert before["verdict"] != "verified"
        file.write_bytes(log(result("A"), result("B", line=2)))
        await seen.line(f"resolved {worst['id']}", "findings@sast")
        after = await asked(seen, 5, "tap_verify_goal_output", goalId=made["goalId"])
        assert after["verdict"] == "verified"
        kept = gateway.home.copilot / "providers/sast"
        assert [one.name[:5] for one in kept.glob("triage-*/*")] == ["told-"]
