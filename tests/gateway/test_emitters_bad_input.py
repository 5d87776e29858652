"""Emitters that misbehave: what they do costs themselves, and nobody else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import ran
from tests.gateway.emitting import Watcher, repository, until_dead
from tests.rig.gateway import ANYBODY, Gateway, Home
from tests.rig.peers import Provider

DROP = [{"match": "^pid", "outcome": "keep"}, {"match": ".", "outcome": "drop"}]
WILD = {
    "flood": "echo pid $$; exec yes 'a line of a flood that nobody wants to read'",
    "loud": "echo pid $$; while :; do echo everything is kept; done",
    "deaf": "trap '' TERM INT HUP; echo pid $$; while :; do sleep 0.1; done",
    "forks": "echo pid $$; (setsid sleep 1004 & echo far $!); sleep 1005 | sleep 1006",
    "binary": "echo pid $$; exec cat /dev/urandom",
    "long": "echo pid $$; while :; do head -c 5000000 /dev/zero | tr '\\0' x; echo; done",
    "reads": "echo pid $$; cat; echo end of input; exec sleep 1007",
    "fails": "echo pid $$; exit 3",
    "codes": "echo pid $$; printf '\\033[31mred\\033]0;owned\\007\\r\\n'; exec sleep 1008",
}


async def test_wild_commands_cost_nobody_else_anything(gateway: Gateway, tmp_path: Path) -> None:
    wild = [
        {
            "name": name,
            "command": command,
            "eventFilter": DROP if name in ("flood", "binary") else [],
        }
        for name, command in WILD.items()
    ]
    wild.append({"name": "lost", "command": "echo never", "cwd": "nowhere"})
    wild.append({"name": "good", "command": "echo one; echo two; exec sleep 1009"})
    repo = repository(tmp_path / "repo", *wild)
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        for one in wild:
            await seen.allow(str(one["name"]))
        pids = [await seen.line("pid", f"{name}@tap") for name in WILD]
        pids.append(await seen.line("far", "forks@tap"))
        await seen.until(lambda: seen.lines.get("good@tap") == ["one", "two"], "the good one")
        await seen.until(lambda: "end of input" in seen.lines["reads@tap"], "no input")
        await seen.until(lambda: any("red" in one for one in seen.lines["codes@tap"]), "codes")
        long = await seen.until(
            lambda: seen.emitters["long"].get("counts", {}).get("truncated"), "long lines"
        )
        assert long > 0
        assert max(len(line) for line in seen.lines["long@tap"]) <= 64 * 1024
        lost = await seen.state("lost", "error")
        assert "nowhere" in lost["error"]
        fails = await seen.state("fails", "exited")
        assert fails["exitCode"] == 3
        async with await Provider.bind(gateway.url, gateway.token, session="s1") as provider:
            await seen.host.invoke("s1", "greet", {"name": "Ann"})
            await provider.answer(data="hello")
            await seen.host.expect("tool.outcome")
        await seen.close("s1")
        await until_dead(*pids)


async def test_a_filter_that_takes_too_long_matches_nothing(
    gateway: Gateway, tmp_path: Path
) -> None:
    slow = {"match": r"^(a|aa|a?a)+$", "outcome": "drop"}
    command = f"for i in 1 2 3; do echo {'a' * 60}!; done; exec sleep 1000"
    repo = repository(tmp_path / "repo", {"name": "one", "command": command, "eventFilter": [slow]})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("one")
        await seen.until(lambda: seen.lines.get("one@tap") == [f"{'a' * 60}!"] * 3, "three lines")
        await seen.until(
            lambda: seen.emitters["one"].get("counts", {}).get("undecided") == 3, "all are counted"
        )


async def test_a_file_of_ten_megabytes_is_told_and_costs_nobody_anything(
    gateway: Gateway, tmp_path: Path
) -> None:
    huge = repository(tmp_path / "huge", {"name": "one", "command": "x" * 10_000_000})
    small = repository(tmp_path / "small", {"name": "two", "command": "echo hi"})
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=huge)
        await seen.host.open("s2", cwd=small)
        await seen.allow("two")
        await seen.state("two", "exited")
        assert [one for one in seen.notices if "it is larger than 1,048,576 bytes" in one]


async def test_a_hundred_of_a_folder_are_run_and_more_are_told(
    serve: Callable[..., Gateway], home: Home, tmp_path: Path
) -> None:
    many = [
        {"name": f"e{number}", "command": "exit 0", "runInterval": "1h", "stream": "s"}
        for number in range(105)
    ]
    repo = repository(tmp_path / "repo", *many)
    home.settle(ANYBODY)
    allowed = ran(home, "emitters", "allow", "--folder", repo, "--yes")
    assert len(allowed.stdout.splitlines()) == 100, allowed.stderr
    async with Watcher(serve("--no-attach")) as seen:
        await seen.host.open("s1", cwd=repo)

        def are_waiting() -> bool:
            states = [one["state"] for one in seen.emitters.values()]
            return len(states) == 100 and set(states) == {"waiting"}

        await seen.until(are_waiting, "each ran once")
        assert {one["lastStatus"] for one in seen.emitters.values()} == {"success"}
        assert [one for one in seen.notices if "at most 100 entries" in one]


@pytest.mark.parametrize("damage", ["torn", "of others"])
async def test_consents_that_cannot_be_read_allow_nothing_and_that_is_told(
    serve: Callable[..., Gateway], home: Home, tmp_path: Path, damage: str
) -> None:
    repo = repository(tmp_path / "repo", {"name": "one", "command": "echo hi"})
    home.settle(ANYBODY)
    ran(home, "emitters", "allow", "--folder", repo, "--yes")
    (kept,) = home.root.rglob("consents.json")
    if damage == "torn":
        kept.write_bytes(kept.read_bytes()[:-4])
    else:
        said = json.loads(kept.read_text())
        kept.write_text(json.dumps({**said, "version": 99}))
    async with Watcher(serve("--no-attach")) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("one")
        await seen.state("one", "exited")
        what = "nothing that it allowed is allowed any more"
        await seen.until(lambda: [one for one in seen.notices if what in one], "it is told")
