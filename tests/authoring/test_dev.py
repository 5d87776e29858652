"""`tapui provider dev` as a process, at a real gateway."""

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.rig import faults
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Host, Tower
from tests.rig.peers import Provider as PeerProvider
from tests.rig.processes import has_ended
from tests.rig.waiting import until_async

HEAD = """
import os, sys
from pathlib import Path
from tapui.provider import Provider

provider = Provider("worker")

@provider.tool
def pid() -> int:
    "Return the id of the process."
    return os.getpid()
"""
HOLD = """
@provider.tool
def hold(until: str) -> str:
    "Wait for a file."
    Path(until + ".begun").touch()
    while not Path(until).exists():
        pass
    return f"VERSION {os.getpid()}"
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Gateway]:
    """One gateway for all tests of this module."""
    root = Path(tempfile.mkdtemp(prefix="tapui-dev-"))
    with Gateway(Home(root), "--no-attach") as gateway:
        yield gateway
    shutil.rmtree(root, ignore_errors=True)


class Dev:
    """`tapui provider dev` on a file, and a caller of its tools."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self._gateway = gateway
        self.file = folder / "worker.py"
        self._out = folder / "dev.out"
        self._process: subprocess.Popen[bytes] | None = None
        self._caller: Tower | None = None
        self._count = 0

    def start(self, **env: str) -> None:
        argv = tapui_argv("provider", "dev", str(self.file), "--port", str(self._gateway.port))
        with self._out.open("wb") as out:
            self._process = subprocess.Popen(
                argv, env=self._gateway.home.env(**env), stdout=out, stderr=subprocess.STDOUT
            )

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    @property
    def told(self) -> str:
        return self._out.read_text(errors="replace")

    def save(self, *parts: str) -> None:
        """Save the file as editors do: a new one in its place."""
        beside = self.file.with_suffix(".new")
        beside.write_text("\n".join(parts))
        beside.replace(self.file)

    async def until_told(self, text: str, times: int = 1) -> None:
        await until_async(
            lambda: self.told.count(text) >= times,
            what=lambda: f"{text!r} is printed {times} times:\n{self.told}",
        )

    async def begin(self, tool: str, session: str = "local", **args: Any) -> str:
        """Call a tool and return the call's id."""
        if self._caller is None:
            self._caller = await Tower.hello(self._gateway.url, self._gateway.internal_token)
        self._count += 1
        id_ = f"call-{self._count}"
        call = {"type": "tool.invoke", "id": id_, "sessionId": session, "tool": tool}
        await self._caller.send({**call, "args": args})
        return id_

    async def outcome(self, id_: str) -> dict[str, Any]:
        assert self._caller is not None
        return await self._caller.expect("tool.outcome", id=id_)

    async def call(self, tool: str, **args: Any) -> Any:
        outcome = await self.outcome(await self.begin(tool, **args))
        return outcome.get("data", outcome)

    async def provider_id(self) -> str:
        """The id under which the gateway knows it."""
        tower = await Tower.hello(self._gateway.url, self._gateway.internal_token)
        async with tower:
            (found,) = [
                one["id"]
                for one in tower.snapshot["state"]["providers"]
                if one["name"] == "worker" and one["state"] == "bound"
            ]
        return str(found)

    async def end(self, number: signal.Signals = signal.SIGINT) -> int:
        if self._caller is not None:
            await self._caller.close()
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(number)
        return await asyncio.to_thread(self._process.wait, 15)


@asynccontextmanager
async def developing(gateway: Gateway, folder: Path, *parts: str) -> AsyncIterator[Dev]:
    """Yield it bound, with a file of these parts."""
    dev = Dev(gateway, folder)
    dev.save(*parts)
    dev.start()
    try:
        await dev.until_told("worker is in session")
        yield dev
    finally:
        below = dev.process.children(recursive=True) if dev._process.poll() is None else []
        code = await dev.end()
        await until_async(
            lambda: all(has_ended(one.pid) for one in below), what="its programs have ended"
        )
    assert code == 0, dev.told


async def test_a_save_is_in_the_session_and_calls_under_way_end_where_they_began(
    served: Gateway, tmp_path: Path
) -> None:
    async with developing(served, tmp_path, HEAD, HOLD) as dev:
        first, id_ = await dev.call("pid"), await dev.provider_id()
        go = tmp_path / "go"
        held = await dev.begin("hold", until=str(go))
        await until_async((tmp_path / "go.begun").exists, what="the call has begun")
        added = "@provider.tool\ndef added() -> str:\n    'Say so.'\n    return 'added'"
        dev.save(HEAD, HOLD.replace("VERSION", "new"), added)
        await dev.until_told("in force: +added")
        assert await dev.call("added") == "added"
        second = await dev.call("pid")
        assert second != first
        assert await dev.provider_id() == id_
        go.touch()
        assert (await dev.outcome(held))["data"] == f"VERSION {first}"
        await until_async(lambda: has_ended(first), what="the first program has ended")
        dev.save(HEAD)
        await dev.until_told("in force: −hold −added")
        gone = await dev.call("added")
        assert gone["errorCode"] == "NOT_FOUND"
        assert "→ hold" in dev.told
        assert f'← hold "VERSION {first}"' in dev.told


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("def (", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("sys.exit(3)", "sys.exit(3)"),
        ("provider = None", "has no provider"),
        ("os.kill(os.getpid(), 9)", "the program ended (SIGKILL)"),
    ],
)
async def test_a_file_with_an_error_changes_nothing_and_is_shown(
    served: Gateway, tmp_path: Path, broken: str, said: str
) -> None:
    async with developing(served, tmp_path, HEAD) as dev:
        first = await dev.call("pid")
        dev.save(HEAD, broken)
        await dev.until_told(said)
        assert await dev.call("pid") == first
        dev.save(HEAD, "# mended")
        await dev.until_told("in force: the same tools")
        assert await dev.call("pid") != first


async def test_a_file_that_never_ends_loading_changes_nothing_and_the_next_save_takes_its_place(
    served: Gateway, tmp_path: Path
) -> None:
    async with developing(served, tmp_path, HEAD) as dev:
        first = await dev.call("pid")
        dev.save(HEAD, "print('it loops')", "while True: pass")
        await dev.until_told("it loops")
        assert await dev.call("pid") == first
        (looping,) = {one.pid for one in dev.process.children()} - {first}
        dev.save(HEAD, "# mended")
        await dev.until_told("in force")
        assert await dev.call("pid") not in (first, looping)
        await until_async(lambda: has_ended(looping), what="the one that loops has ended")


async def test_a_coroutine_that_does_not_let_go_is_named_with_its_line(
    served: Gateway, tmp_path: Path
) -> None:
    until_freed = f"    while not Path({str(tmp_path / 'freed')!r}).exists(): pass"
    holds = ("from pathlib import Path", "@provider.tool", "async def hold() -> None:", until_freed)
    async with developing(served, tmp_path, HEAD, *holds) as dev:
        held = await dev.begin("hold")
        await dev.until_told("a coroutine does not let go, at ")
        assert "worker.py" in dev.told
        (tmp_path / "freed").touch()
        assert (await dev.outcome(held)).get("error") is None


async def test_a_file_that_cannot_be_loaded_at_first_is_taken_once_it_can(
    served: Gateway, tmp_path: Path
) -> None:
    dev = Dev(served, tmp_path)
    dev.save("import worker_parts", HEAD)
    dev.start()
    await dev.until_told("worker.py cannot be served; nothing runs until it is saved again")
    assert "ModuleNotFoundError" in dev.told
    (tmp_path / "worker_parts.py").write_text("")
    await dev.until_told("worker is in session")
    (tmp_path / "worker_parts.py").write_text("1 / 0")
    await dev.until_told("ZeroDivisionError")
    assert await dev.end() == 0


async def test_a_save_of_a_module_in_a_folder_of_its_own_is_taken_over(
    served: Gateway, tmp_path: Path
) -> None:
    words = tmp_path / "parts" / "words.py"
    words.parent.mkdir()
    words.write_text("WORD = 'first'")
    uses = """
from parts.words import WORD

@provider.tool
def word() -> str:
    "Return the word."
    return WORD
"""
    async with developing(served, tmp_path, HEAD, uses) as dev:
        assert await dev.call("word") == "first"
        words.write_text("WORD = ")
        await dev.until_told("worker.py cannot be served")
        words.write_text("WORD = 'second'")
        await dev.until_told("in force")
        assert await dev.call("word") == "second"


async def test_megabytes_of_output_and_a_fork_cost_nobody_anything(
    served: Gateway, tmp_path: Path
) -> None:
    forks = "if os.fork() == 0: print('forked', flush=True)"
    noise = """
@provider.tool
def shout() -> int:
    "Print a lot."
    for _ in range(40):
        print("noise " * 20_000)
        print("\\n".join(["line \\x1b[31m"] * 2_000))
    return os.getpid()
"""
    async with developing(served, tmp_path, HEAD, forks, noise) as dev:
        first = await dev.call("pid")
        assert await dev.call("shout") == first
        await dev.until_told("more lines")
        assert "\x1b" not in dev.told
        assert len(dev.told) < 4 * 1024 * 1024


async def test_a_program_that_dies_in_a_call_answers_it_and_is_started_again(
    served: Gateway, tmp_path: Path
) -> None:
    dies = "@provider.tool\ndef die() -> None:\n    'End the process.'\n    os._exit(7)"
    async with developing(served, tmp_path, HEAD, dies) as dev:
        id_ = await dev.provider_id()
        outcome = await dev.call("die")
        assert outcome["errorCode"] == "INTERNAL"
        assert "ended during the call (exit code 7)" in outcome["error"]
        await dev.until_told("it is started again in 1 s, or on save")
        assert "has ended" in (await dev.call("pid"))["error"]
        await dev.until_told("in force")
        assert isinstance(await dev.call("pid"), int)
        assert await dev.provider_id() == id_


async def test_a_child_that_outlives_its_program_holds_nothing_up(
    served: Gateway, tmp_path: Path
) -> None:
    leaves = f"""
import time
@provider.tool
def leave() -> None:
    "Leave a child behind, and end."
    if (child := os.fork()) == 0:
        os.setsid()
        Path({str(tmp_path / "child")!r}).write_text(str(os.getpid()))
        time.sleep(3600)
    while not Path({str(tmp_path / "child")!r}).exists():
        pass
    os._exit(7)
"""
    try:
        async with developing(served, tmp_path, HEAD, leaves) as dev:
            assert "ended during the call" in (await dev.call("leave"))["error"]
            await dev.until_told("in force")
            assert isinstance(await dev.call("pid"), int)
    finally:
        psutil.Process(int((tmp_path / "child").read_text())).kill()


async def test_what_the_gateway_refuses_leaves_the_tools_before(
    served: Gateway, tmp_path: Path
) -> None:
    taken = "@provider.tool\ndef taken() -> str:\n    'Say so.'\n    return 'taken'"
    tool = {"name": "taken", "description": "d", "parameters": {"type": "object"}}
    async with (
        await PeerProvider.bind(served.url, served.token, name="other", tools=[tool]),
        developing(served, tmp_path, HEAD) as dev,
    ):
        first = await dev.call("pid")
        dev.save(HEAD, taken)
        await dev.until_told("the gateway refuses tools.update: TOOL_CONFLICT")
        assert await dev.call("pid") == first


async def test_gates_and_context_are_those_of_the_newest_save(
    served: Gateway, tmp_path: Path
) -> None:
    rule = "provider.deny(tool='pid', args='.', reason='not {}')\nprovider.set_context('{}')"
    async with developing(served, tmp_path, HEAD, rule.format("first", "c")) as dev:
        tower = await Tower.hello(served.url, served.internal_token)
        async with tower:
            assert "not first" in (await dev.call("pid"))["error"]
            dev.save(HEAD, rule.format("second", "d"))
            await dev.until_told("in force")
            assert "not second" in (await dev.call("pid"))["error"]
            dev.save(HEAD)
            await dev.until_told("in force", times=2)
            assert isinstance(await dev.call("pid"), int)


async def test_what_runs_beside_sessions_runs_in_the_newest_program_alone(
    served: Gateway, tmp_path: Path
) -> None:
    beside = f"""
import asyncio
@provider.background
async def beat(session):
    mark = Path({str(tmp_path)!r}) / f"beats-{{os.getpid()}}"
    try:
        mark.touch()
        await asyncio.sleep(3600)
    finally:
        mark.unlink()
"""
    async with developing(served, tmp_path, HEAD, HOLD, beside) as dev:
        first = tmp_path / f"beats-{await dev.call('pid')}"
        await until_async(first.exists, what="it runs beside the session")
        held = await dev.begin("hold", until=str(tmp_path / "go"))
        await until_async((tmp_path / "go.begun").exists, what="the call has begun")
        dev.save(HEAD, HOLD, beside, "# saved")
        await dev.until_told("in force")
        second = tmp_path / f"beats-{await dev.call('pid')}"
        await until_async(second.exists, what="it runs in the new program")
        await until_async(lambda: not first.exists(), what="it has ended in the first one")
        (tmp_path / "go").touch()
        assert "VERSION" in (await dev.outcome(held))["data"]
        assert second.exists()


async def test_a_gate_that_is_asked_during_a_save_answers(served: Gateway, tmp_path: Path) -> None:
    gate = """
import time
@provider.gate(tool="pid")
def slowly(call):
    Path(r"FOLDER/asked").touch()
    while not Path(r"FOLDER/answer").exists():
        time.sleep(0.01)
    return True
""".replace("FOLDER", str(tmp_path))
    async with developing(served, tmp_path, HEAD, gate) as dev:
        asked = await dev.begin("pid")
        await until_async((tmp_path / "asked").exists, what="the gate is asked")
        dev.save(HEAD)
        await dev.until_told("in force")
        (tmp_path / "answer").touch()
        assert isinstance((await dev.outcome(asked))["data"], int)


async def test_another_name_binds_anew_in_the_same_session(served: Gateway, tmp_path: Path) -> None:
    async with developing(served, tmp_path, HEAD) as dev:
        dev.save(HEAD.replace('Provider("worker")', 'Provider("renamed")'))
        await dev.until_told("renamed is in session")
        assert isinstance(await dev.call("pid"), int)


async def test_a_gateway_that_is_killed_is_joined_when_it_is_back(tmp_path: Path) -> None:
    home = Home(Path(tempfile.mkdtemp(prefix="tapui-dev-")))
    try:
        with Gateway(home, "--no-attach") as gateway:
            port = gateway.port
            async with developing(gateway, tmp_path, HEAD) as dev:
                first = await dev.call("pid")
                gateway.kill()
                await dev.until_told("the gateway is gone")
                dev.save(HEAD, "# saved meanwhile")
                with Gateway(home, "--no-attach", port=port) as again:
                    dev._gateway, dev._caller = again, None
                    await dev.until_told("worker is in session", times=2)
                    assert await dev.call("pid") != first
    finally:
        faults.look()
        shutil.rmtree(home.root, ignore_errors=True)


async def test_a_provider_in_every_session_is_there_after_a_save(
    served: Gateway, tmp_path: Path
) -> None:
    everywhere = HEAD.replace('"worker"', '"worker", session="all"')
    started = """
@provider.on("session.started")
def started(news):
    print(f"started {news.session.id}\\n", end="", flush=True)  # handlers print at once
"""
    async with await Host.hello(served.url, served.internal_token) as host:
        await host.open("s1")
        dev = Dev(served, tmp_path)
        dev.save(everywhere, started)
        dev.start(TAP_GATEWAY=served.url, TAP_PROVIDER_TOKEN=served.internal_token)
        await dev.until_told("worker is in session")
        first = await dev.call("pid", session="s1")
        dev.save(everywhere, started, "# saved")
        await dev.until_told("in force")
        second = await dev.call("pid", session="s1")
        assert second != first
        await dev.until_told("started s1", times=2)
        await host.open("s2")
        await dev.until_told("started s2")
        assert await dev.call("pid", session="s2") == second
        assert await dev.end() == 0


async def test_no_program_outlives_it(served: Gateway, tmp_path: Path) -> None:
    dev = Dev(served, tmp_path)
    dev.save(HEAD)
    dev.start()
    await dev.until_told("worker is in session")
    program = await dev.call("pid")
    assert await dev.end(signal.SIGKILL) == -signal.SIGKILL
    await until_async(lambda: has_ended(program), what="its program has ended")


async def test_no_program_that_still_loads_outlives_it(served: Gateway, tmp_path: Path) -> None:
    dev = Dev(served, tmp_path)
    dev.save("print('it loops', flush=True)", "while True: pass")
    dev.start()
    await dev.until_told("it loops")
    (program,) = dev.process.children()
    assert await dev.end(signal.SIGKILL) == -signal.SIGKILL
    await until_async(lambda: has_ended(program.pid), what="its program has ended")
