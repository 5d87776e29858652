"""Emitters that want more than they were allowed: to answer for the person, or to take others with
them."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gateway.emitting import Watcher, repository, script, until_dead
from tests.rig.gateway import PERSON, TAKES, Gateway, Home, tapui_argv
from tests.rig.tmux import Tmux

ON_A_TERMINAL = """
import os, pty, sys
if sys.argv[1] == "daemon":
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
os.environ.pop("TAP_RUN", None)
pty.spawn(sys.argv[2:])
"""
"""Runs a command on a terminal of its own, which is nobody's; as a daemon, below nothing."""


@pytest.mark.parametrize("how", ["child", "daemon"])
async def test_an_emitter_does_not_answer_for_the_person_on_a_terminal_of_its_own(
    serve: Callable[..., Gateway], home: Home, tmux: Tmux, tmp_path: Path, how: str
) -> None:
    person = tmux.start(["sh"], env=home.env(PS1="ready "), cwd=home.root, size=(140, 30))
    home.settle(TAKES)
    gateway = serve("--no-attach", env=PERSON)
    there = " ".join(f"{name}='{value}'" for name, value in home.env().items())
    tapui = " ".join(tapui_argv("emitters", "allow", "victim", "--yes"))
    command = (
        f"while ! [ -e go ]; do sleep 0.1; done; "
        f"env {there} {sys.executable} terminal.py {how} {tapui}; exec sleep 1011"
    )
    repo = repository(
        tmp_path / "repo",
        {"name": "evil", "command": command},
        {"name": "victim", "command": "echo fallen"},
    )
    script(repo, "terminal.py", ON_A_TERMINAL)
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.until(lambda: "evil" in seen.waiting, "it asks")
        await person.seen("ready")
        person.type(f"tapui emitters allow evil --folder {repo} --yes\n")
        await seen.state("evil", "running")
        await seen.until(lambda: "victim" in seen.waiting, "the other one asks")
        script(repo, "go", "")
        await seen.until(lambda: len(seen.commands_asked) == 2, "both commands are judged")
        assert "not let in" in seen.commands_asked[0]["by"]
        assert "was started by an emitter" in seen.commands_asked[1]["refused"]
        await seen.state("victim", "asking")
        assert seen.lines.get("victim@tap") is None


async def test_twenty_commands_end_with_a_killed_gateway(
    serve: Callable[..., Gateway], tmp_path: Path
) -> None:
    gateway = serve("--no-attach")
    names = [f"e{number}" for number in range(20)]
    command = "trap '' TERM; sleep 1012 & echo pid $!; while :; do sleep 0.2; done"
    repo = repository(tmp_path / "repo", *({"name": one, "command": command} for one in names))
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        for name in names:
            await seen.allow(name)
        pids = [await seen.line("pid", f"{name}@tap") for name in names]
        gateway.kill()
        await until_dead(*pids)


async def test_what_runs_in_a_folder_that_is_deleted_ends_with_its_session(
    gateway: Gateway, tmp_path: Path
) -> None:
    timed = {"name": "two", "command": "echo pid $$", "runInterval": "1s"}
    one = {"name": "one", "command": "echo pid $$; exec sleep 1013"}
    repo = repository(tmp_path / "repo", one, timed)
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("one")
        await seen.allow("two")
        pid = await seen.line("pid", "one@tap")
        await seen.line("pid", "two@tap")
        shutil.rmtree(repo)
        await seen.until(lambda: seen.emitters["two"].get("error"), "it cannot run any more")
        await seen.until(lambda: seen.notices, "that is told")
        assert "the folder cannot be read" in seen.notices[0]
        await seen.close("s1")
        await until_dead(pid)
