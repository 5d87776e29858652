"""Commands as processes beside a test's event loop, and the peers that they meet at the gateway."""

import asyncio
import os
import pty
import re
import signal
import subprocess
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

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


def on_terminal(env: dict[str, str], *argv: str, code: int = 0, width: int = 0) -> str:
    """Run a program on a terminal of `width` columns (0: it does not tell); return what arrived
    there."""
    master, slave = pty.openpty()
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


async def run(home: Home, *args: str) -> tuple[int, str, str]:
    return await (await Command.start(home, *args)).end()


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
