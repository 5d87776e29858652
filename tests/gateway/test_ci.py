"""The provider `ci` in sessions of a real gateway: added by a command, killed, and its skill."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tapui.hosts.copilot
from tests.cli.running import ran
from tests.gateway.emitting import Watcher
from tests.gateway.test_proof import at_work
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Json
from tests.shipped.github_server import GitHubServer
from tests.shipped.test_ci import checkout, commit

STREAM = "ci-watch@ci-watcher"
FAST = """
import os, sys
from tapui.shipped.ci.github_actions import GitHubActions
from tapui.shipped.ci.watcher import CiWatcher

environ = dict(os.environ)
CiWatcher(
    lambda folder, tell: GitHubActions.of_folder(folder, environ, tell),
    look_seconds=0.05,
    wait_seconds=0.05,
).provider.run([])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "repo"
    made.mkdir()
    checkout(made)
    return made


@contextmanager
def provider_of(gateway: Gateway, hub: GitHubServer) -> "Iterator[subprocess.Popen[bytes]]":
    """Run the provider as a process, which looks all the time."""
    environ = gateway.home.env(
        **hub.environ, TAP_GATEWAY=gateway.url, TAP_PROVIDER_TOKEN=gateway.token, TAP_SESSION="s1"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", FAST],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield program
    finally:
        program.kill()
        program.wait()


class Told(Watcher):
    """Sees which runs the lines of the stream are about."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway)
        self.runs: list[int] = []

    def _take_line(self, event: Json) -> None:
        if event["stream"] == STREAM and "runId" in event["line"].get("metadata", {}):
            self.runs.append(event["line"]["metadata"]["runId"])
        super()._take_line(event)


async def test_it_is_added_and_asks_where_the_person_says(home: Home, folder: Path) -> None:
    with GitHubServer().serving() as hub, Gateway(home, "--no-attach", env=hub.environ) as gateway:
        hub.run("success")
        added = ran(home, "provider", "add", "ci", "--yes", "--folder", str(folder))
        assert added.returncode == 0, added.stderr
        file = folder / "tap.config.json"
        written = json.loads(file.read_text())
        args = ["-P", "-m", "tapui.shipped", "ci"]
        assert written == {"providers": [{"name": "ci", "command": sys.executable, "args": args}]}
        # A file of the folder names another place, and is allowed by mistake.
        written["providers"][0]["env"] = {
            "GITHUB_API_URL": "https://evil.example",
            "GITHUB_TOKEN": "taken",
        }
        file.write_text(json.dumps(written))
        allowed = ran(home, "emitters", "allow", "ci", "--yes", "--folder", str(folder))
        assert allowed.returncode == 0, allowed.stderr
        async with Told(gateway) as seen:
            await seen.host.open("s1", cwd=str(folder))
            await seen.host.offered("s1", "list_ci_runs")
            await seen.host.invoke("s1", "list_ci_runs", {}, id_="a")
            found = await seen.host.expect("tool.outcome", id="a")
            assert (found["data"]["repository"], found["data"]["state"]) == ("acme/shop", "passing")

            def told() -> Json | None:
                state = json.loads(ran(home, "status", "--json").stdout)["state"]
                named = [one for one in state["providers"] if one["name"] == "ci-watcher"]
                return next((one for one in named if one.get("context")), None)

            one = await seen.until(told, "its context")
            assert one["context"] == "CI is currently passing. No active deploys."
            await seen.close("s1")


async def test_no_failure_is_lost_or_told_twice_over_kills(gateway: Gateway, folder: Path) -> None:
    kept = gateway.home.copilot / "providers/ci-watcher/s1.json"
    with GitHubServer().serving() as hub:
        async with Told(gateway) as seen:
            await seen.host.open("s1", cwd=str(folder))
            hub.run("success")

            def asked(path: str) -> bool:
                return any(one.path.endswith(path) for one in hub.web.asked)

            with provider_of(gateway, hub):
                await seen.until(kept.exists, "the first look")
            failed: list[int] = []
            for number in range(9):
                with provider_of(gateway, hub):
                    failed.append(hub.run("failure"))
                    last = failed[-1]
                    if number % 3 == 0:  # it is killed while it reads what failed
                        await seen.until(lambda last=last: asked(f"/{last}/jobs"), "it asks")  # type: ignore[misc]
                    elif number % 3 == 1:  # once the line has come
                        await seen.until(lambda last=last: last in seen.runs, "it is told")  # type: ignore[misc]
            with provider_of(gateway, hub):
                await seen.until(lambda: set(failed) <= set(seen.runs), "all are told")
                polls = len(hub.web.asked)
                await seen.until(lambda: len(hub.web.asked) > polls + 10, "it looks again")
            seen.look()
            assert Counter(seen.runs) == dict.fromkeys(failed, 1)
            await seen.close("s1")


async def test_the_calls_that_the_skill_shows(gateway: Gateway, folder: Path) -> None:
    skill = Path(tapui.hosts.copilot.__file__).parent / "skills" / "ci-fix" / "SKILL.md"
    shown = re.findall(r"^ *```json\n(.*?)^ *```$", skill.read_text(), re.DOTALL | re.MULTILINE)
    create, failures, wait, record, verify = shown

    with GitHubServer().serving() as hub:
        run = hub.run("failure", commit=commit(folder))
        async with at_work(gateway, folder) as work:

            async def call(tool: str, args: str, goal: str = "") -> Json:
                given = json.loads(args.replace("RUN", str(run)).replace("GOAL", goal))
                await work.host.invoke("s1", tool, given, id_=tool)
                outcome: Json = await work.host.expect("tool.outcome", id=tool)
                return outcome

            with provider_of(gateway, hub):
                await work.host.offered("s1", "wait_ci")
                goal = (await call("tap_create_goal", create))["data"]["goalId"]
                found = (await call("get_ci_failures", failures))["data"]
                assert found["step"] == "Run tests"
                red = await call("wait_ci", wait)
                assert red["errorCode"] == "CI_FAILED"
                told = (await call("tap_verify_goal_output", verify, goal))["data"]
                assert told["verdict"] == "failed", told
                assert "data" in await call("tap_record_review", record)
                hub.run("success", commit=commit(folder))
                assert (await call("wait_ci", wait))["data"]["green"] is True
                told = (await call("tap_verify_goal_output", verify, goal))["data"]
                assert told["verdict"] == "verified", told
