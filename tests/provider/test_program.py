"""`provider.run()`: a provider as a program of its own."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host
from tests.rig.waiting import HUNG, until

PROGRAM = '''
import sys
from tapui.provider import Provider

loud = Provider("loud")

@loud.tool
def shout(text: str, times: int = 1) -> str:
    """Shout."""
    print("x" * 3_000_000)
    print("y" * 3_000_000, file=sys.stderr)
    return text.upper() * times

@loud.tool
def breaks() -> None:
    raise RuntimeError("the secret is 1234")

loud.run()
'''


class Program:
    """The program, with what it has printed."""

    def __init__(
        self, folder: Path, env: dict[str, str], *args: str, cwd: Path | None = None
    ) -> None:
        self.file = folder / "loud.py"
        self.file.write_text(PROGRAM)
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("ab") as out, self._err.open("ab") as err:
            self.process = subprocess.Popen(
                [sys.executable, str(self.file), *args], env=env, stdout=out, stderr=err, cwd=cwd
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def says(self, part: str, *, times: int = 1) -> None:
        until(
            lambda: self.out.count(part) >= times,
            what=lambda: f"{part!r} in {self.out[:2000]} {self.err[:2000]}",
        )


@contextmanager
def program(
    folder: Path, env: dict[str, str], *args: str, cwd: Path | None = None
) -> Iterator[Program]:
    begun = Program(folder, env, *args, cwd=cwd)
    try:
        yield begun
    finally:
        begun.process.kill()
        begun.process.wait()


def test_it_says_what_it_does_and_outlives_its_gateway(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with program(tmp_path, home.env()) as loud:
        loud.says("loud: waiting: no gateway runs; start one with `tapui`, in another terminal\n")
        with Gateway(home, "--no-attach") as gateway:
            port = gateway.port
            loud.says("loud: in session local (local)\n")
            assert "  tools: shout, breaks\n" in loud.out
            line = f"""  try one: tapui call shout text=text --port {port}\n"""
            assert line in loud.out
            assert str(loud.file) in loud.out
            args = ("--args", '{"text": "a", "times": 3}', "--port", str(port))
            assert home.run("call", "shout", *args).stdout == '"AAA"\n'
            broken = home.run("call", "breaks", "--port", str(port))
            assert "INTERNAL: RuntimeError" in broken.stderr
            assert "1234" not in broken.stderr
            assert "the secret is 1234" in loud.err
            gateway.stop()
            loud.says("loud: waiting: the gateway is gone")
        with Gateway(home, "--no-attach", port=port) as gateway:
            loud.says("loud: in session local (local)\n", times=2)
            assert loud.out.count("try one:") == 1
            assert home.run("call", "shout", *args).stdout == '"AAA"\n'
            loud.process.send_signal(signal.SIGINT)
            assert loud.process.wait(HUNG) == 0
            assert loud.out.endswith("loud: left\n")


def test_the_session_and_the_gateway_are_chosen(running: Gateway, tmp_path: Path) -> None:
    env = running.home.env(TAP_GATEWAY=running.url, TAP_PROVIDER_TOKEN=running.token)
    env |= {"TAPUI_HOME": str(tmp_path / "elsewhere"), "TAP_SESSION": "first"}
    with program(tmp_path, env) as loud:
        loud.says("loud: waiting: no session 'first' is open\n")
    with program(tmp_path, env, "--session", "local", "--port", "1") as loud:
        loud.says("loud: in session local (local)\n")
    with program(tmp_path, {**env, "TAP_PROVIDER_TOKEN": "ptk-wrong"}) as loud:
        assert loud.process.wait(HUNG) == 1
        assert "loud: the gateway refuses it: AUTH_FAILED" in loud.err


async def test_it_joins_the_session_of_its_folder_and_its_line_names_that(
    running: Gateway, tmp_path: Path
) -> None:
    app, infra = tmp_path / "app", tmp_path / "infra"
    app.mkdir()
    env, port = running.home.env(), f"--port {running.port}"
    async with await Host.hello(running.url, running.internal_token) as host:
        await host.open("a1", label="app", cwd=str(app))
        await host.open("i1", label="infra", cwd=str(infra), foreground=True)
        with program(tmp_path, env, cwd=app) as loud:
            loud.says("loud: in session app (a1)\n")
            loud.says(f"  try one: tapui call shout text=text {port} --session a1\n")
            printed = loud.out.partition("try one: tapui ")[2].partition("\n")[0]
            called = await asyncio.to_thread(running.home.run, *shlex.split(printed))
            assert called.stdout == '"TEXT"\n', called.stderr
        with program(tmp_path, env, cwd=tmp_path) as loud:
            loud.says("loud: in session infra (i1)\n")
            loud.says(f"  try one: tapui call shout text=text {port}\n")


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "never read"])
def test_nobody_reads_what_it_prints(running: Gateway, tmp_path: Path, is_closed: bool) -> None:
    file = tmp_path / "loud.py"
    file.write_text(PROGRAM)
    reads, writes = os.pipe()
    argv = [sys.executable, str(file)]
    loud = subprocess.Popen(argv, env=running.home.env(), stdout=writes, stderr=writes)
    os.close(writes)
    if is_closed:
        os.close(reads)
    try:
        args = ("--args", '{"text": "a"}', "--port", str(running.port))

        def called() -> bool:
            assert loud.poll() is None
            return running.home.run("call", "shout", *args).stdout == '"A"\n'

        until(called, what="the call")
        loud.terminate()
        assert loud.wait(HUNG) == 0
    finally:
        loud.kill()
        loud.wait()
        if not is_closed:
            os.close(reads)


def test_what_is_too_large_for_a_hello_ends_it_with_words(running: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "large.py"
    file.write_text(
        "from tapui.provider import Provider\n"
        "large = Provider('large')\n"
        "for number in range(40):\n"
        "    large.append(f'section {number}', 'x' * 100_000)\n"
        "large.run()\n"
    )
    done = subprocess.run(
        [sys.executable, str(file)],
        env=running.home.env(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "large: it cannot be declared: hello: larger than 2 MiB\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "held", ["await asyncio.to_thread(time.sleep, 600)", "time.sleep(600)"], ids=["thread", "loop"]
)
def test_a_second_signal_ends_what_the_first_cannot(
    tmp_path: Path, held: str, number: signal.Signals
) -> None:
    file = tmp_path / "held.py"
    file.write_text(
        "import asyncio, time\n"
        "from tapui.provider import Provider\n"
        "from tapui.provider.serving import Serving\n"
        "async def hold(serving):\n"
        "    print('it holds', flush=True)\n"
        f"    {held}\n"
        "Serving._serve = hold\n"
        "Provider('held').run()\n"
    )
    argv = [sys.executable, str(file)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as held_up:
        assert held_up.stdout is not None

        def has_ended_with_another() -> bool:
            held_up.send_signal(number)  # two that come at once are one
            return held_up.poll() is not None

        try:
            assert held_up.stdout.readline() == "it holds\n"
            held_up.send_signal(number)
            if "thread" in held:
                assert held_up.stdout.readline() == "held: left\n"
            until(has_ended_with_another, what="it has ended")
            assert held_up.returncode == 128 + number
        finally:
            held_up.kill()


def test_help_names_the_provider(tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(file), "--help"], capture_output=True, text=True, check=True
    )
    assert "The provider 'loud'" in done.stdout
    assert "--session" in done.stdout
