"""The Copilot host's part in the gateway's process: it looks for CLIs, and starts the host.

The host runs in a process of its own (`__main__`): what streaming sessions say would hold up the
gateway. It runs only while there is a CLI to attach to, or sessions of its own; this part looks for
CLIs meanwhile, lists the sessions that cannot be reached, and starts the host when the gateway
wants one that starts sessions.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tapui.hosts.copilot.finding.discovery import Discovery
from tapui.hosts.copilot.finding.unattached_sessions import SeenSessions
from tapui.hosts.port import HostPort, OpenPort, Report
from tapui.runtime.children.child import Ended
from tapui.runtime.children.supervisor import Backoff, ProgramLog, Supervisor, own_program
from tapui.wire import limits
from tapui.wire.host import HostAck, HostHello, HostLooked, SessionsUnattached
from tapui.wire.message import Message
from tapui.wire.provider import Sessions
from tapui.wire.steering import HostWanted

SCAN_INTERVAL = 1.0
"""Seconds between two looks for CLIs."""
IDLE_SECONDS = 60.0
"""The host's process ends after so long without a CLI to attach to."""
STOP_SECONDS = 2.5
"""How long the host may take to leave its sessions as it found them."""

_log = logging.getLogger(__name__)


class CopilotLauncher:
    """Looks for the CLIs of `copilot_home`, and runs the host for them until `stop()`.

    `url`, `token_file` and `socket` are what the host finds the gateway by; `environ` is the host's
    environment, and that of sessions that it starts. With `port`, the host attaches to the CLI on
    that port only, and runs from the beginning; without `attaches` it only starts sessions, and
    without `with_ports` it attaches to tapui's extension only. `report` gets what the person should
    know of the process itself; the host tells towers what it has to tell.
    """

    def __init__(
        self,
        open_port: OpenPort,
        *,
        url: str,
        token_file: Path,
        socket: str | None = None,
        copilot_home: Path,
        environ: Mapping[str, str],
        port: int | None = None,
        attaches: bool = True,
        with_ports: bool = True,
        idle: float = IDLE_SECONDS,
        report: Report,
    ) -> None:
        self._open_port = open_port
        self._only = port
        self._attaches = attaches
        self._report = report
        self._discovery = Discovery(copilot_home, with_ports=with_ports)
        self._backoff = Backoff()
        self._supervisor = Supervisor(
            own_program(
                "tapui.hosts.copilot",
                *(url, str(token_file)),
                *(() if socket is None else ("--socket", socket)),
                *("--copilot-home", str(copilot_home)),
                *(("--idle", f"{idle:g}") if port is None else ("--port", str(port))),
                *(() if attaches else ("--no-attach",)),
                *(() if with_ports else ("--no-ports",)),
                environ=environ,
                is_whole=True,
            ),
            ProgramLog().take,
            self._failed,
            self._backoff,
        )
        self._running: asyncio.Task[None] | None = None
        self._port: HostPort | None = None
        self._seen = SeenSessions(copilot_home, with_ports=with_ports)
        self._seen.told = SessionsUnattached(unattached=[], ports=[])
        self._is_accepted = False
        self._has_looked = False
        """Whether its first look is over, or left to the host's process."""
        self._wanted_until = 0.0
        """Until when a host that starts sessions is wanted, by the loop's clock."""
        self._awoken = asyncio.Event()
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return self._supervisor.pid

    async def run(self) -> None:
        self._port = self._open_port(self._receive, self._stopping.set)
        try:
            while not self._stopping.is_set():
                if self._supervisor.pid is None:
                    await self._look()
                else:
                    self._seen.told = None  # the host's own list stands in its place
                await self._pause()
        finally:
            if self._running is not None:
                self._running.cancel()
                await asyncio.wait([self._running])
            self._port.close()

    async def _pause(self) -> None:
        """Wait for the next look, which comes at once when the host has ended."""
        events = [asyncio.ensure_future(one.wait()) for one in (self._stopping, self._awoken)]
        waits: set[asyncio.Future[Any]] = {*events}
        if self._running is not None and not self._running.done():
            waits.add(self._running)
        try:
            await asyncio.wait(waits, timeout=SCAN_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for event in events:
                event.cancel()
        self._awoken.clear()

    async def stop(self) -> None:
        """End the host, which leaves every session as it found it, and `run()`."""
        await self._supervisor.stop(STOP_SECONDS)
        self._stopping.set()

    async def _look(self) -> None:
        looks = self._attaches and self._only is None
        found = await asyncio.to_thread(self._discovery.scan) if looks else []
        if self._is_accepted:
            self._seen.tell(self._send, found, found)
        is_wanted = self._only is not None or any(cli.is_attachable for cli in found)
        if self._is_accepted and not self._has_looked:
            self._has_looked = True
            if not is_wanted:
                self._send(HostLooked())
        is_wanted = is_wanted or asyncio.get_running_loop().time() < self._wanted_until
        if is_wanted and (self._running is None or self._running.done()):
            self._running = asyncio.create_task(self._supervisor.run(), name="copilot host")
            self._wanted_until = 0.0

    def _receive(self, message: Message) -> None:
        match message:
            case Sessions() if not self._is_accepted:
                looks = self._attaches or self._only is not None
                version = limits.PROTOCOL_VERSION
                self._send(HostHello("copilot", "copilot", version, launches=True, looks=looks))
            case HostAck():
                self._is_accepted = True
            case HostWanted():
                self._wanted_until = asyncio.get_running_loop().time() + limits.START_TIMEOUT
                self._awoken.set()
            case _:
                pass  # no session is this port's, so nothing else is for it

    def _send(self, message: Message) -> None:
        if self._port is not None:
            self._port.send(message)

    def _failed(self, fault: Ended | OSError, pause: float) -> None:
        """Tell the person of the first end in a row; log each."""
        what = "cannot be started" if isinstance(fault, OSError) else "ended unexpectedly"
        text = f"the process that attaches to Copilot {what} ({fault})"
        self._send(HostLooked(error=text))
        _log.warning("%s; it is started again in %g s", text, pause)
        if pause <= self._backoff.first:
            self._report(f"{text}; it is started again, and its sessions come back", "warning")
