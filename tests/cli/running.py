"""Commands in this process and as processes beside a test's event loop, and the peers that they
meet at the gateway."""

import asyncio
import contextlib
import io
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from tapui.cli.main import main
from tests.rig import faults
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Host, Peer, Provider
from tests.rig.waiting import HUNG

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e\x00\x7f[/]\u2028end"
"""Title, colour, direction, NUL, DEL, markup and a line separator, as a peer may send them."""
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")


class Command:
    """A `tapui` process that runs beside the test's event loop."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def start(cls, home: Home, *args: str) -> "Command":
        return await cls._run(home, *tapui_argv(*args))

    @classmethod
    async def shell(cls, home: Home, shell: str, script: Path) -> "Command":
        """Let a shell read a file, as it reads what is pasted."""
        return await cls._run(home, shell, str(script))

    @classmethod
    async def _run(cls, home: Home, *argv: str) -> "Command":
        return cls(
            await asyncio.create_subprocess_exec(
                *argv,
                env=home.env(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )

    async def line(self) -> str:
        """Return the next line of stdout."""
        assert self._process.stdout is not None
        async with asyncio.timeout(HUNG):
            return (await self._process.stdout.readline()).decode()

    async def note(self) -> str:
        """Return the next line of stderr."""
        assert self._process.stderr is not None
        async with asyncio.timeout(HUNG):
            return (await self._process.stderr.readline()).decode()

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def close_stdout(self) -> None:
        """Stop reading, as `head` does when it has enough."""
        self._process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]

    async def end(self) -> tuple[int, str, str]:
        """Return exit code, and the rest of stdout and stderr."""
        async with asyncio.timeout(HUNG):
            out, err = await self._process.communicate()
        assert self._process.returncode is not None
        for fault in faults.errors_in(err.decode(), "a command"):
            faults.note(fault)
        return self._process.returncode, out.decode(), err.decode()


def on_terminal(
    env: dict[str, str], *argv: str, code: int = 0, width: int = 0, typed: str = ""
) -> str:
    """Run a program on a terminal of `width` columns (0: it does not tell), on which something was
    typed before; return what arrived there."""
    master, slave = pty.openpty()
    os.write(master, typed.encode())
    termios.tcsetwinsize(slave, (24 if width else 0, width))
    try:
        process = subprocess.Popen(argv, env=env, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        data = b""
        while True:
            try:
                block = os.read(master, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not block:
                break
            data += block
        assert process.wait(HUNG) == code
    finally:
        os.close(master)
    return data.decode()


_one_at_a_time = threading.Lock()
"""Environment and streams belong to the whole process."""


def ran(
    home: Home, *args: str, env: Mapping[str, str] | None = None, cwd: Path | str | None = None
) -> "CompletedProcess[str]":
    """Run the command `tapui` with `args` in this process; return what `home.run` returns.

    It has an environment of its own and no terminal, as a process has that a test starts, which
    takes a hundred times as long. What is seen of a process alone (signals, closed pipes, what it
    imports, who its parent is) needs `home.run` or `Command`.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        _one_at_a_time,
        _process(env or home.env(), out, err, cwd),
        ThreadPoolExecutor(1) as pool,  # of a thread that no event loop runs in
    ):
        code = pool.submit(main, args).result(HUNG)
        texts = [_written(stream) for stream in (out, err)]
    for fault in faults.errors_in(texts[1], f"tapui {' '.join(args)}"):
        faults.note(fault)
    return CompletedProcess(args, code, *texts)


@contextmanager
def _process(
    env: Mapping[str, str], out: io.TextIOWrapper, err: io.TextIOWrapper, cwd: Path | str | None
) -> Iterator[None]:
    with (
        Path(os.devnull).open() as nothing,
        mock.patch.object(sys, "stdin", nothing),
        mock.patch.dict(os.environ, env, clear=True),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        yield


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return io.TextIOWrapper(io.BytesIO(buffer.getvalue()), "utf-8").read()


async def run(home: Home, *args: str) -> tuple[int, str, str]:
    """Run a command in this process, beside the test's event loop."""
    done = await asyncio.to_thread(ran, home, *args)
    return done.returncode, done.stdout, done.stderr


def begun(home: Home, *args: str) -> "asyncio.Task[tuple[int, str, str]]":
    """Begin a command in this process; the task has what it returns. Until then, no other runs."""
    return asyncio.create_task(run(home, *args))


@asynccontextmanager
async def provider(gateway: Gateway, **options: object) -> AsyncIterator[Provider]:
    one = await Provider.bind(gateway.url, gateway.token, **options)  # type: ignore[arg-type]
    async with one:
        yield one


async def push(one: Provider, event: str, level: str = "keep", **more: object) -> None:
    await one.send({"type": "push", "level": level, "stream": "builds", "event": event, **more})


async def tower(gateway: Gateway) -> Peer:
    peer = await Peer.connect(gateway.url, token=gateway.internal_token)
    await peer.send({"type": "tower.hello", "protocolVersion": 2})
    await peer.expect("tower.snapshot")
    return peer


async def ask_permission(gateway: Gateway, command: str = "ls") -> tuple[Host, Peer, str]:
    """Return a host whose session asks for a permission at once, a tower, and the approval's id.

    The request has its parts by then, however late the rules of its folder were read.
    """
    watching = await tower(gateway)
    host = await Host.hello(gateway.url, gateway.internal_token)
    await host.open("s1", label="First")
    await host.send(
        {
            "type": "approval.request",
            "id": "r1",
            "sessionId": "s1",
            "kind": "permission",
            "detail": {"kind": "shell", "fullCommandText": command},
        }
    )
    event = await next_event(watching, "approval.requested")
    if "judged" not in event["approval"]:
        event = await next_event(watching, "approval.judged")
    return host, watching, event["approval"]["id"]


async def next_event(peer: Peer, kind: str) -> dict[str, dict[str, str]]:
    while (event := (await peer.expect("tower.event"))["event"])["kind"] != kind:
        pass
    return event
