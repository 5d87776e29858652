"""Whose emitters are they, with real processes: sessions that end, are replaced, or share them."""

from pathlib import Path

import psutil

from tests.gateway.emitting import Watcher, helper_of, repository, until_dead
from tests.rig.gateway import Gateway

SAYS = "echo pid $$; while :; do echo on; sleep 0.2; done"


async def test_they_go_on_over_clear_and_to_the_next_session_and_end_with_the_last(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"name": "one", "command": SAYS})
    link = tmp_path / "link"
    link.symlink_to(repo)
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.host.open("s2", cwd=str(link))
        await seen.allow("one")
        pid = await seen.line("pid", "one@tap")

        def owner() -> str:
            return str(seen.emitters["one"]["sessionId"])

        await seen.host.open("s3", cwd=repo, replaces="s1")
        await seen.until(lambda: owner() == "s3", "the session that took the place has it")
        await seen.close("s3")
        await seen.until(lambda: owner() == "s2", "the next session has it")
        heard = len(seen.lines["one@tap"])
        await seen.until(lambda: len(seen.lines["one@tap"]) > heard, "it is heard there")
        assert (seen.emitters["one"]["state"], seen.emitters["one"]["runs"]) == ("running", 1)
        await seen.close("s2")
        await until_dead(pid)
        assert seen.waiting == {}


async def begun(seen: Watcher, gateway: Gateway, repo: str) -> tuple[str, psutil.Process]:
    """Have the emitter `one` of a folder run; return its command's id and the runner's helper."""
    await seen.host.open("s1", cwd=repo)
    await seen.allow("one")
    pid = await seen.line("pid", "one@tap")
    helper = helper_of(gateway)
    assert helper is not None
    return pid, helper


async def test_a_killed_helper_is_replaced_and_its_commands_run_again(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"name": "one", "command": f"setsid sleep 1003 & {SAYS}"})
    async with Watcher(gateway) as seen:
        first, helper = await begun(seen, gateway, repo)
        helper.kill()
        await until_dead(first)
        second = await seen.next_line("pid", "one@tap", first)
        one = await seen.state("one", "running")
        assert (second != first, one["runs"]) == (True, 2)
        assert any("lost: the runner ended (SIGKILL)" in said for said in seen.said)
        assert any("the runner ended (SIGKILL)" in notice for notice in seen.notices)


async def test_a_helper_that_hangs_holds_nobody_up_at_the_end(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"name": "one", "command": f"trap '' TERM; {SAYS}"})
    async with Watcher(gateway) as seen:
        pid, helper = await begun(seen, gateway, repo)
        helper.suspend()
        assert gateway.stop() == 0
        await until_dead(pid, str(helper.pid))
