"""`tapui prove` against a running gateway, whose host plays a session with shells."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.cli.running import HOSTILE, RAW, Command, run
from tests.cli.sharing import gateway, home, own_gateway, running
from tests.gateway.emitting import until_dead
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Tower

__all__ = ["gateway", "home", "own_gateway", "running"]

PASSES = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"
FAILS = PASSES.replace("pass\n", "self.fail('it is broken')\n")
CHECK = "python3 -m unittest"

_numbers = count(1)


def repository(folder: Path, tests: str = PASSES) -> Path:
    folder.mkdir()
    (folder / "test_it.py").write_text(tests)
    (folder / "cart.py").write_text("price = 1\n")
    (folder / ".gitignore").write_text("__pycache__/\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(
            ("git", "-c", "user.name=a", "-c", "user.email=a@b", *words),
            cwd=folder,
            check=True,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
        )
    return folder


class Agent:
    """A played session in a folder: its shell ran the check, and then it changed a file."""

    def __init__(self, host: Host, folder: Path, session: str) -> None:
        self.host, self.folder, self.session = host, folder, session
        self.short = session.removesuffix("-long")

    async def tell(self, name: str, **data: object) -> None:
        await self.host.send(
            {"type": "session.event", "sessionId": self.session, "event": name, "data": data}
        )

    async def works(self) -> None:
        """Run the check, change a file, and end the turn."""
        await self.tell("user.message", content="go")
        args = {"command": f"{CHECK} 2>&1 | tail -5"}
        await self.tell("tool.execution_start", tool="bash", toolCallId="t1", args=args)
        told = {"exitCode": 0, "shell": {"id": "1", "cwd": str(self.folder)}}
        result = {"type": "success", "output": "Ran 1 test in 0.001s\n\nOK\n"}
        await self.tell(
            "tool.execution_complete", tool="bash", toolCallId="t1", result=result, **told
        )
        args = {"path": "cart.py"}
        await self.tell("tool.execution_start", tool="edit", toolCallId="t2", args=args)
        (self.folder / "cart.py").write_text("price = 2\n")
        changes = [{"path": str(self.folder / "cart.py"), "added": 1, "removed": 1}]
        await self.tell("tool.execution_complete", tool="edit", toolCallId="t2", changes=changes)
        await self.tell("session.idle")


@asynccontextmanager
async def session(gateway: Gateway, folder: Path, **fields: object) -> AsyncIterator[Agent]:
    """A session with a name of its own: what is recorded of a check is known by that."""
    shells = {"shellTools": ["bash"], "reservedTools": ["bash"]}
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        agent = Agent(host, folder, f"s{next(_numbers)}-long")
        await host.open(agent.session, cwd=str(folder), **shells, **fields)
        yield agent


async def test_the_newest_check_is_shown_then_run_and_its_verdict_printed(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    async with (
        session(gateway, folder) as agent,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        await agent.works()
        await tower.event("session.proof")
        code, out, err = await run(home, "prove", agent.short)
        assert (code, out) == (2, "")
        assert err == (
            f"{CHECK}\nin {folder}\nruns with your rights\ntapui: run it? Say so with --yes\n"
        )
        code, out, err = await run(home, "prove", agent.short, "--yes")
        assert out.splitlines()[-1] == "✓ passed: unittest, 1 test"
        assert "Ran 1 test in" in out
        assert code == 0
        proof = (await tower.event("session.proof"))["proof"]
        assert proof["state"] == "checked"
        assert proof["text"] == "unittest, 1 test, after the last change, run by you"
        code, out, err = await run(home, "prove")  # over the same files it goes at once
        assert (code, out) == (1, "")
        assert err == "tapui: no session works in this folder: name one\n"
        code, out, err = await run(home, "prove", agent.short)
        assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("command", "code", "last"),
    [
        (CHECK.split(), 6, "✗ failed: unittest, exit 1"),
        (["sh -c 'kill -9 $$'"], 6, "it was ended by"),
        (["no-such-program"], 6, "○ unknown: no-such-program, its program is not there (exit 127)"),
        (["echo", HOSTILE], 6, "it has the character U+001B, which does not show"),
        (["printf 'a\\033[2Jb'"], 0, "✓ passed: printf a"),
        ([f"{CHECK} | tail -1"], 6, "✗ failed: unittest, its summary says 1 failed"),
    ],
)
async def test_one_that_is_named_and_does_not_pass(
    gateway: Gateway, home: Home, tmp_path: Path, command: list[str], code: int, last: str
) -> None:
    folder = repository(tmp_path / "shop", FAILS)
    async with session(gateway, folder) as agent:
        command = [one.replace("\0", "") for one in command]
        got, out, _ = await run(home, "prove", agent.short, "--yes", "--", *command)
        assert last in out.splitlines()[-1]
        assert got == code
        assert RAW.search(out) is None


async def test_an_interrupt_stops_what_never_ends(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    async with session(gateway, folder) as agent:
        command = await Command.start(
            home, "prove", agent.short, "--yes", "--", "echo $$; exec sleep 1000"
        )
        pid = (await command.line()).strip()
        code, _, err = await run(home, "prove", agent.short, "--yes", "--", "true")
        assert (code, err) == (
            1,
            "tapui: another check of it runs: echo $$; exec sleep 1000\n",
        )
        command.interrupt()
        code, out, _ = await command.end()
        assert code == 130
        assert out == "○ unknown: echo $$; exec sleep 1000, you stopped it\n"
        await until_dead(pid)


async def test_a_session_that_ends_meanwhile_ends_it(
    gateway: Gateway, home: Home, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    async with session(gateway, folder) as agent:
        command = await Command.start(
            home, "prove", agent.short, "--yes", "--", "echo go; sleep 1000"
        )
        assert await command.line() == "go\n"
        close = {"type": "session.close", "sessionId": agent.session, "reason": "over"}
        await agent.host.send(close)
        code, out, _ = await command.end()
        assert (code, out) == (6, "○ unknown: the session ended\n")


async def test_a_gateway_that_is_killed_proves_nothing(
    own_gateway: Gateway, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    home = own_gateway.home
    async with session(own_gateway, folder) as agent:
        words = ("prove", agent.short, "--yes", "--", "echo go; sleep 1000")
        command = await Command.start(home, *words)
        assert await command.line() == "go\n"
        own_gateway.kill()
        code, out, _ = await command.end()
        assert (code, out) == (6, "○ unknown: the gateway has ended, and the check with it\n")


async def test_a_folder_that_is_gone_is_named(gateway: Gateway, home: Home, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    async with session(gateway, folder) as agent:
        folder.rename(tmp_path / "gone")
        code, out, _ = await run(home, "prove", agent.short, "--yes", "--", "true")
        assert code == 6
        assert out.startswith("○ unknown: true, it could not run: ")


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (("nowhere",), 1, "there is no session nowhere"),
        (("s1", "--", " "), 2, "there is no command"),
        (("s1", "--", "x" * 3_000), 2, "a command has at most 2,000 characters"),
        (("s1",), 1, "no check is known here: name one"),
        (("local",), 1, "tapui does not see the commands of session local"),
    ],
)
async def test_what_cannot_be_done_is_told(
    gateway: Gateway, home: Home, tmp_path: Path, args: tuple[str, ...], code: int, text: str
) -> None:
    async with session(gateway, repository(tmp_path / "shop")) as agent:
        words = [agent.short if word == "s1" else word for word in args]
        got, out, err = await run(home, "prove", *words)
        assert (got, out) == (code, "")
        assert err.startswith(f"tapui: {text}")
