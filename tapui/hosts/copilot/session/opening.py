"""What opens a session at the gateway: what it is, what happened before, what is under way."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.sdk import AttachError, LostError
from tapui.hosts.copilot.session import history
from tapui.hosts.copilot.session.steering import Abilities
from tapui.hosts.copilot.session.translator import (
    Translator,
    as_agent,
    as_mode,
    own_mcp_servers,
    session_label,
)
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.hosts.port import Report
from tapui.wire.codec import raw
from tapui.wire.host import HostSession, SessionEvent, SessionHistory, SessionOpen

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession
    from copilot.session_events import SessionEvent as CopilotEvent

_PAST_TRUST = frozenset({"session.mcp_servers_loaded", "user.message", "assistant.turn_start"})


@dataclass(slots=True, kw_only=True)
class SessionOpening:
    """Tells of one session: what it is, what happened before this host came, what is under way.

    `workspace` is the session's folder where the SDK does not name one. `ports`, `pid`, `start` and
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

    def workspace_of(self, session: "CopilotSession") -> Path:
        return session.workspace_path or self.workspace

    async def open(
        self,
        client: "CopilotClient",
        session: "CopilotSession",
        abilities: Abilities,
        *,
        foreground: bool,
        replaces: str | None,
    ) -> SessionOpen:
        described = await describe(client, session, cwd=self.cwd, report=self.uplink.report)
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
                **described,
            )
        )

    async def tell(self, session: "CopilotSession", since: datetime) -> bool:
        """Tell what happened before `since`, and what is under way; return whether the CLI shows
        its dialog about the folder."""
        report = self.uplink.report
        activity = await ask("activity", session.rpc.metadata.is_processing(), report)
        is_busy = activity is not None and activity.processing
        earlier = await self._tell_history(session, since, is_busy=is_busy)
        if is_busy:
            self.uplink.send(SessionEvent(session_id=self.uplink.id, event="session.busy"))
        await self._tell_of_subagents(session)
        self.translator.prompted_before(earlier.prompts)
        for message in self.translator.go_on(earlier.calls):
            self.uplink.send(message)
        if is_busy or earlier.turns or self.is_headless:
            return False
        return await asks_for_trust(session, self.cwd)

    async def _tell_history(
        self, session: "CopilotSession", since: datetime, *, is_busy: bool
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

    async def _tell_of_subagents(self, session: "CopilotSession") -> None:
        """Tell of the subagents that began before this host came: their calls are theirs."""
        listed = await ask("subagents", session.rpc.tasks.list(), self.uplink.report)
        for message in self.translator.subagents(listed.tasks if listed is not None else ()):
            self.uplink.send(message)


async def asks_for_trust(session: "CopilotSession", folder: str) -> bool:
    """Return whether a session without a prompt waits in its terminal for the person to trust its
    folder.

    The CLI has no event about that dialog. When it is answered the MCP servers are loaded, with an
    event that the log keeps. A folder that is trusted for one session is not in its list.
    """
    from copilot.rpc import EventLogReadRequest, FolderTrustCheckParams

    rpc = session.rpc
    try:
        asking = rpc.permissions.folder_trust.is_trusted(FolderTrustCheckParams(path=folder))
        if (await sdk.call("ask whether the folder is trusted", asking)).trusted:
            return False
        read = await sdk.call("read its events", rpc.event_log.read(EventLogReadRequest()))
    except AttachError:
        return False  # an older CLI: what it asks is then not known
    names = {one.type.value for one in read.events}
    is_whole = "session.start" in names and not read.has_more
    return is_whole and not any(is_past_trust(one) for one in read.events)


def is_past_trust(event: "CopilotEvent") -> bool:
    """Return whether an event comes only once the CLI's dialog about its folder is answered."""
    if event.type.value == "session.info":
        return getattr(event.data, "info_type", "") == "mcp"
    return event.type.value in _PAST_TRUST


T = TypeVar("T")

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


async def ask(what: str, answer: Coroutine[Any, Any, T], report: Report) -> T | None:
    """Await something that a session can be shown without; what fails is reported, but not for
    each question where the connection has ended."""
    try:
        return await sdk.call(f"ask for the session's {what}", answer)
    except LostError:
        return None
    except AttachError as error:
        report(str(error), "warning")
        return None


async def describe(
    client: "CopilotClient", session: "CopilotSession", *, cwd: str, report: Report
) -> dict[str, Any]:
    """Return fields of `HostSession`: label, cwd, mode, model, effort, agents, reserved_tools,
    shell_tools, mcp_servers.

    `cwd` is the session's folder where the CLI does not say another. What the CLI does not tell
    is None, and reported.
    """
    from copilot.rpc import ToolsListRequest

    told, servers = await asyncio.gather(
        asyncio.gather(
            ask("mode", session.rpc.mode.get(), report),
            ask("model", session.rpc.model.get_current(), report),
            ask("name", session.rpc.name.get(), report),
            ask("folder", session.rpc.metadata.snapshot(), report),
            ask("agents", session.rpc.agent.list(), report),
            ask("tools", client.rpc.tools.list(ToolsListRequest()), report),
        ),
        ask("MCP servers", session.rpc.mcp.list(), report),
    )
    mode, model, name, snapshot, agents, own = told
    cwd = (snapshot.working_directory if snapshot else None) or cwd
    return {
        "label": session_label(name.name if name else None) or Path(cwd).name or cwd,
        "cwd": cwd,
        "mode": as_mode(mode.value) if mode else None,
        "model": model.model_id if model else None,
        "effort": (model.reasoning_effort or "") if model else None,
        "agents": [as_agent(one.name, one.tools, one.description) for one in agents.agents]
        if agents
        else None,
        "reserved_tools": sorted(
            UNLISTED_TOOLS.union(one.name for one in own.tools)
            if own
            else UNLISTED_TOOLS.union(SHELL_TOOLS)
        ),
        "shell_tools": list(SHELL_TOOLS),
        "mcp_servers": own_mcp_servers(servers.servers) if servers else None,
    }
