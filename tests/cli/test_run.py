"""`tapui run` through a running gateway, with a host that is played."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tapui.wire.subjects import UNCHECKED
from tests.cli.running import HOSTILE, RAW, ran, run
from tests.cli.sharing import gateway, home, running
from tests.rig.gateway import Gateway, Home
from tests.rig.starting import SAID, StartingHost, start_host

__all__ = ["gateway", "home", "running"]

NPM = {"kind": "shell", "fullCommandText": "npm ci"}


@asynccontextmanager
async def hosting(gateway: Gateway) -> AsyncIterator[StartingHost]:
    host, living = await start_host(gateway.url, gateway.internal_token)
    try:
        yield host
    finally:
        living.cancel()
        await host.close()


async def test_what_the_agent_says_is_printed(gateway: Gateway, home: Home) -> None:
    async with hosting(gateway) as host:
        code, out, err = await run(home, "run", "hello", "you", "--cwd", str(home.root))
        assert (code, out) == (0, f"{SAID}\n")
        assert "run --resume started-1 PROMPT` goes on with it" in err
        (start,) = host.starts
        assert (start["folder"], start["unattended"]) == (str(home.root), True)
        assert start["from"] == UNCHECKED


async def test_what_is_denied_is_listed(gateway: Gateway, home: Home) -> None:
    async with hosting(gateway) as host:
        host.asked = [NPM, {"kind": "url", "url": "https://example.org"}]
        policy = home.root / "p.toml"
        policy.write_text('[[rules]]\nallow = "npm ci"\n')
        code, out, err = await run(home, "run", "x", "--json", "--policy", str(policy))
        assert code == 5, err
        last = json.loads(out.splitlines()[-1])
        assert last["exitCode"] == 5
        assert [one["what"] for one in last["denied"]] == ["fetch https://example.org"]
        kinds = [json.loads(line)["kind"] for line in out.splitlines()]
        assert "approval.decided" in kinds


@pytest.mark.parametrize(
    ("problem", "code"),
    [("untrusted", 4), ("held", 1), ("unknown", 1), ("missing", 3), ("failed", 1)],
)
async def test_what_cannot_be_started_has_its_exit_code(
    gateway: Gateway, home: Home, problem: str, code: int
) -> None:
    async with hosting(gateway) as host:
        host.problem = {"problem": problem, "error": "not so"}
        ended, out, err = await run(home, "run", "x")
        assert (ended, out) == (code, "")
        assert "tapui: not so" in err


async def test_no_text_of_an_agent_reaches_the_terminal_raw(gateway: Gateway, home: Home) -> None:
    async with hosting(gateway) as host:
        host.says = HOSTILE
        _, out, err = await run(home, "run", "x")
        assert not RAW.search(out + err)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rules]]\nalow = 1\n", "p.toml:2: rules.1.alow: unknown key"),
        ("rules = [", "p.toml:1: rules:"),
        ("port = 1\n", "p.toml:1: port: a file of rules has rules, and nothing else"),
        (None, "p.toml:1: rules: No such file"),
    ],
)
def test_a_policy_with_a_fault_is_told_and_nothing_is_run(
    tmp_path: Path, text: str | None, said: str
) -> None:
    policy = tmp_path / "p.toml"
    if text is not None:
        policy.write_text(text)
    done = ran(Home(tmp_path), "run", "x", "--policy", str(policy))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_run_without_a_prompt_or_with_a_port_of_nobody(tmp_path: Path) -> None:
    assert ran(Home(tmp_path), "run", " ").returncode == 2
    assert ran(Home(tmp_path), "run", "x", "--port", "9").returncode == 3


@pytest.mark.parametrize("given", [["--cwd", "."], ["--cwd", "nowhere"], ["--resume", "s1"]])
def test_a_missing_cli_is_named_before_anything_else(tmp_path: Path, given: list[str]) -> None:
    """No folder is trusted here; without the CLI that does not matter."""
    home = Home(tmp_path)
    without = os.pathsep.join(
        one for one in home.env()["PATH"].split(os.pathsep) if not Path(one, "copilot").exists()
    )
    done = ran(home, "run", "x", *given, env=home.env(PATH=without))
    assert (done.returncode, done.stdout) == (3, "")
    assert "npm install -g @github/copilot" in done.stderr
