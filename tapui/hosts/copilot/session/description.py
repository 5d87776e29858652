"""What the gateway is told of a session when it opens: asked of the CLI, all at once."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.errors import AttachError
from tapui.hosts.copilot.session.titles import session_label
from tapui.hosts.copilot.session.translator import as_agent, as_mode, own_mcp_servers
from tapui.hosts.port import Report

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession

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
    """Await something that a session can be shown without; what fails is reported."""
    try:
        return await sdk.call(f"ask for the session's {what}", answer)
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
        "agents": [as_agent(one.name, one.tools) for one in agents.agents] if agents else None,
        "reserved_tools": sorted(
            UNLISTED_TOOLS.union(one.name for one in own.tools)
            if own
            else UNLISTED_TOOLS.union(SHELL_TOOLS)
        ),
        "shell_tools": list(SHELL_TOOLS),
        "mcp_servers": own_mcp_servers(servers.servers) if servers else None,
    }
