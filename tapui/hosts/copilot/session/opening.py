"""What the gateway is told of a session at its beginning, before its events."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.hosts.copilot.gateway_host import Uplink
from tapui.hosts.copilot.session import history
from tapui.hosts.copilot.session.abilities import Abilities
from tapui.hosts.copilot.session.description import ask, describe
from tapui.hosts.copilot.session.translator import Translator
from tapui.wire.codec import raw
from tapui.wire.host import HostSession, SessionEvent, SessionHistory, SessionOpen

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession


class Beginning:
    """Tells of one session: what it is, what happened before this host came, what is under way.

    `workspace` is the session's folder where the SDK does not name one. `ports`, `pid`, `start` and
    `is_headless` are what `HostSession` has of them.
    """

    def __init__(
        self,
        session_id: str,
        uplink: Uplink,
        translator: Translator,
        *,
        workspace: Path,
        cwd: str,
        ports: Sequence[int] | None,
        pid: int | None,
        start: str | None,
        is_headless: bool,
    ) -> None:
        self._session_id = session_id
        self._uplink = uplink
        self._translator = translator
        self._workspace = workspace
        self._cwd = cwd
        self._ports = ports
        self._pid = pid
        self._start = start
        self._is_headless = is_headless

    def workspace(self, session: "CopilotSession") -> Path:
        """Return the folder of the session's files."""
        return session.workspace_path or self._workspace

    async def open(
        self,
        client: "CopilotClient",
        session: "CopilotSession",
        abilities: Abilities,
        *,
        foreground: bool,
        replaces: str | None,
    ) -> SessionOpen:
        """Return what opens the session at the gateway."""
        described = await describe(client, session, cwd=self._cwd, report=self._uplink.report)
        can = list(abilities.can)
        return SessionOpen(
            session=HostSession(
                id=self._session_id,
                foreground=foreground,
                replaces=replaces,
                workspace=str(self.workspace(session)),
                can=[*can, "close"] if self._is_headless else can,
                cannot=dict(abilities.cannot),
                ports=None if self._ports is None else list(self._ports),
                pid=self._pid,
                headless=self._is_headless,
                sections=True if self._is_headless else None,
                start=self._start,
                **described,
            )
        )

    async def tell(self, session: "CopilotSession", since: datetime) -> None:
        """Tell what happened before `since`, and what is under way."""
        report = self._uplink.report
        activity = await ask("activity", session.rpc.metadata.is_processing(), report)
        is_busy = activity is not None and activity.processing
        calls = await self._tell_history(session, since, is_busy=is_busy)
        if is_busy:
            self._uplink.send(SessionEvent(session_id=self._session_id, event="session.busy"))
        await self._tell_of_subagents(session)
        for message in self._translator.go_on(calls):
            self._uplink.send(message)

    async def _tell_history(
        self, session: "CopilotSession", since: datetime, *, is_busy: bool
    ) -> list[history.OpenCall]:
        workspace = self.workspace(session)
        read = partial(history.read, workspace, self._session_id, since, is_busy=is_busy)
        try:
            earlier = await asyncio.to_thread(read)
        except OSError as error:
            text = f"what happened before tapui came cannot be read: {error.strerror}"
            self._uplink.report(text, "warning")
            return []
        if earlier.turns:
            self._uplink.send(SessionHistory(self._session_id, raw(earlier.turns)))
        return earlier.calls

    async def _tell_of_subagents(self, session: "CopilotSession") -> None:
        """Tell of the subagents that began before this host came: their calls are theirs."""
        listed = await ask("subagents", session.rpc.tasks.list(), self._uplink.report)
        for message in self._translator.subagents(listed.tasks if listed is not None else ()):
            self._uplink.send(message)
