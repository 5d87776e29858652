"""MCP servers whose tools are offered in sessions, as towers and records see them."""

from typing import Literal

from tapui.wire.message import WireStruct

McpServerSource = Literal["own", "folder"]
"""`own`: the person's configuration; `folder`: a file of a repository."""
McpServerState = Literal[
    "asking", "notAllowed", "elsewhere", "starting", "ready", "lost", "failed", "stopped"
]
"""`asking`: an approval waits; `notAllowed`: the person said no, or cannot be asked; `elsewhere`:
the CLI of each session runs it itself; `lost`: it is tried again; `failed`: it cannot be started
with its configuration."""


class McpTool(WireStruct):
    """A tool of a server: its own name, and its name in sessions.

    `offered_as` is None for one that is not offered: it waits for the person (`waits`), or cannot
    be offered at all (`problem`).
    """

    name: str
    offered_as: str | None = None
    waits: bool = False
    problem: str | None = None


class McpServer(WireStruct, kw_only=True):
    """An MCP server. `id` is made of its name and folder; `file` and `line` say where it is
    configured.

    `program` is what is started, or the host that is called. `why` says why it asks, waits or
    failed, `hint` what the person can do about it. `seconds` is how long it took to connect and to
    list its tools; of `tools`, the first `MAX_MCP_TOOLS` are listed.
    """

    id: str
    name: str
    source: McpServerSource
    state: McpServerState
    program: str
    file: str
    line: int
    folder: str | None = None
    sessions: list[str] = []
    """The sessions in which its tools are offered."""
    why: str | None = None
    hint: str | None = None
    approval_id: str | None = None
    """The approval that it waits for, or that its changed tools wait for."""
    server_name: str | None = None
    server_version: str | None = None
    protocol: str | None = None
    seconds: float | None = None
    starts: int = 0
    """How often it was started in this run of the gateway."""
    tools: list[McpTool] = []
    tool_count: int = 0
