"""The commands with which documents say how a provider is written, run as they are printed."""

import asyncio
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Host
from tests.rig.processes import has_ended
from tests.rig.waiting import HUNG, until

ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    "page": (ROOT / "tapui/docs/providers.md", "## Write a provider"),
    "guide": (ROOT / "tapui/provider/README.md", "## While you write it"),
    "skill": (ROOT / "tapui/hosts/copilot/skills/create-provider/SKILL.md", "## Write it"),
}
STAYS = ("dev", "run greeter.py")
"""What goes on until it is ended."""


def blocks(name: str) -> list[list[str]]:
    """Return the commands of each block of a section (of all to the end for the skill)."""
    path, heading = DOCUMENTS[name]
    text = path.read_text().partition(f"{heading}\n")[2]
    end = None if name == "skill" else f"\n{heading.split()[0]} "
    section = text if end is None else text.partition(end)[0]
    found = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [[line.partition(" #")[0].strip() for line in block.splitlines()] for block in found]


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    root = Path(tempfile.mkdtemp(prefix="tapui-written-"))
    with Gateway(Home(root), "--no-attach") as running:
        yield running
    shutil.rmtree(root, ignore_errors=True)


class Typed:
    """A shell's place: a folder, and what goes on in other terminals."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self._env = gateway.home.env(TAPUI_PORT=str(gateway.port))
        self._folder = folder
        self._going_on: list[subprocess.Popen[bytes]] = []

    def type(self, line: str) -> None:
        """Carry out a line. What goes on is left alone once it is in its session."""
        words = shlex.split(line)
        if words[0] == "cd":
            self._folder /= words[1]
        elif line.startswith(tuple(f"tapui provider {action}" for action in STAYS)):
            self._start(words)
        else:
            self._run(words)

    def _run(self, words: list[str]) -> None:
        assert words[0] == "tapui"
        done = subprocess.run(
            tapui_argv(*words[1:]),
            cwd=self._folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        if "greet" in words:
            assert "Hello, Ada!" in done.stdout

    def _start(self, words: list[str]) -> None:
        out = self._folder / f"out-{len(self._going_on)}"
        with out.open("wb") as opened:
            process = subprocess.Popen(
                tapui_argv(*words[1:]),
                cwd=self._folder,
                env=self._env,
                stdout=opened,
                stderr=opened,
            )
        self._going_on.append(process)
        until(lambda: "in session" in out.read_text(), what=out.read_text)

    def end(self) -> None:
        """Press Ctrl-C in the other terminals."""
        for process in self._going_on:
            process.terminate()
            process.wait(HUNG)
            assert has_ended(process.pid)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_command_does_what_is_said_of_it(
    gateway: Gateway, tmp_path: Path, document: str
) -> None:
    found = blocks(document)
    assert len(found) >= 2
    typed = Typed(gateway, tmp_path)
    with ExitStack() as stack:
        stack.callback(typed.end)
        for line in [line for block in found for line in block]:
            typed.type(line)


def test_the_documents_have_each_action(gateway: Gateway) -> None:
    text = DOCUMENTS["guide"][0].read_text() + DOCUMENTS["page"][0].read_text()
    done = gateway.home.run("provider", "--help")
    actions = re.findall(r"^    ([a-z]+) ", done.stdout, re.MULTILINE)
    assert len(actions) >= 7
    assert [action for action in actions if f"tapui provider {action} " not in text] == []


async def test_the_skills_program_is_a_provider(gateway: Gateway, tmp_path: Path) -> None:
    text = DOCUMENTS["skill"][0].read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "greeter.py").write_text(code)
    checked = gateway.home.run("provider", "check", str(tmp_path / "greeter.py"))
    assert checked.returncode == 0, checked.stdout
    host = await Host.hello(gateway.url, gateway.internal_token, hooks=True)
    async with host:
        await host.open("s1", label="Greeting")
        provider = await asyncio.create_subprocess_exec(
            *tapui_argv("provider", "run", "greeter.py", "--session", "s1"),
            cwd=tmp_path,
            env=gateway.home.env(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await host.offered("s1", "greet")
        await host.invoke("s1", "greet", {"name": "Ada"}, id_="i1")
        assert (await host.expect("tool.outcome", id="i1"))["data"] == "Hello, Ada!"
        await host.invoke("s1", "greet", {}, id_="i2")
        assert (await host.expect("tool.outcome", id="i2"))["errorCode"] == "INVALID_ARGS"
        await host.invoke("s1", "watch", {"what": "CI"}, id_="i3")
        assert (await host.expect("tool.outcome", id="i3"))["data"] == "nothing yet"
        provider.terminate()
        await provider.wait()
