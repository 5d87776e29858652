"""Sessions without a screen: one server process of the CLI for all of them, which is ours.

The process starts with the first session and ends some time after the last one. When it dies or
hangs, its sessions are over; the next start gets a new process. `server()` is also the way to what
the CLI has stored.
"""

import asyncio
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from tapui.hosts.copilot.connection import AttachError, CliConnection, NoCliError, text_of
from tapui.hosts.copilot.finding.discovery import holders
from tapui.hosts.copilot.finding.trusted_folders import is_trusted
from tapui.hosts.copilot.install.mcp_config import doors
from tapui.hosts.copilot.own.own_session import (
    OwnSession,
    StartError,
    checked_effort,
    checked_folder,
    checked_model,
    checked_name,
)
from tapui.hosts.copilot.own.server import found_program, start_server
from tapui.hosts.copilot.session.attached_session import AttachedSession
from tapui.hosts.copilot.uplink import Uplink
from tapui.runtime.tasks import BackgroundTasks
from tapui.wire.steering import OrderResult, SessionEnd, SessionStart, SessionStarted

IDLE_SECONDS = 60.0
"""How long the process lives without a session."""
WATCH_INTERVAL = 1.0
PING_TIME = 7.0
"""Seconds without an answer after which the process counts as hung."""

_ENDED = "Copilot's server has ended"


class HeadlessServer:
    """The process and its sessions. `environ` is the process's environment."""

    def __init__(self, uplink: Uplink, *, copilot_home: Path, environ: Mapping[str, str]) -> None:
        self._uplink = uplink
        self._copilot_home = copilot_home
        self._environ = dict(environ)
        self._tasks = BackgroundTasks(uplink.on_fault)
        self._server: CliConnection | None = None
        self._starting = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._needed_at = 0.0
        self._begun = 0
        """Sessions that are being started."""
        self.sessions: dict[str, AttachedSession] = {}

    @property
    def pid(self) -> int | None:
        return None if self._server is None else self._server.pid

    def owns(self, pid: int) -> bool:
        """Return whether a process is of the server's group, or has just ended. The lock of a
        session names the CLI, and that may be the child of npm's wrapper."""
        try:
            return self.pid is not None and os.getpgid(pid) == self.pid
        except ProcessLookupError:
            return True

    @property
    def is_running(self) -> bool:
        return self._server is not None or self._begun > 0

    # The process

    async def server(self) -> CliConnection:
        """Return the connection to a process that runs; raises `AttachError`."""
        async with self._starting:
            self._needed_at = time.monotonic()
            if self._server is not None and self._server.has_ended() and self._watching:
                await asyncio.wait([self._watching])  # its sessions end with it
            if self._server is None:
                self._server = await start_server(self._copilot_home, self._environ)
                self._watching = self._tasks.start(self._watch(self._server))
            return self._server

    async def _watch(self, server: CliConnection) -> None:
        """Look after the process until it has ended, hangs, or is needed no longer."""
        reason = ""
        while not reason:
            await asyncio.sleep(WATCH_INTERVAL)
            if self.sessions or self._begun:
                self._needed_at = time.monotonic()
            if time.monotonic() - self._needed_at >= IDLE_SECONDS:
                break
            if server.has_ended():
                reason = _ENDED
                break
            try:
                await server.ping(within=PING_TIME)
            except AttachError as error:
                if server.has_ended():  # while it was asked
                    reason = _ENDED
                else:
                    reason = f"Copilot's server does not answer ({error})"
            else:
                await self._let_go_of_taken()
        if self._server is server:
            self._server = None
        for session_id in list(self.sessions):
            self._drop(session_id, reason, by_itself=True)
        if reason:
            self._uplink.report(f"{reason}; the next session starts another", "warning")
        await server.close()

    async def _let_go_of_taken(self) -> None:
        """Leave the sessions that another process has taken up."""
        for session_id in list(self.sessions):
            pids = await asyncio.to_thread(holders, self._copilot_home, session_id)
            others = [pid for pid in pids if not self.owns(pid)]
            if self.pid is not None and others and session_id in self.sessions:
                await self._leave(session_id, f"process {others[0]} has resumed it")

    # Starting

    def start(self, order: SessionStart) -> None:
        """Start a session; `SessionStarted` goes to the gateway."""
        self._tasks.start(self._begin(order))

    async def _begin(self, order: SessionStart) -> None:
        self._begun += 1
        try:
            session = await self._open(order)
        except StartError as error:
            self._uplink.send(SessionStarted(order.id, problem=error.problem, error=str(error)))
        except NoCliError as error:
            self._uplink.send(SessionStarted(order.id, problem="missing", error=str(error)))
        except AttachError as error:
            self._uplink.send(SessionStarted(order.id, problem="failed", error=str(error)))
        else:
            self._uplink.send(SessionStarted(order.id, session.id))
        finally:
            self._begun -= 1

    async def _open(self, order: SessionStart) -> AttachedSession:
        found_program(self._environ)  # without one, nothing else that is wrong matters
        if order.name is not None:
            checked_name(order.name)
        checked_effort(order)
        session_id = order.resume or str(uuid.uuid4())
        if session_id in self.sessions:
            raise StartError(f"session {session_id} is open here already", "held")
        folder = await self._folder(order)
        checked_model(order, self._environ)
        if not order.trust_folder and not await asyncio.to_thread(
            is_trusted, self._copilot_home, folder
        ):
            raise StartError(
                f"{folder} is not trusted: its hooks, servers and instructions would be used; "
                "trust it in Copilot CLI, or for this session",
                "untrusted",
            )
        server = await self.server()
        # The session has the tools by this host; a door would start with it only to be dropped.
        without = await asyncio.to_thread(doors, self._copilot_home)
        if session_id in self.sessions:
            raise StartError(f"session {session_id} was opened here meanwhile", "held")
        session = AttachedSession(
            session_id,
            self._uplink,
            workspace=self._copilot_home / "session-state" / session_id,
            cwd=folder,
            pid=self.pid,
            joining=OwnSession(session_id, folder, order, self._environ, without),
            start=order.id,
        )
        self.sessions[session_id] = session
        try:
            await session.attach(server, foreground=False)
        except BaseException:
            self.sessions.pop(session_id, None)
            session.close("starting failed")
            raise
        return session

    async def _folder(self, order: SessionStart) -> str:
        """Return the folder that the order names, else the stored one."""
        if order.resume is None:
            return checked_folder(order.folder or "")
        stored = await self._stored_folder(order.resume)
        return checked_folder(order.folder or stored)

    async def _stored_folder(self, session_id: str) -> str:
        """Return the folder of a stored session. Raises `StartError`, also for one that is open."""
        is_name = session_id not in ("", ".", "..") and "/" not in session_id
        if not is_name or not (self._copilot_home / "session-state" / session_id).is_dir():
            raise StartError(f"there is no session {session_id}", "unknown")
        pids = await asyncio.to_thread(holders, self._copilot_home, session_id)
        if pids:
            raise StartError(
                f"process {pids[0]} has session {session_id} open; end it there first", "held"
            )
        server = await self.server()
        told = await server.ask(
            "look for the session", "session.getMetadata", {"sessionId": session_id}
        )
        found = told.get("session")
        if not isinstance(found, dict):
            raise StartError(f"there is no session {session_id}", "unknown")
        return text_of(found.get("context"), "cwd") or ""

    # Ending

    def end(self, order: SessionEnd) -> None:
        """End a session; `OrderResult` goes to the gateway once it is closed."""
        self._tasks.start(self._end(order))

    async def _end(self, order: SessionEnd) -> None:
        if order.session_id not in self.sessions:
            self._uplink.send(OrderResult(order.id, "failed", "the session ended"))
            return
        await self._leave(order.session_id, order.reason or "ended by the person", order.id)

    async def _leave(self, session_id: str, reason: str, order_id: str | None = None) -> None:
        """Close a session in the process, so that others can have it, then at the gateway."""
        session = self.sessions.pop(session_id)
        fault = await session.disconnect()
        if order_id is not None:
            ended = OrderResult(order_id, "done" if fault is None else "failed", fault)
            self._uplink.send(ended)
        session.close(reason)

    def _drop(self, session_id: str, reason: str, *, by_itself: bool = False) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            session.close(reason, by_itself=by_itself)

    async def leave(self, *, is_lost: bool = False) -> None:
        sessions = list(self.sessions.values())
        self.sessions.clear()
        await asyncio.gather(*(session.detach(is_lost=is_lost) for session in sessions))
        self._tasks.cancel()
        server, self._server = self._server, None
        if server is not None:
            await server.close()
