"""Emitters that an agent asks for by its tools, with a real gateway and real commands."""

from pathlib import Path

from tests.gateway.emitting import Watcher, repository, until_dead
from tests.rig.gateway import Gateway
from tests.rig.peers import Json


async def call(seen: Watcher, id_: str, tool: str, **args: object) -> None:
    """Call a tool; its outcome comes later."""
    asked = {"type": "tool.invoke", "id": id_, "sessionId": "s1", "tool": tool, "args": args}
    await seen.host.send(asked)


async def result(seen: Watcher, id_: str) -> Json:
    """Wait for the outcome of a call."""
    return await seen.host.expect("tool.outcome", id=id_)


async def test_an_agents_command_runs_with_the_persons_word_and_ends_with_its_session(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo")
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        wanted = {
            "name": "checks",
            "command": "echo pid $$; echo it fails; exec sleep 1000",
            "notifyPattern": "fails",
        }
        await call(seen, "t1", "tap_start_emitter", **wanted)
        shown = await seen.allow("checks")
        assert (shown["command"], shown["cwd"]) == (wanted["command"], repo)
        assert shown["schedule"] == "runs all the time, without asking again"
        assert (await result(seen, "t1"))["data"]["lifespan"] == "temporary"
        sent = await seen.host.expect("session.send")
        assert "- stream=checks emitter=checks/stdout: it fails" in sent["prompt"]
        pid = await seen.line("pid", "checks@tap")

        await call(seen, "t2", "tap_start_emitter", name="proof", command="touch proof")
        await seen.allow("proof", "deny")
        assert (await result(seen, "t2"))["error"] == "not started: the person denied it"
        await call(seen, "t3", "tap_set_event_filter", name="checks", excludePattern="pid")
        rules = (await result(seen, "t3"))["data"]["eventFilter"]
        assert [(one["match"], one["outcome"]) for one in rules] == [
            ("pid", "drop"),
            ("fails", "inject"),
        ]
        await call(seen, "t4", "tap_stop_emitter", name="checks")
        assert (await result(seen, "t4"))["data"]["status"] == "stopping"
        await until_dead(pid)
        await seen.state("checks", "stopped")

        await call(seen, "t5", "tap_start_emitter", **wanted)
        await seen.allow("checks")
        await result(seen, "t5")
        again = await seen.next_line("pid", "checks@tap", pid)
        await seen.close("s1")
        await until_dead(again)
    assert [one.name for one in (tmp_path / "repo").iterdir()] == ["tap.config.json"]
