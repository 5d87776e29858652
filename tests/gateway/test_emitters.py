"""Emitters of a folder's file, with a real gateway and real commands."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import ran
from tests.gateway.emitting import Watcher, configuration, cut, repository, script, until_dead
from tests.rig.gateway import Gateway, Home

RULES = [
    {"match": "starting", "outcome": "drop"},
    {"match": "warn|fail", "outcome": "inject"},
    {"match": ".*", "outcome": "keep"},
]
PULSE = "echo pid $$; echo starting; echo up; echo it fails; exec sleep 1000\n"
FAMILY = (
    "trap '' TERM; sleep 1001 & echo child $!; (setsid sleep 1002 & echo far $!);"
    " echo pid $$; while :; do sleep 0.1; done\n"
)


async def test_what_is_allowed_runs_and_its_inject_is_a_prompt(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = repository(
        tmp_path / "repo", {"name": "pulse", "command": "sh pulse.sh", "eventFilter": RULES}
    )
    script(repo, "pulse.sh", PULSE)
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        shown = await seen.allow("pulse")
        assert (shown["command"], shown["cwd"], shown["changed"]) == ("sh pulse.sh", repo, "")
        assert (shown["files"], shown["file"]) == (["pulse.sh"], f"{repo}/tap.config.json")
        assert shown["schedule"] == "runs all the time, without asking again"
        sent = await seen.host.expect("session.send")
        assert "- stream=pulse emitter=pulse/stdout: it fails" in sent["prompt"]
        pid = await seen.line("pid", "pulse@tap")
        expected = [f"pid {pid}", "up", "inject: it fails"]
        await seen.until(lambda: seen.lines["pulse@tap"] == expected, "its lines")
        await seen.state("pulse", "running")
        await seen.close("s1")
        await until_dead(pid)
        await seen.until(lambda: seen.gone == ["pulse"], "it is gone")


async def test_a_change_of_the_file_or_of_what_it_names_asks_again(
    gateway: Gateway, tmp_path: Path
) -> None:
    entry = {"name": "pulse", "command": "sh pulse.sh"}
    repo = repository(tmp_path / "repo", entry)
    script(repo, "pulse.sh", PULSE)
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("pulse")
        first = await seen.line("pid", "pulse@tap")
        script(repo, "pulse.sh", f"{PULSE}# another\n")
        shown = await seen.allow("pulse")
        assert shown["changed"] == "files that it names: pulse.sh"
        await until_dead(first)
        second = await seen.next_line("pid", "pulse@tap", first)
        repository(tmp_path / "repo", {**entry, "runInterval": "1h"})
        shown = await seen.allow("pulse", "deny")
        assert shown["changed"] == "runs every 1h (it was all the time)"
        await until_dead(second)
        await seen.state("pulse", "configured")


async def test_what_is_wrong_in_the_file_is_told_once_with_its_place(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"name": "bad"}, {"name": "good", "command": "echo hi"})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("good")
        await seen.state("good", "exited")
        what = "an emitter must define either a command or a prompt"
        told = f"{repo}/tap.config.json:1:30: emitters[0]: {what}"
        assert seen.notices == [told]
        await seen.host.open("s2", cwd=repo)
        cut(repo)
        await seen.until(lambda: len(seen.notices) == 2, "the new fault")
        assert "(what was read of it before holds)" in seen.notices[1]
        await seen.state("good", "exited")


@pytest.mark.parametrize("end", ["in order", "killed"])
async def test_nothing_of_a_command_survives_the_gateway(
    serve: Callable[..., Gateway], tmp_path: Path, end: str
) -> None:
    gateway = serve("--no-attach")
    repo = repository(tmp_path / "repo", {"name": "family", "command": FAMILY})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("family")
        pids = [await seen.line(word, "family@tap") for word in ("child", "far", "pid")]
        if end == "killed":
            gateway.kill()
        else:
            assert gateway.stop() == 0
        await until_dead(*pids)


async def test_a_filter_that_is_kept_is_in_the_file_and_nothing_is_asked_again(
    gateway: Gateway, tmp_path: Path
) -> None:
    told = "echo pid $$; while [ ! -e go ]; do sleep 0.1; done; echo it fails; exec sleep 1000"
    repo = repository(tmp_path / "repo", {"name": "pulse", "command": told})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("pulse")
        pid = await seen.line("pid", "pulse@tap")
        rules = [{"match": "fails", "outcome": "surface"}]
        await seen.order("filter", "pulse", rules=rules)
        await seen.order("keep", "pulse", id="k")
        kept = await seen.tower.expect("emitter.kept")
        assert kept == {"type": "emitter.kept", "id": "k", "path": f"{repo}/tap.config.json"}
        assert configuration(repo)["emitters"][0]["eventFilter"] == rules
        script(repo, "go", "")
        await seen.until(lambda: seen.lines["pulse@tap"][1:] == ["surface: it fails"], "a line")
        await seen.order("run", "pulse")
        await seen.tower.expect("error")  # it runs: as the same process
        await seen.order("stop", "pulse")
        await seen.state("pulse", "stopped")
        await until_dead(pid)
        await seen.order("start", "pulse")
        assert await seen.next_line("pid", "pulse@tap", pid) != pid
        assert seen.waiting == {}


async def test_what_is_revoked_stops_and_asks(gateway: Gateway, home: Home, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"name": "pulse", "command": PULSE})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("pulse")
        pid = await seen.line("pid", "pulse@tap")
        revoked = await asyncio.to_thread(ran, home, "emitters", "revoke", "--folder", repo)
        said = f"1 that were allowed in {repo} are not any more\n"
        assert (revoked.returncode, revoked.stdout) == (0, said)
        shown = await seen.allow("pulse", "deny")
        assert shown["changed"] == ""
        await until_dead(pid)
        await seen.state("pulse", "configured")


async def test_rules_are_tried_on_what_came_and_nothing_changes(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"name": "pulse", "command": PULSE})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("pulse")
        await seen.line("it", "pulse@tap")
        await seen.order("try", "pulse", id="t", rules=RULES)
        tried = await seen.tower.expect("emitter.tried")
        found = [(one["outcome"], one.get("rule")) for one in tried["lines"]]
        assert found == [("keep", 2), ("drop", 0), ("keep", 2), ("inject", 1)]
        assert seen.emitters["pulse"].get("rules", []) == []
