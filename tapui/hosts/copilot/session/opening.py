"""What opens a session at the gateway: what it is, what happened before, what is under way."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from tapui.hosts.copilot.connection import (
    AttachError,
    CliConnection,
    CliSession,
    LostError,
    objects_of,
    text_of,
)
from tapui.hosts.copilot.session import history
from tapui.hosts.copilot.session.steering import Abilities
from tapui.hosts.copilot.session.translator import (
    Translator,
    agents_of,
    as_mode,
    own_mcp_servers,
    session_label,
)
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.hosts.port import Report
from tapui.wire.codec import raw
from tapui.wire.host import HostSession, SessionEvent, SessionHistory, SessionOpen
from tapui.wire.message import Mode

_PAST_TRUST = frozenset({"session.mcp_servers_loaded", "user.message", "assistant.turn_start"})


@dataclass(slots=True, kw_only=True)
class SessionOpening:
    """Tells of one session: what it is, what happened before this host came, what is under way.

    `workspace` is the session's folder where the CLI does not name one. `ports`, `pid`, `start` and
    `is_headless` are what `HostSession` has of them.
    """

    uplink: SessionUplink
    translator: Translator
    workspace: Path
    cwd: str
    ports: list[int] | None
    pid: int | None
    start: str | None
    is_headless: bool
    is_busy: bool = False
    """Whether a turn was under way when this was told, or a subagent at work."""

    def workspace_of(self, session: CliSession) -> Path:
        return session.workspace or self.workspace

    async def open(
        self,
        connection: CliConnection,
        session: CliSession,
        abilities: Abilities,
        *,
        foreground: bool,
        replaces: str | None,
    ) -> SessionOpen:
        described = await describe(connection, session, cwd=self.cwd, report=self.uplink.report)
        return SessionOpen(
            session=HostSession(
                id=self.uplink.id,
                foreground=foreground,
                replaces=replaces,
                workspace=str(self.workspace_of(session)),
                can=list(abilities.can),
                cannot=dict(abilities.cannot),
                ports=self.ports,
                pid=self.pid,
                headless=self.is_headless,
                sections=True if self.is_headless else None,
                start=self.start,
                program=connection.program,
                permissions=self.translator.permission_mode,
                **described,
            )
        )

    async def tell(self, session: CliSession, since: datetime) -> bool:
        """Tell what happened before `since`, and what is under way; return whether the CLI shows
        its dialog about the folder."""
        report = self.uplink.report
        asking = session.ask("ask for the session's activity", "session.metadata.isProcessing")
        is_busy = (await told(asking, report)).get("processing") is True
        earlier = await self._tell_history(session, since, is_busy=is_busy)
        if is_busy:
            self.uplink.send(SessionEvent(session_id=self.uplink.id, event="session.busy"))
        self.is_busy = await self._tell_of_subagents(session) or is_busy
        self.translator.prompted_before(earlier.prompts)
        for message in self.translator.go_on(earlier.calls):
            self.uplink.send(message)
        if is_busy or earlier.turns or self.is_headless:
            return False
        return await asks_for_trust(session, self.cwd)

    async def _tell_history(
        self, session: CliSession, since: datetime, *, is_busy: bool
    ) -> history.Earlier:
        workspace = self.workspace_of(session)
        read = partial(history.read, workspace, self.uplink.id, since, is_busy=is_busy)
        try:
            earlier = await asyncio.to_thread(read)
        except OSError as error:
            text = f"what happened before tapui came cannot be read: {error.strerror}"
            self.uplink.report(text, "warning")
            return history.Earlier([], [])
        if earlier.turns:
            self.uplink.send(SessionHistory(self.uplink.id, raw(earlier.turns)))
        return earlier

    async def _tell_of_subagents(self, session: CliSession) -> bool:
        """Tell of the subagents that began before this host came: their calls are theirs. Return
        whether there are any."""
        asking = session.ask("ask for the session's subagents", "session.tasks.list")
        listed = await told(asking, self.uplink.report)
        at_work = self.translator.subagents(objects_of(listed, "tasks"))
        for message in at_work:
            self.uplink.send(message)
        return bool(at_work)


async def asks_for_trust(session: CliSession, folder: str) -> bool:
    """Return whether a session without a prompt waits in its terminal for the person to trust its
    folder.

    The CLI has no event about that dialog. When it is answered the MCP servers are loaded, with an
    event that the log keeps. A folder that is trusted for one session is not in its list.
    """
    try:
        trust = await session.ask(
            "ask whether the folder is trusted",
            "session.permissions.folderTrust.isTrusted",
            path=folder,
        )
        if trust.get("trusted") is True:
            return False
        read = await session.ask("read its events", "session.eventLog.read")
    except AttachError:
        return False  # an older CLI: what it asks is then not known
    events = objects_of(read, "events")
    is_whole = any(event.get("type") == "session.start" for event in events)
    if not is_whole or read.get("hasMore") is True:
        return False
    return not any(is_past_trust(text_of(event, "type"), event.get("data")) for event in events)


def is_past_trust(name: str | None, data: Any) -> bool:
    """Return whether an event comes only once the CLI's dialog about its folder is answered."""
    if name == "session.info":
        return text_of(data, "infoType") == "mcp"
    return name in _PAST_TRUST


UNLISTED_TOOLS = frozenset(
    {
        "ask_user",
        "exit_plan_mode",
        "fetch_copilot_cli_documentation",
        "report_intent",
        "session_store_sql",
        "sql",
        "store_memory",
        "task_complete",
        "tool_search_tool",
        "update_todo",
        "web_search",
    }
)
"""Tools of the CLI's own that its list leaves out; it takes a second of the same name unasked."""

SHELL_TOOLS = ("bash", "powershell", "local_shell", "write_bash", "write_powershell")
"""Tools of the CLI's own that run commands, those included that type into a running shell. Which of
them there are depends on the system and the model."""


async def told(answer: Awaitable[dict[str, Any]], report: Report) -> dict[str, Any]:
    """Await something that a session can be shown without, and is empty where it is not known; what
    fails is reported, but not for each question where the connection has ended."""
    try:
        return await answer
    except LostError:
        return {}
    except AttachError as error:
        report(str(error), "warning")
        return {}


async def mode_of(session: CliSession, report: Report) -> Mode | None:
    asking = session.ask("ask for the session's mode", "session.metadata.snapshot")
    return as_mode(text_of(await told(asking, report), "currentMode"))


async def describe(
    connection: CliConnection, session: CliSession, *, cwd: str, report: Report
) -> dict[str, Any]:
    """Return fields of `HostSession`: label, cwd, mode, model, effort, agents, reserved_tools,
    shell_tools, mcp_servers.

    `cwd` is the session's folder where the CLI does not say another. What the CLI does not tell
    is None, and reported.
    """
    ask = "ask for the session's "
    model, name, snapshot, agents, own, servers = await asyncio.gather(
        told(session.ask(f"{ask}model", "session.model.getCurrent"), report),
        told(session.ask(f"{ask}name", "session.name.get"), report),
        told(session.ask(f"{ask}folder", "session.metadata.snapshot"), report),
        told(session.ask(f"{ask}agents", "session.agent.list"), report),
        told(connection.ask(f"{ask}tools", "tools.list"), report),
        told(session.ask(f"{ask}MCP servers", "session.mcp.list"), report),
    )
    cwd = text_of(snapshot, "workingDirectory") or cwd
    tools = [tool for item in objects_of(own, "tools") if (tool := text_of(item, "name"))]
    return {
        "label": session_label(text_of(name, "name")) or Path(cwd).name or cwd,
        "cwd": cwd,
        "mode": as_mode(text_of(snapshot, "currentMode")),
        "model": text_of(model, "modelId"),
        "effort": (text_of(model, "reasoningEffort") or "") if model else None,
        "agents": agents_of(agents) if agents else None,
        "reserved_tools": sorted(UNLISTED_TOOLS.union(tools or SHELL_TOOLS)),
        "shell_tools": list(SHELL_TOOLS),
        "mcp_servers": own_mcp_servers(servers) if servers else None,
    }
